import { createReadStream, existsSync, readFileSync, readdirSync } from 'node:fs';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { studySchema } from '../../src-main/contract/study.ts';
import { fail, ok, unwrap } from '../../src-workers/domain/result.ts';
import { collatzLengths, countLengths, mandelbrotLengths } from '../../src-workers/models/workload/generated.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { normalUpperTail } from '../../src-workers/models/workload/normal.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { resolveWorkload } from '../../src-workers/parse/grammar.ts';
import { parseMatrixMarket, type MatrixRows } from '../../src-workers/parse/matrix-market.ts';

/**
 * Reference: exact rationals and 60-digit decimals of the definitions, P(k) before truncation, e.g. in Python
 *   F = fractions.Fraction; p = F(0.001); float(comb(10000, k) * p**k * (1 - p)**(10000 - k))
 * and products of Decimal ratios for Poisson and negative binomial; math.erfc for the normal tail and the log-normal.
 */
it.each([
  [laws.binomialLaw(40, 0.5), 20, 0.12537068761957926],
  [laws.binomialLaw(10000, 0.001), 0, 4.5173345977048635e-5],
  [laws.binomialLaw(10000, 0.001), 10, 0.12517263665023892],
  [laws.binomialLaw(10000, 0.001), 60, 4.827864575109517e-27],
  [laws.poissonLaw(5000), 5000, 0.005641801804664022],
  [laws.poissonLaw(5000), 4800, 9.987733294132511e-5],
  [laws.poissonLaw(30), 0, 9.357622968840175e-14],
  [laws.negativeBinomialLaw(5, 0.3), 9, 0.07011237448214999],
  [laws.negativeBinomialLaw(0.5, 0.01), 0, 0.1],
  [laws.negativeBinomialLaw(0.5, 0.01), 100, 0.0020625365698943555],
  [laws.lognormalLaw(3, 0.5), 10, 0.02734726650883279],
  [laws.lognormalLaw(3, 0.5), 20, 0.040835103173893716],
  [laws.lognormalLaw(3, 0.5), 40, 0.008095082331999973],
])('probabilities equal those of exact arithmetic: %#', (result, length, exact) => {
  const law = unwrap(result);
  // A walk from the mode rounds in each of up to 2700 steps. The truncated mass, 1e-6, has a relative error of 1e-9.
  expect(law.probability[law.support.indexOf(length)] * (1 - law.truncatedMass)).toBeNear(exact, 1e-13);
});

it.each([
  [laws.poissonLaw(5000), 5340, 9.462918890088999e-7],
  [laws.poissonLaw(30), 59, 9.251868804915057e-7],
  [laws.negativeBinomialLaw(5, 0.3), 63, 9.332885153180743e-7],
])('the law is cut at the first length whose tail is within the truncation %#', (result, last, tail) => {
  const law = unwrap(result);
  expect(law.support[law.support.length - 1]).toBe(last);
  // The walk stops when the remaining mass is less than 1e-9 of the truncation.
  expect(Math.abs(law.truncatedMass - tail)).toBeLessThan(1e-15);
});

it.each([
  [1, 0.15865525393145707],
  [2.8284, 0.0023390656954665992],
  [2.82843, 0.002338846481466612],
  [2.9, 0.0018658133003840384],
  [5, 2.866515718791946e-7],
  [37, 5.725571222525139e-300],
])('the normal tail beyond %d equals the reference', (z, tail) => {
  expect(normalUpperTail(z)).toBeNear(tail, 5e-13);
  expect(Math.abs(normalUpperTail(-z) - (1 - tail))).toBeLessThanOrEqual(Number.EPSILON);
});

it('Collatz stopping times are OEIS A006577', () => {
  const lengths = collatzLengths(2 ** 17);
  expect([...lengths.subarray(0, 20)]).toEqual([0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9, 9, 17, 17, 4, 12, 20, 20, 7]);
  expect(lengths[26]).toBe(111);
  // OEIS A006877: the record starts below 2^17 end with 77031 (350 steps) and 106239 (353 steps).
  expect(lengths[77030]).toBe(350);
  expect(lengths.indexOf(353)).toBe(106238);
  expect(lengths.reduce((a, b) => Math.max(a, b))).toBe(353);
});

it('Mandelbrot counts agree with the area of the set and mirror in the real axis', () => {
  const [width, height] = [512, 512];
  const lengths = mandelbrotLengths(width, height, 1000);
  const inside = countLengths(lengths).get(1000)! / lengths.length;
  // The area of the set is 1.5065918849 (OEIS A098403), and the image covers 6.25. Pixels on the border, and pixels
  // that have not escaped yet, change the area by about 1/width.
  expect(Math.abs(inside * 6.25 - 1.50659)).toBeLessThan(6.25 / width);
  for (let column = 0; column < width; column += 37)
    for (let row = 0; row < height; row++)
      expect(lengths[row * width + column]).toBe(lengths[(height - 1 - row) * width + column]);
});

