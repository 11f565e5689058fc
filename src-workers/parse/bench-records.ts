import * as v from 'valibot';
import { BENCH_BACKENDS, CACHE_STATES, type BenchCase, type BenchRecord, type PlanLine } from '../domain/benchmark.ts';
import type { Design } from '../domain/design.ts';
import { SHARINGS } from '../domain/kernel.ts';
import type { KernelManifest } from '../domain/kernel-manifest.ts';
import { ok, type Result, badInput } from '../domain/result.ts';
import { MAX_COMMAND_CHARACTERS } from '../domain/program.ts';
import { MAX_CLASSES, parseBalancing } from '../domain/balancing.ts';

// A schema's message completes "must be …". Unknown fields are dropped, since a newer program may write more fields.
const text = (max: number) => {
  const expected = `text of at most ${max} characters`;
  return v.pipe(v.string(expected), v.maxLength(max, expected));
};
const number = (min = -Infinity) => {
  const expected = min === -Infinity ? 'a finite number' : `a number ≥ ${min}`;
  return v.pipe(v.number(expected), v.finite(expected), v.minValue(min, expected));
};
const whole = (min: number) => {
  const expected = `a whole number ≥ ${min}`;
  return v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(min, expected));
};
const yesOrNo = v.boolean('true or false');
const MAX_NAMES = 1000;
const named = <Value extends v.GenericSchema>(value: Value) =>
  v.pipe(
    v.record(text(200), value, 'a map of names'),
    v.check((map) => Object.keys(map).length <= MAX_NAMES, `at most ${MAX_NAMES} names`),
  );

const CASE_ID = /^[A-Za-z0-9._-]{1,200}$/;
const CASE_ID_FORM = "a case's id: letters, digits and .-_";
const caseId = v.pipe(v.string(CASE_ID_FORM), v.regex(CASE_ID, CASE_ID_FORM));

const design = v.object({
  implementation: v.exactOptional(text(400)),
  threadsPerUnit: whole(1),
  unitsPerThread: number(0),
  loop: v.picklist(['nested', 'flattened'], 'nested or flattened'),
  balancing: v.pipe(
    text(100),
    v.check((balancing) => parseBalancing(balancing).ok, 'a balancing such as none or window-sort(4096)'),
  ),
  blockThreads: whole(1),
  blockWidth: v.exactOptional(whole(1)),
  gridBlocks: whole(1),
  registerCap: v.nullable(whole(1)),
  classes: v.exactOptional(
    v.pipe(
      v.array(
        v.object({ upTo: v.nullable(number(0)), threadsPerUnit: whole(1), units: number(0), gridBlocks: whole(0) }),
      ),
      v.maxLength(MAX_CLASSES, `at most ${MAX_CLASSES} classes`),
    ),
  ),
}) satisfies v.GenericSchema<unknown, Design>;

const caseOf = <Id extends BenchCase['benchmark'], Parameters extends v.GenericSchema>(
  benchmark: Id,
  parameters: Parameters,
) => v.object({ id: caseId, benchmark: v.literal(benchmark), parameters });

const benchCase = v.variant(
  'benchmark',
  [
    caseOf(
      'unit-loop',
      v.object({
        design,
        designIndex: v.nullable(whole(0)),
        predictedMs: v.nullable(number(0)),
        residentBlocks: v.nullable(whole(1)),
      }),
    ),
    caseOf(
      'matrix-power',
      v.object({
        lengths: text(400),
        unitsPerGroup: whole(1),
        workGroups: whole(1),
        execution: v.picklist(['lockstep', 'independent'], 'lockstep or independent'),
        synchronised: yesOrNo,
      }),
    ),
    caseOf(
      'divergent-loops',
      v.object({
        loops: v.picklist(['single', 'double'], 'single or double'),
        divergentLanes: whole(0),
        iterations: whole(0),
      }),
    ),
    caseOf('launch-grid', v.object({ blocks: whole(1), threads: whole(1), elements: whole(0) })),
    caseOf('probe', v.object({ probe: text(200), arguments: named(number()) })),
    caseOf('stream', v.object({ cores: whole(1), bytesPerCore: whole(0) })),
    caseOf('triangular', v.object({ cores: whole(1), rows: whole(0) })),
    caseOf('imbalanced-stream', v.object({ cores: whole(1), bytesPerShare: whole(0) })),
    caseOf(
      'external',
      v.object({
        kernel: text(400),
        configuration: named(v.union([v.number(), text(4000), v.boolean()], 'a number, text, true or false')),
      }),
    ),
  ],
  'a benchmark that this version knows',
) satisfies v.GenericSchema<unknown, BenchCase>;

