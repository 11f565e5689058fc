import fc from 'fast-check';
import type { MatrixSummary } from '../../src-workers/models/spmv/summary.ts';
import { whole } from '../for-all.ts';

/** Generates summaries of random lists of lengths. */
export const summary: fc.Arbitrary<MatrixSummary> = fc
  .array(whole(0, 400), { minLength: 1, maxLength: 300 })
  .filter((lengths) => lengths.some((length) => length > 0))
  .map((lengths) => {
    const sorted = [...lengths].sort((a, b) => a - b);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
    const nonzeros = lengths.reduce((sum, length) => sum + length, 0);
    const mean = nonzeros / lengths.length;
    let cells = 0;
    for (let start = 0; start < lengths.length; start += 64)
      cells += 64 * Math.max(...lengths.slice(start, start + 64));
    return {
      name: 'drawn',
      rows: lengths.length,
      columns: lengths.length,
      nonzeros,
      min: sorted[0],
      q1: at(0.25),
      median: at(0.5),
      q3: at(0.75),
      max: sorted.at(-1)!,
      mean,
      variance: lengths.reduce((sum, length) => sum + (length - mean) ** 2, 0) / lengths.length,
      skewness: 0,
      slicedCells: cells,
    };
  });
