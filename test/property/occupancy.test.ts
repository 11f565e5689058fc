import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { residentBlocks } from '../../src-workers/models/occupancy/resident.ts';
import { devicesIn } from '../catalogue.ts';
import { forAllOf } from '../for-all.ts';

const devices = ['nvidia', 'amd', 'intel', 'apple', 'software'].flatMap((file) => devicesIn(file));

const launch = fc.record({
  device: fc.constantFrom(...devices),
  blockThreads: fc.integer({ min: 1, max: 1100 }),
  registersPerThread: fc.integer({ min: 0, max: 520 }),
  sharedMemoryBytesPerBlock: fc.oneof(fc.integer({ min: 0, max: 4096 }), fc.integer({ min: 0, max: 240_000 })),
});

describe('laws of occupancy, on every device of the catalogue', () => {
  it('is between 0 and 1, and each limit alone allows at least as much', () =>
    forAllOf(2000)(launch, ({ device, ...usage }) => {
      const r = residentBlocks(device, usage);
      const alone = Object.values(r.limits);
      expect(Number.isInteger(r.blocksPerMultiprocessor)).toBe(true);
      expect(r.occupancyFraction).toBeWithin(0, 1);
      expect(Math.min(...alone)).toBe(r.blocksPerMultiprocessor);
      const named = alone.filter((_, bit) => r.limitedBy & (1 << bit));
      expect(named.length).toBeGreaterThan(0);
      expect(named.every((limit) => limit === r.blocksPerMultiprocessor)).toBe(true);
    }));

  it.each([
    ['registersPerThread', 300],
    ['sharedMemoryBytesPerBlock', 100_000],
  ] as const)('more %s never raise it', (resource, most) =>
    forAllOf(2000)(launch, fc.nat(most), ({ device, ...usage }, more) => {
      const greedier = { ...usage, [resource]: usage[resource] + more };
      expect(residentBlocks(device, greedier).blocksPerMultiprocessor).toBeLessThanOrEqual(
        residentBlocks(device, usage).blocksPerMultiprocessor,
      );
    }),
  );

  it('filling up the last thread group takes no more resources', () =>
    forAllOf(1000)(launch, ({ device, ...usage }) => {
      const width = device.threadGroupWidth;
      const whole = Math.ceil(usage.blockThreads / width) * width;
      fc.pre(whole <= device.limits.maxThreadsPerBlock);
      expect(residentBlocks(device, { ...usage, blockThreads: whole })).toEqual(residentBlocks(device, usage));
    }));

  it('resident blocks never use more than the multiprocessor has', () =>
    forAllOf(2000)(launch, ({ device, ...usage }) => {
      const { blocksPerMultiprocessor: blocks, threadGroupsPerMultiprocessor: groups } = residentBlocks(device, usage);
      const { limits } = device;
      expect(groups).toBeLessThanOrEqual(limits.maxThreadGroupsPerMultiprocessor);
      expect(blocks * usage.sharedMemoryBytesPerBlock).toBeLessThanOrEqual(limits.sharedMemoryBytesPerMultiprocessor);
      expect(groups * device.threadGroupWidth * usage.registersPerThread).toBeLessThanOrEqual(
        limits.registersPerMultiprocessor,
      );
      if (blocks > 0) {
        expect(usage.blockThreads).toBeLessThanOrEqual(limits.maxThreadsPerBlock);
        expect(usage.registersPerThread).toBeLessThanOrEqual(limits.maxRegistersPerThread);
        expect(usage.sharedMemoryBytesPerBlock).toBeLessThanOrEqual(limits.maxSharedMemoryBytesPerBlock);
      }
    }));
});
