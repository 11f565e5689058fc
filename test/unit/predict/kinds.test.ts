/* Tests other ways to take work than whole units: even shares, padding, and units that several thread groups share. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import type { EvenShareBalancing } from '../../../src-workers/domain/design.ts';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { createCaches } from '../../../src-workers/predict/caches.ts';
import type { Dealing } from '../../../src-workers/predict/dealing/deal.ts';
import * as evenShare from '../../../src-workers/predict/dealing/even-share.ts';
import { chooseClasses } from '../../../src-workers/predict/design/classes.ts';
import { describeDesign, listPlayableLaunches } from '../../../src-workers/predict/designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { makeGivenLengths } from '../../../src-workers/predict/ordered.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { prepareDevice } from '../../../src-workers/simulate/device.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { simulateDesign, simulateTimeline } from '../../../src-workers/simulate/simulate-design.ts';
import { gpu } from '../../catalogue.ts';
import { forAll, whole } from '../../for-all.ts';
import { playableDesign } from '../designs.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';
import { dealingOf } from './oracle.ts';

const KNOWN = { ...KERNEL, lengthsKnownBeforeLaunch: true };

async function predictorOf(
  axes: StudyFile['axes'],
  kernel: Partial<StudyFile['kernel']> = {},
  workload: StudyFile['workload'] = { lengths: 'geometric(0.05)', units: 200_000 },
) {
  return createPredictor(await planOf(oneDesign({ axes, workload, kernel: { ...KNOWN, ...kernel } })));
}

/** Returns a phase that takes as long as `iterations` iterations. */
const setup = (iterations: number) => ({ instructions: iterations * KERNEL.instructionsPerIteration });

const sumOf = (parts: Readonly<Record<string, number>>) => Object.values(parts).reduce((a, b) => a + b, 0);

const timeOf = (predictor: Predictor, index = 0): number => predictChunk(predictor, index, 1).timeMs[0];

function simulatedMs(predictor: Predictor, index = 0): number {
  return unwrap(simulateDesign(predictor, index, { seed: 3, halfWidth: 0.008, maxReplications: 60 })).meanMs;
}

// Each of these launches once had no time.
it.each([
  ['nvidia-gtx-770', 'merge-path', 382, 45, { threadsPerUnit: [16], blockThreads: [128], gridBlocks: [128] }],
  ['nvidia-v100-sxm2-16gb', 'dynamic-fetch(4)', 127, 1, { blockThreads: [96], gridBlocks: [1] }],
])('a launch on %s has a time if some blocks or lanes get no work: %s', async (id, balancing, units, setup, axes) => {
  const workload = { lengths: 'example:mandelbrot', units };
  const unit = { instructions: setup, dependentLoads: 1 };
  const kernel = { ...KNOWN, unit, registersPerThread: 40, sharing: 'split' } as const;
  const study = oneDesign({ axes: { ...axes, balancing: [balancing] }, kernel, workload, devices: [id] });
  const { timeMs, parts } = explainDesign(createPredictor(await planOf(study)), 0)!;
  expect(timeMs).toBeGreaterThan(0);
  expect(sumOf(parts)).toBeCloseTo(timeMs, 9);
  expect(Math.min(...Object.values(parts))).toBeGreaterThanOrEqual(0);
});

