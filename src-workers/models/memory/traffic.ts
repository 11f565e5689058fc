import type { GpuDevice } from '../../domain/device.ts';

/** Returns the bytes of a sector: CUDA C++ Best Practices Guide, 10.2.1; AMD CDNA ISA guides; otherwise assumed. */
export function sectorBytes({ vendor }: Pick<GpuDevice, 'vendor'>): number {
  return vendor === 'amd' ? 64 : 32;
}

/** Returns the bytes of a line: Jia et al., 2018, arXiv:1804.06826; AMD CDNA ISA guides; otherwise 64 is assumed. */
export function lineBytes({ vendor }: Pick<GpuDevice, 'vendor'>): number {
  return vendor === 'nvidia' ? 128 : 64;
}

/**
 * Sharpness of the fall of the hit rate when a footprint exceeds the cache. For a cyclic pass over an LRU cache the hit
 * rate would be a step; hashed sets and other policies of replacement soften it. Assumed.
 */
const CAPACITY_SHARPNESS = 3;

/** Fraction of accesses that find their data still cached, if `footprintBytes` are touched between two uses. */
export function hitFraction(footprintBytes: number, cacheBytes: number): number {
  if (!(cacheBytes > 0)) return 0;
  const ratio = footprintBytes / cacheBytes;
  return 1 / (1 + ratio ** CAPACITY_SHARPNESS);
}

/**
 * The fraction of random accesses that hit a cache: the part of the footprint that the cache holds, softened by
 * `CAPACITY_SHARPNESS` if footprint and cache are about equal.
 * @param footprintBytes size of the array, > 0
 */
export function randomHitFraction(footprintBytes: number, cacheBytes: number): number {
  if (!(cacheBytes > 0)) return 0;
  return (1 + (footprintBytes / cacheBytes) ** CAPACITY_SHARPNESS) ** (-1 / CAPACITY_SHARPNESS);
}

/**
 * Computes the traffic of one element, bytes, if lanes walk along runs of their own (a thread per CSR row), or several
 * threads along one run together. The other elements of a sector serve neighbouring lanes if runs are short, and the
 * next iterations only if the sector stays in the first-level cache.
 * @param runElements mean elements of a run
 * @param reuseFraction fraction of sectors that stay until they are used up, 0…1
 */
export function bytesAlongRun(
  elementBytes: number,
  runElements: number,
  reuseFraction: number,
  sector: number,
  threads = 1,
): number {
  const run = Math.max(1, runElements);
  const together = Math.min(threads, run);
  const touched = elementBytes * together + Math.max(0, sector - elementBytes);
  const alone = Math.max(elementBytes, Math.min(touched, elementBytes * run) / together);
  return reuseFraction * elementBytes + (1 - reuseFraction) * alone;
}

/** The assumed fraction of a cache that gathered data keep while a stream passes through. */
export const GATHER_SHARE_OF_CACHE = 0.5;
