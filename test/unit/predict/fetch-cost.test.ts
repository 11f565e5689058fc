import { describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { geometricLaw } from '../../../src-workers/models/workload/laws.ts';
import {
  ADDITIONS_PER_CYCLE,
  computeFetchCost,
  computeFetchCycles,
} from '../../../src-workers/predict/cost/fetch-cost.ts';
import { makeGroupDepthLaw } from '../../../src-workers/predict/depth/group-depth.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import { prepareFetchingDevice, type FetchedWork } from '../../../src-workers/simulate/fetching.ts';
import { seededRandom } from '../../../src-workers/simulate/random.ts';
import { KERNEL, oneDesign, planOf } from '../sweep-plans.ts';
import { gpu } from '../../catalogue.ts';

const law = unwrap(geometricLaw(0.05));
const depthOf = (fetch: number | 'group' | undefined, n = 32, rounds = 16) =>
  makeGroupDepthLaw(law, n, { kind: 'dynamic-fetch', ...(fetch !== undefined && { fetch }) }, 'nested', rounds, {
    setupIterations: 0,
    poolGroups: 1024,
  });

describe('the number of fetches of a group', () => {
  it('is once for each unit of each lane, in most iterations of a wide group', () => {
    const { fetches } = depthOf(undefined);
    // The first unit of each lane is fetched before the first iteration, so 15 of its 16 units are counted.
    expect(fetches!.fetchers).toBe(32);
    expect(fetches!.additions).toBe(32 * 15);
    // In an iteration, a lane starts a unit with probability 1/20, and one of 32 lanes with 1 − 0.95³² = 0.81.
    expect(Math.abs(fetches!.events / fetches!.iterations / (1 - 0.95 ** 32) - 1)).toBeLessThan(0.01);
    // A lane starts a unit every 20 iterations. After 16 units per lane, none is left.
    expect(Math.abs(fetches!.iterations / (15 * 20) - 1)).toBeLessThan(0.01);
  });

  it('falls with the units of a fetch, down to one in each round if a group fetches', () => {
    const by = ([undefined, 2, 8] as const).map((fetch) => depthOf(fetch).fetches!);
    for (let i = 1; i < by.length; i++) {
      expect(by[i].additions).toBeLessThan(by[i - 1].additions);
      expect(by[i].events).toBeLessThan(by[i - 1].events);
    }
    const group = depthOf('group').fetches!;
    expect([group.fetchers, group.additions, group.events]).toEqual([1, 15, expect.closeTo(15, 9)]);
  });

  it('is 0 after the start if every lane has one unit', () => {
    expect(depthOf(undefined, 32, 1).fetches).toMatchObject({ iterations: 0, events: 0, additions: 0 });
    expect(depthOf(16, 32, 16).fetches).toMatchObject({ iterations: 0, events: 0, additions: 0 });
  });

  it('includes waiting for the longest unit of a round if a group fetches, and for the longest chunk at the end', () => {
    const [lane, chunks, group] = ([undefined, 8, 'group'] as const).map((fetch) => depthOf(fetch).aggregateLoss);
    const nested = makeGroupDepthLaw(law, 32, { kind: 'none' }, 'nested', 16, { setupIterations: 0 }).aggregateLoss;
    expect(lane).toBeLessThan(chunks);
    expect(chunks).toBeLessThan(group);
    // The many groups of a pool begin their last rounds at different times, so only waiting within rounds loses time.
    expect(Math.abs(group / nested - 1)).toBeLessThan(0.03);
  });
});

describe('the last fetches of a group', () => {
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
  ] as const)('are as many as in a played launch: %s', async (_, lengths, list, several) => {
    const plan = await planOf(oneDesign({ workload: { lengths, units: 2 ** 16 } }));
    for (const rounds of several) {
      const own = makeGroupDepthLaw(plan.law, 32, { kind: 'dynamic-fetch' }, 'nested', rounds, {
        setupIterations: 0,
        poolGroups: 400,
      }).fetches!.last.events;
      const played = play(list, rounds);
      expect(Math.abs(own / played - 1), `${rounds}: ${own} and ${played}`).toBeLessThan(0.1);
    }
  });
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
      fetching: {
        iterations: 100,
        latencyCycles: 0.8 * 300,
        counterCycles: expect.closeTo(3200 * addition, 9) as number,
      },
      // At the end, each of the 32 lanes fetches once more and finds nothing.
      last: { iterations: 50, latencyCycles: 0.32 * 300, counterCycles: expect.closeTo(640 * addition, 9) as number },
    });
    expect(computeFetchCycles(pipeline, cost, 8)).toBeCloseTo(
      32_000 * addition + 100 * (3200 * addition - 500) + 50 * (640 * addition - 500),
      3,
    );
    // With few groups, the latency decides. If groups keep the issue busy, fetching costs nothing.
    const few = computeFetchCost(device, fetches, 10, 1);
    expect(computeFetchCycles(pipeline, few, 8)).toBeCloseTo(320 * addition + 100 * 240 + 50 * 96, 3);
    expect(computeFetchCycles({ ...pipeline, issueCycles: 500 }, few, 8)).toBeCloseTo(320 * addition, 3);
    // If threads share a unit, its iterations become shorter, but its fetch does not.
    expect(computeFetchCost(device, fetches, 1000, 0.25).fetching.latencyCycles).toBe(4 * cost.fetching.latencyCycles);
  });

  it('is one addition for all lanes of a group that fetch at the same time, if the compiler merges them', () => {
    const merged = computeFetchCost({ ...device, vendor: 'nvidia' }, fetches, 1000, 1);
    const lanes = computeFetchCost({ ...device, vendor: 'intel' }, fetches, 1000, 1);
    expect(merged.startCycles).toBe(lanes.startCycles / 32);
    expect(merged.fetching.counterCycles).toBeCloseTo((lanes.fetching.counterCycles * 80) / 320, 9);
    expect(merged.last.counterCycles).toBeCloseTo((lanes.last.counterCycles * 16) / 32, 9);
    expect(merged.fetching.latencyCycles).toBe(lanes.fetching.latencyCycles);
  });

  it('is only the start if no iteration fetches', () => {
    const none = { ...fetches, iterations: 0, events: 0, additions: 0 };
    const expected = { iterations: 0, latencyCycles: 0, counterCycles: 0 };
    expect(computeFetchCost(device, none, 1000, 1).fetching).toEqual(expected);
  });

  const timesOf = async (lengths: string, balancing: string[]) => {
    const plan = await planOf(
      oneDesign({
        workload: { lengths, units: 2 ** 20 },
        kernel: { ...KERNEL, instructionsPerIteration: 10, bytesPerIteration: 0 },
        axes: { blockThreads: [256], balancing, blocksPerMultiprocessor: [4] },
      }),
    );
    const predictor = createPredictor(plan);
    return { predictor, times: [...predictChunk(predictor, 0, balancing.length).timeMs] };
  };

  it('does not let a launch end before its counter has served all units', async () => {
    const { predictor, times } = await timesOf('uniform(1,3)', ['dynamic-fetch', 'dynamic-fetch(4)', 'none']);
    // At best, all 32 lanes of a group fetch at the same time.
    const served = 2 ** 20 / 32 / ADDITIONS_PER_CYCLE / (gpu('nvidia-a100-sxm4-40gb').clockMhz * 1e3);
    expect(times[0]).toBeGreaterThan(served);
    expect(times[1]).toBeLessThan(times[0]);
    const parts = explainDesign(predictor, 0)!;
    expect(parts.parts.balancing).toBeGreaterThan(0.25 * parts.timeMs);
    expect(Object.values(parts.parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(parts.timeMs, 9);
  });

  it('matters little if units are long', async () => {
    const { predictor, times } = await timesOf('uniform(9000,11000)', ['dynamic-fetch']);
    expect(explainDesign(predictor, 0)!.parts.balancing).toBeLessThan(0.02 * times[0]);
  });
});

