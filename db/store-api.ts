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
 * `Store` answers synchronously; `AsyncStore` has the same functions with promises. Any function may fail with
 * `storage` (database full, locked or damaged), `not-found` (no such id), `bad-input` (invalid value) or `conflict`
 * (the request does not fit the state of a run). A function that fails has changed nothing.
 */
export interface Store {
  createStudy(draft: StudyDraft): Result<StudyRecord>;
  updateStudy(id: number, draft: StudyDraft): Result<StudyRecord>;
  getStudy(id: number): Result<StudyRecord>;
  listStudies(): Result<readonly StudyRecord[]>;
  deleteStudy(id: number): Result<null>;
  restoreStudy(id: number): Result<StudyRecord>;

  createRun(draft: RunDraft): Result<RunRecord>;
  /**
   * Saves all predictions or none. Saved predictions survive a kill of the process. Fails with `conflict` if any of the
   * designs is already saved, or if the run is not running in this store. Through the client, arrays that fill their
   * buffer are transferred, so the caller can no longer use them.
   */
  savePredictionChunk(runId: number, chunk: PredictionChunk): Result<null>;
  /** Replaces earlier designs. Fails with `conflict` if a design is invalid, or if the run keeps fewer designs. */
  saveBestDesigns(runId: number, best: BestDesigns): Result<null>;
  /** In a run of kind `simulate`, the records also count as valid designs. */
  saveSimulations(runId: number, records: readonly SimulationRecord[]): Result<null>;
  /** A design whose measurement failed counts as invalid. Every other measured design counts as valid. */
  saveMeasurements(runId: number, records: readonly MeasurementRecord[]): Result<null>;
  /** `device` is any JSON value. Fails with `conflict` if the run already has a device. */
  saveMeasuringDevice(runId: number, device: unknown): Result<null>;
  /** Fails with `conflict` if a sweep is to be `complete` but has unsaved designs. */
  finishRun(runId: number, end: RunEnd): Result<RunRecord>;
  /** Takes over an incomplete run. The engine then saves the chunks that `listChunks` does not return. */
  resumeRun(runId: number): Result<RunRecord>;
  listChunks(runId: number): Result<readonly CommittedChunk[]>;

  getRun(runId: number): Result<RunRecord>;
  listRuns(query: RunQuery): Result<RunPage>;
  renameRun(runId: number, name: string): Result<RunRecord>;
  noteRun(runId: number, note: string): Result<RunRecord>;
  tagRun(runId: number, tags: readonly string[]): Result<RunRecord>;
  /** Moves all given runs to the bin, or none. Fails with `conflict` if one of them is running. */
  deleteRuns(runIds: readonly number[]): Result<null>;
  restoreRuns(runIds: readonly number[]): Result<null>;
  /** Removes for good the runs and studies that were deleted before a time (ISO 8601; default: now). */
  purgeDeleted(before?: string): Result<{ readonly runs: number; readonly studies: number }>;

  /** Missing or wrong packed columns are rebuilt from the rows. */
  loadRunColumns(runId: number): Result<RunColumns>;
  listSimulations(runId: number): Result<readonly SimulationRecord[]>;
  listSimulationsOf(sourceRunId: number): Result<readonly SimulationOfRun[]>;
  listMeasurements(runId: number): Result<readonly MeasurementRecord[]>;
  listMeasurementsOf(sourceRunId: number): Result<readonly MeasurementOfRun[]>;

  saveCalibration(draft: CalibrationDraft): Result<CalibrationRecord>;
  listCalibrations(deviceId?: string): Result<readonly CalibrationRecord[]>;
  deleteCalibration(id: number): Result<null>;

  saveDevice(device: Device): Result<null>;
  deleteDevice(id: string): Result<null>;
  listDevices(): Result<readonly Device[]>;

  saveWorkload(record: WorkloadRecord): Result<null>;
  /** Returns `null` if there is no such workload, because the table is only a cache. */
  getWorkload(hash: string): Result<WorkloadRecord | null>;

  saveSetting(key: string, value: unknown): Result<null>;
  listSettings(): Result<Readonly<Record<string, unknown>>>;

  diskUse(): Result<DiskUse>;
  /** Returns unused space to the file system. This needs up to twice as much free disk space as the file has. */
  vacuum(): Result<null>;
  checkIntegrity(): Result<readonly string[]>;
}

/** The functions of `Store` in a form that returns plain values and throws `FailureError`s. */
export type StoreMethods = {
  readonly [Method in keyof Store]: (
    ...args: Parameters<Store[Method]>
  ) => ReturnType<Store[Method]> extends Result<infer Value> ? Value : never;
};

/** The promises never reject. */
export type AsyncStore = {
  readonly [Method in keyof Store]: (...args: Parameters<Store[Method]>) => Promise<ReturnType<Store[Method]>>;
};

export interface StoreClient extends AsyncStore {
  /** Calls back when another process changed the database. Returns a function that ends the subscription. */
  onExternalChange(listener: () => void): () => void;
  /** Answers all earlier calls, marks this store's running runs as interrupted, closes the file and ends the thread. */
  close(): Promise<void>;
}
