import type {
  BenchBackend,
  BenchCase,
  BenchPlan,
  CacheState,
  Conditions,
  MeasuringDevice,
  TimeRatio,
} from '../../src-workers/domain/benchmark.ts';
import type { CalibrationProfile } from '../../src-workers/domain/calibration.ts';
import type { DesignField } from '../../src-workers/domain/design-names.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { CpuDevice, GpuDevice } from '../../src-workers/domain/device.ts';
import type { RunnableDesigns } from './runnable.ts';

export interface MeasuringTarget {
  /** The id in `bench.start`: `cuda:0`, `webgpu`, `cpu`, …. Only a page measures on `webgpu-page`, its own GPU. */
  readonly id: string;
  readonly backend: BenchBackend;
  readonly available: boolean;
  readonly label: string;
  readonly device: MeasuringDevice | null;
  readonly advice: string;
}

export interface Bundle {
  readonly fileName: string;
  readonly cases: number;
  readonly cache?: CacheState;
  readonly leftOut: RunnableDesigns | null;
  readonly packed: readonly string[];
  readonly bytes: number;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array; readonly executable?: true }[];
}

export interface MeasuringRequest {
  readonly target: string;
  /** `external`: another program measured, and its file does not name the backend. */
  readonly backend: BenchBackend | 'external';
  readonly suite: BenchSuite | 'external';
  readonly sourceRunId: number | null;
  readonly deviceId: string | null;
  readonly repeats: number;
  readonly warmUps: number;
  readonly cases: number;
  readonly cache?: CacheState;
  readonly leftOut?: RunnableDesigns;
  /** Set if fewer units were measured than the sweep has. The run's predictions are for this number of units. */
  readonly part?: MeasuredPart;
  readonly probe?: MeasuringProbe;
  readonly program?: { readonly exec: string; readonly build: string | null };
  readonly kernel?: { readonly file: string; readonly name: string };
}

export interface MeasuredPart {
  readonly units: number;
  readonly ofUnits: number;
  readonly designsLeftOut: number;
}

export interface MeasuringProbe {
  readonly ofRepeats: number;
  /** Number of chosen designs. Those to measure are spread evenly over them. Absent in runs of earlier versions. */
  readonly ofDesigns?: number | undefined;
  /** Estimated time of the reduced run. `fullMs` is the time of the whole request. */
  readonly estimateMs: number;
  readonly fullMs: number;
}

export interface MeasuringProposal extends MeasuringProbe {
  readonly units: number;
  readonly ofUnits: number;
  readonly designs: number;
  readonly ofDesigns: number;
  readonly repeats: number;
}

export type ProbeAnswer =
  | { readonly kind: 'done'; readonly proposal: MeasuringProposal | null }
  /** The page must run this plan, and then repeat the call with the times of this plan and of all earlier ones. */
  | { readonly kind: 'round'; readonly plan: BenchPlan };

/** The suite `designs` measures designs of a sweep. The other suites measure the device itself. */
export const BENCH_SUITES = [
  'designs',
  'matrix-power',
  'divergent-loops',
  'launch-grid',
  'probes',
  'contention',
] as const;
export type BenchSuite = (typeof BENCH_SUITES)[number];

export interface TunedDesign {
  readonly designIndex: number;
  readonly design: Design;
  readonly runId: number;
  readonly predictedMs: number;
  /** Includes the predicted time of ordering the units; null if there is no correct result. */
  readonly measuredMs: number | null;
  readonly failure: string | null;
}

