import { isDeepStrictEqual } from 'node:util';
import type { MeasurementRecord, RunDraft } from '../../db/records.ts';
import type {
  BenchmarkId,
  CaseResult,
  MeasuringDevice,
  PlanLine,
  PlanSource,
} from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { parseBenchResults } from '../../src-workers/parse/bench-results.ts';
import { parseKernelTuner } from '../../src-workers/parse/kernel-tuner.ts';
import { parseLoopTimes } from '../../src-workers/parse/loops.ts';
import { parseSmiteMeans } from '../../src-workers/parse/smite.ts';
import { shown } from '../../src-workers/parse/source.ts';
import { MAX_IMPORT_BYTES, unpacked } from '../../src-workers/parse/unpack.ts';
import { spaceSize } from '../../src-workers/space/axes.ts';
import { describeDesign } from '../../src-workers/sweep/designs.ts';
import { createPredictor } from '../../src-workers/sweep/predictor.ts';
import type { ImportedFile, MeasuringRequest } from '../contract/measuring.ts';
import type { Context } from './context.ts';
import { readBytes } from './files.ts';
import { caseLabel } from './measured.ts';
import { isSameDevice } from './measured-device.ts';
import { measurementRecord, type MeasuredRunStudy } from './measured-records.ts';
import { runPlan } from './run-view.ts';
import type { RunStudy } from './sweeps.ts';
import { APP_VERSION } from './version.ts';

/**
 * Measurements that were made elsewhere: read, and kept as a run of kind `import` with every repeat, so that they are listed,
 * compared and exported like those of this machine.
 */

const KNOWN_FORMATS =
  'a result file of a measurement (JSON lines, the plan first), a cache or T4 results file of Kernel Tuner (JSON), measured loops ' +
  '(CSV: dataset, rows, cols, nnzs and a column per schedule), or mean losses of SMITE (CSV: distribution, n, groups, …); each also as .gz';

/** What a file is, by its content. `other`: it has a place elsewhere in Lockstep, and `message` says which. */
export type FileKind =
  | { readonly kind: 'results' | 'kernel-tuner' | 'loops' | 'smite' | 'study' | 'device' }
  | { readonly kind: 'other'; readonly message: string };

/** Studies and devices are small; a larger JSON file is measurements. */
const MAX_STUDY_BYTES = 4_000_000;
const HEAD_BYTES = 65_536;
/** What one message to the store holds: neither side is busy with it for long. */
const MAX_BATCH_CASES = 1000;
const MAX_BATCH_TIMES = 20_000;

/** Reads a file that is to be imported, if it is one and not too large. */
export const readImportFile = (path: string): Promise<Result<Uint8Array>> => readBytes(path, MAX_IMPORT_BYTES);

/** Tells what a file is from its content. @param bytes not compressed */
export function fileKind(bytes: Uint8Array): FileKind {
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  if (head === '') return { kind: 'other', message: `the file is empty; expected ${KNOWN_FORMATS}` };
  if (/^\{\s*"type"\s*:/.test(head)) return { kind: 'results' };
  if (head.startsWith('{')) return bytes.length > MAX_STUDY_BYTES ? { kind: 'kernel-tuner' } : jsonKind(bytes);
  if (/^%%MatrixMarket/i.test(head)) {
    return { kind: 'other', message: 'a matrix is a workload: use it in a study as mtx:FILE' };
  }
  const columns = head
    .split(/\r?\n/, 1)[0]!
    .split(',')
    .map((name) => name.replaceAll('"', '').trim());
  const has = (...names: readonly string[]): boolean => names.every((name) => columns.includes(name));
  if (has('dataset', 'rows', 'cols', 'nnzs')) return { kind: 'loops' };
  if (has('distribution', 'n', 'measured_mean_loss')) return { kind: 'smite' };
  if (has('simulated_simt_iterations', 'measured_simt_cycles')) {
    return {
      kind: 'other',
      message:
        'costs of single work groups do not say which lengths they had; import their means (distribution, n, groups, …)',
    };
  }
  if (/^[\w"]+([,;\t]["\w]+)?\s*$/.test(head.split(/\r?\n/, 1)[0]!)) {
    return {
      kind: 'other',
      message: `lengths of units are a workload: use them in a study as file:FILE. Expected ${KNOWN_FORMATS}`,
    };
  }
  return { kind: 'other', message: `no format that is known; expected ${KNOWN_FORMATS}` };
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
  if (has('cache') || has('results')) return { kind: 'kernel-tuner' };
  if (has('lockstep', 'workload', 'kernel')) return { kind: 'study' };
  if (has('kind', 'id', 'sources')) return { kind: 'device' };
  if (has('lockstep', 'study', 'rows')) {
    return {
      kind: 'other',
      message: 'an exported ranking holds no measurements: import its study and predict it again',
    };
  }
  return { kind: 'other', message: `a JSON file of no format that is known; expected ${KNOWN_FORMATS}` };
}

