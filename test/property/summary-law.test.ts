import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { geometricLaw, moments, quantile } from '../../src-workers/models/workload/laws.ts';
import { summaryLaw, type SummaryFigures } from '../../src-workers/models/workload/summary-law.ts';
import { forAll } from '../for-all.ts';

const law = (figures: SummaryFigures): LengthLaw => unwrap(summaryLaw(figures, 'summary'));
const skewnessOf = ({ support, probability }: LengthLaw): number => {
  const { mean, standardDeviation } = moments({ support, probability, label: '', truncatedMass: 0 });
  return support.reduce((sum, x, i) => sum + probability[i] * (x - mean) ** 3, 0) / standardDeviation ** 3;
};
const entropy = (probability: ArrayLike<number>): number =>
  -Array.from(probability).reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);

/** Each drawn length occurs four times, so that every quartile is a length in the list. */
const lengths = fc
  .array(fc.integer({ min: 0, max: 200 }), { minLength: 4, maxLength: 40 })
  .map((drawn) => [...drawn, ...drawn, ...drawn, ...drawn].sort((a, b) => a - b))
  .filter((all) => all[0] < all.at(-1)!);
const figuresOf = (all: readonly number[]): Required<SummaryFigures> => {
  const n = all.length;
  const mean = all.reduce((sum, x) => sum + x, 0) / n;
  const central = (power: number): number => all.reduce((sum, x) => sum + (x - mean) ** power, 0) / n;
  const sd = Math.sqrt(central(2));
  const [q1, median, q3] = [0.25, 0.5, 0.75].map((share) => all[share * n - 1]);
  return { min: all[0], q1, median, q3, max: all[n - 1], mean, sd, skewness: central(3) / sd ** 3 };
};
const subset = fc.uniqueArray(fc.constantFrom('min', 'q1', 'median', 'q3', 'max', 'sd' as const));

describe('a law from figures', () => {
  it('has the figures of real lengths, whichever of them are given', () => {
    forAll(lengths, subset, (all, given) => {
      const known = figuresOf(all);
      const figures = Object.fromEntries([...given, 'mean' as const].map((name) => [name, known[name]]));
      const found = law(figures);
      const { mean, standardDeviation, supportMin, supportMax } = moments(found);
      expect(found.fitted).toBe(true);
      expect(Math.abs(mean - known.mean)).toBeLessThan(1e-3 * 21 * (known.max + 1));
      if (given.includes('sd')) expect(Math.abs(standardDeviation / known.sd - 1)).toBeLessThan(0.01);
      if (given.includes('min')) expect(supportMin).toBe(known.min);
      if (given.includes('max')) expect(supportMax).toBe(known.max);
      for (const [share, name] of [
        [0.25, 'q1'],
        [0.5, 'median'],
        [0.75, 'q3'],
      ] as const)
        if (given.includes(name)) {
          // At least a share of `share` is up to the quartile, and at most this share is below the quartile.
          const upTo = found.support.reduce((sum, x, i) => sum + (x <= known[name] ? found.probability[i] : 0), 0);
          const below = found.support.reduce((sum, x, i) => sum + (x < known[name] ? found.probability[i] : 0), 0);
          expect(upTo).toBeGreaterThan(share - 1e-9);
          expect(below).toBeLessThan(share + 1e-9);
        }
    });
  });

  it('has the most entropy among lengths with the same figures', () => {
    forAll(lengths, (all) => {
      const { min, max, mean, sd } = figuresOf(all);
      const found = law({ min, max, mean, sd });
      const shares = new Map<number, number>();
      for (const x of all) shares.set(x, (shares.get(x) ?? 0) + 1 / all.length);
      // The law satisfies the figures only within a tolerance, so its entropy may be slightly smaller.
      expect(entropy(found.probability)).toBeGreaterThan(entropy([...shares.values()]) - 0.02);
    });
  });

  it('is geometric if only the mean is known, and uniform if the ends are known and the mean is between them', () => {
    const { probability, support } = law({ min: 1, mean: 20 });
    const geometric = unwrap(geometricLaw(1 / 20));
    for (const i of [0, 10, 60]) expect(probability[i] / geometric.probability[i]).toBeCloseTo(1, 3);
    expect(support[0]).toBe(1);
    const even = law({ min: 10, max: 30, mean: 20 });
    for (const p of even.probability) expect(p).toBeCloseTo(1 / 21, 9);
  });

  it('has the given skewness, and keeps a longest length that the moments hardly allow', () => {
    const found = law({ min: 1, q1: 2, median: 3, q3: 14, max: 5852, mean: 12.5, sd: 60, skewness: 30 });
    expect(skewnessOf(found)).toBeCloseTo(30, 0);
    expect(moments(found)).toMatchObject({ supportMin: 1, supportMax: 5852 });
    expect([quantile(found, 0.25), quantile(found, 0.5), quantile(found, 0.75)]).toEqual([2, 3, 14]);
    // The range has millions of lengths, but the law must have few enough lengths to compute with.
    const wide = law({ min: 0, max: 50_000_000, mean: 7, sd: 4000 });
    expect(wide.support.length).toBeLessThanOrEqual(20_000);
    expect(moments(wide).standardDeviation / 4000).toBeCloseTo(1, 2);
  });

  it.each<[SummaryFigures, RegExp]>([
    [{ sd: 3 }, /the mean is missing/],
    [{ mean: -1 }, /mean is -1\. It must be at least 0/],
    [{ mean: 7, q1: 9, median: 5 }, /median is 5, which is below q1 9/],
    [{ mean: 12, min: 1, max: 10 }, /mean is 12\. It must be from min 1 to max 10/],
    [{ mean: 9, min: 1, q1: 2, median: 3, q3: 4, max: 10 }, /mean 9 is not possible.*between 3\.25 and 4\.75/],
    [{ mean: 5, max: 10, sd: 40 }, /no lengths have the sd 40.*about 5\./],
    [{ mean: 5, max: 10, sd: 2, skewness: 90 }, /no lengths have the skewness 90/],
    [{ mean: 5, skewness: 1 }, /skewness needs sd/],
    [{ mean: 5, max: 7.5 }, /max is 7\.5\. It must be an integer/],
  ])('refuses %o', (figures, message) =>
    expect(summaryLaw(figures, 'summary')).toMatchObject({ error: { code: 'bad-input', message } }),
  );
});
