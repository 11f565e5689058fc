import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isSqlite } from '../../../db/optuna.ts';
import type { MeasurementRecord, RunDraft, RunRecord } from '../../../db/records.ts';
import type {
  BenchmarkId,
  CaseResult,
  MeasuringDevice,
  PlanLine,
  PlanSource,
} from '../../../src-workers/domain/benchmark.ts';
import { DESIGN_FIELDS, DESIGN_NAMES, type NamedParameters } from '../../../src-workers/domain/design-names.ts';
import { kernelFileKind } from '../../../src-workers/domain/inspection.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import { parseBenchResults } from '../../../src-workers/parse/bench-results.ts';
import { parseKernelTuner, type FileSweep } from '../../../src-workers/parse/kernel-tuner.ts';
import { parseLoopTimes } from '../../../src-workers/parse/loops.ts';
import { parseMeasuredTimes, hasDesignColumns } from '../../../src-workers/parse/measured-times.ts';
import { parseSmiteMeans } from '../../../src-workers/parse/smite.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import { bytesSource, shown } from '../../../src-workers/parse/source.ts';
import { MAX_IMPORT_BYTES, unpacked } from '../../../src-workers/parse/unpack.ts';
import { spaceSize } from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import type { ImportedFile, ImportQuestions, MeasuringRequest } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { shortened } from '../../../src-workers/domain/text.ts';
import type { Context } from '../context.ts';
import { readBytes } from '../files/files.ts';
import { linkDesigns, hasDesignParameters } from './designs.ts';
import { parametersOfStudy } from './named-parameters.ts';
import { isJournal } from './optuna-journal.ts';
import { readOptunaStudies, readOptunaStudy, type TimeUnit } from './optuna.ts';
import { caseLabel } from '../measuring/measured.ts';
import { isSameDevice } from '../measuring/device.ts';
import { measurementRecord, type MeasuredRunStudy } from '../measuring/records.ts';
import { runPlan } from '../runs/run-view.ts';
import type { RunStudy } from '../studies/studies.ts';
import { digestOf } from '../studies/workloads.ts';
import { APP_VERSION } from '../version.ts';

/**
 * Measurements that were made elsewhere: read, and kept as a run of kind `import` with every repeat, so that they are
 * listed, compared and exported like those of this machine.
 */

const KNOWN_FORMATS =
  'a result file of a measurement (JSON lines, the plan first), a cache, T4 results or stored results of Kernel Tuner (JSON), measured loops ' +
  '(CSV: dataset, rows, cols, nnzs and a column per schedule), measured times of designs (CSV: design or the names of the axes, and ' +
  'time_ms), mean losses of SMITE (CSV: distribution, n, groups, …), or a storage of Optuna (SQLite or a journal); each also as .gz';

/**
 * What a file is, by its content. `lengths`: a matrix, a table, which may be a workload, or what a kernel was compiled
 * to; `message` says what to do with it.
 */
export type FileKind =
  | { readonly kind: 'results' | 'kernel-tuner' | 'optuna' | 'loops' | 'smite' | 'times' | 'study' | 'device' }
  | { readonly kind: 'lengths' | 'other'; readonly message: string };

/** Studies and devices are small; a larger JSON file is measurements. */
const MAX_STUDY_BYTES = 4_000_000;
const HEAD_BYTES = 65_536;
/** What one message to the store holds: neither side is busy with it for long. */
const MAX_BATCH_CASES = 1000;
const MAX_BATCH_TIMES = 20_000;

/** Reads a file to import, or the results of all slices in the folder of a bundle. Fails above the size limit. */
export async function readImportFile(path: string): Promise<Result<Uint8Array>> {
  const names = await readdir(path).catch(() => null);
  if (!names) return readBytes(path, MAX_IMPORT_BYTES);
  const results = names.filter((name) => /^results(-\d+)?\.jsonl$/.test(name)).sort();
  if (results.length === 0)
    return fail(
      'bad-input',
      `${path} holds no results.jsonl and no results-0.jsonl, … Specify a file, or the folder of a bundle that was measured.`,
    );
  // Each begins with the plan, which must be the same in all.
  const parts: Uint8Array[] = [];
  for (const name of results) {
    const left = MAX_IMPORT_BYTES - parts.reduce((sum, part) => sum + part.length, 0);
    const bytes = await readBytes(join(path, name), left);
    if (!bytes.ok) return bytes;
    parts.push(bytes.value);
  }
  return ok(Buffer.concat(parts));
}

