/** A column of a table, as far as it can become lengths of units or how many units have a length. */
export interface TableColumn {
  /** Empty if the file has no header. */
  readonly name: string;
  /** `whole`: integers ≥ 0 in every record; `number`: numbers in every record that has one. */
  readonly kind: 'whole' | 'number' | 'text' | 'empty';
  /** Distinct integers ≥ 0; `null` beyond a million, the limit of lengths. */
  readonly distinct: number | null;
  /** Sum, least and largest of its numbers. */
  readonly total: number;
  readonly min: number;
  readonly max: number;
  /** The first field that is no integer ≥ 0, and the first that is no number. */
  readonly firstBad: PlacedField | null;
  readonly firstText: PlacedField | null;
}

export interface PlacedField {
  readonly line: number;
  readonly field: string;
}

/** What a table holds: a CSV file, or a Parquet file, which has no delimiter and header. */
export interface TableSummary {
  readonly format: 'text' | 'parquet';
  readonly delimiter: 'comma' | 'semicolon' | 'tab' | 'bar' | 'space';
  readonly header: boolean;
  readonly columns: readonly TableColumn[];
  /** The first records, without the header; long fields are cut. */
  readonly rows: readonly (readonly string[])[];
  /** Records, without the header. */
  readonly records: number;
  /** The first record with another number of fields than the first line. */
  readonly ragged: { readonly line: number; readonly fields: number } | null;
}
