import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import type { KernelProfile, PipelineParameters } from '../../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../../src-workers/domain/provenance.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { residentBlocks } from '../../../src-workers/models/occupancy/resident.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { kimDevice, kimLaunch } from '../../../src-workers/models/pipeline/kim-catalogue.ts';
import * as kim from '../../../src-workers/models/pipeline/kim.ts';
import {
  cyclesPerIteration,
  fitSoftSaturation,
  cycleTable,
  wavesTime,
} from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { interpolateCycles } from '../../../src-workers/predict/time/cycles.ts';
import { GPUS, gpu } from '../../catalogue.ts';
import { forAllOf, whole } from '../../for-all.ts';

const kepler: PipelineParameters = { latencyCycles: 14.6, issueCycles: 0.43, kneeSoftness: 6.5, schedulers: 4 };

describe('soft saturation', () => {
  it('survives a knee so hard that powers of the cycles overflow', () => {
    const hard = { latencyCycles: 2000, issueCycles: 40, kneeSoftness: 200, schedulers: 4 };
    expect(cyclesPerIteration(hard, 64)).toBeCloseTo(2560, 9);
  });

  it('interpolates its table between whole numbers of groups', () => {
    const table = cycleTable(kepler, 64);
    expect(table).toHaveLength(65);
    expect(interpolateCycles(table, 36.5, 64)).toBe((table[36] + table[37]) / 2);
    expect(interpolateCycles(table, -1, 64)).toBe(table[1]);
    expect(interpolateCycles(table, 100, 64)).toBe(table[64]);
  });

  it('adds a partial wave to the full ones', () => {
    const launch = { groupsPerBlock: 2, residentBlocks: 16, blocksPerMultiprocessor: 35 };
    expect(wavesTime(kepler, launch)).toBe(2 * cyclesPerIteration(kepler, 32) + cyclesPerIteration(kepler, 6));
    expect(wavesTime(kepler, { ...launch, blocksPerMultiprocessor: 32 })).toBe(2 * cyclesPerIteration(kepler, 32));
  });

  it('finds the parameters with which the data were made', () => {
    const rows = [];
    for (const groupsPerBlock of [1, 2, 4, 8]) {
      for (const blocksPerMultiprocessor of [1, 3, 9, 16, 30]) {
        const launch = { groupsPerBlock, residentBlocks: Math.min(16, 64 / groupsPerBlock), blocksPerMultiprocessor };
        rows.push({ ...launch, timeMs: wavesTime(kepler, launch) });
      }
    }
    const parameters = unwrap(fitSoftSaturation(rows, { schedulers: [1, 2, 4, 8] }));
    expect(parameters.schedulers).toBe(4);
    // The data are exact, so the values differ only by the stopping rule of the least squares.
    expect(parameters.latencyCycles).toBeNear(kepler.latencyCycles, 1e-5);
    expect(parameters.issueCycles).toBeNear(kepler.issueCycles, 1e-5);
    expect(parameters.kneeSoftness).toBeNear(kepler.kneeSoftness, 1e-3);
  });

  it('refuses too few launches and impossible times', () => {
    const row = { groupsPerBlock: 1, residentBlocks: 1, blocksPerMultiprocessor: 1, timeMs: 1 };
    expect(fitSoftSaturation([row, row], { schedulers: [4] })).toMatchObject({ ok: false });
    expect(fitSoftSaturation([row, row, { ...row, timeMs: 0 }], { schedulers: [4] })).toFail(
      null,
      'Launch 2 took 0 ms, which is not a positive time.',
    );
  });
});

const device: GpuDevice = {
  ...gpu('nvidia-a100-sxm4-40gb'),
  multiprocessors: 100,
  clockMhz: 1000,
  schedulersPerMultiprocessor: 4,
  fp32LanesPerMultiprocessor: 64,
  dependentIssueLatencyCycles: 5,
  memoryLatencyCycles: 400,
  memoryBandwidthGbS: 1000,
};
const kernel: KernelProfile = {
  ...KERNEL_DEFAULTS,
  name: 'test',
  registersPerThread: 32,
  instructionsPerIteration: 20,
  dependentLoadsPerIteration: 1,
  kneeSoftness: 5,
};

