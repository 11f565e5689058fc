/* Tests the cost of a kernel's phases in a launch. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../../src-main/contract/study.ts';
import { NEAR_PAGE_LATENCY, type GpuDevice } from '../../../src-workers/domain/device.ts';
import type { KernelProfile, MeasuredPipeline } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { LEVEL_1_LATENCY } from '../../../src-workers/models/memory/accesses.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { cycleTable, cyclesWithTraffic, marginalCycles } from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { geometricLaw } from '../../../src-workers/models/workload/laws.ts';
import { countActiveLanes } from '../../../src-workers/predict/cost/active-lanes.ts';
import * as fetchCost from '../../../src-workers/predict/cost/fetch-cost.ts';
import { getPace } from '../../../src-workers/predict/cost/pace.ts';
import { computePhaseDemands } from '../../../src-workers/predict/cost/phases.ts';
import { makeGroupDepthLaw } from '../../../src-workers/predict/depth/group-depth.ts';
import { examine, type GpuCandidate } from '../../../src-workers/predict/design/candidate.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import { smoothRounds } from '../../../src-workers/predict/time/cycles.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { gpu } from '../../catalogue.ts';
import { forAll, real, whole } from '../../for-all.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';

const { ADDITIONS_PER_CYCLE, computeFetchCost, computeFetchCycles } = fetchCost;
const A100 = gpu('nvidia-a100-sxm4-40gb');
const UNITS = 1 << 18;

interface Asked {
  readonly lengths?: string;
  readonly units?: number;
  readonly kernel?: Partial<StudyFile['kernel']>;
  readonly axes?: Partial<StudyFile['axes']>;
}
const planned = ({ lengths = 'constant(32)', units = UNITS, kernel = {}, axes = {} }: Asked) => {
  const changed = { kernel: { ...KERNEL, ...kernel }, axes: { blockThreads: [256], ...axes } };
  return planOf(oneDesign({ workload: { lengths, units }, ...changed }));
};
function pacedDesign(predictor: Predictor) {
  const candidate = {} as GpuCandidate;
  examine(predictor, new Int32Array(predictor.counts.length), candidate);
  return { candidate, pace: getPace(candidate) };
}
const timeOf = async (asked: Asked): Promise<number> =>
  predictChunk(createPredictor(await planned(asked)), 0, 1).timeMs[0];
/** Returns the number of thread group instructions that a full device issues in `ms`. */
const instructionsIn = (ms: number): number =>
  (ms * A100.clockMhz * 1e3 * A100.multiprocessors * A100.fp32LanesPerMultiprocessor) / A100.threadGroupWidth;

