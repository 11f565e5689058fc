import * as v from 'valibot';
import { ACCESS_PATTERNS, SHARINGS } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS, KERNEL_FIELDS, ORIGINS } from '../../src-workers/domain/provenance.ts';
import { withPhases } from './older-kernels.ts';

/** db/study.schema.json is generated from this module (npm run schema). */
const STUDY_FORMAT_VERSION = 1;

type Described<Schema extends v.GenericSchema> = v.SchemaWithPipe<
  readonly [Schema, v.DescriptionAction<v.InferOutput<Schema>, string>]
>;
export function described<const Schema extends v.GenericSchema>(schema: Schema, what: string): Described<Schema> {
  return v.pipe(schema, v.description<v.InferOutput<Schema>, string>(what));
}
export function optional<
  const Schema extends v.GenericSchema,
  const Value extends v.Default<Schema, undefined> = undefined,
>(schema: Schema, what: string, byDefault?: Value): v.OptionalSchema<Described<Schema>, Value> {
  return v.optional(described(schema, what), byDefault as Value);
}

/** Each schema below has one message, which covers a wrong type, a wrong range and an exceeded bound. */
export function text(maximum: number) {
  const must = `must be text of 1 to ${maximum} characters`;
  return v.pipe(v.string(must), v.minLength(1, must), v.maxLength(maximum, must));
}
const LARGEST = 2 ** 31 - 1;
export function count(maximum: number, minimum = 1) {
  const must =
    maximum === LARGEST
      ? `must be a whole number ≥ ${minimum}`
      : `must be a whole number from ${minimum} to ${maximum}`;
  return v.pipe(v.number(must), v.integer(must), v.minValue(minimum, must), v.maxValue(maximum, must));
}
function between(minimum: number, maximum: number) {
  const must = `must be a number from ${minimum} to ${maximum}`;
  return v.pipe(v.number(must), v.minValue(minimum, must), v.maxValue(maximum, must));
}
/** The largest number in most fields, so that products of several with 2⁴⁰ units stay finite. */
export const MAX_FIGURE = 1e12;
const ABOVE_ZERO = `must be a number above 0, at most ${MAX_FIGURE}`;
const positive = v.pipe(v.number(ABOVE_ZERO), v.gtValue(0, ABOVE_ZERO), v.maxValue(MAX_FIGURE, ABOVE_ZERO));
const figure = between(0, MAX_FIGURE);
const AT_LEAST_ZERO = 'must be a number ≥ 0';
export const nonNegative = v.pipe(v.number(AT_LEAST_ZERO), v.finite(AT_LEAST_ZERO), v.minValue(0, AT_LEAST_ZERO));
export function list<Item extends v.GenericSchema>(item: Item, maximum: number, what: string) {
  const must = `must have 1 to ${maximum} ${what}`;
  return v.pipe(v.array(item, must), v.minLength(1, must), v.maxLength(maximum, must));
}
export function description(what: string) {
  const text = v.pipe(v.string('must be text'), v.maxLength(4000, 'must have at most 4000 characters'));
  return v.optional(v.pipe(text, v.description(what)), '');
}
export const loopForms = list(v.picklist(['nested', 'flattened']), 2, 'loop forms');
const registerCaps = list(v.nullable(count(1024)), 64, 'caps (a whole number, or null for none)');
/** `MAX_SPACE`: designs of a study. `MAX_DESIGNS`: designs of a sweep that predicts all of them. */
export const MAX_AXIS_VALUES = 4096;
export const MAX_SPACE = 4_000_000_000;
export const MAX_DESIGNS = 64_000_000;
/** Designs that a sweep can keep if it keeps only the best ones. */
export const MAX_BEST = 100_000;
export const MAX_IMPLEMENTATIONS = 32;

/** With a smaller truncation, the remaining probability would round to 1. */
export const MIN_TRUNCATION = 1e-15;
export const MAX_TRUNCATION = 0.01;

const range = v.strictObject({
  from: described(count(LARGEST), 'First value'),
  to: described(count(LARGEST), 'Upper end, at least "from". It is the last value only if a step reaches it'),
  step: optional(count(LARGEST), 'Distance between values (default 1)'),
});
const countAxis = v.union(
  [list(count(LARGEST), MAX_AXIS_VALUES, 'values'), range],
  'must be a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
);

