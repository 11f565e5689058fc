import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { missingTasks } from '../../src-main/services/sweeps/sweeps.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { decodeInto, encode, spaceSize } from '../../src-workers/domain/space.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { predictChunk, predictRanges } from '../../src-workers/predict/ranges.ts';
import { cyclesPerIteration } from '../../src-workers/models/pipeline/soft-saturation.ts';
import { createPredictor, preparePipeline } from '../../src-workers/predict/predictor.ts';
import { KERNEL, oneDesign, planOf, predicted } from '../unit/sweep-plans.ts';
import { exampleStudy } from '../catalogue.ts';
import { forAll, forAllOf, real, whole } from '../for-all.ts';

const counts = fc.tuple(whole(1, 5), whole(1, 6), whole(1, 2), whole(1, 8), whole(1, 40), whole(1, 5), whole(1, 40));
const sizeOf = (values: readonly number[]): number => values.reduce((product, count) => product * count, 1);

it('a design is a number: encode undoes decode, and positions stay on their axes', () =>
  forAll(counts, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (axes, at) => {
    const index = Math.floor(at * sizeOf(axes));
    const positions = new Int32Array(axes.length);
    decodeInto(positions, axes, index);
    expect([...positions].every((position, axis) => position >= 0 && position < axes[axis])).toBe(true);
    expect(encode(axes, positions)).toBe(index);
  }));

describe('tasks', () => {
  const saved = fc.array(fc.tuple(real(0, 1), whole(1, 5000)), { maxLength: 6 });
  it('name each unsaved design once, and no saved design', () => {
    forAllOf(60)(counts, saved, whole(1, 16), (axes, pieces, workers) => {
      const total = sizeOf(axes);
      const seen = new Uint8Array(total);
      const chunks: { firstDesign: number; count: number }[] = [];
      for (const [at, count] of pieces) {
        const firstDesign = Math.min(total - 1, Math.floor(at * total));
        const end = Math.min(total, firstDesign + count);
        // The store refuses a design that it already has.
        if (seen.subarray(firstDesign, end).some((mark) => mark === 1)) continue;
        seen.fill(1, firstDesign, end);
        chunks.push({ firstDesign, count: end - firstDesign });
      }
      for (const task of missingTasks(axes, chunks, workers))
        for (const { first, count } of task) {
          expect(count).toBeGreaterThan(0);
          for (let design = first; design < first + count; design += 1) seen[design] += 1;
        }
      expect(seen.every((mark) => mark === 1)).toBe(true);
    });
  });
  it('take the same range of designs of every device if there are no results yet', () =>
    forAllOf(60)(counts, whole(1, 16), (axes, workers) => {
      for (const task of missingTasks(axes, [], workers)) {
        expect(task.length).toBe(axes[0]);
        task.forEach(({ first, count }, device) => {
          expect(first - device * (sizeOf(axes) / axes[0])).toBe(task[0].first);
          expect(count).toBe(task[0].count);
        });
      }
    }));
});

const EXAMPLES = ['acts', 'collatz', 'geometric', 'mandelbrot', 'spmv-skewed', 'spmv-uniform'];

describe.each(EXAMPLES)('random designs of the example %s', (name) => {
  it('have parts that add up to their time, no NaN, and times, losses and occupancy in range', async () => {
    const plan = await planOf(exampleStudy(name));
    const predictor = createPredictor(plan);
    forAllOf(60)(whole(0, spaceSize(plan.axes) - 1), (design) => {
      const one = predictChunk(predictor, design, 1);
      const breakdown = explainDesign(predictor, design);
      if (one.invalidReason[0] !== 0) {
        expect(breakdown).toBeNull();
        expect(one.timeMs[0]).toBeNaN();
        return;
      }
      const parts = Object.values(breakdown!.parts);
      expect(parts.every(Number.isFinite)).toBe(true);
      expect(one.timeMs[0]).toBeGreaterThan(0);
      expect(breakdown!.timeMs).toBe(one.timeMs[0]);
      // No achieved rate exceeds its peak.
      const { issueFraction, bandwidthFraction } = breakdown!.achieved;
      expect(issueFraction).toBeGreaterThan(0);
      expect(Math.max(issueFraction!, bandwidthFraction ?? 0)).toBeLessThanOrEqual(1);
      // The seven parts are sums in which terms may cancel, so the rounding error is relative to the largest part.
      const largest = Math.max(...parts.map(Math.abs), breakdown!.timeMs);
      const rounding = 16 * Number.EPSILON * largest;
      expect(Math.abs(parts.reduce((sum, part) => sum + part, 0) - breakdown!.timeMs)).toBeLessThanOrEqual(rounding);
      expect(one.aggregateLoss[0]).toBeGreaterThanOrEqual(1 - 1e-6); // The column is stored as float32.
      expect(one.meanLoss[0]).toBeGreaterThanOrEqual(1 - 1e-6);
      expect(one.occupancyFraction[0]).toBeGreaterThan(0);
      expect(one.occupancyFraction[0]).toBeLessThanOrEqual(1);
      expect(one.limitedBy[0]).toBeGreaterThan(0);
    });
  });
});

