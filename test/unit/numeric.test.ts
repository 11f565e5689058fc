import { describe, expect, it } from 'vitest';
import * as statistics from '../../src-workers/numeric/statistics.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { FULL_RULE, QUICK_RULE } from '../../src-workers/models/imbalance/closed-form.ts';
import { binomialLaw, categoricalLaw, geometricLaw, moments } from '../../src-workers/models/workload/laws.ts';
import { createBudget, createSizedCache } from '../../src-workers/numeric/budget.ts';
import { compactNumbers, copyCompactly } from '../../src-workers/numeric/compact.ts';
import { computeAny, notAll } from '../../src-workers/numeric/exponential.ts';
import { latticeStep, spreadOnLattice, sumWindow } from '../../src-workers/numeric/lattice.ts';
import { lengthSampler, mersenneTwister } from '../../src-workers/numeric/random.ts';
import { createScratch } from '../../src-workers/numeric/scratch.ts';
import { forAll, real } from '../for-all.ts';

const EPS = Number.EPSILON;

it.each([FULL_RULE, QUICK_RULE])(
  'the Gauss rule of step $step matches the moments of the nodes it replaces',
  (rule) => {
    const { step, nodes, weights } = rule;
    const points = Float64Array.from({ length: Math.ceil(50 / step) }, (_, k) => Math.exp(-step * k));
    for (let degree = 0; degree < 2 * nodes.length; degree++) {
      const exact = points.reduce((sum, x) => sum + step * x ** (degree + 1), 0);
      const integral = nodes.reduce((sum, x, i) => sum + weights[i] * x ** degree, 0);
      expect(integral).toBeNear(exact, 1e-13);
    }
  },
);

it('random numbers are MT19937: the 10,000th output of seed 5489 is that of the C++ standard', () => {
  const uniform = mersenneTwister(5489);
  // Each double has two 32-bit outputs. The 10,000th output is therefore the low half of the 5,000th double.
  let last = 0;
  for (let i = 0; i < 5000; i++) last = uniform();
  expect((last * 2 ** 53) % 2 ** 26).toBe(4123659995 >>> 6);
});

it('random numbers draw lengths with the frequencies of the law', () => {
  const law = unwrap(
    categoricalLaw([0.05, 0.5, 0.2, 0.15, 0.1].map((probability, i) => ({ length: 7 * i, probability }))),
  );
  const draw = lengthSampler(law);
  const uniform = mersenneTwister(7);
  const draws = 200_000;
  const counts = new Map<number, number>();
  for (let i = 0; i < draws; i++) {
    const length = draw(uniform);
    counts.set(length, (counts.get(length) ?? 0) + 1);
  }
  let chiSquare = 0;
  law.support.forEach((length, i) => {
    const expected = draws * law.probability[i];
    chiSquare += ((counts.get(length) ?? 0) - expected) ** 2 / expected;
  });
  expect([...counts.keys()].sort((a, b) => a - b)).toEqual([...law.support]);
  // The limit is the 99.9 % quantile of χ² with 4 degrees of freedom.
  expect(chiSquare).toBeLessThan(18.5);
});

it('lattices find the largest common step, and spread masses without moving the mean', () => {
  const steps = [[5, 11, 20], [0, 1000], [4]].map((lengths) => latticeStep(Float64Array.from(lengths)));
  expect(steps).toEqual([3, 1000, 1]);
  const law = unwrap(geometricLaw(0.05));
  expect(moments({ ...law, ...spreadOnLattice(law, 1, 7) }).mean).toBeNear(moments(law).mean, 100 * EPS);
});

it('lattices bound the sums by a window that leaves out at most the stated probability, and not much less', () => {
  const window = sumWindow(unwrap(binomialLaw(1, 0.5)), 1000, 1e-9);
  const { support, probability } = unwrap(binomialLaw(1000, 0.5));
  const outside = (low: number, high: number) =>
    support.reduce((sum, v, i) => sum + (v < low || v > high ? probability[i] : 0), 0);
  expect(outside(window.low, window.high)).toBeLessThan(2e-9);
  // Chernoff's bound is too large by a factor of the order of √count.
  expect(outside(window.low + 6, window.high - 6)).toBeGreaterThan(1e-10);
});

describe('caches that share a budget', () => {
  /** Makes a cache that records which values it makes. Every value has 100 bytes. */
  function countedCache(budget: ReturnType<typeof createBudget>, costMs: number) {
    const cache = createSizedCache<number, { key: number }>(budget, costMs, () => 100);
    const made: number[] = [];
    const get = (key: number) =>
      cache(key, () => {
        made.push(key);
        return { key };
      });
    return { made, get };
  }

  it('keep the values for which they have room, and never more', () => {
    const budget = createBudget(1000);
    const { get, made } = countedCache(budget, 1);
    for (let round = 0; round < 3; round++) for (let key = 0; key < 10; key++) expect(get(key).key).toBe(key);
    expect(made).toHaveLength(10);
    for (let key = 10; key < 100; key++) {
      get(key);
      expect(budget.used).toBe(1000);
    }
  });

  it('drop the values first that were not used for longest', () => {
    const { get, made } = countedCache(createBudget(300), 1);
    [1, 2, 3, 1, 4, 1, 3].forEach(get);
    expect(made).toEqual([1, 2, 3, 4]);
    get(2);
    expect(made).toEqual([1, 2, 3, 4, 2]);
  });

  it('drop cheap values before costly ones, but no costly value stays forever', () => {
    const budget = createBudget(1000);
    const cheap = countedCache(budget, 1e-3);
    const costly = countedCache(budget, 1e-2);
    costly.get(0);
    for (let key = 0; key < 30; key++) cheap.get(key);
    costly.get(0);
    expect(costly.made).toEqual([0]);
    for (let key = 30; key < 1000; key++) cheap.get(key);
    costly.get(0);
    expect(costly.made).toEqual([0, 0]);
  });
});