/** What every format comes to. */
interface Imported {
  readonly kind: ImportedFile['kind'];
  readonly cases: readonly CaseResult[];
  /** Per case, where the file is of several devices; otherwise `device` is the one. */
  readonly deviceOf: (position: number) => string | null;
  readonly device: MeasuringDevice | null;
  readonly plan: PlanLine | null;
  /** What the file says of itself besides. Any JSON value. */
  readonly head: unknown;
  readonly warnings: readonly string[];
}

/**
 * See the contract's `import.file`. A file that cannot be read leaves nothing in the database, and neither does one whose import
 * did not end: the store takes it out.
 */
export async function importFile(
  context: Context,
  input: { readonly fileName: string; readonly bytes: Uint8Array; readonly deviceName?: string | undefined },
): Promise<Result<ImportedFile>> {
  const { fileName } = input;
  const start = performance.now();
  const content = await unpacked(input.bytes, fileName);
  if (!content.ok) return content;
  const deviceName = input.deviceName?.trim() || null;
  const read = await parsedFile(fileName, content.value, deviceName);
  if (!read.ok) return read;
  const { cases, plan } = read.value;
  if (cases.length === 0)
    return fail(
      'bad-input',
      `${fileName}: ${[...read.value.warnings, 'No case has a result; expected at least one.'].join(' ')}`,
    );

  const linked = await sourceOf(context, plan);
  if (!linked.ok) return linked;
  const { source, study } = linked.value;
  const warnings = [...read.value.warnings, ...linked.value.warnings];
  const request: MeasuringRequest = {
    target: fileName,
    backend: read.value.device?.backend ?? plan?.plan.backend ?? 'external',
    suite: suiteOf(cases),
    sourceRunId: source?.runId ?? null,
    deviceId: source?.deviceId ?? null,
    repeats: plan?.plan.repeats ?? cases.reduce((most, one) => Math.max(most, one.timesMs.length), 0),
    warmUps: plan?.plan.warmUps ?? 0,
    cases: plan?.plan.cases.length ?? cases.length,
  };
  const file = {
    name: fileName,
    bytes: input.bytes.length,
    sha256: await digest(input.bytes),
    format: read.value.kind,
    head: read.value.head,
  };
  const draft: RunDraft = {
    kind: 'import',
    name: fileName.slice(0, MAX_NAME) || 'import',
    studyId: study?.studyId ?? null,
    study: { ...study?.study, measuring: { request, warnings }, file } satisfies MeasuredRunStudy & { file: unknown },
    appVersion: APP_VERSION,
    modelVersions: {},
    seed: plan?.plan.seed ?? null,
    machine: machineOf(read.value.device),
    sourceRunId: request.sourceRunId,
    enumeratedCount: cases.length,
    devices: study?.devices ?? [],
    axes: null,
  };
  const run = await context.store.createRun(draft);
  if (!run.ok) return run;
  const runId = run.value.id;

  const catalogue = await context.catalogue.list();
  const { device } = read.value;
  const ownId =
    device && catalogue.ok ? (catalogue.value.find((one) => isSameDevice(one, device))?.id ?? device.name) : '';
  const records = {
    backend: request.backend,
    sourceRunId: source?.runId ?? null,
    deviceId: (position: number) => source?.deviceId ?? read.value.deviceOf(position) ?? ownId,
  };
  const saved = device ? await context.store.saveMeasuringDevice(runId, device) : ok(null);
  const best = saved.ok ? await saveCases(context, runId, cases, records) : saved;
  const elapsedMs = performance.now() - start;
  const ended = await context.store.finishRun(
    runId,
    best.ok ? { state: 'complete', elapsedMs, best: best.value } : { state: 'failed', elapsedMs, failure: best.error },
  );
  if (!best.ok) return best;
  if (!ended.ok) return ended;
  const failed = cases.reduce((count, one) => count + Number(one.failure !== null), 0);
  return ok({ runId, kind: read.value.kind, cases: cases.length, failed, warnings });
}

