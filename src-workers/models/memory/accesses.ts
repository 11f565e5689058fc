import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, MemoryAccess } from '../../domain/kernel.ts';
import { firstLevelCacheBytes } from './first-level-cache.ts';
import { deviceMemoryBytes } from './time.ts';
import { bytesAlongRun, GATHER_SHARE_OF_CACHE, hitFraction, sectorBytes } from './traffic.ts';

/** How a launch takes the arrays of a kernel, as far as traffic depends on it. */
export interface AccessingThreads {
  /** u: threads that share a unit, ≥ 1. */
  readonly threadsPerUnit: number;
  /** Threads of a multiprocessor at once, > 0. */
  readonly residentThreads: number;
  /** Shared memory that their blocks use, bytes. */
  readonly sharedMemoryBytes: number;
  /** Mean length of a unit, iterations: elements of its runs. */
  readonly unitElements: number;
}

/** Long units, a thread for each, as many as the device can hold, without shared memory. */
function fullMultiprocessors({ limits, threadGroupWidth }: GpuDevice): AccessingThreads {
  const residentThreads = limits.maxThreadGroupsPerMultiprocessor * threadGroupWidth;
  return { threadsPerUnit: 1, residentThreads, sharedMemoryBytes: 0, unitElements: Infinity };
}

/**
 * Traffic of one lane in one iteration of a unit, in bytes of device memory: `bytesPerIteration` of a kernel, or that of its accesses.
 *
 * - `along-unit`: u threads read u consecutive elements of their unit. A sector that this does not use up serves the next iterations
 *   if it stays in the first-level cache (`hitFraction` of what all resident threads touch in an iteration), else it is read again
 *   (`bytesAlongRun`).
 * - `across-lanes`: whole sectors, so the element.
 * - `scattered`: a sector for each element, or as many as the element is long.
 *
 * An array with a footprint is read again and again: a read goes to the first-level cache, the level-2 cache or device memory by
 * `hitFraction`, half of each kept for it. Bytes from the level-2 cache count as `deviceMemoryBytes` says. Without a footprint all go to
 * device memory.
 * @param taking what is left out of it: one thread per unit, long units, full multiprocessors without shared memory
 */
export function bytesOfIteration(
  device: GpuDevice,
  { accesses, bytesPerIteration }: Pick<KernelProfile, 'accesses' | 'bytesPerIteration'>,
  taking: Partial<AccessingThreads> = {},
): number {
  if (!accesses) return bytesPerIteration;
  const threads = { ...fullMultiprocessors(device), ...taking };
  const sector = sectorBytes(device);
  const cache = firstLevelCacheBytes(device, threads.sharedMemoryBytes);
  const touched = accesses.reduce((sum, access) => sum + touchedBytes(access, threads, sector), 0);
  const reuseFraction = hitFraction(touched, cache);
  let total = 0;
  for (const access of accesses) {
    const bytes = sectorTraffic(access, threads, reuseFraction, sector);
    const { footprintBytes } = access;
    if (footprintBytes === undefined) total += bytes;
    else {
      const beyondFirst = bytes * (1 - hitFraction(footprintBytes, cache * GATHER_SHARE_OF_CACHE));
      total += deviceMemoryBytes(beyondFirst, hitFraction(footprintBytes, device.l2Bytes * GATHER_SHARE_OF_CACHE));
    }
  }
  return total;
}

/** What all resident threads touch of an array in one iteration, bytes. */
function touchedBytes(
  { pattern, elementBytes }: MemoryAccess,
  { residentThreads, threadsPerUnit }: AccessingThreads,
  sector: number,
): number {
  switch (pattern) {
    case 'along-unit':
      return residentThreads * Math.max(elementBytes, sector / threadsPerUnit);
    case 'across-lanes':
      return residentThreads * elementBytes;
    case 'scattered':
      return residentThreads * wholeSectors(elementBytes, sector);
  }
}

/** Bytes of sectors that one lane causes to be read for one element. */
function sectorTraffic(
  { pattern, elementBytes }: MemoryAccess,
  { threadsPerUnit, unitElements }: AccessingThreads,
  reuseFraction: number,
  sector: number,
): number {
  switch (pattern) {
    case 'along-unit':
      return bytesAlongRun(elementBytes, unitElements, reuseFraction, sector, threadsPerUnit);
    case 'across-lanes':
      return elementBytes;
    case 'scattered':
      return wholeSectors(elementBytes, sector);
  }
}

function wholeSectors(bytes: number, sector: number): number {
  return Math.ceil(bytes / sector) * sector;
}
