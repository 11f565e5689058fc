import type { Breakdown, UnitsOrder } from '../../src-workers/domain/breakdown.ts';
import type { Design, LimitingFactor, InvalidReason } from '../../src-workers/domain/design.ts';
import type { DrawnTimeline } from '../../src-workers/domain/timeline.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import type { DeviceEvidence, ImplementationKind, TieBand, TimedDevice } from '../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RegimeInfo } from '../../src-workers/domain/regime.ts';
import type { ReproductionTable } from '../../src-workers/domain/reproduction.ts';
import type { LawMoments } from '../../src-workers/domain/workload.ts';
import type { Study } from './study.ts';

/** Shapes that procedures return. Typed arrays stay typed arrays across every transport. */

export interface AppInfo {
  readonly version: string;
  readonly host: 'desktop' | 'serve' | 'cli';
  readonly platform: string;
  readonly nodeVersion: string;
  readonly databaseFile: string;
  readonly databaseBytes: number;
  readonly modelVersion: string;
  readonly workers: number;
}

export interface StudySummary {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly example: boolean;
  readonly updatedAt: string;
  readonly runs: number;
  readonly latestRunId: number | null;
}

export interface StudyRecord extends StudySummary {
  readonly study: Study;
}

export interface ResolvedWorkload {
  readonly label: string;
  readonly moments: LawMoments;
  readonly truncatedMass: number;
  readonly support: Float64Array;
  readonly probability: Float64Array;
  /** Made to have given figures, and otherwise assumed. */
  readonly fitted?: true;
  /** A note on how a file was read, if the reader might expect something else. */
  readonly note?: string;
  /** `null` if the workload has no order, or too many lengths for a preview. */
  readonly order: WorkloadOrder | null;
}

/** What the order of a workload's lengths does to groups of consecutive units. */
export interface WorkloadOrder {
  /** Mean lengths of equal stretches, from the first unit to the last. */
  readonly strip: Float64Array;
  /** Losses by group size, in the order and fully sorted: total lockstep time over total work. */
  readonly losses: readonly { readonly n: number; readonly aggregateLoss: number; readonly sortedLoss: number }[];
}

export interface SpaceSize {
  readonly enumerated: number;
  /** `null` if there are too many designs to look at each. */
  readonly valid: number | null;
  /** Invalid designs by reason, largest first. */
  readonly invalid: readonly { readonly reason: InvalidReason; readonly text: string; readonly count: number }[];
  readonly axes: readonly { readonly axis: string; readonly count: number }[];
  /** Estimated time to predict the space on this machine, ms. */
  readonly estimatedMs: number;
}

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export interface RunSummary {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly studyId: number | null;
  /** The study's name until someone renames the run. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly note: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly elapsedMs: number;
  /** The sweep whose designs a run simulates or measures. Null if there is none. */
  readonly sourceRunId: number | null;
  /** Number of designs or cases that a run of kind `simulate`, `bench` or `import` was asked for. */
  readonly enumerated: number;
  /** Designs that a run of kind `simulate` has done, or cases of `bench` and `import` that have a result. */
  readonly valid: number;
  /** Cases of `bench` and `import` that failed. */
  readonly invalid: number;
  /**
   * How many designs a sweep keeps at most, if it keeps only the best, and how many were predicted to find them (null
   * until they are saved). `valid` is then how many it kept.
   */
  readonly kept: { readonly wanted: number; readonly predicted: number | null } | null;
  readonly bytes: number;
  /**
   * The best predicted time; for `simulate` the least simulated mean, for `bench` and `import` the least measured
   * median.
   */
  readonly bestTimeMs: number | null;
  readonly bestDesign: string | null;
  readonly error: string | null;
}

export interface RunDetail extends RunSummary {
  /** Null for measurements that belong to no study. */
  readonly study: Study | null;
  readonly devices: readonly Device[];
  readonly appVersion: string;
  readonly modelVersion: string;
  readonly seed: number;
  readonly machine: string;
  /** Fields of the study as it is now that differ from the study this run was made with: the run is stale. */
  readonly staleFields: readonly FieldChange[];
}

