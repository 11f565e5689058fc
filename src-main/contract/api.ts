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
import type { SimulatedDistribution } from '../../src-workers/domain/simulation.ts';

/** The results of procedures. Typed arrays stay typed arrays across every transport. */

export interface AppInfo {
  readonly version: string;
  readonly host: 'desktop' | 'serve' | 'cli';
  readonly platform: string;
  readonly nodeVersion: string;
  readonly databaseFile: string;
  readonly databaseBytes: number;
  /** The deleted runs and studies, and about how much smaller the database is without them. */
  readonly bin: { readonly runs: number; readonly studies: number; readonly bytes: number };
  readonly modelVersion: string;
  readonly workers: number;
}

/** The deleted runs and studies that were removed for good. */
export interface Purged {
  readonly runs: number;
  readonly studies: number;
  /** The bytes by which the database became smaller. */
  readonly freedBytes: number;
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
  /** True if the law was fitted to given figures; its other properties are assumed. */
  readonly fitted?: true;
  /** How the file was read, if the user might expect something else. */
  readonly note?: string;
  /** `null` if the workload has no order, or too many lengths for a preview. */
  readonly order: WorkloadOrder | null;
}

/** The effect of the order of the lengths on groups of consecutive units. */
export interface WorkloadOrder {
  /** The mean lengths of equal sections, from the first unit to the last. */
  readonly strip: Float64Array;
  /** Losses by group size (total lockstep time over total work), for the lengths in their order and fully sorted. */
  readonly losses: readonly { readonly n: number; readonly aggregateLoss: number; readonly sortedLoss: number }[];
}

export interface SpaceSize {
  readonly enumerated: number;
  /** `null` if there are too many designs to check each. */
  readonly valid: number | null;
  /** Invalid designs by reason, largest number first. */
  readonly invalid: readonly { readonly reason: InvalidReason; readonly text: string; readonly count: number }[];
  readonly axes: readonly { readonly axis: string; readonly count: number }[];
  /** The estimated time to predict the space on this machine, ms. */
  readonly estimatedMs: number;
}

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export interface RunSummary {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly studyId: number | null;
  /** The name of the study, unless the run was renamed. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly note: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly elapsedMs: number;
  /** The sweep whose designs the run simulates or measures, or null. */
  readonly sourceRunId: number | null;
  /** The number of designs or cases that a run of kind `simulate`, `bench` or `import` should process. */
  readonly enumerated: number;
  /** For `simulate`, the number of finished designs; for `bench` and `import`, the number of cases with a result. */
  readonly valid: number;
  readonly invalid: number;
  /**
   * For a sweep that keeps only the best designs, the largest number to keep, and the number of predicted designs (null
   * until they are saved). `valid` is then the number of kept designs.
   */
  readonly kept: { readonly wanted: number; readonly predicted: number | null } | null;
  readonly bytes: number;
  /** The best predicted time, the least simulated mean (`simulate`) or measured median (`bench`, `import`). */
  readonly bestTimeMs: number | null;
  readonly bestDesign: string | null;
  readonly error: string | null;
}

export interface RunDetail extends RunSummary {
  readonly study: Study | null;
  readonly devices: readonly Device[];
  readonly appVersion: string;
  readonly modelVersion: string;
  readonly seed: number;
  readonly machine: string;
  /** The fields of the current study that differ from the study of this run. If there are any, the run is stale. */
  readonly staleFields: readonly FieldChange[];
}

/** The differences between a sweep and the previous sweep of the same study. */
export interface RunChange {
  readonly id: number;
  /** The previous sweep, or null. */
  readonly since: number | null;
  readonly fields: readonly FieldChange[];
  /**
   * The number of the first sweep with the same work, kernel, implementations and devices. Best times are comparable
   * only among sweeps with the same number.
   */
  readonly problem: number;
}

/** A field of a study, by its path, with its two values as JSON text. The text is empty if there was no value. */
export interface FieldChange {
  readonly field: string;
  readonly was: string;
  readonly is: string;
}

/** The result of the event simulator for one design. Compare a prediction, which is a mean, with the mean. */
export interface SimulatedTime extends SimulatedDistribution {
  /** The newest run of kind `simulate` with this design. */
  readonly runId: number;
  readonly replications: number;
}

