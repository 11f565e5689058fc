import { describe, expect, test } from 'vitest';
import type { RankRow, RunSummary, SimulatedDesign, SimulatedTime } from '../../../src-main/contract/api.ts';
import {
  intervalText,
  isOnScale,
  nextToSimulate,
  replicationsHead,
  simulatedTimes,
  simulationCost,
  stripScale,
} from '../../../src-renderer/views/ranking/simulated.ts';
import { timeColumn } from '../../../src-renderer/format/numbers.ts';

const IN_MS = { ...timeColumn(1), decimals: 3 };

const time = (timesMs: readonly number[]): SimulatedTime => {
  const sorted = [...timesMs].sort((a, b) => a - b);
  const meanMs = timesMs.reduce((a, b) => a + b, 0) / timesMs.length;
  return {
    runId: 2,
    meanMs,
    lowMs: meanMs * 0.99,
    highMs: meanMs * 1.01,
    medianMs: sorted[sorted.length >> 1],
    standardDeviationMs: 0.1,
    minMs: sorted[0],
    maxMs: sorted.at(-1)!,
    replications: timesMs.length,
    timesMs,
    precise: true,
  };
};
const row = (designIndex: number, rest: Partial<RankRow> = {}): RankRow =>
  ({ designIndex, rank: designIndex + 1, deviceId: 'gpu', invalid: null, simulated: null, ...rest }) as RankRow;
const design = (designIndex: number, timesMs: readonly number[], predictedMs = timesMs[0]): SimulatedDesign =>
  ({ designIndex, predictedMs, simulated: time(timesMs) }) as SimulatedDesign;
const run = (rest: Partial<RunSummary>): RunSummary =>
  ({ kind: 'simulate', state: 'complete', valid: 20, elapsedMs: 4000, ...rest }) as RunSummary;

describe('the designs that are simulated next', () => {
  const gpus = new Set(['gpu']);
  test('are the next in the list of those that can run on a GPU and are not simulated yet', () => {
    const known = simulatedTimes([design(0, [1]), design(2, [1])]);
    expect(nextToSimulate([row(0), row(1), row(2), row(3), row(4)], gpus, known, 2)).toEqual([1, 3]);
    const rows = [row(0, { invalid: 'registers' as never, rank: 0 }), row(1, { deviceId: 'cpu' }), row(2)];
    expect(nextToSimulate(rows, gpus, new Map(), 20)).toEqual([2]);
  });
});

test('the expected duration of a simulation follows from the time per design of the newest complete simulation, and is empty without one', () => {
  const runs = [run({ state: 'cancelled', elapsedMs: 9e6 }), run({ kind: 'sweep', elapsedMs: 9e6 }), run({})];
  expect(simulationCost(runs, 2)).toBe('about 0.40\u00a0s');
  expect(simulationCost([run({ kind: 'sweep' }), run({ valid: 0 })], 20)).toBe('');
});

test('strip plots are headed by the number of seeds', () => {
  expect(replicationsHead(new Map())).toBeNull();
  expect(replicationsHead(simulatedTimes([design(0, [1, 2]), design(1, [1, 2])]))).toBe('2 seeds');
  expect(replicationsHead(simulatedTimes([design(0, [1, 2]), design(1, [1, 2, 3])]))).toBe('2–3 seeds');
});
test('strip plots share one scale with every replication and prediction near the fastest', () => {
  const scale = stripScale([design(0, [4, 4.2], 3.9), design(1, [4.1, 4.5]), design(2, [40, 41])])!;
  expect(scale.lowMs).toBeLessThan(3.9);
  expect(scale.highMs).toBeGreaterThan(4.5);
  // The scale leaves out far slower designs, which would compress all others to a point.
  expect(scale.highMs).toBeLessThan(4.9);
  expect(isOnScale(time([4, 4.2]), scale)).toBe(true);
  expect(isOnScale(time([40, 41]), scale)).toBe(false);
});
test('strip plots have a scale with some width even if all times are the same', () => {
  const scale = stripScale([design(0, [4, 4])])!;
  expect(scale.highMs).toBeGreaterThan(scale.lowMs);
  expect(stripScale([])).toBeNull();
});

test('have intervals with the decimals of their column', () =>
  expect(intervalText({ ...time([4]), lowMs: 4.155, highMs: 4.1684 }, IN_MS)).toBe('4.155 to 4.168'));
