import type { KernelProfile, MemoryAccess, Phase, Sharing } from './kernel.ts';
import {
  accessesText,
  isAssumed,
  KERNEL_INPUTS,
  kernelOrigin,
  type KernelChange,
  type KernelField,
} from './provenance.ts';

/**
 * Where an instruction executes. `integer`: 32-bit integer and logic, moves and integer conversions; `special`:
 * reciprocals, roots, exponentials, sines, and conversions between integers and floating point; `memory`: loads,
 * stores, atomics, shuffles; `control`: branches and barriers. Half precision counts as `fp32`.
 */
export const INSTRUCTION_CLASSES = ['fp32', 'integer', 'fp64', 'special', 'memory', 'control'] as const;
export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];
export type ClassCounts = Readonly<Record<InstructionClass, number>>;

export interface InspectedLoop {
  readonly line: number | null;
  /** Instructions on all paths, because a divergent group issues all of them; without inner loops and `refill`. */
  readonly instructionsPerIteration: number;
  readonly byClass: ClassCounts;
  readonly threeRegisters: number;
  /** Loads from device memory on an iteration's longest chain of dependencies, through values and branches. */
  readonly dependentLoads: number;
  readonly dependentExchanges: number;
  /** The longest chain of dependent arithmetic, in latencies of one instruction (`findChain`). */
  readonly chainInstructions: number;
  readonly shortestPath: number;
  /** Source iterations in one pass of the loop, known from marks or from the step of its counter. */
  readonly unrolled: number;
  readonly depth: number;
  readonly divergent: boolean;
  /** Whether the source marks the loop: `asm volatile("// lockstep:loop");`. */
  readonly marked: boolean;
}

export interface CappedUsage {
  readonly cap: number;
  readonly registersPerThread: number;
  readonly spillStoreBytes: number;
  readonly spillLoadBytes: number;
}

/** A profiler's figures of a kernel's launches. A sum is null if a launch lacks the figure. */
export interface ProfiledLaunch {
  readonly launches: number;
  readonly blockThreads: number | null;
  readonly gridBlocks: number | null;
  readonly durationMs: number | null;
  readonly dramBytes: number | null;
  /** Over all thread groups. A replayed instruction is executed once and issued more than once. */
  readonly executedInstructions: number | null;
  readonly issuedInstructions: number | null;
  /** Sectors of 32 bytes that went through the L1 and the L2 cache. */
  readonly l1Sectors: number | null;
  readonly l2Sectors: number | null;
  /** Mean number of lanes that execute an instruction, 1…32, weighted by the durations of the launches if known. */
  readonly meanActiveLanes: number | null;
}

export interface FittedLengths {
  readonly lengths: string;
  readonly aggregateLoss: number;
  readonly mean: number;
  readonly note: string;
}

export const INSPECTED_FROM = {
  sass: 'machine code',
  ptx: 'PTX, which the assembler still changes',
  ptxas: 'a log of ptxas -v',
  cubin: 'an object file',
  ncu: 'Nsight Compute',
} as const;

export type InspectedPhases = Readonly<Partial<Record<'prologue' | 'unit' | 'combine' | 'refill', Phase>>>;

export interface Inspection {
  readonly entry: string;
  /** The demangled name: `step<float>` for `_Z4stepIfEvPT_`. */
  readonly name: string;
  readonly arch: string | null;
  readonly entries: readonly string[];
  readonly registersPerThread: number | null;
  /** Static memory, fixed at compile time. A figure from a profile also includes the memory that the launch adds. */
  readonly sharedMemoryBytesPerBlock: number | null;
  readonly spillStoreBytes: number | null;
  readonly spillLoadBytes: number | null;
  readonly loops: readonly InspectedLoop[];
  /** The loop (its position in `loops`) that counts as the kernel's iterations. */
  readonly chosen: { readonly loop: number; readonly why: string } | null;
  readonly phases: InspectedPhases;
  readonly sharing: Sharing | null;
  /** 1 if each iteration needs the previous result, so sharing a unit gains nothing; `null` if unknown. */
  readonly serialFraction: 1 | null;
  readonly accesses: readonly MemoryAccess[];
  readonly from: keyof typeof INSPECTED_FROM;
  readonly caps: readonly CappedUsage[];
  readonly launch: ProfiledLaunch | null;
  readonly lengths: FittedLengths | null;
  readonly notes: readonly string[];
}

