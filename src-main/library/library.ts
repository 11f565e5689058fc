import { dirname, resolve } from 'node:path';
import type { Device } from '../../src-workers/domain/device.ts';
import type { LossReport } from '../../src-workers/domain/loss.ts';
import { FailureError, unwrap, type FailureCode } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import type { Recommendation } from '../contract/advice.ts';
import type { BestDesigns, BestRow, RunSummary, SimulatedDesign } from '../contract/api.ts';
import { parseStudy as readStudy } from '../contract/parse.ts';
import type { EventName, Events, ProcedureInput, ProcedureName, ProcedureOutput } from '../contract/procedures.ts';
import type { Study, StudyFile } from '../contract/study.ts';
import { programPlaces } from '../hosts/places.ts';
import { defaultDatabaseFile } from '../services/app/data-folder.ts';
import { deviceOccupancy, nvidiaOccupancy, type OccupancyReport } from '../services/devices/occupancy.ts';
import { openEngine as open } from '../services/engine.ts';
import { lossOf, writtenLaw } from '../services/models/loss.ts';
import { readStudyFile } from '../services/studies/studies.ts';

/**
 * Lockstep as a library: the models as functions, and the engine (sweeps, rankings, the store) as an object to close.
 * Failed calls throw a `LockstepError`. Times are in milliseconds, sizes in bytes, and fractions are between 0 and 1.
 */

export type {
  BestDesigns,
  BestRow,
  Device,
  Events,
  FailureCode,
  LengthLaw,
  LossReport,
  OccupancyReport,
  Recommendation,
  RunSummary,
  SimulatedDesign,
  Study,
  StudyFile,
};

/**
 * The error of a failed call. `failure` has a code, a message in plain words, and in `context.field` the wrong field,
 * if there is one.
 */
export { FailureError as LockstepError };

/**
 * The law of a workload from its text: `geometric(0.05)`, `file:lengths.csv`, `mtx:matrix.mtx`,
 * `summary(mean=20,sd=12,max=300)`, …
 * @param folder folder in which its files are looked for; the current folder if left out
 */
export async function lengthLaw(workload: string, folder: string = process.cwd()): Promise<LengthLaw> {
  return unwrap(await writtenLaw(workload, folder));
}

/**
 * The mean loss of groups of n independent units in lockstep (Swatman 2022, doi:10.1109/MASCOTS56607.2022.00026). It is
 * the time in lockstep over the time of the units alone, between 1 and n.
 * @param lengths iterations of each unit (whole numbers ≥ 0), or their law
 * @param n units per group, ≥ 1
 */
export function meanLoss(lengths: ArrayLike<number> | LengthLaw, n: number): number {
  return losses(lengths, [n]).rows[0].meanLoss;
}

/**
 * The losses for several n: mean, deviation, total time over total work and, for lengths in an array, that of groups of
 * consecutive units.
 * @param quantiles whether to find quantiles too, which takes up to half a second for each n
 */
export function losses(
  lengths: ArrayLike<number> | LengthLaw,
  n: readonly number[],
  { quantiles = false }: { readonly quantiles?: boolean } = {},
): LossReport {
  return unwrap(lossOf(lengths, n, quantiles));
}

/** What a block needs. Without `sharedMemoryBytes`: none. */
export interface BlockNeeds {
  readonly blockThreads: number;
  readonly registersPerThread: number;
  readonly sharedMemoryBytes?: number;
}

/**
 * Resident blocks of a multiprocessor, and what limits them.
 * @param on an NVIDIA compute capability such as `9.0`, or a GPU of the catalogue (`call('devices.get', { ids })`)
 */
export function occupancy(on: string | Device, { sharedMemoryBytes = 0, ...block }: BlockNeeds): OccupancyReport {
  const usage = { ...block, sharedMemoryBytesPerBlock: sharedMemoryBytes };
  return unwrap(typeof on === 'string' ? nvidiaOccupancy(on, usage) : deviceOccupancy(on, usage));
}

/** Reads the text of a study file, with its defaults filled in. The error names the field that is wrong. */
export function parseStudy(text: string): Study {
  return unwrap(readStudy(text));
}

/** A study, or the path of its file. Relative files of an object's study are looked for in the current folder. */
export type StudySource = string | StudyFile;

export interface EngineOptions {
  /**
   * The database file. If left out, it is the file of the desktop app in the data folder. `openEngine` creates it if it
   * is missing.
   */
  readonly database?: string;
  /** Number of worker threads. By default it is the number that the machine can run at once. They start on demand. */
  readonly workers?: number;
}

export interface SweepOptions {
  /** Best designs to return; 10 without it. */
  readonly top?: number;
  /** Devices instead of those of the study; `ID:66` is 66 multiprocessors of one. */
  readonly devices?: readonly string[];
  /** Cancels the sweep. Predictions that are already saved are kept. */
  readonly signal?: AbortSignal;
}

