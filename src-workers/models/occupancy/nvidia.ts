import type { DeviceLimits } from '../../domain/device.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { type BlockUsage, type Residency, checkUsage, computeResidency, roundUpTo } from './usage.ts';

/**
 * The allocation rules of one compute capability. Capacities: CUDA C++ Programming Guide 13.0 (7.5 and later), 11.8
 * (3.5 to 7.2), 8.0 (2.x, 3.0), 6.5 (1.3), tables "Technical Specifications per Compute Capability". Allocation units:
 * the guide's section "Hardware Multithreading" (4.2) and the allocation columns of NVIDIA's occupancy calculator.
 */
export interface NvidiaOccupancyRules {
  readonly computeCapability: string;
  readonly limits: DeviceLimits;
  /** From 7.0 on, `cuda_occupancy.h` has one more than `limits.maxRegistersPerThread`: compilers use at most 255. */
  readonly allocatableRegistersPerThread: number;
  /** Registers are allocated in multiples of this number, to each thread group or (1.x) to a whole block. */
  readonly registerAllocationUnit: number;
  readonly registersAllocatedTo: 'threadGroup' | 'block';
  /** Parts of the register file. A thread group is in one of them, and the groups of a block are distributed evenly. */
  readonly registerFileParts: number;
  readonly sharedMemoryAllocationUnitBytes: number;
  /** Shared memory that the system reserves for every block, in addition to the kernel's shared memory. */
  readonly reservedSharedMemoryBytesPerBlock: number;
}

const WARP = 32;
const KIB = 1024;

interface Row {
  readonly warps: number;
  readonly blocks: number;
  readonly sharedKib: number;
  readonly blockSharedKib: number;
  readonly registersKi?: number;
  readonly blockRegistersKi?: number;
  readonly registersPerThread?: number;
  readonly parts?: number;
}

const ROWS: Readonly<Record<string, Row>> = {
  '1.3': {
    warps: 32,
    blocks: 8,
    sharedKib: 16,
    blockSharedKib: 16,
    registersKi: 16,
    registersPerThread: 124,
    parts: 2,
  },
  '2.0': { warps: 48, blocks: 8, sharedKib: 48, blockSharedKib: 48, registersKi: 32, registersPerThread: 63, parts: 2 },
  '2.1': { warps: 48, blocks: 8, sharedKib: 48, blockSharedKib: 48, registersKi: 32, registersPerThread: 63, parts: 2 },
  '3.0': { warps: 64, blocks: 16, sharedKib: 48, blockSharedKib: 48, registersPerThread: 63 },
  '3.5': { warps: 64, blocks: 16, sharedKib: 48, blockSharedKib: 48 },
  '3.7': { warps: 64, blocks: 16, sharedKib: 112, blockSharedKib: 48, registersKi: 128, blockRegistersKi: 64 },
  '5.0': { warps: 64, blocks: 32, sharedKib: 64, blockSharedKib: 48 },
  '5.2': { warps: 64, blocks: 32, sharedKib: 96, blockSharedKib: 48 },
  '5.3': { warps: 64, blocks: 32, sharedKib: 64, blockSharedKib: 48, blockRegistersKi: 32 },
  '6.0': { warps: 64, blocks: 32, sharedKib: 64, blockSharedKib: 48, parts: 2 },
  '6.1': { warps: 64, blocks: 32, sharedKib: 96, blockSharedKib: 48 },
  '6.2': { warps: 64, blocks: 32, sharedKib: 64, blockSharedKib: 48, blockRegistersKi: 32 },
  '7.0': { warps: 64, blocks: 32, sharedKib: 96, blockSharedKib: 96 },
  '7.2': { warps: 64, blocks: 32, sharedKib: 96, blockSharedKib: 96 },
  '7.5': { warps: 32, blocks: 16, sharedKib: 64, blockSharedKib: 64 },
  '8.0': { warps: 64, blocks: 32, sharedKib: 164, blockSharedKib: 163 },
  '8.6': { warps: 48, blocks: 16, sharedKib: 100, blockSharedKib: 99 },
  '8.7': { warps: 48, blocks: 16, sharedKib: 164, blockSharedKib: 163 },
  '8.8': { warps: 48, blocks: 16, sharedKib: 100, blockSharedKib: 99 },
  '8.9': { warps: 48, blocks: 24, sharedKib: 100, blockSharedKib: 99 },
  '9.0': { warps: 64, blocks: 32, sharedKib: 228, blockSharedKib: 227 },
  '10.0': { warps: 64, blocks: 32, sharedKib: 228, blockSharedKib: 227 },
  // 10.1 was the number of 11.0 before CUDA 13.
  '10.1': { warps: 48, blocks: 24, sharedKib: 228, blockSharedKib: 227 },
  '10.3': { warps: 64, blocks: 32, sharedKib: 228, blockSharedKib: 227 },
  '11.0': { warps: 48, blocks: 24, sharedKib: 228, blockSharedKib: 227 },
  '12.0': { warps: 48, blocks: 24, sharedKib: 100, blockSharedKib: 99 },
  '12.1': { warps: 48, blocks: 24, sharedKib: 100, blockSharedKib: 99 },
};

const SHARED_MEMORY_UNIT_BYTES: Readonly<Record<number, number>> = { 1: 512, 2: 128, 3: 256, 5: 256, 6: 256, 7: 256 };

