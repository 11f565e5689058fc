/** One printed figure of a paper, and our figure. */
export interface ReproductionRow {
  /** The name of the figure, e.g. `geometric(0.05), n = 8`. */
  readonly label: string;
  readonly paper: number;
  readonly ours: number;
  /** |ours − paper| in `unit` if absolute, |ours/paper − 1| if relative (see `errorKind`). */
  readonly error: number;
  readonly errorKind: 'absolute' | 'relative';
  readonly tolerance: number;
  readonly passed: boolean;
}

/** One table or figure of a paper, reproduced. `passed` is true if all rows pass. */
export interface ReproductionTable {
  /** Short name used on the command line: `swatman`, `hasan`, `bialas`, `langguth`, `kim`. */
  readonly paper: string;
  readonly citation: string;
  readonly table: string;
  /** Unit of `paper` and `ours`; `1` for a ratio. */
  readonly unit: string;
  readonly rows: readonly ReproductionRow[];
  readonly passed: boolean;
  /** Remarks for the reader, such as a claim of the paper that fails on its own data, or the variant used. */
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

/** Returns a function that makes the tables of one paper. A table passes if all its rows do. */
export function makeTables(paper: string, citation: string) {
  return (
    table: string,
    unit: string,
    rows: readonly ReproductionRow[],
    notes: readonly string[] = [],
  ): ReproductionTable => ({ paper, citation, table, unit, rows, passed: rows.every((row) => row.passed), notes });
}