/** Detects the kind of a file from its content. @param bytes not compressed */
export function fileKind(bytes: Uint8Array): FileKind {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  if (isSqlite(bytes) || isJournal(head)) return { kind: 'optuna' };
  if (head === '') return { kind: 'other', message: `The file is empty. Lockstep imports ${KNOWN_FORMATS}.` };
  if (/^\{\s*"type"\s*:/.test(head)) return { kind: 'results' };
  if (head.startsWith('{')) return bytes.length > MAX_STUDY_BYTES ? { kind: 'kernel-tuner' } : jsonKind(bytes);
  if (kernelFileKind('', bytes) !== null) {
    const message =
      'It says what a kernel is, not how long it takes. Use it on Kernel profile, or with lockstep kernel inspect.';
    return { kind: 'lengths', message };
  }
  if (/^%%MatrixMarket/i.test(head)) {
    return { kind: 'lengths', message: 'A matrix is a workload. Use it in a study as mtx:FILE.' };
  }
  const columns = head
    .split(/\r?\n/, 1)[0]
    .split(/[,;\t]/)
    .map((name) => name.replaceAll('"', '').trim());
  const has = (...names: readonly string[]): boolean => names.every((name) => columns.includes(name));
  if (has('dataset', 'rows', 'cols', 'nnzs')) return { kind: 'loops' };
  if (has('distribution', 'n', 'measured_mean_loss')) return { kind: 'smite' };
  if (hasDesignColumns(columns)) return { kind: 'times' };
  if (has('simulated_simt_iterations', 'measured_simt_cycles')) {
    return {
      kind: 'other',
      message:
        'Costs of single work groups do not say which lengths they had. Import their means (distribution, n, groups, …).',
    };
  }
  if (/^[\w"]+([,;\t]["\w]+)?\s*$/.test(head.split(/\r?\n/, 1)[0])) {
    return {
      kind: 'lengths',
      message: `Lengths of units are a workload. Use them in a study as file:FILE. Lockstep imports ${KNOWN_FORMATS}.`,
    };
  }
  const kind = head.includes('\0') ? 'other' : 'lengths';
  return { kind, message: `The format is not known. Lockstep imports ${KNOWN_FORMATS}.` };
}

function jsonKind(bytes: Uint8Array): FileKind {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Cut off, as caches may be: their own reader says what is wrong.
    return { kind: 'kernel-tuner' };
  }
  const has = (...names: readonly string[]): boolean =>
    typeof value === 'object' && value !== null && names.every((name) => Object.hasOwn(value, name));
  if (has('cache') || has('results') || has('data', 'tunable_parameters')) return { kind: 'kernel-tuner' };
  if (has('lockstep', 'workload', 'kernel')) return { kind: 'study' };
  if (has('kind', 'id', 'sources')) return { kind: 'device' };
  if (has('lockstep', 'study', 'rows')) {
    return {
      kind: 'other',
      message: 'An exported ranking holds no measurements. Import its study and predict it again.',
    };
  }
  return { kind: 'other', message: `The JSON file has no format that is known. Lockstep imports ${KNOWN_FORMATS}.` };
}

/** What every format comes to. */
interface Imported {
  readonly kind: ImportedFile['kind'];
  readonly cases: readonly CaseResult[];
  /** Per case, where the file is of several devices; otherwise `device` is the one. */
  readonly devices: readonly string[] | null;
  /** The device that measured, where the file describes it in full. */
  readonly device: MeasuringDevice | null;
  /** The name of the device alone: as the person or the file says, and as the name of the file may say. */
  readonly deviceName: string | null;
  readonly deviceGuess: string | null;
  readonly plan: PlanLine | null;
  /** The sweep whose designs the configurations are, where the file says it. */
  readonly sweep: FileSweep | null;
  /** Whether the cases without a time are predictions of Lockstep. */
  readonly predicted: boolean;
  /** What else the file says about itself: any JSON value. */
  readonly head: unknown;
  readonly warnings: readonly string[];
}