/** The measurement of a design on the device of its prediction, ms. */
export interface MeasuredDesignTime {
  /** The newest run of kind `bench` or `import` with this design. */
  readonly runId: number;
  readonly medianMs: number;
  /** The 95 % confidence interval of the median; null with too few repeats. */
  readonly lowMs: number | null;
  readonly highMs: number | null;
  readonly repeats: number;
  readonly measuredOn: string;
}

export interface SimulatedDesign extends Pick<
  RankRow,
  'designIndex' | 'deviceId' | 'device' | 'design' | 'predictedMs'
> {
  /** The rank by simulated mean, from 1, among the simulated designs of the run. */
  readonly rank: number;
  /** True if its interval overlaps the interval of the first. */
  readonly tied: boolean;
  readonly simulated: SimulatedTime;
  /** Prediction over simulated mean, minus 1. */
  readonly difference: number;
  /** The regime of the prediction. Null if the run does not explain it. */
  readonly regime: RegimeInfo | null;
  /** The order of the units that the prediction assumes. Null on a CPU. */
  readonly order: UnitsOrder | null;
}

export interface SimulationTimeline extends DrawnTimeline {
  readonly designIndex: number;
  readonly replication: number;
}

export interface RankRow {
  /** The rank by predicted time, from 1, among all designs or those of the chosen device; 0 if there is none. */
  readonly rank: number;
  /**
   * True if the time cannot be distinguished from the best time in the ranking. Two measured designs, or two simulated
   * ones, are tied if their intervals overlap. Any other design is tied if its prediction is within the tie band of the
   * best (`TieBand`). In a list by simulated time, only the simulated intervals decide.
   */
  readonly tied: boolean;
  readonly designIndex: number;
  readonly deviceId: string;
  readonly device: string;
  readonly design: Design;
  /** The time at the best available fidelity, ms. Fidelities differ between rows, so compare rows by `predictedMs`. */
  readonly timeMs: number;
  readonly fidelity: 'predicted' | 'simulated' | 'measured';
  readonly predictedMs: number;
  /** The kind of implementation, and whether the device has measurements for this kind. */
  readonly kind: ImplementationKind;
  readonly hasEvidence: boolean;
  readonly simulated: SimulatedTime | null;
  /** The time measured on a device with the name of this row's device. */
  readonly measured: MeasuredDesignTime | null;
  readonly meanLoss: number;
  readonly aggregateLoss: number;
  readonly occupancyFraction: number;
  readonly residentBlocks: number;
  readonly residentThreadGroups: number;
  readonly waves: number;
  readonly limitedBy: readonly LimitingFactor[];
  /** The traffic of one lane, bytes. Present if it follows from the accesses of the kernel. */
  readonly bytesPerIteration?: number;
  readonly invalid: InvalidReason | null;
  readonly breakdown: Breakdown | null;
  /** The predicted time at each block size of the space with all other axes fixed, ms. NaN if invalid. */
  readonly alongBlock: Float64Array | null;
}

export interface ExportRow extends RankRow {
  /**
   * The part of `predictedMs` for ordering the units before the launch, ms. Measurements time only the kernel, so
   * compare a measured time with `predictedMs` minus this. It is 0 for designs that are not measured.
   */
  readonly orderingMs: number;
}

/** A row of a table on the command line. */
export interface BestRow extends ExportRow {
  /** The regime of the prediction. Null if the run does not explain it. */
  readonly regime: RegimeInfo | null;
  /** The order of the units that the prediction assumes. Null on a CPU. */
  readonly order: UnitsOrder | null;
}

