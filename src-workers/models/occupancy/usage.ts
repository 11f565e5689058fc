import type { DeviceLimits } from '../../domain/device.ts';
import { badInput, ok, type Result } from '../../domain/result.ts';

export interface BlockUsage {
  readonly blockThreads: number;
  /** 32-bit registers per thread (vector registers on AMD, accumulation registers included on CDNA 2 and later). */
  readonly registersPerThread: number;
  readonly sharedMemoryBytesPerBlock: number;
  /** Scalar registers of one wavefront, for AMD before RDNA. If omitted, they set no limit. */
  readonly scalarRegistersPerThreadGroup?: number;
}

/** Number of blocks that fit by each resource alone; `Infinity` if the resource sets no limit. */
export interface ResidencyLimits {
  readonly warps: number;
  readonly registers: number;
  readonly sharedMemory: number;
  readonly blocks: number;
}

export interface Residency {
  readonly blocksPerMultiprocessor: number;
  readonly threadGroupsPerMultiprocessor: number;
  readonly occupancyFraction: number;
  /** Bit mask of `LIMITING_FACTORS`: every resource whose limit equals the resident blocks. */
  readonly limitedBy: number;
  readonly limits: ResidencyLimits;
}

export function roundUpTo(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

export function fitSharedMemory(
  { sharedMemoryBytesPerMultiprocessor: all, maxSharedMemoryBytesPerBlock: most }: DeviceLimits,
  { sharedMemoryBytesPerBlock: bytes }: BlockUsage,
  allocated = bytes,
): number {
  if (bytes > most) return 0;
  return allocated === 0 ? Infinity : Math.floor(all / allocated);
}

export function computeResidency(
  { maxThreadsPerBlock, maxThreadGroupsPerMultiprocessor: slots }: DeviceLimits,
  { blockThreads }: BlockUsage,
  groupsPerBlock: number,
  others: Omit<ResidencyLimits, 'warps'>,
): Residency {
  const limits = { warps: blockThreads > maxThreadsPerBlock ? 0 : Math.floor(slots / groupsPerBlock), ...others };
  const blocks = Math.min(limits.warps, limits.registers, limits.sharedMemory, limits.blocks);
  const limitedBy =
    (limits.warps === blocks ? 1 : 0) |
    (limits.registers === blocks ? 2 : 0) |
    (limits.sharedMemory === blocks ? 4 : 0) |
    (limits.blocks === blocks ? 8 : 0);
  const groups = blocks * groupsPerBlock;
  return {
    blocksPerMultiprocessor: blocks,
    threadGroupsPerMultiprocessor: groups,
    occupancyFraction: groups / slots,
    limitedBy,
    limits,
  };
}

const FIELDS = [
  ['blockThreads', 1],
  ['registersPerThread', 0],
  ['sharedMemoryBytesPerBlock', 0],
  ['scalarRegistersPerThreadGroup', 0],
] as const;

/** Refuses a usage that no compiler could produce. A usage that is too large for the device gives 0 blocks. */
export function checkUsage(usage: BlockUsage): Result<BlockUsage> {
  for (const [field, least] of FIELDS) {
    const value: unknown = usage[field];
    if (value === undefined && field === 'scalarRegistersPerThreadGroup') continue;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > 0x7fffffff) {
      return badInput(`${field} must be a whole number from ${least} to 2147483647, not ${String(value)}`, { field });
    }
  }
  return ok(usage);
}