export const workloadSchema = v.strictObject(
  {
    lengths: described(
      text(4096),
      'Iterations of a unit, in the workload grammar: geometric(0.05), file:lengths.csv, file:jobs.csv#column, mtx:matrix.mtx, example:collatz, …; the folder of the study is searched for files',
    ),
    units: described(count(2 ** 40), 'Number of independent work units'),
    width: optional(
      count(LARGEST),
      'Units in a row of an image or a grid that is stored row by row; axes.blockWidth needs this number. The default is the width of example:mandelbrot, otherwise none',
    ),
    truncation: optional(
      between(MIN_TRUNCATION, MAX_TRUNCATION),
      'Probability of the tail cut from an infinite law (default 1e-6)',
    ),
  },
  'must be an object with "lengths" and "units"',
);

function originOf(what: string) {
  return optional(v.picklist(ORIGINS), `Where ${what}`);
}
const ORIGIN_ENTRIES = Object.fromEntries(
  KERNEL_FIELDS.map((field) => [field, originOf(`${field} comes from`)]),
) as Readonly<Record<(typeof KERNEL_FIELDS)[number], ReturnType<typeof originOf>>>;

export const MAX_ACCESSES = 16;

const accessSchema = v.strictObject(
  {
    pattern: described(
      v.picklist(ACCESS_PATTERNS),
      'along-unit: consecutive elements of a unit, coalesced as far as threads share it; across-lanes: neighbouring elements for neighbouring lanes (padded, column-major); scattered: a gather',
    ),
    elementBytes: described(count(1024), 'Size of an element, bytes'),
    footprintBytes: optional(
      count(2 ** 50),
      'Size of an array that is read repeatedly, bytes; leave it out if each element is read once, or if no cache can hold the array',
    ),
    missFraction: optional(
      between(0, 1),
      'Fraction of the reads at scattered places that each fetch a sector of their own if no cache holds the array, 0 to 1: 1 for random places, less if neighbours share sectors. Assumed if left out',
    ),
  },
  'must be an object with "pattern" and "elementBytes"',
);

const integerShare = described(
  between(0, 1),
  'Fraction of all instructions that are 32-bit integer or logic, 0 to 1. Instructions of no class are assumed to be FP32',
);
const fp64Share = described(between(0, 1), 'Fraction of all instructions that are FP64, 0 to 1');
const specialShare = described(
  between(0, 1),
  'Fraction of all instructions that are special functions (reciprocal, square root, exponential, sine), 0 to 1',
);
const threeRegisterShare = described(
  between(0, 1),
  'Fraction of all instructions that are FP32 and read three different registers (a multiply-add without a constant), 0 to 1. A fraction above one half slows down recent NVIDIA devices',
);

function phase(when: string, traffic: 'thread' | 'unit' | 'step' | 'share') {
  const schema = v.strictObject(
    {
      instructions: described(figure, 'Thread-group instructions issued'),
      integerShare: v.optional(integerShare),
      fp64Share: v.optional(fp64Share),
      specialShare: v.optional(specialShare),
      chainInstructions: optional(
        figure,
        'Arithmetic instructions on the longest chain of instructions that wait for one another (default: all instructions)',
      ),
      dependentExchanges: optional(figure, 'Shuffles and accesses to shared memory on the longest chain'),
      dependentLoads: optional(figure, 'Loads from device memory on the longest chain'),
      bytes: optional(figure, `Device-memory traffic, bytes per ${traffic}`),
    },
    'must be an object with "instructions", "dependentLoads", …',
  );
  return optional(schema, when);
}