/** The best designs of a run, each at its best fidelity. */
export interface BestDesigns {
  readonly study: string;
  /** The devices, with the measurements of each, or `null`. */
  readonly devices: readonly TimedDevice[];
  /** The relative width of the tie band for designs that differ only in shape, and its source. */
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly rows: readonly BestRow[];
  /** The number of equal designs that each row represents. Null if equal designs are not grouped. */
  readonly equal: readonly number[] | null;
  /** The best design of every device that has a valid one, the fastest first. Ranks are among all designs. */
  readonly ofDevices: readonly BestRow[];
  /** The best design of every implementation that has a valid one within the filter. */
  readonly ofImplementations: readonly BestRow[];
  /** Invalid designs by reason, largest number first. */
  readonly invalid: SpaceSize['invalid'];
  /** A note that only a part of the designs is predicted; `null` if all are. */
  readonly partial: string | null;
  /**
   * The recommended design, the number of designs of its device, the rule that picked it, and the parts of its time.
   * Null if no design is valid.
   */
  readonly recommended: {
    readonly row: BestRow;
    readonly ties: number;
    readonly rule: string;
    readonly inputs: readonly InputFact[];
  } | null;
  /** The inputs of the times on each device, by device id. */
  readonly inputs: Readonly<Record<string, readonly InputFact[]>>;
}

/**
 * `timeMs` and ranges of it use the prediction, which every design has. `simulatedMs` lists the simulated designs
 * first, by their simulated mean, and then all others by their prediction. `measuredMs` does the same with the measured
 * designs, by their median. A descending list reverses both parts.
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
  /** The number of designs that pass the filter, and of all designs of the run. */
  readonly matching: number;
  readonly total: number;
  /** The number of rows in the list. It is below `matching` if equal designs are grouped. */
  readonly listed: number;
  /** The number of designs in the filter that were simulated. */
  readonly simulated: number;
  /** The number of designs in the filter that were measured on their device. */
  readonly measured: number;
  /** Identifies the order of the list by simulated and measured times. Further pages of the list need this number. */
  readonly order: number;
  /** True if new times would change the order of the list. */
  readonly outdated: boolean;
  readonly offset: number;
  readonly rows: readonly RankRow[];
  /** The number of equal designs that each row represents; 0 if another row of their group was opened. */
  readonly equal: readonly number[];
  /**
   * The number of all designs, also those outside the filter, that cannot be distinguished from the fastest.
   * `tieFraction` is the tie band for designs that differ from it only in shape.
   */
  readonly ties: number;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly baseline: RankRow | null;
  /** The position of the requested design in the sorted list, from 0; null if it is not in the list. */
  readonly foundAt: number | null;
}

/** The designs that differ from a design only in one axis. */
export interface DesignSlice {
  readonly axis: string;
  readonly values: readonly string[];
  readonly timeMs: Float64Array;
  readonly designIndex: Float64Array;
  /** The position of the design itself. */
  readonly at: number;
}

/** An axis of a run. */
export interface LandscapeAxis {
  readonly id: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly texts: readonly string[];
}

export interface Histogram {
  /** The bin edges, ms (length bins + 1), logarithmic. */
  readonly edgesMs: Float64Array;
  /** The number of all designs (or of the filter's device) in each bin. */
  readonly counts: Float64Array;
  /** The number of these designs that pass the filter, in each bin. */
  readonly passing: Float64Array;
  readonly best: number;
  readonly median: number;
  readonly beyond: number;
}

export interface LandscapeGrid {
  readonly xAxis: string;
  readonly yAxis: string;
  /** The launches of the device (grids or cores), if all devices are of the same kind. */
  readonly xValues: readonly string[];
  readonly yValues: readonly string[];
  /** Time in ms, row-major (y, x). NaN if no design is valid. */
  readonly timeMs: Float64Array;
  /** The best design of a cell, or the first design if none is valid. */
  readonly designIndex: Uint32Array;
  /** The codes of the reasons for invalid cells, row-major. 0 if valid; `NOT_SAVED` if the run has no time. */
  readonly invalidReason: Uint8Array;
  readonly waves: Float32Array;
  /** 1 if a valid design of the cell passes the filter. Null if all do. */
  readonly passing: Uint8Array | null;
  readonly best: number;
  readonly bestDesign: number;
  /** 1 for a cell whose design is tied with the best one. The band is the one between designs of different shapes. */
  readonly tied: Uint8Array;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
}

