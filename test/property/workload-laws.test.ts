import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Result, unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';
import { geometricLaw, moments, quantile } from '../../src-workers/models/workload/laws.ts';
import { summaryLaw, type SummaryFigures } from '../../src-workers/models/workload/summary-law.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

const probability = real(0.01, 0.99);
/** A truncation so small that no textbook moment changes beyond the tolerance below. */
const FINE_CUT = 1e-15;

/** Generates laws with their textbook mean and variance, which follow from the parameters without truncation. */
const textbook: fc.Arbitrary<{ law: Result<LengthLaw>; mean: number; variance: number }> = fc.oneof(
  fc.record({ n: whole(1, 20_000), p: probability }).map(({ n, p }) => {
    return { law: laws.binomialLaw(n, p), mean: n * p, variance: n * p * (1 - p) };
  }),
  probability.map((p) => ({ law: laws.geometricLaw(p, FINE_CUT), mean: 1 / p, variance: (1 - p) / p ** 2 })),
  real(0.01, 20_000).map((mean) => ({ law: laws.poissonLaw(mean, FINE_CUT), mean, variance: mean })),
  fc.record({ r: real(0.05, 200), p: probability }).map(({ r, p }) => {
    return { law: laws.negativeBinomialLaw(r, p, FINE_CUT), mean: (r * (1 - p)) / p, variance: (r * (1 - p)) / p ** 2 };
  }),
  fc.record({ a: fc.nat(5000), width: fc.nat(5000) }).map(({ a, width }) => {
    return { law: laws.uniformLaw(a, a + width), mean: a + width / 2, variance: ((width + 1) ** 2 - 1) / 12 };
  }),
);

/** Computes P(W ≤ length) from its definition. */
const probabilityUpTo = ({ support, probability: each }: LengthLaw, length: number): number =>
  each.reduce((sum, part, i) => (support[i] <= length ? sum + part : sum), 0);

const anyLaw: fc.Arbitrary<LengthLaw> = fc
  .oneof(
    textbook.map(({ law }) => law),
    fc.record({ s: real(0, 400), max: whole(1, 3000) }).map(({ s, max }) => laws.zipfLaw(s, max)),
    fc.record({ mu: real(-5, 6), sigma: real(0.01, 1) }).map(({ mu, sigma }) => laws.lognormalLaw(mu, sigma)),
    fc
      .array(fc.tuple(fc.nat(1_000_000), whole(1, 1000)), { minLength: 1, maxLength: 50 })
      .map((counts) => laws.empiricalLaw(new Map(counts))),
  )
  .map(unwrap);

function expectLaw(law: LengthLaw): void {
  expect(law.support.length).toBe(law.probability.length);
  expect(law.support.length).toBeGreaterThan(0);
  let sum = 0;
  for (let i = 0; i < law.support.length; i++) {
    sum += law.probability[i];
    if (!(law.probability[i] > 0)) throw new Error(`${law.label}: probability ${law.probability[i]} at ${i}`);
    if (!Number.isSafeInteger(law.support[i]) || law.support[i] < 0) throw new Error(`${law.label}: ${law.support[i]}`);
    if (i > 0 && !(law.support[i] > law.support[i - 1])) throw new Error(`${law.label}: support falls at ${i}`);
  }
  // A plain sum of k terms with total 1 has an error of at most k·EPS.
  expect(Math.abs(sum - 1)).toBeLessThanOrEqual(law.support.length * Number.EPSILON);
}

describe('laws of unit lengths', () => {
  it('have a rising support of positive probabilities that sum to 1', () => forAllOf(300)(anyLaw, expectLaw));

  it('have their textbook mean and variance', () => {
    forAllOf(300)(textbook, ({ law, mean, variance }) => {
      const { mean: ourMean, standardDeviation } = laws.moments(unwrap(law));
      // The truncation removes up to 1e-15 of the mass, hundreds of means away. The walk from the mode rounds.
      expect(Math.abs(ourMean - mean)).toBeLessThanOrEqual(1e-11 * Math.max(1, mean));
      expect(Math.abs(standardDeviation ** 2 - variance)).toBeLessThanOrEqual(1e-10 * Math.max(1, variance));
    });
  });

  it('a quantile is the first length at which the distribution reaches its probability', () =>
    forAllOf(200)(anyLaw, real(0, 1), (law, q) => {
      const length = laws.quantile(law, q);
      expect(probabilityUpTo(law, length)).toBeGreaterThanOrEqual(q - law.support.length * Number.EPSILON);
      if (length > law.support[0]) expect(probabilityUpTo(law, length - 1)).toBeLessThan(q);
    }));

  it('any arguments at all give a law or a failure, never an exception', () => {
    const number = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.constantFrom(0, 1, -0, NaN, Infinity, 1e308, 5e-324, 2 ** 53),
    );
    forAllOf(200)(number, number, number, (a, b, truncation) => {
      for (const result of [
        laws.binomialLaw(a, b),
        laws.geometricLaw(a, truncation),
        laws.poissonLaw(a, truncation),
        laws.uniformLaw(a, b),
        laws.negativeBinomialLaw(a, b, truncation),
        laws.zipfLaw(a, Math.min(b, 1000)),
        laws.lognormalLaw(a, b, truncation),
        laws.constantLaw(a),
        laws.categoricalLaw([{ length: a, probability: b }]),
        laws.empiricalLaw(new Map([[a, b]])),
      ]) {
        if (result.ok) expectLaw(result.value);
        else expect(result.error.message).not.toBe('');
      }
    });
  });
});