export const kernelSchema = v.strictObject(
  {
    name: described(text(200), 'Name of the kernel'),
    registersPerThread: described(
      count(1024),
      'Registers per thread that the compiler uses without a cap. The device limits them: most NVIDIA GPUs to 255',
    ),
    sharedMemoryBytesPerBlock: optional(
      count(2 ** 24, 0),
      'Static and dynamic shared memory of a block, bytes',
      KERNEL_DEFAULTS.sharedMemoryBytesPerBlock,
    ),
    instructionsPerIteration: described(positive, 'Thread-group instructions issued per iteration'),
    dependentLoadsPerIteration: optional(
      figure,
      'Loads from device memory on the critical path of an iteration',
      KERNEL_DEFAULTS.dependentLoadsPerIteration,
    ),
    bytesPerIteration: optional(
      figure,
      'Device-memory traffic of one lane per iteration, bytes',
      KERNEL_DEFAULTS.bytesPerIteration,
    ),
    accesses: optional(
      list(accessSchema, MAX_ACCESSES, 'accesses'),
      'Replaces bytesPerIteration: the arrays from which an iteration reads one element each. The traffic then depends on the device and on how threads share a unit',
    ),
    sharing: optional(
      v.picklist(SHARINGS),
      'How threads share a unit. deal: each thread takes length / threads of the iterations, rounded up, and the results are combined once for each unit; split (the default): the threads divide every iteration, with serialFraction and cooperationCost',
    ),
    serialFraction: optional(
      between(0, 1),
      'Part of a split iteration that does not speed up when threads share a unit, 0 to 1',
      KERNEL_DEFAULTS.serialFraction,
    ),
    cooperationCost: optional(
      figure,
      'Cost of one cooperation step in a split iteration, as a fraction of the iteration; there are log2(threads per unit) steps',
      KERNEL_DEFAULTS.cooperationCost,
    ),
    flattenedCost: optional(
      figure,
      'Additional cost of every iteration in a single loop over all units (flattened, or fetching), as a fraction of an iteration',
      KERNEL_DEFAULTS.flattenedCost,
    ),
    integerShare: v.optional(integerShare, KERNEL_DEFAULTS.integerShare),
    fp64Share: v.optional(fp64Share, KERNEL_DEFAULTS.fp64Share),
    specialShare: v.optional(specialShare, KERNEL_DEFAULTS.specialShare),
    threeRegisterShare: v.optional(threeRegisterShare, KERNEL_DEFAULTS.threeRegisterShare),
    chainInstructions: optional(
      figure,
      'Arithmetic instructions of an iteration on its longest chain of dependencies; if left out, all of them',
    ),
    dependentExchanges: optional(
      figure,
      'Shuffles and accesses to shared memory on the longest chain, per iteration',
      KERNEL_DEFAULTS.dependentExchanges,
    ),
    prologue: phase('The work of a thread before its first unit', 'thread'),
    unit: phase('The work for each unit, before and after its iterations', 'unit'),
    combine: phase(
      'One combining step: if u threads share a unit, they combine their results in log2(u) steps. For dealt iterations, the default is assumed',
      'step',
    ),
    refill: phase(
      'The work when a loop over all units (flattened, or fetching) changes to another unit. The default is the work for each unit',
      'unit',
    ),
    search: phase(
      'One step of the binary search for the start of an even share (nonzero-split, merge-path on a GPU). The default is assumed',
      'step',
    ),
    carry: phase(
      'The work of handing over a unit that is cut by the end of an even share. The default is assumed',
      'share',
    ),
    kneeSoftness: optional(
      between(1, 100),
      'Softness of the knee between latency-bound and issue-bound; 100 is a sharp corner. The default is fitted to one kernel on a Tesla K20',
      KERNEL_DEFAULTS.kneeSoftness,
    ),
    bytesPerUnit: optional(
      figure,
      'Input and state of a unit that a reordering must move, bytes. The default is assumed',
      KERNEL_DEFAULTS.bytesPerUnit,
    ),
    lengthsKnownBeforeLaunch: optional(
      v.boolean('must be true or false'),
      'Whether lengths are known before launch; sorting and bucketing need known lengths',
      KERNEL_DEFAULTS.lengthsKnownBeforeLaunch,
    ),
    spillInstructionsPerRegister: optional(
      figure,
      'Instructions per iteration for each register that a cap spills. The default is assumed: a store and a load',
      KERNEL_DEFAULTS.spillInstructionsPerRegister,
    ),
    origins: optional(
      v.strictObject(ORIGIN_ENTRIES),
      'The origins of values, by field: measured, calibrated, imported, given or assumed. Without an origin, a value equal to the default counts as assumed; any other value, and a zero in the file, counts as given. The origin of a phase (unit, prologue, …) is that of all its parts; dependentLoads and bytes that are left out of a given phase are 0',
    ),
  },
  'must be an object with "name", "registersPerThread", "instructionsPerIteration", …',
);