describe('even shares', () => {
  it('add up lengths of 16 bits beyond 16 bits', () => {
    const lengths = [2 ** 16 - 1, 1, 2 ** 16 - 1];
    for (const kind of ['nonzero-split', 'merge-path'] as const) {
      const short = evenShare.indexSharedUnits({ kind }, Uint16Array.from(lengths), 3);
      const long = evenShare.indexSharedUnits({ kind }, Float64Array.from(lengths), 3);
      const { each, ends, items } = long;
      expect([[...short.each], [...short.ends], short.items]).toEqual([[...each], [...ends], items]);
    }
  });

  function itemsOf(kind: EvenShareBalancing['kind'], lengths: readonly number[]): boolean[] {
    const more = kind === 'merge-path' ? 1 : 0;
    return lengths.flatMap((length) => Array.from({ length: length + more }, (_, i) => i === 0));
  }

  it('are the same as for a kernel that walks over the items, for any lengths and launch', () => {
    forAll(
      fc.constantFrom('nonzero-split' as const, 'merge-path' as const),
      fc.array(whole(0, 9), { minLength: 1, maxLength: 60 }),
      fc.constantFrom(1, 2, 4, 8),
      whole(1, 3),
      whole(1, 4),
      fc.constantFrom(0, 2),
      whole(1, 150),
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
          const wanted = depth === 0 ? 0 : depth + setupIterations * starts.size + 5;
          expect(evenShare.computeShareDepth(shared, dealing, share, 5, ...at, scratch)).toBe(wanted);
        }
      },
    );
  });

  it('in a given order include the cost of search and carry, whatever was predicted with the same laws before', async () => {
    const axes = { balancing: ['merge-path'], blockThreads: [256] };
    const study = oneDesign({ axes, kernel: { ...KNOWN, unit: setup(1) } });
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
    const axes = { balancing: [kind], blockThreads: [256], unitsPerThread: [4] };
    const workload = { lengths: 'constant(20)', units: 200_000 };
    const predictor = await predictorOf(axes, { search: setup(0.25), carry: setup(2) }, workload);
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
    const cyclesOf = (blocks: number) => design.cyclesPerIteration[blocks * design.groupsPerBlock];
    const cycles = waves * cyclesOf(design.residentBlocks) + (rest > 0 ? cyclesOf(rest) : 0);
    const expected = depth * design.msPerCycle * cycles;
    expect(evenShare.countSearchSteps(200_000)).toBe(18);
    expect(timeOf(predictor)).toBeNear(expected, 1e-9);
    expect(simulatedMs(predictor)).toBeNear(expected, 1e-9);
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
    expect(timeMs).toBeNear(simulatedMs(predictor), 0.01);
    expect(sumOf(parts)).toBeNear(timeMs, 1e-12);
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

  it('have search and carry in the balancing part of the breakdown', async () => {
    const axes = { balancing: ['nonzero-split'], blockThreads: [128], unitsPerThread: [2] };
    const priced = await predictorOf(axes, { search: setup(1), carry: setup(3) });
    const free = await predictorOf(axes, { search: setup(0), carry: setup(0) });
    const [with_, without] = [explainDesign(priced, 0)!, explainDesign(free, 0)!];
    expect(without.parts.balancing).toBe(0);
    expect(with_.timeMs - without.timeMs).toBeNear(with_.parts.balancing, 1e-9);
    expect(with_.longestUnit).toBeUndefined();
    expect(sumOf(with_.parts)).toBeNear(with_.timeMs, 1e-12);
  });

  it('contain every item, and only the last slot has fewer', () =>
    forAll(whole(1, 1e9), whole(1, 1e6), (iterations, slots) => {
      const { itemsPerSlot, workingSlots } = evenShare.computeEvenShares(iterations, slots);
      expect(workingSlots).toBeLessThanOrEqual(slots);
      expect(itemsPerSlot * workingSlots).toBeGreaterThanOrEqual(iterations);
      expect(itemsPerSlot * (workingSlots - 1)).toBeLessThan(iterations);
    }));

  it('need known lengths, like padding and classes', async () => {
    const axes = { balancing: ['merge-path', 'padded', 'mixed(2)'], blockThreads: [128] };
    const predictor = await predictorOf(axes, { lengthsKnownBeforeLaunch: false });
    for (const design of [0, 1, 2]) expect(describeDesign(predictor, design).invalid).toBe('lengths-unknown');
  });
});

