import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { makeGroupDepthLaw } from '../../src-workers/predict/depth/group-depth.ts';
import { constantLaw, geometricLaw, uniformLaw } from '../../src-workers/models/workload/laws.ts';
import { allocateTimeline, prepareDevice, type Launch } from '../../src-workers/simulate/device.ts';
import { prepareFetchingDevice } from '../../src-workers/simulate/fetching.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { replicate } from '../../src-workers/simulate/replicate.ts';
import { independentGroups, type BlockSource } from '../../src-workers/simulate/samplers.ts';
import { dealtUnits } from '../../src-workers/simulate/units.ts';
import { categorical } from '../categorical.ts';

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

  it('distributes blocks evenly over slots that are free at the same instant', () => {
    const launch = launchOf({ multiprocessors: 2, residentBlocks: 2, gridBlocks: 6 });
    const timeline = allocateTimeline(6);
    prepareDevice(launch, depthsOf([2], [2], [2], [2], [1], [1])).run(seededRandom(1), timeline);
    expect([...timeline.blockMultiprocessor]).toEqual([0, 1, 0, 1, 0, 1]);
  });

  it('treats instants that differ only by rounding as one', () => {
    // At a constant rate, 1 iteration and then 5 take as long as 6, but not in floating-point arithmetic.
    const steady = new Float64Array(5).fill(0.3);
    expect(1 * 0.3 + 5 * 0.3).not.toBe(6 * 0.3);
    const launch = launchOf({
      multiprocessors: 2,
      residentBlocks: 2,
      groupsPerBlock: 2,
      gridBlocks: 6,
      cyclesPerIteration: steady,
    });
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
    const source: BlockSource = (random) => {
      const next = independentGroups(makeGroupDepthLaw(law, 1, { kind: 'none' }, 'nested', 1, { setupIterations: 0 }))(
        random,
      );
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

describe('replications', () => {
  const depth = makeGroupDepthLaw(unwrap(geometricLaw(0.1)), 4, { kind: 'none' }, 'nested', 1, { setupIterations: 0 });
  const device = () =>
    prepareDevice(
      launchOf({ multiprocessors: 4, residentBlocks: 2, groupsPerBlock: 2, gridBlocks: 30 }),
      independentGroups(depth),
    );
  const options = { seed: 3, atLeast: 10, atMost: 400, relativeStandardError: 0.01 };

  it('are reproducible, and a longer run extends a shorter one', () => {
    const short = replicate(device(), { ...options, atMost: 12, relativeStandardError: 0 });
    const long = replicate(device(), { ...options, atMost: 40, relativeStandardError: 0 });
    expect(short.cycles.length).toBe(12);
    expect([...long.cycles.subarray(0, 12)]).toEqual([...short.cycles]);
    expect(new Set(long.cycles).size).toBeGreaterThan(30);
  });

  it('stop as soon as the interval of the mean is narrow enough', () => {
    const times = replicate(device(), options);
    expect(times.cycles.length).toBeLessThan(400);
    expect(times.standardErrorCycles).toBeLessThanOrEqual(0.01 * times.meanCycles);
    const halfWidth = (times.confidenceHighCycles - times.confidenceLowCycles) / 2;
    // For 9 and more degrees of freedom, Student's 0.975 quantile is between 1.96 and 2.27.
    expect(halfWidth / times.standardErrorCycles).toBeBetween(1.96, 2.27);
  });
});

describe('fetched work', () => {
  const constant = unwrap(constantLaw(5));
  const run = (
    change: Partial<Launch>,
    units: number,
    lanesPerGroup: number,
    law = constant,
    setupIterations = 0,
  ): number =>
    prepareFetchingDevice(launchOf(change), { law, units, lanesPerGroup, setupIterations }).run(seededRandom(2));

  it('keeps every lane busy while there is work', () => {
    // Two groups have 8 lanes. 20 equal units make two full rounds, and then 4 lanes of one group run alone.
    expect(run({ groupsPerBlock: 2 }, 20, 4)).toBe(2 * 5 * RATE[2] + 5 * RATE[1]);
    expect(run({}, 0, 4)).toBe(0);
    expect(run({ gridBlocks: 7 }, 3, 1)).toBe(15 * RATE[1]);
  });

  it('makes the lanes of a group wait for the setup of one of them', () => {
    // Two lanes have three units of 5 iterations with a set-up of 2. One of them fetches the last unit alone.
    expect(run({}, 3, 2, constant, 2)).toBe(14 * RATE[1]);
    expect(run({}, 6, 1, constant, 2)).toBe(42 * RATE[1]);
    // Lanes out of step run nearly all set-ups in turn: at least those of the longest lane, at most those of all units.
    const law = unwrap(uniformLaw(100, 1000));
    const setups = (run({}, 400, 4, law, 1) - run({}, 400, 4, law)) / RATE[1];
    expect(setups).toBeGreaterThan(350);
    expect(setups).toBeLessThanOrEqual(400);
  });

  it('takes the sum of all units if one lane runs all of them', () => {
    const cycles = run({}, 20_000, 1, unwrap(uniformLaw(0, 40)));
    // 20,000 draws have a mean of 20 and a standard deviation of 11.8, so five standard errors are 2.1 %.
    expect(Math.abs(cycles / (20_000 * 20 * RATE[1]) - 1)).toBeLessThan(0.021);
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
        expect(Math.abs(got / expected - 1)).toBeLessThan(0.014);
      }
    },
  );

  it.each([
    { kind: 'quantile-buckets', k: 4 },
    { kind: 'best-buckets', k: 2 },
  ] as const)('of one length share no bucket with another length, however many are drawn: $kind', (balancing) => {
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

  it('leave slots beyond the last unit empty', () => {
    const source = unwrap(dealtUnits({ ...dealing, balancing: { kind: 'none' }, gridBlocks: 2, units: 20 }));
    const next = source(seededRandom(1));
    const out = new Float64Array(4);
    next(out);
    expect([...out].map((depth) => depth > 0)).toEqual([true, true, false, false]);
    next(out);
    expect([...out]).toEqual([0, 0, 0, 0]);
  });

  it('are refused if there are too many to sort', () =>
    expect(dealtUnits({ ...dealing, balancing: { kind: 'full-sort' }, units: 1e9 })).toFail('unsupported'));
});
