import type { Device } from '../src-workers/domain/device.ts';
import type { Result } from '../src-workers/domain/result.ts';
import type {
  BestDesigns,
  CalibrationDraft,
  CalibrationRecord,
  CommittedChunk,
  DiskUse,
  MeasurementOfRun,
  MeasurementRecord,
  PredictionChunk,
  RunColumns,
  RunDraft,
  RunEnd,
  RunPage,
  RunQuery,
  RunRecord,
  SimulationOfRun,
  SimulationRecord,
  StudyDraft,
  StudyRecord,
  WorkloadRecord,
} from './records.ts';

/**
 * All functions of the store, as one table. `Store` answers synchronously (in its own thread and in tests);
 * `StoreClient` is the same table with promises.
 *
 * Any method may fail with `storage` (database full, locked or damaged), with `not-found` for ids that do not exist,
 * with `bad-input` for invalid values, and with `conflict` for requests that do not fit the state of a run. A method
 * that fails has changed nothing.
 */
export interface Store {
  createStudy(draft: StudyDraft): Result<StudyRecord>;
  updateStudy(id: number, draft: StudyDraft): Result<StudyRecord>;
  getStudy(id: number): Result<StudyRecord>;
  /** Lists studies, the latest change first, without deleted ones. */
  listStudies(): Result<readonly StudyRecord[]>;
  /** Moves a study to the bin; its runs stay. */
  deleteStudy(id: number): Result<null>;
  restoreStudy(id: number): Result<StudyRecord>;

  /** Creates a run in the state `running`, owned by this store. */
  createRun(draft: RunDraft): Result<RunRecord>;
  /**
   * Saves the predictions of a run of designs in one transaction, so that either all or none are saved. Predictions
   * reported as saved survive a kill of the process. Fails with `conflict` if any of the designs is already saved, or
   * if the run is not running under this store. Through the client, arrays that fill their buffer are transferred, so
   * the caller can no longer use them.
   */
  savePredictionChunk(runId: number, chunk: PredictionChunk): Result<null>;
  /**
   * Saves the best designs of a run that keeps only these, in one transaction. They replace the designs saved before.
   * Fails with `conflict` if there are more than the run keeps.
   */
  saveBestDesigns(runId: number, best: BestDesigns): Result<null>;
  /** Saves simulated times. In a run that simulates, this also counts the records as valid. */
  saveSimulations(runId: number, records: readonly SimulationRecord[]): Result<null>;
  /** Also counts the records in the run: records with a failure as invalid, others as valid. */
  saveMeasurements(runId: number, records: readonly MeasurementRecord[]): Result<null>;
  /** Saves the device that measures a run, any JSON value. Fails with `conflict` if it is already saved. */
  saveMeasuringDevice(runId: number, device: unknown): Result<null>;
  /** Fails with `conflict` if a sweep with missing designs is to be `complete`. */
  finishRun(runId: number, end: RunEnd): Result<RunRecord>;
  /** Takes over an incomplete run. The engine then saves the chunks that `listChunks` does not have. */
  resumeRun(runId: number): Result<RunRecord>;
  /** Lists the chunks in the order of designs. */
  listChunks(runId: number): Result<readonly CommittedChunk[]>;

  getRun(runId: number): Result<RunRecord>;
  listRuns(query: RunQuery): Result<RunPage>;
  renameRun(runId: number, name: string): Result<RunRecord>;
  noteRun(runId: number, note: string): Result<RunRecord>;
  tagRun(runId: number, tags: readonly string[]): Result<RunRecord>;
  /** Moves runs to the bin, all or none. Fails with `conflict` if one of them is running. */
  deleteRuns(runIds: readonly number[]): Result<null>;
  restoreRuns(runIds: readonly number[]): Result<null>;
  /** Permanently removes the runs and studies deleted before the given time (ISO 8601; now by default). */
  purgeDeleted(before?: string): Result<{ readonly runs: number; readonly studies: number }>;