describe('parameters derived from device and kernel', () => {
  it('have issue cycles by lanes and latency by dependence', () => {
    expect(pipelineParameters(device, kernel, { spilledRegisters: 0 })).toEqual({
      latencyCycles: 20 * 5 + 400,
      issueCycles: (20 * 32) / 64,
      kneeSoftness: 5,
      schedulers: 4,
    });
  });

  it('count the instructions of spilled registers, and are bound by bandwidth if the traffic takes longer', () => {
    expect(pipelineParameters(device, kernel, { spilledRegisters: 5 }).issueCycles).toBe((30 * 32) / 64);
    // Per cycle, an SM of this device moves 10 bytes, and an iteration of the kernel moves 32 lanes × 8 bytes.
    const heavy = pipelineParameters(device, { ...kernel, bytesPerIteration: 8 }, { spilledRegisters: 0 });
    expect(heavy.issueCycles).toBeCloseTo(25.6, 12);
  });
});

const DEVICE: kim.KimDevice = {
  threadGroupWidth: 32,
  multiprocessors: 2,
  maxThreadsPerBlock: 512,
  maxThreadsPerGrid: 1e6,
  maxSharedMemoryBytesPerBlock: 16384,
  blockSlots: 8,
  threadGroupSlots: 24,
  sharedMemoryBytes: 16384,
  sharedMemoryGranularityBytes: 512,
  registerFiles: [{ maxPerThread: 124, maxPerBlock: 2048, registers: 512, granularity: 4 }],
  partitions: 2,
  functionalUnits: [
    { name: 'fp32', latencyCycles: 20, count: 2, widthThreadGroups: 1 },
    { name: 'special', latencyCycles: 12, count: 1, widthThreadGroups: 0.25 },
  ],
};
const launch = { threadsPerBlock: 128, gridBlocks: 8, sharedMemoryBytesPerBlock: 0, registersPerThread: [10] };

it('Kim’s model names the value that exceeds a limit', () => {
  expect(kim.brokenLimits(DEVICE, launch)).toEqual([]);
  const broken = kim.brokenLimits(DEVICE, { ...launch, threadsPerBlock: 1024 });
  expect(broken).toEqual(['threads per block: 1024 exceeds the limit of 512']);
});

it('Kim’s model is limited by the smallest state buffer, with allocations rounded up, and by the slowest functional unit', () => {
  const slots = (change: object) => kim.residentBlockSlots(DEVICE, { ...launch, ...change });
  expect([slots({}), slots({ sharedMemoryBytesPerBlock: 4000 }), slots({ registersPerThread: [41] })]).toEqual([
    6, 4, 2,
  ]);
  const cycles = (groups: number) => kim.functionalUnitCycles(DEVICE, groups);
  expect([cycles(0), cycles(3)]).toEqual([0, Math.max(5 * 3, 6 * 12)]);
  // The times of full waves and of the rest are added.
  expect(kim.kimCycles(DEVICE, launch)).toBe(cycles(16));
  expect(kim.kimCycles(DEVICE, { ...launch, gridBlocks: 14 })).toBe(cycles(24) + cycles(4));
  expect(kim.kimCycles(DEVICE, { ...launch, registersPerThread: [200] })).toBeNaN();
});

const moving = { ...kernel, bytesPerIteration: 8 };

