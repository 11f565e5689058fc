import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';

/** Expects equal values, except for the rounding of a normalisation, which is a few units in the last place. */
function expectNear(got: number, expected: number, roundings = 32): void {
  expect(Math.abs(got / expected - 1)).toBeLessThanOrEqual(roundings * Number.EPSILON);
}

describe('conventions', () => {
  it('a law is cut at the shortest length that leaves at most the truncation, and the rest is reported', () => {
    const law = unwrap(laws.geometricLaw(0.05));
    const last = law.support[law.support.length - 1];
    expect(0.95 ** last).toBeLessThanOrEqual(1e-6);
    expect(0.95 ** (last - 1)).toBeGreaterThan(1e-6);
    // 0.95 is rounded once and then multiplied by itself.
    expectNear(law.truncatedMass, 0.95 ** last, last);
    expect(unwrap(laws.geometricLaw(0.05, 1e-9)).support.length).toBeGreaterThan(last);
  });

  it('drops points of probability 0, and makes proportions of empirical lengths', () => {
    const points = Object.entries([0, 0.5, 0, 0.5]).map(([length, probability]) => ({
      length: Number(length),
      probability,
    }));
    expect([...unwrap(laws.categoricalLaw(points)).support]).toEqual([1, 3]);
    const law = unwrap(laws.empiricalLaw(new Map([[9, 1]]).set(2, 3)));
    expect([...law.support]).toEqual([2, 9]);
    expect([...law.probability]).toEqual([0.75, 0.25]);
  });

  it('degenerate parameters give a single point', () => {
    for (const [law, length] of [
      [laws.binomialLaw(9, 0), 0],
      [laws.binomialLaw(9, 1), 9],
      [laws.geometricLaw(1), 1],
      [laws.poissonLaw(0), 0],
      [laws.negativeBinomialLaw(2.5, 1), 0],
      [laws.constantLaw(32), 32],
      [laws.uniformLaw(4, 4), 4],
      [laws.zipfLaw(2, 1), 1],
    ] as const) {
      expect([...unwrap(law).support]).toEqual([length]);
      expect([...unwrap(law).probability]).toEqual([1]);
    }
  });

  it('a mixture weights its parts and their truncated mass', () => {
    const [constant, geometric] = [laws.constantLaw(100), laws.geometricLaw(0.5)].map(unwrap);
    const parts = [
      { weight: 0.25, law: constant },
      { weight: 0.75, law: geometric },
    ];
    const law = unwrap(laws.mixtureLaw(parts));
    expect(law.label).toBe('mixture(0.25*constant(100),0.75*geometric(0.5))');
    expectNear(law.probability[law.support.indexOf(100)], 0.25);
    expectNear(law.truncatedMass, 0.75 * geometric.truncatedMass);
  });
});

it('rounding moves no quantile, and the probability of all lengths is exactly 1', () => {
  const uniform = unwrap(laws.uniformLaw(1, 10));
  expect(laws.cumulative(uniform).at(-1)).toBe(1);
  for (let tenths = 1; tenths <= 10; tenths++) expect(laws.quantile(uniform, tenths / 10)).toBe(tenths);
});

it.each([
  [laws.binomialLaw(3.5, 0.5), 'binomial(3.5,0.5): trials must be an integer ≥ 0, not 3.5'],
  [laws.binomialLaw(3, 1.5), 'binomial(3,1.5): p must be a probability between 0 and 1, not 1.5'],
  [laws.binomialLaw(3, NaN), 'binomial(3,NaN): p must be a probability between 0 and 1, not NaN'],
  [laws.geometricLaw(0), 'geometric(0): p must be a probability above 0, up to 1, not 0'],
  [laws.geometricLaw(0.5, 0), 'geometric(0.5): truncation must be a probability between 1e-15 and 0.5, not 0'],
  [laws.poissonLaw(-1), 'poisson(-1): mean must be a number ≥ 0, not -1'],
  [laws.poissonLaw(Infinity), 'poisson(Infinity): mean must be a number ≥ 0, not Infinity'],
  [laws.uniformLaw(5, 4), 'uniform(5,4): b must be an integer ≥ 5, not 4'],
  [laws.uniformLaw(-1, 4), 'uniform(-1,4): a must be an integer ≥ 0, not -1'],
  [laws.negativeBinomialLaw(0, 0.5), 'negative-binomial(0,0.5): r must be a number > 0, not 0'],
  [laws.zipfLaw(-1, 10), 'zipf(-1,10): s must be a finite number ≥ 0, not -1'],
  [laws.zipfLaw(1, 0), 'zipf(1,0): max must be an integer ≥ 1, not 0'],
  [laws.lognormalLaw(1, 0), 'lognormal(1,0): sigma must be a finite number > 0, not 0'],
  [laws.constantLaw(2 ** 53), 'constant(9007199254740992): k must be an integer ≥ 0, not 9007199254740992'],
  [laws.categoricalLaw([]), 'categorical(): the probabilities sum to 0 instead of 1 (within 0.001)'],
  [
    laws.categoricalLaw([{ length: 1, probability: 0.9 }]),
    'categorical(1:0.9): the probabilities sum to 0.9 instead of 1 (within 0.001)',
  ],
  [laws.categoricalLaw([1, 1].map((length) => ({ length, probability: 0.5 }))), 'given twice'],
  [laws.mixtureLaw([]), 'mixture(): the weights sum to 0 instead of 1 (within 0.001)'],
  [laws.empiricalLaw(new Map()), 'empirical: the total weight is 0. At least one length must have a weight above 0.'],
  [laws.empiricalLaw(new Map([[1, -1]])), 'empirical: count of length 1 must be a finite number ≥ 0, not -1'],
])('errors say what is wrong, with the value and the limit: %#', (result, message) =>
  expect(result).toMatchObject({ error: { message: expect.stringContaining(message) } }),
);

it('supports that are too large are refused quickly', () => {
  for (const law of [
    laws.geometricLaw(1e-7),
    laws.poissonLaw(1e12),
    laws.uniformLaw(0, 2 ** 40),
    laws.zipfLaw(1, 2 ** 40),
    laws.negativeBinomialLaw(1e9, 1e-3),
    laws.lognormalLaw(30, 1),
    laws.binomialLaw(2 ** 50, 0.5),
  ])
    expect(law).toFail(null, /lengths are possible; the limit is 1000000/);
});
