import { createReadStream } from 'node:fs';
import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { parseMatrixMarket, type MatrixRows } from '../../src-workers/parse/matrix-market.ts';

const own = new URL('../data/matrices/', import.meta.url);
const shipped = new URL('../../db/examples/', import.meta.url);

async function matrix(name: string, folder: URL): Promise<MatrixRows> {
  return unwrap(await parseMatrixMarket(createReadStream(new URL(`${name}.mtx`, folder)), `mtx:${name}.mtx`));
}

/**
 * Rows, columns and non-zeros are those that gunrock/loops (Apache-2.0) measured, in `spmv-times-ms.csv`. The longest
 * and the shortest row come from `grep -v '^%' | awk` over the same files. In a symmetric file, every entry off the
 * diagonal counts twice.
 */
it.each([
  ['1138_bus', own, 1138, 1138, 4054, 2, 18],
  ['ca-GrQc', shipped, 5242, 5242, 28980, 1, 81],
  ['cage8', shipped, 1015, 1015, 11003, 5, 18],
  ['lp_ship04l', own, 402, 2166, 6380, 0, 84],
])('matrices of the SuiteSparse collection %s', async (name, folder, rows, columns, nonZeros, shortest, longest) => {
  const read = await matrix(name, folder);
  expect([read.rows, read.columns, read.nonZeros]).toEqual([rows, columns, nonZeros]);
  const { mean, supportMin, supportMax } = moments(read.law);
  expect([supportMin, supportMax]).toEqual([shortest, longest]);
  // The tolerance covers the rounding in a sum of about a hundred terms.
  expect(Math.abs(mean - nonZeros / rows)).toBeLessThan(1e-13 * longest);
});

it('EVA of the SuiteSparse collection is declared symmetric and read as such: 2 of its 6726 entries are on the diagonal', async () =>
  expect((await matrix('EVA', own)).nonZeros).toBe(2 * 6726 - 2));

it('netscience of the SuiteSparse collection counts indices from 0 and is refused', async () => {
  const result = await parseMatrixMarket(createReadStream(new URL('netscience.mtx', own)), 'mtx:netscience.mtx');
  expect(result.ok || result.error.message).toBe(
    'mtx:netscience.mtx, line 3: the column index "0" is not within 1…379 (indices count from 1)',
  );
});

it('the Acts propagation steps', async () => {
  const stream = createReadStream(new URL('acts-propagation-steps.csv', shipped));
  const { law, form } = unwrap(await parseLengthsCsv(stream, 'file:acts'));
  expect(form).toBe('probabilities');
  expect([law.support[0], law.support[law.support.length - 1], law.support.length]).toEqual([13, 119, 107]);
});