const MAX_NAME = 200;

/** SHA-256, hexadecimal, off this thread. */
async function digest(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex');
}

function machineOf(device: MeasuringDevice | null): unknown {
  if (!device) return null;
  return device.driver === '' ? { device: device.name } : { device: device.name, driver: device.driver };
}

/** Saves in batches; gives the fastest case. */
async function saveCases(
  context: Context,
  runId: number,
  cases: readonly CaseResult[],
  origin: { readonly backend: string; readonly sourceRunId: number | null; deviceId(position: number): string },
): Promise<Result<{ readonly timeMs: number; readonly design: string } | null>> {
  let best: { readonly timeMs: number; readonly position: number } | null = null;
  for (let from = 0; from < cases.length;) {
    const batch: MeasurementRecord[] = [];
    let times = 0;
    while (from < cases.length && batch.length < MAX_BATCH_CASES && times < MAX_BATCH_TIMES) {
      const one = cases[from]!;
      batch.push(measurementRecord(one, { ...origin, deviceId: origin.deviceId(from) }));
      times += one.timesMs.length;
      if (one.timesMs.length > 0 && one.correct !== false) {
        const timeMs = median(Float64Array.from(one.timesMs));
        if (!best || timeMs < best.timeMs) best = { timeMs, position: from };
      }
      from++;
    }
    const saved = await context.store.saveMeasurements(runId, batch);
    if (!saved.ok) return saved;
  }
  return ok(best && { timeMs: best.timeMs, design: caseLabel(cases[best.position]!.case) });
}

async function parsedFile(fileName: string, bytes: Uint8Array, deviceName: string | null): Promise<Result<Imported>> {
  const found = fileKind(bytes);
  switch (found.kind) {
    case 'results': {
      const results = await parseBenchResults(bytes, fileName);
      if (!results.ok) return results;
      const { plan, device, cases, warnings } = results.value;
      const ignored =
        deviceName !== null && device && deviceName !== device.name
          ? [`The file says that ${device.name} measured; "${deviceName}" was left out.`]
          : [];
      return ok({
        kind: 'results',
        cases,
        device,
        plan,
        deviceOf: () => null,
        head: { source: plan.source, lengthsDigest: plan.lengthsDigest, workload: plan.plan.workload },
        warnings: [...warnings, ...ignored],
      });
    }
    case 'kernel-tuner': {
      const guess = nameParts(fileName);
      const file = await parseKernelTuner(bytes, fileName, guess.kernel);
      if (!file.ok) return file;
      const { format, cases, devices, head, warnings } = file.value;
      const named = devices ? NO_DEVICE : namedDevice(deviceName ?? file.value.deviceName, guess.device);
      return ok({
        kind: format === 'cache' ? 'kernel-tuner-cache' : 'kernel-tuner-t4',
        cases,
        deviceOf: (position) => devices?.[position] ?? null,
        device: named.device,
        plan: null,
        head,
        warnings: [...warnings, ...named.warnings],
      });
    }
    case 'loops':
    case 'smite': {
      const source = async function* (): AsyncGenerator<Uint8Array> {
        yield bytes;
      };
      const parse = found.kind === 'loops' ? parseLoopTimes : parseSmiteMeans;
      const cases = await parse(source(), fileName);
      if (!cases.ok) return cases;
      const named = namedDevice(deviceName, null);
      return ok({
        kind: found.kind,
        cases: cases.value,
        deviceOf: () => null,
        device: named.device,
        plan: null,
        head: null,
        warnings: named.device ? [] : ['The file does not say which device measured.'],
      });
    }
    case 'study':
      return fail(
        'unsupported',
        `${fileName}: a study is no measurement; expected it among the studies (Import study)`,
      );
    case 'device':
      return fail('unsupported', `${fileName}: a device is no measurement; expected it among the devices (Add device)`);
    case 'other':
      return fail('bad-input', `${fileName}: ${found.message}`);
  }
}

