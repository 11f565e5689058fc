/* Tests other ways to take work than whole units: even shares, padding, and units that several thread groups share. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import { INVALID_REASONS, type EvenShareBalancing } from '../../../src-workers/domain/design.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import * as evenShare from '../../../src-workers/predict/dealing/even-share.ts';
import type { Dealing } from '../../../src-workers/predict/dealing/deal.ts';
import { createCaches } from '../../../src-workers/predict/caches.ts';
import { playableDesign } from '../designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { makeGivenLengths } from '../../../src-workers/predict/ordered.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import { prepareDevice } from '../../../src-workers/simulate/device.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { simulateDesign } from '../../../src-workers/simulate/simulate-design.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';
import { forAll } from '../../for-all.ts';
import { dealingOf } from './oracle.ts';

const KNOWN = { ...KERNEL, lengthsKnownBeforeLaunch: true };

async function predictorOf(
  axes: StudyFile['axes'],
  kernel: Partial<StudyFile['kernel']> = {},
  workload: StudyFile['workload'] = { lengths: 'geometric(0.05)', units: 200_000 },
) {
  return createPredictor(await planOf(oneDesign({ axes, workload, kernel: { ...KNOWN, ...kernel } })));
}
type Predictor = Awaited<ReturnType<typeof predictorOf>>;

/** Returns a phase that takes as long as `iterations` iterations. */
const setup = (iterations: number) => ({ instructions: iterations * KERNEL.instructionsPerIteration });

const timeOf = (predictor: Predictor, index = 0): number => predictChunk(predictor, index, 1).timeMs[0];

function simulatedMs(predictor: Predictor, index = 0): number {
  return unwrap(simulateDesign(predictor, index, { seed: 3, halfWidth: 0.008, maxReplications: 60 })).meanMs;
}

