import { compactNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { keptWith } from '../../numeric/kept.ts';
import { firstIndex } from '../../numeric/search.ts';

/** Static partitions of sparse rows over p workers (CPU cores, blocks, lanes). */
export interface Partition {
  /** Rows that each worker finishes. A row that is cut counts for the worker that has its end. */
  readonly rows: Float64Array;
  readonly nonZeros: Float64Array;
}

/** Worker w of p gets the rows ⌊w·R/p⌋ … ⌊(w+1)·R/p⌋ − 1 of all R rows. */
export function evenRows(rowLengths: CompactNumbers, workers: number): Partition {
  const ends = getRowEnds(rowLengths);
  return partition(workers, (w) => {
    const row = Math.floor((w * rowLengths.length) / workers);
    return { row, nonZero: row === 0 ? 0 : ends[row - 1] };
  });
}

/** Worker w of p gets the entries ⌊w·N/p⌋ … ⌊(w+1)·N/p⌋ − 1 of all N. Empty rows belong to the entry before them. */
export function evenNonZeros(rowLengths: CompactNumbers, workers: number): Partition {
  const ends = getRowEnds(rowLengths);
  const total = ends.length === 0 ? 0 : ends[ends.length - 1];
  return partition(workers, (w) => {
    const nonZero = Math.floor((w * total) / workers);
    if (w === 0) return { row: 0, nonZero: 0 };
    return { row: w === workers ? ends.length : firstIndex(0, ends.length, (i) => ends[i] > nonZero), nonZero };
  });
}

/** Gives each of p workers at most ⌈(rows + entries)/p⌉ row ends and entries (doi:10.1109/SC.2016.57). */
export function mergePath(rowLengths: CompactNumbers, workers: number): Partition {
  const ends = getRowEnds(rowLengths);
  const total = ends.length === 0 ? 0 : ends[ends.length - 1] + ends.length;
  return partition(workers, (w) => {
    const diagonal = Math.floor((w * total) / workers);
    // The end of row i is item ends[i] + i of the merged list.
    const row = firstIndex(0, ends.length, (i) => ends[i] + i >= diagonal);
    return { row, nonZero: diagonal - row };
  });
}

/** The largest load divided by the mean load of the workers, ≥ 1; 1 if there is no load. */
export function loadImbalance(loads: Float64Array): number {
  let sum = 0;
  let largest = 0;
  for (const load of loads) {
    sum += load;
    largest = Math.max(largest, load);
  }
  return sum === 0 ? 1 : (largest * loads.length) / sum;
}

const getRowEnds = keptWith((rowLengths: CompactNumbers): CompactNumbers => {
  const ends = new Float64Array(rowLengths.length);
  for (let row = 0, end = 0; row < ends.length; row++) ends[row] = end += rowLengths[row];
  return compactNumbers(ends);
});

function partition(
  workers: number,
  start: (worker: number) => { readonly row: number; readonly nonZero: number },
): Partition {
  const rows = new Float64Array(workers);
  const nonZeros = new Float64Array(workers);
  let from = start(0);
  for (let w = 0; w < workers; w++) {
    const to = start(w + 1);
    rows[w] = to.row - from.row;
    nonZeros[w] = to.nonZero - from.nonZero;
    from = to;
  }
  return { rows, nonZeros };
}