const { name: kernelName, origins: kernelOrigins, ...kernelEntries } = kernelSchema.entries;
export const kernelChange = v.strictObject(
  {
    ...(Object.fromEntries(
      Object.entries(kernelEntries).map(([field, schema]) => [
        field,
        v.optional(schema.type === 'optional' ? schema.wrapped : schema),
      ]),
    ) as unknown as {
      readonly [Field in keyof typeof kernelEntries]: v.OptionalSchema<(typeof kernelEntries)[Field], undefined>;
    }),
    origins: kernelOrigins,
  },
  'must be an object with fields of a kernel',
);

const implementationSchema = v.strictObject(
  {
    name: kernelName,
    kernel: described(
      v.optional(kernelChange, {}),
      'The fields in which its kernel differs from the kernel of the study',
    ),
    axes: optional(
      v.strictObject({
        threadsPerUnit: optional(countAxis, 'Supported threads per unit; all if left out'),
        loop: optional(loopForms, 'Supported loops; all if left out'),
        balancing: optional(list(text(128), 64, 'strategies'), 'Supported balancings; all if left out'),
        blockThreads: optional(countAxis, 'Supported threads per block; all if left out'),
        registerCap: optional(registerCaps, 'Supported register caps; all if left out'),
      }),
      'The values of the axes that this implementation supports (default: all values of the study)',
    ),
  },
  'must be an object with "name", "kernel" and "axes"',
);

export const pipelineSchema = v.strictObject({
  latencyCycles: described(positive, 'Latency floor of one iteration, cycles'),
  issueCycles: described(positive, 'Issue cost of one iteration of one thread group, cycles of the multiprocessor'),
  transferScale: optional(
    positive,
    'Factor on the predicted memory traffic. With it, issueCycles are those of the instructions alone. If left out, issueCycles contain the traffic, which is then the same for any number of threads per unit',
  ),
  kneeSoftness: described(
    between(1, 100),
    'Softness of the knee between latencyCycles and issueCycles; 100 is a sharp corner',
  ),
  schedulers: optional(count(64), "Schedulers per multiprocessor (default: the device's)"),
  origin: originOf('these figures come from (default: given)'),
  fittedTo: optional(
    v.picklist(['kernel'], 'must be kernel'),
    'What calibrated figures were fitted to: "kernel" means the kernel itself. If left out, they were fitted to a loop that stood in for the kernel',
  ),
});

const axesSchema = v.strictObject(
  {
    threadsPerUnit: optional(countAxis, 'Threads that share one unit: powers of two up to the whole block', [1]),
    loop: optional(loopForms, 'How a lane runs its units: one loop inside another, or one loop over all iterations', [
      'nested',
    ]),
    balancing: optional(
      list(text(64), 64, 'strategies'),
      'How slots take the units. In an order: none (as the workload gives them), shuffle, quantile-buckets(4), best-buckets(4), window-sort(4096), full-sort. On demand: dynamic-fetch (one unit at a time), dynamic-fetch(16) (16 units at a time), dynamic-fetch(group) (one unit for every slot of a thread group at a time). In classes of length, each with its own threads per unit and launch (threadsPerUnit must be 1): mixed(3) for the best 3 classes, mixed(1:8,group:256,block) for units of at most 8 iterations by one thread, of at most 256 by a thread group, all others by the block. Padded to the longest of all units or of a slice: padded, padded-slice(32). In even shares, over the slots of a GPU or the cores of a CPU: nonzero-split, merge-path; over the cores of a CPU only: row-split',
      ['none'],
    ),
    blockThreads: described(countAxis, 'Threads per block'),
    blockWidth: optional(
      list(v.nullable(count(1024)), 64, 'widths (a whole number, or null for one row)'),
      'Threads of a block side by side, if units lie in rows (workload.width) and balancing is none. The other threads lie above them, so a block takes a tile of units. With null, or if left out, a block takes consecutive units',
    ),
    unitsPerThread: optional(
      countAxis,
      'Units that each slot processes; the number of blocks follows. unitsPerThread, gridBlocks and blocksPerMultiprocessor give values of one axis',
    ),
    gridBlocks: optional(countAxis, 'Blocks of the launch; the number of units per thread follows'),
    blocksPerMultiprocessor: optional(countAxis, 'Blocks of the launch per multiprocessor of the device'),
    cores: optional(countAxis, 'Numbers of cores used on a CPU; a study with a CPU needs this field'),
    registerCap: optional(registerCaps, 'Register caps of the compiler, per thread; null means no cap', [null]),
  },
  'must be an object with "blockThreads" and further axes',
);

