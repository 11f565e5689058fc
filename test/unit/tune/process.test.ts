import { describe, expect, it } from 'vitest';
import { mersenneTwister, standardNormal } from '../../../src-workers/numeric/random.ts';
import { solveSymmetric } from '../../../src-workers/numeric/symmetric.ts';
import { makeAxis, createProcess, fitWidths, type Field } from '../../../src-workers/tune/process.ts';

const SIDE = 6;
const at = (from: (index: number) => number) => Float64Array.from(Array(SIDE ** 2).keys(), from);
const field: Field = {
  axes: [makeAxis(at((i) => Math.floor(i / SIDE)), false), makeAxis(at((i) => i % SIDE), true)],
  line: at((i) => (i % 7) / 3),
  interaction: 0.6,
}; // prettier-ignore
const widths = Float64Array.from([0.1, -2, -0.5, -0.7, 0.3]);

function covariance(one: number, other: number): number {
  const apart = Math.abs(Math.floor(one / SIDE) - Math.floor(other / SIDE)) / (SIDE - 1);
  const r = (Math.sqrt(5) / Math.exp(widths[3])) * apart;
  const names = one % SIDE === other % SIDE ? 0 : Math.sqrt(5) / Math.exp(widths[4]);
  const along = [r, names].map((d) => 0.4 + 0.6 * (1 + d + d ** 2 / 3) * Math.exp(-d));
  const line = Math.exp(2 * widths[2]) * field.line[one] * field.line[other];
  return 1 + Math.exp(2 * widths[0]) * along[0] * along[1] + line;
}

describe('a process over designs', () => {
  const known = [3, 14, 20, 35];
  const noise = 0.02;
  const z = Float64Array.from([1, -0.5, 0.3, -1.2]);
  const own = Math.exp(2 * widths[1]);
  const ofOwn = own + noise + 1e-6;
  const matrix = known.map((one) => known.map((other) => covariance(one, other) + (one === other ? ofOwn : 0)));
  const process = createProcess(field, widths);
  for (const design of known) process.add(design, noise);

  it('agrees with the equations for every design, and for the error of measured ones', () => {
    const { mean, pulls } = process.expect(z);
    const solved = solveSymmetric(matrix, [...z]);
    solved.forEach((value, i) => expect(pulls[i]).toBeCloseTo(value, 9));
    for (const design of [0, 3, 17, 30]) {
      const row = known.map((one) => covariance(design, one));
      expect(mean[design]).toBeCloseTo(row.reduce((sum, value, i) => sum + value * solved[i], 0), 9); // prettier-ignore
      const explained = solveSymmetric(matrix, row).reduce((sum, value, i) => sum + value * row[i], 0);
      expect(process.spread[design]).toBeCloseTo(covariance(design, design) - explained, 9);
      expect(process.covariances([5, design])[1][1]).toBeCloseTo(process.spread[design] + 1e-6, 9);
    }
  });

  it('returns to its earlier state when added measurements are removed', () => {
    const before = process.spread.slice();
    process.add(8, 0);
    expect(process.spread[8]).toBeLessThan(0.2 * before[8]);
    process.keep(known.length);
    process.spread.forEach((value, i) => expect(value).toBeCloseTo(before[i], 9));
    expect(process.expect(z).pulls).toHaveLength(known.length);
  });
});

it('fitWidths finds a long length scale for an axis without effect, short ones for unexplained times, and a line for times like the prediction', () => {
  const uniform = mersenneTwister(5);
  const designs = Array.from({ length: SIDE ** 2 }, (_, i) => i);
  const fitted = (value: (i: number) => number) =>
    fitWidths(field, { designs, z: at(value), noise: new Float64Array(SIDE ** 2) });
  const [, , , first, second] = fitted((i) => Math.sin(Math.floor(i / SIDE) * 1.3));
  expect(second).toBeGreaterThan(first + 1);
  const noisy = fitted(() => standardNormal(uniform));
  const lined = fitted((i) => 2 * field.line[i] - 2);
  expect(noisy[3]).toBeLessThan(lined[3] - 1);
  expect(lined[2]).toBeGreaterThan(noisy[2] + 0.5);
});
