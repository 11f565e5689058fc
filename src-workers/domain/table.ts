export interface TableColumn {
  readonly name: string;
  /** `whole`: an integer ≥ 0 in every record; `number`: every field that is not empty is a number. */
  readonly kind: 'whole' | 'number' | 'text' | 'empty';
  /** Number of distinct integers ≥ 0; `null` above one million, the maximum number of different lengths. */
  readonly distinct: number | null;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly firstBad: PlacedField | null;
  readonly firstText: PlacedField | null;
}

export interface PlacedField {
  readonly line: number;
  readonly field: string;
}

/** Parquet and Arrow files have neither delimiter nor header. */
export interface TableSummary {
  readonly format: 'text' | 'parquet' | 'arrow';
  readonly delimiter: 'comma' | 'semicolon' | 'tab' | 'bar' | 'space';
  readonly header: boolean;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly (readonly string[])[];
  readonly records: number;
  /** The first record whose number of fields differs from that of the first line. */
  readonly ragged: { readonly line: number; readonly fields: number } | null;
}
