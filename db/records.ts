import type { PredictionChunk, PredictionColumns } from '../src-workers/domain/columns.ts';
import type { Device } from '../src-workers/domain/device.ts';
import type { Failure } from '../src-workers/domain/result.ts';
import type { AxisName } from '../src-workers/domain/space.ts';
import type { LengthLaw } from '../src-workers/domain/workload.ts';
import type { SimulatedTimes } from '../src-workers/domain/simulation.ts';

/** All types survive a structured clone. What was stored as JSON is `unknown`. Timestamps are ISO 8601 in UTC. */

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export type AxisValue = string | number | null;
export type RunAxes = Readonly<Record<StoredAxis, readonly AxisValue[]>>;
export type StoredAxis = Exclude<AxisName, 'implementation' | 'blockWidth'>;

export interface StudyDraft {
  readonly name: string;
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
  readonly study: unknown;
  readonly appVersion: string;
  readonly modelVersions: Readonly<Record<string, string>>;
  readonly seed: number | null;
  readonly machine: unknown;
  readonly sourceRunId?: number | null;
  readonly enumeratedCount: number;
  readonly devices: readonly Device[];
  /** Number of best designs that a sweep keeps, ≥ 1. If it is omitted, the sweep saves all designs. */
  readonly bestWanted?: number | undefined;
  readonly implementations?: number;
  readonly blockWidths?: number;
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
  /** The sweep whose designs the run simulates or measures. The number stays when that sweep is removed. */
  readonly sourceRunId: number | null;
  readonly enumeratedCount: number;
  readonly validCount: number;
  readonly invalidCount: number;
  readonly kept: KeptDesigns | null;
  readonly best: BestDesign | null;
  readonly deletedAt: string | null;
}

export interface KeptDesigns {
  readonly wanted: number;
  readonly predicted: number | null;
  /** The recommended design if some designs nearly as fast as the best are not kept; otherwise null. */
  readonly picked: number | null;
}

export interface RunRecord
  extends RunSummary, Pick<RunDraft, 'study' | 'modelVersions' | 'seed' | 'machine' | 'devices' | 'axes'> {
  readonly failure: Failure | null;
  readonly measuringDevice: unknown;
}

export interface RunQuery {
  readonly studyId?: number | undefined;
  readonly kind?: RunKind;
  readonly state?: RunState;
  /** Whether to return the runs in the bin instead of all other runs. */
  readonly deleted?: boolean;
  /** 100 by default, at most 1000. */
  readonly limit?: number;
}

export interface RunPage {
  readonly total: number;
  readonly rows: readonly RunSummary[];
}

export interface BestDesign {
  readonly timeMs: number;
  readonly design: string;
}

export interface RunEnd {
  readonly state: 'complete' | 'cancelled' | 'failed';
  readonly elapsedMs: number;
  readonly failure?: Failure;
  readonly best?: BestDesign | null;
}

export interface CommittedChunk {
  readonly firstDesign: number;
  readonly count: number;
}

export type { PredictionChunk, PredictionColumns };

/** Designs are in the order of their indices. A design that is not saved yet has the invalid reason `NOT_SAVED`. */
export interface RunColumns extends PredictionColumns {
  readonly count: number;
  /** The indices of the designs, ascending, if the run keeps only the best; null if every design has an entry. */
  readonly designs: Uint32Array | null;
}

export interface BestDesigns extends PredictionColumns {
  readonly designs: Uint32Array;
  readonly predicted: number;
  readonly picked: number | null;
}

/** `design` remains when the source run is removed. */
export interface DesignReference {
  readonly sourceRunId: number | null;
  readonly designIndex: number | null;
  readonly deviceId: string;
  readonly design: unknown;
  readonly predictedMs: number | null;
}

export interface SimulationRecord extends DesignReference, SimulatedTimes {
  readonly detail: unknown;
}

export interface SimulationOfRun extends SimulationRecord {
  readonly runId: number;
}

export interface MeasurementRecord extends DesignReference {
  readonly backend: string;
  readonly timesMs: readonly number[];
  readonly correct: boolean | null;
  readonly failure: string | null;
  readonly detail: unknown;
}

export interface MeasurementOfRun extends MeasurementRecord {
  readonly runId: number;
}

export interface CalibrationDraft {
  readonly name: string;
  readonly deviceId: string;
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
  readonly provenance: unknown;
}

export interface DiskUse {
  readonly fileBytes: number;
  /** The unused part of `fileBytes`, which deletions left and `vacuum` gives back. */
  readonly freeBytes: number;
  /** Estimated sizes of all runs, deleted runs included. Their sum is at most `fileBytes`. */
  readonly runs: readonly { readonly runId: number; readonly bytes: number }[];
  readonly bin: { readonly runs: number; readonly studies: number; readonly bytes: number };
}