/** Quantities of a design that are known before its time is predicted. */
export const CONSTRAINT_QUANTITIES = [
  'threadsPerUnit',
  'unitsPerThread',
  'blockThreads',
  'gridBlocks',
  'registerCap',
  'occupancyFraction',
  'residentBlocks',
  'waves',
] as const;

const constraintSchema = v.pipe(
  v.strictObject({
    quantity: described(v.picklist(CONSTRAINT_QUANTITIES), 'The limited quantity'),
    atLeast: optional(v.number('must be a number'), 'Smallest value that is kept'),
    atMost: optional(v.number('must be a number'), 'Largest value that is kept'),
    multipleOf: optional(positive, 'Only multiples of this value are kept'),
  }),
  v.check(
    (constraint) =>
      constraint.atLeast !== undefined || constraint.atMost !== undefined || constraint.multipleOf !== undefined,
    'must have at least one of "atLeast", "atMost" or "multipleOf"',
  ),
  v.description('A bound on a quantity of a design; at least one of "atLeast", "atMost" and "multipleOf"'),
);

export const studyFileSchema = v.strictObject({
  $schema: optional(v.string('must be text'), 'Where an editor finds this schema'),
  lockstep: described(
    v.literal(STUDY_FORMAT_VERSION, 'must be 1, the version of the study format that this Lockstep reads'),
    'Version of the study format',
  ),
  name: described(text(200), 'Name of the study'),
  description: description('What the study is about'),
  workload: described(workloadSchema, 'The work: how many units, and how their lengths are distributed'),
  kernel: described(kernelSchema, 'The properties of the kernel that do not depend on the device'),
  implementations: optional(
    list(implementationSchema, MAX_IMPLEMENTATIONS, 'implementations'),
    'Ways to write the kernel, ranked together. Each has its own figures and values of the axes. Without this list, there is one implementation: the kernel, with all values of the axes',
  ),
  devices: described(
    list(
      described(
        text(200),
        'Id of a device of the catalogue or of your own devices; ID:66 for 66 of its multiprocessors with the whole memory and L2, ID:66:slice for 66 of them with a proportional share of memory, bandwidth and L2',
      ),
      64,
      'device ids',
    ),
    'Devices to map the work onto',
  ),
  axes: described(axesSchema, 'The design space: the product of these axes and the devices'),
  constraints: v.optional(
    v.pipe(
      v.array(constraintSchema, 'must be a list of constraints'),
      v.maxLength(64, 'must have at most 64 constraints'),
      v.description('A design that violates a constraint is invalid'),
    ),
    [],
  ),
  pipeline: optional(
    v.record(text(200), pipelineSchema, 'must be an object of pipeline parameters by device id'),
    'Measured pipeline parameters by device id; they replace the ones derived from the device',
    {},
  ),
  assumed: optional(
    v.record(
      text(200),
      v.pipe(v.array(figure, 'must be a list of numbers'), v.minLength(1), v.maxLength(101)),
      'must be an object that gives each input a list of numbers',
    ),
    'Distributions of assumed inputs, by path (kernel.unit, kernel.unit.dependentLoads, device.achievedBandwidthFraction): quantiles at evenly spaced probabilities, ascending. They replace those of db/assumed.json',
  ),
  seed: optional(count(2 ** 32 - 1, 0), 'Seed of all random numbers in a run', 1),
});

export type KernelChange = v.InferOutput<typeof kernelChange>;
export type StudyFile = v.InferInput<typeof studyFileSchema>;
const studyOfAnyVersion = v.pipe(
  v.custom<StudyFile>(() => true),
  v.rawTransform(withPhases),
  studyFileSchema,
);
type StudyOfAnyVersion = typeof studyOfAnyVersion;
/** The schema's type has a name, because declarations would otherwise repeat the long inferred type at every use. */
export interface StudySchema extends StudyOfAnyVersion {}
export const studySchema: StudySchema = studyOfAnyVersion;
export type Study = v.InferOutput<typeof studySchema>;
export type CountAxis = v.InferOutput<typeof countAxis>;
export type Constraint = v.InferOutput<typeof constraintSchema>;