/** Small maps, one for each value of an axis, in order. */
export interface LandscapeFacets {
  readonly columns: number;
  readonly rows: number;
  readonly facets: readonly {
    /** The best time of a pixel's cells, ms, row-major (y, x), for its colour. NaN if no cell is valid. */
    readonly timeMs: Float32Array;
    /** 1 if a valid design of the pixel passes the filter. Null if all do. */
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

/** A sample of the predicted designs of a GPU under its two roofs, the best first. */
export interface Roofline {
  /** The peak of instruction issue, 10⁹ thread instructions per second. */
  readonly peakIssueGips: number;
  readonly peakBandwidthGbS: number;
  readonly sampledFrom: number;
  readonly designIndex: Float64Array;
  readonly timeMs: Float64Array;
  /** The rates of each design, averaged over its whole time. Designs of a kernel that moves no data are left out. */
  readonly issueGips: Float64Array;
  readonly bandwidthGbS: Float64Array;
}

export interface DeviceBest {
  readonly device: Device;
  /**
   * The device's best predicted design, or the requested design; `null` if that is invalid there. Its time is the
   * predicted one, which all devices have. `simulated` is given in addition.
   */
  readonly best: RankRow | null;
  readonly valid: number;
  /** The number of designs of this device that are tied with its best. `tieBand` holds for designs of another shape. */
  readonly ties: number;
  readonly tieBand: TieBand;
  readonly evidence: DeviceEvidence | null;
  readonly breakdown: Breakdown | null;
  /** The best time on this device for each value of threads per unit, ms (NaN if none is valid). */
  readonly byThreadsPerUnit: readonly { readonly threadsPerUnit: number; readonly timeMs: number }[];
  /**
   * The best design on this device of every implementation that has a valid one, fastest first. It is empty if the
   * study names no implementations. `tied` means within `tieFraction` of the best on the device.
   */
  readonly byImplementation: readonly RankRow[];
}

export interface DeviceComparisonResult {
  readonly devices: readonly DeviceBest[];
  /** The width of the tie band on the fastest device. */
  readonly tieFraction: number;
  /** timeMs[i][j]: the best design of device i, run on device j (NaN if it is invalid there). */
  readonly cross: readonly (readonly number[])[];
  /** Sentences that explain why the fastest device wins, largest cause first. */
  readonly reasons: readonly string[];
  /** Sentences that say which implementation to write. Empty if the study names none. */
  readonly choice: readonly string[];
}

/** The largest number of designs whose ranges one call returns. */
export const MAX_RANGES = 400;

/** The 90 % range of the predicted time of a design, as in a recommendation. */
export interface DesignRange {
  readonly designIndex: number;
  readonly lowMs: number;
  readonly highMs: number;
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
   * have the same time in one run. Null if the runs have different spaces.
   */
  readonly spearman: number | null;
}

export interface ExportFormat {
  readonly id: string;
  readonly label: string;
  /** Its purpose, in a few words. */
  readonly text: string;
  /** More words by which the palette finds it. */
  readonly words?: string;
  readonly about: 'report' | 'table' | 'code' | 'tuner';
  /** Whether the number of listed designs matters. */
  readonly rows: boolean;
  /** Whether it can express only designs of GPUs. */
  readonly gpus: boolean;
  /** Whether it can list the expected loss of each design, and its chance of being the best of its device. */
  readonly weighs?: boolean;
}

/**
 * The largest number of designs whose expected losses a table lists. Each is predicted under all draws, which takes
 * milliseconds.
 */
export const MAX_WEIGHED = 1000;

export const MAX_LISTED = 2_000_000;

/** A document. The text of a `pdf` is a page, which each host prints to the file. */
export interface ExportDocument {
  readonly fileName: string;
  readonly mediaType: string;
  /** Whether the text is prose or a table, whose words and numbers are not coloured like those of code. */
  readonly plain?: boolean;
  readonly text: string;
  /** The number of the next part for `export.next`, if the text is longer. */
  readonly next?: number;
  /** For a table of designs: the number of listed designs, the best first, and of valid designs. */
  readonly designs?: {
    readonly listed: number;
    readonly of: number;
    /** The largest number of rows in this format. Without it there is no limit. */
    readonly most?: number;
  };
  /** For code: a note that the requested design is faster but cannot be expressed in this format. */
  readonly note?: string;
}

export type ExportPart = Pick<ExportDocument, 'text' | 'next'>;

export interface DoctorCheck {
  readonly id: string;
  readonly label: string;
  readonly state: 'ok' | 'absent' | 'problem';
  readonly found: string;
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