export type InspectedField = Exclude<
  KernelField,
  | 'bytesPerUnit'
  | 'carry'
  | 'cooperationCost'
  | 'flattenedCost'
  | 'kneeSoftness'
  | 'lengthsKnownBeforeLaunch'
  | 'search'
  | 'spillInstructionsPerRegister'
>;
export type InspectedFields = Readonly<Partial<Pick<KernelProfile, InspectedField>>>;

export function inspectedLabel(field: InspectedField): string {
  if (field === 'accesses') return 'Memory accesses';
  return field === 'sharing' ? 'Sharing of a unit' : KERNEL_INPUTS[field].label;
}

const SHARING_TEXT = {
  deal: 'iterations are dealt to its threads',
  split: 'its threads split each iteration',
} as const;

export function inspectedText(value: NonNullable<InspectedFields[InspectedField]>): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return SHARING_TEXT[value];
  if (!('instructions' in value)) return accessesText(value);
  const { instructions, chainInstructions, dependentExchanges = 0, dependentLoads = 0, bytes = 0 } = value;
  return [
    `${instructions} instructions`,
    ...(chainInstructions === undefined ? [] : [`a chain of ${chainInstructions}`]),
    ...(dependentExchanges > 0 ? [`exchanges ${dependentExchanges}`] : []),
    ...(dependentLoads > 0 ? [`loads ${dependentLoads}`] : []),
    ...(bytes > 0 ? [`${bytes} B`] : []),
  ].join(', ');
}

export function inspectedFields(inspection: Inspection): InspectedFields {
  const { registersPerThread, sharedMemoryBytesPerBlock, chosen, loops, phases, sharing, serialFraction, accesses } =
    inspection;
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
      threeRegisterShare: Number((loop.threeRegisters / loop.instructionsPerIteration).toPrecision(4)),
      chainInstructions: loop.chainInstructions,
      dependentExchanges: loop.dependentExchanges,
      dependentLoadsPerIteration: loop.dependentLoads,
      ...(accesses.length > 0 ? { accesses } : { bytesPerIteration: 0 }),
    }),
    ...(sharing && { sharing }),
    ...(serialFraction !== null && { serialFraction }),
    ...phases,
  };
}

/** On a CPU, lanes do not read side by side, so the bytes of an iteration replace the accesses. */
export function selectFields(fields: InspectedFields, hasCpu: boolean): InspectedFields {
  if (!hasCpu || !fields.accesses) return fields;
  const { accesses, ...others } = fields;
  return { ...others, bytesPerIteration: accesses.reduce((sum, { elementBytes }) => sum + elementBytes, 0) };
}

export function listUnknown(fields: InspectedFields): string[] {
  const { accesses, bytesPerIteration, sharing, serialFraction, combine, refill } = fields;
  return [
    fields.registersPerThread === undefined &&
      'Registers per thread: the study keeps its own number, which decides how many blocks fit on a multiprocessor.',
    fields.instructionsPerIteration === undefined &&
      'The work of an iteration (instructionsPerIteration, accesses): no loop was found, so the study keeps its own ' +
        'numbers.',
    accesses?.some(({ pattern }) => pattern === 'scattered') &&
      'The size of the arrays that it reads at scattered places (footprintBytes), and the part of these reads that ' +
        'fetch a sector of their own (missFraction: 1 for random places): if neither is given, 45 % of these reads ' +
        'are assumed to miss the caches. That is too much for arrays that fit in a cache.',
    bytesPerIteration === 0 &&
      'Traffic of an iteration: it reads nothing that differs between units, so device memory never limits it. ' +
        'Add bytesPerIteration if its data does not stay in the caches.',
    sharing === 'split' &&
      serialFraction === undefined &&
      'How much faster an iteration is when threads share it (serialFraction, cooperationCost): the study keeps its ' +
        'values, which decide the threads per unit.',
    sharing === 'deal' &&
      !combine &&
      'The cost to combine the results of threads that share a unit (combine): no threads share a unit here, so the ' +
        'study keeps its value. If it has none, a usual value is assumed.',
    !refill &&
      'The cost of one loop over all units (refill): if the study has none, flattened and fetching designs use "unit".',
    'The lengths of its units, and the bytes that a sort moves for each (bytesPerUnit): they decide whether sorting pays.',
  ].filter((line) => typeof line === 'string');
}