interface ImportInput {
  readonly fileName: string;
  readonly bytes: Uint8Array;
  readonly deviceName?: string | undefined;
  readonly runId?: number | undefined;
  readonly openRunId?: number | undefined;
  /** Fields of designs by the file's names of parameters, with those kept from earlier imports of the same study. */
  readonly parameters?: NamedParameters | undefined;
  /** Unit of times that have none in the file. */
  readonly timeUnit?: TimeUnit | undefined;
  /** The study to import, from a file with several. */
  readonly studyName?: string | undefined;
}

/** A file's cases, with the sweep whose designs they are where there is one. */
interface Linked extends LinkedSource {
  readonly cases: readonly CaseResult[];
  readonly devices: readonly (string | null)[] | null;
  readonly device: MeasuringDevice | null;
  /** Configurations of another program that are designs of the sweep. */
  readonly linked: ImportedFile['linked'] | null;
  /** The parameters by which the designs were found. */
  readonly parameters: NamedParameters;
}

/**
 * See the contract's `import.file`. A file that cannot be read leaves nothing in the database, and neither does one
 * whose import did not end: the store takes it out.
 */
export async function importFile(context: Context, input: ImportInput): Promise<Result<ImportedFile>> {
  const { fileName } = input;
  const start = performance.now();
  const content = await unpacked(input.bytes, fileName);
  if (!content.ok) return content;
  const read = await parsedFile(input, content.value);
  if (!read.ok) return read;
  const { plan } = read.value;
  if (read.value.cases.length === 0)
    return fail('bad-input', `${fileName}: ${[...read.value.warnings, 'No case has a result.'].join(' ')}`);

  const found = plan ? await linkedPlan(context, read.value, input) : await linkedFile(context, read.value, input);
  if (!found.ok) return fail(found.error.code, `${fileName}: ${found.error.message}`, found.error.context);
  const { cases, devices, device, source, study, linked, parameters } = found.value;
  const warnings = [...read.value.warnings, ...found.value.warnings];
  const request: MeasuringRequest = {
    target: fileName,
    backend: device?.backend ?? plan?.plan.backend ?? 'external',
    suite: linked ? 'designs' : suiteOf(cases),
    sourceRunId: source?.runId ?? null,
    deviceId: source?.deviceId ?? null,
    repeats: plan?.plan.repeats ?? cases.reduce((most, one) => Math.max(most, one.timesMs.length), 0),
    warmUps: plan?.plan.warmUps ?? 0,
    cases: plan?.plan.cases.length ?? cases.length,
    ...(plan?.plan.cache && { cache: plan.plan.cache }),
  };
  const file = {
    name: fileName,
    bytes: input.bytes.length,
    sha256: await digestOf(input.bytes),
    format: read.value.kind,
    head: read.value.head,
    ...(linked && Object.keys(parameters).length > 0 && { parameters }),
  };
  const draft: RunDraft = {
    kind: 'import',
    name: fileName.slice(0, MAX_NAME) || 'import',
    studyId: study?.studyId ?? null,
    study: { ...study?.study, measuring: { request, warnings }, file } satisfies MeasuredRunStudy & { file: unknown },
    appVersion: APP_VERSION,
    modelVersions: {},
    seed: plan?.plan.seed ?? null,
    machine: machineOf(device),
    sourceRunId: request.sourceRunId,
    enumeratedCount: cases.length,
    devices: study?.devices ?? [],
    axes: null,
  };
  const run = await context.store.createRun(draft);
  if (!run.ok) return run;
  const runId = run.value.id;

  const catalogue = await context.catalogue.list();
  const ownId =
    device && catalogue.ok ? (catalogue.value.find((one) => isSameDevice(one, device))?.id ?? device.name) : '';
  const records = {
    backend: request.backend,
    sourceRunId: source?.runId ?? null,
    deviceId: (position: number) => source?.deviceId ?? devices?.[position] ?? ownId,
  };
  const saved = device ? await context.store.saveMeasuringDevice(runId, device) : ok(null);
  // Cases without a design belong to another device or kernel than the sweep's designs.
  const isRanked = (one: CaseResult): boolean =>
    !linked || (one.case.benchmark === 'external' ? one.case.parameters.linked !== undefined : one.timesMs.length > 0);
  const best = saved.ok ? await saveCases(context, runId, cases, records, isRanked) : saved;
  const elapsedMs = performance.now() - start;
  const ended = await context.store.finishRun(
    runId,
    best.ok ? { state: 'complete', elapsedMs, best: best.value } : { state: 'failed', elapsedMs, failure: best.error },
  );
  if (!best.ok) return best;
  if (!ended.ok) return ended;
  const failed = cases.reduce((count, one) => count + Number(one.failure !== null), 0);
  return ok({ runId, kind: read.value.kind, cases: cases.length, failed, ...(linked && { linked }), warnings });
}