/** What distinguishes a sweep from the one before it of the same study. */
export interface RunChange {
  readonly id: number;
  /** The sweep before it; null of the first one. */
  readonly since: number | null;
  readonly fields: readonly FieldChange[];
  /**
   * The first sweep of the same work, kernel, implementations and devices: best times of others say nothing of this
   * one's.
   */
  readonly problem: number;
}

/** A field of a study, by its path, with its values as JSON text; empty if there was none. */
export interface FieldChange {
  readonly field: string;
  readonly was: string;
  readonly is: string;
}

/**
 * Result of the event simulator for one design, ms. The interval is the 95 % confidence interval of the mean (Student).
 * The prediction is a mean too, so compare it with the mean.
 */
export interface SimulatedTime {
  /** The newest run of kind `simulate` that has it. */
  readonly runId: number;
  readonly meanMs: number;
  readonly lowMs: number;
  readonly highMs: number;
  readonly medianMs: number;
  readonly standardDeviationMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly replications: number;
  /** Every replication, in order. */
  readonly timesMs: readonly number[];
  /** False if the interval is wider than asked for after the largest number of replications. */
  readonly precise: boolean;
}

/** The measurement of one design on the same device that it was predicted for, ms. */
export interface MeasuredDesignTime {
  /** The newest run of kind `bench` or `import` that has it. */
  readonly runId: number;
  readonly medianMs: number;
  /** 95 % confidence interval of the median; null with too few repeats for one. */
  readonly lowMs: number | null;
  readonly highMs: number | null;
  readonly repeats: number;
  /** Name of the device, as it reports it. */
  readonly measuredOn: string;
}

/** One simulated design of a sweep. */
export interface SimulatedDesign {
  /** Rank from 1 by simulated mean, among the simulated designs of the run. */
  readonly rank: number;
  /** True if its interval overlaps that of the first. */
  readonly tied: boolean;
  readonly designIndex: number;
  readonly deviceId: string;
  readonly device: string;
  readonly design: Design;
  readonly predictedMs: number;
  readonly simulated: SimulatedTime;
  /** Prediction over simulated mean, less 1. */
  readonly difference: number;
  /** The regime that computed the prediction. Null if the run does not explain it. */
  readonly regime: RegimeInfo | null;
  /** The order of the units that the prediction assumes. Null on a CPU. */
  readonly order: UnitsOrder | null;
}

/** One replication of one design of a run. */
export interface SimulationTimeline extends DrawnTimeline {
  readonly designIndex: number;
  readonly replication: number;
}

export interface RankRow {
  /** Rank from 1 by predicted time, among all designs or those of the chosen device; 0 if the design has none. */
  readonly rank: number;
  /**
   * True if the time cannot be told from the best of the ranked ones. If this design and the best of the same fidelity
   * were both measured or simulated, their intervals overlap (in a list by simulated time, the simulated ones).
   * Otherwise the prediction is within the tie band of the best (`TieBand`).
   */
  readonly tied: boolean;
  readonly designIndex: number;
  readonly deviceId: string;
  readonly device: string;
  readonly design: Design;
  /**
   * Time at the best fidelity that was run for the design, ms. Fidelities differ from row to row: to compare rows, use
   * `predictedMs`.
   */
  readonly timeMs: number;
  readonly fidelity: 'predicted' | 'simulated' | 'measured';
  /** NaN if the design is invalid. */
  readonly predictedMs: number;
  /** The kind of implementation, and whether public measurements of the device exist for this kind. */
  readonly kind: ImplementationKind;
  readonly hasEvidence: boolean;
  readonly simulated: SimulatedTime | null;
  /**
   * Time measured on the device of this row, which is identified by its name. Times on another device are only in the
   * comparison of the run.
   */
  readonly measured: MeasuredDesignTime | null;
  readonly meanLoss: number;
  readonly aggregateLoss: number;
  readonly occupancyFraction: number;
  readonly residentBlocks: number;
  readonly residentThreadGroups: number;
  readonly waves: number;
  readonly limitedBy: readonly LimitingFactor[];
  /** Traffic of one lane, bytes; present if it follows from the accesses of the kernel. */
  readonly bytesPerIteration?: number;
  readonly invalid: InvalidReason | null;
  readonly breakdown: Breakdown | null;
  /**
   * 90 % range of `predictedMs` by measured kernels of its kind on the device, with the inputs as stated. It is given
   * only where devices are compared.
   */
  readonly rangeMs?: readonly [low: number, high: number];
  /** Predicted time at each block size of the space with all other axes fixed, ms. NaN if invalid. */
  readonly alongBlock: Float64Array | null;
}

