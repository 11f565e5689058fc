import type { MeasurementRecord, RunDraft } from '../../../db/records.ts';
import type { BenchmarkId, CaseResult, MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { DESIGN_FIELDS, type DesignField, fieldNamed } from '../../../src-workers/domain/design-names.ts';
import { type Result, fail, ok, badInput } from '../../../src-workers/domain/result.ts';
import { shortened } from '../../../src-workers/domain/text.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import { TIME } from '../../../src-workers/parse/measured-times.ts';
import { Slice } from '../../../src-workers/parse/slice.ts';
import { shown } from '../../../src-workers/parse/source.ts';
import { unpacked } from '../../../src-workers/parse/unpack.ts';
import type { ImportQuestions, ImportedFile, MeasuringRequest } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { isSameDevice } from '../measuring/device.ts';
import { caseLabel } from '../measuring/measured.ts';
import { type MeasuredRunStudy, measurementRecord } from '../measuring/records.ts';
import { digestOf } from '../studies/workloads.ts';
import { APP_VERSION } from '../version.ts';
import { hasDesignParameters } from './designs.ts';
import { columnsOf, importerOf } from './file-kind.ts';
import type { ImportInput, Imported } from './importer.ts';
import { linkedFile, linkedPlan } from './link.ts';
import { parametersOfStudy } from './named-parameters.ts';

/** A larger message to the store would keep both sides busy for too long. */
const MAX_BATCH_CASES = 1000;
const MAX_BATCH_TIMES = 20_000;

/** The store removes the run if the file is unreadable or was not read to the end. */
export async function importFile(context: Context, input: ImportInput): Promise<Result<ImportedFile>> {
  const { fileName } = input;
  const start = performance.now();
  const content = await unpacked(input.bytes, fileName);
  if (!content.ok) return content;
  const read = await parsedFile({ ...input, bytes: content.value });
  if (!read.ok) return read;
  const { plan } = read.value;
  if (read.value.cases.length === 0)
    return badInput(`${fileName}: ${[...read.value.warnings, 'No case has a result.'].join(' ')}`);

  const found = plan ? await linkedPlan(context, read.value, input) : await linkedFile(context, read.value, input);
  if (!found.ok) return fail(found.error.code, `${fileName}: ${found.error.message}`, found.error.context);
  const { cases, devices, device, source, study, linked, parameters } = found.value;
  const warnings = [...read.value.warnings, ...found.value.warnings];
  const request: MeasuringRequest = {
    target: fileName,
    backend: device?.backend ?? plan?.plan.backend ?? 'external',
    suite: linked ? 'designs' : pickSuite(cases),
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
    machine: describeMachine(device),
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
  // If a file is linked to a sweep, only its linked cases are ranked.
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

const SHOWN_VALUES = 6;

const NAMES_DEVICE: ReadonlySet<DesignField | null> = new Set<DesignField>(['device', 'designIndex']);

function likelyField(name: string): DesignField | null {
  const plain = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
  return DESIGN_FIELDS.find((field) => [name, plain].some((one) => fieldNamed(one) === field)) ?? null;
}

function needsTimes(columns: readonly string[]): string {
  const found = columns.slice(0, 12).map(shown).join(', ');
  return `None of the columns (${found}) is a time with its unit. Name the column of times time_ms, time_us or time_s, and import the file again; the axes of the other columns can then be chosen here. Lengths are imported in the Study view.`;
}

/** Returns the questions that the user must answer before an import; `null` if there are none. */
export async function inspectImport(
  context: Context,
  { fileName, bytes, openRunId, studyName }: ProcedureArguments<'import.inspect'>,
): Promise<Result<ImportQuestions | null>> {
  const content = await unpacked(bytes, fileName);
  if (!content.ok) return content;
  const file = { fileName, bytes: content.value, studyName };
  // The user may assign the columns of a table of times to axes.
  const columns = openRunId === undefined ? [] : columnsOf(file.bytes);
  const times = columns.find((name) => TIME.test(name));
  const importer = importerOf(file.bytes, times === undefined ? [] : columns);
  if (!importer.ok) return columns.length > 1 && times === undefined ? badInput(needsTimes(columns)) : ok(null);
  const { needsUnit = false } = importer.value;
  const named = importer.value.studies ? await importer.value.studies(file) : ok([]);
  if (!named.ok) return named;
  const studies = named.value.length > 1 ? named.value : [];
  if (studies.length > 0 && studyName === undefined) return ok({ studies, needsUnit, devices: [], parameters: [] });
  const read = await importer.value.read({ ...file, timeUnit: needsUnit ? 'ms' : undefined });
  if (!read.ok) return needsUnit ? read : ok(null);
  const values = new Map<string, Set<string>>();
  const slice = new Slice();
  for (const { case: one } of read.value.cases) {
    if (slice.isOver) await slice.next();
    if (one.benchmark === 'external')
      for (const [name, value] of Object.entries(one.parameters.configuration))
        values.set(name, (values.get(name) ?? new Set()).add(String(value)));
  }
  const known = openRunId === undefined ? {} : await parametersOfStudy(context, openRunId, {});
  const isKnown = (await hasDesignParameters(read.value.cases, known)) || read.value.sweep !== null;
  const parameters = openRunId === undefined ? [] : [...values];
  const fieldOf = (name: string) => (Object.hasOwn(known, name) ? known[name] : likelyField(name));
  const { sweep, deviceName, devices: ofCases } = read.value;
  const isDeviceKnown =
    sweep !== null ||
    deviceName !== null ||
    ofCases !== null ||
    parameters.some(([name]) => NAMES_DEVICE.has(fieldOf(name)));
  const view = openRunId === undefined || isDeviceKnown ? null : await context.views.open(openRunId);
  const devices =
    view?.ok && view.value.devices.length > 1 ? view.value.devices.map(({ id, name }) => ({ id, name })) : [];
  if (!needsUnit && (parameters.length === 0 || (isKnown && devices.length === 0))) return ok(null);
  return ok({
    studies,
    needsUnit,
    devices,
    parameters: parameters.map(([name, all]) => ({
      name,
      field: fieldOf(name),
      values: [...all].slice(0, SHOWN_VALUES).map((value) => shortened(value, 20)),
      distinct: all.size,
    })),
  });
}

const MAX_NAME = 200;

function describeMachine(device: MeasuringDevice | null): unknown {
  if (!device) return null;
  return device.driver === '' ? { device: device.name } : { device: device.name, driver: device.driver };
}

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

async function parsedFile(input: ImportInput): Promise<Result<Imported>> {
  const importer = importerOf(input.bytes, Object.keys(input.parameters ?? {}));
  return importer.ok
    ? importer.value.read(input)
    : fail(importer.error.code, `${input.fileName}: ${importer.error.message}`);
}

function pickSuite(cases: readonly CaseResult[]): MeasuringRequest['suite'] {
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
