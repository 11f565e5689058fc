import * as v from 'valibot';
import type * as api from './api.ts';
import { MAX_LISTED, MAX_RANGES, RANK_COLUMNS } from './api.ts';
import type { AgentsState } from './agents.ts';
import type { AskedTimes, Recommendation, Robust, Sensitivity, Uncertainty } from './advice.ts';
import type * as measuring from './measuring.ts';
import { BENCH_SUITES } from './measuring.ts';
import type { RunnableDesigns } from './runnable.ts';
import {
  count,
  kernelChange,
  list,
  MAX_BEST,
  MAX_DESIGNS,
  studySchema,
  text,
  workloadSchema,
  type StudyFile,
} from './study.ts';
import { CACHE_STATES, type BenchPlan } from '../../src-workers/domain/benchmark.ts';
import type { CalibrationProfile } from '../../src-workers/domain/calibration.ts';
import { DESIGN_FIELDS, fieldNamed, type DesignField } from '../../src-workers/domain/design-names.ts';
import type { DatasetEvidence, DeviceEvidence, GpuDetail, TimedDevice } from '../../src-workers/domain/evidence.ts';
import { isObject } from '../../src-workers/domain/json.ts';
import type { LossReport } from '../../src-workers/domain/loss.ts';
import type { Inspection } from '../../src-workers/domain/inspection.ts';
import { VARIED_INPUTS, type VariedInput } from '../../src-workers/domain/provenance.ts';
import { newerInput } from './older-kernels.ts';
import { INVALID_REASONS } from '../../src-workers/domain/design.ts';
import { MAX_COMMAND_CHARACTERS } from '../../src-workers/domain/program.ts';
import type { TableSummary } from '../../src-workers/domain/table.ts';
import type { PlayedLaunch } from '../../src-workers/domain/timeline.ts';

interface Procedure<Entries extends v.ObjectEntries, Output> {
  readonly input: v.StrictObjectSchema<Entries, undefined>;
  readonly output: Output;
}

function procedure<Entries extends v.ObjectEntries>(entries: Entries) {
  return {
    returns<Output>(): Procedure<Entries, Output> {
      return { input: v.strictObject(entries), output: undefined as unknown as Output };
    },
  };
}

const id = v.pipe(v.number(), v.integer(), v.minValue(1));
const index = v.pipe(v.number(), v.integer(), v.minValue(0));
const shortText = v.pipe(v.string(), v.maxLength(400));
const MAX_SETTING_CHARACTERS = 100_000;
const setting = v.pipe(
  v.unknown(),
  v.check((value) => {
    try {
      const text = JSON.stringify(value) ?? '';
      // A message cannot carry the key `__proto__` (see `encodeMessage`).
      return text.length <= MAX_SETTING_CHARACTERS && !text.includes('"__proto__":');
    } catch {
      return false; // a page may send a value that JSON cannot express: a cycle, a BigInt
    }
  }, `must be JSON of at most ${MAX_SETTING_CHARACTERS} characters, without a key "__proto__"`),
);
const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array, 'must be bytes');
const delimiter = v.picklist(['comma', 'semicolon', 'tab', 'bar', 'space']);
const csvColumns = v.strictObject({
  length: shortText,
  count: v.exactOptional(shortText),
  probability: v.exactOptional(shortText),
  target: v.exactOptional(shortText),
  header: v.exactOptional(v.boolean()),
  delimiter: v.exactOptional(delimiter),
});
const folder = v.pipe(v.string(), v.maxLength(4096));
/** nvcc passes its flags to a shell, so no flag may start a program or contain a special character of a shell. */
const compilerFlag = v.pipe(
  v.string(),
  v.maxLength(1000),
  v.regex(
    /^-[DU]\w+(=[\w.+:,-]*)?$|^-(I|include=)[\p{L}\p{N}_./:+@-]+$|^--?(use_fast_math|(ftz|fmad|prec-div|prec-sqrt)=(true|false)|std=[\w+]+|expt-relaxed-constexpr|extended-lambda)$/u,
    'must be one of -DNAME, -DNAME=VALUE, -UNAME, -IFOLDER, -include=FILE, -std=…, -use_fast_math, -ftz=…, -fmad=…, -prec-div=…, -prec-sqrt=…, --expt-relaxed-constexpr, --extended-lambda; a FOLDER or FILE may contain only letters, digits and _ . / : + - @',
  ),
);
const whole = (from: number, to: number) => v.pipe(v.number(), v.integer(), v.minValue(from), v.maxValue(to));

