import { expect, it } from 'vitest';
import type { CpuDevice } from '../../src-workers/domain/device.ts';
import { maxRateCurve } from '../../src-workers/models/contention/bandwidth.ts';
import { coreSweep, partitionLoads } from '../../src-workers/models/contention/cores.ts';
import {
  amdahlLoads,
  indivisibleTaskLoads,
  totalLoad,
  triangularLoads,
} from '../../src-workers/models/contention/loads.ts';
import { findRegime, regimeMap } from '../../src-workers/models/contention/regimes.ts';
import {
  contentionMs,
  CONTENTION_MODELS,
  staircaseMs,
  staircaseSteps,
  twoPhases,
} from '../../src-workers/models/contention/time.ts';

// One core alone has 10 GB/s. All cores together have 40 GB/s, so four cores saturate the memory.
const cpu: CpuDevice = {
  kind: 'cpu',
  id: 'test-cpu',
  name: 'test',
  vendor: 'test',
  cores: 8,
  singleCoreBandwidthGbS: 10,
  fullBandwidthGbS: 40,
  kneeCores: 4,
  sources: {},
};

const curve = maxRateCurve(cpu, 8);

it('splits the loads of a triangle as 1, 3, 5, …, and gives half of the work in Amdahl’s case to one core besides its share', () => {
  expect([...triangularLoads(16, 4)]).toEqual([1, 3, 5, 7]);
  expect([...amdahlLoads(16, 4)]).toEqual([10, 2, 2, 2]);
  expect([...indivisibleTaskLoads(6, 9, 4)]).toEqual([6, 3, 3, 3]);
  expect([...indivisibleTaskLoads(6, 9, 1)]).toEqual([15]);
  expect(totalLoad(triangularLoads(16, 4))).toBe(16);
  // The rows and the non-zeros of a partition have bytes of their own.
  const partition = { rows: Float64Array.of(1000, 2), nonZeros: Float64Array.of(54950, 3) };
  expect([...partitionLoads(partition, { bytesPerNonZero: 12, bytesPerRow: 20 })]).toEqual([679_400, 76]);
});

it('a staircase loses bandwidth step by step as cores finish, and needs a bandwidth for every core', () => {
  expect(staircaseSteps(Float64Array.of(0, 10, 15, 30), Float64Array.of(40e6, 80e6, 40e6))).toEqual([
    { fromMs: 0, toMs: 4, activeCores: 3, bandwidthGbS: 30 },
    { fromMs: 4, toMs: 8, activeCores: 1, bandwidthGbS: 10 },
  ]);
  expect(staircaseMs(curve, new Float64Array(8))).toBe(0);
  expect(staircaseMs(curve, Float64Array.of(0, 0, 20e6))).toBe(2);
  const words = 'The bandwidth curve goes up to 1 cores instead of 2.';
  expect(() => staircaseMs(Float64Array.of(0, 10), Float64Array.of(1, 1))).toThrow(words);
});

it('two phases split at the load of core K, and have no first phase when fewer cores than K have work', () => {
  const loads = triangularLoads(64e6, 8);
  // K = 4, M = 15, 13, 11, 9, 7, 5, 3, 1 MB: phase 1 moves 16 + 4·9 = 52 MB at 40 GB/s, phase 2 moves 6 MB at 10 GB/s.
  expect(twoPhases(cpu, loads, 'derived')).toEqual({ phase1Ms: 1.3, phase2Ms: 0.6, timeMs: 1.3 + 0.6 });
  // In the tabulated form, phase 1 moves 64 − 6 = 58 MB.
  expect(twoPhases(cpu, loads, 'tabulated').phase1Ms).toBe(1.45);
  expect(twoPhases(cpu, Float64Array.of(20e6, 10e6), 'derived')).toEqual({ phase1Ms: 0, phase2Ms: 2, timeMs: 2 });
  const times = Object.fromEntries(CONTENTION_MODELS.map(({ id }) => [id, contentionMs(id, cpu, loads)]));
  expect(times).toMatchObject({ 'full-contention': 3, 'no-contention': 1.5, 'no-imbalance': 1.6 });
  // The exact models agree on the max-rate curve, within one rounding error for each core.
  expect(Math.abs(times['staircase'] - times['two-phase'])).toBeLessThan(8 * Number.EPSILON * 2);
});

it('fewer cores are faster when one task cannot be divided, and no more are needed than saturate the memory', () => {
  // One task has 40 MB that cannot be divided, and another 40 MB are divided. On 2 cores, both parts run at 10 GB/s.
  const { bestCores, timeMs } = coreSweep(curve, (cores) => indivisibleTaskLoads(40e6, 40e6, cores));
  expect([bestCores, timeMs[1]]).toEqual([2, 4]);
  // On 8 cores, the task competes with seven others for 40 GB/s. Afterwards, it does most of its work alone.
  const rest = 40 / 7;
  expect(timeMs[7]).toBeCloseTo((8 * rest) / 40 + (40 - rest) / 10, 12);
  expect(timeMs[7]).toBeGreaterThan(timeMs[3]);
  const even = coreSweep(curve, (cores) => new Float64Array(cores).fill(80e6 / cores));
  expect([even.enoughCores, even.timeMs[0]]).toEqual([4, 8]);
  expect(even.timeMs[7]).toBeCloseTo(2, 12);
});

it('a regime names the model that applies, and a map of regimes has holes at impossible imbalances', () => {
  expect(findRegime(cpu, 8, 1)).toEqual({ regime: 'no-imbalance', ratio: 1, phase2Fraction: 0 });
  // One of eight cores has all the work, so only the bandwidth of a single core counts.
  expect(findRegime(cpu, 8, 8)).toEqual({ regime: 'no-contention', ratio: 1, phase2Fraction: 1 });
  const { points, balanceLine } = regimeMap(cpu, [2, 8], [1, 4]);
  const regimes = points.map((point) => point?.regime ?? null);
  expect(regimes).toEqual(['no-contention', null, 'no-imbalance', 'no-contention']);
  expect(balanceLine).toEqual([0.5, 2]);
});