describe('even shares', () => {
  it('add up lengths of 16 bits beyond 16 bits', () => {
    const lengths = [2 ** 16 - 1, 1, 2 ** 16 - 1];
    for (const kind of ['nonzero-split', 'merge-path'] as const) {
      const short = evenShare.indexSharedUnits({ kind }, Uint16Array.from(lengths), 3);
      const long = evenShare.indexSharedUnits({ kind }, Float64Array.from(lengths), 3);
      expect([...short.each]).toEqual([...long.each]);
      expect([...short.ends]).toEqual([...long.ends]);
      expect(short.items).toBe(long.items);
    }
  });

  /** Lists the items of a launch: `true` where a unit starts. */
  function itemsOf(kind: EvenShareBalancing['kind'], lengths: readonly number[]): boolean[] {
    return lengths.flatMap((length) =>
      Array.from({ length: length + (kind === 'merge-path' ? 1 : 0) }, (_, i) => i === 0),
    );
  }

  it('are the same as for a kernel that walks over the items, for any lengths and launch', () => {
    forAll(
      fc.constantFrom('nonzero-split' as const, 'merge-path' as const),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 60 }),
      fc.constantFrom(1, 2, 4, 8),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(0, 2),
      fc.integer({ min: 1, max: 150 }),
      (kind, lengths, n, groupsPerBlock, gridBlocks, setupIterations, units) => {
        const dealing: Dealing = { ...dealingOf(units, n, groupsPerBlock, 1), gridBlocks, setupIterations };
        // If there are more units than lengths, the lengths repeat.
        const repeated = Array.from({ length: units }, (_, unit) => lengths[unit % lengths.length]);
        const shared = evenShare.indexSharedUnits({ kind }, Float64Array.from(lengths), units);
        const items = itemsOf(kind, repeated);
        const share = Math.max(1, Math.ceil(items.length / (n * groupsPerBlock * gridBlocks)));
        expect(shared.items).toBe(items.length);
        expect(evenShare.computeEvenShares(shared.items, n * groupsPerBlock * gridBlocks).itemsPerSlot).toBe(share);
        const scratch = evenShare.createShareScratch(share);
        for (let group = 0; group < groupsPerBlock * gridBlocks; group += 1) {
          const own = Array.from({ length: n }, (_, lane) => {
            const from = (group * n + lane) * share;
            return items.slice(from, from + share);
          });
          const depth = Math.max(...own.map((items) => items.length));
          const starts = new Set(own.flatMap((of) => of.flatMap((first, at) => (first || at === 0 ? [at] : []))));
          const at = [Math.floor(group / groupsPerBlock), group % groupsPerBlock] as const;
          expect(evenShare.computeShareDepth(shared, dealing, share, 5, ...at, scratch)).toBe(
            depth === 0 ? 0 : depth + setupIterations * starts.size + 5,
          );
        }
      },
    );
  });

  it('in a given order include the cost of search and carry, whatever was predicted with the same laws before', async () => {
    const study = oneDesign({
      axes: { balancing: ['merge-path'], blockThreads: [256] },
      kernel: { ...KNOWN, unit: setup(1) },
    });
    const ordered = makeGivenLengths(Float64Array.from({ length: 5000 }, (_, unit) => (unit * unit) % 37));
    const plan = { ...(await planOf(study)), ordered };
    const searching = { ...plan, kernel: { ...plan.kernel, search: setup(20) } };
    const caches = createCaches();
    const before = timeOf(createPredictor(plan, caches));
    const after = timeOf(createPredictor(searching, caches));
    expect(after).toBe(timeOf(createPredictor(searching)));
    expect(after).toBeGreaterThan(before);
  });

  it.each(['nonzero-split', 'merge-path'] as const)('%s: take exactly whole waves of equal blocks', async (kind) => {
    const search = { search: setup(0.25), carry: setup(2) };
    const predictor = await predictorOf({ balancing: [kind], blockThreads: [256], unitsPerThread: [4] }, search, {
      lengths: 'constant(20)',
      units: 200_000,
    });
    const design = playableDesign(predictor, 0)!;
    const { multiprocessors } = design.device;
    const items = 200_000 * (kind === 'merge-path' ? 21 : 20);
    const share = Math.ceil(items / (design.gridBlocks * 256));
    const blocks = Math.ceil(Math.ceil(items / share) / 256);
    const depth = share + 18 * 0.25 + 2;
    expect(design.overheadIterations).toBe(18 * 0.25 + 2);
    const perMultiprocessor = Math.ceil(blocks / multiprocessors);
    const waves = Math.floor(perMultiprocessor / design.residentBlocks);
    const rest = perMultiprocessor - waves * design.residentBlocks;
    const cycles = design.cyclesPerIteration;
    const expected =
      depth *
      design.msPerCycle *
      (waves * cycles[design.residentBlocks * design.groupsPerBlock] +
        (rest > 0 ? cycles[rest * design.groupsPerBlock] : 0));
    expect(evenShare.countSearchSteps(200_000)).toBe(18);
    expect(Math.abs(timeOf(predictor) / expected - 1)).toBeLessThan(1e-9);
    expect(Math.abs(simulatedMs(predictor) / expected - 1)).toBeLessThan(1e-9);
    expect(explainDesign(predictor, 0)!.regime.id).toBe('equal-blocks');
  });

  it.each([
    { kind: 'nonzero-split', lengths: 'mtx:cage8.mtx', u: 1, m: 4 },
    { kind: 'merge-path', lengths: 'mtx:ca-GrQc.mtx', u: 1, m: 7 },
    { kind: 'merge-path', lengths: 'example:mandelbrot', u: 4, m: 3 },
    { kind: 'nonzero-split', lengths: 'example:mandelbrot', u: 1, m: 12 },
  ])('$kind of $lengths, $u threads per unit: take as long as the simulated order', async ({ kind, lengths, u, m }) => {
    const axes = { balancing: [kind], blockThreads: [256], unitsPerThread: [m], threadsPerUnit: [u] };
    const kernel = { unit: setup(3), search: setup(0.25), carry: setup(2) };
    const predictor = await predictorOf(axes, kernel, { lengths, units: 100_000 });
    const { timeMs, order, parts } = explainDesign(predictor, 0)!;
    expect(order).toBe('given');
    // If units were independent draws, the predicted time of the image would be less than half as long.
    expect(Math.abs(timeMs / simulatedMs(predictor) - 1)).toBeLessThan(0.01);
    const sum = Object.values(parts).reduce((a, b) => a + b, 0);
    expect(Math.abs(sum / timeMs - 1)).toBeLessThan(1e-12);
    expect(timeMs).toBe(timeOf(predictor));
  });

  it.each(['none', 'nonzero-split', 'merge-path'])(
    'limited by memory, have no time for cooperation: %s',
    async (kind) => {
      const axes = { balancing: [kind], blockThreads: [256], unitsPerThread: [8], threadsPerUnit: [1] };
      const kernel = { bytesPerIteration: 64, instructionsPerIteration: 4, unit: { instructions: 4 } };
      const predictor = await predictorOf(axes, kernel, { lengths: 'mtx:ca-GrQc.mtx', units: 1_000_000 });
      const { timeMs, parts } = explainDesign(predictor, 0)!;
      expect(Math.abs(parts.cooperation)).toBeLessThan(0.02 * timeMs);
      expect(parts.idealWork).toBeGreaterThan(0.5 * timeMs);
      for (const part of Object.values(parts)) expect(part).toBeGreaterThan(-0.05 * timeMs);
    },
  );

  it('do not depend on the spread of lengths if units need no set-up, even with very long units', async () => {
    const axes = { balancing: ['nonzero-split'], blockThreads: [128], unitsPerThread: [10] };
    const times = await Promise.all(
      ['constant(50)', 'categorical(1: 0.99, 4901: 0.01)'].map(async (lengths) =>
        timeOf(await predictorOf(axes, {}, { lengths, units: 100_000 })),
      ),
    );
    expect(Math.abs(times[0] / times[1] - 1)).toBeLessThan(1e-9);
  });

  it('have search and carry in the balancing part of the breakdown', async () => {
    const axes = { balancing: ['nonzero-split'], blockThreads: [128], unitsPerThread: [2] };
    const priced = await predictorOf(axes, { search: setup(1), carry: setup(3) });
    const free = await predictorOf(axes, { search: setup(0), carry: setup(0) });
    const [with_, without] = [explainDesign(priced, 0)!, explainDesign(free, 0)!];
    expect(without.parts.balancing).toBe(0);
    expect(Math.abs((with_.timeMs - without.timeMs) / with_.parts.balancing - 1)).toBeLessThan(1e-9);
    expect(with_.longestUnit).toBeUndefined();
    const sum = Object.values(with_.parts).reduce((a, b) => a + b, 0);
    expect(Math.abs(sum / with_.timeMs - 1)).toBeLessThan(1e-12);
  });

  it('contain every item, and only the last slot has fewer', () =>
    forAll(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 1, max: 1e6 }), (iterations, slots) => {
      const { itemsPerSlot, workingSlots } = evenShare.computeEvenShares(iterations, slots);
      expect(workingSlots).toBeLessThanOrEqual(slots);
      expect(itemsPerSlot * workingSlots).toBeGreaterThanOrEqual(iterations);
      expect(itemsPerSlot * (workingSlots - 1)).toBeLessThan(iterations);
    }));

  it('need known lengths', async () => {
    const predictor = await predictorOf(
      { balancing: ['merge-path', 'padded'], blockThreads: [128] },
      { lengthsKnownBeforeLaunch: false },
    );
    const { invalidReason } = predictChunk(predictor, 0, 2);
    for (const reason of invalidReason) expect(INVALID_REASONS[reason].code).toBe('lengths-unknown');
  });
});