/** Every field narrows the selection. Values of axes are written as in the study. */
export const rankFilter = v.strictObject({
  deviceId: v.optional(shortText),
  implementation: v.optional(v.array(shortText)),
  threadsPerUnit: v.optional(v.array(v.number())),
  balancing: v.optional(v.array(shortText)),
  loop: v.optional(v.array(shortText)),
  launch: v.optional(v.array(shortText)),
  blockThreads: v.optional(v.strictObject({ from: v.number(), to: v.number() })),
  blockWidth: v.optional(v.array(v.nullable(v.number()))),
  gridBlocks: v.optional(v.strictObject({ from: v.number(), to: v.number() })),
  registerCap: v.optional(v.array(v.nullable(v.number()))),
  timeMs: v.optional(v.strictObject({ from: v.number(), to: v.number() })),
  occupancyFraction: v.optional(v.strictObject({ from: v.number(), to: v.number() })),
  validity: v.optional(v.picklist(['valid', 'invalid', 'all']), 'valid'),
  invalidReason: v.optional(v.picklist(INVALID_REASONS.map((reason) => reason.code))),
});
export type RankFilter = v.InferInput<typeof rankFilter>;

const filter = v.optional(rankFilter, { validity: 'valid' });

/** The input of `bench.start`, and of `bench.bundle`, which packs the measurement for another machine. */
const measuringInput = {
  suite: v.optional(v.picklist(BENCH_SUITES), 'designs'),
  runId: v.optional(id),
  deviceId: v.optional(shortText),
  /**
   * The designs to measure, of those that the target can run: the best by prediction, random valid ones (by the seed of
   * the study), or ones spread evenly over the ranking. With `named`, all of `designs`, which the target must be able
   * to run.
   */
  choose: v.optional(v.picklist(['best', 'random', 'spread', 'named']), 'best'),
  count: v.optional(whole(1, 10_000), 20),
  designs: v.optional(v.pipe(v.array(index), v.minLength(1), v.maxLength(10_000))),
  repeats: v.optional(whole(1, 1000), 15),
  warmUps: v.optional(whole(0, 100), 3),
  caseTimeLimitMs: v.optional(whole(100, 3_600_000), 60_000),
  cache: v.exactOptional(v.picklist(CACHE_STATES)),
};

const DEFAULT_TIME_LIMIT_MS = 120_000;
const durationMs = v.pipe(v.number(), v.minValue(0), v.finite());
const probeTimes = v.strictObject({
  units: whole(1, 2 ** 31),
  startMs: durationMs,
  onceMs: durationMs,
  prepareMs: durationMs,
  launchMs: durationMs,
  slowestLaunchMs: durationMs,
});

const commandLine = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_COMMAND_CHARACTERS));
const ownProgram = v.optional(
  v.strictObject({
    /** The command that runs the program once, without a shell. It may have placeholders, such as `{blockThreads}`. */
    exec: commandLine,
    /** The command that makes `{binary}`. Designs with the same command share one run of it. */
    build: v.optional(v.nullable(commandLine), null),
    folder,
  }),
);

/** The manifest of the user's own kernel, for `cuda:0`, `opencl:0`, … and `webgpu`. Only for the command line. */
const ownKernel = v.optional(v.strictObject({ file: v.pipe(v.string(), v.minLength(1), v.maxLength(4096)) }));

const maxThreads = v.optional(v.nullable(whole(1, 2 ** 31)), null);
const pageLimits = v.optional(
  v.strictObject({ threadsPerUnit: maxThreads, blockThreads: maxThreads, bestBuckets: v.optional(v.boolean(), true) }),
);

const measuringPlace = { target: shortText, limits: pageLimits, program: ownProgram, kernel: ownKernel };

/** A study with unsaved changes. Its files are in `folder`, or next to the saved study. */
const unsavedStudy = { studyId: v.optional(id), study: studySchema, folder: v.optional(folder) };

const variedInput = v.pipe(
  v.custom<VariedInput>(
    (input) => typeof input === 'string',
    'must be the name of an input, such as kernel.serialFraction',
  ),
  v.transform((input) => newerInput(input) as VariedInput),
  v.picklist(VARIED_INPUTS),
);

/** An unsaved study or a saved run, exactly one of the two. */
const advisedInput = {
  ...unsavedStudy,
  study: v.optional(studySchema),
  runId: v.optional(id),
  deviceId: v.optional(shortText),
  client: v.optional(shortText),
};

const MAX_ASKED_DESIGNS = 100_000;