export interface RankOptions {
  readonly top?: number;
  readonly device?: string;
  /** One row for designs that differ in nothing that matters. */
  readonly groups?: boolean;
}

/** A finished sweep: its best designs (`rows`), the best of each device, the recommended one. */
export interface Sweep extends BestDesigns {
  readonly runId: number;
  readonly run: RunSummary;
}

/**
 * An open store with its services for predicting and measuring. Several processes may have the same database open.
 * Close the engine, because its workers keep a process alive.
 */
export interface Engine extends AsyncDisposable {
  /** Predicts every design of a study and saves the run. */
  sweep(study: StudySource, options?: SweepOptions): Promise<Sweep>;
  /** The best designs of a run, by predicted time. */
  rank(runId: number, options?: RankOptions): Promise<readonly BestRow[]>;
  /** Plays the best designs of a run event by event (20 without `top`), and returns them by simulated time. */
  simulate(
    runId: number,
    options?: { readonly top?: number; readonly device?: string },
  ): Promise<readonly SimulatedDesign[]>;
  /**
   * Recommends one design for a study (which is not saved) or a run (by number). It gives the reasons, the expected
   * time and the assumptions.
   */
  recommend(what: StudySource | number, options?: { readonly device?: string }): Promise<Recommendation>;
  /** Calls any procedure of the engine. */
  call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<ProcedureOutput<Name>>;
  /** Listens to an event, such as `run.progress`, until the returned function is called. */
  on<Name extends EventName>(event: Name, listener: (payload: Events[Name]) => void): () => void;
  /** Ends what runs, and closes the store. Runs that had not ended can be resumed (`runs.resume`). */
  close(): Promise<void>;
}

/** Opens the store. */
export async function openEngine({ database, workers }: EngineOptions = {}): Promise<Engine> {
  const places = programPlaces();
  const engine = unwrap(
    await open({
      databaseFile: database === undefined ? defaultDatabaseFile() : resolve(database),
      resourceFolder: places.root,
      host: 'cli',
      workerFile: places.workerFile,
      storeThreadFile: places.storeThreadFile,
      programs: places.programs,
      ...(workers !== undefined && { workers }),
    }),
  );
  const call: Engine['call'] = async (name, input) => unwrap(await engine.call(name, input));
  const on: Engine['on'] = (event, listener) =>
    engine.subscribe((name, payload) => {
      if (name === event) listener(payload as Parameters<typeof listener>[0]);
    });
  const finished = async (started: Promise<{ readonly runId: number }>, signal?: AbortSignal): Promise<RunSummary> => {
    const { runId: id } = await started;
    const cancel = (): void => void engine.call('runs.cancel', { id });
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted) cancel();
    try {
      const run = await call('runs.wait', { id });
      signal?.throwIfAborted();
      return run;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  };
  const close = async (): Promise<void> => void (await engine.close());
  return {
    call,
    on,
    async sweep(source, { top = 10, devices, signal } = {}) {
      const { study, folder } = await studyInput(source);
      const changed = devices === undefined ? study : { ...study, devices: [...devices] };
      const run = await finished(call('runs.start', { study: changed, folder }), signal);
      return { ...(await call('ranking.best', { runId: run.id, limit: top })), runId: run.id, run };
    },
    async rank(runId, { top = 10, device: deviceId, groups = false } = {}) {
      return (await call('ranking.best', { runId, limit: top, groups, ...(deviceId !== undefined && { deviceId }) }))
        .rows;
    },
    async simulate(runId, { top = 20, device: deviceId } = {}) {
      const run = await finished(
        call('simulations.start', { runId, top, ...(deviceId !== undefined && { deviceId }) }),
      );
      return call('simulations.list', { runId: run.id });
    },
    async recommend(what, { device: deviceId } = {}) {
      const about = typeof what === 'number' ? { runId: what } : await studyInput(what);
      return call('advice.recommend', { ...about, ...(deviceId !== undefined && { deviceId }) });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Runs `Engine.sweep` with an engine that is opened for it. */
export async function sweep(
  study: StudySource,
  { database, workers, ...options }: SweepOptions & EngineOptions = {},
): Promise<Sweep> {
  await using engine = await openEngine({
    ...(database !== undefined && { database }),
    ...(workers !== undefined && { workers }),
  });
  return await engine.sweep(study, options);
}

async function studyInput(source: StudySource): Promise<{ readonly study: StudyFile; readonly folder: string }> {
  if (typeof source !== 'string') return { study: source, folder: process.cwd() };
  const { study } = unwrap(await readStudyFile(source));
  return { study, folder: dirname(resolve(source)) };
}