describe('the phases of a kernel', () => {
  it.each([1, 2, 8, 32])('have their full cost if %i threads share a unit', async (u) => {
    const axes = { threadsPerUnit: [u] };
    for (const sharing of ['deal', 'split'] as const) {
      const kernel = { sharing, combine: { instructions: 0 } };
      const none = await timeOf({ kernel, axes });
      const some = await timeOf({ kernel: { ...kernel, unit: { instructions: 1000, chainInstructions: 1 } }, axes });
      // A thread group takes 32 / u units at a time, and runs 1,000 instructions for all of them together.
      expect(instructionsIn(some - none) / (1000 * (UNITS / (32 / u)))).toBeBetween(0.9, 1.1);
    }
  });

  it('cost one step of 32 threads for a dealt unit of one iteration', async () => {
    const kernel = { sharing: 'deal', combine: { instructions: 0 } } as const;
    // Blocks are large, so that starting them does not limit the launch.
    const axes = { threadsPerUnit: [32], blockThreads: [1024] };
    const one = await timeOf({ kernel, axes, lengths: 'constant(1)' });
    for (const length of [2, 31, 32]) expect(await timeOf({ kernel, axes, lengths: `constant(${length})` })).toBe(one);
    expect(await timeOf({ kernel, axes, lengths: 'constant(33)' })).toBeCloseTo(2 * one, 9);
    // A split iteration takes 1/32 of the time of a dealt one, or the shortest time of a launch.
    expect(await timeOf({ kernel: { sharing: 'split' }, axes, lengths: 'constant(1)' })).toBeLessThan(one / 4);
  });

  it('do not change the pace of a kernel that has none, and no traffic', async () => {
    for (const lengths of ['constant(20)', 'geometric(0.05)', 'mtx:ca-GrQc.mtx'])
      for (const u of [1, 4]) {
        const plan = await planned({ lengths, kernel: { serialFraction: 0.1 }, axes: { threadsPerUnit: [u] } });
        const { pace } = pacedDesign(createPredictor(plan));
        const step = pipelineParameters(A100, plan.kernel, { spilledRegisters: 0 });
        expect([pace.setupIterations, pace.overheadIterations, pace.iterationFactor]).toEqual([0, 0, 0.9 / u + 0.1]);
        const cycles = smoothRounds(cycleTable(step, pace.getCycles().length - 1), step.schedulers);
        expect(Array.from(pace.getCycles())).toEqual(Array.from(cycles));
      }
  });

  it('combine a unit in log₂ u steps, and several thread groups with barriers', () => {
    const combine = { instructions: 10, chainInstructions: 6, dependentExchanges: 1 };
    const kernel = { ...KERNEL, sharing: 'deal', combine } as unknown as KernelProfile;
    const cost = (u: number) => computePhaseDemands(kernel, A100, u).unit;
    expect(cost(1)).toEqual({ latencyCycles: 0, issueCycles: 0 });
    expect(cost(8).issueCycles).toBeCloseTo(3 * cost(2).issueCycles, 9);
    expect(cost(8).latencyCycles).toBeCloseTo(3 * cost(2).latencyCycles, 9);
    expect(cost(64).issueCycles).toBeGreaterThan(6 * cost(2).issueCycles);
    expect(cost(128).issueCycles - cost(64).issueCycles).toBeCloseTo(cost(2).issueCycles, 9);
  });

  it('load the first data of a unit from a known page, and of later units partly from the nearest cache', async () => {
    const unit = { instructions: 1, dependentLoads: 1, bytes: 16 };
    const startOf = async (of: number, loop: 'nested' | 'flattened' = 'nested') => {
      const asked = { lengths: 'geometric(0.05)', kernel: { unit }, axes: { loop: [loop], unitsPerThread: [of] } };
      const { pace } = pacedDesign(createPredictor(await planned(asked)));
      return (pace.aloneCycles.start - A100.dependentIssueLatencyCycles) / A100.memoryLatencyCycles;
    };
    // 32 units of 8 bytes that are read fill 8 sectors, so all lanes wait. In a flattened loop, few changes of unit do.
    expect(await startOf(1)).toBeCloseTo(NEAR_PAGE_LATENCY, 9);
    expect(await startOf(8)).toBeCloseTo(NEAR_PAGE_LATENCY, 9);
    expect(await startOf(8, 'flattened')).toBeBetween(LEVEL_1_LATENCY, NEAR_PAGE_LATENCY);
  });

  it('move the bytes of each step of a combination or a search, and those of a carried unit', async () => {
    const nothing = { instructions: 0 };
    const moving = (bytes: number) => ({ ...nothing, bytes });
    const none = { lengthsKnownBeforeLaunch: true, combine: nothing, search: nothing, carry: nothing };
    const shared = (kernel: Asked['kernel']) =>
      timeOf({ kernel: { ...none, sharing: 'deal', ...kernel }, axes: { threadsPerUnit: [8] } });
    expect(await shared({ combine: moving(1000) })).toBe(await shared({ unit: moving(3000) }));
    const even = (kernel: Asked['kernel']) =>
      timeOf({ kernel: { ...none, ...kernel }, units: 2 ** 20 - 1, axes: { balancing: ['nonzero-split'] } });
    const each = await even({ prologue: moving(2000) });
    expect(each).toBeGreaterThan(await even({}));
    expect([await even({ search: moving(100) }), await even({ carry: moving(2000) })]).toEqual([each, each]);
  });

  it('grow the time with every instruction, load and byte', async () => {
    const unit = { instructions: 50, dependentLoads: 1, bytes: 32 };
    const kernel = { sharing: 'deal', prologue: { instructions: 20 }, unit } as const;
    const asked = { lengths: 'geometric(0.05)', axes: { threadsPerUnit: [4] } };
    const base = await timeOf({ ...asked, kernel });
    const more = [
      { unit: { ...unit, instructions: 500 } },
      { unit: { ...unit, dependentLoads: 8 } },
      { unit: { ...unit, bytes: 2048 } },
      { prologue: { instructions: 2000 } },
      { combine: { instructions: 300 } },
    ];
    for (const change of more)
      expect(await timeOf({ ...asked, kernel: { ...kernel, ...change } })).toBeGreaterThan(base);
  });
});