describe('laws of a prediction', () => {
  const study = (change: Partial<StudyFile['kernel']> = {}): StudyFile =>
    oneDesign({
      kernel: { ...KERNEL, registersPerThread: 40, dependentLoadsPerIteration: 1, serialFraction: 0.1, ...change },
      axes: {
        threadsPerUnit: [1, 2, 4, 8],
        balancing: ['none', 'dynamic-fetch'],
        blockThreads: { from: 64, to: 1024, step: 64 },
        unitsPerThread: [1, 3],
        blocksPerMultiprocessor: [1, 4, 9],
        registerCap: [null, 32],
      },
    });

  it('are equal bit by bit in ranges that are predicted together, whichever devices they contain', async () => {
    const devices = ['nvidia-v100-sxm2-16gb', 'nvidia-a100-sxm4-40gb', 'amd-mi250x-gcd'];
    const { plan, columns } = await predicted({ ...study(), devices });
    const cut = whole(0, columns.count);
    forAllOf(6)(fc.array(fc.tuple(cut, cut), { minLength: 1, maxLength: 4 }), (pairs) => {
      const ranges = pairs
        .filter(([a, b]) => a !== b)
        .map(([a, b]) => ({ first: Math.min(a, b), count: Math.abs(b - a) }));
      const chunks = predictRanges(createPredictor(plan), ranges);
      expect(chunks.length).toBe(ranges.length);
      chunks.forEach((chunk, i) => {
        const { first, count } = ranges[i];
        for (const column of ['timeMs', 'meanLoss', 'invalidReason', 'residentBlocks', 'gridBlocks'] as const)
          expect(chunk[column]).toEqual(columns[column].subarray(first, first + count));
      });
    });
  });

  it.each<[string, StudyFile]>([
    // Spilled registers make an iteration longer, so a unit's start is worth fewer iterations.
    ['with a register cap', study({ unit: { instructions: 60, dependentLoads: 1 }, bytesPerIteration: 4 })],
    [
      'with more laws than the cache keeps',
      {
        ...study(),
        axes: {
          threadsPerUnit: [1, 2, 4, 8, 16, 32],
          loop: ['nested', 'flattened'],
          blockThreads: { from: 32, to: 1024, step: 32 },
          unitsPerThread: [1, 2, 3, 5, 7, 11, 20, 40],
        },
      },
    ],
    [
      'with sorted units',
      {
        ...study({ unit: { instructions: 5 * KERNEL.instructionsPerIteration }, lengthsKnownBeforeLaunch: true }),
        workload: { lengths: 'geometric(0.02)', units: 100_000 },
        axes: {
          threadsPerUnit: [1, 8],
          loop: ['nested', 'flattened'],
          balancing: ['window-sort(1000)', 'window-sort(4096)', 'full-sort'],
          blockThreads: [64, 96, 256],
          gridBlocks: [196, 259, 390],
        },
      },
    ],
  ])('are equal bit by bit whichever designs were predicted before: %s', async (_, one) => {
    const { plan, predictor, columns } = await predicted(one);
    const { timeMs, count: size } = columns;
    expect(predictChunk(predictor, 0, size).timeMs).toEqual(timeMs);
    // Designs this far apart share few block laws, so each law is computed again, in memory that other laws had used.
    const stride = 1021;
    const jumping = createPredictor(plan);
    for (let i = 0, design = size - 1; i < size; i += 1, design = (design + stride) % size)
      expect(predictChunk(jumping, design, 1).timeMs[0]).toBe(timeMs[design]);
    for (let design = 3; design < size; design += Math.ceil(size / 40))
      expect(predictChunk(createPredictor(plan), design, 1).timeMs[0]).toBe(timeMs[design]);
  });

  it('no launch ends before its longest unit, however the units are dealt', async () => {
    const { plan, columns } = await predicted({
      ...study({ lengthsKnownBeforeLaunch: true }),
      workload: { lengths: 'categorical(3: 0.9999, 4000: 0.0001)', units: 200_000 },
      axes: {
        threadsPerUnit: [1],
        balancing: 'none quantile-buckets(4) best-buckets(3) window-sort(4096) full-sort dynamic-fetch'.split(' '),
        blockThreads: [64, 256],
        unitsPerThread: [1, 9],
        blocksPerMultiprocessor: [1, 3],
      },
    });
    // A unit of the longest length exists, except with a probability of e⁻²⁰.
    const device = plan.axes.devices[0] as GpuDevice;
    const least = (4000 * cyclesPerIteration(preparePipeline(plan, device, null, 0), 1)) / (device.clockMhz * 1e3);
    const valid = columns.timeMs.filter((time) => !Number.isNaN(time));
    expect(valid.length).toBeGreaterThan(columns.count / 2);
    for (const time of valid) expect(time).toBeGreaterThanOrEqual(least * (1 - 1e-7));
  });
});
