import fc from 'fast-check';
import { expect, it } from 'vitest';
import { residentBlocks } from '../../src-workers/models/occupancy/resident.ts';
import { devicesIn } from '../catalogue.ts';
import { forAllOf, whole } from '../for-all.ts';

const devices = ['nvidia', 'amd', 'intel', 'apple', 'software'].flatMap((file) => devicesIn(file));

const launch = fc.record({
  device: fc.constantFrom(...devices),
  blockThreads: whole(1, 1100),
  registersPerThread: whole(0, 520),
  sharedMemoryBytesPerBlock: fc.oneof(whole(0, 4096), whole(0, 240_000)),
});

it('laws of occupancy hold on every device of the catalogue', () =>
  forAllOf(2000)(launch, fc.nat(300), fc.nat(100_000), ({ device, ...usage }, registers, bytes) => {
    const { limits, threadGroupWidth: width } = device;
    const residency = residentBlocks(device, usage);
    const { blocksPerMultiprocessor: blocks, threadGroupsPerMultiprocessor: groups, limitedBy } = residency;
    expect(Number.isInteger(blocks)).toBe(true);
    expect(residency.occupancyFraction).toBeWithin(0, 1);
    // Each limit alone allows at least as many blocks, and those that are named allow as many.
    const alone = Object.values(residency.limits);
    expect(Math.min(...alone)).toBe(blocks);
    const named = alone.filter((_, bit) => limitedBy & (1 << bit));
    expect(new Set(named)).toEqual(new Set([blocks]));
    // More registers or shared memory never raise the number of blocks.
    const { registersPerThread, sharedMemoryBytesPerBlock } = usage;
    for (const more of [
      { registersPerThread: registersPerThread + registers },
      { sharedMemoryBytesPerBlock: sharedMemoryBytesPerBlock + bytes },
    ])
      expect(residentBlocks(device, { ...usage, ...more }).blocksPerMultiprocessor).toBeLessThanOrEqual(blocks);
    // Filling up the last thread group takes no more resources.
    const filled = Math.ceil(usage.blockThreads / width) * width;
    if (filled <= limits.maxThreadsPerBlock)
      expect(residentBlocks(device, { ...usage, blockThreads: filled })).toEqual(residency);
    // Resident blocks never use more than the multiprocessor has.
    expect(groups).toBeLessThanOrEqual(limits.maxThreadGroupsPerMultiprocessor);
    expect(blocks * sharedMemoryBytesPerBlock).toBeLessThanOrEqual(limits.sharedMemoryBytesPerMultiprocessor);
    expect(groups * width * registersPerThread).toBeLessThanOrEqual(limits.registersPerMultiprocessor);
    if (blocks === 0) return;
    expect(usage.blockThreads).toBeLessThanOrEqual(limits.maxThreadsPerBlock);
    expect(registersPerThread).toBeLessThanOrEqual(limits.maxRegistersPerThread);
    expect(sharedMemoryBytesPerBlock).toBeLessThanOrEqual(limits.maxSharedMemoryBytesPerBlock);
  }));