/** A row as exports write it. */
export interface ExportRow extends RankRow {
  /**
   * The part of `predictedMs`, ms, that ordering the units takes before the launch of a measured design. Measurements
   * time the kernel alone, so measured times compare with `predictedMs` less this. For other designs it is 0.
   */
  readonly orderingMs: number;
}

/** A row as the command line prints it. */
export interface BestRow extends ExportRow {
  /** The regime that computed the prediction. Null if the run does not explain it. */
  readonly regime: RegimeInfo | null;
  /** The order of the units that the prediction assumes. Null on a CPU. */
  readonly order: UnitsOrder | null;
}

/** The best designs of a run, each at its best fidelity. */
export interface BestDesigns {
  /** Name of the study. */
  readonly study: string;
  /** The devices with their measurements; `null` if there are none. */
  readonly devices: readonly TimedDevice[];
  /** Relative width of the band in which designs that differ in shape alone cannot be ordered, and its source. */
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly rows: readonly BestRow[];
  /** Number of designs that each row represents. Null if equal designs are not grouped. */
  readonly equal: readonly number[] | null;
  /** The best design of every device that has a valid one, the fastest first. Ranks are among all designs. */
  readonly ofDevices: readonly BestRow[];
  /** The best design of every implementation that has a valid one, within the filter; empty if there is none. */
  readonly ofImplementations: readonly BestRow[];
  /** Invalid designs by reason, largest first. */
  readonly invalid: SpaceSize['invalid'];
  /** Says that only a part of the designs are predicted; `null` if all are. */
  readonly partial: string | null;
  /**
   * The design to use, how many designs of its device it was picked from, by which rule, and the parts of its time;
   * null if none is valid.
   */
  readonly recommended: {
    readonly row: BestRow;
    readonly ties: number;
    readonly rule: string;
    readonly inputs: readonly InputFact[];
  } | null;
  /** What the times on each device are made from, by device id. */
  readonly inputs: Readonly<Record<string, readonly InputFact[]>>;
}

/**
 * `timeMs` and ranges of it use the prediction, which every design has. `simulatedMs` lists the simulated designs
 * first, by their simulated mean, and then all other designs by their prediction; a descending list reverses both
 * parts. `measuredMs` does the same with the measured designs, by their median.
 */
export const RANK_COLUMNS = [
  'timeMs',
  'simulatedMs',
  'measuredMs',
  'device',
  'implementation',
  'threadsPerUnit',
  'unitsPerThread',
  'loop',
  'balancing',
  'blockThreads',
  'gridBlocks',
  'registerCap',
  'meanLoss',
  'aggregateLoss',
  'occupancyFraction',
  'residentBlocks',
  'waves',
] as const;
export type RankColumn = (typeof RANK_COLUMNS)[number];

