import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { debuglog } from 'node:util';
import { openStoreClient } from '../../db/client.ts';
import { errorText, fail, FailureError, ok, type Result, notFound } from '../../src-workers/domain/result.ts';
import { validate } from '../contract/parse.ts';
import {
  procedures,
  type EventName,
  type Events,
  type ProcedureInput,
  type ProcedureName,
  type ProcedureOutput,
} from '../contract/procedures.ts';
import { agentsSetting, AGENTS_SETTING, openAgents } from './agents/agents.ts';
import type { RedisSettings } from './agents/connection.ts';
import { agentHandlers } from './agents/handlers.ts';
import { adviceHandlers } from './advice/handlers.ts';
import { makeDefaultFolder, migrationsIn } from './files/data-folder.ts';
import { appHandlers } from './machine/handlers.ts';
import type { Context, Handlers } from './context.ts';
import { openCatalogue } from './devices/catalogue.ts';
import { deviceHandlers } from './devices/handlers.ts';
import { evidenceHandlers } from './evidence/handlers.ts';
import { exportHandlers } from './export/handlers.ts';
import { importHandlers } from './imports/handlers.ts';
import { inspectHandlers } from './inspect/handlers.ts';
import { openBenchmarks } from './measuring/benchmarks.ts';
import { measuringHandlers } from './measuring/handlers.ts';
import { PAGE_SILENCE_MS } from './measuring/page-run.ts';
import { programsIn, type MeasuringPrograms } from './measuring/programs.ts';
import { openTargets } from './measuring/targets.ts';
import { modelHandlers } from './models/handlers.ts';
import { openPool } from './pool.ts';
import { rankingHandlers } from './ranking/handlers.ts';
import { runHandlers } from './runs/handlers.ts';
import { createRunViews } from './runs/run-view.ts';
import { openRunningRuns } from './runs/running.ts';
import { createLengthsCache } from './studies/lengths.ts';
import { simulationHandlers } from './simulations/handlers.ts';
import { resumeSimulations } from './simulations/simulations.ts';
import { seedExamples } from './studies/examples.ts';
import { studyHandlers } from './studies/handlers.ts';
import { sweepHandlers } from './sweeps/handlers.ts';
import { resumeSweep } from './sweeps/sweeps.ts';

/** `NODE_DEBUG=lockstep` shows the log of all calls. */
const log = debuglog('lockstep');

export interface Engine {
  /** An unknown name or a bad input is a failure. The result is shared, so a caller must not write to it. */
  call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<Result<ProcedureOutput<Name>>>;
  dispatch(name: string, input: unknown, gone?: AbortSignal): Promise<Result<unknown>>;
  subscribe(listener: (event: EventName, payload: unknown) => void): () => void;
  close(): Promise<string | null>;
}

export interface OpenEngine extends Engine {
  readonly context: Context;
}

export interface EnginePlaces {
  readonly resourceFolder: string;
  readonly workerFile: string;
  readonly storeThreadFile: string;
  readonly programs: MeasuringPrograms;
}

/** The defaults of `workerFile` and `storeThreadFile` are the TypeScript sources. */
export interface EngineOptions extends Partial<Pick<EnginePlaces, 'workerFile' | 'storeThreadFile'>> {
  readonly resourceFolder: string;
  readonly programs?: Partial<MeasuringPrograms>;
  readonly databaseFile: string;
  readonly host: 'desktop' | 'serve' | 'cli';
  readonly workers?: number;
  /** If the engine is mainly used for predictions, its workers start while the database is opened. */
  readonly predicts?: boolean;
  /** If the engine is used only for reading, it also opens a database that cannot be written. */
  readonly reads?: boolean;
  readonly pageSilenceMs?: number;
  readonly redis?: RedisSettings;
}

/** Maximum number of workers that start while the database is opened. A small sweep needs no more. */
const EARLY_WORKERS = 4;

