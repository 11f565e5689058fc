import type { GpuDevice } from '../../domain/device.ts';

/** Time of memory traffic, µs: bandwidth, latency along the longest chain, and latency against what is in flight. */

/** Bandwidth of the level-2 cache over that of device memory. Assumed; data in the cache are rarely bound by it. */
const CACHE_BANDWIDTH_RATIO = 2;

/**
 * Bytes of device memory that take as long as `bytes` of which a part comes from the level-2 cache.
 * @param cachedFraction that part, 0…1
 */
export function deviceMemoryBytes(bytes: number, cachedFraction: number): number {
  return bytes * (1 - cachedFraction + cachedFraction / CACHE_BANDWIDTH_RATIO);
}

/**
 * Time to move bytes at the achieved bandwidth, µs.
 * @param bandwidthFraction achieved over peak, 0…1
 * @param cachedFraction share that comes from the level-2 cache, 0…1
 */
export function transferMicroseconds(
  bytes: number,
  device: Pick<GpuDevice, 'memoryBandwidthGbS'>,
  bandwidthFraction: number,
  cachedFraction: number,
): number {
  return deviceMemoryBytes(bytes, cachedFraction) / (device.memoryBandwidthGbS * 1e3 * bandwidthFraction);
}

/**
 * One dependent iteration, µs: `latencyNs` where its loads hit the level-2 cache, `missRatio` times that where they do not.
 * @param missRatio ≥ 1
 */
export function iterationMicroseconds(latencyNs: number, missRatio: number, cachedFraction: number): number {
  return latencyNs * 1e-3 * (1 + (missRatio - 1) * (1 - cachedFraction));
}

/** Latency of one load from device memory, ns, by the data sheet: the scale of all other latencies of a device. */
export function memoryLatencyNs({
  memoryLatencyCycles,
  clockMhz,
}: Pick<GpuDevice, 'memoryLatencyCycles' | 'clockMhz'>) {
  return (memoryLatencyCycles / clockMhz) * 1e3;
}

/**
 * Little's law: iterations of thread groups, each waiting for its loads, µs. A device holds `multiprocessors` × resident groups, of
 * which a fraction has a load in flight.
 * Source: Little, Operations Research 9 (1961), doi:10.1287/opre.9.3.383.
 */
export function inFlightMicroseconds(
  groupIterations: number,
  iteration: number,
  device: Pick<GpuDevice, 'multiprocessors' | 'limits'>,
  concurrencyFraction: number,
): number {
  const groups = device.multiprocessors * device.limits.maxThreadGroupsPerMultiprocessor * concurrencyFraction;
  return (groupIterations * iteration) / groups;
}

/** Softness with which the slowest of several limits hides the others. Fitted with the parameters of `db/evidence`: 2 to 3 do as well. */
const OVERLAP_EXPONENT = 2.5;

/** Time of work that is limited by several things at once, any unit: at least the longest of them, at most their sum. */
export function overlapped(...times: readonly number[]): number {
  const longest = Math.max(...times);
  if (!(longest > 0)) return 0;
  let sum = 0;
  for (const time of times) sum += (time / longest) ** OVERLAP_EXPONENT;
  return longest * sum ** (1 / OVERLAP_EXPONENT);
}

/**
 * Start of a launch, µs: the launch itself, and for each multiprocessor that gets its first block instruction fetch, translation of
 * addresses and dispatch, one after another.
 */
export function launchMicroseconds(
  blocks: number,
  { multiprocessors }: Pick<GpuDevice, 'multiprocessors'>,
  startMicroseconds: number,
  multiprocessorStartNs: number,
): number {
  return startMicroseconds + multiprocessorStartNs * 1e-3 * Math.min(blocks, multiprocessors);
}