  /** All predictions of a run, from packed columns. Missing or inconsistent columns are rebuilt from the rows. */
  loadRunColumns(runId: number): Result<RunColumns>;
  listSimulations(runId: number): Result<readonly SimulationRecord[]>;
  /** Simulations of a run's designs by runs that are not deleted, oldest first. */
  listSimulationsOf(sourceRunId: number): Result<readonly SimulationOfRun[]>;
  listMeasurements(runId: number): Result<readonly MeasurementRecord[]>;
  /** Measurements of a run's designs by runs that are not deleted, oldest first. */
  listMeasurementsOf(sourceRunId: number): Result<readonly MeasurementOfRun[]>;

  saveCalibration(draft: CalibrationDraft): Result<CalibrationRecord>;
  /** Lists calibrations, newest first, for one device or for all. */
  listCalibrations(deviceId?: string): Result<readonly CalibrationRecord[]>;
  deleteCalibration(id: number): Result<null>;

  /** Inserts or replaces the user's own device. */
  saveDevice(device: Device): Result<null>;
  deleteDevice(id: string): Result<null>;
  listDevices(): Result<readonly Device[]>;

  saveWorkload(record: WorkloadRecord): Result<null>;
  /** `null` if there is no such workload. The table is a cache, so a missing workload is not a failure. */
  getWorkload(hash: string): Result<WorkloadRecord | null>;

  /** Any JSON value. */
  saveSetting(key: string, value: unknown): Result<null>;
  listSettings(): Result<Readonly<Record<string, unknown>>>;

  diskUse(): Result<DiskUse>;
  /** Returns unused space to the file system. It needs free space of the size of the file. */
  vacuum(): Result<null>;
  /** Reads the whole file and returns the errors found; empty if the file is valid. */
  checkIntegrity(): Result<readonly string[]>;
}

/** The functions of the store, which return values and throw `FailureError`s. */
export type StoreMethods = {
  readonly [Method in keyof Store]: (
    ...args: Parameters<Store[Method]>
  ) => ReturnType<Store[Method]> extends Result<infer Value> ? Value : never;
};

/** Names of all methods, for the client that passes them on. */
export const STORE_METHODS = {
  createStudy: true,
  updateStudy: true,
  getStudy: true,
  listStudies: true,
  deleteStudy: true,
  restoreStudy: true,
  createRun: true,
  savePredictionChunk: true,
  saveBestDesigns: true,
  saveSimulations: true,
  saveMeasurements: true,
  saveMeasuringDevice: true,
  finishRun: true,
  resumeRun: true,
  listChunks: true,
  getRun: true,
  listRuns: true,
  renameRun: true,
  noteRun: true,
  tagRun: true,
  deleteRuns: true,
  restoreRuns: true,
  purgeDeleted: true,
  loadRunColumns: true,
  listSimulations: true,
  listSimulationsOf: true,
  listMeasurements: true,
  listMeasurementsOf: true,
  saveCalibration: true,
  listCalibrations: true,
  deleteCalibration: true,
  saveDevice: true,
  deleteDevice: true,
  listDevices: true,
  saveWorkload: true,
  getWorkload: true,
  saveSetting: true,
  listSettings: true,
  diskUse: true,
  vacuum: true,
  checkIntegrity: true,
} as const satisfies Readonly<Record<keyof Store, true>>;

/** The store from another thread: the same table, with promises that never reject. */
export type AsyncStore = {
  readonly [Method in keyof Store]: (...args: Parameters<Store[Method]>) => Promise<ReturnType<Store[Method]>>;
};

export interface StoreClient extends AsyncStore {
  /** Calls back when another process changed the database. Returns a function that ends the subscription. */
  onExternalChange(listener: () => void): () => void;
  /** Answers all earlier calls, marks its own running runs as interrupted, closes the file and ends the thread. */
  close(): Promise<void>;
}
