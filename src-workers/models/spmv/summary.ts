export interface MatrixSummary {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly nonzeros: number;
  /** Figures of the row lengths, with the variance of the population. */
  readonly min: number;
  readonly q1: number;
  readonly median: number;
  readonly q3: number;
  readonly max: number;
  readonly mean: number;
  readonly variance: number;
  readonly skewness: number;
  /** Cells if every 64 consecutive rows are padded to the longest: Σ 64 × longest length; `null` if unknown. */
  readonly slicedCells: number | null;
}

export const SLICE_ROWS = 64;

/**
 * Computes the cells of the rows if each `together` consecutive rows are padded to the longest of them. Between the
 * points 1, 64 and all rows, cells grow as a power of `together`.
 */
export function paddedCells(matrix: MatrixSummary, together: number): number {
  const { rows, nonzeros, max } = matrix;
  const all = Math.max(nonzeros, rows * max);
  const sliced = Math.min(Math.max(matrix.slicedCells ?? independentCells(matrix, SLICE_ROWS), nonzeros), all);
  const n = Math.min(together, rows);
  if (n <= SLICE_ROWS) return nonzeros * (sliced / nonzeros) ** (Math.log(n) / Math.log(SLICE_ROWS));
  const exponent = Math.log(all / sliced) / Math.log(Math.max(rows / SLICE_ROWS, 1.0001));
  return Math.min(all, sliced * (n / SLICE_ROWS) ** exponent);
}

/** Estimates `paddedCells` from the quartiles, as if rows that are padded together were independent. */
function independentCells(matrix: MatrixSummary, together: number): number {
  let depth = 0;
  for (let i = 0; i < STEPS; i += 1) {
    const weight = ((i + 1) / STEPS) ** together - (i / STEPS) ** together;
    depth += weight * rowQuantile(matrix, (i + 0.5) / STEPS);
  }
  return matrix.rows * Math.max(matrix.mean, depth);
}

const STEPS = 64;

/** Interpolates linearly between quartiles; a power in the last quarter gives the right mean. `fraction` is 0…1. */
export function rowQuantile({ min, q1, median, q3, max, mean }: MatrixSummary, fraction: number): number {
  const at = fraction * 4;
  if (at < 1) return min + (q1 - min) * at;
  if (at < 2) return q1 + (median - q1) * (at - 1);
  if (at < 3) return median + (q3 - median) * (at - 2);
  // The mean of q3 + (max − q3)·tᵏ over the last quarter is q3 + (max − q3)/(k + 1).
  const rest = 4 * mean - (min + q1) / 2 - (q1 + median) / 2 - (median + q3) / 2 - q3;
  const power = Math.min(2 ** 20, Math.max(1, (max - q3) / Math.max(rest, 1e-9) - 1));
  return q3 + (max - q3) * (at - 3) ** power;
}

export function nonzerosWithin(matrix: MatrixSummary, width: number): number {
  let sum = 0;
  for (let i = 0; i < STEPS; i += 1) sum += Math.min(width, rowQuantile(matrix, (i + 0.5) / STEPS));
  return Math.min(matrix.nonzeros, (matrix.rows * sum) / STEPS);
}
