import { MAX_FIGURE, type Study } from '../../../src-main/contract/study.ts';
import {
  BASIC_INPUTS,
  isAssumed,
  KERNEL_INPUTS,
  kernelOrigin,
  type KernelNumber,
} from '../../../src-workers/domain/provenance.ts';
import { ASSUMED_LAWS, middleOfLaw } from '../../../src-workers/domain/assumed-laws.ts';
import { sentenceCase, type Term } from '../../../src-workers/domain/terms.ts';
import { percent } from '../../format/numbers.ts';

const USUAL_CHAIN = middleOfLaw(ASSUMED_LAWS['kernel.chainInstructions'].quantiles);

export interface KernelField {
  readonly id: KernelNumber;
  readonly label: string;
  readonly symbol: string;
  readonly unit: string;
  readonly help: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly integer: boolean;
  readonly memory: boolean;
  readonly slider: number | null;
}

function field(
  id: KernelField['id'],
  label: string,
  unit: string,
  help: string,
  rest: Partial<KernelField> = {},
): KernelField {
  const usual = { symbol: '', min: 0, max: MAX_FIGURE, step: 1, integer: false, memory: false, slider: null };
  return { ...usual, id, label, unit, help, ...rest };
}

export function kernelFields(speak: Term): readonly KernelField[] {
  return [
    field(
      'registersPerThread',
      `${sentenceCase(speak('register', 'many'))} per ${speak('thread')}`,
      '',
      `What the compiler uses without a cap. nvcc prints it with -Xptxas -v, clang with -Rpass-analysis=kernel-resource-usage.`,
      { min: 1, max: 1024, integer: true },
    ),
    field(
      'instructionsPerIteration',
      'Instructions per iteration',
      '',
      `Instructions that one ${speak('threadGroup')} issues for one iteration of the loop. Count the loop body in the disassembly.`,
      { min: 1e-3, step: 10 },
    ),
    field(
      'dependentLoadsPerIteration',
      'Dependent loads per iteration',
      '',
      'Loads from device memory that wait for each other in one iteration. Each adds one memory latency that other work must hide.',
    ),
    field(
      'bytesPerIteration',
      'Memory traffic per iteration',
      'B',
      `Bytes that one ${speak('lane')} moves from or to device memory per iteration; cache hits do not count.`,
      { step: 8 },
    ),
    field(
      'unit',
      'Once per unit',
      'instr.',
      'Instructions before and after the iterations of a unit, which read its bounds, compute a pointer and store its result.',
    ),
    field(
      'prologue',
      `Once a ${speak('thread')}`,
      'instr.',
      `Instructions of a ${speak('thread')} before its first unit, which read arguments and compute its index.`,
    ),
    field(
      'combine',
      'Combining step',
      'instr.',
      `Instructions of one combining step. If u ${speak('thread', 'many')} share a unit, they combine their results at the end of the unit, in a tree of log₂u steps.`,
    ),
    field(
      'refill',
      'Change of unit',
      'instr.',
      'Instructions for the change to another unit in one loop over all units (flattened, or fetching). If they are not given, the instructions once per unit are used.',
    ),
    field(
      'search',
      'Search step',
      'instr.',
      'Instructions of one step of the binary search by which a slot finds the start of its even share (merge path, even non-zeros).',
    ),
    field('carry', 'Carry', 'instr.', 'Instructions to hand over a unit that is cut by the end of an even share.'),
    field(
      'serialFraction',
      'Serial fraction',
      '',
      'The part of an iteration that does not get faster when threads share a unit, as in Amdahl’s law.',
      { symbol: 'σ', max: 1, step: 0.001, slider: 0.5 },
    ),
    field(
      'cooperationCost',
      'Cooperation step',
      'iter.',
      `Cost of one exchange between ${speak('thread', 'many')} that share a unit, as a fraction of an iteration; u ${speak('thread', 'many')} need log₂u exchanges.`,
      { symbol: 'κ', step: 0.01 },
    ),
    field(
      'flattenedCost',
      'Single-loop cost',
      'iter.',
      `What a single loop over all units (flattened, or fetching) adds to every iteration, as a fraction of an iteration: finding the end of a unit and, if branches are masked instead of skipped, changing the unit.`,
      { step: 0.01 },
    ),
    field(
      'chainInstructions',
      'Longest chain',
      'instr.',
      `Instructions of an iteration that must run one after another. If the value is not given, ${percent(USUAL_CHAIN, 0)} of all instructions are assumed, as is usual.`,
    ),
    field(
      'dependentExchanges',
      'Exchanges per iteration',
      '',
      `Shuffles and accesses to ${speak('sharedMemory')} that wait for one another in an iteration.`,
    ),
    field(
      'integerShare',
      'Integer share',
      '',
      'Fraction of all instructions that are 32-bit integer or logic, 0 to 1. Some devices have fewer lanes for them than for FP32.',
      { max: 1, step: 0.01 },
    ),
    field(
      'fp64Share',
      'FP64 share',
      '',
      'Fraction of all instructions in double precision, 0 to 1. Instructions without a class count as FP32.',
      { max: 1, step: 0.01 },
    ),
    field(
      'specialShare',
      'Special-function share',
      '',
      'Fraction of all instructions that are reciprocals, square roots, exponentials or sines, 0 to 1.',
      { max: 1, step: 0.01 },
    ),
    field(
      'threeRegisterShare',
      'Three-register share',
      '',
      'Fraction of all instructions that are FP32 and read three different registers, 0 to 1. Above one half, recent NVIDIA devices issue them more slowly.',
      { max: 1, step: 0.01 },
    ),
    field(
      'sharedMemoryBytesPerBlock',
      sentenceCase(speak('sharedMemory')),
      '',
      `Static and dynamic ${speak('sharedMemory')} of one ${speak('block')} together.`,
      { max: 2 ** 24, step: 1024, integer: true, memory: true },
    ),
    field(
      'kneeSoftness',
      'Knee softness',
      '',
      'How sharply the time turns from latency-bound to issue-bound. 6.5 fits published measurements; calibration replaces it.',
      { symbol: 'p', min: 1, max: 100, step: 0.5 },
    ),
    field(
      'bytesPerUnit',
      'Size of a unit',
      'B',
      'Input and state that a sort or bucketing has to move for each unit.',
      { step: 8 },
    ),
    field(
      'spillInstructionsPerRegister',
      'Spill cost',
      'per reg.',
      `Extra instructions per iteration for every ${speak('register')} that a register cap takes away.`,
      { step: 0.5 },
    ),
  ];
}

/** Dealt iterations make these fields meaningless. */
const OF_SPLIT: ReadonlySet<KernelNumber> = new Set(['serialFraction', 'cooperationCost']);
export const isOf = ({ sharing }: Pick<Study['kernel'], 'sharing'>, { id }: Pick<KernelField, 'id'>): boolean =>
  sharing !== 'deal' || !OF_SPLIT.has(id);

export function isAdvanced({ id }: Pick<KernelField, 'id'>): boolean {
  return !BASIC_INPUTS.has(id);
}

export function advancedSet(kernel: Study['kernel']): number {
  return (Object.keys(KERNEL_INPUTS) as KernelNumber[]).filter(
    (id) => isAdvanced({ id }) && isOf(kernel, { id }) && !isAssumed(kernelOrigin(kernel, id)),
  ).length;
}