it('the cycles of a mean round are the sum of the parts of latency, issue and traffic', () => {
  const above = real(1, 1e5);
  forAll(above, above, fc.oneof(fc.constant(0), above), whole(1, 64), (τ, c, moved, w) => {
    const pipeline = { latencyCycles: τ, issueCycles: c, kneeSoftness: 6.5, schedulers: 4 };
    const part = marginalCycles(pipeline, moved, w);
    const sum = part.latency * τ + part.issue * c + part.transfer * moved;
    expect(sum).toBeNear(cyclesWithTraffic(pipeline, moved, w), 1e-12);
  });
});

it('the cycles of a mean round make a launch of whole waves as long as the sum of its rounds', async () => {
  const kernel = {
    bytesPerIteration: 4,
    dependentLoadsPerIteration: 1,
    prologue: { instructions: 20 },
    unit: { instructions: 18, dependentLoads: 1 },
  };
  const [blocksPerMultiprocessor, rounds] = [8, 3];
  const units = blocksPerMultiprocessor * A100.multiprocessors * 256 * rounds;
  const plan = await planned({ units, kernel, axes: { blocksPerMultiprocessor: [blocksPerMultiprocessor] } });
  const { candidate, pace } = pacedDesign(createPredictor(plan));
  const { iterationFactor, getCycles, setupIterations } = pace;
  expect([candidate.meanUnitsPerThread, candidate.shape.residentBlocks]).toEqual([rounds, blocksPerMultiprocessor]);
  const cycles = rounds * (32 + setupIterations) * getCycles()[blocksPerMultiprocessor * 8] * iterationFactor;
  const { timeMs } = predictChunk(createPredictor(plan), 0, 1);
  expect(timeMs[0]).toBeNear(cycles / (A100.clockMhz * 1e3), 1e-9);
});

it.each([1, 32, 64, 256])('the best rate of a mean round is at some number of groups: %i threads', async (u) => {
  for (const kernel of [{ unit: { instructions: 30 } }, { unit: { instructions: 9, bytes: 16 } }])
    for (const schedulers of [1, 3, 4]) {
      const measured = { latencyCycles: 500, issueCycles: 9, kneeSoftness: 3, schedulers };
      const plan = await planned({ kernel, axes: { threadsPerUnit: [u] } });
      const { pace } = pacedDesign(createPredictor({ ...plan, pipeline: { [A100.id]: measured } }));
      let best = Infinity;
      for (let w = 1; w < pace.getCycles().length; w += 1) {
        best = Math.min(best, pace.getCycles()[w] / w);
        expect(pace.findBestRate(w), `${w} groups`).toBeNear(best, 1e-12);
      }
    }
});

it('the measured cost of an iteration contains the traffic, unless the traffic has a factor of its own', async () => {
  const loads = { dependentLoadsPerIteration: 1 };
  const accesses = [{ pattern: 'along-unit', elementBytes: 4 } as const];
  const [plan, without] = await Promise.all(
    [{ ...loads, accesses }, loads].map((kernel) => planned({ kernel, axes: { threadsPerUnit: [1, 32] } })),
  );
  const timesOf = (measured: MeasuredPipeline | null, of = plan): number[] =>
    Array.from(
      predictChunk(createPredictor({ ...of, pipeline: measured ? { [A100.id]: measured } : {} }), 0, 2).timeMs,
    );
  const derived = pipelineParameters(A100, plan.kernel, { spilledRegisters: 0, bytesPerIteration: 0 });
  expect(timesOf(derived)).toEqual(timesOf(derived, without));
  const before = timesOf(null);
  timesOf({ ...derived, transferScale: 1 }).forEach((time, i) => expect(time).toBeNear(before[i], 1e-12));
  // One thread per unit reads whole sectors, so traffic limits it more than 32 threads, which share them.
  const [alone, together] = timesOf({ ...derived, transferScale: 3 }).map((time, i) => time / before[i]);
  expect(alone).toBeBetween(2.5, 3);
  expect(together).toBeLessThan(2.5);
});

