import { ACHIEVED_BANDWIDTH, NEAR_PAGE_LATENCY, type GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, MemoryAccess } from '../../domain/kernel.ts';
import { firstLevelCacheBytes } from './first-level-cache.ts';
import {
  bytesAlongRun,
  GATHER_SHARE_OF_CACHE,
  hitFraction,
  lineBytes,
  randomHitFraction,
  sectorBytes,
} from './traffic.ts';

export interface AccessingThreads {
  readonly threadsPerUnit: number;
  readonly residentThreads: number;
  readonly sharedMemoryBytes: number;
  /** Mean length of a unit, iterations: the number of elements that a unit reads along an array. */
  readonly unitElements: number;
}

function fullMultiprocessors({ limits, threadGroupWidth }: GpuDevice): AccessingThreads {
  const residentThreads = limits.maxThreadGroupsPerMultiprocessor * threadGroupWidth;
  return { threadsPerUnit: 1, residentThreads, sharedMemoryBytes: 0, unitElements: Infinity };
}

/**
 * Computes the traffic of one lane in one iteration of a unit, bytes of device memory: `bytesPerIteration`, or the sum
 * over the accesses. An array with a footprint is assumed to get half of each cache, or with `isWarm` all of level 2.
 * @param taking the launch; by default one thread per unit, long units, full multiprocessors, no shared memory
 */
export function bytesOfIteration(
  device: GpuDevice,
  kernel: Pick<KernelProfile, 'accesses' | 'bytesPerIteration'> &
    Partial<Pick<KernelProfile, 'dependentLoadsPerIteration'>>,
  taking: Partial<AccessingThreads> = {},
): number {
  const { accesses, bytesPerIteration } = kernel;
  if (!accesses) return bytesPerIteration;
  const threads = { ...fullMultiprocessors(device), ...taking };
  const sector = sectorBytes(device);
  const cache = firstLevelCacheBytes(device, threads.sharedMemoryBytes);
  const reuseFraction = computeReuse(device, kernel, threads, cache);
  const keptInSecond = keepInSecond(device, accesses, threads);
  // Bytes from device memory and from the level-2 cache are two resources; the scarcer one sets the pace.
  const { memoryBandwidthGbS, achievedBandwidthFraction = ACHIEVED_BANDWIDTH, cachedSectorsGbS } = device;
  const { randomSectorsGbS = RANDOM_BANDWIDTH_RATIO * memoryBandwidthGbS } = device;
  const achievedGbS = achievedBandwidthFraction * memoryBandwidthGbS;
  // The bandwidth of the cache was measured at random addresses, and all its traffic is assumed to be random.
  const ofCache = cachedSectorsGbS === undefined ? CACHE_BANDWIDTH_RATIO : cachedSectorsGbS / achievedGbS;
  const random = Math.max(1, achievedGbS / randomSectorsGbS);
  let far = 0;
  let near = 0;
  for (const access of accesses) {
    const { beyondFirst, beyondSecond } = countMisses(device, access, cache);
    const bytes = sectorTraffic(access, threads, reuseFraction, sector) * beyondFirst;
    near += bytes;
    // The level-2 cache may keep sectors that the first-level cache lost before the unit had used them up.
    const once = sectorTraffic(access, threads, 1, sector) * beyondFirst;
    const fresh = once + (bytes - once) * (1 - keptInSecond);
    // Without a footprint, the assumed fraction of misses contains the cost of random addresses.
    const isRandom = access.pattern === 'scattered' && access.footprintBytes !== undefined;
    far += fresh * beyondSecond * (isRandom ? random : 1);
  }
  return Math.max(far, near / ofCache);
}

/**
 * Bandwidth of device memory for sectors at random addresses divided by its peak, assumed for every device. Measured on
 * an H100: 1,068 of 3,352 GB/s (test/data/measured/README.md).
 */
const RANDOM_BANDWIDTH_RATIO = 0.35;

/**
 * Bandwidth of the level-2 cache divided by the achieved bandwidth of device memory, assumed for every device. Measured
 * for streams, divided by the peak of device memory, GB/s: 2,155 / 900 on a V100 (Jia et al., 2018, arXiv:1804.06826),
 * 2,720 / 1,229 on an MI100, 4,300 to 5,100 / 1,638 on an MI210, 5,400 / 2,039 on an A100
 * (github.com/te42kyfo/gpu-benches, gpu-l2-cache).
 */
const CACHE_BANDWIDTH_RATIO = 2.3;

/**
 * Fraction of gathers that each need a sector if no cache holds the array, for arrays of known size. Assumed: fits to
 * the SpMV times of `db/evidence` have a median of 0.1, and random places need 1. On these times, 0.2 has smaller
 * median errors than 0.1, and nearly the same choices.
 */
export const SIZED_MISS_FRACTION = 0.2;
/** Like `SIZED_MISS_FRACTION`, for arrays of unknown size, which a cache may hold. */
export const UNSIZED_MISS_FRACTION = 0.45;

function missFractionOf({ missFraction, footprintBytes }: MemoryAccess): number {
  return missFraction ?? (footprintBytes === undefined ? UNSIZED_MISS_FRACTION : SIZED_MISS_FRACTION);
}

/** The fraction of sectors that miss the first-level cache, and of these, the fraction that also misses level 2. */
function countMisses(
  { l2Bytes }: GpuDevice,
  access: MemoryAccess,
  cache: number,
): { readonly beyondFirst: number; readonly beyondSecond: number } {
  const { pattern, footprintBytes, isWarm = false } = access;
  const each = pattern === 'scattered' ? Math.sqrt(missFractionOf(access)) : 1;
  if (footprintBytes === undefined) return { beyondFirst: each, beyondSecond: each };
  if (isWarm) return { beyondFirst: 1, beyondSecond: 1 - hitFraction(footprintBytes, l2Bytes) };
  const kept = (cacheBytes: number): number => {
    const room = cacheBytes * GATHER_SHARE_OF_CACHE;
    return pattern === 'scattered' ? randomHitFraction(footprintBytes, room) : hitFraction(footprintBytes, room);
  };
  return { beyondFirst: each * (1 - kept(cache)), beyondSecond: each * (1 - kept(l2Bytes)) };
}

