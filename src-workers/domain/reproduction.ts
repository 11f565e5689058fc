export interface ReproductionRow {
  readonly label: string;
  readonly paper: number;
  readonly ours: number;
  readonly error: number;
  readonly errorKind: 'absolute' | 'relative';
  readonly tolerance: number;
  readonly passed: boolean;
}

export interface ReproductionTable {
  readonly paper: string;
  readonly citation: string;
  readonly table: string;
  /** Unit of the values of the rows; `1` for a ratio. */
  readonly unit: string;
  readonly rows: readonly ReproductionRow[];
  readonly passed: boolean;
  readonly notes: readonly string[];
}

export function reproductionRow(
  label: string,
  paper: number,
  ours: number,
  tolerance: number,
  errorKind: ReproductionRow['errorKind'] = 'absolute',
): ReproductionRow {
  const error = errorKind === 'absolute' ? Math.abs(ours - paper) : Math.abs(ours / paper - 1);
  return { label, paper, ours, error, errorKind, tolerance, passed: error <= tolerance };
}

export function makeTables(paper: string, citation: string) {
  return (
    table: string,
    unit: string,
    rows: readonly ReproductionRow[],
    notes: readonly string[] = [],
  ): ReproductionTable => ({ paper, citation, table, unit, rows, passed: rows.every((row) => row.passed), notes });
}
