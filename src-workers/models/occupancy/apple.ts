import type { DeviceLimits } from '../../domain/device.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { type BlockUsage, type Residency, computeResidency, fitSharedMemory, roundUpTo } from './usage.ts';

/**
 * The allocation rules of an Apple GPU core of families 7 (M1) and 8 (M2). Registers of 16 bits are allocated in
 * multiples of 8, and SIMD groups in pairs. From family 9 (M3, M4) on, the register file is a cache that is filled on
 * demand, so these rules are an estimate.
 *
 * Sources: Apple, "Metal Feature Set Tables" (1,024 threads and 32 KiB per threadgroup); Mesa, agx_register_allocate.c
 * and agx_occupancy.c, threads by registers (reproduced exactly, see the tests); Turner, "Metal Benchmarks"
 * (github.com/philipturner/metal-benchmarks): 208 KiB of registers, up to 3,072 threads, 52 to 60 KiB of threadgroup
 * memory.
 */
export interface AppleOccupancyRules {
  readonly limits: DeviceLimits;
}

const WIDTH = 32;
const REGISTERS = 53_248;
export const APPLE_REGISTER_GRANULE = 4;
const GROUP_GRANULE = 2;

const LIMITS: DeviceLimits = {
  maxThreadsPerBlock: 1024,
  maxGridBlocks: 2 ** 31 - 1,
  // No limit is published, so the number of SIMD groups is assumed.
  maxBlocksPerMultiprocessor: 96,
  maxThreadGroupsPerMultiprocessor: 96,
  registersPerMultiprocessor: REGISTERS,
  maxRegistersPerBlock: REGISTERS,
  maxRegistersPerThread: 128,
  sharedMemoryBytesPerMultiprocessor: 61_440,
  maxSharedMemoryBytesPerBlock: 32_768,
};

export const APPLE_GPU_FAMILIES: readonly number[] = [7, 8, 9];

export function appleOccupancyRules(gpuFamily: number): Result<AppleOccupancyRules> {
  if (APPLE_GPU_FAMILIES.includes(gpuFamily)) return ok({ limits: LIMITS });
  return unsupported(`Apple GPU family ${gpuFamily} is not known. Use one of ${APPLE_GPU_FAMILIES.join(', ')}.`, {
    field: 'gpuFamily',
  });
}

export function appleResidency({ limits }: AppleOccupancyRules, usage: BlockUsage): Residency {
  const groups = Math.ceil(usage.blockThreads / WIDTH);
  const registers = roundUpTo(usage.registersPerThread, APPLE_REGISTER_GRANULE);
  const held = Math.floor(limits.registersPerMultiprocessor / (registers * WIDTH * GROUP_GRANULE)) * GROUP_GRANULE;
  return computeResidency(limits, usage, groups, {
    registers:
      registers === 0
        ? Infinity
        : usage.registersPerThread > limits.maxRegistersPerThread
          ? 0
          : Math.floor(held / groups),
    sharedMemory: fitSharedMemory(limits, usage),
    blocks: limits.maxBlocksPerMultiprocessor,
  });
}
