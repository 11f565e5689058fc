import type { LockstepBalancing, MixedBalancing } from '../../domain/design.ts';
import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile } from '../../domain/kernel.ts';

/** Cost of ordering the units before the launch: a lower bound, with the full bandwidth of the device memory. */
export interface BalancingCost {
  readonly bytes: number;
  readonly passes: number;
}

const KEY_BYTES = 4;
const INDEX_BYTES = 4;

/**
 * Passes of a radix sort of 32-bit keys by digits of 8 bits, after one pass that counts all digits. Each pass reads and
 * writes every key and index (Adinets, Merrill, "Onesweep", 2022, arXiv:2206.01784).
 */
const RADIX_PASSES = 4;

/** The largest window whose keys and indices fit in 48 KiB, the shared memory that every CUDA block has. */
const SHARED_WINDOW_UNITS = (48 * 1024) / (KEY_BYTES + INDEX_BYTES);

/** Smallest transfer of a random read from device memory (a 32-byte sector on CUDA). */
const SECTOR_BYTES = 32;

/** Time to start a dependent kernel in a stream. Assumed: about that of current devices. */
export const PASS_OVERHEAD_MS = 0.003;

const NO_COST: BalancingCost = { bytes: 0, passes: 0 };

/**
 * Computes the traffic and the passes of one balancing:
 *
 * - shuffle: a permutation of the indices, written and read once (a bijection of the index needs no separate pass:
 *   Mitchell, Stokes, Frank, Holmes, "Bandwidth-optimal random shuffling for GPUs", 2022, doi:10.1145/3505287);
 * - buckets, and classes with separate launches: a histogram of the lengths, then a scatter of the indices by bucket;
 * - window sort: one pass in shared memory, or a (segmented) radix sort for windows that do not fit;
 * - full sort: a radix sort;
 * - padding: one pass over the lengths, to find the longest of each slice;
 * - after each of these: a move of the units' data into the new order, which reads at random and writes in sequence;
 * - even shares: nothing before the launch. The launch searches offsets that exist already.
 */
export function computeBalancingCost(
  balancing: LockstepBalancing | MixedBalancing,
  units: number,
  kernel: Pick<KernelProfile, 'bytesPerUnit'>,
): BalancingCost {
  const { bytesPerUnit } = kernel;
  const moved = bytesPerUnit === 0 ? 0 : Math.max(SECTOR_BYTES, bytesPerUnit) + bytesPerUnit;
  const movePasses = bytesPerUnit === 0 ? 0 : 1;
  const cost = (bytesPerUnitMoved: number, passes: number): BalancingCost => ({
    bytes: units * (bytesPerUnitMoved + moved),
    passes: passes + movePasses,
  });
  const radix = cost(KEY_BYTES + RADIX_PASSES * 2 * (KEY_BYTES + INDEX_BYTES), 1 + RADIX_PASSES);
  switch (balancing.kind) {
    case 'none':
    case 'dynamic-fetch':
    case 'nonzero-split':
    case 'merge-path':
      return NO_COST;
    case 'shuffle':
      return cost(2 * INDEX_BYTES, 1);
    case 'quantile-buckets':
    case 'best-buckets':
      return balancing.k === 1 ? NO_COST : cost(2 * KEY_BYTES + INDEX_BYTES, 2);
    case 'window-sort':
      return balancing.units <= SHARED_WINDOW_UNITS ? cost(KEY_BYTES + INDEX_BYTES, 1) : radix;
    case 'padded':
    case 'padded-slice':
      return cost(KEY_BYTES, 1);
    case 'full-sort':
      return radix;
    case 'mixed':
      return cost(2 * KEY_BYTES + INDEX_BYTES, 2);
  }
}

export function computeBalancingMilliseconds(device: GpuDevice, cost: BalancingCost): number {
  const trafficMs = cost.bytes / (device.memoryBandwidthGbS * 1e6);
  return trafficMs + cost.passes * PASS_OVERHEAD_MS;
}
