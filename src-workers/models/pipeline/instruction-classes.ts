import type { GpuDevice } from '../../domain/device.ts';

/** Results of one multiprocessor per cycle, by class of instruction. */
export interface ClassLanes {
  readonly fp32: number;
  /** 32-bit additions, comparisons and logic. Multiplications and shifts are slower on some devices. */
  readonly integer: number;
  readonly fp64: number;
  /** Reciprocal, square root, exponential, sine. */
  readonly special: number;
  readonly threeRegisters: number;
  /** Lanes for which the schedulers issue instructions in a cycle, for all classes together. */
  readonly issue: number;
}

/**
 * Integer, FP64 and special results per cycle by compute capability: CUDA C++ Programming Guide 13.0 (7.5 and later),
 * 11.8 (3.5 to 7.2), 8.0 (before), "Throughput of Native Arithmetic Instructions". Integers of 12.x: NVIDIA, "RTX
 * Blackwell GPU architecture" whitepaper, 2025: INT32 unified with FP32.
 */
// prettier-ignore
const NVIDIA: Readonly<Record<string, readonly [integer: number, fp64: number, special: number]>> = {
  '1.3': [8, 1, 2], '2.0': [32, 16, 4], '2.1': [48, 4, 8], '3.0': [160, 8, 32], '3.5': [160, 64, 32], '3.7': [160, 64, 32],
  '5.0': [128, 4, 32], '5.2': [128, 4, 32], '5.3': [128, 4, 32], '6.0': [64, 32, 16], '6.1': [128, 4, 32], '6.2': [128, 4, 32],
  '7.0': [64, 32, 16], '7.2': [64, 32, 16], '7.5': [64, 2, 16], '8.0': [64, 32, 16], '8.6': [64, 2, 16], '8.7': [64, 2, 16],
  '8.8': [64, 2, 16], '8.9': [64, 2, 16], '9.0': [64, 64, 16], '10.0': [64, 64, 16], '10.1': [64, 2, 16], '10.3': [64, 2, 16],
  '11.0': [64, 2, 16], '12.0': [128, 2, 16], '12.1': [128, 2, 16],
};

/** The first compute capability whose registers have two banks (Jia et al., 2018, arXiv:1804.06826). */
const TWO_BANKS = 7;

/**
 * Returns the lanes of a device by class.
 *
 * An NVIDIA scheduler issues for one thread group per cycle, so classes with separate lanes overlap (V100, A100). AMD
 * runs integers at the FP32 rate and special functions at a quarter of it. FP64 runs at half of the FP32 rate on GCN
 * 5.1 and CDNA 1, at the full rate on CDNA 2 and later, and otherwise at a sixteenth of it (AMD ISA reference guides).
 * For other devices every class is assumed to run at the FP32 rate.
 *
 * From `TWO_BANKS` on, a bank of NVIDIA's registers delivers one register per cycle, and of three different registers
 * at least two are in the same bank. So an FP32 instruction that reads three registers takes two cycles of a scheduler,
 * as measured on an H100 (test/data/measured/h100-rates.csv).
 */
export function classLanes(device: GpuDevice): ClassLanes {
  const { occupancy, fp32LanesPerMultiprocessor: fp32, schedulersPerMultiprocessor, threadGroupWidth } = device;
  switch (occupancy.family) {
    case 'nvidia': {
      const [integer, fp64, special] = NVIDIA[occupancy.computeCapability] ?? [fp32, fp32, fp32];
      const issue = Math.max(fp32, schedulersPerMultiprocessor * threadGroupWidth);
      const threeRegisters = Number(occupancy.computeCapability) >= TWO_BANKS ? Math.min(fp32, issue / 2) : fp32;
      return { fp32, integer, fp64, special, threeRegisters, issue };
    }
    case 'amd': {
      const rate = /^gfx(906|908)$/.test(occupancy.isa) ? 1 / 2 : /^gfx9(0a|42|50)$/.test(occupancy.isa) ? 1 : 1 / 16;
      return { fp32, integer: fp32, fp64: fp32 * rate, special: fp32 / 4, threeRegisters: fp32, issue: fp32 };
    }
    case 'intel':
    case 'apple':
    case 'generic':
      return { fp32, integer: fp32, fp64: fp32, special: fp32, threeRegisters: fp32, issue: fp32 };
  }
}

/** Fractions of the instructions of an iteration, 0…1. The remaining instructions are FP32. */
export interface ClassShares {
  readonly integerShare?: number;
  readonly fp64Share?: number;
  readonly specialShare?: number;
  /** Part of the FP32 share: instructions that read three different registers. */
  readonly threeRegisterShare?: number;
}

/** @returns results per cycle of a multiprocessor, set by the scarcest class; `fp32` if no shares are given */
export function mixedLanes(
  device: GpuDevice,
  { integerShare = 0, fp64Share = 0, specialShare = 0, threeRegisterShare = 0 }: ClassShares,
): number {
  const lanes = classLanes(device);
  const fp32Share = Math.max(0, 1 - integerShare - fp64Share - specialShare);
  return (
    1 /
    Math.max(
      fp32Share / lanes.fp32,
      integerShare / lanes.integer,
      fp64Share / lanes.fp64,
      specialShare / lanes.special,
      threeRegisterShare / lanes.threeRegisters,
      1 / lanes.issue,
    )
  );
}
