import type { Partition } from '../partition/partition.ts';
import type { BandwidthCurve } from './bandwidth.ts';
import { staircaseMs } from './time.ts';

export interface CoreSweep {
  /** Entry c − 1 is the time with c cores, ms. */
  readonly timeMs: Float64Array;
  /** The smallest number of cores with the shortest time, up to rounding. */
  readonly bestCores: number;
  readonly enoughCores: number;
}

const ENOUGH_FRACTION = 0.01;

/** Relative difference up to which times count as equal: far above the rounding errors of a thousand steps. */
const SAME_FRACTION = 1e-9;

/**
 * Computes the time by the staircase for 1 … all cores of the curve. Fewer cores can be faster if a task does not
 * shrink with more cores (`indivisibleTaskLoads`).
 * @param loadBytesFor returns the load of each core, bytes, for a number of cores
 */
export function coreSweep(curve: BandwidthCurve, loadBytesFor: (cores: number) => Float64Array): CoreSweep {
  const timeMs = Float64Array.from({ length: curve.length - 1 }, (_, i) => staircaseMs(curve, loadBytesFor(i + 1)));
  const least = timeMs.reduce((a, b) => Math.min(a, b), Infinity);
  return {
    timeMs,
    bestCores: timeMs.findIndex((time) => time <= least * (1 + SAME_FRACTION)) + 1,
    enoughCores: timeMs.findIndex((time) => time <= least * (1 + ENOUGH_FRACTION)) + 1,
  };
}

export interface SparseTraffic {
  readonly bytesPerNonZero: number;
  readonly bytesPerRow: number;
}

export function partitionLoads(partition: Partition, traffic: SparseTraffic): Float64Array {
  return partition.nonZeros.map(
    (nonZeros, w) => nonZeros * traffic.bytesPerNonZero + partition.rows[w] * traffic.bytesPerRow,
  );
}
