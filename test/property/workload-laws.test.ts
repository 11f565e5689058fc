import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';
import { forAll, forAllOf } from '../for-all.ts';

const probability = fc.double({ min: 0.01, max: 0.99, noNaN: true });
/** A truncation so small that no textbook moment changes beyond the tolerance below. */
const FINE_CUT = 1e-15;

/** Generates laws with their textbook mean and variance, which follow from the parameters without truncation. */
const textbook: fc.Arbitrary<{ law: Result<LengthLaw>; mean: number; variance: number }> = fc.oneof(
  fc.record({ n: fc.integer({ min: 1, max: 20_000 }), p: probability }).map(({ n, p }) => {
    return { law: laws.binomialLaw(n, p), mean: n * p, variance: n * p * (1 - p) };
  }),
  probability.map((p) => ({ law: laws.geometricLaw(p, FINE_CUT), mean: 1 / p, variance: (1 - p) / p ** 2 })),
  fc.double({ min: 0.01, max: 20_000, noNaN: true }).map((mean) => {
    return { law: laws.poissonLaw(mean, FINE_CUT), mean, variance: mean };
  }),
  fc.record({ r: fc.double({ min: 0.05, max: 200, noNaN: true }), p: probability }).map(({ r, p }) => {
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
    fc
      .record({ s: fc.double({ min: 0, max: 400, noNaN: true }), max: fc.integer({ min: 1, max: 3000 }) })
      .map(({ s, max }) => laws.zipfLaw(s, max)),
    fc
      .record({ mu: fc.double({ min: -5, max: 6, noNaN: true }), sigma: fc.double({ min: 0.01, max: 1, noNaN: true }) })
      .map(({ mu, sigma }) => laws.lognormalLaw(mu, sigma)),
    fc
      .array(fc.tuple(fc.nat(1_000_000), fc.integer({ min: 1, max: 1000 })), { minLength: 1, maxLength: 50 })
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

  it('lose no more probability than the truncation', () => {
    forAll(
      fc.constantFrom(
        laws.geometricLaw,
        (p: number, t: number) => laws.poissonLaw(p * 1000, t),
        (p: number, t: number) => laws.negativeBinomialLaw(p * 10, p, t),
      ),
      probability,
      fc.constantFrom(1e-3, 1e-6, 1e-9, 1e-12),
      (make, p, truncation) => {
        const { truncatedMass } = unwrap(make(p, truncation));
        // Rounding may make the truncated mass slightly larger than the truncation itself.
        expect(truncatedMass).toBeLessThanOrEqual(truncation * (1 + 1e-9));
      },
    );
  });

  it('a quantile is the first length at which the distribution reaches its probability', () =>
    forAllOf(200)(anyLaw, fc.double({ min: 0, max: 1, noNaN: true }), (law, q) => {
      const length = laws.quantile(law, q);
      const rounding = law.support.length * Number.EPSILON;
      expect(probabilityUpTo(law, length)).toBeGreaterThanOrEqual(q - rounding);
      if (length > law.support[0]) expect(probabilityUpTo(law, length - 1)).toBeLessThan(q);
    }));

  it('a mixture has the weighted mean of its parts', () =>
    forAllOf(100)(anyLaw, anyLaw, fc.double({ min: 0, max: 1, noNaN: true }), (first, second, weight) => {
      const mixed = unwrap(
        laws.mixtureLaw([
          { weight, law: first },
          { weight: 1 - weight, law: second },
        ]),
      );
      expectLaw(mixed);
      const mean = weight * laws.moments(first).mean + (1 - weight) * laws.moments(second).mean;
      expect(Math.abs(laws.moments(mixed).mean - mean)).toBeLessThanOrEqual(1e-10 * Math.max(1, mean));
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