/** Values of a parameter that are shown. */
const SHOWN_VALUES = 6;

/** See the contract's `import.inspect`. A file that names its designs, or has none of another program, asks nothing. */
export async function inspectImport(
  context: Context,
  { fileName, bytes, openRunId, studyName }: ProcedureArguments<'import.inspect'>,
): Promise<Result<ImportQuestions | null>> {
  const content = await unpacked(bytes, fileName);
  if (!content.ok) return content;
  let studies: readonly string[] = [];
  let needsUnit = false;
  if (fileKind(content.value).kind === 'optuna') {
    const found = await readOptunaStudies(content.value, fileName);
    if (!found.ok) return found;
    if (found.value.length > 1) studies = found.value.map(({ name }) => name);
    needsUnit = true;
    if (studies.length > 1 && studyName === undefined) return ok({ studies, needsUnit, parameters: [] });
  }
  const read = await parsedFile({ fileName, bytes, studyName, timeUnit: needsUnit ? 'ms' : undefined }, content.value);
  // Importing says what is wrong.
  if (!read.ok) return needsUnit ? read : ok(null);
  const values = new Map<string, Set<string>>();
  const slice = new Slice();
  for (const { case: one } of read.value.cases) {
    if (slice.isOver) await slice.next();
    if (one.benchmark === 'external')
      for (const [name, value] of Object.entries(one.parameters.configuration))
        values.set(name, (values.get(name) ?? new Set()).add(String(value)));
  }
  const named = openRunId === undefined ? {} : await parametersOfStudy(context, openRunId, {});
  const isKnown = (await hasDesignParameters(read.value.cases, named)) || read.value.sweep !== null;
  if (!needsUnit && (openRunId === undefined || isKnown || values.size === 0)) return ok(null);
  const parameters = openRunId === undefined ? [] : [...values];
  return ok({
    studies,
    needsUnit,
    parameters: parameters.map(([name, all]) => ({
      name,
      field: Object.hasOwn(named, name)
        ? named[name]
        : (DESIGN_FIELDS.find((field) => (DESIGN_NAMES[field] as readonly string[]).includes(name)) ?? null),
      values: [...all].slice(0, SHOWN_VALUES).map((value) => shortened(value, 20)),
      distinct: all.size,
    })),
  });
}

const MAX_NAME = 200;

function machineOf(device: MeasuringDevice | null): unknown {
  if (!device) return null;
  return device.driver === '' ? { device: device.name } : { device: device.name, driver: device.driver };
}

/** Saves in batches; gives the fastest case of those that are ranked. */
async function saveCases(
  context: Context,
  runId: number,
  cases: readonly CaseResult[],
  origin: { readonly backend: string; readonly sourceRunId: number | null; deviceId(position: number): string },
  isRanked: (one: CaseResult) => boolean,
): Promise<Result<{ readonly timeMs: number; readonly design: string } | null>> {
  let best: { readonly timeMs: number; readonly position: number } | null = null;
  for (let from = 0; from < cases.length;) {
    const batch: MeasurementRecord[] = [];
    let times = 0;
    while (from < cases.length && batch.length < MAX_BATCH_CASES && times < MAX_BATCH_TIMES) {
      const one = cases[from];
      batch.push(measurementRecord(one, { ...origin, deviceId: origin.deviceId(from) }));
      times += one.timesMs.length;
      if (one.timesMs.length > 0 && one.correct !== false && isRanked(one)) {
        const timeMs = median(Float64Array.from(one.timesMs));
        if (!best || timeMs < best.timeMs) best = { timeMs, position: from };
      }
      from++;
    }
    const saved = await context.store.saveMeasurements(runId, batch);
    if (!saved.ok) return saved;
  }
  return ok(best && { timeMs: best.timeMs, design: caseLabel(cases[best.position].case) });
}

