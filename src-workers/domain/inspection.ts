import type { KernelProfile, MemoryAccess, Phase, Sharing } from './kernel.ts';
import { accessesText, KERNEL_INPUTS } from './provenance.ts';

/** What a compiler, its machine code or a profiler says about a kernel, for `kernel inspect` and the Study view. */

/**
 * What executes an instruction. `integer`: 32-bit integer and logic, moves and integer conversions; `special`:
 * reciprocals, roots, exponentials, sines, and conversions between integers and floating point; `memory`: loads,
 * stores, atomics, shuffles; `control`: branches and barriers. Half precision and matrix instructions count as `fp32`.
 */
export const INSTRUCTION_CLASSES = ['fp32', 'integer', 'fp64', 'special', 'memory', 'control'] as const;
export type InstructionClass = (typeof INSTRUCTION_CLASSES)[number];
export type ClassCounts = Readonly<Record<InstructionClass, number>>;

export interface InspectedLoop {
  /** Line of the source that the loop's branch back is of; null without line information. */
  readonly line: number | null;
  /**
   * Instructions of one iteration on all ways through its body (a thread group whose lanes part issues all of them),
   * without those of inner loops and those that change the unit. In an unrolled loop they are those of one pass over
   * its number of iterations.
   */
  readonly instructionsPerIteration: number;
  readonly byClass: ClassCounts;
  /** Loads from device memory on the longest chain of dependencies of an iteration, through values and branches. */
  readonly dependentLoads: number;
  /** Shuffles, barriers and loads from shared memory on that chain. */
  readonly dependentExchanges: number;
  /**
   * Arithmetic that waits for one another in an iteration, issued in order, as a number of latencies of one
   * instruction.
   */
  readonly chainInstructions: number;
  /** Instructions where all lanes take the shortest way through the body. */
  readonly shortestPath: number;
  /** Iterations of the source in one pass of the loop, as far as a mark or a remainder loop of that line says it. */
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
  /** Time of all launches together. */
  readonly durationMs: number | null;
  readonly dramBytes: number | null;
  /** Of all thread groups; issued more often where an instruction is replayed. */
  readonly executedInstructions: number | null;
  readonly issuedInstructions: number | null;
  /** Sectors of 32 bytes that went through the L1 and the L2 cache. */
  readonly l1Sectors: number | null;
  readonly l2Sectors: number | null;
  /** Mean of the lanes that execute an instruction, 1…32, weighted by the launches' durations where they are known. */
  readonly meanActiveLanes: number | null;
}

