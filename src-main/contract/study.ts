import * as v from 'valibot';

/**
 * The study file, version 1: what to map, onto which devices, over which design space.
 * The JSON Schema in db/study.schema.json is generated from this table (npm run schema).
 */
export const STUDY_FORMAT_VERSION = 1;

const text = (maximum: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maximum));
const nonNegative = v.pipe(v.number(), v.finite(), v.minValue(0));
const positive = v.pipe(v.number(), v.finite(), v.gtValue(0));
const count = (maximum: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maximum));

/** The largest number of values one axis may have, and of designs one study may enumerate. */
export const MAX_AXIS_VALUES = 4096;
export const MAX_DESIGNS = 64_000_000;

const range = v.strictObject({
  from: count(2 ** 31 - 1),
  to: count(2 ** 31 - 1),
  step: v.optional(count(2 ** 31 - 1)),
});
const countAxis = v.union(
  [v.pipe(v.array(count(2 ** 31 - 1)), v.minLength(1), v.maxLength(MAX_AXIS_VALUES)), range],
  'expected a list of whole numbers ≥ 1 or a range {"from", "to", "step"}',
);

export const workloadSchema = v.strictObject({
  lengths: v.pipe(text(4096), v.description('Workload grammar: geometric(0.05), file:lengths.csv, mtx:matrix.mtx, example:collatz, …')),
  units: v.pipe(count(2 ** 40), v.description('Number of independent work units')),
  truncation: v.optional(
    v.pipe(v.number(), v.gtValue(0), v.maxValue(0.01), v.description('Probability cut from an infinite support (default 1e-6)')),
  ),
});

export const kernelSchema = v.strictObject({
  name: text(200),
  registersPerThread: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)),
  sharedMemoryBytesPerBlock: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 24)), 0),
  instructionsPerIteration: positive,
  dependentLoadsPerIteration: v.optional(nonNegative, 0),
  bytesPerIteration: v.optional(nonNegative, 0),
  serialFraction: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0),
  cooperationCost: v.optional(nonNegative, 0),
  setupIterationsPerUnit: v.optional(nonNegative, 0),
  kneeSoftness: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(100)), 6.5),
  bytesPerUnit: v.optional(nonNegative, 64),
  lengthsKnownBeforeLaunch: v.optional(v.boolean(), false),
  spillInstructionsPerRegister: v.optional(nonNegative, 2),
});

export const pipelineSchema = v.strictObject({
  latencyCycles: positive,
  issueCycles: positive,
  kneeSoftness: v.pipe(v.number(), v.minValue(1), v.maxValue(100)),
  schedulers: v.optional(count(64)),
});

export const axesSchema = v.strictObject({
  threadsPerUnit: v.optional(countAxis, [1]),
  loop: v.optional(v.pipe(v.array(v.picklist(['nested', 'flattened'])), v.minLength(1)), ['nested']),
  balancing: v.optional(v.pipe(v.array(text(64)), v.minLength(1), v.maxLength(64)), ['none']),
  blockThreads: countAxis,
  unitsPerThread: v.optional(countAxis),
  gridBlocks: v.optional(countAxis),
  blocksPerMultiprocessor: v.optional(countAxis),
  registerCap: v.optional(
    v.pipe(v.array(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)))), v.minLength(1), v.maxLength(64)),
    [null],
  ),
});

/** Quantities a constraint may bound; all are known before a time is predicted. */
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

export const constraintSchema = v.pipe(
  v.strictObject({
    quantity: v.picklist(CONSTRAINT_QUANTITIES),
    atLeast: v.optional(v.number()),
    atMost: v.optional(v.number()),
    multipleOf: v.optional(positive),
  }),
  v.check(
    (constraint) => constraint.atLeast !== undefined || constraint.atMost !== undefined || constraint.multipleOf !== undefined,
    'expected at least one of "atLeast", "atMost" or "multipleOf"',
  ),
);

export const studySchema = v.strictObject({
  $schema: v.optional(v.string()),
  lockstep: v.literal(STUDY_FORMAT_VERSION, 'expected 1, the version of the study format this Lockstep reads'),
  name: text(200),
  description: v.optional(v.pipe(v.string(), v.maxLength(4000)), ''),
  workload: workloadSchema,
  kernel: kernelSchema,
  devices: v.pipe(
    v.array(v.pipe(text(200), v.description('Id of a device of the catalogue or of your own devices'))),
    v.minLength(1),
    v.maxLength(64),
  ),
  axes: axesSchema,
  constraints: v.optional(v.pipe(v.array(constraintSchema), v.maxLength(64)), []),
  pipeline: v.optional(
    v.pipe(
      v.record(text(200), pipelineSchema),
      v.description('Measured pipeline parameters by device id; they replace the ones derived from the device'),
    ),
    {},
  ),
  seed: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 32 - 1)), 1),
});

export type StudyFile = v.InferInput<typeof studySchema>;
export type Study = v.InferOutput<typeof studySchema>;
export type CountAxis = v.InferOutput<typeof countAxis>;
export type Constraint = v.InferOutput<typeof constraintSchema>;