/** More than `bench.start` allows, because a suite (`BENCH_SUITES`) may have more cases. */
const MAX_CASES = 100_000;

const unitLoop = {
  instructionsPerIteration: number(0),
  integerShare: number(0),
  fp64Share: number(0),
  specialShare: number(0),
  serialFraction: number(0),
  cooperationCost: number(0),
  dependentLoadsPerIteration: number(0),
  bytesPerIteration: number(0),
  registersPerThread: whole(1),
  tableWords: whole(1),
};

const planLine = v.object({
  type: v.literal('plan'),
  plan: v.object({
    format: v.literal('lockstep-bench', '"lockstep-bench"'),
    version: v.literal(1, '1, the only version there is'),
    backend: v.picklist(BENCH_BACKENDS, `one of ${BENCH_BACKENDS.join(', ')}`),
    cases: v.pipe(v.array(benchCase, 'a list of cases'), v.maxLength(MAX_CASES, `at most ${MAX_CASES} cases`)),
    warmUps: whole(0),
    repeats: whole(1),
    seed: whole(0),
    caseTimeLimitMs: number(0),
    threadGroupWidth: v.exactOptional(whole(1)),
    alternating: v.exactOptional(whole(1)),
    cache: v.exactOptional(v.picklist(CACHE_STATES, `one of ${CACHE_STATES.join(', ')}`)),
    workload: v.nullable(
      v.object({
        label: text(1000),
        units: whole(1),
        profile: v.union(
          [
            v.object({
              ...unitLoop,
              version: v.literal(3),
              sharing: v.picklist(SHARINGS, `one of ${SHARINGS.join(', ')}`),
              unitInstructions: number(0),
              combineInstructions: number(0),
            }),
            v.object({ ...unitLoop, version: v.literal(2) }),
            v.object({
              version: v.optional(v.undefined()),
              parallelSteps: whole(0),
              serialSteps: whole(0),
              dependentLoads: whole(0),
              tableWords: whole(1),
            }),
          ],
          'a unit loop of version 1 to 3',
        ),
        // Files of older versions have no traffic.
        traffic: v.optional(v.nullable(v.object({ bytesPerIteration: number(0), bytesPerUnit: number(0) })), null),
      }),
    ),
    program: v.exactOptional(
      v.object({
        exec: text(MAX_COMMAND_CHARACTERS),
        build: v.nullable(text(MAX_COMMAND_CHARACTERS)),
        folder: text(4096),
        units: whole(1),
        deviceId: text(400),
        reference: v.nullable(text(400)),
        probe: yesOrNo,
        threadGroupWidth: v.exactOptional(v.nullable(whole(1))),
      }),
    ),
    kernel: v.exactOptional(
      v.object({
        // This manifest is only stored. Before a measurement, the manifest is read from its file again.
        manifest: v.custom<KernelManifest>((value) => typeof value === 'object' && value !== null, 'a manifest'),
        file: text(4096),
        digest: text(64),
        units: whole(1),
        threadGroupWidth: whole(1),
        device: v.nullable(whole(0)),
        platform: v.exactOptional(v.picklist(['hip', 'emulation', 'opencl'])),
      }),
    ),
  }),
  lengthsDigest: v.nullable(
    v.pipe(v.string('64 hexadecimal digits'), v.regex(/^[0-9a-f]{64}$/, '64 hexadecimal digits')),
  ),
  source: v.nullable(v.object({ runId: whole(1), study: text(400), seed: whole(0), deviceId: text(400) })),
}) satisfies v.GenericSchema<unknown, PlanLine>;