function countTouchedBytes(device: GpuDevice, accesses: readonly MemoryAccess[], threads: AccessingThreads): number {
  return accesses.reduce((sum, access) => sum + touchedBytes(access, threads, lineBytes(device)), 0);
}

/**
 * Computes the fraction of a unit's sectors that an iteration finds in the first-level cache because the previous
 * iteration needed them. While a thread group waits for a load, other groups may evict its sectors. Unrolled iterations
 * that wait together are not affected.
 */
function computeReuse(
  device: GpuDevice,
  {
    accesses = [],
    dependentLoadsPerIteration: loads = 0,
  }: Partial<Pick<KernelProfile, 'accesses' | 'dependentLoadsPerIteration'>>,
  threads: AccessingThreads,
  cache: number,
): number {
  const waits = loads > 0 ? Math.min(1, loads) : 1;
  return 1 - waits * (1 - hitFraction(countTouchedBytes(device, accesses, threads), cache));
}

/** Computes the fraction of a unit's sectors that the level-2 cache keeps from one iteration to the next. */
function keepInSecond(device: GpuDevice, accesses: readonly MemoryAccess[], threads: AccessingThreads): number {
  const onDevice = { ...threads, residentThreads: threads.residentThreads * device.multiprocessors };
  return hitFraction(countTouchedBytes(device, accesses, onDevice), device.l2Bytes);
}

/** The bytes that resident threads touch in one iteration. A cache keeps whole lines, even for one sector. */
function touchedBytes(
  access: MemoryAccess,
  { residentThreads, threadsPerUnit, unitElements }: AccessingThreads,
  line: number,
): number {
  const { pattern, elementBytes, footprintBytes = Infinity } = access;
  switch (pattern) {
    case 'along-unit':
      // Units follow one another in memory, so short units share lines.
      return residentThreads * Math.max(elementBytes, Math.min(line, elementBytes * unitElements) / threadsPerUnit);
    case 'across-lanes':
      return residentThreads * elementBytes;
    case 'scattered':
      // Lanes that read the same sectors touch the same lines.
      return Math.min(
        footprintBytes,
        residentThreads * Math.sqrt(missFractionOf(access)) * wholeSectors(elementBytes, line),
      );
  }
}

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

/**
 * Latency of a level-2 hit divided by the latency of device memory: 193 of 434 cycles on a V100, 200 of 552 on an A100
 * (Jia et al., 2018, arXiv:1804.06826; Abdelkhalik et al., 2022, arXiv:2208.11174). Assumed for every device.
 */
export const LEVEL_2_LATENCY = 0.42;
/** Latency of a first-level hit divided by the latency of device memory. Assumed for every device. */
export const LEVEL_1_LATENCY = 0.07;

/**
 * Computes the latency of the chain of loads in an iteration, cycles. Every load takes the full latency of device
 * memory unless the kernel lists its accesses. If it does, the chain has its gathers first and then the slowest other
 * accesses, and each waits for the farthest memory that any active lane needs.
 * @param anyUnit returns the fraction of iterations in which any unit misses, if each misses with the given probability
 */
export function loadLatencyCycles(
  device: GpuDevice,
  { accesses, dependentLoadsPerIteration }: Pick<KernelProfile, 'accesses' | 'dependentLoadsPerIteration'>,
  taking: Partial<AccessingThreads>,
  anyUnit: (probability: number) => number,
): number {
  const whole = device.memoryLatencyCycles;
  if (!accesses || dependentLoadsPerIteration === 0) return dependentLoadsPerIteration * whole;
  const threads = { ...fullMultiprocessors(device), ...taking };
  const sector = sectorBytes(device);
  const cache = firstLevelCacheBytes(device, threads.sharedMemoryBytes);
  const reuse = computeReuse(device, { accesses, dependentLoadsPerIteration }, threads, cache);
  const keptInSecond = keepInSecond(device, accesses, threads);
  const latencies = accesses
    .map((access) => {
      const { beyondFirst: share, beyondSecond } = countMisses(device, access, cache);
      // Fraction of the iterations that need a new sector although the cache keeps the last one.
      const next =
        access.pattern === 'along-unit' ? Math.min(1, (access.elementBytes * threads.threadsPerUnit) / sector) : 1;
      const again = (1 - reuse) * (1 - next);
      const beyondFirst = share * (next + again);
      // Each lane of a unit gathers separately.
      const lanes = access.pattern === 'scattered' ? Math.min(threads.threadsPerUnit, device.threadGroupWidth) : 1;
      const any = (miss: number): number => anyUnit(1 - (1 - miss) ** lanes);
      const far = any(share * beyondSecond * (next + again * (1 - keptInSecond)));
      const near = any(beyondFirst) - far;
      return {
        pattern: access.pattern,
        share: NEAR_PAGE_LATENCY * far + LEVEL_2_LATENCY * near + LEVEL_1_LATENCY * (1 - far - near),
      };
    })
    .sort((a, b) => Number(b.pattern === 'scattered') - Number(a.pattern === 'scattered') || b.share - a.share);
  let shares = 0;
  for (let at = 0; at < dependentLoadsPerIteration; at += 1)
    shares += Math.min(1, dependentLoadsPerIteration - at) * (latencies[at]?.share ?? 1);
  return shares * whole;
}