describe('the lanes of a group', () => {
  const lanesOf = async (lengths: string, kind: 'none' | 'full-sort' = 'none', loss = 1) =>
    countActiveLanes(createPredictor(await planned({ lengths })), { kind }, 32, loss);

  it('are all active if lengths are equal, fewer are the more lengths differ, and any of more lanes loads more often', async () => {
    expect((await lanesOf('constant(20)')).ofReads).toBe(1);
    const lanes = await lanesOf('geometric(0.05)');
    const few = (await lanesOf('uniform(1, 40)')).ofReads;
    expect(few).toBeBetween(lanes.ofReads, 1);
    const any = [1, 2, 8, 32].map((n) => lanes.any(n, 0.1));
    expect(any).toEqual([...new Set(any)].sort((a, b) => a - b));
    expect(any[3]).toBeLessThanOrEqual(1);
    expect(any[0]).toBeCloseTo(0.1, 9);
  });

  it.each([1, 2, 8, 32])('are as many on average as a loss of %i leaves, if neighbours are similar', async (loss) => {
    const { any, ofReads } = await lanesOf('geometric(0.05)', 'full-sort', loss);
    expect(any(32, 1e-9) / 1e-9).toBeCloseTo(32 / loss, 4);
    expect(ofReads).toBeWithin(1 / loss - 1e-12, 1);
  });

  it('do not change the time of a unit that is alone', async () => {
    const accesses = [{ pattern: 'scattered', elementBytes: 4 }] as const;
    const kernel = { instructionsPerIteration: 9, dependentLoadsPerIteration: 1, accesses: [...accesses] };
    const balancings = ['none', 'dynamic-fetch', 'dynamic-fetch(group)', 'best-buckets(4)', 'full-sort'];
    const steps = balancings.map(async (balancing) => {
      const asked = {
        lengths: 'categorical(1: 0.99, 5000: 0.01)',
        kernel: { ...kernel, lengthsKnownBeforeLaunch: true },
      };
      return pacedDesign(createPredictor(await planned({ ...asked, axes: { balancing: [balancing] } }))).pace
        .aloneCycles;
    });
    expect(new Set((await Promise.all(steps)).map(({ step }) => step)).size).toBe(1);
  });

  it('share the whole bandwidth if only some multiprocessors have blocks', async () => {
    const kernel = { instructionsPerIteration: 1, bytesPerIteration: 512 };
    const on = (blocks: number) =>
      timeOf({ kernel, lengths: 'constant(64)', units: 1 << 20, axes: { gridBlocks: [blocks], blockThreads: [1024] } });
    expect((await on(A100.multiprocessors / 2)) / (await on(A100.multiprocessors))).toBeBetween(0.9, 1.1);
  });

  it.each(['dynamic-fetch', 'none'])('hardly change the time with one block more, also at %s', async (balancing) => {
    // Each lane has about one unit and a half: the price of a round must not be that of one or of two units.
    const ofBlocks = (gridBlocks: number): Promise<number> =>
      timeOf({
        lengths: 'zipf(1.5,500)',
        units: 300_000,
        kernel: { bytesPerIteration: 150, dependentLoadsPerIteration: 2 },
        axes: { blockThreads: [64], gridBlocks: [gridBlocks], loop: ['flattened'], balancing: [balancing] },
      });
    const middle = Math.round(300_000 / 64 / 1.5);
    for (const blocks of [middle - 2, middle - 1, middle, middle + 1])
      expect(Math.abs((await ofBlocks(blocks + 1)) / (await ofBlocks(blocks)) - 1), `${blocks} blocks`).toBeLessThan(
        0.01,
      );
  });
  it('move no bytes once they have ended, so equal traffic takes equal time however lengths differ', async () => {
    const kernel = { instructionsPerIteration: 1, bytesPerIteration: 512 };
    const even = await timeOf({ kernel, lengths: 'constant(20)' });
    expect((await timeOf({ kernel, lengths: 'categorical(1: 0.5, 39: 0.5)' })) / even).toBeLessThan(1.25);
  });
});

