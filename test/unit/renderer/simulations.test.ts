import { describe, expect, it } from 'vitest';
import type { RankRow, RunSummary, SimulatedDesign, SimulationTimeline } from '../../../src-main/contract/api.ts';
import { moved, zoomed, type Zoom } from '../../../src-renderer/charts/zoom.ts';
import { timeColumn } from '../../../src-renderer/format/numbers.ts';
import * as simulated from '../../../src-renderer/views/ranking/simulated.ts';
import * as shown from '../../../src-renderer/views/ranking/timeline.ts';
import { term } from '../../../src-workers/domain/terms.ts';
import { forAll, real } from '../../for-all.ts';

const design = (designIndex: number, timesMs: readonly number[], predictedMs = timesMs[0]): SimulatedDesign => {
  const meanMs = timesMs.reduce((a, b) => a + b) / timesMs.length;
  const time = { meanMs, medianMs: timesMs[timesMs.length >> 1], replications: timesMs.length, timesMs };
  return { designIndex, predictedMs, simulated: time } as unknown as SimulatedDesign;
};

it('the designs that are simulated next are those of the list that can run on a GPU and are not simulated yet', () => {
  const row = (designIndex: number, rest: object = {}): RankRow =>
    ({ designIndex, rank: designIndex + 1, deviceId: 'gpu', invalid: null, simulated: null, ...rest }) as RankRow;
  const next = (rows: readonly RankRow[], known: readonly SimulatedDesign[], most: number) =>
    simulated.nextToSimulate(rows, new Set(['gpu']), simulated.simulatedTimes(known), most);
  const rows = [0, 1, 2, 3, 4].map((at) => row(at));
  expect(next(rows, [design(0, [1]), design(2, [1])], 2)).toEqual([1, 3]);
  expect(next([row(0, { invalid: 'registers', rank: 0 }), row(1, { deviceId: 'cpu' }), row(2)], [], 20)).toEqual([2]);
});

it('the expected duration of a simulation follows from the time per design of the newest complete simulation, and is empty without one', () => {
  const run = (rest: Partial<RunSummary>): RunSummary =>
    ({ kind: 'simulate', state: 'complete', valid: 20, elapsedMs: 4000, ...rest }) as RunSummary;
  const runs = [run({ state: 'cancelled', elapsedMs: 9e6 }), run({ kind: 'sweep', elapsedMs: 9e6 }), run({})];
  expect(simulated.simulationCost(runs, 2)).toBe('about 0.40\u00a0s');
  expect(simulated.simulationCost([run({ kind: 'sweep' }), run({ valid: 0 })], 20)).toBe('');
});

it('strip plots are headed by the number of seeds, and share one scale with everything near the fastest', () => {
  const heads = [[], [design(0, [1, 2]), design(1, [1, 2])], [design(0, [1, 2]), design(1, [1, 2, 3])]];
  const found = heads.map((designs) => simulated.replicationsHead(simulated.simulatedTimes(designs)));
  expect(found).toEqual([null, '2 seeds', '2–3 seeds']);
  const [near, slow] = [design(0, [4, 4.2], 3.9), design(2, [40, 41])];
  const scale = simulated.stripScale([near, design(1, [4.1, 4.5]), slow])!;
  expect(scale.lowMs).toBeLessThan(3.9);
  // The scale leaves out far slower designs, which would compress all others to a point.
  expect(scale.highMs).toBeBetween(4.5, 4.9);
  expect([near, slow].map((one) => simulated.isOnScale(one.simulated, scale))).toEqual([true, false]);
  // Even if all times are the same, the scale has some width.
  const even = simulated.stripScale([design(0, [4, 4])])!;
  expect(even.highMs).toBeGreaterThan(even.lowMs);
  expect(simulated.stripScale([])).toBeNull();
  const interval = { ...near.simulated, lowMs: 4.155, highMs: 4.1684 };
  expect(simulated.intervalText(interval, { ...timeColumn(1), decimals: 3 })).toBe('4.155 to 4.168');
});