it('padding makes every unit exactly as long as the longest of a list', async () => {
  const axes = { balancing: ['padded'], blockThreads: [256], unitsPerThread: [3] };
  const lengths = 'categorical(3: 0.5, 17: 0.5)';
  const padded = await predictorOf(axes, {}, { lengths, units: 300_000 });
  const even = await predictorOf({ ...axes, balancing: ['none'] }, {}, { lengths: 'constant(17)', units: 300_000 });
  const { balancingMs } = playableDesign(padded, 0)!;
  expect(balancingMs).toBeGreaterThan(0);
  expect(timeOf(padded) - balancingMs).toBeNear(timeOf(even), 1e-9);
  const { meanLoss, aggregateLoss } = predictChunk(padded, 0, 1);
  expect([meanLoss[0], aggregateLoss[0]]).toEqual([Math.fround(1.7), Math.fround(1.7)]);
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
      expect(together).toBeNear(apart, 1e-12);
    }
  });

  it('are at most those of a block', async () => {
    const predictor = await predictorOf({ threadsPerUnit: [128, 256], blockThreads: [128] });
    expect([0, 1].map((at) => describeDesign(predictor, at).invalid)).toEqual([null, 'block-not-multiple']);
    const single = await predictorOf({ blockThreads: [128] });
    const [wide, narrow] = [predictor, single].map((of) => predictChunk(of, 0, 1).occupancyFraction[0]);
    expect(wide).toBe(narrow);
  });
});

/** Predicts designs with these balancings, by default with one thread per unit. */
const mixedOf = (lengths: string, balancing: string[], axes: object = {}, units = 1 << 16) => {
  const kernel = { serialFraction: 0.05, cooperationCost: 0.02 };
  return predictorOf({ balancing, blockThreads: [128], ...axes }, kernel, { lengths, units });
};

