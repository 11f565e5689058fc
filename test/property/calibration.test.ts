import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { agreement } from '../../src-workers/models/calibration/agreement.ts';
import { mannKendall, summariseRepeats } from '../../src-workers/models/calibration/repeats.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { concordance, kendall, medianInterval, spearman } from '../../src-workers/numeric/statistics.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

/** Values are small integers, so that ties are common. */
const columns = fc
  .array(fc.tuple(whole(0, 8), whole(0, 8)), { minLength: 2, maxLength: 60 })
  .map((rows) => ({ a: Float64Array.from(rows, ([x]) => x), b: Float64Array.from(rows, ([, y]) => y) }));
const times = fc.array(real(1e-3, 1e6), { minLength: 1, maxLength: 40 });

it('rank correlations count the same pairs as a double loop, are symmetric and within −1…1, and change sign with the order', () =>
  forAll(columns, ({ a, b }) => {
    const expected = { score: 0, pairs: 0, tiedA: 0, tiedB: 0 };
    for (let i = 0; i < a.length; i++)
      for (let j = i + 1; j < a.length; j++) {
        expected.score += Math.sign(a[i] - a[j]) * Math.sign(b[i] - b[j]);
        expected.pairs++;
        if (a[i] === a[j]) expected.tiedA++;
        if (b[i] === b[j]) expected.tiedB++;
      }
    expect(concordance(a, b)).toEqual(expected);
    for (const correlation of [kendall, spearman]) {
      const value = correlation(a, b);
      if (Number.isNaN(value)) return;
      // The value is computed from sums of at most 60 squares.
      expect(Math.abs(value)).toBeLessThanOrEqual(1 + 1e-14);
      expect(Math.abs(correlation(b, a) - value)).toBeLessThan(1e-14);
      const opposite = b.map((y) => -y);
      expect(Math.abs(correlation(a, opposite) + value)).toBeLessThan(1e-14);
    }
  }));

it('the interval of a median covers at least the requested share, and is the narrowest interval that does', () => {
  forAll(whole(1, 2000), real(0.5, 0.999), (n, asked) => {
    const interval = medianInterval(n, asked);
    if (!interval) {
      expect(1 - 2 ** (1 - n)).toBeLessThan(asked);
      return;
    }
    expect(interval.coverageFraction).toBeGreaterThanOrEqual(asked);
    expect(interval.low + interval.high).toBe(n - 1);
    expect(interval.low).toBeLessThan(interval.high);
    // The next narrower interval covers too little.
    const inner = medianInterval(n, interval.coverageFraction + 1e-9);
    if (inner) expect(inner.low).toBeLessThan(interval.low);
  });
});

it('a summary of repeats is in order, does not depend on the unit, and finds the opposite trend in the reversed order', () =>
  forAll(times, (values) => {
    const kept = values.map(() => false);
    const once = unwrap(summariseRepeats(values, kept));
    const { minNs, medianNs, maxNs, interval } = once;
    const inOrder = [minNs, interval?.lowNs ?? medianNs, medianNs, interval?.highNs ?? medianNs, maxNs];
    expect(inOrder).toEqual(inOrder.toSorted((x, y) => x - y));
    // Times twice as long get the same flags.
    const doubled = values.map((value) => 2 * value);
    const { warnings, outliers } = once;
    expect(unwrap(summariseRepeats(doubled, kept))).toMatchObject({ warnings, outliers, medianNs: 2 * medianNs });
    const forward = mannKendall(Float64Array.from(values));
    expect(Math.abs(mannKendall(Float64Array.from(values).reverse()) - forward)).toBeLessThan(1e-14);
    expect(forward).toBeWithin(0, 1);
  }));

it('a longer shortlist never finds a worse design, and the whole list finds the best', () => {
  const designs = fc.array(fc.tuple(real(0.1, 100), real(0.1, 100)), { minLength: 2, maxLength: 30 }).map((rows) => {
    return { predictedMs: Float64Array.from(rows, ([x]) => x), measuredMs: Float64Array.from(rows, ([, y]) => y) };
  });
  const shortlists = Array.from({ length: 30 }, (_, i) => i + 1);
  forAllOf(30)(designs, (input) => {
    const result = unwrap(agreement(input, { uniform: mersenneTwister(1), shortlists }));
    let last = Infinity;
    for (const { regret, k, randomMeasurements: random } of result.shortlists) {
      expect(regret).toBeGreaterThanOrEqual(0);
      // Expected regrets over ties are sums of at most 30 terms.
      expect(regret).toBeLessThanOrEqual(last + 1e-12);
      expect(random).toBeLessThanOrEqual(input.measuredMs.length);
      expect(k).toBeGreaterThan(0);
      last = regret;
    }
    expect(last).toBe(0);
  });
});
