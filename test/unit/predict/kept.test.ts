import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBudget, createSizedCache } from '../../../src-workers/numeric/budget.ts';
import { spaceSize } from '../../../src-workers/domain/space.ts';
import { createCaches } from '../../../src-workers/predict/caches.ts';
import { PACE_BYTES } from '../../../src-workers/predict/constants.ts';
import { arrangeKnownUnits } from '../../../src-workers/predict/dealing/arrange.ts';
import { getLongestOfGroups } from '../../../src-workers/predict/dealing/given.ts';
import { threadBudget } from '../../../src-workers/predict/memory.ts';
import { makeGivenLengths, makeUnitLaw } from '../../../src-workers/predict/ordered.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import type { Caches } from '../../../src-workers/predict/tables.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { forAllAsync } from '../../for-all.ts';
import { randomStudy } from '../random-studies.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';

const UNITS = 2 ** 18;

const lengthsOf = (seed: number): Uint16Array => new Uint16Array(UNITS).fill(300 + seed);
const LAW = makeUnitLaw('', makeGivenLengths(lengthsOf(0)), UNITS);

const arrange = (lengths: Uint16Array, kind: 'none' | 'padded' = 'none') =>
  arrangeKnownUnits(lengths, UNITS, LAW, { kind }, 1);

/** Returns the times of all designs. Without `caches`, nothing is cached at the start. */
const predict = (plan: SweepPlan, caches: Caches = createCaches(createBudget(2 ** 26))): Float64Array =>
  predictChunk(createPredictor(plan, caches), 0, spaceSize(plan.axes)).timeMs;

describe('what a thread keeps', () => {
  it.each(['geometric(0.1)', 'mtx:ca-GrQc.mtx'])('holds the laws of %s for any axes', async (lengths) => {
    // Without phases and data, laws do not depend on the pace of a launch, and paces need no memory.
    const orders = 'none shuffle best-buckets(4) window-sort(64) full-sort dynamic-fetch padded'.split(' ');
    const sizes = { threadsPerUnit: [1, 4], blockThreads: [64, 96, 256], unitsPerThread: [1, 2, 5] };
    const axes = { loop: ['nested' as const, 'flattened' as const], balancing: orders, ...sizes };
    const all = await planOf(oneDesign({ workload: { lengths, units: 20_000 }, axes }));
    const caches = createCaches(createBudget(2 ** 26));
    predict(all, caches);
    const laws = caches.budget.used;
    expect(laws).toBeGreaterThan(0);
    const { threadsPerUnit, loop, balancing, launch, blockThreads } = all.axes;
    for (const edit of [
      { loop: loop.toReversed(), balancing: balancing.toReversed() },
      { loop: loop.slice(1), balancing: balancing.slice(2) },
      { threadsPerUnit: threadsPerUnit.slice(1), launch: launch.slice(1), blockThreads: blockThreads.slice(1) },
    ]) {
      const edited = { ...all, axes: { ...all.axes, ...edit } };
      expect(predict(edited, caches)).toEqual(predict(edited));
      expect(caches.budget.used).toBe(laws);
    }
  });

  it('changes no time after an edit of the axes of a random study', () =>
    forAllAsync(4)(fc.nat(9999), async (seed) => {
      const random = seededRandom(seed);
      const partOf = <T>(values: readonly T[]): T[] => {
        const part = values.filter(() => random() < 0.7).reverse();
        return part.length > 0 ? part : [values[0]];
      };
      const plan = await planOf(randomStudy(random));
      const { loop, balancing, launch, blockThreads } = plan.axes;
      const edited = (): SweepPlan => {
        const orders = { loop: partOf(loop), balancing: partOf(balancing) };
        const sizes = { launch: partOf(launch), blockThreads: partOf(blockThreads) };
        return { ...plan, axes: { ...plan.axes, ...orders, ...sizes } };
      };
      const caches = createCaches(createBudget(2 ** 26));
      predict(edited(), caches);
      const after = edited();
      expect(predict(after, caches)).toEqual(predict(after));
    }));

  it('counts an order of units with all that launches add to it, and drops the orders of old workloads beyond its memory', () => {
    // This value takes all the memory and drops what other tests have left. The order then replaces the value.
    createSizedCache<number, null>(threadBudget, 1, () => threadBudget.bytes)(0, () => null);
    const order = arrange(lengthsOf(1), 'padded');
    const longest = [2, 4, 8, 16, 32, 64, 128].map((n) => getLongestOfGroups(order, n));
    const bytes = [order.lengths, order.work, ...longest].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(threadBudget.used).toBeWithin(bytes, threadBudget.bytes - 1);
    const workloads = Array.from({ length: 50 }, (_, seed) => lengthsOf(seed + 1));
    const orders = workloads.map((lengths) => arrange(lengths));
    expect(threadBudget.used).toBeLessThanOrEqual(threadBudget.bytes);
    expect([arrange(workloads[49]) === orders[49], arrange(workloads[0]) === orders[0]]).toEqual([true, false]);
  });

  it('counts the paces of a kernel with phases, and predicts the same without room for them', async () => {
    const workload = { lengths: 'geometric(0.1)', units: 50_000 };
    const kernel = { ...KERNEL, bytesPerIteration: 8, unit: { instructions: 30, bytes: 8 } };
    const axes = { threadsPerUnit: [1, 4, 16], blockThreads: [64, 128, 256], balancing: ['none', 'full-sort'] };
    const plan = await planOf(oneDesign({ workload, kernel, axes }));
    const caches = createCaches(createBudget(2 ** 24));
    const times = predict(plan, caches);
    const before = caches.budget.used;
    // The laws are cached now. Another predictor, as after an edit, adds only its paces.
    predict(plan, caches);
    const paces = (caches.budget.used - before) / PACE_BYTES;
    expect(paces).toBeGreaterThan(0);
    expect(Number.isInteger(paces)).toBe(true);
    expect(predict(plan, createCaches(createBudget(0)))).toEqual(times);
  });
});