const law = unwrap(geometricLaw(0.05));
const depthOf = (fetch: number | 'group', rounds = 16) => {
  const balancing = { kind: 'dynamic-fetch', fetch } as const;
  return makeGroupDepthLaw(law, 32, balancing, 'nested', rounds, { setupIterations: 0, poolGroups: 1024 });
};

describe('the number of fetches of a group', () => {
  it('is once for each unit of each lane, in most iterations of a wide group', () => {
    const { fetchers, additions, events, iterations } = depthOf(1).fetches!;
    // The first unit of each lane is fetched before the first iteration, so 15 of its 16 units are counted.
    expect([fetchers, additions]).toEqual([32, 32 * 15]);
    // In an iteration, a lane starts a unit with probability 1/20, and one of 32 lanes with 1 − 0.95³² = 0.81.
    expect(events / iterations).toBeNear(1 - 0.95 ** 32, 0.01);
    // A lane starts a unit every 20 iterations. After 16 units per lane, none is left.
    expect(iterations).toBeNear(15 * 20, 0.01);
  });

  it('falls with the units of a fetch, down to one in each round if a group fetches', () => {
    const by = [1, 2, 8].map((fetch) => depthOf(fetch).fetches!);
    for (let i = 1; i < by.length; i++) {
      expect(by[i].additions).toBeLessThan(by[i - 1].additions);
      expect(by[i].events).toBeLessThan(by[i - 1].events);
    }
    const group = depthOf('group').fetches!;
    expect([group.fetchers, group.additions, group.events]).toEqual([1, 15, expect.closeTo(15, 9)]);
    // After the start, nothing is fetched if every lane has one unit, or one chunk.
    for (const { fetches } of [depthOf(1, 1), depthOf(16)])
      expect(fetches).toMatchObject({ iterations: 0, events: 0, additions: 0 });
  });

  it('includes waiting for the longest unit of a round if a group fetches, and for the longest chunk at the end', () => {
    const [lane, chunks, group] = ([1, 8, 'group'] as const).map((fetch) => depthOf(fetch).aggregateLoss);
    const nested = makeGroupDepthLaw(law, 32, { kind: 'none' }, 'nested', 16, { setupIterations: 0 }).aggregateLoss;
    expect(lane).toBeLessThan(chunks);
    expect(chunks).toBeLessThan(group);
    // The many groups of a pool begin their last rounds at different times, so only waiting within rounds loses time.
    expect(group).toBeNear(nested, 0.03);
  });
});

/** Simulates groups of 32 lanes until each lane has found the counter empty once. */
const play = (lengths: readonly number[], rounds: number): number => {
  const random = seededRandom(5);
  const groups = 400;
  const left = Array.from({ length: groups }, () => new Float64Array(32));
  let units = groups * 32 * rounds;
  let last = 0;
  for (let active = groups; active > 0;)
    for (const lanes of left) {
      if (lanes.every((lane) => lane === Infinity)) continue;
      let isLast = false;
      lanes.forEach((lane, at) => {
        if (lane > 0) return;
        if (units-- > 0) lanes[at] = lengths[Math.floor(random() * lengths.length)];
        else {
          lanes[at] = Infinity;
          isLast = true;
        }
      });
      if (isLast) last++;
      if (lanes.every((lane) => lane === Infinity)) active--;
      lanes.forEach((lane, at) => (lanes[at] = lane - 1));
    }
  return last / groups;
};

it.each([
  ['two lengths', 'uniform(3,4)', [3, 4], [1, 16]],
  ['lengths of one to nine', 'uniform(1,9)', [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 16]],
] as const)('the last fetches of a group are as many as in a played launch: %s', async (_, lengths, list, several) => {
  const plan = await planOf(oneDesign({ workload: { lengths, units: 2 ** 16 } }));
  for (const rounds of several) {
    const options = { setupIterations: 0, poolGroups: 400 };
    const depth = makeGroupDepthLaw(plan.law, 32, { kind: 'dynamic-fetch' }, 'nested', rounds, options);
    const own = depth.fetches!.last.events;
    const played = play(list, rounds);
    expect(own, `${rounds}: ${own} and ${played}`).toBeNear(played, 0.1);
  }
});

