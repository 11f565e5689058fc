import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KernelProfile } from '../../../src-workers/domain/kernel.ts';
import { residentBlocks } from '../../../src-workers/models/occupancy/resident.ts';
import { pipelineParameters } from '../../../src-workers/models/pipeline/derive.ts';
import { kimDevice, kimLaunch } from '../../../src-workers/models/pipeline/kim-catalogue.ts';
import {
  brokenLimits,
  deadlocks,
  functionalUnitCycles,
  kimGridSeries,
  residentBlockSlots,
} from '../../../src-workers/models/pipeline/kim.ts';
import { GPUS as devices } from '../../catalogue.ts';
import { KERNEL_DEFAULTS } from '../../../src-workers/domain/provenance.ts';
import { forAllOf } from '../../for-all.ts';

const byId = (id: string) => devices.find((device) => device.id === id)!;
const kernel: KernelProfile = {
  ...KERNEL_DEFAULTS,
  name: 'test',
  registersPerThread: 32,
  instructionsPerIteration: 20,
  dependentLoadsPerIteration: 1,
  bytesPerIteration: 8,
  kneeSoftness: 5,
};

describe('a device of the catalogue in Kim’s terms', () => {
  it('never holds fewer blocks than the occupancy model, which has more limits, and usually as many', () => {
    let equal = 0;
    let runs = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...devices),
        fc.integer({ min: 1, max: 1024 }),
        fc.integer({ min: 1, max: 128 }),
        fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 48_000 })),
        (device, blockThreads, registersPerThread, sharedMemoryBytesPerBlock) => {
          const profile = { ...kernel, registersPerThread, sharedMemoryBytesPerBlock };
          const model = kimDevice(device, profile);
          const launch = kimLaunch(device, profile, blockThreads, 1);
          fc.pre(brokenLimits(model, launch).length === 0);
          const exact = residentBlocks(device, { blockThreads, registersPerThread, sharedMemoryBytesPerBlock });
          const slots = residentBlockSlots(model, launch);
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
      const device = byId(id);
      const arithmeticOnly = { ...kernel, dependentLoadsPerIteration: 0, bytesPerIteration: 0 };
      const model = kimDevice(device, arithmeticOnly);
      const { latencyCycles, issueCycles } = pipelineParameters(device, arithmeticOnly, { spilledRegisters: 0 });
      expect(functionalUnitCycles(model, 1), id).toBe(latencyCycles);
      // Thread groups that fill whole widths leave no part of the unit idle.
      const full = model.functionalUnits[0].widthThreadGroups * 10;
      expect(functionalUnitCycles(model, full), id).toBeCloseTo(issueCycles * full, 9);
    }
  });

  it('has the width of four SIMDs on GCN, and a scalar register file', () => {
    const fury = byId('amd-r9-fury-x');
    const model = kimDevice(fury, { ...kernel, bytesPerIteration: 0 });
    expect(model.functionalUnits.map((unit) => unit.widthThreadGroups)).toEqual([4]);
    expect(model.registerFiles.map((file) => file.granularity)).toEqual([4, 16]);
    // There are four SIMDs with 256 vector and 800 scalar registers, and a block has four waves.
    const slots = (vector: number, scalar: number) =>
      residentBlockSlots(model, kimLaunch(fury, { ...kernel, registersPerThread: vector }, 256, 1, scalar));
    expect(slots(24, 0)).toBe(10);
    expect(slots(32, 0)).toBe(8);
    expect(slots(24, 97)).toBe(7);
    expect(slots(24, 96)).toBe(8);
    expect(brokenLimits(model, kimLaunch(fury, kernel, 64, 1, 113))).toEqual([
      'registers per thread, file 1: 113 exceeds the limit of 112',
    ]);
  });
});

describe('block allocation', () => {
  it('refuses one block more than there are slots as a deadlock', () => {
    const device = byId('nvidia-a100-sxm4-40gb');
    const model = kimDevice(device, kernel);
    const slots = residentBlockSlots(model, kimLaunch(device, kernel, 256, 1));
    expect(deadlocks(model, kimLaunch(device, kernel, 256, slots * device.multiprocessors))).toBe(false);
    expect(deadlocks(model, kimLaunch(device, kernel, 256, slots * device.multiprocessors + 1))).toBe(true);
  });

  it('wastes the part of the functional units that a wave leaves idle, and is never faster than they are', () => {
    // A block has 3 groups, and the unit is 4 groups wide. Two resident blocks have 6 groups, which need 2 issues
    // instead of 1.5.
    const device = byId('amd-r9-fury-x');
    const profile = { ...kernel, bytesPerIteration: 0, sharedMemoryBytesPerBlock: 32768 };
    const model = kimDevice(device, profile);
    const series = kimGridSeries(model, kimLaunch(device, profile, 192, 1), 6);
    expect(series.residentBlocks).toBe(2);
    const perIssue = 20 * 4;
    expect(series.cycles).toEqual([1, 2, 3, 4, 5, 6].map((issues) => issues * perIssue));
    expect(series.boundCycles).toEqual([1, 2, 3, 3, 4, 5].map((issues) => issues * perIssue));
    expect(series.inefficiency[5]).toBe(6 / 5);
  });

  it('never has negative costs', () => {
    forAllOf(200)(fc.constantFrom(...devices), fc.integer({ min: 1, max: 1024 }), (device, blockThreads) => {
      const model = kimDevice(device, kernel);
      const { inefficiency } = kimGridSeries(model, kimLaunch(device, kernel, blockThreads, 1), 40);
      for (const value of inefficiency) expect(Number.isNaN(value) || value >= 1).toBe(true);
    });
  });
});
