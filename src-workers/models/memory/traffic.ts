import type { GpuDevice } from '../../domain/device.ts';

/**
 * Bytes that a kernel moves, by the pattern of its accesses, for a whole launch.
 *
 * A load moves whole sectors. The requests of a thread group in one instruction are merged, so the pattern decides how
 * many bytes of a sector are used before it leaves the first-level cache.
 */

/**
 * Bytes that a level-2 cache moves at once. NVIDIA: 32 (CUDA C++ Best Practices Guide, 10.2.1); AMD: 64 (CDNA ISA
 * guides, L2 requests).
 */
export function sectorBytes({ vendor }: Pick<GpuDevice, 'vendor'>): number {
  return vendor === 'amd' ? 64 : 32;
}

/**
 * Bytes for which a first-level cache has one tag. NVIDIA: 128, of which it fetches sectors (Jia et al., 2018,
 * arXiv:1804.06826); AMD: 64 (CDNA ISA guides). For others 64 is assumed.
 */
export function lineBytes({ vendor }: Pick<GpuDevice, 'vendor'>): number {
  return vendor === 'nvidia' ? 128 : 64;
}

/**
 * How sharply hits fall where a footprint outgrows the cache. A cyclic pass over an LRU cache is a step; hashed sets
 * and other replacement soften it. Assumed; values of 2 to 4 fit the times of `db/evidence` equally well.
 */
const CAPACITY_SHARPNESS = 3;

/**
 * Share of accesses that find their data in a cache that the same launch filled before, 0…1.
 * @param footprintBytes what is touched between two uses, ≥ 0
 * @param cacheBytes 0 if there is no such cache
 */
export function hitFraction(footprintBytes: number, cacheBytes: number): number {
  if (!(cacheBytes > 0)) return 0;
  const ratio = footprintBytes / cacheBytes;
  return 1 / (1 + ratio ** CAPACITY_SHARPNESS);
}

/**
 * Share of accesses at random places that find their data in a cache: what the cache holds of the footprint, softened
 * where they are about equal, by the same sharpness.
 * @param footprintBytes of the array, > 0
 */
export function randomHitFraction(footprintBytes: number, cacheBytes: number): number {
  if (!(cacheBytes > 0)) return 0;
  return (1 + (footprintBytes / cacheBytes) ** CAPACITY_SHARPNESS) ** (-1 / CAPACITY_SHARPNESS);
}

/**
 * Bytes that one element costs where each lane walks along its own run (a thread per CSR row), or where several threads
 * do so together. A read may begin anywhere in a sector. The other elements of the sector serve neighbouring lanes
 * where runs are short, but they serve the next iterations only where the sector stays in the first-level cache.
 * @param elementBytes size of an element
 * @param runElements mean elements of a run
 * @param reuseFraction share of sectors that stay until they are used up, 0…1
 * @param sector bytes of a sector
 * @param threads that read consecutive elements of a run together
 * @returns between `elementBytes` and `sector`, unless elements are longer
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

/** Share of a cache that gathered data keep while a stream passes through. Assumed: half. */
export const GATHER_SHARE_OF_CACHE = 0.5;
