import type { KernelField } from './provenance.ts';

/** What a compiler, its machine code or a profiler says of a kernel, as `kernel inspect` and the Study view show it. */

/**
 * What executes an instruction. `integer`: 32-bit integer and logic, moves and integer conversions; `special`: reciprocals, roots,
 * exponentials, sines, and conversions between integers and floating point; `memory`: loads, stores, atomics, shuffles; `control`: branches
 * and barriers. Half precision and matrix instructions count as `fp32`.
 */
export const INSTRUCTION_CLASSES = ['fp32', 'integer', 'fp64', 'special', 'memory', 'control'] as const;
export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];
export type ClassCounts = Readonly<Record<InstructionClass, number>>;

export interface InspectedLoop {
  /** Line of the source that the loop's branch back is of; null without line information. */
  readonly line: number | null;
  /**
   * Instructions of one iteration, on all ways through its body (a thread group whose lanes part issues all of them), without those of
   * inner loops. Of an unrolled loop those of one pass over the number of iterations in it.
   */
  readonly instructionsPerIteration: number;
  readonly byClass: ClassCounts;
  /** Loads from device memory on the longest chain of dependencies of an iteration, through values and branches. */
  readonly dependentLoads: number;
  /** Instructions where all lanes take the shortest way through the body. */
  readonly shortestPath: number;
  /** Iterations of the source in one pass of the loop, as far as a mark or a remainder loop of the same line says it. */
  readonly unrolled: number;
  /** 1: no loop is around it. */
  readonly depth: number;
  /** Whether its end depends on data that differs between threads. */
  readonly divergent: boolean;
  /** Whether the source marks it: `asm volatile("// lockstep:loop");`. */
  readonly marked: boolean;
}

/** Registers and spills under a register cap. */
export interface CappedUsage {
  readonly cap: number;
  readonly registersPerThread: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
}

/** What a profiler measured of the launches of a kernel; null: it is not in the file. */
export interface ProfiledLaunch {
  readonly launches: number;
  readonly blockThreads: number | null;
  readonly gridBlocks: number | null;
  /** Of all launches. */
  readonly durationMs: number | null;
  readonly dramBytes: number | null;
  /** Mean of the lanes that execute an instruction, 1…32, weighted by the launches' durations where they are known. */
  readonly meanActiveLanes: number | null;
}

/** Lengths whose lockstep loss is the one that a profiler measured. */
export interface FittedLengths {
  /** As a study names them. */
  readonly lengths: string;
  /** Of groups of 32: measured, which the law meets. */
  readonly aggregateLoss: number;
  readonly mean: number;
  /** What it is fitted on. */
  readonly note: string;
}

/** How an inspection's `from` is said. */
export const INSPECTED_FROM = {
  sass: 'machine code',
  ptx: 'PTX, which the assembler still changes',
  ptxas: 'a log of ptxas -v',
  cubin: 'an object file',
  ncu: 'Nsight Compute',
} as const;

export interface Inspection {
  readonly entry: string;
  /** Such as `sm_90`; null where the file does not say. */
  readonly arch: string | null;
  /** All kernels of the file. */
  readonly entries: readonly string[];
  readonly registersPerThread: number | null;
  /** Fixed at compile time; of a profile with what the launch adds. */
  readonly sharedMemoryBytesPerBlock: number | null;
  readonly spillStoreBytes: number | null;
  readonly spillLoadBytes: number | null;
  readonly loops: readonly InspectedLoop[];
  /** The loop that counts, by its place in `loops`, and why; null where there is none. */
  readonly chosen: { readonly loop: number; readonly why: string } | null;
  /** Where the loops are from; without loops, where the other figures are from. */
  readonly from: keyof typeof INSPECTED_FROM;
  readonly caps: readonly CappedUsage[];
  readonly launch: ProfiledLaunch | null;
  readonly lengths: FittedLengths | null;
  readonly notes: readonly string[];
}

export type InspectedField = Extract<
  KernelField,
  | 'registersPerThread'
  | 'sharedMemoryBytesPerBlock'
  | 'instructionsPerIteration'
  | 'integerShare'
  | 'fp64Share'
  | 'specialShare'
  | 'dependentLoadsPerIteration'
>;

/** The fields of a kernel profile that an inspection says, with their values. */
export function inspectedFields(inspection: Inspection): Readonly<Partial<Record<InspectedField, number>>> {
  const { registersPerThread, sharedMemoryBytesPerBlock, chosen, loops } = inspection;
  const loop = chosen && loops[chosen.loop];
  const share = (of: InstructionClass): number =>
    Number((loop!.byClass[of] / loop!.instructionsPerIteration).toPrecision(4));
  return {
    ...(registersPerThread !== null && { registersPerThread }),
    ...(sharedMemoryBytesPerBlock !== null && { sharedMemoryBytesPerBlock }),
    ...(loop && {
      instructionsPerIteration: loop.instructionsPerIteration,
      integerShare: share('integer'),
      fp64Share: share('fp64'),
      specialShare: share('special'),
      dependentLoadsPerIteration: loop.dependentLoads,
    }),
  };
}

/** The kernel of a study with what an inspection says of it, each of these fields marked as imported. */
export function withInspected<Kernel extends { readonly origins?: object | undefined }>(
  kernel: Kernel,
  fields: Readonly<Partial<Record<InspectedField, number>>>,
): Kernel {
  const origins = Object.fromEntries(Object.keys(fields).map((field) => [field, 'imported']));
  return { ...kernel, ...fields, origins: { ...kernel.origins, ...origins } };
}

/** Kinds of files that say something of a kernel. */
export type KernelFileKind = 'source' | 'ptx' | 'sass' | 'cubin' | 'ptxas' | 'ncu';

/** Far above any kernel; the largest libraries' PTX is some 10 MB. */
export const MAX_KERNEL_FILE_BYTES = 32 * 2 ** 20;
const HEAD_BYTES = 262_144;

/** Detects what a file says of a kernel, by its content, of a source also by its name; null: nothing. */
export function kernelFileKind(fileName: string, bytes: Uint8Array): KernelFileKind | null {
  if (bytes[0] === 0x7f && bytes[1] === 0x45 && bytes[2] === 0x4c && bytes[3] === 0x46) return 'cubin';
  if (/\.cu$/i.test(fileName)) return 'source';
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES));
  if (head.includes('\0')) return null;
  if (/^[ \t]*\.version[ \t]+\d/m.test(head) && /^[ \t]*\.target[ \t]/m.test(head)) return 'ptx';
  if (/^[ \t]*\/\*[0-9a-f]{4,16}\*\/[ \t]/m.test(head)) return 'sass';
  if (head.includes('ptxas info')) return 'ptxas';
  if (/^"?ID"?,.*Kernel Name/m.test(head)) return 'ncu';
  return /\b__global__\b/.test(head) ? 'source' : null;
}
