import { describe, expect, it } from 'vitest';
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

it('splits the loads of a triangle as 1, 3, 5, …, and gives half of the work in Amdahl’s case to one core besides its share', () => {
  expect([...triangularLoads(16, 4)]).toEqual([1, 3, 5, 7]);
  expect([...amdahlLoads(16, 4)]).toEqual([10, 2, 2, 2]);
  expect([...indivisibleTaskLoads(6, 9, 4)]).toEqual([6, 3, 3, 3]);
  expect([...indivisibleTaskLoads(6, 9, 1)]).toEqual([15]);
  expect(totalLoad(triangularLoads(16, 4))).toBe(16);
});

describe('staircase', () => {
  const curve = maxRateCurve(cpu, 8);

  it('loses bandwidth step by step as cores finish', () => {
    const steps = staircaseSteps(Float64Array.of(0, 10, 15, 30), Float64Array.of(40e6, 80e6, 40e6));
    expect(steps).toEqual([
      { fromMs: 0, toMs: 4, activeCores: 3, bandwidthGbS: 30 },
      { fromMs: 4, toMs: 8, activeCores: 1, bandwidthGbS: 10 },
    ]);
  });

  it('takes no time for no work, and skips cores without work', () => {
    expect(staircaseMs(curve, new Float64Array(8))).toBe(0);
    expect(staircaseMs(curve, Float64Array.of(0, 0, 20e6))).toBe(2);
  });

  it('refuses a curve that is too short for the loads', () => {
    expect(() => staircaseMs(Float64Array.of(0, 10), Float64Array.of(1, 1))).toThrow(
      'The bandwidth curve goes up to 1 cores instead of 2.',
    );
  });
});

describe('two phases', () => {
  const loads = triangularLoads(64e6, 8);

  it('splits at the load of core K', () => {
    // With K = 4 and M = 15, 13, 11, 9, 7, 5, 3, 1 MB, phase 1 moves 16 + 4·9 = 52 MB at 40 GB/s, and phase 2 moves 6
    // MB at 10 GB/s.
    expect(twoPhases(cpu, loads, 'derived')).toEqual({ phase1Ms: 1.3, phase2Ms: 0.6, timeMs: 1.3 + 0.6 });
    // In the tabulated form, phase 1 moves 64 − 6 = 58 MB.
    expect(twoPhases(cpu, loads, 'tabulated').phase1Ms).toBe(1.45);
  });

  it('has no first phase when fewer cores than K have work', () => {
    expect(twoPhases(cpu, Float64Array.of(20e6, 10e6), 'derived')).toEqual({ phase1Ms: 0, phase2Ms: 2, timeMs: 2 });
  });

  it('has every model by name, and the exact ones agree on the max-rate curve', () => {
    const times = Object.fromEntries(CONTENTION_MODELS.map(({ id }) => [id, contentionMs(id, cpu, loads)]));
    expect(times['full-contention']).toBe(3);
    expect(times['no-contention']).toBe(1.5);
    expect(times['no-imbalance']).toBe(1.6);
    // The tolerance is one rounding error for each core.
    expect(Math.abs(times['staircase'] - times['two-phase'])).toBeLessThan(8 * Number.EPSILON * 2);
  });
});

describe('number of cores', () => {
  it('finds that fewer cores are faster when one task cannot be divided', () => {
    // One task has 40 MB that cannot be divided, and another 40 MB are divided. On 2 cores, both parts run at 10 GB/s.
    const sweep = coreSweep(maxRateCurve(cpu, 8), (cores) => indivisibleTaskLoads(40e6, 40e6, cores));
    expect(sweep.bestCores).toBe(2);
    expect(sweep.timeMs[1]).toBe(4);
    // On 8 cores, the task competes with seven others for 40 GB/s. Afterwards, it does most of its work alone.
    const rest = 40 / 7;
    expect(sweep.timeMs[7]).toBeCloseTo((8 * rest) / 40 + (40 - rest) / 10, 12);
    expect(sweep.timeMs[7]).toBeGreaterThan(sweep.timeMs[3]);
  });

  it('needs no more cores than saturate the memory when the work is balanced', () => {
    const sweep = coreSweep(maxRateCurve(cpu, 8), (cores) => new Float64Array(cores).fill(80e6 / cores));
    expect(sweep.enoughCores).toBe(4);
    expect(sweep.timeMs[0]).toBe(8);
    expect(sweep.timeMs[7]).toBeCloseTo(2, 12);
  });

  it('gives the rows and the non-zeros of a partition their bytes', () => {
    const partition = { rows: Float64Array.of(1000, 2), nonZeros: Float64Array.of(54950, 3) };
    expect([...partitionLoads(partition, { bytesPerNonZero: 12, bytesPerRow: 20 })]).toEqual([679_400, 76]);
  });
});

describe('regimes', () => {
  it('names the model that applies', () => {
    expect(findRegime(cpu, 8, 1)).toEqual({ regime: 'no-imbalance', ratio: 1, phase2Fraction: 0 });
    // One of eight cores has all the work, so only the bandwidth of a single core counts.
    const alone = findRegime(cpu, 8, 8);
    expect(alone.regime).toBe('no-contention');
    expect(alone.ratio).toBe(1);
    expect(alone.phase2Fraction).toBe(1);
  });

  it('maps a grid, with holes at impossible imbalances', () => {
    const map = regimeMap(cpu, [2, 8], [1, 4]);
    expect(map.points.map((point) => point?.regime ?? null)).toEqual([
      'no-contention',
      null,
      'no-imbalance',
      'no-contention',
    ]);
    expect(map.balanceLine).toEqual([0.5, 2]);
  });
});