/**
 * Returns the accesses that code shows, with what code cannot show and an earlier list has: the size of an array and
 * the part of its reads that need a sector each. Arrays are the same if their order, pattern and element are. The list
 * of an example is of another kernel.
 */
export function withKnownSizes(
  accesses: readonly MemoryAccess[],
  kernel: Pick<KernelChange, 'accesses' | 'origins'>,
): readonly MemoryAccess[] {
  const left = isAssumed(kernelOrigin(kernel, 'accesses')) ? [] : [...(kernel.accesses ?? [])];
  return accesses.map((access) => {
    const at = left.findIndex(
      ({ pattern, elementBytes }) => pattern === access.pattern && elementBytes === access.elementBytes,
    );
    return at < 0 ? access : { ...left.splice(at, 1)[0], ...access };
  });
}

/**
 * Returns a study's kernel with the fields of an inspection, each marked as imported. Older figures for the same work
 * are removed. If iterations are dealt, the costs of split iterations become 0.
 */
export function withInspected<
  Kernel extends { readonly origins?: object | undefined; readonly accesses?: readonly MemoryAccess[] | undefined },
>(kernel: Kernel, fields: InspectedFields): Kernel {
  const found = {
    ...fields,
    ...(fields.accesses && { accesses: withKnownSizes(fields.accesses, kernel), bytesPerIteration: 0 }),
    ...(fields.sharing === 'deal' && { serialFraction: 0, cooperationCost: 0 }),
    ...(fields.serialFraction === 1 && { cooperationCost: 0 }),
    ...((fields.unit ?? fields.refill) && { flattenedCost: 0 }),
  };
  const replaced = [
    ...(fields.bytesPerIteration === undefined ? [] : ['accesses']),
    ...(fields.refill ? ['unit'] : []),
    ...((fields.unit ?? fields.refill) ? ['setupIterationsPerUnit'] : []),
    ...(fields.combine ? ['blockReductionIterations'] : []),
  ].filter((field) => field in kernel || field in (kernel.origins ?? {}));
  const imported = Object.keys(found).map((field) => [field, 'imported']);
  const gone = Object.fromEntries(replaced.map((field) => [field, undefined]));
  return { ...kernel, ...found, ...gone, origins: { ...kernel.origins, ...Object.fromEntries(imported), ...gone } };
}

/** Returns the last part of a kernel's name, without template arguments: `step` of `nbody::step<float>`. */
export function lastName(name: string): string {
  const plain = name.split(/[<(]/, 1)[0].trim();
  return plain.slice(Math.max(plain.lastIndexOf(' '), plain.lastIndexOf(':')) + 1);
}

export const UNNAMED_KERNEL = 'kernel';

export function inspectedName(own: string, { name }: Pick<Inspection, 'name'>): string {
  return own === UNNAMED_KERNEL ? lastName(name) || own : own;
}

export type KernelFileKind = 'source' | 'ptx' | 'sass' | 'cubin' | 'ptxas' | 'ncu';

/** The PTX of the largest libraries takes about 10 MB. */
export const MAX_KERNEL_FILE_BYTES = 32 * 2 ** 20;
const HEAD_BYTES = 262_144;

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
