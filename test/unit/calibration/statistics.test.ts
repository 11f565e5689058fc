import { describe, expect, it } from 'vitest';
import * as statistics from '../../../src-workers/numeric/statistics.ts';

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