async function parsedFile(input: ImportInput, bytes: Uint8Array): Promise<Result<Imported>> {
  const { fileName } = input;
  const deviceName = input.deviceName?.trim() || null;
  const found = fileKind(bytes);
  switch (found.kind) {
    case 'results': {
      const results = await parseBenchResults(bytes, fileName);
      if (!results.ok) return results;
      const { plan, device, cases, warnings } = results.value;
      const ignored =
        deviceName !== null && device && deviceName !== device.name
          ? [`The file says that it was measured on ${device.name}, so "${deviceName}" was ignored.`]
          : [];
      return ok({
        kind: 'results',
        ...NOTHING_SAID,
        cases,
        device,
        plan,
        head: { source: plan.source, lengthsDigest: plan.lengthsDigest, workload: plan.plan.workload },
        warnings: [...warnings, ...ignored],
      });
    }
    case 'kernel-tuner': {
      const guess = nameParts(fileName);
      const file = await parseKernelTuner(bytes, fileName, guess.kernel);
      if (!file.ok) return file;
      const { format, cases, devices, sweep, head, warnings } = file.value;
      return ok({
        ...NOTHING_SAID,
        kind: `kernel-tuner-${format}`,
        cases,
        devices,
        deviceName: deviceName ?? file.value.deviceName,
        deviceGuess: devices ? null : guess.device,
        sweep,
        predicted: devices !== null,
        head,
        warnings,
      });
    }
    case 'optuna': {
      const study = await readOptunaStudy(bytes, fileName, input.studyName, input.timeUnit);
      return study.ok ? ok({ ...NOTHING_SAID, kind: 'optuna', ...study.value, deviceName }) : study;
    }
    case 'times': {
      const times = await parseMeasuredTimes(bytesSource(bytes), fileName, nameParts(fileName).stem);
      return times.ok ? ok({ ...NOTHING_SAID, kind: 'times', ...times.value, deviceName }) : times;
    }
    case 'loops':
    case 'smite': {
      const parse = found.kind === 'loops' ? parseLoopTimes : parseSmiteMeans;
      const cases = await parse(bytesSource(bytes), fileName);
      if (!cases.ok) return cases;
      return ok({ ...NOTHING_SAID, kind: found.kind, cases: cases.value, deviceName });
    }
    case 'study':
      return fail(
        'unsupported',
        `${fileName}: A study is not a measurement. Import it among the studies (Import study).`,
      );
    case 'device':
      return fail('unsupported', `${fileName}: A device is not a measurement. Add it among the devices (Add device).`);
    case 'lengths':
      return fail('unsupported', `${fileName}: ${found.message}`);
    case 'other':
      return fail('bad-input', `${fileName}: ${found.message}`);
  }
}

/** A file without facts about its measurement. */
const NOTHING_SAID = {
  devices: null,
  device: null,
  deviceName: null,
  deviceGuess: null,
  plan: null,
  sweep: null,
  predicted: false,
  head: null,
  warnings: [],
} as const;

/** A device known by its name alone. */
function namedDevice(name: string): MeasuringDevice {
  return {
    type: 'device',
    backend: 'external',
    name,
    fingerprint: name,
    driver: '',
    versions: {},
    threadGroupWidth: null,
    multiprocessors: null,
    clockMhz: null,
    timer: null,
    properties: {},
  };
}

/** `convolution-A100_T4.json.gz`, as published files are called: a kernel, then a device. */
function nameParts(fileName: string): { readonly stem: string; readonly kernel: string; readonly device: string } {
  const stem = fileName
    .replace(/(\.(json|csv|gz|cache|txt))+$/i, '')
    .replace(/[-_. ](T4|cache|results)$/i, '')
    .trim();
  const at = stem.search(/[-_][^-_]*$/);
  const [kernel, device] = at > 0 ? [stem.slice(0, at), stem.slice(at + 1)] : [stem, stem];
  return { stem, kernel, device: device || fileName };
}