it('padding makes every unit exactly as long as the longest of a list', async () => {
  const axes = { balancing: ['padded'], blockThreads: [256], unitsPerThread: [3] };
  const lengths = 'categorical(3: 0.5, 17: 0.5)';
  const padded = await predictorOf(axes, {}, { lengths, units: 300_000 });
  const even = await predictorOf({ ...axes, balancing: ['none'] }, {}, { lengths: 'constant(17)', units: 300_000 });
  const { balancingMs } = playableDesign(padded, 0)!;
  expect(balancingMs).toBeGreaterThan(0);
  expect(Math.abs((timeOf(padded) - balancingMs) / timeOf(even) - 1)).toBeLessThan(1e-9);
  const { meanLoss, aggregateLoss } = predictChunk(padded, 0, 1);
  expect([meanLoss[0], aggregateLoss[0]]).toEqual([Math.fround(1.7), Math.fround(1.7)]);
});

it('padding takes no more time in slices of a group, and more in longer slices', async () => {
  const slices = [32, 256, 4096].map((units) => `padded-slice(${units})`);
  const predictor = await predictorOf({ balancing: ['none', ...slices, 'padded'], blockThreads: [256] });
  const times = Array.from({ length: 5 }, (_, i) => timeOf(predictor, i) - playableDesign(predictor, i)!.balancingMs);
  // The two laws are equal, but have their steps at different places.
  expect(Math.abs(times[1] / times[0] - 1)).toBeLessThan(5e-3);
  for (let i = 1; i + 1 < times.length; i += 1) expect(times[i + 1]).toBeGreaterThan(times[i]);
});

