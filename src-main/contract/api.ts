import type { Breakdown, UnitsOrder } from '../../src-workers/domain/breakdown.ts';
import type { Design, LimitingFactor, InvalidReason } from '../../src-workers/domain/design.ts';
import type { DrawnTimeline } from '../../src-workers/domain/timeline.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import type { DeviceEvidence, ImplementationKind, TieBand, TimedDevice } from '../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../src-workers/domain/provenance.ts';
import type { RegimeInfo } from '../../src-workers/domain/regime.ts';
import type { ReproductionTable } from '../../src-workers/domain/reproduction.ts';
import type { GivenLoss } from '../../src-workers/domain/loss.ts';
import type { LawMoments } from '../../src-workers/domain/workload.ts';
import type { MedianTime } from './measuring.ts';
import type { Study } from './study.ts';
import type { SimulatedDistribution } from '../../src-workers/domain/simulation.ts';

export interface AppInfo {
  readonly version: string;
  readonly host: 'desktop' | 'serve' | 'cli';
  readonly platform: string;
  readonly nodeVersion: string;
  readonly databaseFile: string;
  readonly databaseBytes: number;
  readonly bin: { readonly runs: number; readonly studies: number; readonly bytes: number };
  readonly modelVersion: string;
  readonly workers: number;
}

export interface Purged {
  readonly runs: number;
  readonly studies: number;
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
  /** The law was fitted to given figures; its other properties are assumed. */
  readonly fitted?: true;
  readonly note?: string;
  readonly order: WorkloadOrder | null;
}

export interface WorkloadOrder {
  /** The mean length in each of several equal sections of the units. */
  readonly strip: Float64Array;
  /** The losses of groups of n units in their order. `sortedLoss`: the aggregate loss if the units are sorted. */
  readonly losses: readonly (GivenLoss & { readonly n: number; readonly sortedLoss: number })[];
}

export interface SpaceSize {
  readonly enumerated: number;
  readonly valid: number | null;
  readonly invalid: readonly { readonly reason: InvalidReason; readonly text: string; readonly count: number }[];
  readonly axes: readonly { readonly axis: string; readonly count: number }[];
  readonly estimatedMs: number;
}

export type RunKind = 'sweep' | 'simulate' | 'bench' | 'import';
export type RunState = 'running' | 'complete' | 'cancelled' | 'failed' | 'interrupted';

export interface RunSummary {
  readonly id: number;
  readonly kind: RunKind;
  readonly state: RunState;
  readonly studyId: number | null;
  readonly name: string;
  readonly tags: readonly string[];
  readonly note: string;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly elapsedMs: number;
  readonly sourceRunId: number | null;
  /** Designs of the space (`sweep`), or designs or cases to process (`simulate`, `bench`, `import`). */
  readonly enumerated: number;
  /** Valid designs (`sweep`), finished designs (`simulate`), or cases with a result (`bench`, `import`). */
  readonly valid: number;
  readonly invalid: number;
  readonly kept: { readonly wanted: number; readonly predicted: number | null } | null;
  readonly bytes: number;
  /** The least predicted time, simulated mean (`simulate`) or measured median (`bench`, `import`). */
  readonly bestTimeMs: number | null;
  readonly bestDesign: string | null;
  readonly error: string | null;
  /** When the run was put into the bin; null if it is not there. */
  readonly deletedAt: string | null;
}

export interface RunDetail extends RunSummary {
  readonly study: Study | null;
  readonly devices: readonly Device[];
  readonly appVersion: string;
  readonly modelVersion: string;
  readonly seed: number;
  readonly machine: string;
  /** Where the current study differs from the study of this run. If it differs, the run is stale. */
  readonly staleFields: readonly FieldChange[];
}

export interface RunChange {
  readonly id: number;
  readonly since: number | null;
  readonly fields: readonly FieldChange[];
  /** Id of the first listed sweep of the study with equal workload, kernel, implementations and devices. */
  readonly problem: number;
}

/** Values are JSON text; the text of a missing value is empty. */
export interface FieldChange {
  readonly field: string;
  readonly was: string;
  readonly is: string;
}

/** A prediction is a mean, so compare it with the simulated mean. */
export interface SimulatedTime extends SimulatedDistribution {
  readonly runId: number;
  readonly replications: number;
}

export interface MeasuredDesignTime extends MedianTime {
  readonly runId: number;
  readonly measuredOn: string;
}

