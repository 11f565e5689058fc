import type { PredictionChunk, PredictionColumns } from '../src-workers/domain/columns.ts';
import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import type { AxisName } from '../src-workers/domain/space.ts';
import type { LengthLaw } from '../src-workers/domain/workload.ts';
import type { SimulatedTimes } from '../src-workers/domain/simulation.ts';

/**
 * The types that the store takes and returns. All of them survive a structured clone, because the store runs in a
 * thread of its own. A value that was stored as JSON is returned as `unknown`, and the reader checks it with the schema
 * of the version that wrote it. Times of day are ISO 8601 in UTC.
 */

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export type AxisValue = string | number | null;
/**
 * Values of each axis in order of position. The space is the product of these axes with the implementations and block
 * widths of the study, which come right after the device.
 */
export type RunAxes = Readonly<Record<StoredAxis, readonly AxisValue[]>>;
export type StoredAxis = Exclude<AxisName, 'implementation' | 'blockWidth'>;

export interface StudyDraft {
  readonly name: string;
  /** Any JSON value. */
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
  /** A copy of the study when the run was created. Any JSON value. */
  readonly study: unknown;
  readonly appVersion: string;
  readonly modelVersions: Readonly<Record<string, string>>;
  readonly seed: number | null;
  /** The machine that the run executes on. Any JSON value. */
  readonly machine: unknown;
  /** The sweep whose designs the run simulates or measures, if there is one. */
  readonly sourceRunId?: number | null;
  /** The number of designs in the space. In a run with axes, it is the product of the numbers of values. */
  readonly enumeratedCount: number;
  /** Descriptions of the devices used, in order. */
  readonly devices: readonly Device[];
  /** Number of best designs that a sweep keeps, ≥ 1. If it is omitted, the sweep saves all designs. */
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
  /** The sweep whose designs the run simulates or measures. The number stays after that sweep was removed. */
  readonly sourceRunId: number | null;
  readonly enumeratedCount: number;
  readonly validCount: number;
  readonly invalidCount: number;
  /** Set for a sweep that keeps only its best designs. Null if all designs are predicted and saved. */
  readonly kept: KeptDesigns | null;
  /** The fastest saved design at the end of the run; `null` before the end, and if no design was valid. */
  readonly best: BestDesign | null;
  /** The time of deletion, while the deletion can still be undone. */
  readonly deletedAt: string | null;
}

export interface KeptDesigns {
  /** Maximum number of kept designs. */
  readonly wanted: number;
  /** Number of designs that had to be predicted for finding the kept ones; null until the kept ones are saved. */
  readonly predicted: number | null;
  /** The recommended design, saved if nearly equal designs may have displaced it from the kept ones; otherwise null. */
  readonly picked: number | null;
}

export interface RunRecord
  extends RunSummary, Pick<RunDraft, 'study' | 'modelVersions' | 'seed' | 'machine' | 'devices' | 'axes'> {
  readonly failure: Failure | null;
  /** The device that measured. It is `null` until the device is known, and for runs that measure nothing. */
  readonly measuringDevice: unknown;
}

export interface RunQuery {
  readonly studyId?: number | undefined;
  readonly kind?: RunKind;
  readonly state?: RunState;
  /** Maximum number of runs: 100 by default, at most 1000. */
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

/** The end of a run. `failure` is set only in the state `failed`. */
export interface RunEnd {
  readonly state: 'complete' | 'cancelled' | 'failed';
  /** Execution time of this attempt and all earlier ones, milliseconds. */
  readonly elapsedMs: number;
  readonly failure?: Failure;
  readonly best?: BestDesign | null;
}

/** Designs `firstDesign` … `firstDesign + count − 1`, which are saved. */
export interface CommittedChunk {
  readonly firstDesign: number;
  readonly count: number;
}

export type { PredictionChunk, PredictionColumns };

/**
 * The predictions of `count` designs of a run, in order of design index. If the run saves all designs, a design that is
 * not saved yet has the invalid reason `NOT_SAVED`.
 */
export interface RunColumns extends PredictionColumns {
  readonly count: number;
  /** The indices of the designs, ascending, if the run keeps only the best; null if every design has an entry. */
  readonly designs: Uint32Array | null;
}

export interface BestDesigns extends PredictionColumns {
  readonly designs: Uint32Array;
  /** Number of designs that had to be predicted for finding the best ones. */
  readonly predicted: number;
  /** The recommended design, if it may not be among the best ones (`KeptDesigns`). */
  readonly picked: number | null;
}

/** The run and index of a simulated or measured design. `design` remains when that run is removed. */
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
  /** The times of all repeats in order, milliseconds; empty if the design failed. */
  readonly timesMs: readonly number[];
  /** Whether the result equals the CPU's result; `null` if it was not checked. */
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
  /** Digest of everything that determines the law: the grammar, the content of the file and the truncation. */
  readonly hash: string;
  readonly law: LengthLaw;
  /** The source of the lengths. Any JSON value. */
  readonly provenance: unknown;
}

export interface DiskUse {
  /** Bytes of the database file and its write-ahead log. */
  readonly fileBytes: number;
  /** The unused part of `fileBytes`, which deletions left and `vacuum` gives back. */
  readonly freeBytes: number;
  /** Estimated bytes of each run, also of deleted runs. Their sum is at most `fileBytes`. */
  readonly runs: readonly { readonly runId: number; readonly bytes: number }[];
  /** The deleted runs and studies that can still be restored. `bytes` is an estimate. */
  readonly bin: { readonly runs: number; readonly studies: number; readonly bytes: number };
}