/** Lengths with the lockstep loss that a profiler measured. */
export interface FittedLengths {
  /** The lengths as a study names them. */
  readonly lengths: string;
  /** Measured loss of groups of 32, which the law meets. */
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

/** What stands around the loop that counts, as a kernel profile has it. */
export type InspectedPhases = Readonly<Partial<Record<'prologue' | 'unit' | 'combine' | 'refill', Phase>>>;

export interface Inspection {
  readonly entry: string;
  /** The entry as its source has it: `step<float>` of `_Z4stepIfEvPT_`. */
  readonly name: string;
  /** Such as `sm_90`; null if the file does not say. */
  readonly arch: string | null;
  /** All kernels of the file. */
  readonly entries: readonly string[];
  readonly registersPerThread: number | null;
  /** Shared memory that is fixed at compile time; a profile includes what the launch adds. */
  readonly sharedMemoryBytesPerBlock: number | null;
  readonly spillStoreBytes: number | null;
  readonly spillLoadBytes: number | null;
  readonly loops: readonly InspectedLoop[];
  /** The loop that counts, by its place in `loops`, and why; null if there is none. */
  readonly chosen: { readonly loop: number; readonly why: string } | null;
  /** What stands around it; empty if there are no loops. */
  readonly phases: InspectedPhases;
  readonly sharing: Sharing | null;
  /** 1 if each iteration needs the result of the one before, so sharing a unit gains nothing. `null` if unknown. */
  readonly serialFraction: 1 | null;
  /** What an iteration of it reads and writes in device memory. */
  readonly accesses: readonly MemoryAccess[];
  /** Where the loops are from; without loops, where the other figures are from. */
  readonly from: keyof typeof INSPECTED_FROM;
  readonly caps: readonly CappedUsage[];
  readonly launch: ProfiledLaunch | null;
  readonly lengths: FittedLengths | null;
  readonly notes: readonly string[];
}

const INSPECTED_FIELDS = [
  'registersPerThread',
  'sharedMemoryBytesPerBlock',
  'instructionsPerIteration',
  'integerShare',
  'fp64Share',
  'specialShare',
  'chainInstructions',
  'dependentExchanges',
  'dependentLoadsPerIteration',
  'bytesPerIteration',
  'accesses',
  'sharing',
  'serialFraction',
  'prologue',
  'unit',
  'combine',
  'refill',
] as const satisfies readonly (keyof KernelProfile)[];
export type InspectedField = (typeof INSPECTED_FIELDS)[number];
export type InspectedFields = Readonly<Partial<Pick<KernelProfile, InspectedField>>>;

export function inspectedLabel(field: InspectedField): string {
  if (field === 'accesses') return 'Memory accesses';
  return field === 'sharing' ? 'Sharing of a unit' : KERNEL_INPUTS[field].label;
}

const SHARING_TEXT = {
  deal: 'iterations are dealt to its threads',
  split: 'its threads split each iteration',
} as const;

/** A found value in words: `17 instructions, a chain of 14, loads 1, 8 B` of a phase. */
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

/** The fields of a kernel profile that an inspection says, with their values. */
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

/**
 * The fields as a study with a CPU takes them: it counts the bytes of an iteration, since no lanes read side by side
 * there.
 */
export function fieldsFor(fields: InspectedFields, hasCpu: boolean): InspectedFields {
  if (!hasCpu || !fields.accesses) return fields;
  const { accesses, ...others } = fields;
  return { ...others, bytesPerIteration: accesses.reduce((sum, { elementBytes }) => sum + elementBytes, 0) };
}

/** What the code of a kernel does not say, each with what it means for advice. */
export function unknownOf({
  accesses,
  bytesPerIteration,
  sharing,
  serialFraction,
  combine,
  refill,
  ...fields
}: InspectedFields): string[] {
  return [
    ...(fields.registersPerThread === undefined
      ? ['Registers per thread: how many blocks fit a multiprocessor follows from those of the study.']
      : []),
    ...(accesses?.some(({ pattern }) => pattern === 'scattered')
      ? [
          'How large the arrays are that it reads at scattered places (footprintBytes): each such read is taken to come ' +
            'from device memory, which favours designs that wait less.',
        ]
      : []),
    ...(bytesPerIteration === 0
      ? [
          'Traffic of an iteration: it reads nothing that differs between units, so that device memory never limits it. ' +
            'Add bytesPerIteration if its data does not stay in the caches.',
        ]
      : []),
    ...(sharing === 'split' && serialFraction === undefined
      ? [
          'How much faster an iteration is when threads share it (serialFraction, cooperationCost): what the study says ' +
            'of it decides between numbers of threads per unit.',
        ]
      : []),
    ...(sharing === 'deal' && !combine
      ? [
          'What it costs to combine the results of threads that share a unit, since here none do: several threads per ' +
            'unit are predicted without it.',
        ]
      : []),
    ...(refill
      ? []
      : [
          'What one loop over all units adds (refill): flattened loops and fetched units are predicted from its other phases.',
        ]),
    'The lengths of its units, and how much data of a unit a sort has to move (bytesPerUnit): they decide whether sorting pays.',
  ];
}

/**
 * The kernel of a study with what an inspection says of it, each of these fields marked as imported, and without what
 * they replace: older figures of the same, as parts of an iteration, and the costs of splitting iterations where they
 * are dealt. Undefined takes a field out.
 */
export function withInspected<Kernel extends { readonly origins?: object | undefined }>(
  kernel: Kernel,
  fields: InspectedFields,
): Kernel {
  const found = {
    ...fields,
    ...(fields.accesses && { bytesPerIteration: 0 }),
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
  return {
    ...kernel,
    ...found,
    ...gone,
    origins: { ...kernel.origins, ...Object.fromEntries(imported), ...gone },
  };
}

/** A kernel's name without the template's arguments and what it is in: `step` of `nbody::step<float>`. */
export function lastName(name: string): string {
  const plain = name.split(/[<(]/, 1)[0].trim();
  return plain.slice(Math.max(plain.lastIndexOf(' '), plain.lastIndexOf(':')) + 1);
}

/** Name of a kernel without a name. */
export const UNNAMED_KERNEL = 'kernel';

/** The name of a study's kernel once its code is known: a name that somebody gave stays. */
export function inspectedName(own: string, { name }: Pick<Inspection, 'name'>): string {
  return own === UNNAMED_KERNEL ? lastName(name) || own : own;
}

/** Kinds of files that say something of a kernel. */
export type KernelFileKind = 'source' | 'ptx' | 'sass' | 'cubin' | 'ptxas' | 'ncu';

/** Far above any kernel; the largest libraries' PTX is some 10 MB. */
export const MAX_KERNEL_FILE_BYTES = 32 * 2 ** 20;
const HEAD_BYTES = 262_144;

/** Detects what a file says about a kernel by its content, and a source also by its name; `null` for nothing. */
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
