/** A column of a table that may hold the lengths of units, or the number of units of each length. */
export interface TableColumn {
  /** Empty if the file has no header. */
  readonly name: string;
  /** `whole`: an integer ≥ 0 in every record; `number`: every field that is not empty is a number. */
  readonly kind: 'whole' | 'number' | 'text' | 'empty';
  /** Number of distinct integers ≥ 0; `null` above one million, the maximum number of different lengths. */
  readonly distinct: number | null;
  /** Sum, minimum and maximum of the column's numbers. */
  readonly total: number;
  readonly min: number;
  readonly max: number;
  /** The first field that is not an integer ≥ 0, and the first field that is not a number. */
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
  /** The first record that does not have as many fields as the first line. */
  readonly ragged: { readonly line: number; readonly fields: number } | null;
}