describe('the cost of a fetch', () => {
  const device = { memoryLatencyCycles: 600, multiprocessors: 100 } as GpuDevice;
  const pipeline = { latencyCycles: 500, issueCycles: 20, kneeSoftness: 1000, schedulers: 4 };
  const fetches = { fetchers: 32, iterations: 100, events: 80, additions: 320, last: { iterations: 50, events: 16 } };

  it('consists of latency if any lane fetches, and of a counter that serves one addition after another', () => {
    const cost = computeFetchCost(device, fetches, 1000, 1);
    const addition = 1 / ADDITIONS_PER_CYCLE;
    expect(cost).toEqual({
      startCycles: 32_000 * addition,
      fetching: { iterations: 100, latencyCycles: 0.8 * 300, counterCycles: expect.closeTo(3200 * addition, 9) },
      // At the end, each of the 32 lanes fetches once more and finds nothing.
      last: { iterations: 50, latencyCycles: 0.32 * 300, counterCycles: expect.closeTo(640 * addition, 9) as number },
    });
    const cycles = 32_000 * addition + 100 * (3200 * addition - 500) + 50 * (640 * addition - 500);
    expect(computeFetchCycles(pipeline, cost, 8)).toBeCloseTo(cycles, 3);
    // With few groups, the latency decides. If groups keep the issue busy, fetching costs nothing.
    const few = computeFetchCost(device, fetches, 10, 1);
    expect(computeFetchCycles(pipeline, few, 8)).toBeCloseTo(320 * addition + 100 * 240 + 50 * 96, 3);
    expect(computeFetchCycles({ ...pipeline, issueCycles: 500 }, few, 8)).toBeCloseTo(320 * addition, 3);
    // If threads share a unit, its iterations become shorter, but its fetch does not.
    expect(computeFetchCost(device, fetches, 1000, 0.25).fetching.latencyCycles).toBe(4 * cost.fetching.latencyCycles);
  });

  it('is one addition for all lanes of a group that fetch together, if the compiler merges them, and none if no iteration fetches', () => {
    const merged = computeFetchCost({ ...device, vendor: 'nvidia' }, fetches, 1000, 1);
    const lanes = computeFetchCost({ ...device, vendor: 'intel' }, fetches, 1000, 1);
    expect(merged.startCycles).toBe(lanes.startCycles / 32);
    expect(merged.fetching.counterCycles).toBeCloseTo((lanes.fetching.counterCycles * 80) / 320, 9);
    expect(merged.last.counterCycles).toBeCloseTo((lanes.last.counterCycles * 16) / 32, 9);
    expect(merged.fetching.latencyCycles).toBe(lanes.fetching.latencyCycles);
    const none = { ...fetches, iterations: 0, events: 0, additions: 0 };
    const expected = { iterations: 0, latencyCycles: 0, counterCycles: 0 };
    expect(computeFetchCost(device, none, 1000, 1).fetching).toEqual(expected);
  });

  it('does not let a launch end before its counter has served all units', async () => {
    const kernel = { instructionsPerIteration: 10, bytesPerIteration: 0 };
    const axes = { balancing: ['dynamic-fetch', 'dynamic-fetch(4)'], blocksPerMultiprocessor: [4] };
    const predictor = createPredictor(await planned({ lengths: 'uniform(1,3)', units: 2 ** 20, kernel, axes }));
    const times = predictChunk(predictor, 0, 2).timeMs;
    // At best, all 32 lanes of a group fetch at the same time.
    const served = 2 ** 20 / 32 / ADDITIONS_PER_CYCLE / (A100.clockMhz * 1e3);
    expect(times[0]).toBeGreaterThan(served);
    expect(times[1]).toBeLessThan(times[0]);
    const parts = explainDesign(predictor, 0)!;
    expect(parts.parts.balancing).toBeGreaterThan(0.25 * parts.timeMs);
    expect(Object.values(parts.parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(parts.timeMs, 9);
  });
});
