import { availableParallelism, platform, release } from 'node:os';
import { join } from 'node:path';
import { statSync } from 'node:fs';
import { openStoreClient } from '../../db/client.ts';
import type { RunRecord } from '../../db/records.ts';
import { INVALID_REASONS } from '../../src-workers/domain/design.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { AXIS_ORDER } from '../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { moments } from '../../src-workers/models/workload/laws.ts';
import { resolveWorkload } from '../../src-workers/parse/grammar.ts';
import { parseLengthsCsv } from '../../src-workers/parse/csv.ts';
import { parseMatrixMarket } from '../../src-workers/parse/matrix-market.ts';
import { axisCounts, spaceSize } from '../../src-workers/space/axes.ts';
import type { ResolvedWorkload, RunDetail, StudyRecord } from '../contract/api.ts';
import { parseStudy, validate } from '../contract/parse.ts';
import {
  procedures,
  type EventName,
  type Events,
  type ProcedureArguments,
  type ProcedureName,
} from '../contract/procedures.ts';
import { compareDevices, differences, diffRuns } from './devices/compare.ts';
import { openBenchmarks, type Bundle } from './measuring/benchmarks.ts';
import { openTargets, type MeasuringPrograms } from './measuring/targets.ts';
import { openCatalogue } from './devices/catalogue.ts';
import type { Context, Handlers } from './context.ts';
import { makeDefaultFolder, migrationsIn } from './app/data-folder.ts';
import { doctorChecks } from './app/doctor.ts';
import { renderExport } from './export/render.ts';
import { machineText } from './app/machine.ts';
import { measuringHandlers } from './measuring/handlers.ts';
import { importFile } from './imports/imports.ts';
import { designsPerMs, withSweep, type FinishedSweep } from './sweeps/pace.ts';
import { openPool } from './pool.ts';
import {
  designSlices,
  landscapeAxes,
  landscapeFacets,
  landscapeGrid,
  parallelSample,
  plainDesign,
  rankHistogram,
  rankPage,
  rankedDesign,
} from './ranking/rankings.ts';
import { knownPaper } from './models/reproduction.ts';
import { checkDesign, createRunViews, runPlan, runStudy, type RunView } from './runs/run-view.ts';
import { runSummary } from './runs/runs.ts';
import {
  ownSimulations,
  resumeSimulations,
  simulateBest,
  simulatedRows,
  simulationRequest,
  simulationTimeline,
} from './simulations/simulations.ts';
import { explainDesign } from '../../src-workers/sweep/designs.ts';
import { exampleStudies, locatedStudy, saveStudy, studyRecord, type LocatedStudy } from './studies/studies.ts';
import { prepareStudy, resolveLengths, runSweep, startSweep, studyDevices, type SweepHandle } from './sweeps/sweeps.ts';
import { APP_VERSION, MODEL_VERSION } from './app/version.ts';
import { packLengths, sha256 } from './studies/workloads.ts';
import { orderedLengths } from '../../src-workers/sweep/ordered.ts';
import { sweepPlan, studyAxes } from './studies/plan.ts';

/** One engine: services, store and pool, behind the contract. Hosts are thin around it. */
export interface Engine {
  /** Validates the input against the contract's schema, then runs the service. Unknown names and bad input are failures. */
  call(name: string, input: unknown): Promise<Result<unknown>>;
  subscribe(listener: (event: EventName, payload: unknown) => void): () => void;
  /** What in-process hosts build on: the same services, without the contract's copy of everything. */
  readonly context: Context;
  openRun(runId: number): Promise<Result<RunView>>;
  resumeRun(runId: number): Promise<Result<SweepHandle>>;
  simulate(input: ProcedureArguments<'simulations.start'>): Promise<Result<SweepHandle>>;
  measure(input: ProcedureArguments<'bench.start'>): Promise<Result<SweepHandle>>;
  bundle(input: ProcedureArguments<'bench.bundle'>): Promise<Result<Bundle>>;
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly databaseFile: string;
  /** Folder that holds `db/`: the project, or the packaged application. */
  readonly resourceFolder: string;
  readonly host: 'desktop' | 'serve' | 'cli';
  /** Paths of the worker and of the store's thread, where a bundle moved them. */
  readonly workerFile?: string;
  readonly storeThreadFile?: string;
  /** The programs that measure, where a bundle moved them. */
  readonly programs?: Partial<MeasuringPrograms>;
  readonly workers?: number;
}

