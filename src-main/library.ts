import { resolve } from 'node:path';
import type { Device } from '../src-workers/domain/device.ts';
import type { LossReport } from '../src-workers/domain/loss.ts';
import { FailureError, unwrap, type FailureCode } from '../src-workers/domain/result.ts';
import type { LengthLaw } from '../src-workers/domain/workload.ts';
import type { Recommendation } from './contract/advice.ts';
import type { BestDesigns, BestRow, RunSummary, SimulatedDesign } from './contract/api.ts';
import { parseStudy as readStudy } from './contract/parse.ts';
import type { EventName, Events, ProcedureInput, ProcedureName, ProcedureOutput } from './contract/procedures.ts';
import type { Study, StudyFile } from './contract/study.ts';
import { programPlaces } from './hosts/places.ts';
import { defaultDatabaseFile } from './services/files/data-folder.ts';
import { deviceOccupancy, nvidiaOccupancy, type OccupancyReport } from './services/devices/occupancy.ts';
import { openEngine as open } from './services/engine.ts';
import { lossOf, writtenLaw } from './services/models/loss.ts';
import { readStudyFile } from './services/studies/studies.ts';

/**
 * Lockstep as a library. The models are functions. The engine (sweeps, rankings, the store) is an object that must be
 * closed. Failed calls throw a `LockstepError`. Times are in milliseconds, sizes in bytes; fractions are from 0 to 1.
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

/** The error of a failed call. Its `failure` has a code and a message, and perhaps a wrong field (`context.field`). */
export { FailureError as LockstepError };

/**
 * Parses the law of a workload: `geometric(0.05)`, `file:lengths.csv`, `mtx:matrix.mtx`,
 * `summary(mean=20,sd=12,max=300)`, …
 * @param folder the folder for relative paths of files; the default is the current folder
 */
export async function lengthLaw(workload: string, folder: string = process.cwd()): Promise<LengthLaw> {
  return unwrap(await writtenLaw(workload, folder));
}

/**
 * Computes the mean loss of groups of n independent units in lockstep (Swatman 2022,
 * doi:10.1109/MASCOTS56607.2022.00026): the time in lockstep divided by the time of the units alone, between 1 and n.
 * @param lengths the iterations of each unit (whole numbers ≥ 0), or their law
 * @param n units per group, ≥ 1
 */
export function meanLoss(lengths: ArrayLike<number> | LengthLaw, n: number): number {
  return losses(lengths, [n]).rows[0].meanLoss;
}

/**
 * Computes the losses of groups of n units: mean, deviation, and total time divided by total work. If the lengths are
 * an array, it also computes the loss of groups of consecutive units.
 * @param quantiles whether to compute quantiles too, which takes up to half a second for each n
 */
export function losses(
  lengths: ArrayLike<number> | LengthLaw,
  n: readonly number[],
  { quantiles = false }: { readonly quantiles?: boolean } = {},
): LossReport {
  return unwrap(lossOf(lengths, n, quantiles));
}

/** The resources that a block needs. The default of `sharedMemoryBytes` is 0. */
export interface BlockNeeds {
  readonly blockThreads: number;
  readonly registersPerThread: number;
  readonly sharedMemoryBytes?: number;
}

/**
 * Computes how many blocks are resident on a multiprocessor, and which resources limit them.
 * @param on an NVIDIA compute capability such as `9.0`, or a GPU of the catalogue (`call('devices.get', { ids })`)
 */
export function occupancy(on: string | Device, { sharedMemoryBytes = 0, ...block }: BlockNeeds): OccupancyReport {
  const usage = { ...block, sharedMemoryBytesPerBlock: sharedMemoryBytes };
  return unwrap(typeof on === 'string' ? nvidiaOccupancy(on, usage) : deviceOccupancy(on, usage));
}

/** Parses the text of a study file and fills in the defaults. The error names the wrong field. */
export function parseStudy(text: string): Study {
  return unwrap(readStudy(text));
}

/** A study, or the path of its file. Relative paths inside a study start in the current folder. */
export type StudySource = string | StudyFile;

export interface EngineOptions {
  /** The database file. The default is the file of the desktop app. `openEngine` creates the file if it is missing. */
  readonly database?: string;
  /** The number of worker threads, which start on demand. The default is the number that the machine can run. */
  readonly workers?: number;
}

export interface SweepOptions {
  /** The number of best designs to return. The default is 10. */
  readonly top?: number;
  /** The devices to use instead of those of the study. `ID:66` means 66 multiprocessors of a device. */
  readonly devices?: readonly string[];
  /** Cancels the sweep. Saved predictions are kept. */
  readonly signal?: AbortSignal;
}

export interface RankOptions {
  readonly top?: number;
  readonly device?: string;
  /** Whether designs without a relevant difference share one row. */
  readonly groups?: boolean;
}

/** A finished sweep: its best designs (`rows`), the best design of each device, and the recommended design. */
export interface Sweep extends BestDesigns {
  readonly runId: number;
  readonly run: RunSummary;
}

/**
 * An open store with its services for predicting and measuring. Several processes may open the same database. An engine
 * must be closed, because its workers keep the process alive.
 */
export interface Engine extends AsyncDisposable {
  /** Predicts every design of a study and saves the run. */
  sweep(study: StudySource, options?: SweepOptions): Promise<Sweep>;
  /** Returns the best designs of a run, by predicted time. */
  rank(runId: number, options?: RankOptions): Promise<readonly BestRow[]>;
  /** Simulates the best designs of a run (default: 20) event by event, and returns them by simulated time. */
  simulate(
    runId: number,
    options?: { readonly top?: number; readonly device?: string },
  ): Promise<readonly SimulatedDesign[]>;
  /**
   * Recommends one design for a run (by its number) or for a study (which is not saved). Returns it with the reasons,
   * the expected time and the assumptions.
   */
  recommend(what: StudySource | number, options?: { readonly device?: string }): Promise<Recommendation>;
  /** Calls any procedure of the engine. */
  call<Name extends ProcedureName>(name: Name, input: ProcedureInput<Name>): Promise<ProcedureOutput<Name>>;
  /** Listens to an event, such as `run.progress`, until the returned function is called. */
  on<Name extends EventName>(event: Name, listener: (payload: Events[Name]) => void): () => void;
  /** Stops the active runs and closes the store. `runs.resume` can continue the stopped runs. */
  close(): Promise<void>;
}

export async function openEngine({ database, workers }: EngineOptions = {}): Promise<Engine> {
  const engine = unwrap(
    await open({
      databaseFile: database === undefined ? defaultDatabaseFile() : resolve(database),
      host: 'cli',
      ...programPlaces().engine,
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
      return (await call('ranking.best', { runId, limit: top, groups, deviceId })).rows;
    },
    async simulate(runId, { top = 20, device: deviceId } = {}) {
      const run = await finished(call('simulations.start', { runId, top, deviceId }));
      return call('simulations.list', { runId: run.id });
    },
    async recommend(what, { device: deviceId } = {}) {
      const about = typeof what === 'number' ? { runId: what } : await studyInput(what);
      return call('advice.recommend', { ...about, deviceId });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Runs `Engine.sweep` with a temporary engine. */
export async function sweep(study: StudySource, options: SweepOptions & EngineOptions = {}): Promise<Sweep> {
  await using engine = await openEngine(options);
  return await engine.sweep(study, options);
}

async function studyInput(source: StudySource): Promise<{ readonly study: StudyFile; readonly folder: string }> {
  if (typeof source !== 'string') return { study: source, folder: process.cwd() };
  return unwrap(await readStudyFile(source));
}