export interface SimulatedDesign
  extends Pick<RankRow, 'designIndex' | 'deviceId' | 'device' | 'design' | 'predictedMs'>, Explained {
  readonly rank: number;
  readonly tied: boolean;
  readonly simulated: SimulatedTime;
  /** Predicted time divided by simulated mean, minus 1. */
  readonly difference: number;
}

interface Explained {
  readonly regime: RegimeInfo | null;
  /** The order of the units that the prediction assumes. Null on a CPU. */
  readonly order: UnitsOrder | null;
}

export interface SimulationTimeline extends DrawnTimeline {
  readonly designIndex: number;
  readonly replication: number;
}

export interface RankRow {
  /** The rank by predicted time, from 1, among all designs or those of the chosen device; 0 if there is no rank. */
  readonly rank: number;
  /**
   * Whether the time cannot be distinguished from the best. Two measured or two simulated designs are tied if their
   * intervals overlap; other designs are tied if the prediction is within the tie band of the best. In a list by
   * simulated time, only the simulated intervals decide.
   */
  readonly tied: boolean;
  readonly designIndex: number;
  readonly deviceId: string;
  readonly device: string;
  readonly design: Design;
  /** Measured if possible, otherwise simulated or predicted. To compare rows of different kinds, use `predictedMs`. */
  readonly timeMs: number;
  readonly fidelity: 'predicted' | 'simulated' | 'measured';
  readonly predictedMs: number;
  readonly kind: ImplementationKind;
  readonly hasEvidence: boolean;
  readonly simulated: SimulatedTime | null;
  readonly measured: MeasuredDesignTime | null;
  readonly meanLoss: number;
  readonly aggregateLoss: number;
  readonly occupancyFraction: number;
  readonly residentBlocks: number;
  readonly residentThreadGroups: number;
  readonly waves: number;
  readonly limitedBy: readonly LimitingFactor[];
  /** Traffic of one lane. Present if the accesses of the kernel determine it. */
  readonly bytesPerIteration?: number;
  readonly invalid: InvalidReason | null;
  readonly breakdown: Breakdown | null;
  /** The predicted time at each block size of the space, with the other axes unchanged, ms. NaN if invalid. */
  readonly alongBlock: Float64Array | null;
}

export interface ExportRow extends RankRow {
  /** The time in `predictedMs` for ordering the units before the launch. Measured times do not include it. */
  readonly orderingMs: number;
}

export interface BestRow extends ExportRow, Explained {}

export interface BestDesigns {
  readonly study: string;
  readonly devices: readonly TimedDevice[];
  /** A design that differs from the best only in block size or grid is tied if it takes at most this fraction more. */
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly rows: readonly BestRow[];
  readonly equal: readonly number[] | null;
  readonly ofDevices: readonly BestRow[];
  readonly ofImplementations: readonly BestRow[];
  readonly invalid: SpaceSize['invalid'];
  readonly partial: string | null;
  /** `ties`: number of tied designs on the device. `inputs`: what the time depends on. Null if no design is valid. */
  readonly recommended: {
    readonly row: BestRow;
    readonly ties: number;
    readonly rule: string;
    readonly inputs: readonly InputFact[];
  } | null;
  readonly inputs: Readonly<Record<string, readonly InputFact[]>>;
}

/**
 * `simulatedMs` lists the simulated designs first, by their simulated mean, and then all others by their prediction;
 * `measuredMs` does the same with measured medians. A descending list reverses each of the two parts. In both
 * directions, equal values are listed by their predicted time, and invalid designs are last.
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
  readonly matching: number;
  readonly total: number;
  /** Number of rows in the list; below `matching` if a row stands for several designs. */
  readonly listed: number;
  readonly simulated: number;
  readonly measured: number;
  /** Identifies the order of simulated and measured designs in the list. Requests for further pages repeat it. */
  readonly order: number;
  /** Whether times that came later would change the order of the list. */
  readonly outdated: boolean;
  readonly offset: number;
  readonly rows: readonly RankRow[];
  /** How many equal designs each row stands for; 0 for the further rows of an opened group. */
  readonly equal: readonly number[];
  /** Number of designs tied with the fastest of all or of the filter's device. */
  readonly ties: number;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
  readonly baseline: RankRow | null;
  /** The position of the design to find, from 0; null if it is not in the list. */
  readonly foundAt: number | null;
}

export interface DesignSlice {
  readonly axis: string;
  readonly values: readonly string[];
  readonly timeMs: Float64Array;
  readonly designIndex: Float64Array;
  readonly at: number;
}