/** Maps the parameters of another program to fields of a design. A field may be given by any of its names. */
const namedParameters = v.record(
  shortText,
  v.nullable(
    v.pipe(
      v.string(),
      v.transform((name) => fieldNamed(name) as DesignField),
      v.picklist(DESIGN_FIELDS),
    ),
  ),
);

const MAX_LENGTHS = 2 ** 25;

const advice = {
  /**
   * Recommends a design for a device of an unsaved study or a saved run. Without a device, it uses the fastest one. For
   * a study, all designs of the devices are examined, or with `coarse` a few hundred of each. With `glance`, the answer
   * comes after about a tenth of a second, with the best designs found by then. For a run, its saved predictions are
   * used. A newer call of the same `client` cancels an older one, which fails with `cancelled`.
   * `baseline` is the design to compare with, in the study's space; the default is a plain one. `design` is a design to
   * explain instead of the picked one. With `robust`, the result includes the `uncertainty`, and the design has
   * about the least expected regret. Such a call cancels only older calls with `robust`.
   */
  'advice.recommend': procedure({
    ...advisedInput,
    baseline: v.optional(v.nullable(index)),
    design: v.optional(index),
    robust: v.optional(v.boolean(), false),
    look: v.optional(v.picklist(['glance', 'coarse', 'fastest', 'all']), 'all'),
  }).returns<Recommendation>(),
  /**
   * Finds what would change the advice: on one device, one input at a time varies over its usual range. The default
   * device is the fastest, and the default design is the recommended one. `inputs` restricts the inputs.
   */
  'advice.sensitivity': procedure({
    ...advisedInput,
    designIndex: v.optional(index),
    inputs: v.optional(v.array(variedInput)),
  }).returns<Sensitivity>(),
  /**
   * Recommends a design when some inputs are unknown: one with about the least expected regret under draws of their
   * laws. It also names the input that is most worth knowing. The default device is the fastest. The expected regret is
   * also given for the designs in `designs`.
   */
  'advice.uncertainty': procedure({
    ...advisedInput,
    designs: v.optional(v.pipe(v.array(index), v.maxLength(64)), []),
  }).returns<Uncertainty>(),
  /**
   * Finds one design for all scenarios. Every device of every run is a scenario (with `deviceIds`, only these devices).
   * With `vary`, each scenario becomes several, one for each value of an input. Designs are the same if all their axes
   * have the same values.
   */
  'advice.robust': procedure({
    runIds: v.pipe(v.array(id), v.minLength(1), v.maxLength(64)),
    deviceIds: v.optional(v.pipe(v.array(shortText), v.minLength(1), v.maxLength(64))),
    vary: v.optional(
      v.pipe(
        v.array(v.strictObject({ input: variedInput, values: v.pipe(v.array(v.number()), v.maxLength(64)) })),
        v.maxLength(16),
      ),
      [],
    ),
  }).returns<Robust>(),
  /**
   * Predicts designs by their parameters. A parameter has the name of a field in exports, or a name that `parameters`
   * maps to a field. Other parameters are ignored. Values need not be on the axes of the study.
   */
  'advice.predict': procedure({
    ...advisedInput,
    designs: v.pipe(
      v.array(v.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object of parameters')),
      v.minLength(1),
      v.maxLength(MAX_ASKED_DESIGNS),
    ),
    parameters: v.optional(namedParameters, {}),
    /** Whether to return the instructions and the memory traffic of each design too, for at most 64 designs. */
    work: v.optional(v.boolean(), false),
  }).returns<AskedTimes>(),
  'advice.code': procedure({
    ...unsavedStudy,
    deviceId: shortText,
    designIndex: index,
    format: shortText,
  }).returns<api.ExportDocument>(),
} as const;

const others = {
  'app.info': procedure({}).returns<api.AppInfo>(),
  'app.doctor': procedure({}).returns<readonly api.DoctorCheck[]>(),
  'settings.get': procedure({ key: shortText }).returns<unknown>(),
  'settings.set': procedure({ key: shortText, value: setting }).returns<null>(),

  'agents.state': procedure({}).returns<AgentsState>(),

  'studies.list': procedure({}).returns<readonly api.StudySummary[]>(),
  'studies.get': procedure({ id }).returns<api.StudyRecord>(),
  /**
   * With `known`, the version that the caller edited, fields that another caller saved since then are kept, unless both
   * changed them. The answer has the study as it was saved.
   */
  'studies.save': procedure({
    id: v.optional(id),
    study: studySchema,
    known: v.optional(studySchema),
    folder: v.optional(folder),
  }).returns<api.StudyRecord>(),
  'studies.import': procedure({
    text: v.pipe(v.string(), v.maxLength(4_000_000)),
    folder: v.optional(folder),
  }).returns<api.StudyRecord>(),
  'studies.duplicate': procedure({ id }).returns<api.StudyRecord>(),
  /** Makes a study that compares eight kernels for the product of an imported sparse matrix and a vector of doubles. */
  'studies.spmv': procedure({ lengths: workloadSchema.entries.lengths }).returns<api.StudyRecord>(),
  /**
   * Makes a study of lengths for a device, which is named by its id or as a driver names it. Unknown properties of the
   * kernel get usual values. Nothing is saved.
   */
  'studies.new': procedure({
    lengths: workloadSchema.entries.lengths,
    units: workloadSchema.entries.units,
    kernel: v.optional(kernelChange),
    device: v.strictObject({ name: text(200), multiprocessors: v.optional(v.nullable(count(4096)), null) }),
  }).returns<StudyFile>(),
  'studies.delete': procedure({ id }).returns<null>(),
  'studies.restore': procedure({ id }).returns<null>(),

  'workload.resolve': procedure({ studyId: v.optional(id), workload: workloadSchema }).returns<api.ResolvedWorkload>(),
  /**
   * Returns the lengths of a workload as a CSV that a study can name as file:NAME: in their order, or as probabilities
   * if they have no order. `csv` is null if there are too many lengths for one text.
   */
  'workload.csv': procedure({ studyId: id, workload: workloadSchema }).returns<{ readonly csv: string | null }>(),
  /**
   * Returns the columns of a table (CSV or Parquet, also as gzip), with the delimiter and header of a CSV, which are
   * guessed if they are not given. Returns null for other files, because `workload.upload` reads them without choices.
   */
  'workload.inspect': procedure({
    fileName: shortText,
    bytes,
    delimiter: v.optional(delimiter),
    header: v.optional(v.boolean()),
  }).returns<TableSummary | null>(),
  /**
   * Imports a file of lengths (CSV, a graph, Matrix Market, NPY, NPZ, Parquet, each also as gzip). The returned
   * `lengths` is a workload that refers to the file. `columns` says how to read a table. `units` is null if the file
   * gives only proportions. `note` says how the file was read, if the user could expect something else.
   */
  'workload.upload': procedure({ fileName: shortText, bytes, columns: v.optional(csvColumns) }).returns<{
    readonly lengths: string;
    readonly workload: api.ResolvedWorkload;
    readonly units: number | null;
    readonly note?: string;
  }>(),

  'devices.list': procedure({}).returns<readonly (api.Device & { readonly own: boolean })[]>(),
  /** Returns devices in the order of their ids in the call. The failure for an unknown id names similar ids. */
  'devices.get': procedure({ ids: v.pipe(v.array(shortText), v.maxLength(1000)) }).returns<readonly api.Device[]>(),
  'devices.save': procedure({ device: v.unknown() }).returns<api.Device>(),
  'devices.delete': procedure({ id: shortText }).returns<null>(),

  'space.size': procedure({ studyId: v.optional(id), study: studySchema }).returns<api.SpaceSize>(),

  /**
   * Starts a sweep of a saved study, or of `study`, whose relative files are in `folder`. With `best`, only this number
   * of designs is kept: the fastest over all devices. Designs that cannot be among the fastest are not predicted.
   */
  'runs.start': procedure({
    studyId: v.optional(id),
    study: v.optional(studySchema),
    folder: v.optional(folder),
    best: v.optional(whole(1, MAX_BEST)),
  }).returns<{ readonly runId: number }>(),
  'runs.wait': procedure({ id }).returns<api.RunSummary>(),
  'runs.resume': procedure({ id }).returns<{ readonly runId: number }>(),
  'runs.cancel': procedure({ id }).returns<null>(),
  /** With `deleted`, lists the runs in the bin; otherwise all other runs. */
  'runs.list': procedure({
    studyId: v.optional(id),
    deleted: v.optional(v.boolean(), false),
    limit: v.optional(whole(1, 1000), 200),
  }).returns<readonly api.RunSummary[]>(),
  'runs.changes': procedure({ studyId: v.optional(id) }).returns<readonly api.RunChange[]>(),
  'runs.get': procedure({ id }).returns<api.RunDetail>(),
  'runs.update': procedure({
    id,
    name: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(400))),
    note: v.optional(v.pipe(v.string(), v.maxLength(4000))),
    tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(60))), v.maxLength(30))),
  }).returns<api.RunSummary>(),
  'runs.delete': procedure({ id }).returns<null>(),
  'runs.restore': procedure({ id }).returns<null>(),
  /** Empties the bin, or only removes what was put into it until a time. */
  'runs.purge': procedure({ before: v.optional(v.pipe(v.string(), v.isoTimestamp())) }).returns<api.Purged>(),
  'runs.diff': procedure({ leftId: id, rightId: id }).returns<api.RunDiff>(),

  'ranking.page': procedure({
    runId: id,
    filter,
    sort: v.optional(v.strictObject({ column: v.picklist(RANK_COLUMNS), descending: v.boolean() }), {
      column: 'timeMs',
      descending: false,
    }),
    offset: v.optional(index, 0),
    limit: v.optional(whole(1, 1000), 100),
    baseline: v.optional(index),
    /** The `order` of an earlier page. An outdated order is ignored, and the page then has another `order`. */
    order: v.optional(index),
    find: v.optional(index),
    detail: v.optional(v.boolean(), false),
    /** Designs without a relevant difference share a row, except for the groups of `opened` designs. */
    groups: v.optional(v.boolean(), false),
    opened: v.optional(v.pipe(v.array(index), v.maxLength(1000)), []),
  }).returns<api.RankPage>(),
  'ranking.best': procedure({
    runId: id,
    deviceId: v.optional(shortText),
    limit: v.optional(whole(1, MAX_DESIGNS), 100),
    /** Selects some of the `limit` rows, because a list may be too long for one reply. */
    page: v.optional(v.strictObject({ offset: whole(0, MAX_DESIGNS), count: whole(1, MAX_DESIGNS) })),
    /** Designs without a relevant difference share a row, and `limit` counts rows. */
    groups: v.optional(v.boolean(), false),
  }).returns<api.BestDesigns>(),
  'ranking.histogram': procedure({ runId: id, filter, bins: v.optional(whole(4, 512), 64) }).returns<api.Histogram>(),
  'ranking.design': procedure({ runId: id, designIndex: index, filter }).returns<api.RankRow>(),
  /**
   * Returns the design that one would write first on a device (default: the device of the best design). If the space
   * allows these values, it has one thread per unit, no balancing and no register cap. Its blocks have about 256
   * threads, and its launch covers all units or else fills the device once.
   */
  'ranking.plain': procedure({ runId: id, deviceId: v.optional(shortText) }).returns<{
    readonly designIndex: number | null;
  }>(),
  'ranking.slices': procedure({ runId: id, designIndex: index }).returns<readonly api.DesignSlice[]>(),

  /**
   * Simulates designs of a sweep in a new run of kind `simulate`: the named designs, or the best by prediction (of one
   * device if one is named). A design is replicated until the 95 % confidence interval of its mean is at most
   * ± `halfWidth` × the mean, or `maxReplications` times. Like any run, it reports progress and can be cancelled and
   * resumed. Fails if a design is invalid, of a CPU or not in the run.
   */
  'simulations.start': procedure({
    runId: id,
    top: v.optional(whole(1, 1000), 20),
    deviceId: v.optional(shortText),
    designs: v.optional(v.pipe(v.array(index), v.minLength(1), v.maxLength(1000))),
    halfWidth: v.optional(v.pipe(v.number(), v.minValue(1e-4), v.maxValue(0.5)), 0.005),
    maxReplications: v.optional(whole(5, 1000), 30),
  }).returns<{ readonly runId: number }>(),
  'simulations.list': procedure({ runId: id }).returns<readonly api.SimulatedDesign[]>(),
  /**
   * Simulates one replication of a design of a sweep and returns its events in order of time. Replications are numbered
   * from 0, like the entries of `timesMs`.
   */
  'simulations.timeline': procedure({
    runId: id,
    designIndex: index,
    replication: v.optional(v.pipe(index, v.maxValue(1000)), 0),
    /** Identifies the caller. A newer call of the same client cancels the older one. */
    client: v.optional(shortText),
  }).returns<api.SimulationTimeline>(),

  /** Lists the targets of this machine. Asking the devices may take a second or two; `again` asks them again. */
  'bench.targets': procedure({ again: v.optional(v.boolean(), false) }).returns<readonly measuring.MeasuringTarget[]>(),
  /**
   * Starts a run of kind `bench`; resuming measures the cases without a result. With the target `webgpu-page`, nothing
   * starts here: the page requests the plan and sends records. A program does the same with the target `caller:NAME`.
   * The NAME distinguishes the measurements of several functions.
   */
  'bench.start': procedure({
    ...measuringPlace,
    ...measuringInput,
    /** Measures only this number of units (default: all). Fails for fewer units on a CPU, or of a user's own code. */
    units: v.optional(whole(1, 2 ** 31)),
    /** Measures only this number of the chosen designs, spread evenly over them; the default is all. */
    spreadDesigns: v.optional(whole(1, 10_000)),
    probe: v.optional(
      v.strictObject({
        ofRepeats: whole(1, 1000),
        ofDesigns: v.optional(whole(1, 10_000)),
        estimateMs: durationMs,
        fullMs: durationMs,
      }),
    ),
  }).returns<{
    readonly runId: number;
  }>(),
  /**
   * Launches a few designs of a `bench.start` request a few times, and reduces the request to fit the time: first the
   * repeats, then the units (as long as launches are not too short), then the designs. For `webgpu-page`, the page
   * launches the designs, one plan after another. `bench.cancelProbe` ends the probe of a `client`, which fails with
   * `cancelled`.
   */
  'bench.probe': procedure({
    ...measuringPlace,
    ...measuringInput,
    timeLimitMs: v.optional(whole(1000, 86_400_000), DEFAULT_TIME_LIMIT_MS),
    rounds: v.optional(v.pipe(v.array(probeTimes), v.maxLength(10)), []),
    client: v.optional(shortText),
  }).returns<measuring.ProbeAnswer>(),
  'bench.cancelProbe': procedure({ client: shortText }).returns<boolean>(),
  'bench.runnable': procedure({
    target: shortText,
    limits: pageLimits,
    runId: id,
    deviceId: v.optional(shortText),
  }).returns<RunnableDesigns>(),
  /**
   * Proposes which designs of a sweep to measure next, and estimates the regret of stopping now. It uses all
   * measurements of the sweep on this target (with this program or kernel) and measures nothing.
   */
  'bench.next': procedure({
    ...measuringPlace,
    runId: id,
    deviceId: v.optional(shortText),
    count: v.optional(whole(1, 100), 4),
  }).returns<measuring.TuningStep>(),
  'bench.plan': procedure({ id }).returns<BenchPlan>(),
  /** Receives measurements of a page or a caller. Each batch is saved before the reply. */
  'bench.record': procedure({ id, records: v.pipe(v.array(v.unknown()), v.maxLength(10_000)) }).returns<null>(),
  /**
   * Returns the files of a measurement for another machine, in a tar archive or, with `archive: false`, separately.
   * `slurmTasks` adds a job array with at most this number of tasks, and at most one for each case.
   */
  'bench.bundle': procedure({
    ...measuringInput,
    archive: v.optional(v.boolean(), true),
    /** Whether to write HIP for AMD. Thread groups are as wide as on the run's GPU, or 64 lanes without a GPU. */
    hip: v.optional(v.boolean(), false),
    slurmTasks: v.exactOptional(whole(1, 1000)),
  }).returns<measuring.Bundle>(),
  'bench.detail': procedure({ id }).returns<measuring.MeasuringDetail>(),
  'bench.compare': procedure({ id, profileId: v.optional(id) }).returns<measuring.MeasuringComparison>(),
  /**
   * Compares measured runs: a verdict for each design against the first run, the fastest design of each run, and its
   * cost in the other runs. Relative differences up to `threshold` are ignored.
   */
  'bench.compareRuns': procedure({
    ids: v.pipe(v.array(id), v.minLength(2), v.maxLength(16)),
    threshold: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.02),
  }).returns<measuring.RunsComparison>(),
  'bench.contention': procedure({ id }).returns<measuring.ContentionFindings>(),
  /**
   * Returns a device with the fields that a run of the suite `probes` measured on it. Saves nothing. The default
   * `device` is the catalogue's device that was measured. Fails if `device` is another one, or if a CPU emulated a GPU.
   */
  'bench.measuredDevice': procedure({ id, device: v.optional(v.unknown()) }).returns<measuring.MeasuredDevice>(),
  /**
   * Imports a file of results (of a bundle), a Kernel Tuner cache or T4 file, an Optuna storage, or a CSV of measured
   * loops, losses or times of designs, as a run of kind `import`.
   * `runId` is the sweep to match; the file is refused if no configuration is one of its designs. `openRunId` is the
   * sweep that the user is viewing, used if the file names none. `parameters` maps parameters of the file to fields of
   * a design, if their names do not show the fields. If designs are found, later imports of the study reuse the map.
   * `timeUnit` and `studyName` are for an Optuna storage.
   */
  'import.file': procedure({
    fileName: shortText,
    bytes,
    deviceName: v.optional(shortText),
    runId: v.optional(id),
    openRunId: v.optional(id),
    parameters: v.optional(namedParameters),
    /** Values of fields that the file lacks. */
    fixed: v.optional(v.record(v.picklist(DESIGN_FIELDS), v.union([v.number(), shortText]))),
    timeUnit: v.optional(v.picklist(['s', 'ms', 'us', 'ns'])),
    studyName: v.optional(shortText),
  }).returns<measuring.ImportedFile>(),
  /** Returns what the user must state before `import.file` can find designs in a file; null if nothing. */
  'import.inspect': procedure({
    fileName: shortText,
    bytes,
    openRunId: v.optional(id),
    studyName: v.optional(shortText),
  }).returns<measuring.ImportQuestions | null>(),

  /**
   * Reads a kernel's properties from a CUDA source (compiled here by nvcc), a cubin, PTX, a listing of machine code, a
   * log of `ptxas -v`, or a table of Nsight Compute. `arch` is the architecture to compile for. `folder` is the folder
   * of the file and its headers. A newer call of the same `client`, or `kernel.cancelInspect`, cancels an older one,
   * which fails with `cancelled`.
   */
  'kernel.inspect': procedure({
    fileName: shortText,
    bytes,
    entry: v.optional(v.pipe(v.string(), v.maxLength(4096))),
    arch: v.optional(v.pipe(v.string(), v.regex(/^sm_\d{2,3}[a-z]?$/, 'must be an architecture such as sm_90'))),
    loop: v.optional(whole(1, 1000)),
    iterationsPerLoop: v.optional(whole(1, 4096)),
    meanLength: v.optional(v.pipe(v.number(), v.gtValue(1), v.maxValue(1e5))),
    caps: v.optional(v.pipe(v.array(whole(16, 255)), v.maxLength(16)), []),
    flags: v.optional(v.pipe(v.array(compilerFlag), v.maxLength(64)), []),
    folder: v.optional(folder),
    client: v.optional(shortText),
  }).returns<Inspection>(),
  'kernel.cancelInspect': procedure({ client: shortText }).returns<boolean>(),

  /** Fits the parameters of a device to a measured run. Nothing is saved. */
  'calibration.fit': procedure({ id }).returns<CalibrationProfile>(),
  'calibration.save': procedure({
    id,
    name: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
  }).returns<measuring.SavedProfile>(),
  'calibration.list': procedure({ deviceId: v.optional(shortText) }).returns<readonly measuring.SavedProfile[]>(),
  'calibration.delete': procedure({ id }).returns<null>(),
  /**
   * Writes the parameters of a profile into a study: those of the device to `pipeline`, and the identified values of
   * the kernel (serial fraction, cooperation cost, setup) to the kernel, for all devices. Fails for a profile of the
   * loop that stands in for a kernel. `null` removes the parameters of the device, and restores the kernel's earlier
   * values if their run is known, or else marks them as assumed.
   */
  'calibration.use': procedure({
    studyId: id,
    deviceId: shortText,
    profileId: v.nullable(id),
  }).returns<api.StudyRecord>(),

  'landscape.grid': procedure({
    runId: id,
    x: shortText,
    y: shortText,
    /** Maps an axis to the index of its fixed value. The best value is used for all other axes. */
    hold: v.optional(v.record(shortText, index), {}),
    /** Sets only `passing`, which marks the cells with a design that passes. Times are the best of all designs. */
    filter,
  }).returns<api.LandscapeGrid>(),
  'landscape.facets': procedure({
    runId: id,
    x: shortText,
    y: shortText,
    facet: shortText,
    hold: v.optional(v.record(shortText, index), {}),
    filter,
    columns: v.optional(whole(1, 4096), 184),
    rows: v.optional(whole(1, 4096), 124),
  }).returns<api.LandscapeFacets>(),
  'landscape.parallel': procedure({
    runId: id,
    filter,
    sample: v.optional(whole(10, 5000), 600),
  }).returns<api.ParallelSample>(),
  'landscape.roofline': procedure({
    runId: id,
    deviceId: shortText,
    filter,
    sample: v.optional(whole(10, 2000), 600),
  }).returns<api.Roofline>(),
  'landscape.axes': procedure({ runId: id }).returns<readonly api.LandscapeAxis[]>(),

  'compare.devices': procedure({ runId: id, designIndex: v.optional(index) }).returns<api.DeviceComparisonResult>(),
  /**
   * Returns the 90 % ranges of the times of valid designs: the errors of predictions for measured kernels of the same
   * kind, combined with draws of the assumed inputs. The draws take up to a few seconds.
   */
  'compare.ranges': procedure({ runId: id, designs: v.pipe(v.array(index), v.maxLength(MAX_RANGES)) }).returns<
    readonly api.DesignRange[]
  >(),
  'design.explain': procedure({ runId: id, designIndex: index }).returns<api.Breakdown>(),

  'export.formats': procedure({}).returns<readonly api.ExportFormat[]>(),
  'export.render': procedure({
    runId: id,
    format: shortText,
    designIndex: v.optional(index),
    deviceId: v.optional(shortText),
    limit: v.optional(whole(1, MAX_LISTED), 100),
    /** Adds each design's expected regret and chance of being near the best, in formats that have them (`weighs`). */
    weigh: v.optional(v.boolean()),
  }).returns<api.ExportDocument>(),
  /** Returns the next part of a document of `export.render`. Each part is available once, within a minute. */
  'export.next': procedure({ part: id }).returns<api.ExportPart>(),

  /** Simulates unbalanced work on an imaginary small device, for display. `lengths` must name a law, not a file. */
  'models.play': procedure({
    lengths: shortText,
    unitsPerGroup: whole(1, 64),
    groupsPerBlock: whole(1, 32),
    residentBlocks: whole(1, 32),
    multiprocessors: whole(1, 16),
    gridBlocks: whole(1, 4096),
    pipeline: v.strictObject({
      latencyCycles: v.pipe(v.number(), v.minValue(1), v.maxValue(1e9)),
      issueCycles: v.pipe(v.number(), v.minValue(0), v.maxValue(1e9)),
      kneeSoftness: v.pipe(v.number(), v.minValue(1), v.maxValue(1000)),
      schedulers: whole(1, 64),
    }),
    seed: whole(0, 2 ** 31 - 1),
  }).returns<PlayedLaunch>(),
  /**
   * Computes the loss of a workload in lockstep, by units per group. The lengths are a list in the order of the units,
   * or a text that may name files in `folder`.
   */
  'models.loss': procedure({
    workload: v.strictObject({
      lengths: v.union(
        [text(4096), list(count(2 ** 53 - 1, 0), MAX_LENGTHS, 'lengths')],
        'must be text or a list of whole numbers',
      ),
      truncation: workloadSchema.entries.truncation,
    }),
    n: v.optional(list(whole(1, 1_000_000), 1000, 'units per group'), [2, 4, 8, 16, 32]),
    /** Quantiles of the loss take up to half a second for each n. */
    quantiles: v.optional(v.boolean(), true),
    folder: v.optional(folder),
  }).returns<LossReport>(),
  'models.reproduce': procedure({ paper: v.optional(shortText) }).returns<readonly api.ReproductionTable[]>(),

  /** Compares predictions with measurements: of one data set, of all, or of a file with the same columns. */
  'evidence.judge': procedure({
    dataset: v.optional(shortText),
    data: v.optional(v.strictObject({ fileName: shortText, bytes })),
  }).returns<{ readonly datasets: readonly DatasetEvidence[] }>(),
  'evidence.devices': procedure({}).returns<Readonly<Record<string, DeviceEvidence>>>(),
  'evidence.run': procedure({ runId: id }).returns<readonly TimedDevice[]>(),
  'evidence.gpu': procedure({ dataset: shortText, gpu: shortText, implementation: shortText }).returns<GpuDetail>(),
} as const;

/** The table has two parts, because TypeScript cannot declare a type as large as the whole (TS7056). */
export const procedures: typeof advice & typeof others = { ...advice, ...others };

export type Procedures = typeof procedures;
export type ProcedureName = keyof Procedures;
export type ProcedureInput<Name extends ProcedureName> = v.InferInput<Procedures[Name]['input']>;
/** The input of a service, with defaults filled in. */
export type ProcedureArguments<Name extends ProcedureName> = v.InferOutput<Procedures[Name]['input']>;
export type ProcedureOutput<Name extends ProcedureName> = Procedures[Name]['output'];

export interface Events {
  'run.progress': api.RunProgress;
  'run.finished': api.RunSummary;
  /** Asks the page that measures this run for a `bench.record`, which may be empty. */
  'bench.ping': { readonly runId: number };
  /** Something in the store changed, perhaps in another window or process. A view must read its data again. */
  'store.changed': { readonly what: 'studies' | 'runs' | 'devices' | 'settings' | 'all' };
  'engine.lost': { readonly message: string };
}
export type EventName = keyof Events;