describe('threads per unit beyond a thread group', () => {
  it('simulates thread groups that share a unit as one, in the same time as all of them in step', () => {
    const cycles = Float64Array.from({ length: 65 }, (_, w) => 400 + 12 * w + (w > 20 ? 3 * (w - 20) : 0));
    for (const spans of [2, 4, 8]) {
      const launch = { multiprocessors: 5, residentBlocks: 3, gridBlocks: 47 };
      const depths = (random: () => number) => Math.floor(1 + 50 * random());
      const wide = prepareDevice(
        { ...launch, groupsPerBlock: 16 / spans, cyclesPerIteration: cycles.filter((_, w) => w % spans === 0) },
        (random) => (out) => out.forEach((_, g) => (out[g] = depths(random))),
      );
      const single = prepareDevice({ ...launch, groupsPerBlock: 16, cyclesPerIteration: cycles }, (random) => (out) => {
        for (let g = 0; g < 16; g += spans) out.fill(depths(random), g, g + spans);
      });
      const [together, apart] = [wide.run(seededRandom(5)), single.run(seededRandom(5))];
      expect(Math.abs(together / apart - 1)).toBeLessThan(1e-12);
    }
  });

  it.each([64, 128, 256])('has one unit in each group of %i threads', async (u) => {
    const design = playableDesign(await predictorOf({ threadsPerUnit: [u], blockThreads: [256] }), 0)!;
    expect(design).toMatchObject({ unitsPerGroup: 1, groupsPerBlock: 256 / u, slotsPerBlock: 256 / u });
  });

  it('are at most those of a block', async () => {
    const predictor = await predictorOf({ threadsPerUnit: [128, 256], blockThreads: [128] });
    const { invalidReason, occupancyFraction } = predictChunk(predictor, 0, 2);
    const expected = ['valid', 'block-not-multiple'];
    expect(Array.from(invalidReason, (reason) => INVALID_REASONS[reason].code)).toEqual(expected);
    expect(occupancyFraction[0]).toBe(
      predictChunk(await predictorOf({ blockThreads: [128] }), 0, 1).occupancyFraction[0],
    );
  });

  it('are faster than one thread group per unit for a few very long units, and slower for many short ones', async () => {
    const best = async (lengths: string, units: number): Promise<number> => {
      const threads = [1, 32, 256];
      const predictor = await predictorOf(
        { threadsPerUnit: threads, blockThreads: [256], unitsPerThread: [1] },
        { serialFraction: 0.001, cooperationCost: 0.001 },
        { lengths, units },
      );
      const times = threads.map((_, i) => timeOf(predictor, i));
      return threads[times.indexOf(Math.min(...times))];
    };
    expect(await best('constant(20000)', 108)).toBe(256);
    expect(await best('constant(4)', 4_000_000)).toBe(1);
  });
});