export interface RankPage {
  /** Number of designs that pass the filter, and number of designs of the run. */
  readonly matching: number;
  readonly total: number;
  /** Number of rows of the list. It is below `matching` if equal designs are grouped. */
  readonly listed: number;
  /** Designs of the filter that were simulated. */
  readonly simulated: number;
  /** Designs of the filter that were measured on their device. */
  readonly measured: number;
  /**
   * Number of the order of simulated and measured times that the list stands by: give it to get further pages of this
   * list.
   */
  readonly order: number;
  /** Times have come that would change the order of the list. */
  readonly outdated: boolean;
  readonly offset: number;
  readonly rows: readonly RankRow[];
  /** Number of designs that each row represents. 0 for a row that is listed because another row was opened. */
  readonly equal: readonly number[];
  /**
   * Number of designs (ignoring the filter) that cannot be distinguished from the fastest, and the tie band of designs
   * that differ from it in shape alone.
   */
  readonly ties: number;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly baseline: RankRow | null;
  /**
   * Position of the requested design in the sorted list, from 0. Null if it is not in the list or none was requested.
   */
  readonly foundAt: number | null;
}

export interface Histogram {
  /** Bin edges, ms (length bins + 1), logarithmic. */
  readonly edgesMs: Float64Array;
  /** All designs, or those of the filter's device, and those of them that pass the filter. */
  readonly counts: Float64Array;
  readonly passing: Float64Array;
  readonly best: number;
  readonly median: number;
  /** Designs slower than the last edge. */
  readonly beyond: number;
}

export interface LandscapeGrid {
  readonly xAxis: string;
  readonly yAxis: string;
  /** The launches of the device (grids or cores), if all devices are of the same kind. */
  readonly xValues: readonly string[];
  readonly yValues: readonly string[];
  /** Row-major (y, x): time ms, NaN if no valid design. */
  readonly timeMs: Float64Array;
  /** The best design of a cell, the first of all if none is valid. */
  readonly designIndex: Uint32Array;
  /** Invalid-reason codes, row-major. 0 if valid; `NOT_SAVED` if the run has no time for any design of the cell. */
  readonly invalidReason: Uint8Array;
  readonly waves: Float32Array;
  /** 1 if a valid design of the cell passes the filter; null if all do. */
  readonly passing: Uint8Array | null;
  readonly best: number;
  readonly bestDesign: number;
  /**
   * 1 for cells whose design is tied with the best one. The tie band of designs that differ from it in shape alone
   * follows.
   */
  readonly tied: Uint8Array;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
}

/** Small maps, one for each value of an axis, in the order of its values. */
export interface LandscapeFacets {
  readonly columns: number;
  readonly rows: number;
  readonly facets: readonly {
    /**
     * The best time of the cells that a pixel covers, ms, row-major (y, x), for its colour. NaN if no cell is valid.
     */
    readonly timeMs: Float32Array;
    /** 1 if a valid design of the pixel passes the filter; null if all do. */
    readonly passing: Uint8Array | null;
    readonly best: number;
    readonly bestDesign: number;
  }[];
}

export interface ParallelSample {
  readonly axes: readonly {
    readonly id: string;
    readonly label: string;
    readonly categories: readonly string[] | null;
  }[];
  /** One Float64Array per axis: category index or value. */
  readonly columns: readonly Float64Array[];
  readonly designIndex: Float64Array;
  readonly sampledFrom: number;
}

/** Designs of a GPU under its two roofs, predicted: a sample, the best first. */
export interface Roofline {
  /** Peak of instruction issue, 10⁹ thread instructions per second, and of bandwidth, GB/s. */
  readonly peakIssueGips: number;
  readonly peakBandwidthGbS: number;
  readonly sampledFrom: number;
  readonly designIndex: Float64Array;
  readonly timeMs: Float64Array;
  /** For each design, over its whole time. Designs of a kernel that moves no data are left out, so both are known. */
  readonly issueGips: Float64Array;
  readonly bandwidthGbS: Float64Array;
}

