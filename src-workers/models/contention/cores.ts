import type { CpuDevice } from '../../domain/device.ts';
import { evenNonZeros, evenRows, loadImbalance, mergePath, type Partition } from '../partition/partition.ts';
import { maxRateCurve, type BandwidthCurve } from './bandwidth.ts';
import { staircaseMs } from './time.ts';

/** Predicted time for every number of cores. */
export interface CoreSweep {
  /** Entry c − 1: time with c cores, ms. */
  readonly timeMs: Float64Array;
  /** Fewest cores among those with the smallest time, rounding aside. */
  readonly bestCores: number;
  /** Fewest cores whose time is within `ENOUGH_FRACTION` of the smallest: more are wasted. */
  readonly enoughCores: number;
}

/** Times this close count as equal when cores are saved. */
export const ENOUGH_FRACTION = 0.01;

/** Far above the rounding of a staircase of a thousand steps: such times are the same, and the fewer cores win. */
const SAME_FRACTION = 1e-9;

/**
 * Time against the number of cores used, 1 … the cores of the curve, by the staircase. Without a measured curve the
 * staircase runs on the max-rate curve, where it is the two-phase model. "Fewer cores can be faster" when the loads hold a task
 * that does not shrink with more cores (`indivisibleTaskLoads`).
 *
 * @param loadBytesFor loads of the given number of cores, one entry each
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

/** Static partitions of a sparse matrix over cores. */
export const CPU_PARTITIONS = [
  { id: 'even-rows', label: 'Even rows', split: evenRows },
  { id: 'even-non-zeros', label: 'Even non-zeros', split: evenNonZeros },
  { id: 'merge-path', label: 'Merge path', split: mergePath },
] as const satisfies readonly {
  readonly id: string;
  readonly label: string;
  readonly split: (rowLengths: Float64Array, workers: number) => Partition;
}[];
export type CpuPartition = (typeof CPU_PARTITIONS)[number]['id'];

/** Memory traffic of a sparse matrix product, bytes. */
export interface SparseTraffic {
  readonly bytesPerNonZero: number;
  readonly bytesPerRow: number;
}

/**
 * Compressed rows in double precision, the input vector in cache: 8 bytes of value and 4 of column index per entry; 4 of row
 * offset and 8 of result, written once and read once before it is written, per row.
 */
export const COMPRESSED_ROW_TRAFFIC: SparseTraffic = { bytesPerNonZero: 12, bytesPerRow: 20 };

export interface PartitionSweep extends CoreSweep {
  readonly partition: CpuPartition;
  /** Entry c − 1: largest over mean load of c cores, ≥ 1. */
  readonly imbalance: Float64Array;
}

export interface CpuSweep {
  /** In the order of `CPU_PARTITIONS`. */
  readonly partitions: readonly PartitionSweep[];
  /** The smallest time; of equal ones that with the fewest cores, then the simplest partition. */
  readonly best: { readonly partition: CpuPartition; readonly cores: number; readonly timeMs: number };
}

/** Bytes that each worker of a partition moves. */
export function partitionLoads(partition: Partition, traffic: SparseTraffic): Float64Array {
  return partition.nonZeros.map(
    (nonZeros, w) => nonZeros * traffic.bytesPerNonZero + partition.rows[w] * traffic.bytesPerRow,
  );
}

/**
 * Predicted time of one pass over a sparse matrix on a CPU, with contention, for every partition and every number of cores.
 *
 * @param rowLengths non-zeros of each row
 * @param curve bandwidth by active cores up to `device.cores`, when it has been measured
 */
export function cpuSweep(
  device: CpuDevice,
  rowLengths: Float64Array,
  traffic: SparseTraffic = COMPRESSED_ROW_TRAFFIC,
  curve: BandwidthCurve = maxRateCurve(device, device.cores),
): CpuSweep {
  const partitions = CPU_PARTITIONS.map(({ id, split }): PartitionSweep => {
    const loads = Array.from({ length: device.cores }, (_, i) => partitionLoads(split(rowLengths, i + 1), traffic));
    return {
      partition: id,
      imbalance: Float64Array.from(loads, loadImbalance),
      ...coreSweep(curve, (cores) => loads[cores - 1]),
    };
  });
  const candidates = partitions.map(({ partition, bestCores, timeMs }) => ({
    partition,
    cores: bestCores,
    timeMs: timeMs[bestCores - 1],
  }));
  const least = candidates.reduce((a, { timeMs }) => Math.min(a, timeMs), Infinity);
  const best = candidates
    .filter(({ timeMs }) => timeMs <= least * (1 + SAME_FRACTION))
    .reduce((a, b) => (b.cores < a.cores ? b : a));
  return { partitions, best };
}
