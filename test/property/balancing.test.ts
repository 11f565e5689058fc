import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { makeGroupDepthLaw } from '../../src-workers/predict/depth/group-depth.ts';
import { categoricalLaw } from '../../src-workers/models/workload/laws.ts';
import { lockstep } from '../unit/predict/oracle.ts';
import { forAll, whole } from '../for-all.ts';

const laws = fc
  .uniqueArray(fc.tuple(whole(0, 400), whole(1, 1000)), { minLength: 1, maxLength: 24, selector: ([length]) => length })
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
  it('ordering never increases the loss, and more buckets, better cuts and larger windows order better', () =>
    forAll(laws, groupSizes, whole(1, 8), whole(0, 6), (law, n, k, doublings) => {
      const window = n * 2 ** doublings;
      const chains = [
        [`best-buckets(${k + 1})`, `best-buckets(${k})`, `quantile-buckets(${k})`, 'none'],
        ['full-sort', `window-sort(${2 * window})`, `window-sort(${window})`, 'none'],
      ];
      for (const texts of chains) {
        const losses = texts.map((text) => depthOf(law, n, text).aggregateLoss);
        for (let i = 1; i < losses.length; i += 1) expect(losses[i - 1]).toBeLessThanOrEqual(losses[i] + SLACK);
      }
    }));

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
      expect(mean).toBeNear(depth.meanDepth, 1e-9);
    }));
});