describe('a device of the catalogue in Kim’s terms', () => {
  it('never holds fewer blocks than the occupancy model, which has more limits, and usually as many', () => {
    let equal = 0;
    let runs = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...GPUS),
        whole(1, 1024),
        whole(1, 128),
        fc.oneof(fc.constant(0), whole(0, 48_000)),
        (device, blockThreads, registersPerThread, sharedMemoryBytesPerBlock) => {
          const profile = { ...moving, registersPerThread, sharedMemoryBytesPerBlock };
          const model = kimDevice(device, profile);
          const launch = kimLaunch(device, profile, blockThreads, 1);
          fc.pre(kim.brokenLimits(model, launch).length === 0);
          const exact = residentBlocks(device, { blockThreads, registersPerThread, sharedMemoryBytesPerBlock });
          const slots = kim.residentBlockSlots(model, launch);
          expect(slots).toBeGreaterThanOrEqual(exact.blocksPerMultiprocessor);
          runs++;
          if (slots === exact.blocksPerMultiprocessor) equal++;
        },
      ),
      { numRuns: 2000, seed: 7 },
    );
    expect(equal / runs).toBeGreaterThan(0.8);
  });

  it('takes the same time as the pipeline parameters when alone, and when full', () => {
    for (const id of ['nvidia-a100-sxm4-40gb', 'amd-mi250x-gcd', 'nvidia-k20']) {
      const device = gpu(id);
      const arithmeticOnly = { ...kernel, dependentLoadsPerIteration: 0 };
      const model = kimDevice(device, arithmeticOnly);
      const { latencyCycles, issueCycles } = pipelineParameters(device, arithmeticOnly, { spilledRegisters: 0 });
      expect(kim.functionalUnitCycles(model, 1), id).toBe(latencyCycles);
      // Thread groups that fill whole widths leave no part of the unit idle.
      const full = model.functionalUnits[0].widthThreadGroups * 10;
      expect(kim.functionalUnitCycles(model, full), id).toBeCloseTo(issueCycles * full, 9);
    }
  });

  it('has the width of four SIMDs on GCN, and a scalar register file', () => {
    const fury = gpu('amd-r9-fury-x');
    const model = kimDevice(fury, kernel);
    expect(model.functionalUnits.map((unit) => unit.widthThreadGroups)).toEqual([4]);
    expect(model.registerFiles.map((file) => file.granularity)).toEqual([4, 16]);
    // There are four SIMDs with 256 vector and 800 scalar registers, and a block has four waves.
    const slots = (vector: number, scalar: number) =>
      kim.residentBlockSlots(model, kimLaunch(fury, { ...moving, registersPerThread: vector }, 256, 1, scalar));
    expect(slots(24, 0)).toBe(10);
    expect(slots(32, 0)).toBe(8);
    expect(slots(24, 97)).toBe(7);
    expect(slots(24, 96)).toBe(8);
    expect(kim.brokenLimits(model, kimLaunch(fury, moving, 64, 1, 113))).toEqual([
      'registers per thread, file 1: 113 exceeds the limit of 112',
    ]);
  });
});

describe('block allocation', () => {
  it('refuses one block more than there are slots as a deadlock', () => {
    const device = gpu('nvidia-a100-sxm4-40gb');
    const model = kimDevice(device, moving);
    const slots = kim.residentBlockSlots(model, kimLaunch(device, moving, 256, 1));
    expect(kim.deadlocks(model, kimLaunch(device, moving, 256, slots * device.multiprocessors))).toBe(false);
    expect(kim.deadlocks(model, kimLaunch(device, moving, 256, slots * device.multiprocessors + 1))).toBe(true);
  });

  it('wastes the part of the functional units that a wave leaves idle, and is never faster than they are', () => {
    // A block has 3 groups, and the unit is 4 wide. Two resident blocks have 6 groups, with 2 issues instead of 1.5.
    const device = gpu('amd-r9-fury-x');
    const profile = { ...kernel, sharedMemoryBytesPerBlock: 32768 };
    const model = kimDevice(device, profile);
    const series = kim.kimGridSeries(model, kimLaunch(device, profile, 192, 1), 6);
    expect(series.residentBlocks).toBe(2);
    const perIssue = 20 * 4;
    expect(series.cycles).toEqual([1, 2, 3, 4, 5, 6].map((issues) => issues * perIssue));
    expect(series.boundCycles).toEqual([1, 2, 3, 3, 4, 5].map((issues) => issues * perIssue));
    expect(series.inefficiency[5]).toBe(6 / 5);
  });

  it('never has negative costs', () => {
    forAllOf(200)(fc.constantFrom(...GPUS), whole(1, 1024), (device, blockThreads) => {
      const model = kimDevice(device, moving);
      const { inefficiency } = kim.kimGridSeries(model, kimLaunch(device, moving, blockThreads, 1), 40);
      for (const value of inefficiency) expect(Number.isNaN(value) || value >= 1).toBe(true);
    });
  });
});