/** The suite that the first of the cases belongs to. */
function suiteOf(cases: readonly CaseResult[]): MeasuringRequest['suite'] {
  const suites: Readonly<Record<BenchmarkId, MeasuringRequest['suite']>> = {
    'unit-loop': 'designs',
    'matrix-power': 'matrix-power',
    'divergent-loops': 'divergent-loops',
    'launch-grid': 'launch-grid',
    probe: 'probes',
    stream: 'contention',
    triangular: 'contention',
    'imbalanced-stream': 'contention',
    external: 'external',
  };
  return suites[cases[0].case.benchmark];
}

/** The sweep that designs were taken from, where this database has it. */
interface LinkedSource {
  readonly source: Pick<PlanSource, 'runId' | 'deviceId'> | null;
  readonly study: {
    readonly studyId: number | null;
    readonly study: RunStudy;
    readonly devices: RunDraft['devices'];
  } | null;
  readonly warnings: readonly string[];
}

/** A bundle's results, with the sweep of its plan. */
async function linkedPlan(
  context: Context,
  { cases, device, plan }: Imported,
  { runId }: ImportInput,
): Promise<Result<Linked>> {
  const source = plan?.source ?? null;
  if (runId !== undefined && !source)
    return fail('bad-input', `Its cases are not designs of a sweep. Import it without run ${runId}.`);
  const line = plan && source && runId !== undefined ? { ...plan, source: { ...source, runId } } : plan;
  const linked = await sourceOf(context, line);
  if (!linked.ok) return linked;
  if (runId !== undefined && !linked.value.source) return fail('conflict', linked.value.warnings.join(' '));
  return ok({ ...linked.value, cases, devices: null, device, linked: null, parameters: {} });
}

/**
 * Looks for a plan's sweep. Another database has other runs under the same numbers, so study, seed, device and every
 * design must be the same; where they are not, the measurements stand alone.
 */
async function sourceOf(context: Context, line: PlanLine | null): Promise<Result<LinkedSource>> {
  const source = line?.source ?? null;
  if (!line || !source) return ok({ source: null, study: null, warnings: [] });
  const run = await runOfFile(context, source);
  if (!run.ok) return run;
  if (typeof run.value === 'string') return ok(alone(run.value));
  const planned = await runPlan(context.store, run.value);
  if (!planned.ok) return planned;
  const { study, plan } = planned.value;
  const another = ok(alone(anotherRun(source.runId)));
  if (study.study.name !== source.study) return another;
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  for (const one of line.plan.cases) {
    if (one.benchmark !== 'unit-loop' || one.parameters.designIndex === null) continue;
    const { design, designIndex } = one.parameters;
    if (designIndex >= size) return another;
    const described = describeDesign(predictor, designIndex);
    if (described.device.id !== source.deviceId || !isDeepStrictEqual({ ...described.design }, { ...design })) {
      return another;
    }
  }
  const { studyId, devices } = run.value;
  return ok({ source, study: { studyId, study, devices }, warnings: [] });
}

const alone = (why: string): LinkedSource => ({
  source: null,
  study: null,
  warnings: [`${why}: the measurements stand alone.`],
});
const anotherRun = (runId: number): string => `Run ${runId} of this database is not the one that the designs are of`;

/** The run that a file says its designs are of, or why it is not here. */
async function runOfFile(context: Context, { runId, study, seed }: FileSweep): Promise<Result<RunRecord | string>> {
  const run = await context.store.getRun(runId);
  if (!run.ok && run.error.code !== 'not-found') return run;
  if (!run.ok || run.value.kind !== 'sweep' || run.value.deletedAt !== null)
    return ok(`The designs are of run ${runId} of "${study}", which is not in this database`);
  return ok(seed !== null && run.value.seed !== seed ? anotherRun(runId) : run.value);
}

/**
 * Links cases of a file to the sweep whose designs they are: the run that the user names, else the file, else the open
 * one.
 */