describe('a mixed design', () => {
  it.each(['zipf(1.6, 2000)', 'mtx:ca-GrQc.mtx'])('is a launch for each class of its units: %s', async (lengths) => {
    const predictor = await mixedOf(lengths, ['mixed(1:4,8:32,group:200,block)']);
    const { design } = describeDesign(predictor, 0);
    const classes = design.classes!;
    expect(classes.reduce((sum, { units }) => sum + units, 0)).toBe(1 << 16);
    expect(design.gridBlocks).toBe(classes.reduce((sum, { gridBlocks }) => sum + gridBlocks, 0));
    expect(classes.map(({ threadsPerUnit }) => threadsPerUnit)).toEqual([1, 8, 32, 128].slice(0, classes.length));
    const launches = listPlayableLaunches(predictor, 0);
    expect(launches.map(({ predictor: own }) => own.plan.units)).toEqual(classes.map(({ units }) => units));
    // All classes together have the whole work.
    const work = launches.reduce((sum, { predictor: own }) => sum + own.plan.units * own.meanLength, 0);
    expect(work).toBeNear(predictor.plan.units * predictor.meanLength, 1e-3);
  });

  it('takes the time of its launches one after another, whose parts add up', async () => {
    const predictor = await mixedOf('zipf(1.6, 2000)', ['mixed(1:4,8:32,group)']);
    const { timeMs, parts } = explainDesign(predictor, 0)!;
    expect(timeMs).toBe(predictChunk(predictor, 0, 1).timeMs[0]);
    expect(sumOf(parts)).toBeNear(timeMs, 1e-9);
  });

  it('starts once, predicted and simulated, and its further launches only queue', async () => {
    const device = { ...gpu('nvidia-h100-sxm5-80gb'), fillMicroseconds: 2 };
    const study = oneDesign({
      workload: { lengths: 'zipf(1.6, 2000)', units: 1 << 18 },
      kernel: { ...KERNEL, lengthsKnownBeforeLaunch: true },
      axes: { balancing: ['mixed(1:4,8:32,group)'], blockThreads: [128] },
    });
    const [none, started] = await Promise.all(
      [1e-9, 4].map(async (launchMicroseconds) =>
        createPredictor(await planOf(study, [{ ...device, launchMicroseconds }])),
      ),
    );
    const timesOf = (predictor: Predictor): number[] => [
      predictChunk(predictor, 0, 1).timeMs[0],
      listPlayableLaunches(predictor, 0).reduce((sum, { design }) => sum + design.balancingMs, 0),
    ];
    const before = timesOf(none);
    timesOf(started).forEach((time, at) => expect((time - before[at]) * 1e3).toBeCloseTo(4, 6));
    // All launches together fill the device once, as far as the largest one does.
    const most = Math.max(...listPlayableLaunches(none, 0).map(({ design }) => design.gridBlocks));
    const [unfilled] = timesOf(
      createPredictor(await planOf(study, [{ ...device, launchMicroseconds: 1e-9, fillMicroseconds: 0 }])),
    );
    expect((before[0] - unfilled) * 1e3).toBeCloseTo(2 * Math.min(1, most / device.multiprocessors), 6);
  });

  it('shows its launches one after another in its timeline', async () => {
    const predictor = await mixedOf('zipf(1.6, 2000)', ['mixed(1:8,block)', 'none']);
    const timeline = unwrap(simulateTimeline(predictor, 0, 3, 0));
    const [{ design }, { design: wide }] = listPlayableLaunches(predictor, 0);
    expect(timeline.gridBlocks).toBe(design.gridBlocks + wide.gridBlocks);
    const [first, second] = timeline.launchStartMs;
    expect(first).toBe(0);
    expect(timeline.launchStartMs).toHaveLength(2);
    expect(second).toBeLessThan(timeline.kernelMs);
    timeline.blockIndex.forEach((block, i) => {
      // One bar may stand for several blocks of a block slot.
      if (block >= design.gridBlocks) expect(timeline.blockStartMs[i]).toBeGreaterThanOrEqual(second);
      else if (timeline.blockCount[i] === 1) expect(timeline.blockEndMs[i]).toBeLessThanOrEqual(second);
    });
    expect(Math.max(...timeline.blockEndMs) / timeline.kernelMs).toBeCloseTo(1, 9);
    // Blocks whose threads share a unit have as many thread groups as other blocks.
    const most = timeline.residentBlocks * timeline.groupsPerBlock;
    expect(timeline.groupsPerBlock).toBe(4);
    const after = Math.ceil(second / timeline.binMs);
    expect(Math.max(...timeline.activeMax.subarray(after))).toBeGreaterThan(0.9 * most);
    expect(Math.max(...timeline.activeMax)).toBeLessThanOrEqual(most + 1e-9);
    // The total time of the timeline is that of the replication that it shows.
    const { timesMs } = unwrap(simulateDesign(predictor, 0, { seed: 3, halfWidth: 1e-9, maxReplications: 5 }));
    expect(timeline.kernelMs + design.balancingMs).toBeNear(timesMs[0], 1e-12);
    expect(unwrap(simulateTimeline(predictor, 1, 3, 0)).launchStartMs).toEqual(Float64Array.of(0));
  });

  it.each([
    ['with one thread per unit', 'mixed(2)', { threadsPerUnit: [1, 2] }, [null, 'classes']],
    ['if blocks can share a unit', 'mixed(1:8,block)', { blockThreads: [128, 192] }, [null, 'block-not-multiple']],
  ])('is allowed only %s', async (_, balancing, axes, invalid) => {
    const predictor = await mixedOf('geometric(0.05)', [balancing], axes);
    expect([0, 1].map((at) => describeDesign(predictor, at).invalid)).toEqual(invalid);
  });

  it('is faster than every single number of threads if lengths differ much', async () => {
    const single = await mixedOf('zipf(1.6, 2000)', ['none'], { threadsPerUnit: [1, 2, 4, 8, 16, 32] }, 1 << 18);
    const mixed = await mixedOf('zipf(1.6, 2000)', ['mixed(4)'], {}, 1 << 18);
    expect(timeOf(mixed)).toBeLessThan(0.9 * Math.min(...predictChunk(single, 0, 6).timeMs));
  });

  it('has the classes with the least estimate, so more classes are never worse', async () => {
    const predictor = await mixedOf('zipf(1.6, 2000)', ['none']);
    const device = predictor.plan.axes.devices[0] as GpuDevice;
    for (const most of [2, 3, 4]) {
      const classes = chooseClasses(predictor, device, most);
      expect(classes.length).toBeLessThanOrEqual(most);
      expect(classes.at(-1)!.upTo).toBeUndefined();
      const ends = classes.slice(0, -1).map(({ upTo }) => upTo!);
      expect(ends).toEqual([...new Set(ends)].sort((a, b) => a - b));
    }
    // Units of one length cannot be divided into classes.
    const same = await mixedOf('constant(20)', ['none']);
    expect(chooseClasses(same, device, 3)).toHaveLength(1);
  });
});