function expand(computeCapability: string, row: Row): NvidiaOccupancyRules {
  const major = Number(computeCapability.split('.')[0]);
  const registers = (row.registersKi ?? 64) * KIB;
  const registersPerThread = row.registersPerThread ?? 255;
  return {
    computeCapability,
    limits: {
      maxThreadsPerBlock: major === 1 ? 512 : 1024,
      // The limit of a grid in x.
      maxGridBlocks: major < 3 ? 65535 : 2 ** 31 - 1,
      maxBlocksPerMultiprocessor: row.blocks,
      maxThreadGroupsPerMultiprocessor: row.warps,
      registersPerMultiprocessor: registers,
      maxRegistersPerBlock: row.blockRegistersKi === undefined ? registers : row.blockRegistersKi * KIB,
      maxRegistersPerThread: registersPerThread,
      sharedMemoryBytesPerMultiprocessor: row.sharedKib * KIB,
      maxSharedMemoryBytesPerBlock: row.blockSharedKib * KIB,
    },
    allocatableRegistersPerThread: major < 7 ? registersPerThread : 256,
    registerAllocationUnit: major === 1 ? 512 : major === 2 ? 64 : 256,
    registersAllocatedTo: major === 1 ? 'block' : 'threadGroup',
    registerFileParts: row.parts ?? 4,
    sharedMemoryAllocationUnitBytes: SHARED_MEMORY_UNIT_BYTES[major] ?? 128,
    reservedSharedMemoryBytesPerBlock: major >= 8 ? KIB : 0,
  };
}

const RULES: ReadonlyMap<string, NvidiaOccupancyRules> = new Map(
  Object.entries(ROWS).map(([computeCapability, row]) => [computeCapability, expand(computeCapability, row)]),
);

export const NVIDIA_COMPUTE_CAPABILITIES: readonly string[] = [...RULES.keys()];

export function nvidiaOccupancyRules(computeCapability: string): Result<NvidiaOccupancyRules> {
  const rules = RULES.get(computeCapability);
  if (rules) return ok(rules);
  return unsupported(
    `Compute capability ${computeCapability} is not known. Use one of ${NVIDIA_COMPUTE_CAPABILITIES.join(', ')}.`,
    { field: 'computeCapability' },
  );
}

function registerLimit(
  rules: NvidiaOccupancyRules,
  warps: number,
  registersPerThread: number,
  maxPerThread: number,
): number {
  const { limits, registerAllocationUnit, registerFileParts } = rules;
  if (registersPerThread > maxPerThread) return 0;
  if (registersPerThread === 0) return Infinity;
  // Registers are allocated as if the thread groups of a block divided evenly over the parts of the register file.
  const chargedWarps = roundUpTo(warps, registerFileParts);
  if (rules.registersAllocatedTo === 'block') {
    const blockRegisters = roundUpTo(chargedWarps * WARP * registersPerThread, registerAllocationUnit);
    return Math.floor(limits.registersPerMultiprocessor / blockRegisters);
  }
  const warpRegisters = roundUpTo(WARP * registersPerThread, registerAllocationUnit);
  if (chargedWarps * warpRegisters > limits.maxRegistersPerBlock) return 0;
  const warpsPerPart = Math.floor(limits.registersPerMultiprocessor / registerFileParts / warpRegisters);
  return Math.floor((warpsPerPart * registerFileParts) / warps);
}

function sharedMemoryLimit(rules: NvidiaOccupancyRules, bytes: number): number {
  const { limits, reservedSharedMemoryBytesPerBlock: reserved } = rules;
  const allocated = roundUpTo(bytes + reserved, rules.sharedMemoryAllocationUnitBytes);
  if (allocated > limits.maxSharedMemoryBytesPerBlock + reserved) return 0;
  return allocated === 0 ? Infinity : Math.floor(limits.sharedMemoryBytesPerMultiprocessor / allocated);
}

/**
 * Computes the resident blocks for valid rules and usage, with the largest shared memory partition, the opt-in limit
 * per block, no partitioned global caching, and at most one barrier per block.
 * @param maxRegistersPerThread the allocator's limit, unless a device's own limit is lower
 */
export function nvidiaResidency(
  rules: NvidiaOccupancyRules,
  usage: BlockUsage,
  maxRegistersPerThread: number = rules.allocatableRegistersPerThread,
): Residency {
  const { limits } = rules;
  const warps = Math.ceil(usage.blockThreads / WARP);
  let registers = registerLimit(rules, warps, usage.registersPerThread, maxRegistersPerThread);
  // Capability 6.0 refuses a launch that does not fit other Pascal chips, so that a 6.x binary runs on every 6.x chip.
  if (rules.computeCapability === '6.0' && registers > 0) {
    const sibling = RULES.get('6.1');
    if (sibling && registerLimit(sibling, warps, usage.registersPerThread, maxRegistersPerThread) === 0) registers = 0;
  }
  return computeResidency(limits, usage, warps, {
    registers,
    sharedMemory: sharedMemoryLimit(rules, usage.sharedMemoryBytesPerBlock),
    blocks: limits.maxBlocksPerMultiprocessor,
  });
}

/** @returns 0 blocks for a launch that cannot run; a failure for an unknown capability or an invalid usage */
export function nvidiaResidentBlocks(computeCapability: string, usage: BlockUsage): Result<Residency> {
  const rules = nvidiaOccupancyRules(computeCapability);
  if (!rules.ok) return rules;
  const checked = checkUsage(usage);
  if (!checked.ok) return checked;
  return ok(nvidiaResidency(rules.value, checked.value));
}
