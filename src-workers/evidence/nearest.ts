import type { MatrixSummary } from '../models/spmv/summary.ts';
import { assignFold } from './folds.ts';

/**
 * Number of neighbours. For comparison, the time of a matrix is also estimated without any model, as the geometric mean
 * over the nearest matrices of other folds (k nearest neighbours, Cover and Hart 1967, doi:10.1109/TIT.1967.1053964).
 * Distances are between the logarithms of size and row lengths.
 */
const NEIGHBOURS = 5;
/** Number of neighbours kept per matrix, enough for NEIGHBOURS of them to have a time in every column. */
const KEPT = 40;

function coordinates(matrix: MatrixSummary): readonly number[] {
  const { rows, columns, nonzeros, median, max, variance, slicedCells } = matrix;
  return [rows, columns, nonzeros, 1 + median, max, 1 + Math.sqrt(variance), slicedCells ?? nonzeros].map(Math.log);
}

/** Returns, for each matrix, the nearest matrices outside its fold, nearest first. */
export function nearestMatrices(matrices: readonly MatrixSummary[]): readonly Int32Array[] {
  const all = matrices.map(coordinates);
  const scales = all[0].map((_, axis) => {
    const mean = all.reduce((sum, point) => sum + point[axis], 0) / all.length;
    return Math.sqrt(all.reduce((sum, point) => sum + (point[axis] - mean) ** 2, 0) / all.length) || 1;
  });
  const points = all.map((point) => Float64Array.from(point, (value, axis) => value / scales[axis]));
  const folds = matrices.map(({ name }) => assignFold(name));
  const distances = new Float64Array(matrices.length);
  const places = Int32Array.from(matrices.keys());
  return points.map((point, own) => {
    for (let other = 0; other < points.length; other += 1) {
      const there = points[other];
      let square = 0;
      for (let axis = 0; axis < point.length; axis += 1) square += (point[axis] - there[axis]) ** 2;
      distances[other] = folds[other] === folds[own] ? Infinity : square;
    }
    // Sorting numbers is several times faster than sorting positions by these numbers.
    const furthest = distances.slice().sort()[Math.min(KEPT, points.length) - 1];
    const near = places.filter((other) => distances[other] <= furthest && distances[other] < Infinity);
    return near.sort((a, b) => distances[a] - distances[b] || a - b).subarray(0, KEPT);
  });
}

/** Returns times in µs; NaN if no neighbour was measured. */
export function nearestTimes(near: readonly Int32Array[], measured: Float64Array): Float64Array {
  return Float64Array.from(near, (others) => {
    const known = others.filter((other) => measured[other] > 0).subarray(0, NEIGHBOURS);
    return Math.exp(known.reduce((sum, other) => sum + Math.log(measured[other]), 0) / known.length);
  });
}