it('the closed-form interior test changes no count', () => {
  // This is a plain loop over the definition.
  const plain = (real: number, imaginary: number, limit: number): number => {
    let [x, y] = [0, 0];
    for (let count = 1; count <= limit; count++) {
      [x, y] = [x * x - y * y + real, 2 * x * y + imaginary];
      if (x * x + y * y > 4) return count;
    }
    return limit;
  };
  const lengths = mandelbrotLengths(64, 48, 300);
  for (let i = 0; i < lengths.length; i++) {
    const real = -2 + (2.5 * ((i % 64) + 0.5)) / 64;
    const imaginary = 1.25 - (2.5 * (Math.floor(i / 64) + 0.5)) / 48;
    expect(lengths[i]).toBe(plain(real, imaginary, 300));
  }
});

const folder = new URL('../../db/examples/', import.meta.url);
const studies = readdirSync(folder).filter((name) => name.endsWith('.json'));

const openFile = async (path: string) => {
  const url = new URL(path, folder);
  return existsSync(url) ? ok(createReadStream(url)) : fail('not-found', `${path}: no such file beside the example`);
};

it.each(studies)('the example %s is a valid study with a description, and its workload is resolved', async (name) => {
  const study = v.parse(studySchema, JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
  expect(study.description.length).toBeGreaterThan(100);
  expect(moments(unwrap(await resolveWorkload(study.workload.lengths, { openFile }))).mean).toBeGreaterThan(0);
});

it('every data file of the example studies is listed with its source and licence', () => {
  const readme = readFileSync(new URL('README.md', folder), 'utf8');
  for (const file of readdirSync(folder)) if (file !== 'README.md') expect(readme).toContain(`\`${file}\``);
});

const own = new URL('../data/matrices/', import.meta.url);

async function matrix(name: string, folder: URL): Promise<MatrixRows> {
  return unwrap(await parseMatrixMarket(createReadStream(new URL(`${name}.mtx`, folder)), `mtx:${name}.mtx`));
}
const countEntries = ({ rowLengths }: MatrixRows): number => rowLengths.reduce((sum, length) => sum + length, 0);

/**
 * Rows, columns and non-zeros are those that gunrock/loops (Apache-2.0) measured, in `spmv-times-ms.csv`, the longest
 * and the shortest row those of the files, where a symmetric entry off the diagonal counts twice.
 */
it.each([
  ['1138_bus', own, 1138, 1138, 4054, 2, 18],
  ['ca-GrQc', folder, 5242, 5242, 28980, 1, 81],
  ['cage8', folder, 1015, 1015, 11003, 5, 18],
  ['lp_ship04l', own, 402, 2166, 6380, 0, 84],
])('matrices of the SuiteSparse collection %s', async (name, folder, rows, columns, nonZeros, shortest, longest) => {
  const read = await matrix(name, folder);
  expect([read.rows, read.columns, countEntries(read)]).toEqual([rows, columns, nonZeros]);
  const { mean, supportMin, supportMax } = moments(read.law);
  expect([supportMin, supportMax]).toEqual([shortest, longest]);
  // The tolerance covers the rounding in a sum of about a hundred terms.
  expect(Math.abs(mean - nonZeros / rows)).toBeLessThan(1e-13 * longest);
});

it('EVA of the SuiteSparse collection is declared symmetric and read as such: 2 of its 6726 entries are on the diagonal', async () =>
  expect(countEntries(await matrix('EVA', own))).toBe(2 * 6726 - 2));

it('netscience of the SuiteSparse collection counts indices from 0 and is refused', async () => {
  const result = await parseMatrixMarket(createReadStream(new URL('netscience.mtx', own)), 'mtx:netscience.mtx');
  expect(result.ok || result.error.message).toBe(
    'mtx:netscience.mtx, line 3: the column index "0" is not within 1…379 (indices count from 1, this file may count from 0)',
  );
});

it('the Acts propagation steps', async () => {
  const stream = createReadStream(new URL('acts-propagation-steps.csv', folder));
  const { law, form } = unwrap(await parseLengthsCsv(stream, 'file:acts'));
  expect(form).toBe('probabilities');
  expect([law.support[0], law.support[law.support.length - 1], law.support.length]).toEqual([13, 119, 107]);
});