it('compact numbers are the same numbers', () => {
  const kinds = [
    { values: [0, 1, 2 ** 16 - 1], kind: Uint16Array },
    { values: [0, 2 ** 16], kind: Uint32Array },
    { values: [2 ** 32 - 1], kind: Uint32Array },
    { values: [2 ** 32], kind: Float64Array },
    { values: [1, 0.5], kind: Float64Array },
    { values: [-1], kind: Float64Array },
    { values: [Infinity], kind: Float64Array },
  ];
  for (const { values, kind } of kinds) {
    const compact = compactNumbers(Float64Array.from(values));
    expect(compact).toBeInstanceOf(kind);
    expect([...compact]).toEqual(values);
  }
});

it('scratch memory is used again, and copies outlive it', () => {
  const getScratch = createScratch();
  const first = getScratch(3);
  first.set([1, 0.5, 2]);
  const copy = copyCompactly(first);
  const second = getScratch(2);
  expect(second.buffer).toBe(first.buffer);
  expect([...second]).toEqual([0, 0]);
  expect([...copy]).toEqual([1, 0.5, 2]);
  expect([...getScratch(1000)]).toEqual(new Array(1000).fill(0));
});

it('exponentials by table: 1 − e^x has a relative error below 2e-5, however small it is', () => {
  forAll(real(-14, 1.5), (exponent) => {
    const x = -(10 ** exponent);
    expect(computeAny(x)).toBeNear(-Math.expm1(x), 2e-5);
  });
  expect(Math.abs(computeAny(0))).toBe(0);
});

it('exponentials by table: 1 − e^(−e^z) has a relative error below 5e-5', () => {
  forAll(real(-39.9, 6), (z) => {
    expect(notAll(z)).toBeNear(-Math.expm1(-Math.exp(z)), 5e-5);
  });
  expect([notAll(-60), notAll(-Infinity), notAll(50)]).toEqual([0, 0, 1]);
});

const of = (...values: number[]) => Float64Array.from(values);

it('rank correlations by hand are 1 and −1 for the same and the opposite order, τ-b of a table if there are ties, and undefined if one side is constant', () => {
  expect(statistics.kendall(of(1, 2, 3, 4), of(10, 20, 25, 90))).toBe(1);
  expect(statistics.kendall(of(1, 2, 3, 4), of(4, 3, 2, 1))).toBe(-1);
  expect(statistics.spearman(of(1, 2, 3, 4), of(4, 3, 2, 1))).toBe(-1);
  // There are 6 pairs. Pair (1,2) is tied in a, and pair (3,4) in b. The other four are concordant.
  expect(statistics.concordance(of(1, 1, 2, 3), of(5, 6, 7, 7))).toEqual({ score: 4, pairs: 6, tiedA: 1, tiedB: 1 });
  expect(statistics.kendall(of(1, 1, 2, 3), of(5, 6, 7, 7))).toBe(4 / 5);
  for (const correlation of [statistics.kendall, statistics.spearman, statistics.pearson])
    expect(correlation(of(1, 1, 1), of(1, 2, 3))).toBeNaN();
});

describe('order statistics', () => {
  it('interpolate quantiles', () => {
    expect(statistics.sortedQuantile(of(1, 2, 4, 8), 0.5)).toBe(3);
    expect(statistics.sortedQuantile(of(1, 2, 4, 8), 1)).toBe(8);
    expect(statistics.sortedQuantile(of(7), 0.95)).toBe(7);
    expect(statistics.median(of(9, 1, 5))).toBe(5);
  });

  it('contain the median as often as the tables of the sign test state', () => {
    expect(statistics.medianInterval(5, 0.95)).toBeNull();
    // The interval covers 1 − 2/64.
    expect(statistics.medianInterval(6, 0.95)).toEqual({ low: 0, high: 5, coverageFraction: 0.96875 });
    // Counted from 1, the positions are 2 and 9 of 10 (97.9 %), and 6 and 15 of 20 (95.9 %).
    expect(statistics.medianInterval(10, 0.95)).toMatchObject({ low: 1, high: 8 });
    expect(statistics.medianInterval(20, 0.95)).toMatchObject({ low: 5, high: 14 });
    expect(statistics.medianInterval(20, 0.95)!.coverageFraction).toBeCloseTo(0.9586, 4);
  });

  it('contain it even for series whose 2⁻ⁿ is below the smallest double', () => {
    const n = 5000;
    const { low, high, coverageFraction } = statistics.medianInterval(n, 0.95)!;
    expect(low + high).toBe(n - 1);
    // In the normal approximation, half of the width is 1.96·√n/2, within one position.
    expect(Math.abs((high - low) / 2 - 0.98 * Math.sqrt(n))).toBeLessThan(1);
    expect(coverageFraction).toBeGreaterThanOrEqual(0.95);
    expect(coverageFraction).toBeLessThan(0.952);
  });

  it('scale a median absolute deviation to a normal law', () => {
    // The factor is 1/Φ⁻¹(¾), checked to 12 digits.
    expect(Math.abs(statistics.MAD_TO_DEVIATION * 0.674489750196 - 1)).toBeLessThan(1e-11);
  });
});

it('Theil–Sen finds a line even if one value is arbitrary', () => {
  const y = Float64Array.from({ length: 20 }, (_, i) => 3 + 0.5 * i);
  y[7] = 1e9;
  expect(statistics.theilSenSlope(y)).toBe(0.5);
});