const lawOf = (figures: SummaryFigures): LengthLaw => unwrap(summaryLaw(figures, 'summary'));
const skewnessOf = ({ support, probability }: LengthLaw): number => {
  const { mean, standardDeviation } = moments({ support, probability, label: '', truncatedMass: 0 });
  return support.reduce((sum, x, i) => sum + probability[i] * (x - mean) ** 3, 0) / standardDeviation ** 3;
};
const entropy = (probability: ArrayLike<number>): number =>
  -Array.from(probability).reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0);

/** Each drawn length occurs four times, so that every quartile is a length in the list. */
const lengths = fc
  .array(whole(0, 200), { minLength: 4, maxLength: 40 })
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
      const found = lawOf(figures);
      const { mean, standardDeviation, supportMin, supportMax } = moments(found);
      expect(found.fitted).toBe(true);
      expect(Math.abs(mean - known.mean)).toBeLessThan(1e-3 * 21 * (known.max + 1));
      if (given.includes('sd')) expect(standardDeviation).toBeNear(known.sd, 0.01);
      if (given.includes('min')) expect(supportMin).toBe(known.min);
      if (given.includes('max')) expect(supportMax).toBe(known.max);
      for (const [at, name] of (['q1', 'median', 'q3'] as const).entries())
        if (given.includes(name)) {
          const share = (at + 1) / 4;
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
      const found = lawOf({ min, max, mean, sd });
      const shares = new Map<number, number>();
      for (const x of all) shares.set(x, (shares.get(x) ?? 0) + 1 / all.length);
      // The law satisfies the figures only within a tolerance, so its entropy may be slightly smaller.
      expect(entropy(found.probability)).toBeGreaterThan(entropy([...shares.values()]) - 0.02);
    });
  });

  it('is geometric if only the mean is known, and uniform if the ends are known and the mean is between them', () => {
    const { probability, support } = lawOf({ min: 1, mean: 20 });
    const geometric = unwrap(geometricLaw(1 / 20));
    for (const i of [0, 10, 60]) expect(probability[i] / geometric.probability[i]).toBeCloseTo(1, 3);
    expect(support[0]).toBe(1);
    for (const p of lawOf({ min: 10, max: 30, mean: 20 }).probability) expect(p).toBeCloseTo(1 / 21, 9);
  });

  it('has the given skewness, and keeps a longest length that the moments hardly allow', () => {
    const found = lawOf({ min: 1, q1: 2, median: 3, q3: 14, max: 5852, mean: 12.5, sd: 60, skewness: 30 });
    expect(skewnessOf(found)).toBeCloseTo(30, 0);
    expect(moments(found)).toMatchObject({ supportMin: 1, supportMax: 5852 });
    expect([quantile(found, 0.25), quantile(found, 0.5), quantile(found, 0.75)]).toEqual([2, 3, 14]);
    // The range has millions of lengths, but the law must have few enough lengths to compute with.
    const wide = lawOf({ min: 0, max: 50_000_000, mean: 7, sd: 4000 });
    expect(wide.support.length).toBeLessThanOrEqual(20_000);
    expect(moments(wide).standardDeviation / 4000).toBeCloseTo(1, 2);
  });

  it.each<[SummaryFigures, RegExp]>([
    [{ sd: 3 }, /the mean is missing/],
    [{ mean: -1 }, /mean is -1\. It must be at least 0/],
    [{ mean: 7, median: 1e16 }, /median is 10000000000000000\. It must be from 0 to 9007199254740991/],
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