export interface LandscapeAxis {
  readonly id: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly texts: readonly string[];
}

export interface Histogram {
  /** The edges of the bins, in equal logarithmic steps: one more than there are bins. */
  readonly edgesMs: Float64Array;
  readonly counts: Float64Array;
  readonly passing: Float64Array;
  readonly best: number;
  readonly median: number;
  readonly beyond: number;
}

export interface LandscapeGrid {
  readonly xAxis: string;
  readonly yAxis: string;
  /** If an axis is `launch`, it has only the launches for the devices on the map. */
  readonly xValues: readonly string[];
  readonly yValues: readonly string[];
  /** Best time of each cell, row-major (y, x). NaN if no design of the cell is valid. */
  readonly timeMs: Float64Array;
  /** The best design of each cell, or the first design if none is valid. */
  readonly designIndex: Uint32Array;
  /** The code of the reason why each cell is invalid: 0 if valid, `NOT_SAVED` if no time is saved. */
  readonly invalidReason: Uint8Array;
  readonly waves: Float32Array;
  /** 1 if a valid design of the cell passes the filter. Null if all cells pass. */
  readonly passing: Uint8Array | null;
  readonly best: number;
  readonly bestDesign: number;
  /** 1 for a cell whose design is tied with the best design of the map. */
  readonly tied: Uint8Array;
  readonly tieFraction: number;
  readonly tieBand: TieBand;
}

export interface LandscapeFacets {
  readonly columns: number;
  readonly rows: number;
  readonly facets: readonly {
    /** The best time among the cells of each pixel, row-major (y, x). NaN if no cell is valid. */
    readonly timeMs: Float32Array;
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
  /** One array per axis: the index of the category, or the value if the axis has no categories. */
  readonly columns: readonly Float64Array[];
  readonly designIndex: Float64Array;
  readonly sampledFrom: number;
}

export interface Roofline {
  /** The peak of the device, 10⁹ thread instructions per second. */
  readonly peakIssueGips: number;
  readonly peakBandwidthGbS: number;
  readonly sampledFrom: number;
  readonly designIndex: Float64Array;
  readonly timeMs: Float64Array;
  /** The rates, averaged over the whole time of each design. Designs without both rates are left out. */
  readonly issueGips: Float64Array;
  readonly bandwidthGbS: Float64Array;
}

export interface DeviceBest {
  readonly device: Device;
  /** The best predicted design, or the requested one; `null` if it is invalid. `timeMs` is the prediction. */
  readonly best: RankRow | null;
  readonly valid: number;
  readonly ties: number;
  readonly tieBand: TieBand;
  readonly evidence: DeviceEvidence | null;
  readonly breakdown: Breakdown | null;
  readonly byThreadsPerUnit: readonly { readonly threadsPerUnit: number; readonly timeMs: number }[];
  /** The best design of each implementation, fastest first. */
  readonly byImplementation: readonly RankRow[];
}

export interface DeviceComparisonResult {
  readonly devices: readonly DeviceBest[];
  readonly tieFraction: number;
  /** cross[i][j] is the time of device i's best design on device j, ms; NaN if the design is invalid there. */
  readonly cross: readonly (readonly number[])[];
  readonly reasons: readonly string[];
  readonly choice: readonly string[];
}

export const MAX_RANGES = 400;

/** The range in which the true time of a design lies in 90 % of cases, as in a recommendation. */
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
  /** Rank correlation over up to 100,000 designs valid in both runs; NaN if undefined, null if the spaces differ. */
  readonly spearman: number | null;
  /** Number of designs whose order `spearman` compares. */
  readonly compared: number;
}

export interface ExportFormat {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  readonly words?: string;
  readonly about: 'report' | 'table' | 'code' | 'tuner';
  readonly rows: boolean;
  readonly gpus: boolean;
  readonly weighs?: boolean;
}

/** Maximum number of designs of an export with regrets. A design takes milliseconds, as all draws are predicted. */
export const MAX_WEIGHED = 1000;

export const MAX_LISTED = 2_000_000;

/** The text of a `pdf` is an HTML page, which the host prints to a PDF file. */
export interface ExportDocument {
  readonly fileName: string;
  readonly mediaType: string;
  /** Prose or a table, whose words and numbers are not coloured as in code. */
  readonly plain?: boolean;
  readonly text: string;
  readonly next?: number;
  readonly designs?: {
    readonly listed: number;
    readonly of: number;
    readonly most?: number;
  };
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
