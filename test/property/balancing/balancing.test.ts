import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { makeGroupDepthLaw } from '../../../src-workers/predict/depth/group-depth.ts';
import { categoricalLaw } from '../../../src-workers/models/workload/laws.ts';
import { lockstep } from '../../unit/predict/oracle.ts';
import { forAll } from '../../for-all.ts';

const laws = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 1000 })), {
    minLength: 1,
    maxLength: 24,
    selector: ([length]) => length,
  })
  .filter((points) => points.some(([length]) => length > 0))
  .map((points) => {
    const total = points.reduce((sum, [, weight]) => sum + weight, 0);
    return unwrap(categoricalLaw(points.map(([length, weight]) => ({ length, probability: weight / total }))));
  });
const groupSizes = fc.constantFrom(2, 4, 8, 32);
const loops = fc.constantFrom('nested' as const, 'flattened' as const);
const texts = fc.constantFrom(
  ...'none quantile-buckets(4) best-buckets(4) window-sort(256) full-sort dynamic-fetch'.split(' '),
);

const depthOf = (law: LengthLaw, n: number, text: string, loop: 'nested' | 'flattened' = 'nested', m = 1) =>
  makeGroupDepthLaw(law, n, lockstep(text), loop, m, { setupIterations: 0 });
/** Allows for the rounding errors in the sums that make up a loss. */
const SLACK = 1e-9;

describe('balancing laws', () => {
  it('one more bucket never increases the loss', () =>
    forAll(laws, groupSizes, fc.integer({ min: 1, max: 8 }), (law, n, k) => {
      const fewer = depthOf(law, n, `best-buckets(${k})`).aggregateLoss;
      expect(depthOf(law, n, `best-buckets(${k + 1})`).aggregateLoss).toBeLessThanOrEqual(fewer + SLACK);
    }));

  it('the best cuts never have more loss than quantiles', () =>
    forAll(laws, groupSizes, fc.integer({ min: 1, max: 8 }), (law, n, k) => {
      const quantiles = depthOf(law, n, `quantile-buckets(${k})`).aggregateLoss;
      expect(depthOf(law, n, `best-buckets(${k})`).aggregateLoss).toBeLessThanOrEqual(quantiles + SLACK);
    }));

  it('a window twice as large never has more loss, and a full sort has the least', () =>
    forAll(laws, groupSizes, fc.integer({ min: 0, max: 6 }), (law, n, doublings) => {
      const units = n * 2 ** doublings;
      const small = depthOf(law, n, `window-sort(${units})`).aggregateLoss;
      const large = depthOf(law, n, `window-sort(${2 * units})`).aggregateLoss;
      expect(large).toBeLessThanOrEqual(small + SLACK);
      expect(depthOf(law, n, 'full-sort').aggregateLoss).toBeLessThanOrEqual(large + SLACK);
    }));

  it('ordering never increases the loss, in one round or with nested loops', () => {
    forAll(laws, groupSizes, fc.constantFrom(1, 2, 7, 40), (law, n, m) => {
      const none = depthOf(law, n, 'none', 'nested', m);
      for (const text of ['quantile-buckets(4)', 'best-buckets(3)', 'window-sort(128)', 'full-sort']) {
        // The law of sorted units has a single round.
        const ordered = depthOf(law, n, text, 'nested', text.includes('sort') ? 1 : m);
        // Sums on a lattice leave out a mass of 1e-10 at their ends.
        expect(ordered.aggregateLoss).toBeLessThanOrEqual(none.aggregateLoss * (1 + 1e-7));
      }
    });
  });

  it('flattening never increases the loss', () => {
    forAll(
      laws,
      groupSizes,
      fc.constantFrom(2, 5, 30),
      fc.constantFrom('none', 'best-buckets(3)'),
      (law, n, m, text) => {
        const nested = depthOf(law, n, text, 'nested', m).aggregateLoss;
        // Long sums are approximated by their cumulants, which changes a mean maximum by up to 1 %.
        expect(depthOf(law, n, text, 'flattened', m).aggregateLoss).toBeLessThanOrEqual(nested * 1.01);
      },
    );
  });

  it('survival functions fall along the values, grow with the block, and have the mean depth', () =>
    forAll(laws, groupSizes, texts, loops, fc.constantFrom(1, 3, 20, 5000), (law, n, text, loop, rounds) => {
      const depth = depthOf(law, n, text, loop, text.includes('sort') ? 1 : rounds);
      const size = depth.values.length;
      expect(size).toBeLessThanOrEqual(512);
      expect(depth.aggregateLoss).toBeGreaterThanOrEqual(1);
      expect(depth.meanLoss).toBeGreaterThanOrEqual(1);
      const one = new Float64Array(size);
      const three = new Float64Array(size);
      depth.survivalInto(one, 1);
      depth.survivalInto(three, 3);
      expect(one[size - 1]).toBe(0);
      let mean = depth.values[0];
      for (let i = 0; i < size; i++) {
        if (i > 0) {
          expect(depth.values[i]).toBeGreaterThan(depth.values[i - 1]);
          expect(one[i]).toBeLessThanOrEqual(one[i - 1] + SLACK);
          mean += (depth.values[i] - depth.values[i - 1]) * one[i - 1];
        }
        expect(three[i]).toBeGreaterThanOrEqual(one[i] - SLACK);
      }
      expect(Math.abs(mean / depth.meanDepth - 1)).toBeLessThan(1e-9);
    }));
});
