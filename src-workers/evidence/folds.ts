import type { MatrixSummary } from '../models/spmv/summary.ts';

/** Parts into which the matrices of a data set are dealt. */
export const FOLDS = 5;

/** Fold of a matrix, 0 … FOLDS − 1, by a hash of its name (FNV-1a, 32 bits: Fowler, Noll, Vo). */
export function foldOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % FOLDS;
}

/** Matrices and the measured times of an implementation on a device, µs; all of them positive. */
export interface MeasuredTimes {
  readonly matrices: readonly MatrixSummary[];
  readonly microseconds: Float64Array;
}

/** Matrices with a time in a column. */
export function measuredTimes(matrices: readonly MatrixSummary[], column: Float64Array): MeasuredTimes {
  return {
    matrices: matrices.filter((_, i) => column[i] > 0),
    microseconds: column.filter((time) => time > 0),
  };
}

/** What is left without the matrices of a fold. */
export function outside({ matrices, microseconds }: MeasuredTimes, fold: number): MeasuredTimes {
  const kept = matrices.map(({ name }) => foldOf(name) !== fold);
  return { matrices: matrices.filter((_, i) => kept[i]), microseconds: microseconds.filter((_, i) => kept[i]) };
}
