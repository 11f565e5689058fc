import type { GpuDevice } from '../domain/device.ts';
import { ok, type Result } from '../domain/result.ts';
import { fitParameters } from '../models/calibration/fit.ts';
import { paddedCells, SLICE_ROWS, type MatrixSummary } from '../models/spmv/summary.ts';
import { sortedQuantile } from '../numeric/statistics.ts';
import { FOLDS, outside, type MeasuredTimes } from './folds.ts';

/**
 * A fit without physics, to compare with: start, and time per byte, per element of the longest row and per row, added up. Of a
 * device it knows nothing.
 */
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

/** Bytes of the matrix as stored, with its padding. */
function storedBytes(implementation: string, matrix: MatrixSummary): number {
  const { nonzeros, rows, max } = matrix;
  if (implementation === 'coo') return 16 * nonzeros;
  if (implementation === 'ell') return 12 * Math.max(nonzeros, rows * max);
  if (implementation === 'sellp') return 12 * paddedCells(matrix, SLICE_ROWS);
  return 12 * nonzeros;
}

/** Fits on all matrices, and without each fold. `implementation` is an id of `models/spmv`. */
export function fitFourNumbers(
  implementation: string,
  device: GpuDevice,
  times: MeasuredTimes,
): Result<{ readonly values: FourNumbers; readonly folds: readonly FourNumbers[] }> {
  const fit = ({ matrices, microseconds }: MeasuredTimes): Result<FourNumbers> => {
    const perByte = 1 / device.memoryBandwidthGbS;
    const free = { lower: 1e-9, upper: 1e6, coordinate: 'log', step: 1e-4, knownWithin: Infinity } as const;
    const initial = [sortedQuantile(microseconds.slice().sort(), 0.1), 2 * perByte, 1, 0.01];
    const fitted = fitParameters({
      parameters: initial.map((value, at) => ({ ...free, name: `${at}`, initial: value })),
      measuredMs: microseconds.map((time) => time * 1e-3),
      relativeErrors: new Float64Array(microseconds.length),
      starts: [initial],
      predict: (values) =>
        Float64Array.from(
          matrices,
          (matrix) => 1e-3 * fourNumbersTime(implementation, matrix, values as unknown as FourNumbers),
        ),
    });
    return fitted.ok ? ok(fitted.value.values as unknown as FourNumbers) : fitted;
  };
  const all = fit(times);
  if (!all.ok) return all;
  const folds: FourNumbers[] = [];
  for (let fold = 0; fold < FOLDS; fold += 1) {
    const part = fit(outside(times, fold));
    if (!part.ok) return part;
    folds.push(part.value);
  }
  return ok({ values: all.value, folds });
}