export async function openEngine(options: EngineOptions): Promise<Result<OpenEngine>> {
  const { databaseFile, resourceFolder, host } = options;
  const made = makeDefaultFolder(databaseFile);
  if (!made.ok) return made;
  const sources = join(import.meta.dirname, '..', '..', 'src-workers');
  const workers = options.workers ?? Math.max(1, availableParallelism());
  // A window needs predictions at once. Most commands need none, and starting a worker would delay them.
  const ready = options.predicts === true ? Math.min(workers, EARLY_WORKERS) : host === 'cli' ? 0 : 1;
  const local = openPool(options.workerFile ?? join(sources, 'worker.ts'), workers, ready);
  const opened = await openStored(options);
  if (!opened.ok) {
    await local.close();
    return opened;
  }
  const { store, catalogue } = opened.value;
  const agents = openAgents(store);
  const pool = agents.pool(local);
  const closing = new AbortController();
  const listeners = new Set<(event: EventName, payload: unknown) => void>();
  const emit = <Name extends EventName>(name: Name, payload: Events[Name]): void => {
    for (const listener of listeners) listener(name, payload);
  };
  const changed: Context['changed'] = (what) => emit('store.changed', { what });
  const views = createRunViews(store);
  const context: Context = {
    store,
    pool,
    agents,
    catalogue,
    lengths: createLengthsCache({ store, pool }),
    views,
    running: openRunningRuns(closing.signal, () => changed('runs'), views.drop),
    resourceFolder,
    databaseFile,
    programs: { ...programsIn(sources), ...options.programs },
    host,
    closing: closing.signal,
    emit,
    changed,
  };
  const closeAll = async (): Promise<string | null> => {
    const silent = await agents.close();
    await pool.close();
    await store.close();
    return silent;
  };
  const handlers = joinHandlers(context, options.pageSilenceMs ?? PAGE_SILENCE_MS);
  const stopListening = store.onExternalChange(() => {
    views.dropFindings();
    changed('all');
  });

  const joined = await joinAgents(context, options);
  const seeded = joined.ok ? await seedExamples(context) : joined;
  if (!seeded.ok) {
    stopListening();
    await closeAll();
    return seeded;
  }
  const dispatch = dispatchTo(handlers);

  // The first start should show results, so the first example is predicted while the window opens.
  if (seeded.value !== null) void dispatch('runs.start', { studyId: seeded.value });

  return ok({
    context,
    call: (name, input) => dispatch(name, input),
    dispatch,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      closing.abort();
      await context.running.end();
      stopListening();
      return closeAll();
    },
  });
}

async function openStored({
  databaseFile: file,
  resourceFolder,
  storeThreadFile: threadFile,
  reads,
}: EngineOptions): Promise<Result<Pick<Context, 'store' | 'catalogue'>>> {
  const opened = await openStoreClient({
    file,
    migrationsFolder: migrationsIn(resourceFolder),
    reads,
    ...(threadFile ? { threadFile } : {}),
  });
  if (!opened.ok) return opened;
  const store = opened.value;
  const catalogue = await openCatalogue(resourceFolder, store);
  if (catalogue.ok) return ok({ store, catalogue: catalogue.value });
  await store.close();
  return catalogue;
}

async function joinAgents({ store, agents, host }: Context, { redis }: EngineOptions): Promise<Result<null>> {
  if (redis) {
    const joined = await agents.use(redis);
    return joined.ok ? ok(null) : joined;
  }
  if (host === 'cli') return ok(null);
  const settings = await store.listSettings();
  const setting = settings.ok ? agentsSetting(settings.value[AGENTS_SETTING]) : settings;
  // The window opens without waiting for a Redis that does not answer.
  if (setting.ok && setting.value) void agents.join(setting.value);
  return ok(null);
}

function dispatchTo(handlers: Handlers) {
  async function dispatch(name: string, input: unknown, gone?: AbortSignal): Promise<Result<never>> {
    if (!Object.hasOwn(procedures, name))
      return notFound(`The engine has no procedure "${String(name).slice(0, 80)}".`);
    const known = name as ProcedureName;
    const checked = validate(procedures[known].input, input ?? {}, name);
    if (!checked.ok) return checked;
    try {
      return await (handlers[known] as (value: unknown, gone?: AbortSignal) => Promise<Result<never>>)(
        checked.value,
        gone,
      );
    } catch (error) {
      if (error instanceof FailureError) return { ok: false, error: error.failure };
      return fail('internal', `${name}: ${errorText(error)}`);
    }
  }

  const logged: typeof dispatch = async (name, input, gone) => {
    if (!log.enabled) return dispatch(name, input, gone);
    const start = performance.now();
    const result = await dispatch(name, input, gone);
    const outcome = result.ok ? 'ok' : `${result.error.code}: ${result.error.message}`;
    log('%s %s ms, %s', name, (performance.now() - start).toFixed(1), outcome);
    return result;
  };

  return logged;
}

function joinHandlers(context: Context, pageSilenceMs: number): Handlers {
  const targets = openTargets(context);
  const benchmarks = openBenchmarks(context, targets, pageSilenceMs);
  return {
    ...agentHandlers(context),
    ...appHandlers(context),
    ...studyHandlers(context),
    ...deviceHandlers(context),
    ...sweepHandlers(context),
    ...runHandlers(context, {
      sweep: (run) => resumeSweep(context, run),
      simulate: (run) => resumeSimulations(context, run),
      bench: benchmarks.resume,
    }),
    ...adviceHandlers(context),
    ...rankingHandlers(context),
    ...simulationHandlers(context),
    ...measuringHandlers(context, targets, benchmarks),
    ...importHandlers(context),
    ...inspectHandlers(context),
    ...exportHandlers(context),
    ...modelHandlers(context),
    ...evidenceHandlers(context),
  };
}