/** Maximum length of a list. It may have a value per work group, and the published data (SMITE) has 2¹⁷ groups. */
const MAX_VALUES = 2 ** 22;

const benchRecord = v.variant('type', [
  v.object({
    type: v.literal('device'),
    backend: v.picklist(BENCH_BACKENDS, `one of ${BENCH_BACKENDS.join(', ')}`),
    name: text(400),
    fingerprint: text(1000),
    driver: text(400),
    versions: named(text(400)),
    threadGroupWidth: v.nullable(whole(1)),
    multiprocessors: v.nullable(whole(1)),
    clockMhz: v.nullable(number(0)),
    timer: v.nullable(v.picklist(['device', 'host'], 'device or host')),
    properties: named(v.union([number(), text(4000)], 'a number or text')),
  }),
  v.object({
    type: v.literal('compiled'),
    case: caseId,
    registersPerThread: v.nullable(whole(0)),
    sharedMemoryBytes: v.nullable(whole(0)),
    spillBytes: v.nullable(whole(0)),
    residentBlocks: v.nullable(whole(0)),
  }),
  v.object({ type: v.literal('turn'), case: caseId }),
  v.object({
    type: v.literal('sample'),
    case: caseId,
    repeat: whole(0),
    warmUp: yesOrNo,
    timeNs: number(0),
    clockMhz: v.nullable(number(0)),
    memoryClockMhz: v.exactOptional(number(0)),
    powerW: v.exactOptional(number(0)),
    temperatureC: v.exactOptional(number()),
    throttleReasons: v.exactOptional(whole(0)),
  }),
  v.object({
    type: v.literal('check'),
    case: caseId,
    correct: yesOrNo,
    message: text(10_000),
    digest: v.exactOptional(text(400)),
  }),
  v.object({
    type: v.literal('values'),
    case: caseId,
    values: named(
      v.union([number(), v.pipe(v.array(number()), v.maxLength(MAX_VALUES))], 'a finite number, or a list of them'),
    ),
  }),
  v.object({ type: v.literal('failed'), case: caseId, message: text(10_000) }),
  v.object({ type: v.literal('lost'), message: text(10_000) }),
  v.object({ type: v.literal('done'), elapsedMs: number(0) }),
]) satisfies v.GenericSchema<unknown, BenchRecord>;
const RECORD_TYPES = new Set<string>(benchRecord.options.map(({ entries }) => entries.type.literal));

function checked<Schema extends v.GenericSchema>(schema: Schema, value: unknown): Result<v.InferOutput<Schema>> {
  const parsed = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (parsed.success) return ok(parsed.output);
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue) ?? '';
  const missing = issue.type === 'object' && issue.input === undefined;
  const got = typeof issue.input === 'string' ? JSON.stringify(issue.input.slice(0, 80)) : issue.received;
  const wrong =
    missing || issue.input === undefined || /^Invalid /.test(issue.message)
      ? 'is missing'
      : `must be ${issue.message}, not ${got}`;
  return badInput(`${path || 'record'}: ${wrong}`, { field: path });
}

export function recordType(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, 'type')) return null;
  const { type } = value as { readonly type: unknown };
  return typeof type === 'string' ? type : null;
}

/** Returns `null` for an unknown type. A failure names the field, its value and the permitted values. */
export function parseBenchRecord(value: unknown): Result<BenchRecord | null> {
  const type = recordType(value);
  if (type === null) return badInput('a record must be an object with a "type", such as "sample"');
  return RECORD_TYPES.has(type) ? checked(benchRecord, value) : ok(null);
}

export function parsePlanLine(value: unknown): Result<PlanLine> {
  const plan = checked(planLine, value);
  if (!plan.ok) return plan;
  const seen = new Set<string>();
  for (const [at, { id }] of plan.value.plan.cases.entries()) {
    if (seen.has(id))
      return badInput(`plan.cases.${at}.id: two cases have the id "${id}"`, { field: `plan.cases.${at}.id` });
    seen.add(id);
  }
  return plan;
}