const NO_DEVICE = { device: null, warnings: [] } as const;

/** A device known by its name alone. @param guess from the file's name, where the file itself says nothing */
function namedDevice(
  name: string | null,
  guess: string | null,
): { readonly device: MeasuringDevice | null; readonly warnings: readonly string[] } {
  const known = name ?? guess;
  if (known === null) return NO_DEVICE;
  const device: MeasuringDevice = {
    type: 'device',
    backend: 'external',
    name: known,
    fingerprint: known,
    driver: '',
    versions: {},
    threadGroupWidth: null,
    multiprocessors: null,
    clockMhz: null,
    timer: null,
    properties: {},
  };
  return {
    device,
    warnings: name === null ? [`The file names no device; ${shown(known)} is from the file's name.`] : [],
  };
}

/** `convolution-A100_T4.json.gz`, as published files are called: a kernel, then a device. */
function nameParts(fileName: string): { readonly kernel: string; readonly device: string } {
  const stem = fileName
    .replace(/(\.(json|gz|cache|txt))+$/i, '')
    .replace(/[-_. ](T4|cache|results)$/i, '')
    .trim();
  const at = stem.search(/[-_][^-_]*$/);
  const [kernel, device] = at > 0 ? [stem.slice(0, at), stem.slice(at + 1)] : [stem, stem];
  return { kernel, device: device || fileName };
}

/** The suite that the cases belong to; of several the first. */
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
  return suites[cases[0]!.case.benchmark];
}

/** The sweep that a plan's designs were taken from, where this database has it. */
interface LinkedSource {
  readonly source: PlanSource | null;
  readonly study: {
    readonly studyId: number | null;
    readonly study: RunStudy;
    readonly devices: RunDraft['devices'];
  } | null;
  readonly warnings: readonly string[];
}

/**
 * Looks for a plan's sweep. Another database has other runs under the same numbers, so study, seed, device and every design
 * must be the same; where they are not, the measurements stand alone.
 */
async function sourceOf(context: Context, line: PlanLine | null): Promise<Result<LinkedSource>> {
  const alone = (why: string): Result<LinkedSource> =>
    ok({ source: null, study: null, warnings: [`${why}: the measurements stand alone.`] });
  const source = line?.source ?? null;
  if (!line || !source) return ok({ source: null, study: null, warnings: [] });
  const run = await context.store.getRun(source.runId);
  if (!run.ok && run.error.code !== 'not-found') return run;
  if (!run.ok || run.value.kind !== 'sweep' || run.value.deletedAt !== null) {
    return alone(`The designs are of run ${source.runId} of "${source.study}", which is not in this database`);
  }
  const another = `Run ${source.runId} of this database is not the one that the designs are of`;
  if (run.value.seed !== source.seed) return alone(another);
  const planned = await runPlan(context, run.value);
  if (!planned.ok) return planned;
  const { study, plan } = planned.value;
  if (study.study.name !== source.study) return alone(another);
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  for (const one of line.plan.cases) {
    if (one.benchmark !== 'unit-loop' || one.parameters.designIndex === null) continue;
    const { design, designIndex } = one.parameters;
    if (designIndex >= size) return alone(another);
    const described = describeDesign(predictor, designIndex);
    if (described.device.id !== source.deviceId || !isDeepStrictEqual({ ...described.design }, { ...design })) {
      return alone(another);
    }
  }
  const { studyId, devices } = run.value;
  return ok({ source, study: { studyId, study, devices }, warnings: [] });
}