export interface TuningStep {
  readonly runId: number;
  readonly deviceId: string;
  readonly considered: number;
  readonly measured: number;
  readonly failed: number;
  /** The measured design with the least expected time. All times include the predicted time of ordering the units. */
  readonly best: {
    readonly designIndex: number;
    readonly design: Design;
    readonly measuredMs: number;
    readonly expectedMs: number;
    readonly predictedMs: number;
  } | null;
  /**
   * The fraction by which `best` is expected to be slower than the fastest design of all: the mean or, if larger, the
   * 90 % quantile. It is never below the gain from the last two thirds of the measurements.
   */
  readonly expectedRegret: number | null;
  /** Spearman's rank correlation of predicted and measured times. Null below 12 designs or if it is undefined. */
  readonly skill: number | null;
  readonly history: readonly TunedDesign[];
  /** The best time expected after 1, 2, … random designs, by predictions corrected by measurements. May be empty. */
  readonly randomMs: readonly number[];
  readonly next: readonly number[];
}

export interface MedianTime {
  readonly medianMs: number;
  /** The 95 % confidence interval of the median, by order statistics. Null with too few repeats. */
  readonly lowMs: number | null;
  readonly highMs: number | null;
  readonly repeats: number;
}

export interface MeasuredTime extends MedianTime {
  readonly minMs: number;
  readonly maxMs: number;
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  readonly outliers: number;
  /** The relative change from the first repeats to the last ones. Null if there is no significant trend. */
  readonly driftFraction: number | null;
  readonly clockMhz: number | null;
}

