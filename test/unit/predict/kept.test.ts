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
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';

const UNITS = 2 ** 18;

/** Units whose lengths need 16 bits. */
const lengthsOf = (seed: number): Uint16Array => new Uint16Array(UNITS).fill(300 + seed);
const LAW = makeUnitLaw('', makeGivenLengths(lengthsOf(0)), UNITS);

const arrange = (lengths: Uint16Array, kind: 'none' | 'padded' = 'none') =>
  arrangeKnownUnits(lengths, UNITS, LAW, { kind }, 1);

describe('what a thread keeps', () => {
  it('counts an order of units with all that launches add to it', () => {
    // This value takes all memory, and so drops what other tests in this process have left. The order then replaces it.
    createSizedCache<number, null>(threadBudget, 1, () => threadBudget.bytes)(0, () => null);
    const order = arrange(lengthsOf(1), 'padded');
    const longest = [2, 4, 8, 16, 32, 64, 128].map((n) => getLongestOfGroups(order, n));
    const bytes = [order.lengths, order.work, ...longest].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(threadBudget.used).toBeGreaterThanOrEqual(bytes);
    expect(threadBudget.used).toBeLessThan(threadBudget.bytes);
  });

  it('drops the orders of old workloads beyond its memory', () => {
    const workloads = Array.from({ length: 50 }, (_, seed) => lengthsOf(seed + 1));
    const orders = workloads.map((lengths) => arrange(lengths));
    expect(threadBudget.used).toBeLessThanOrEqual(threadBudget.bytes);
    expect(arrange(workloads[49])).toBe(orders[49]);
    expect(arrange(workloads[0])).not.toBe(orders[0]);
  });

  it('counts the paces of a kernel with phases, and predicts the same without room for them', async () => {
    const plan = await planOf(
      oneDesign({
        workload: { lengths: 'geometric(0.1)', units: 50_000 },
        kernel: { ...KERNEL, bytesPerIteration: 8, unit: { instructions: 30, bytes: 8 } },
        axes: { threadsPerUnit: [1, 4, 16], blockThreads: [64, 128, 256], balancing: ['none', 'full-sort'] },
      }),
    );
    const predict = (caches: Caches) => predictChunk(createPredictor(plan, caches), 0, spaceSize(plan.axes)).timeMs;
    const caches = createCaches(createBudget(2 ** 24));
    const times = predict(caches);
    const before = caches.budget.used;
    // The laws are known, so that another predictor, as after an edit, adds only its paces.
    predict(caches);
    const paces = (caches.budget.used - before) / PACE_BYTES;
    expect(paces).toBeGreaterThan(0);
    expect(Number.isInteger(paces)).toBe(true);
    expect(predict(createCaches(createBudget(0)))).toEqual(times);
  });
});
