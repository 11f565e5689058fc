import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { binnedLossDistribution } from '../../src-workers/models/imbalance/binned.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { lossDistribution, lossDistributionCost, quantile } from '../../src-workers/models/imbalance/distribution.ts';
import { categoricalLaw } from '../../src-workers/models/workload/laws.ts';
import { listAtoms, fromMasses, addLaws, makeSumTerm } from '../../src-workers/predict/depth/discrete-law.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

/** Generates laws of up to 12 lengths between 0 and 10,000, with weights over six orders of magnitude. */
const anyLaw = fc
  .uniqueArray(fc.tuple(fc.nat(10_000), real(0, 6)), { minLength: 1, maxLength: 12, selector: ([length]) => length })
  .map((points) => {
    const weights = points.map(([, exponent]) => 10 ** -exponent);
    const total = weights.reduce((sum, w) => sum + w, 0);
    return unwrap(categoricalLaw(points.map(([length], i) => ({ length, probability: weights[i] / total }))));
  });

const groupSize = whole(2, 100);

describe('laws of the loss', () => {
  it('are between 1 and n, grow with n, do not depend on the unit of length, and fall with a constant length', () => {
    forAll(anyLaw, groupSize, whole(2, 1000), whole(1, 1000), (law, n, factor, constant) => {
      const [row, larger] = lossMoments(law, [n, n + 1]);
      for (const loss of [row.meanLoss, row.aggregateLoss]) expect(loss).toBeWithin(1, n * (1 + 1e-12));
      // The standard deviation of a variable in [1, n] is at most half its range.
      expect(row.standardDeviationLoss).toBeLessThanOrEqual((n - 1) / 2 + 1e-5);
      expect(larger.aggregateLoss).toBeGreaterThanOrEqual(row.aggregateLoss * (1 - 1e-12));
      const withLengths = (of: (length: number) => number) =>
        lossMoments({ ...law, support: law.support.map(of) }, [n]);
      const [scaled] = withLengths((length) => length * factor);
      expect(scaled.meanLoss).toBeNear(row.meanLoss, 1e-11);
      expect(scaled.aggregateLoss).toBeNear(row.aggregateLoss, 1e-12);
      const [shifted] = withLengths((length) => length + constant);
      expect(shifted.aggregateLoss).toBeLessThanOrEqual(row.aggregateLoss * (1 + 1e-12));
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
    forAllOf(60)(smallLaw, whole(2, 64), (law, n) => {
      fc.pre(lossDistributionCost(law, n).operations < 1e7);
      const exact = unwrap(lossDistribution(law, n));
      const mean = exact.loss.reduce((sum, x, i) => sum + x * exact.probability[i], 0);
      const variance = exact.loss.reduce((sum, x, i) => sum + (x - mean) ** 2 * exact.probability[i], 0);
      const [moments] = lossMoments(law, [n]);
      expect(moments.meanLoss).toBeNear(mean, 1e-11);
      // A variance is a small difference of two large second moments, so it loses digits.
      expect(Math.abs(moments.standardDeviationLoss ** 2 - variance)).toBeLessThan(1e-9 * mean ** 2);
      expect(exact.loss.every((x, i) => i === 0 || x > exact.loss[i - 1])).toBe(true);
      const binned = binnedLossDistribution(law, n);
      expect(binned.loss.reduce((sum, x, i) => sum + x * binned.probability[i], 0)).toBeNear(mean, 1e-9);
      for (const q of [0.1, 0.5, 0.9])
        expect(quantile(binned, q)).toBeWithin(
          quantile(exact, q - 1e-9) * (1 - binned.resolution),
          quantile(exact, q + 1e-9) * (1 + binned.resolution),
        );
    });
  });
});