async function linkedFile(
  context: Context,
  read: Imported,
  { runId, openRunId, parameters: given = {} }: ImportInput,
): Promise<Result<Linked>> {
  const isMeasured = ({ timesMs, failure, values }: CaseResult): boolean =>
    timesMs.length > 0 || failure !== null || Object.keys(values).length > 0;
  const unlinked = ({ warnings }: Pick<LinkedSource, 'warnings'>): Result<Linked> => {
    const measured = read.predicted ? read.cases.flatMap((one, at) => (isMeasured(one) ? [at] : [])) : [];
    const isAllPredicted = read.predicted && measured.length === 0;
    const places = read.predicted && !isAllPredicted ? measured : [...read.cases.keys()];
    const name = read.deviceName ?? read.deviceGuess;
    const left = read.cases.length - places.length;
    return ok({
      source: null,
      study: null,
      cases: places.map((at) => read.cases[at]),
      devices: read.devices && places.map((at) => read.devices![at]),
      device: name === null || isAllPredicted ? null : namedDevice(name),
      linked: null,
      parameters: {},
      warnings: [
        ...(isAllPredicted ? ['A file of Lockstep: its times are predictions, nothing in it was measured.'] : warnings),
        ...(left > 0 ? [leftOutText(left)] : []),
        ...(read.deviceName === null && read.deviceGuess !== null
          ? [`The file names no device; ${shown(read.deviceGuess)} is from the file's name.`]
          : []),
        ...(name === null && !read.predicted ? ['The file does not say which device measured.'] : []),
      ],
    });
  };

  // Times of designs are nothing without their sweep.
  const isAsked = runId !== undefined || read.kind === 'times';
  let target = runId ?? read.sweep?.runId ?? null;
  let exported = read.sweep !== null && read.sweep.runId === target;
  if (read.sweep && exported) {
    const found = await runOfFile(context, read.sweep);
    if (!found.ok) return found;
    if (typeof found.value === 'string') {
      if (!isAsked) return unlinked(alone(found.value));
      exported = false;
    }
  }
  const parameters = await parametersOfStudy(context, target ?? openRunId, given);
  if (target === null && openRunId !== undefined && (isAsked || (await hasDesignParameters(read.cases, parameters))))
    target = openRunId;
  if (target === null)
    return isAsked
      ? fail(
          'bad-input',
          'The file does not say of which sweep its designs are. Name the run (import --run RUN), or open it in the app.',
        )
      : unlinked({ warnings: [] });

  const view = await context.views.open(target);
  if (!view.ok) return view;
  if (view.value.run.deletedAt !== null) return fail('not-found', `Run ${target} is in the bin. Restore it first.`);
  if (exported && view.value.study.study.name !== read.sweep!.study) {
    if (!isAsked) return unlinked(alone(anotherRun(target)));
    exported = false;
  }
  // A prediction of another run is no measurement of this one, and cannot be distinguished from a time that replaced
  // it.
  const places = [...read.cases.keys()].filter((at) => exported || !read.predicted || isMeasured(read.cases[at]));
  const left = read.cases.length - places.length;
  if (places.length === 0) return fail('conflict', `${leftOutText(left)} No other case was measured.`);
  const found = await linkDesigns(
    view.value,
    places.map((at) => read.cases[at]),
    read.devices && places.map((at) => read.devices![at]),
    read.deviceName,
    exported,
    parameters,
  );
  if (!found.ok) return isAsked ? found : unlinked(alone(sentence(found.error.message)));
  const { cases, device, designs, warnings } = found.value;
  const isOwnName = read.deviceName === null || read.deviceName === device.id;
  const { studyId, devices } = view.value.run;
  return ok({
    source: { runId: target, deviceId: device.id },
    study: { studyId, study: view.value.study, devices },
    cases,
    devices: null,
    device: namedDevice(isOwnName ? device.name : read.deviceName),
    linked: { runId: target, deviceId: device.id, designs },
    parameters,
    warnings: [
      ...warnings,
      ...(left > 0 ? [leftOutText(left)] : []),
      ...(read.deviceName === null
        ? [`The file does not say which device measured; taken as ${device.name}, which its designs are of.`]
        : []),
    ],
  });
}

const leftOutText = (count: number): string =>
  `${count.toLocaleString('en')} configurations of this file of Lockstep have no run times, only predictions: left out.`;
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