export interface MeasuredCase {
  readonly position: number;
  readonly case: BenchCase;
  readonly label: string;
  readonly deviceId: string | null;
  readonly designIndex: number | null;
  readonly design: Design | null;
  readonly predictedMs: number | null;
  /** Null if the case has no time, or none yet. */
  readonly measured: MeasuredTime | null;
  readonly correct: boolean | null;
  readonly digest?: string;
  readonly failure: string | null;
  readonly conditions?: Conditions;
  readonly registersPerThread: number | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

export interface MeasuringDetail {
  readonly runId: number;
  readonly request: MeasuringRequest;
  readonly device: MeasuringDevice | null;
  /** All cases in the order of the plan. A case without a time, values or a failure is not yet measured. */
  readonly cases: readonly MeasuredCase[];
  readonly warnings: readonly string[];
}

export interface MeasuredDevice {
  readonly runId: number;
  readonly measuredOn: string;
  readonly device: GpuDevice;
  readonly changes: readonly {
    readonly field: 'achievedBandwidthFraction' | 'randomSectorsGbS' | 'cachedSectorsGbS';
    readonly before: number | null;
    readonly after: number;
    readonly source: string;
  }[];
}

export interface ComparedDesign {
  readonly designIndex: number;
  readonly design: Design;
  readonly predictedRank: number;
  readonly measuredRank: number;
  readonly predictedMs: number;
  /** The predicted time of ordering the units. The ranking of a sweep includes it; `predictedMs` does not. */
  readonly balancingMs?: number;
  readonly medianMs: number;
  readonly lowMs: number | null;
  readonly highMs: number | null;
  /** ln(measured / (scale · predicted)). */
  readonly residual: number;
}

export interface Bounds {
  readonly low: number;
  readonly high: number;
}

export interface MeasuringComparison {
  readonly runId: number;
  readonly sourceRunId: number;
  readonly deviceId: string;
  readonly device: string;
  readonly measuredOn: string;
  /** The source of predictions: the sweep's plan at the measured clock (`prediction`), or a calibration profile. */
  readonly basis: 'prediction' | { readonly profileId: number; readonly name: string };
  readonly clockMhz: number | null;
  /** The designs, fastest measured first. Predicted times cover only the launch and its kernel, like measured times. */
  readonly designs: readonly ComparedDesign[];
  /** The median ratio of measured to predicted times. Except in `unscaled` errors, it scales the predictions. */
  readonly scale: number;
  readonly medianError: number;
  readonly p95Error: number;
  readonly unscaledMedianError: number;
  /** NaN if all predictions or all measurements are equal. */
  readonly spearman: number;
  readonly kendall: number;
  /** The 95 % intervals, from resampling the designs. Null if there are too few designs. */
  readonly intervals: {
    readonly scale: Bounds | null;
    readonly medianError: Bounds | null;
    readonly spearman: Bounds | null;
  };
  /** The best measured time among the model's k best designs, divided by the best measured time of all, minus 1. */
  readonly regret: readonly { readonly k: number; readonly fraction: number }[];
  /** Mean number of random designs to measure until one is as good as the best of the model's first k designs. */
  readonly randomEquivalent: readonly { readonly k: number; readonly measurements: number }[];
  readonly axes: readonly {
    readonly axis: string;
    /** The share of the residuals' variance that this axis alone explains, 0…1; NaN if it cannot be determined. */
    readonly explained: number;
    readonly values: readonly {
      readonly value: string;
      readonly medianResidual: number;
      readonly lowResidual: number;
      readonly highResidual: number;
      readonly count: number;
    }[];
  }[];
  readonly warnings: readonly string[];
}

export interface ComparedRun {
  readonly runId: number;
  readonly name: string;
  readonly device: string;
  readonly startedAt: string;
  readonly designs: number;
  /** The fastest design of the run, as an index into `designs` of the comparison. */
  readonly best: number;
  readonly againstFirst: TimeRatio | null;
  readonly lost: number;
}

export interface RunsComparison {
  readonly threshold: number;
  readonly runs: readonly ComparedRun[];
  readonly designs: readonly {
    readonly label: string;
    readonly times: readonly (MedianTime | null)[];
    /** The ratio to the time in the first run. Null for the first run, and if either run did not measure the design. */
    readonly against: readonly (TimeRatio | null)[];
  }[];
  /** cross[i][j] is the time that the fastest design of run i has in run j, ms; null if run j did not measure it. */
  readonly cross: readonly (readonly (number | null)[])[];
  /** The design with the smallest `worst`. Every run must have measured it. */
  readonly oneForAll: {
    readonly design: number;
    /** The largest ratio of its time to the fastest time of a run, ≥ 1. */ readonly worst: number;
  } | null;
  readonly common: number;
  readonly warnings: readonly string[];
}

/** Bandwidth by number of cores, and the models of contention (Langguth) compared with times of unbalanced work. */
export interface ContentionFindings {
  readonly cores: readonly number[];
  readonly bandwidthGbS: readonly number[];
  readonly lowGbS: readonly (number | null)[];
  readonly highGbS: readonly (number | null)[];
  readonly singleCoreGbS: number;
  readonly fullGbS: number;
  /** The number of cores that saturates the bandwidth: ⌈fullGbS / singleCoreGbS⌉. */
  readonly kneeCores: number;
  /** The machine as a device for `devices.save`. Null unless the run used all cores. */
  readonly device: CpuDevice | null;
  readonly workloads: readonly {
    readonly workload: 'triangular' | 'amdahl';
    readonly cores: number;
    readonly measuredMs: number;
    /** `error` is the predicted time divided by the measured time, minus 1. */
    readonly models: readonly { readonly model: string; readonly timeMs: number; readonly error: number }[];
  }[];
  readonly warnings: readonly string[];
}

export interface SavedProfile {
  readonly id: number;
  readonly name: string;
  readonly createdAt: string;
  readonly profile: CalibrationProfile;
}

export interface ImportQuestions {
  readonly studies: readonly string[];
  readonly needsUnit: boolean;
  /** The devices of the open sweep, if the file does not say which one was measured. */
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  readonly parameters: readonly {
    readonly name: string;
    readonly field: DesignField | null;
    readonly values: readonly string[];
    readonly distinct: number;
  }[];
}

export interface ImportedFile {
  readonly runId: number;
  readonly kind:
    | 'results'
    | 'kernel-tuner-cache'
    | 'kernel-tuner-t4'
    | 'kernel-tuner-stored'
    | 'optuna'
    | 'smite'
    | 'loops'
    | 'times';
  readonly cases: number;
  readonly failed: number;
  readonly linked?: { readonly runId: number; readonly deviceId: string; readonly designs: number };
  readonly warnings: readonly string[];
}