describe('the bars of a timeline', () => {
  /** Two of four multiprocessors are shown. The first one uses two block slots, and one of these has two bars. */
  const timeline: SimulationTimeline = {
    designIndex: 7,
    replication: 0,
    kernelMs: 4,
    multiprocessors: 4,
    residentBlocks: 2,
    groupsPerBlock: 2,
    gridBlocks: 10,
    launchStartMs: Float64Array.of(0),
    shownMultiprocessors: Float64Array.of(0, 2),
    blockIndex: Float64Array.of(0, 1, 4, 2),
    blockCount: Float64Array.of(1, 1, 3, 1),
    blockRow: Float64Array.of(0, 0, 0, 1),
    blockLane: Float64Array.of(0, 1, 0, 0),
    blockStartMs: Float64Array.of(0, 0, 1, 0),
    blockEndMs: Float64Array.of(1, 2, 4, 3),
    binMs: 1,
    activeMean: Float64Array.of(4, 3, 2, 1),
    activeMin: Float64Array.of(4, 2, 1, 0),
    activeMax: Float64Array.of(4, 4, 3, 2),
    activePerRow: new Float64Array(8),
  };

  it('are listed by multiprocessor, and found by slot and time', () => {
    const starts = shown.rowStarts(timeline.blockRow, 2);
    expect([...starts]).toEqual([0, 3, 4]);
    expect([...shown.rowStarts([], 3)]).toEqual([0, 0, 0, 0]);
    const at = (row: number, slot: number, timeMs: number) => shown.barAt(timeline, starts, row, slot, timeMs);
    expect([at(0, 0, 0.5), at(0, 0, 2), at(0, 1, 3), at(1, 0, 2.9), at(5, 0, 1)]).toEqual([0, 2, -1, 3, -1]);
    // The table has the multiprocessors' own numbers.
    expect(shown.timelineTable(timeline)[4]).toEqual([2, 0, 2, 1, 0, 3]);
  });
  it('have two tones, which separate consecutive blocks of a slot, and the colour of their mean duration', () => {
    expect([...shown.alternation(timeline)]).toEqual([0, 0, 1, 0]);
    // The mean durations of a block are 1, 2, 3/3 and 3 ms.
    const relative = Float64Array.of(0, 0.5, 0, 1);
    expect(shown.relativeDurations(timeline)).toMatchObject({ relative, shortestMs: 1, longestMs: 3 });
  });
  it('state what is left out', () => {
    const said = (change: Partial<SimulationTimeline>) =>
      shown.partShown({ ...timeline, ...change }, (key, form) => term(key, 'cuda', form));
    expect(said({})).toMatch(/2 of 4 streaming multiprocessors, evenly spaced.*up to 3 blocks in a row/);
    const all = { multiprocessors: 2, blockCount: Float64Array.of(1, 1, 1, 1) };
    expect(said(all)).toMatch(/^All 2 .*a bar is one block;/);
    expect(said({ ...all, gridBlocks: 1 })).toContain('; 1 block launched, ');
    const launches = { ...all, launchStartMs: Float64Array.of(0, 2, 3) };
    expect(said(launches)).toContain('10 blocks launched in 3 launches');
  });
});

it('rows of a timeline fill the available height, and scroll if they would be too flat', () => {
  expect(shown.rowGeometry(2, 2, 56).totalPx).toBe(56);
  const crowded = shown.rowGeometry(128, 16, 400);
  expect(crowded).toMatchObject({ lanePx: 2, totalPx: 128 * crowded.rowPx });
});

describe('the window of a timeline', () => {
  const closest = 1 / 2000;
  it('stays within the launch after every step', () => {
    forAll(real(0, 1), real(0, 1), real(0.01, 100), real(0, 1), (a, b, by, at) => {
      const from = Math.min(a, b) * (1 - closest);
      const view: Zoom = [from, Math.max(from + closest, Math.max(a, b))];
      for (const next of [zoomed(view, by, at, closest), moved(view, by), moved(view, -by)]) {
        expect(next[0]).toBeGreaterThanOrEqual(0);
        // The tolerance covers two roundings of numbers up to 1.
        expect(next[1]).toBeLessThanOrEqual(1 + 4 * Number.EPSILON);
        expect(next[1] - next[0]).toBeGreaterThan(closest * (1 - 1e-9));
      }
    });
  });
  it('keeps the place under the pointer, and reaches the ends', () => {
    // The place at 0.25 of the window is 0.375 before and after.
    expect(zoomed([0.25, 0.75], 0.5, 0.25, closest)).toEqual([0.3125, 0.5625]);
    expect(moved([0.25, 0.5], Infinity)).toEqual([0.75, 1]);
    expect(moved([0.25, 0.5], -Infinity)).toEqual([0, 0.25]);
    expect(zoomed([0.25, 0.5], 1000, 0.5, closest)).toEqual([0, 1]);
    expect(zoomed([0.25, 0.5], 0, 0, closest)).toEqual([0.25, 0.25 + closest]);
  });
});
