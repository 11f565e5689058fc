import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { binnedLossDistribution } from '../../src-workers/models/imbalance/binned.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { lossDistribution, lossDistributionCost, quantile } from '../../src-workers/models/imbalance/distribution.ts';
import { categoricalLaw } from '../../src-workers/models/workload/laws.ts';
import { listAtoms, fromMasses, addLaws, makeSumTerm } from '../../src-workers/predict/depth/discrete-law.ts';
import { forAll, forAllOf } from '../for-all.ts';

/** Generates laws of up to 12 lengths between 0 and 10,000, with weights over six orders of magnitude. */
const anyLaw = fc
  .uniqueArray(fc.tuple(fc.nat(10_000), fc.double({ min: 0, max: 6, noNaN: true })), {
    minLength: 1,
    maxLength: 12,
    selector: ([length]) => length,
  })
  .map((points) => {
    const weights = points.map(([, exponent]) => 10 ** -exponent);
    const total = weights.reduce((sum, w) => sum + w, 0);
    return unwrap(categoricalLaw(points.map(([length], i) => ({ length, probability: weights[i] / total }))));
  });

const groupSize = fc.integer({ min: 2, max: 100 });

const scaled = (law: LengthLaw, factor: number): LengthLaw => ({ ...law, support: law.support.map((v) => v * factor) });

describe('laws of the loss', () => {
  it('mean and aggregate loss are between 1 and n', () => {
    forAll(anyLaw, groupSize, (law, n) => {
      const [row] = lossMoments(law, [n]);
      for (const loss of [row.meanLoss, row.aggregateLoss]) expect(loss).toBeWithin(1, n * (1 + 1e-12));
      // The standard deviation of a variable in [1, n] is at most half its range.
      expect(row.standardDeviationLoss).toBeLessThanOrEqual((n - 1) / 2 + 1e-5);
    });
  });

  it('aggregate loss grows with n', () =>
    forAll(anyLaw, groupSize, (law, n) => {
      const [small, large] = lossMoments(law, [n, n + 1]);
      expect(large.aggregateLoss).toBeGreaterThanOrEqual(small.aggregateLoss * (1 - 1e-12));
    }));

  it('the loss does not depend on the unit of length', () =>
    forAll(anyLaw, groupSize, fc.integer({ min: 2, max: 1000 }), (law, n, factor) => {
      const [one] = lossMoments(law, [n]);
      const [other] = lossMoments(scaled(law, factor), [n]);
      expect(Math.abs(other.meanLoss / one.meanLoss - 1)).toBeLessThan(1e-11);
      expect(Math.abs(other.aggregateLoss / one.aggregateLoss - 1)).toBeLessThan(1e-12);
    }));

  it('adding a constant to every length never raises the aggregate loss', () => {
    forAll(anyLaw, groupSize, fc.integer({ min: 1, max: 1000 }), (law, n, constant) => {
      const shifted = { ...law, support: law.support.map((v) => v + constant) };
      const [before] = lossMoments(law, [n]);
      // If all lengths are 0, there is no loss.
      const [after] = lossMoments(shifted, [n]);
      expect(after.aggregateLoss).toBeLessThanOrEqual(before.aggregateLoss * (1 + 1e-12));
    });
  });

  it('flattening a loop over more units never raises the aggregate loss', () => {
    forAllOf(30)(anyLaw, groupSize, (law, n) => {
      const unit = makeSumTerm(fromMasses(law.support, law.probability));
      const losses = [1, 2, 4, 64].map((m) => lossMoments(listAtoms(addLaws([unit], [m])), [n])[0].aggregateLoss);
      // Large sums are put into fewer bins. `addLaws` states the error of this.
      for (let i = 1; i < losses.length; i++) expect(losses[i]).toBeLessThanOrEqual(losses[i - 1] * (1 + 1e-3));
    });
  });

  it('the closed form, the full and the binned distribution agree', () => {
    const smallLaw = anyLaw.map((law) => ({ ...law, support: law.support.map((v, i) => (v % 40) + 40 * i) }));
    forAllOf(60)(smallLaw, fc.integer({ min: 2, max: 64 }), (law, n) => {
      fc.pre(lossDistributionCost(law, n).operations < 1e7);
      const exact = unwrap(lossDistribution(law, n));
      const mean = exact.loss.reduce((sum, x, i) => sum + x * exact.probability[i], 0);
      const variance = exact.loss.reduce((sum, x, i) => sum + (x - mean) ** 2 * exact.probability[i], 0);
      const [moments] = lossMoments(law, [n]);
      expect(Math.abs(moments.meanLoss / mean - 1)).toBeLessThan(1e-11);
      // A variance is a small difference of two large second moments, so it loses digits.
      expect(Math.abs(moments.standardDeviationLoss ** 2 - variance)).toBeLessThan(1e-9 * mean ** 2);
      expect(exact.loss.every((x, i) => i === 0 || x > exact.loss[i - 1])).toBe(true);
      const binned = binnedLossDistribution(law, n);
      const binnedMean = binned.loss.reduce((sum, x, i) => sum + x * binned.probability[i], 0);
      expect(Math.abs(binnedMean / mean - 1)).toBeLessThan(1e-9);
      for (const q of [0.1, 0.5, 0.9])
        expect(quantile(binned, q)).toBeWithin(
          quantile(exact, q - 1e-9) * (1 - binned.resolution),
          quantile(exact, q + 1e-9) * (1 + binned.resolution),
        );
    });
  });
});
