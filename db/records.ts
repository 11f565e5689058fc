import type { PredictionChunk, PredictionColumns } from '../src-workers/domain/columns.ts';
import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import type { AxisName } from '../src-workers/domain/space.ts';
import type { LengthLaw } from '../src-workers/domain/workload.ts';
import type { SimulatedTimes } from '../src-workers/domain/simulation.ts';

/**
 * The types that the store takes and returns. All of them survive a structured clone, since the store has its own
 * thread. Values that were stored as JSON are returned as `unknown`: the reader checks them with the schema of the
 * version that wrote them. Times of day are ISO 8601 in UTC.
 */

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export type AxisValue = string | number | null;
/**
 * Values of each axis in order of position. The space is their product, times the implementations and block widths of
 * the study. These two are between the device and the other axes, so the positions here do not change.
 */
export type RunAxes = Readonly<Record<StoredAxis, readonly AxisValue[]>>;
export type StoredAxis = Exclude<AxisName, 'implementation' | 'blockWidth'>;

export interface StudyDraft {
  readonly name: string;
  /** Saves any JSON value. */
  readonly spec: unknown;
}

export interface StudyRecord extends StudyDraft {
  readonly id: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface RunDraft {
  readonly kind: RunKind;
  readonly name: string;
  readonly studyId: number | null;
  /** The study at this time. Any JSON value. */
  readonly study: unknown;
  readonly appVersion: string;
  readonly modelVersions: Readonly<Record<string, string>>;
  readonly seed: number | null;
  /** The machine that the run executes on. Any JSON value. */
  readonly machine: unknown;
  /** The sweep whose designs the run simulates or measures, if there is one. */
  readonly sourceRunId?: number | null;
  /** Size of the enumerated space; for a run with axes, their product. */
  readonly enumeratedCount: number;
  /** Descriptions of the devices used, in order. */
  readonly devices: readonly Device[];
  /** Number of best designs that a sweep keeps, ≥ 1; all designs are saved if omitted. */
  readonly bestWanted?: number | undefined;
  /** Number of implementations in the study; 1 if omitted. */
  readonly implementations?: number;
  /** Number of block widths in the study; 1 if omitted. */
  readonly blockWidths?: number;
  /** `null` for a run whose designs do not come from its own space. */
  readonly axes: RunAxes | null;
}

export interface RunSummary {
  readonly id: number;
  readonly studyId: number | null;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly name: string;
  readonly note: string;
  readonly tags: readonly string[];
  readonly appVersion: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly elapsedMs: number;
  /** The sweep whose designs the run simulates or measures. It stays set after that sweep was removed. */
  readonly sourceRunId: number | null;
  readonly enumeratedCount: number;
  readonly validCount: number;
  readonly invalidCount: number;
  /** The best designs of a sweep that keeps only these; null if all designs are predicted and saved. */
  readonly kept: KeptDesigns | null;
  /** The fastest saved design when the execution ended; `null` before that, or if none was valid. */
  readonly best: BestDesign | null;
  /** The time of deletion, while the deletion can still be undone. */
  readonly deletedAt: string | null;
}

export interface KeptDesigns {
  /** Maximum number of kept designs. */
  readonly wanted: number;
  /** Number of designs that were predicted to find the kept ones; null until these are saved. */
  readonly predicted: number | null;
  /** The recommended design, if it may not be among the kept ones because too many designs are about equally fast. */
  readonly picked: number | null;
}

export interface RunRecord
  extends RunSummary, Pick<RunDraft, 'study' | 'modelVersions' | 'seed' | 'machine' | 'devices' | 'axes'> {
  readonly failure: Failure | null;
  /** The device that measured; `null` until it is known, and for runs that measure nothing. */
  readonly measuringDevice: unknown;
}

export interface RunQuery {
  readonly studyId?: number | undefined;
  readonly kind?: RunKind;
  readonly state?: RunState;
  /** 100 by default, at most 1000. */
  readonly limit?: number;
}

export interface RunPage {
  /** Number of runs that match, on all pages. */
  readonly total: number;
  readonly rows: readonly RunSummary[];
}

export interface BestDesign {
  readonly timeMs: number;
  readonly design: string;
}

/** The end of an execution. `failure` is set only with `failed`. */
export interface RunEnd {
  readonly state: 'complete' | 'cancelled' | 'failed';
  /** Execution time of this and all earlier attempts, milliseconds. */
  readonly elapsedMs: number;
  readonly failure?: Failure;
  readonly best?: BestDesign | null;
}

/** Designs firstDesign … firstDesign + count − 1 are saved. */
export interface CommittedChunk {
  readonly firstDesign: number;
  readonly count: number;
}

export type { PredictionChunk, PredictionColumns };

/**
 * The predictions of a run, `count` of them, by design index. If a run saves all designs, those not saved yet have the
 * invalidReason `NOT_SAVED`.
 */
export interface RunColumns extends PredictionColumns {
  readonly count: number;
  /** Design indices of a run that keeps the best designs, ascending; null if all designs have an entry. */
  readonly designs: Uint32Array | null;
}

export interface BestDesigns extends PredictionColumns {
  readonly designs: Uint32Array;
  /** Number of designs that were predicted to find the best ones. */
  readonly predicted: number;
  /** See `KeptDesigns`. */
  readonly picked: number | null;
}

/** The origin of a simulated or measured design, and its description, which outlives that run. */
export interface DesignReference {
  readonly sourceRunId: number | null;
  readonly designIndex: number | null;
  readonly deviceId: string;
  /** A `Design`, as JSON. */
  readonly design: unknown;
  readonly predictedMs: number | null;
}

export interface SimulationRecord extends DesignReference, SimulatedTimes {
  /** Further results of the simulator. Any JSON value. */
  readonly detail: unknown;
}

export interface SimulationOfRun extends SimulationRecord {
  readonly runId: number;
}

export interface MeasurementRecord extends DesignReference {
  /** `cuda`, `webgpu`, `cpu`, … */
  readonly backend: string;
  /** Every repeat, milliseconds, in order; empty if the design failed. */
  readonly timesMs: readonly number[];
  /** Whether the result equals the CPU's; `null` if it was not checked. */
  readonly correct: boolean | null;
  readonly failure: string | null;
  /** Clock, compiler output, … Any JSON value. */
  readonly detail: unknown;
}

export interface MeasurementOfRun extends MeasurementRecord {
  readonly runId: number;
}

export interface CalibrationDraft {
  readonly name: string;
  readonly deviceId: string;
  /** Any JSON value. */
  readonly profile: unknown;
}

export interface CalibrationRecord extends CalibrationDraft {
  readonly id: number;
  readonly createdAt: string;
}

export interface WorkloadRecord {
  /** Digest of everything that determines the law: grammar, file content, truncation. */
  readonly hash: string;
  readonly law: LengthLaw;
  /** The source of the lengths. Any JSON value. */
  readonly provenance: unknown;
}

export interface DiskUse {
  /** Bytes of the database file and its write-ahead log. */
  readonly fileBytes: number;
  /** The part of `fileBytes` that deletions left unused and `vacuum` returns. */
  readonly freeBytes: number;
  /** Estimates, deleted runs included. Their sum is at most `fileBytes`. */
  readonly runs: readonly { readonly runId: number; readonly bytes: number }[];
  /** The deleted runs and studies that can still be restored. `bytes` is an estimate. */
  readonly bin: { readonly runs: number; readonly studies: number; readonly bytes: number };
}