export async function openEngine(options: EngineOptions): Promise<Result<Engine>> {
  const { databaseFile, resourceFolder, host } = options;
  const made = makeDefaultFolder(databaseFile);
  if (!made.ok) return made;
  const store = await openStoreClient({
    file: databaseFile,
    migrationsFolder: migrationsIn(resourceFolder),
    ...(options.storeThreadFile ? { threadFile: options.storeThreadFile } : {}),
  });
  if (!store.ok) return store;
  const catalogue = await openCatalogue(resourceFolder, store.value);
  if (!catalogue.ok) {
    await store.value.close();
    return catalogue;
  }
  const sources = join(import.meta.dirname, '..', '..', 'src-workers');
  const programs: MeasuringPrograms = {
    cpuChildFile: join(sources, 'bench', 'cpu', 'child.ts'),
    webgpuChildFile: join(sources, 'bench', 'webgpu', 'child.ts'),
    cudaFolder: join(sources, 'bench', 'cuda', 'sources'),
    ...options.programs,
  };
  const workers = options.workers ?? Math.max(1, availableParallelism());
  const pool = openPool(options.workerFile ?? join(sources, 'worker.ts'), workers);
  const closing = new AbortController();
  const listeners = new Set<(event: EventName, payload: unknown) => void>();
  const emit = <Name extends EventName>(name: Name, payload: Events[Name]): void => {
    for (const listener of listeners) listener(name, payload);
  };
  const context: Context = {
    store: store.value,
    pool,
    catalogue: catalogue.value,
    resourceFolder,
    databaseFile,
    programs,
    host,
    closing: closing.signal,
    emit,
  };
  const views = createRunViews();
  const running = new Map<number, SweepHandle>();
  let sweeps: readonly FinishedSweep[] = [];

  const stopListening = store.value.onExternalChange(() => {
    views.dropFindings();
    emit('store.changed', { what: 'all' });
  });

  const follow = (handle: SweepHandle): void => {
    running.set(handle.runId, handle);
    if (closing.signal.aborted) handle.cancel();
    void handle.finished.then((run) => {
      running.delete(handle.runId);
      views.drop(handle.runId);
      if (run.ok && run.value.kind === 'sweep' && run.value.state === 'complete')
        sweeps = withSweep(sweeps, { designs: run.value.enumeratedCount, elapsedMs: run.value.elapsedMs });
    });
  };

  const openRun = (runId: number): Promise<Result<RunView>> => views.open(context, runId);
  /** Runs a function on an opened run. */
  const onRun = async <T>(runId: number, read: (view: RunView) => Result<T>): Promise<Result<T>> => {
    const view = await openRun(runId);
    return view.ok ? read(view.value) : view;
  };

  const simulate: Engine['simulate'] = async (input) => {
    const view = await openRun(input.runId);
    if (!view.ok) return view;
    const handle = await simulateBest(context, view.value, input, views.dropFindings);
    if (!handle.ok) return handle;
    follow(handle.value);
    changed('runs');
    return handle;
  };

  const targets = openTargets(context);
  const benchmarks = openBenchmarks(context, targets, openRun, views.dropFindings);
  const measure: Engine['measure'] = async (input) => {
    const handle = await benchmarks.start(input);
    if (!handle.ok) return handle;
    follow(handle.value);
    changed('runs');
    return handle;
  };

  const resumeSimulation = async (run: RunRecord): Promise<Result<SweepHandle>> => {
    const request = simulationRequest(run);
    if (!request.ok) return request;
    const view = await openRun(request.value.sourceRunId);
    return view.ok ? resumeSimulations(context, view.value, run, views.dropFindings) : view;
  };

  const runsOf = async (studyId: number): Promise<readonly number[]> => {
    const page = await context.store.listRuns({ studyId, kind: 'sweep', limit: 1000 });
    return page.ok ? page.value.rows.map((run) => run.id) : [];
  };
  const record = async (stored: Parameters<typeof studyRecord>[0]): Promise<Result<StudyRecord>> =>
    studyRecord(stored, await runsOf(stored.id));
  const locate = async (id: number | undefined): Promise<Result<LocatedStudy | null>> => {
    if (id === undefined) return ok(null);
    const stored = await context.store.getStudy(id);
    return stored.ok ? locatedStudy(stored.value.spec, `study ${id}`) : stored;
  };
  const changed = (what: Events['store.changed']['what']): void => emit('store.changed', { what });
  const saved = async (located: LocatedStudy, id?: number): Promise<Result<StudyRecord>> => {
    const stored = await saveStudy(context.store, located, id);
    if (!stored.ok) return stored;
    changed('studies');
    return record(stored.value);
  };

  const resumed = (run: RunRecord): Promise<Result<SweepHandle>> => {
    switch (run.kind) {
      case 'sweep':
        return resumeSweep(context, run);
      case 'simulate':
        return resumeSimulation(run);
      case 'bench':
        return benchmarks.resume(run);
      case 'import':
        return Promise.resolve(
          fail('unsupported', `run ${run.id} was imported; expected one that was made here: import its file again`),
        );
    }
  };

  /** Takes over a run that stopped and goes on with it. */
  const resumeRun = async (id: number): Promise<Result<SweepHandle>> => {
    const before = await context.store.getRun(id);
    // What cannot go on is not taken over: it keeps the end that it had.
    if (before.ok && before.value.kind === 'import') return resumed(before.value);
    const run = await context.store.resumeRun(id);
    if (!run.ok) return run;
    const handle = await resumed(run.value);
    if (!handle.ok) {
      await context.store.finishRun(id, { state: 'failed', elapsedMs: run.value.elapsedMs, failure: handle.error });
      return handle;
    }
    views.drop(id);
    follow(handle.value);
    changed('runs');
    return handle;
  };

  const handlers: Handlers = {
    'app.info': async () => {
      const disk = await context.store.diskUse();
      return ok({
        version: APP_VERSION,
        host,
        platform: `${platform()} ${release()}`,
        nodeVersion: process.version,
        databaseFile,
        databaseBytes: disk.ok ? disk.value.fileBytes : (statSync(databaseFile, { throwIfNoEntry: false })?.size ?? 0),
        modelVersion: MODEL_VERSION,
        workers,
      });
    },
    'app.doctor': async () => ok(await doctorChecks(databaseFile, resourceFolder, programs, closing.signal)),
    'settings.get': async ({ key }) => {
      const settings = await context.store.listSettings();
      return settings.ok ? ok(Object.hasOwn(settings.value, key) ? settings.value[key] : null) : settings;
    },
    'settings.set': async ({ key, value }) => {
      const done = await context.store.saveSetting(key, value ?? null);
      if (done.ok) changed('settings');
      return done;
    },

    'studies.list': async () => {
      const studies = await context.store.listStudies();
      if (!studies.ok) return studies;
      const out = [];
      for (const stored of studies.value) {
        const one = await record(stored);
        if (one.ok) {
          const { study: _study, ...rest } = one.value;
          out.push(rest);
        }
      }
      return ok(out);
    },
    'studies.get': async ({ id }) => {
      const stored = await context.store.getStudy(id);
      return stored.ok ? record(stored.value) : stored;
    },
    'studies.save': async ({ id, study }) => {
      const before = await locate(id);
      if (!before.ok) return before;
      return saved(
        { study, baseFolder: before.value?.baseFolder ?? null, example: before.value?.example ?? false },
        id,
      );
    },
    'studies.import': async ({ text }) => {
      const study = parseStudy(text);
      return study.ok ? saved({ study: study.value, baseFolder: null, example: false }) : study;
    },
    'studies.duplicate': async ({ id }) => {
      const before = await locate(id);
      if (!before.ok) return before;
      const { study, baseFolder } = before.value!;
      return saved({ study: { ...study, name: `${study.name} copy`.slice(0, 200) }, baseFolder, example: false });
    },
    'studies.delete': async ({ id }) => {
      const done = await context.store.deleteStudy(id);
      if (done.ok) changed('studies');
      return done;
    },
    'studies.restore': async ({ id }) => {
      const done = await context.store.restoreStudy(id);
      if (done.ok) changed('studies');
      return done.ok ? ok(null) : done;
    },

    'workload.resolve': async ({ studyId, workload }) => {
      const located = await locate(studyId);
      if (!located.ok) return located;
      const law = await resolveLengths(
        context,
        workload.lengths,
        located.value?.baseFolder ?? null,
        workload.truncation,
      );
      return law.ok ? ok(resolved(law.value.law)) : law;
    },
    'workload.upload': async ({ fileName, bytes }) => {
      const source = async function* () {
        yield bytes;
      };
      const matrix = /\.mtx$/i.test(fileName);
      const parsed = matrix ? await parseMatrixMarket(source(), fileName) : await parseLengthsCsv(source(), fileName);
      if (!parsed.ok) return parsed;
      const law = 'law' in parsed.value ? parsed.value.law : parsed.value;
      const hash = sha256(bytes);
      const order = 'rowLengths' in parsed.value ? { order: packLengths(orderedLengths(parsed.value.rowLengths)) } : {};
      const kept = await context.store.saveWorkload({
        hash,
        law,
        provenance: { fileName, bytes: bytes.byteLength, ...order },
      });
      if (!kept.ok) return kept;
      const units = 'rowLengths' in parsed.value ? parsed.value.rows : 1_048_576;
      return ok({ lengths: `stored:${hash}:${fileName}`, workload: resolved(law), units });
    },

    'devices.list': () => context.catalogue.list(),
    'devices.save': async ({ device }) => {
      const done = await context.catalogue.save(device);
      if (done.ok) changed('devices');
      return done;
    },
    'devices.delete': async ({ id }) => {
      const done = await context.catalogue.remove(id);
      if (done.ok) changed('devices');
      return done;
    },

    'space.size': async ({ study }) => {
      const devices = await studyDevices(context.catalogue, study);
      if (!devices.ok) return devices;
      const axes = studyAxes(study, devices.value);
      if (!axes.ok) return axes;
      // Which designs are valid does not depend on the lengths, so none are resolved.
      const law: LengthLaw = {
        label: 'constant(1)',
        support: Float64Array.of(1),
        probability: Float64Array.of(1),
        truncatedMass: 0,
      };
      const tally = await context.pool.run('classify', {
        plan: sweepPlan(`size-${sha256(JSON.stringify(study))}`, study, axes.value, law),
      });
      const enumerated = spaceSize(axes.value);
      const counts = axisCounts(axes.value);
      return ok({
        enumerated,
        valid: tally[0],
        invalid: INVALID_REASONS.map((reason, code) => ({
          reason: reason.code,
          text: reason.text,
          count: tally[code],
        }))
          .filter((entry) => entry.reason !== 'valid' && entry.count > 0)
          .sort((a, b) => b.count - a.count),
        axes: AXIS_ORDER.map((axis, at) => ({ axis, count: counts[at] })),
        estimatedMs: enumerated / designsPerMs(sweeps),
      });
    },

    'runs.start': async ({ studyId }) => {
      const located = await locate(studyId);
      if (!located.ok) return located;
      const prepared = await prepareStudy(context, located.value!);
      if (!prepared.ok) return prepared;
      const handle = await startSweep(context, located.value!, prepared.value, studyId);
      if (!handle.ok) return handle;
      follow(handle.value);
      changed('runs');
      return ok({ runId: handle.value.runId });
    },
    'runs.resume': async ({ id }) => {
      const handle = await resumeRun(id);
      return handle.ok ? ok({ runId: id }) : handle;
    },
    'runs.cancel': async ({ id }) => {
      const handle = running.get(id);
      if (!handle) return fail('conflict', `run ${id} is not running in this engine; expected one that is`);
      handle.cancel();
      await handle.finished;
      return ok(null);
    },
    'runs.list': async ({ studyId, limit }) => {
      const page = await context.store.listRuns({ ...(studyId === undefined ? {} : { studyId }), limit });
      if (!page.ok) return page;
      const disk = await context.store.diskUse();
      const bytes = new Map(disk.ok ? disk.value.runs.map((run) => [run.runId, run.bytes]) : []);
      return ok(page.value.rows.map((run) => runSummary(run, bytes.get(run.id) ?? 0)));
    },
    'runs.get': async ({ id }) => {
      const run = await context.store.getRun(id);
      if (!run.ok) return run;
      const study = belongsToStudy(run.value) ? runStudy(run.value) : ok(null);
      if (!study.ok) return study;
      const now = run.value.studyId === null ? null : await locate(run.value.studyId);
      const disk = await context.store.diskUse();
      const bytes = disk.ok ? (disk.value.runs.find((entry) => entry.runId === id)?.bytes ?? 0) : 0;
      const detail: RunDetail = {
        ...runSummary(run.value, bytes),
        study: study.value?.study ?? null,
        devices: run.value.devices,
        appVersion: run.value.appVersion,
        modelVersion: run.value.modelVersions.prediction ?? '',
        seed: run.value.seed ?? 0,
        machine: machineText(run.value.machine),
        staleFields: study.value ? staleFields(study.value, now?.ok ? now.value : null) : [],
      };
      return ok(detail);
    },
    'runs.update': async ({ id, name, note, tags }) => {
      let run = await context.store.getRun(id);
      if (run.ok && name !== undefined) run = await context.store.renameRun(id, name);
      if (run.ok && note !== undefined) run = await context.store.noteRun(id, note);
      if (run.ok && tags !== undefined) run = await context.store.tagRun(id, tags);
      if (!run.ok) return run;
      changed('runs');
      return ok(runSummary(run.value, 0));
    },
    'runs.delete': async ({ id }) => {
      const done = await context.store.deleteRuns([id]);
      if (done.ok) {
        views.drop(id);
        views.dropFindings();
        changed('runs');
      }
      return done;
    },
    'runs.restore': async ({ id }) => {
      const done = await context.store.restoreRuns([id]);
      if (done.ok) {
        views.dropFindings();
        changed('runs');
      }
      return done;
    },
    'runs.diff': async ({ leftId, rightId }) => {
      const left = await openRun(leftId);
      if (!left.ok) return left;
      const right = await openRun(rightId);
      if (!right.ok) return right;
      return diffRuns(left.value, right.value, {
        left: runSummary(left.value.run, 0),
        right: runSummary(right.value.run, 0),
      });
    },

    'ranking.page': (input) => onRun(input.runId, (view) => rankPage(view, input)),
    'ranking.histogram': (input) => onRun(input.runId, (view) => rankHistogram(view, input)),
    'ranking.design': (input) => onRun(input.runId, (view) => rankedDesign(view, input)),
    'ranking.plain': (input) => onRun(input.runId, (view) => plainDesign(view, input.deviceId)),
    'ranking.slices': ({ runId, designIndex }) => onRun(runId, (view) => designSlices(view, designIndex)),
    'simulations.start': async (input) => {
      const handle = await simulate(input);
      return handle.ok ? ok({ runId: handle.value.runId }) : handle;
    },
    'simulations.list': async ({ runId }) => {
      const run = await context.store.getRun(runId);
      if (!run.ok) return run;
      if (run.value.kind !== 'simulate') return onRun(runId, (view) => ok(simulatedRows(view, view.simulated)));
      const request = simulationRequest(run.value);
      if (!request.ok) return request;
      const own = await ownSimulations(context, runId);
      return own.ok ? onRun(request.value.sourceRunId, (view) => ok(simulatedRows(view, own.value))) : own;
    },
    'simulations.timeline': async ({ runId, designIndex, replication }) => {
      const view = await openRun(runId);
      return view.ok ? simulationTimeline(context, view.value, designIndex, replication) : view;
    },
    ...measuringHandlers(context, targets, benchmarks, { openRun, measure, saveStudy: saved }),
    'import.file': async (input) => {
      const imported = await importFile(context, openRun, input);
      if (imported.ok) views.dropFindings();
      changed('runs');
      return imported;
    },
    'landscape.grid': (input) => onRun(input.runId, (view) => landscapeGrid(view, input)),
    'landscape.facets': (input) => onRun(input.runId, (view) => landscapeFacets(view, input)),
    'landscape.parallel': (input) => onRun(input.runId, (view) => parallelSample(view, input)),
    'landscape.axes': ({ runId }) => onRun(runId, (view) => ok(landscapeAxes(view))),
    'compare.devices': ({ runId, designIndex }) => onRun(runId, (view) => compareDevices(view, designIndex)),
    'design.explain': ({ runId, designIndex }) =>
      onRun(runId, (view) => {
        const known = checkDesign(view, designIndex);
        if (!known.ok) return known;
        const breakdown = explainDesign(view.predictor, designIndex);
        return breakdown
          ? ok(breakdown)
          : fail('conflict', `design ${designIndex} is invalid and has no time to explain`);
      }),
    'export.render': (input) => onRun(input.runId, (view) => renderExport(view, input)),
    'models.play': async ({ lengths, ...request }) => {
      const law = await resolveWorkload(lengths, {
        openFile: async (path) => fail('bad-input', `lengths: got the file "${path}", expected a distribution`),
      });
      return law.ok ? context.pool.run('play', { law: law.value, request }) : law;
    },
    'models.reproduce': async ({ paper }) => {
      const known = knownPaper(paper);
      return known.ok ? ok(await context.pool.run('reproduce', { paper })) : known;
    },
  };

  const seeded = await seedExamples(context);
  if (!seeded.ok) {
    await pool.close();
    await store.value.close();
    return seeded;
  }
  // The first start shows results: the first example is predicted while the window opens. Its failure is no reason not to.
  if (seeded.value !== null) void handlers['runs.start']({ studyId: seeded.value });

  return ok({
    context,
    openRun,
    resumeRun,
    simulate,
    measure,
    bundle: benchmarks.bundle,
    async call(name, input) {
      if (!Object.hasOwn(procedures, name))
        return fail('not-found', `got a call of "${String(name).slice(0, 80)}", expected a procedure of the contract`);
      const procedure = procedures[name as ProcedureName];
      const checked = validate(procedure.input, input ?? {}, name);
      if (!checked.ok) return checked;
      try {
        const handler = handlers[name as ProcedureName] as (value: unknown) => Promise<Result<unknown>>;
        return await handler(checked.value);
      } catch (error) {
        return fail('internal', `${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      closing.abort();
      for (const handle of running.values()) handle.cancel();
      // What was still being prepared begins, and ends, meanwhile.
      while (running.size > 0) await Promise.allSettled([...running.values()].map((handle) => handle.finished));
      stopListening();
      await pool.close();
      await store.value.close();
    },
  });
}

function resolved(law: LengthLaw): ResolvedWorkload {
  return {
    label: law.label,
    moments: moments(law),
    truncatedMass: law.truncatedMass,
    support: law.support,
    probability: law.probability,
  };
}

/** Measurements of the device itself, and imported files, have no study. */
function belongsToStudy({ study }: RunRecord): boolean {
  return typeof study === 'object' && study !== null && 'study' in study;
}

/** What changed in a study since a run was made with it. The name, description and seed do not change a prediction. */
function staleFields(then: LocatedStudy, now: LocatedStudy | null): RunDetail['staleFields'] {
  if (!now) return [];
  return differences(then.study, now.study, '')
    .filter((difference) => !['name', 'description', '$schema', 'seed'].includes(difference.field))
    .map(({ field, left, right }) => ({ field, was: left, is: right }));
}

/** Goes on with a run that stopped: the plan is rebuilt from what the run itself recorded. */
async function resumeSweep(context: Context, run: RunRecord): Promise<Result<SweepHandle>> {
  const planned = await runPlan(context, run);
  if (!planned.ok) return planned;
  const chunks = await context.store.listChunks(run.id);
  if (!chunks.ok) return chunks;
  return ok(runSweep(context, run, planned.value.plan, chunks.value, run.elapsedMs));
}

/**
 * A new database starts with the example studies; those that an earlier start saved before it was ended are there already.
 * Returns the id of the first one, or null where all was done before.
 */
async function seedExamples(context: Context): Promise<Result<number | null>> {
  if (context.host === 'cli') return ok(null);
  const existing = await context.store.listSettings();
  if (!existing.ok) return existing;
  if (existing.value['examples.version'] === 1) return ok(null);
  const examples = await exampleStudies(context.resourceFolder);
  if (!examples.ok) return examples;
  const before = await context.store.listStudies();
  if (!before.ok) return before;
  const seeded = new Map(
    before.value.flatMap(({ id, name, spec }) =>
      (spec as Partial<LocatedStudy> | null)?.example === true ? [[name, id] as const] : [],
    ),
  );
  // Newest change is listed first: the first example is saved last.
  let firstId: number | null = null;
  for (const example of [...examples.value].reverse()) {
    firstId = seeded.get(example.study.name) ?? null;
    if (firstId !== null) continue;
    const stored = await saveStudy(context.store, example);
    if (!stored.ok) return stored;
    firstId = stored.value.id;
  }
  const done = await context.store.saveSetting('examples.version', 1);
  return done.ok ? ok(firstId) : done;
}
