import { describe, expect, it } from 'vitest';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import type { KernelProfile, PipelineParameters } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import {
  brokenLimits,
  functionalUnitCycles,
  kimCycles,
  residentBlockSlots,
  type KimDevice,
} from '../../../src-workers/models/pipeline/kim.ts';
import {
  cyclesPerIteration,
  fitSoftSaturation,
  cycleTable,
  wavesTime,
} from '../../../src-workers/models/pipeline/soft-saturation.ts';
import { interpolateCycles } from '../../../src-workers/predict/time/cycles.ts';
import { KERNEL_DEFAULTS } from '../../../src-workers/domain/provenance.ts';
import { gpu } from '../../catalogue.ts';

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
    expect(Math.abs(parameters.latencyCycles / kepler.latencyCycles - 1)).toBeLessThan(1e-5);
    expect(Math.abs(parameters.issueCycles / kepler.issueCycles - 1)).toBeLessThan(1e-5);
    expect(Math.abs(parameters.kneeSoftness / kepler.kneeSoftness - 1)).toBeLessThan(1e-3);
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

  it('count the instructions of spilled registers', () => {
    expect(pipelineParameters(device, kernel, { spilledRegisters: 5 }).issueCycles).toBe((30 * 32) / 64);
  });

  it('are bound by bandwidth if the traffic takes longer than the instructions', () => {
    // Per cycle, an SM of this device moves 10 bytes, and an iteration of the kernel moves 32 lanes × 8 bytes.
    const heavy = pipelineParameters(device, { ...kernel, bytesPerIteration: 8 }, { spilledRegisters: 0 });
    expect(heavy.issueCycles).toBeCloseTo(25.6, 12);
  });
});

const kim: KimDevice = {
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

describe('Kim: structural model', () => {
  it('names the value that exceeds a limit', () => {
    expect(brokenLimits(kim, launch)).toEqual([]);
    expect(brokenLimits(kim, { ...launch, threadsPerBlock: 1024 })).toEqual([
      'threads per block: 1024 exceeds the limit of 512',
    ]);
  });

  it('is limited by the smallest state buffer, with allocations rounded up', () => {
    expect(residentBlockSlots(kim, launch)).toBe(6);
    expect(residentBlockSlots(kim, { ...launch, sharedMemoryBytesPerBlock: 4000 })).toBe(4);
    expect(residentBlockSlots(kim, { ...launch, registersPerThread: [41] })).toBe(2);
  });

  it('is limited by the slowest functional unit', () => {
    expect(functionalUnitCycles(kim, 0)).toBe(0);
    expect(functionalUnitCycles(kim, 3)).toBe(Math.max(5 * 3, 6 * 12));
  });

  it('adds the times of full waves and of the rest', () => {
    expect(kimCycles(kim, launch)).toBe(functionalUnitCycles(kim, 16));
    expect(kimCycles(kim, { ...launch, gridBlocks: 14 })).toBe(
      functionalUnitCycles(kim, 24) + functionalUnitCycles(kim, 4),
    );
    expect(kimCycles(kim, { ...launch, registersPerThread: [200] })).toBeNaN();
  });
});