export interface DeviceBest {
  readonly device: Device;
  /**
   * The device's best predicted design, or the requested design. `null` if it is invalid there. Its time is the
   * predicted one, which all devices have; `simulated` is given in addition.
   */
  readonly best: RankRow | null;
  readonly valid: number;
  /**
   * Number of designs of this device that are tied with its best, and the tie band of designs that differ from it in
   * shape alone.
   */
  readonly ties: number;
  readonly tieBand: TieBand;
  /** The measurements of the device; `null` if there are none. */
  readonly evidence: DeviceEvidence | null;
  readonly breakdown: Breakdown | null;
  /** Best time per threads per unit on this device, ms (NaN if none valid). */
  readonly byThreadsPerUnit: readonly { readonly threadsPerUnit: number; readonly timeMs: number }[];
  /**
   * The best design of every implementation that has a valid one on this device, fastest first; empty if the study
   * names none. `tied`: within `tieFraction` of the best of the device.
   */
  readonly byImplementation: readonly RankRow[];
}

export interface DeviceComparisonResult {
  readonly devices: readonly DeviceBest[];
  /** Width of the band of the fastest device. */
  readonly tieFraction: number;
  /** timeMs[i][j]: the best design of device i, run on device j (NaN if invalid there). */
  readonly cross: readonly (readonly number[])[];
  /** Sentences that say why the fastest device wins, largest cause first. */
  readonly reasons: readonly string[];
  /** Sentences that say which implementation to write. Empty if the study names none. */
  readonly choice: readonly string[];
}

export interface RunDiff {
  readonly left: RunSummary;
  readonly right: RunSummary;
  readonly fields: readonly { readonly field: string; readonly left: string; readonly right: string }[];
  readonly best: readonly {
    readonly device: string;
    readonly leftMs: number | null;
    readonly rightMs: number | null;
    readonly leftDesign: string;
    readonly rightDesign: string;
  }[];
  /**
   * Spearman's rank correlation over designs that are valid in both runs. NaN if there are fewer than two, or if all
   * have the same time in one of the runs. Null if the runs have different spaces.
   */
  readonly spearman: number | null;
}

/** Launch parameters of one design. */
export const CODE_FORMATS = ['cuda', 'cuda-kernel', 'wgsl', 'wgsl-kernel', 'python', 'kokkos', 'sycl'] as const;
/** The best designs of a device for a tuner, as Python. */
export const TUNER_FORMATS = ['triton', 'kernel-tuner', 'optuna'] as const;
export const EXPORT_FORMATS = [
  'json',
  'csv',
  'markdown',
  'html',
  'pdf',
  't4',
  ...CODE_FORMATS,
  'cub',
  'trace',
  ...TUNER_FORMATS,
] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Designs that a table can list. */
export const MAX_LISTED = 2_000_000;

/** For `pdf`, the text is a page, which each host prints to the file. */
export interface ExportDocument {
  readonly fileName: string;
  readonly mediaType: string;
  /** The text, or its first part. */
  readonly text: string;
  /** If the text is longer: its next part, for `export.next`. */
  readonly next?: number;
  /** For a table of designs: how many it lists, the best first, and how many are valid. */
  readonly designs?: {
    readonly listed: number;
    readonly of: number;
    /** The largest number of rows that such a file lists. Without it there is no limit. */
    readonly most?: number;
  };
  /** For code: a note that the requested design is faster but cannot be expressed in this form. */
  readonly note?: string;
}

/** A further part of a document. */
export type ExportPart = Pick<ExportDocument, 'text' | 'next'>;

export interface DoctorCheck {
  readonly id: string;
  readonly label: string;
  readonly state: 'ok' | 'absent' | 'problem';
  readonly found: string;
  /** Instruction for what to do if something is absent or wrong. */
  readonly advice: string;
}

export interface RunProgress {
  readonly runId: number;
  readonly stage: 'preparing' | 'predicting' | 'saving' | 'simulating' | 'measuring';
  readonly done: number;
  readonly total: number;
  readonly elapsedMs: number;
  readonly remainingMs: number | null;
  readonly bestTimeMs: number | null;
}

export type { Breakdown, Design, Device, ReproductionTable };
