/** A column of a table that may hold the lengths of units, or the number of units of each length. */
export interface TableColumn {
  /** Empty if the file has no header. */
  readonly name: string;
  /** `whole`: integers ≥ 0 in every record; `number`: numbers in every record with a value. */
  readonly kind: 'whole' | 'number' | 'text' | 'empty';
  /** Distinct integers ≥ 0; `null` above one million, the limit of lengths. */
  readonly distinct: number | null;
  /** Sum, minimum and maximum of its numbers. */
  readonly total: number;
  readonly min: number;
  readonly max: number;
  /** The first field that is not an integer ≥ 0, and the first that is not a number. */
  readonly firstBad: PlacedField | null;
  readonly firstText: PlacedField | null;
}

export interface PlacedField {
  readonly line: number;
  readonly field: string;
}

/** Description of a table: a CSV file, or a Parquet or Arrow file. The latter two have neither delimiter nor header. */
export interface TableSummary {
  readonly format: 'text' | 'parquet' | 'arrow';
  readonly delimiter: 'comma' | 'semicolon' | 'tab' | 'bar' | 'space';
  readonly header: boolean;
  readonly columns: readonly TableColumn[];
  /** The first records, without the header; long fields are truncated. */
  readonly rows: readonly (readonly string[])[];
  /** Number of records, without the header. */
  readonly records: number;
  /** The first record whose number of fields differs from the first line. */
  readonly ragged: { readonly line: number; readonly fields: number } | null;
}
