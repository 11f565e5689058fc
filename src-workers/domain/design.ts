import type { LoopForm } from './kernel.ts';

/** How units are ordered or handed out on a device whose lanes run in lockstep. `k`: number of buckets; `units`: window size M. */
export type LockstepBalancing =
  | { readonly kind: 'none' }
  | { readonly kind: 'quantile-buckets'; readonly k: number }
  | { readonly kind: 'best-buckets'; readonly k: number }
  | { readonly kind: 'window-sort'; readonly units: number }
  | { readonly kind: 'full-sort' }
  | { readonly kind: 'dynamic-fetch' };

/**
 * How units, in their order, are cut into one contiguous share per core: even numbers of units (rows), even numbers of
 * iterations (non-zeros; a unit may be cut in two), or even sums of both.
 */
export const CPU_BALANCING = ['row-split', 'nonzero-split', 'merge-path'] as const;
export interface PartitionBalancing {
  readonly kind: (typeof CPU_BALANCING)[number];
}

/**
 * How units are ordered or partitioned before launch. Text form (command line, tables): `none`, `quantile-buckets(4)`,
 * `best-buckets(4)`, `window-sort(4096)`, `full-sort`, `dynamic-fetch` on a GPU; `row-split`, `nonzero-split`, `merge-path`
 * on a CPU.
 */
export type Balancing = LockstepBalancing | PartitionBalancing;

/** Whether a balancing cuts units into shares of cores, and so belongs to a CPU. */
export function isPartition(balancing: Balancing): balancing is PartitionBalancing {
  // Asked of every design of a sweep: comparisons cost less than a search.
  return balancing.kind === 'row-split' || balancing.kind === 'nonzero-split' || balancing.kind === 'merge-path';
}

/** One candidate mapping of a workload onto a device. On a CPU it is a partition over `gridBlocks` cores, one thread each. */
export interface Design {
  /** u: threads that share one unit; a power of two up to the thread-group width. */
  readonly threadsPerUnit: number;
  /** m: units each slot of u threads processes, one after another. */
  readonly unitsPerThread: number;
  readonly loop: LoopForm;
  /** Text form of a `Balancing`. */
  readonly balancing: string;
  readonly blockThreads: number;
  readonly gridBlocks: number;
  /** Registers per thread the compiler is held to; `null` where nothing caps it. */
  readonly registerCap: number | null;
}

/** Why a design cannot run or makes no sense; 0 is a valid design. Stored as a number, so never renumber. */
export const INVALID_REASONS = [
  { code: 'valid', text: 'valid' },
  { code: 'block-threads', text: 'more threads per block than the device allows' },
  { code: 'registers', text: 'registers of one block exceed the device' },
  { code: 'shared-memory', text: 'shared memory of one block exceeds the device' },
  { code: 'grid-blocks', text: 'more blocks than the device can launch' },
  { code: 'block-not-multiple', text: 'block is not a multiple of the threads per unit' },
  { code: 'lengths-unknown', text: 'balancing needs lengths that are not known before launch' },
  { code: 'group-width', text: 'threads per unit exceed the thread-group width' },
  { code: 'constraint', text: 'removed by a constraint of the study' },
  { code: 'no-residency', text: 'no block fits on a multiprocessor' },
  { code: 'idle-blocks', text: 'more blocks than units of work: some would have nothing to do' },
  { code: 'not-on-device', text: 'this setting means nothing on this device' },
  { code: 'cores', text: 'more cores than the device has' },
] as const;
export type InvalidReason = (typeof INVALID_REASONS)[number]['code'];

/** Bits of `limitedBy`, as NVIDIA's occupancy header numbers them. */
export const LIMITING_FACTORS = [
  { bit: 1, code: 'warps', text: 'thread-group slots' },
  { bit: 2, code: 'registers', text: 'registers' },
  { bit: 4, code: 'sharedMemory', text: 'shared memory' },
  { bit: 8, code: 'blocks', text: 'block slots' },
] as const;
export type LimitingFactor = (typeof LIMITING_FACTORS)[number]['code'];

/** Names of the factors set in a bit mask, in bit order. */
export function limitingFactors(mask: number): LimitingFactor[] {
  return LIMITING_FACTORS.filter((factor) => mask & factor.bit).map((factor) => factor.code);
}
