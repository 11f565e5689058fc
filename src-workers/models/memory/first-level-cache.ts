import type { GpuDevice, OccupancyRules } from '../../domain/device.ts';

const KIB = 1024;

/** Data cache of a multiprocessor; `withShared` where shared memory is taken out of it. */
interface FirstLevelCache {
  readonly kib: number;
  readonly withShared: boolean;
}
const own = (kib: number): FirstLevelCache => ({ kib, withShared: false });
const withShared = (kib: number): FirstLevelCache => ({ kib, withShared: true });
/** None, or none that loads from device memory use by default. */
const NONE = own(0);

/** Source: CUDA C++ Programming Guide, "Compute capabilities": the architecture of each. Kepler caches only local memory by default. */
const NVIDIA: Readonly<Record<string, FirstLevelCache>> = {
  '1.3': NONE,
  '2.0': withShared(64),
  '2.1': withShared(64),
  '3.0': NONE,
  '3.5': NONE,
  '3.7': NONE,
  '5.0': own(24),
  '5.2': own(24),
  '5.3': own(24),
  '6.0': own(24),
  '6.1': own(48),
  '6.2': own(24),
  '7.0': withShared(128),
  '7.2': withShared(128),
  '7.5': withShared(96),
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
 * Vector cache of a multiprocessor, which on RDNA is two compute units.
 * Source: ROCm documentation, "AMD GPU specifications" (vector L1 of CDNA, vector L0 of RDNA).
 */
function ofAmd(isa: string): FirstLevelCache {
  if (/^gfx9(42|50)$/.test(isa)) return own(32);
  if (/^gfx10/.test(isa)) return own(2 * 16);
  if (/^gfx1[12]/.test(isa)) return own(2 * 32);
  return own(16);
}

/** Source: Intel oneAPI GPU Optimization Guide, "Intel Xe GPU architecture" (L1 and shared local memory of an Xe core). */
const INTEL: Readonly<Record<string, FirstLevelCache>> = {
  'xe-lp': NONE,
  'xe-hpg': withShared(192),
  'xe2-hpg': withShared(256),
  'xe-hpc': withShared(512),
};

/** Not public; 8 KiB was measured on the M1 (P. Turner, metal-benchmarks) and is taken for all. */
const APPLE = own(8);

function cacheOf(rules: OccupancyRules): FirstLevelCache {
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

/**
 * First-level data cache of a multiprocessor, bytes; 0 where loads do not use one, or where none is known.
 * @param sharedMemoryBytes of the blocks that are resident on it: on many devices the cache has what these leave
 */
export function firstLevelCacheBytes({ occupancy }: Pick<GpuDevice, 'occupancy'>, sharedMemoryBytes: number): number {
  const { kib, withShared: isCarved } = cacheOf(occupancy);
  return Math.max(0, kib * KIB - (isCarved ? sharedMemoryBytes : 0));
}
