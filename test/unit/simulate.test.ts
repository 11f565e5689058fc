import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { constantLaw, geometricLaw, uniformLaw } from '../../src-workers/models/workload/laws.ts';
import { makeGroupDepthLaw } from '../../src-workers/predict/depth/group-depth.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { allocateTimeline, prepareDevice, type Launch } from '../../src-workers/simulate/device.ts';
import { prepareFetchingDevice, type FetchedWork } from '../../src-workers/simulate/fetching.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { replicate } from '../../src-workers/simulate/replicate.ts';
import { independentGroups, type BlockSource } from '../../src-workers/simulate/samplers.ts';
import { simulateDesign, simulateTimeline } from '../../src-workers/simulate/simulate-design.ts';
import { dealtUnits } from '../../src-workers/simulate/units.ts';
import { gpu } from '../catalogue.ts';
import { categorical } from '../categorical.ts';
import { playableDesign } from './designs.ts';
import { KERNEL, oneDesign, planOf } from './sweep-plans.ts';

/** Cycles of an iteration, which differ for every number of active groups. */
const RATE = Float64Array.of(0, 7, 11, 17, 29, 43, 61, 83, 109);

const ONE = { multiprocessors: 1, residentBlocks: 1, groupsPerBlock: 1, gridBlocks: 1, cyclesPerIteration: RATE };
const launchOf = (change: Partial<Launch>): Launch => ({ ...ONE, ...change });

function depthsOf(...blocks: readonly (readonly number[])[]): BlockSource {
  return () => {
    let next = 0;
    return (out) => out.set(blocks[next++]);
  };
}

function cyclesOf(launch: Launch, source: BlockSource): number {
  return prepareDevice(launch, source).run(seededRandom(1));
}

