import type { GpuDevice, OccupancyRules } from '../../domain/device.ts';

const KIB = 1024;

/** With `withShared`, shared memory takes a part of the `kib`. At most `largestKib` are left for loads. */
interface FirstLevelCache {
  readonly kib: number;
  readonly withShared: boolean;
  readonly largestKib: number;
}
const own = (kib: number): FirstLevelCache => ({ kib, withShared: false, largestKib: kib });
const withShared = (kib: number, largestKib = kib): FirstLevelCache => ({ kib, withShared: true, largestKib });
/** No first-level cache, or by default none for loads from device memory. */
const NONE = own(0);

/**
 * Cache sizes by compute capability, from the CUDA C++ Programming Guide, "Compute capabilities". Capability 7.5
 * reserves at least 32 KiB for shared memory. By default 2.x leaves 16 KiB of 64. 1.3 has no cache for loads.
 *
 * Kepler, Maxwell and Pascal other than GP100 (6.0) load from device memory through the level-2 cache alone, unless
 * code opts in or marks data read-only (Kepler, Maxwell and Pascal Tuning Guides).
 *
 * For 12.0 the guide has 100 KiB, the largest shared memory, but 128 were measured (Chips and Cheese, "Blackwell:
 * Nvidia's massive GPU"). Assumed: 6.2 is like 6.1, 7.2 like 7.0 (its published size is the same), 10.3 and 11.0 like
 * 10.0, 12.1 like 12.0.
 */
const NVIDIA: Readonly<Record<string, FirstLevelCache>> = {
  '2.0': own(16),
  '2.1': own(16),
  '6.0': own(24),
  '7.0': withShared(128),
  '7.2': withShared(128),
  '7.5': withShared(96, 64),
  '8.0': withShared(192),
  '8.6': withShared(128),
  '8.7': withShared(192),
  '8.9': withShared(128),
  '9.0': withShared(256),
  '10.0': withShared(256),
  '10.3': withShared(256),
  '11.0': withShared(256),
  '12.0': withShared(128),
  '12.1': withShared(128),
};

/**
 * ROCm documentation, "AMD GPU specifications" (L1 vector cache of GCN and CDNA, L0 vector cache of a compute unit of
 * RDNA): 16 KiB up to CDNA 2 and RDNA 2, 32 KiB later. An RDNA multiprocessor has two compute units.
 */
function ofAmd(isa: string): FirstLevelCache {
  if (/^gfx9(42|50)$/.test(isa)) return own(32);
  if (/^gfx10/.test(isa)) return own(2 * 16);
  if (/^gfx1[12]/.test(isa)) return own(2 * 32);
  return own(16);
}

/**
 * Cache and shared local memory of an Xe core. Sources: Xe-HPC, Intel oneAPI GPU Optimization Guide, "Intel Xe GPU
 * architecture"; Xe-HPG, all of its 192 KiB measured as cache (Chips and Cheese, on the A750 and Meteor Lake); Xe2-HPG,
 * Intel's announcement of the B series. No size is confirmed for Xe-LP, so none is assumed.
 */
const INTEL: Readonly<Record<string, FirstLevelCache>> = {
  'xe-hpg': withShared(192),
  'xe2-hpg': withShared(256),
  'xe-hpc': withShared(512),
};

/** Not public. 8 KiB was measured on the M1 (P. Turner, metal-benchmarks) and is assumed for all Apple devices. */
const APPLE = own(8);

function describeCache(rules: OccupancyRules): FirstLevelCache {
  switch (rules.family) {
    case 'nvidia':
      return NVIDIA[rules.computeCapability] ?? NONE;
    case 'amd':
      return ofAmd(rules.isa);
    case 'intel':
      return INTEL[rules.architecture] ?? NONE;
    case 'apple':
      return APPLE;
    case 'generic':
      return NONE;
  }
}

/** 0 if loads have no first-level cache or its size is unknown. Shared memory may take a part of the cache. */
export function firstLevelCacheBytes({ occupancy }: Pick<GpuDevice, 'occupancy'>, sharedMemoryBytes: number): number {
  const { kib, withShared: isCarved, largestKib } = describeCache(occupancy);
  return Math.max(0, Math.min(largestKib * KIB, kib * KIB - (isCarved ? sharedMemoryBytes : 0)));
}