describe('the simulation of a launch that fetches', () => {
  const launch = {
    multiprocessors: 2,
    residentBlocks: 2,
    groupsPerBlock: 2,
    gridBlocks: 4,
    cyclesPerIteration: Float64Array.of(1, 1, 2, 3, 4),
  };
  const play = (
    fetch: number | 'group',
    units: number,
    support = [3],
    setupIterations = 1,
    costs: Partial<FetchedWork> = {},
  ) =>
    prepareFetchingDevice(launch, {
      law: {
        label: '',
        support: Float64Array.from(support),
        probability: Float64Array.from(support, () => 1 / support.length),
        truncatedMass: 0,
      },
      units,
      lanesPerGroup: 4,
      setupIterations,
      fetch,
      ...costs,
    }).run(seededRandom(1));

  it('runs every unit, whether a lane, a chunk or a group takes it', () => {
    // There are 32 lanes, and 4 groups on a multiprocessor. An iteration takes 4 cycles; a unit and its set-up take 4.
    for (const fetch of [1, 'group'] as const) expect(play(fetch, 96)).toBe(3 * 4 * 4);
    expect(play(3, 96)).toBe(3 * 4 * 4);
    // Chunks of 3 units occupy 31 lanes. One lane is idle while its group continues.
    expect(play(3, 93)).toBe(3 * 4 * 4);
  });

  it('includes the cost of fetching until the queue is empty, and of the last fetches after it', () => {
    const dry = (costs: Partial<FetchedWork>) => play(1, 64, [10], 0, costs);
    // Each of 32 lanes has two units. It fetches the second unit when the first one ends.
    expect(dry({})).toBe(2 * 10 * 4);
    expect(dry({ fetchingCyclesPerIteration: Float64Array.of(7, 7, 7, 7, 7) })).toBe(10 * 7 + 10 * 4);
    expect(dry({ startCycles: 13 })).toBe(13 + 2 * 10 * 4);
    // The last fetches are counted only if fetching has a rate of its own.
    const fetchingCyclesPerIteration = launch.cyclesPerIteration.slice();
    expect(dry({ fetchingCyclesPerIteration, lastCycles: 17 })).toBe(2 * 10 * 4 + 17);
  });

  it('makes a group wait for the longest of its units, but not a lane', () => {
    const [lane, group] = ([1, 'group'] as const).map((fetch) => play(fetch, 3200, [1, 9], 0));
    expect(group).toBeGreaterThan(1.3 * lane);
  });
});