describe('a launch by hand', () => {
  it('shares a multiprocessor: three iterations of two groups, then two of one', () =>
    expect(cyclesOf(launchOf({ groupsPerBlock: 2 }), depthsOf([3, 5]))).toBe(3 * RATE[2] + 2 * RATE[1]));

  it('lets groups compete for issue on their scheduler, and for memory on their multiprocessor', () => {
    const depths = depthsOf([3, 5, 4, 6]);
    const launch = launchOf({ groupsPerBlock: 4 });
    // Groups 0 and 2 share a scheduler, 1 and 3 the other. Two groups on one scheduler issue as slowly as four on both.
    const apart = { ...launch, schedulers: { count: 2, issueShare: 1 } };
    expect(cyclesOf(apart, depths)).toBe(5 * RATE[4] + 1 * RATE[1]);
    expect(cyclesOf({ ...launch, schedulers: { count: 2, issueShare: 0 } }, depths)).toBe(cyclesOf(launch, depths));
  });

  it('frees a slot only when the last group of its block ends', () =>
    expect(cyclesOf(launchOf({ groupsPerBlock: 2, gridBlocks: 2 }), depthsOf([1, 4], [2, 2]))).toBe(
      RATE[2] + 3 * RATE[1] + 2 * RATE[2],
    ));

  it('dispatches a block to the slot that is free first', () => {
    const launch = launchOf({ multiprocessors: 2, gridBlocks: 4 });
    const timeline = allocateTimeline(4);
    const device = prepareDevice(launch, depthsOf([9], [2], [3], [4]));
    expect(device.run(seededRandom(1), timeline)).toBe(9 * RATE[1]);
    expect([...timeline.blockMultiprocessor]).toEqual([0, 1, 1, 1]);
    expect([...timeline.blockEndCycles]).toEqual([9, 2, 5, 9].map((iterations) => iterations * RATE[1]));
    expect(device.lastDispatchCycles).toBe(5 * RATE[1]);
  });

  it('distributes blocks evenly over slots that are free at the same instant, up to rounding', () => {
    const even = launchOf({ multiprocessors: 2, residentBlocks: 2, gridBlocks: 6 });
    const evenly = allocateTimeline(6);
    prepareDevice(even, depthsOf([2], [2], [2], [2], [1], [1])).run(seededRandom(1), evenly);
    expect([...evenly.blockMultiprocessor]).toEqual([0, 1, 0, 1, 0, 1]);
    // At a constant rate, 1 iteration and then 5 take as long as 6, but not in floating-point arithmetic.
    const steady = new Float64Array(5).fill(0.3);
    expect(1 * 0.3 + 5 * 0.3).not.toBe(6 * 0.3);
    const launch = { ...even, groupsPerBlock: 2, cyclesPerIteration: steady };
    const timeline = allocateTimeline(6);
    const depths = depthsOf([1, 6], [6, 6], [6, 6], [6, 6], [1, 1], [1, 1]);
    prepareDevice(launch, depths).run(seededRandom(1), timeline);
    expect([...timeline.blockMultiprocessor]).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it('spends no time on empty groups and blocks', () => {
    const launch = launchOf({ groupsPerBlock: 2, gridBlocks: 3 });
    expect(cyclesOf(launch, depthsOf([0, 0], [0, 3], [0, 0]))).toBe(3 * RATE[1]);
    expect(cyclesOf(launchOf({ gridBlocks: 0 }), depthsOf())).toBe(0);
  });

  it('records how many groups are active, and the record contains all iterations', () => {
    const launch = launchOf({ multiprocessors: 3, residentBlocks: 2, groupsPerBlock: 2, gridBlocks: 40 });
    const law = unwrap(uniformLaw(1, 9));
    let iterations = 0;
    const depth = makeGroupDepthLaw(law, 1, { kind: 'none' }, 'nested', 1, { setupIterations: 0 });
    const source: BlockSource = (random) => {
      const next = independentGroups(depth)(random);
      return (out) => {
        next(out);
        for (const depth of out) iterations += depth;
      };
    };
    const timeline = allocateTimeline(40);
    prepareDevice(launch, source).run(seededRandom(5), timeline);
    let recorded = 0;
    for (let s = 0; s < 3; s++) {
      const at = timeline.stepMultiprocessor.flatMap((each, i) => (each === s ? [i] : []));
      for (let i = 1; i < at.length; i++) {
        const active = timeline.stepActiveGroups[at[i - 1]];
        if (active === 0) continue;
        recorded += (active * (timeline.stepCycles[at[i]] - timeline.stepCycles[at[i - 1]])) / RATE[active];
      }
    }
    // The numbers are sums of some hundred rounded products.
    expect(Math.abs(recorded - iterations)).toBeLessThan(1e-9 * iterations);
  });
});

it('replications are reproducible, extend shorter ones, and stop as soon as the interval of the mean is narrow enough', () => {
  const depth = makeGroupDepthLaw(unwrap(geometricLaw(0.1)), 4, { kind: 'none' }, 'nested', 1, { setupIterations: 0 });
  const launch = launchOf({ multiprocessors: 4, residentBlocks: 2, groupsPerBlock: 2, gridBlocks: 30 });
  const device = () => prepareDevice(launch, independentGroups(depth));
  const options = { seed: 3, atLeast: 10, atMost: 400, relativeHalfWidth: 0.02 };
  const [short, long] = [12, 40].map((atMost) => {
    return [...replicate(device(), { ...options, atMost, relativeHalfWidth: 0 }).cycles];
  });
  expect(short).toHaveLength(12);
  expect(long.slice(0, 12)).toEqual(short);
  expect(new Set(long).size).toBeGreaterThan(30);
  const times = replicate(device(), options);
  expect(times.cycles.length).toBeLessThan(400);
  const halfWidth = (times.confidenceHighCycles - times.confidenceLowCycles) / 2;
  expect(halfWidth).toBeLessThanOrEqual(0.02 * times.meanCycles);
  // For 9 and more degrees of freedom, Student's 0.975 quantile is between 1.96 and 2.27.
  expect((halfWidth / times.standardDeviationCycles) * Math.sqrt(times.cycles.length)).toBeBetween(1.96, 2.27);
});

describe('fetched work', () => {
  const run = (change: Partial<Launch>, units: number, lanesPerGroup: number, work: Partial<FetchedWork> = {}) => {
    const fetched = { law: unwrap(constantLaw(5)), units, lanesPerGroup, setupIterations: 0, ...work };
    return prepareFetchingDevice(launchOf(change), fetched).run(seededRandom(2));
  };
  /** Each of two multiprocessors has four groups, which have 32 lanes together. */
  const FULL = { multiprocessors: 2, residentBlocks: 2, groupsPerBlock: 2, gridBlocks: 4 };

  it('keeps every lane busy while there is work, whether a lane, a chunk or a group takes it', () => {
    // Two groups have 8 lanes. 20 equal units make two full rounds, and then 4 lanes of one group run alone.
    expect(run({ groupsPerBlock: 2 }, 20, 4)).toBe(2 * 5 * RATE[2] + 5 * RATE[1]);
    expect(run({}, 0, 4)).toBe(0);
    expect(run({ gridBlocks: 7 }, 3, 1)).toBe(15 * RATE[1]);
    const of = (fetch: number | 'group', units: number) => run(FULL, units, 4, { setupIterations: 1, fetch });
    // Chunks of 3 units occupy 31 lanes if there are 93 units. One lane is then idle while its group continues.
    expect([of(1, 96), of('group', 96), of(3, 96), of(3, 93)]).toEqual(Array(4).fill(3 * 6 * RATE[4]));
  });

  it('includes the cost of fetching until the queue is empty, and of the last fetches after it', () => {
    const dry = (costs: Partial<FetchedWork>) => run(FULL, 64, 4, costs);
    // Each of 32 lanes has two units. It fetches the second unit when the first one ends.
    expect(dry({})).toBe(2 * 5 * RATE[4]);
    expect(dry({ fetchingCyclesPerIteration: new Float64Array(5).fill(7) })).toBe(5 * 7 + 5 * RATE[4]);
    expect(dry({ startCycles: 13 })).toBe(13 + 2 * 5 * RATE[4]);
    // The last fetches are counted only if fetching has a rate of its own.
    expect(dry({ fetchingCyclesPerIteration: RATE.slice(), lastCycles: 17 })).toBe(2 * 5 * RATE[4] + 17);
  });

  it('makes a group wait for the longest of its units, but not a lane', () => {
    const law = categorical({ 1: 0.5, 9: 0.5 });
    const [lane, group] = ([1, 'group'] as const).map((fetch) => run(FULL, 3200, 4, { law, fetch }));
    expect(group).toBeGreaterThan(1.3 * lane);
  });

  it('makes the lanes of a group wait for the setup of one of them', () => {
    // Two lanes have three units of 5 iterations with a set-up of 2. One of them fetches the last unit alone.
    expect(run({}, 3, 2, { setupIterations: 2 })).toBe(14 * RATE[1]);
    expect(run({}, 6, 1, { setupIterations: 2 })).toBe(42 * RATE[1]);
    // Lanes out of step run nearly all set-ups in turn: at least those of the longest lane, at most those of all units.
    const law = unwrap(uniformLaw(100, 1000));
    const setups = (run({}, 400, 4, { law, setupIterations: 1 }) - run({}, 400, 4, { law })) / RATE[1];
    expect(setups).toBeGreaterThan(350);
    expect(setups).toBeLessThanOrEqual(400);
  });

  it('takes the sum of all units if one lane runs all of them', () => {
    const cycles = run({}, 20_000, 1, { law: unwrap(uniformLaw(0, 40)) });
    // 20,000 draws have a mean of 20 and a standard deviation of 11.8, so five standard errors are 2.1 %.
    expect(cycles).toBeNear(20_000 * 20 * RATE[1], 0.021);
  });
});

describe('dealt units', () => {
  const law = unwrap(geometricLaw(0.05));
  const dealing = {
    law,
    unitsPerGroup: 16,
    slotsPerBlock: 64,
    loop: 'nested',
    groupsPerBlock: 4,
    gridBlocks: 200,
    units: 16 * 3 * 4 * 200,
    setupIterations: 2,
  } as const;

  function meanDepth(source: BlockSource, replications: number): number {
    const out = new Float64Array(4);
    let sum = 0;
    for (let i = 0; i < replications; i++) {
      const next = source(seededRandom(i + 1));
      for (let block = 0; block < dealing.gridBlocks; block++) {
        next(out);
        for (const depth of out) sum += depth;
      }
    }
    return sum / (replications * dealing.gridBlocks * 4);
  }

  it.each([{ kind: 'none' }, { kind: 'quantile-buckets', k: 4 }, { kind: 'best-buckets', k: 3 }] as const)(
    'have the mean depth of the law: $kind',
    (balancing) => {
      for (const loop of ['nested', 'flattened'] as const) {
        // With set-up, the depth law of a flattened loop is an approximation, so flattened loops have no set-up here.
        const setupIterations = loop === 'nested' ? 2 : 0;
        const expected = makeGroupDepthLaw(law, 16, balancing, loop, 3, { setupIterations }).meanDepth;
        const got = meanDepth(unwrap(dealtUnits({ ...dealing, loop, balancing, setupIterations })), 40);
        // The tolerance is five standard errors of 32,000 groups, whose deviation is at most half of the mean.
        expect(got).toBeNear(expected, 0.014);
      }
    },
  );

  const TWO_KINDS = [{ kind: 'quantile-buckets', k: 4 } as const, { kind: 'best-buckets', k: 2 } as const];
  it.each(TWO_KINDS)('of one length share no bucket with another one, however many are drawn: $kind', (balancing) => {
    const twoLengths = categorical({ 1: 0.5, 100: 0.5 });
    const source = unwrap(dealtUnits({ ...dealing, law: twoLengths, balancing, units: 16 * 4 * 200 }));
    const out = new Float64Array(4);
    for (let seed = 1; seed <= 20; seed++) {
      const next = source(seededRandom(seed));
      let long = 0;
      for (let block = 0; block < dealing.gridBlocks; block++) {
        next(out);
        long += out.filter((depth) => depth > 50).length;
      }
      // Half of 800 groups are expected. The limit adds five deviations of the number of long units, and one group.
      expect(Math.abs(long - 400)).toBeLessThan(20);
    }
  });

  it('leave slots beyond the last unit empty, and are refused if there are too many to sort', () => {
    const source = unwrap(dealtUnits({ ...dealing, balancing: { kind: 'none' }, gridBlocks: 2, units: 20 }));
    const next = source(seededRandom(1));
    const out = new Float64Array(4);
    next(out);
    expect([...out].map((depth) => depth > 0)).toEqual([true, true, false, false]);
    next(out);
    expect([...out]).toEqual([0, 0, 0, 0]);
    expect(dealtUnits({ ...dealing, balancing: { kind: 'full-sort' }, units: 1e9 })).toFail('unsupported');
  });
});

const OPTIONS = { seed: 7, halfWidth: 0.005, maxReplications: 30 };
const WIDE = gpu('amd-mi250x-gcd');

it('fills only lanes that a block has: 96 threads in groups of 64', async () => {
  const gridBlocks = 2 * WIDE.multiprocessors;
  for (const balancing of ['none', 'dynamic-fetch', 'full-sort']) {
    const study = oneDesign({
      workload: { lengths: 'constant(10)', units: gridBlocks * 96 * 4 },
      devices: [WIDE.id],
      kernel: { ...KERNEL, lengthsKnownBeforeLaunch: true },
      axes: { blockThreads: [96], gridBlocks: [gridBlocks], balancing: [balancing] },
    });
    const predictor = createPredictor(await planOf(study));
    const design = playableDesign(predictor, 0)!;
    expect(design).toMatchObject({ groupsPerBlock: 2, unitsPerGroup: 64, slotsPerBlock: 96, unitsPerThread: 4 });
    const { meanMs, standardDeviationMs } = unwrap(simulateDesign(predictor, 0, OPTIONS));
    // A slot has four units of ten iterations in a row. If the lanes of all groups were used, it would have three.
    const { cyclesPerIteration, fetches } = design;
    // Units are fetched after 0, 10, 20 and 30 iterations. Then nothing is left.
    const cycles = fetches
      ? fetches.startCycles + 30 * fetches.cyclesPerIteration[4] + 10 * cyclesPerIteration[4] + fetches.lastCycles
      : 40 * cyclesPerIteration[4];
    const kernelMs = cycles * design.msPerCycle;
    expect(meanMs).toBeNear(kernelMs + design.balancingMs, 8 * Number.EPSILON);
    expect(standardDeviationMs).toBe(0);
  }
});

it('gives some slots one more unit if the grid does not divide the work', async () => {
  const gridBlocks = WIDE.multiprocessors;
  const times = [0, 1].map(async (more) => {
    const study = oneDesign({
      workload: { lengths: 'constant(10)', units: gridBlocks * 256 * 2 + more },
      devices: [WIDE.id],
      axes: { blockThreads: [256], gridBlocks: [gridBlocks] },
    });
    const predictor = createPredictor(await planOf(study));
    const { cyclesPerIteration, msPerCycle } = playableDesign(predictor, 0)!;
    return [unwrap(simulateDesign(predictor, 0, OPTIONS)).meanMs, cyclesPerIteration[1] * msPerCycle];
  });
  const [[evenMs], [oddMs, iterationMs]] = await Promise.all(times);
  // One more unit keeps a single group active for ten more iterations, alone on its multiprocessor.
  expect(oddMs - evenMs).toBeNear(10 * iterationMs, 1e-12);
});

it('draws the same work for the same seed and replication, and different work for others', async () => {
  const study = oneDesign({ workload: { lengths: 'geometric(0.05)', units: 50_000 } });
  const predictor = createPredictor(await planOf(study));
  const play = (seed: number): readonly number[] => unwrap(simulateDesign(predictor, 0, { ...OPTIONS, seed })).timesMs;
  const times = play(1);
  expect(play(1)).toEqual(times);
  expect(play(2)).not.toEqual(times);
  expect(new Set(times).size).toBe(times.length);
});

it('keeps a timeline of very many blocks drawable, and refuses one that is too large to record', async () => {
  const many = oneDesign({ workload: { lengths: 'geometric(0.5)', units: 4_000_000 }, axes: { blockThreads: [32] } });
  const predictor = createPredictor(await planOf({ ...many, devices: ['nvidia-a100-sxm4-40gb'] }));
  const timeline = unwrap(simulateTimeline(predictor, 0, 1, 0));
  expect(timeline.gridBlocks).toBe(125_000);
  expect(timeline.blockIndex.length).toBeLessThanOrEqual(20_000);
  expect(timeline.shownMultiprocessors.length).toBeGreaterThan(1);
  expect([...timeline.blockCount].every((count) => count === 1)).toBe(true);
  const huge = oneDesign({ workload: { lengths: 'constant(1)', units: 300_000_000 }, axes: { blockThreads: [32] } });
  expect(simulateTimeline(createPredictor(await planOf(huge)), 0, 1, 0)).toFail('unsupported');
});

describe('rare lengths', () => {
  const played = async (lengths: string, units: number, seed: number, halfWidth: number) => {
    const study = oneDesign({ workload: { lengths, units }, axes: { blockThreads: [128], unitsPerThread: [1] } });
    const options = { seed, halfWidth, maxReplications: 100 };
    return unwrap(simulateDesign(createPredictor(await planOf(study)), 0, options)).timesMs;
  };

  it('leave a few equal times uncertain if they could change them', async () => {
    // One launch in ten has a unit of 100 iterations.
    for (let seed = 1; seed <= 8; seed += 1) {
      const times = await played('categorical(10:0.9999, 100:0.0001)', 1024, seed, 0.02);
      expect(times.length >= 30 || new Set(times).size > 1).toBe(true);
      expect((await played('constant(10)', 1024, seed, 0.02)).length).toBe(5);
    }
  });

  it('that all five replications drew need more replications if some launches have none', async () => {
    // One launch in 27 has no unit of 4000 iterations.
    const rare = await played('categorical(10: 0.999835, 4000: 0.000165)', 20_000, 7, 0.05);
    expect(rare.length).toBeGreaterThanOrEqual(30);
    expect((await played('uniform(5, 50)', 20_000, 7, 0.05)).length).toBeLessThan(30);
  });
});

it('counts the cost of sorting before the launch, but not the cost of fetching', async () => {
  const kernel = { ...KERNEL, lengthsKnownBeforeLaunch: true };
  const study = oneDesign({ kernel, axes: { blockThreads: [128], balancing: ['full-sort', 'dynamic-fetch'] } });
  const predictor = createPredictor(await planOf(study));
  const before = [0, 1].map((design) => playableDesign(predictor, design)!.balancingMs);
  expect([before[0] > 0, before[1]]).toEqual([true, 0]);
  for (const design of [0, 1])
    expect(explainDesign(predictor, design)!.parts.balancing).toBeGreaterThan(before[design] / 2);
});
