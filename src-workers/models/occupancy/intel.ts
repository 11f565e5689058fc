import type { DeviceLimits } from '../../domain/device.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { type BlockUsage, type Residency, computeResidency, fitSharedMemory, roundUpTo } from './usage.ts';

export type IntelSimdWidth = 8 | 16 | 32;

/**
 * The allocation rules of an Intel Xe-core (a dual subslice on Xe-LP). A hardware thread of a vector engine runs one
 * thread group of 8, 16 or 32 lanes and owns a fixed part of the register file: 128 registers, or 256 in large mode.
 * Large mode halves the number of threads. A 32-bit value of a lane takes 4 bytes of a register, so narrow groups have
 * more registers per lane.
 *
 * Sources: Intel, "Intel GPU Occupancy Calculator" (oneAPI-samples, Tools/GPU-Occupancy-Calculator): engines, threads,
 * local memory, work-groups, barriers, group widths; Intel, "oneAPI GPU Optimization Guide", "Small Register Mode vs.
 * Large Register Mode" and "Thread Mapping and GPU Occupancy". It is assumed that the compiler uses large mode if small
 * mode has too few registers, as with `-ze-opt-intel-enable-auto-large-GRF-mode`.
 */
export interface IntelOccupancyRules {
  readonly simdWidth: IntelSimdWidth;
  readonly limits: DeviceLimits;
  /** 32-bit registers of a lane. */
  readonly smallModeRegisters: number;
  /** Number of barriers; a block of more than one thread group needs one. */
  readonly barriers: number;
  /** The allocation sizes of local memory, bytes, ascending. */
  readonly localMemorySizes: readonly number[];
}

interface Row {
  readonly engines: number;
  readonly threadsPerEngine: number;
  readonly registerBytes: number;
  readonly largeMode: boolean;
  readonly widths: readonly IntelSimdWidth[];
  readonly localKib: number;
  readonly localSizesKib: readonly number[];
  readonly blockThreads: number;
  readonly blocks: number;
  readonly barriers: number;
}

const POWERS_KIB = [1, 2, 4, 8, 16, 32, 64];
const STEPS_KIB = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128];

// prettier-ignore
const ROWS: Readonly<Record<string, Row>> = {
  'xe-lp': { engines: 16, threadsPerEngine: 7, registerBytes: 32, largeMode: false, widths: [8, 16, 32], localKib: 64, localSizesKib: POWERS_KIB, blockThreads: 512, blocks: 112, barriers: 64 },
  'xe-hpg': { engines: 16, threadsPerEngine: 8, registerBytes: 32, largeMode: true, widths: [8, 16, 32], localKib: 128, localSizesKib: POWERS_KIB, blockThreads: 1024, blocks: 128, barriers: 128 },
  'xe-hpc': { engines: 8, threadsPerEngine: 8, registerBytes: 64, largeMode: true, widths: [16, 32], localKib: 128, localSizesKib: STEPS_KIB, blockThreads: 1024, blocks: 64, barriers: 64 },
  'xe2-hpg': { engines: 8, threadsPerEngine: 8, registerBytes: 64, largeMode: true, widths: [16, 32], localKib: 128, localSizesKib: STEPS_KIB, blockThreads: 1024, blocks: 64, barriers: 64 },
};

export const INTEL_ARCHITECTURES: readonly string[] = Object.keys(ROWS);

const SMALL_MODE_REGISTERS = 128;
const VALUE_BYTES = 4;
const KIB = 1024;

function expand(row: Row, simdWidth: IntelSimdWidth): IntelOccupancyRules {
  const threads = row.engines * row.threadsPerEngine;
  const smallModeRegisters = (SMALL_MODE_REGISTERS * row.registerBytes) / (VALUE_BYTES * simdWidth);
  const registers = threads * simdWidth * smallModeRegisters;
  return {
    simdWidth,
    limits: {
      maxThreadsPerBlock: row.blockThreads,
      maxGridBlocks: 2 ** 31 - 1,
      maxBlocksPerMultiprocessor: row.blocks,
      maxThreadGroupsPerMultiprocessor: threads,
      registersPerMultiprocessor: registers,
      maxRegistersPerBlock: registers,
      maxRegistersPerThread: row.largeMode ? 2 * smallModeRegisters : smallModeRegisters,
      sharedMemoryBytesPerMultiprocessor: row.localKib * KIB,
      maxSharedMemoryBytesPerBlock: row.localSizesKib[row.localSizesKib.length - 1] * KIB,
    },
    smallModeRegisters,
    barriers: row.barriers,
    localMemorySizes: row.localSizesKib.map((kib) => kib * KIB),
  };
}

const RULES: ReadonlyMap<string, IntelOccupancyRules> = new Map(
  Object.entries(ROWS).flatMap(([architecture, row]) =>
    row.widths.map((width) => [`${architecture}/${width}`, expand(row, width)] as const),
  ),
);

export function intelOccupancyRules(architecture: string, simdWidth: number): Result<IntelOccupancyRules> {
  const rules = RULES.get(`${architecture}/${simdWidth}`);
  if (rules) return ok(rules);
  return unsupported(
    `Intel architecture ${architecture} with SIMD width ${simdWidth} is not known. Use one of ${[...RULES.keys()].join(', ')}.`,
    { field: 'architecture' },
  );
}

/** Computes the resident blocks for valid rules and usage. In large mode, a block must fit in half of the threads. */
export function intelResidency(rules: IntelOccupancyRules, usage: BlockUsage): Residency {
  const { limits } = rules;
  const groups = Math.ceil(usage.blockThreads / rules.simdWidth);
  const slots = limits.maxThreadGroupsPerMultiprocessor;
  const bytes = usage.sharedMemoryBytesPerBlock;
  const allocated = bytes === 0 ? 0 : rules.localMemorySizes.find((size) => size >= bytes);
  return computeResidency(limits, usage, groups, {
    registers:
      usage.registersPerThread > limits.maxRegistersPerThread
        ? 0
        : usage.registersPerThread > rules.smallModeRegisters
          ? Math.floor(roundUpTo(slots, 2) / 2 / groups)
          : Infinity,
    sharedMemory: fitSharedMemory(limits, usage, allocated),
    blocks: groups === 1 ? limits.maxBlocksPerMultiprocessor : rules.barriers,
  });
}
