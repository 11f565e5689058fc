import { paddedCells, SLICE_ROWS, type MatrixSummary } from '../models/spmv/summary.ts';

/** A model without physics, for comparison. It uses no property of the device. */
export type FourNumbers = readonly [startUs: number, perByteNs: number, perLongestNs: number, perRowNs: number];

export function fourNumbersTime(
  implementation: string,
  matrix: MatrixSummary,
  [start, perByte, perLongest, perRow]: FourNumbers,
): number {
  return (
    start + 1e-3 * (perByte * storedBytes(implementation, matrix) + perLongest * matrix.max + perRow * matrix.rows)
  );
}

function storedBytes(implementation: string, matrix: MatrixSummary): number {
  const { nonzeros, rows, max } = matrix;
  if (implementation === 'coo') return 16 * nonzeros;
  if (implementation === 'ell') return 12 * Math.max(nonzeros, rows * max);
  if (implementation === 'sellp') return 12 * paddedCells(matrix, SLICE_ROWS);
  return 12 * nonzeros;
}
