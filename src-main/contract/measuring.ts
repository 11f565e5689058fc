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

/** The results of the procedures that measure. */

/** A place where benchmarks can run, or the reason why they cannot. */
export interface MeasuringTarget {
  /** A target for `bench.start`: `cuda:0`, `webgpu`, `cpu`, …. Only a page can measure on its `webgpu-page`. */
  readonly id: string;
  readonly backend: BenchBackend;
  readonly available: boolean;
  /** The name of the device, marked if it is software. Without a device, it names the missing part. */
  readonly label: string;
  readonly device: MeasuringDevice | null;
  /** How to make the target available. Empty if it is available. */
  readonly advice: string;
}

export interface Bundle {
  /** The file name of the archive of all files. */
  readonly fileName: string;
  readonly cases: number;
  /** The state of the cache before each launch, on a CUDA device. */
  readonly cache?: CacheState;
  /** The designs that can be chosen, if no CUDA device can run all designs of the sweep. */
  readonly leftOut: RunnableDesigns | null;
  readonly packed: readonly string[];
  readonly bytes: number;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array; readonly executable?: true }[];
}

export interface MeasuringRequest {
  /** The target of the measurement. For an import, it is the name of the file. */
  readonly target: string;
  /** `external` means that another program measured and its file does not name the backend. */
  readonly backend: BenchBackend | 'external';
  /** `external` means kernels of other authors, from an imported file. */
  readonly suite: BenchSuite | 'external';
  /** The sweep whose designs are measured. Null for suites that need no sweep. */
  readonly sourceRunId: number | null;
  /** The device of the sweep whose predictions are compared with the measurements. */
  readonly deviceId: string | null;
  readonly repeats: number;
  readonly warmUps: number;
  readonly cases: number;
  /** The state of the cache before each launch, on a CUDA device. */
  readonly cache?: CacheState;
  /** The designs that can be chosen, if the target cannot run all designs of the sweep. */
  readonly leftOut?: RunnableDesigns;
  /** Present if fewer units were measured than the sweep has. Their predictions are for this number of units. */
  readonly part?: MeasuredPart;
  readonly probe?: MeasuringProbe;
  readonly program?: { readonly exec: string; readonly build: string | null };
  readonly kernel?: { readonly file: string; readonly name: string };
}

export interface MeasuredPart {
  readonly units: number;
  readonly ofUnits: number;
  /** The number of excluded designs, which have more blocks than these units fill. */
  readonly designsLeftOut: number;
}

/** What a few launches before a run show about its duration. */
export interface MeasuringProbe {
  /** The requested number of repeats. */
  readonly ofRepeats: number;
  /** The number of chosen designs; the measured ones are spread over them. Absent in runs of earlier versions. */
  readonly ofDesigns?: number | undefined;
  /** The expected time of the run, and the expected time of the whole request, ms. */
  readonly estimateMs: number;
  readonly fullMs: number;
}

/** A proposal of what to measure within the time limit. */
export interface MeasuringProposal extends MeasuringProbe {
  readonly units: number;
  readonly ofUnits: number;
  readonly designs: number;
  readonly ofDesigns: number;
  readonly repeats: number;
}

/** The result of a probe that the engine ran, or a probe that a page must run. */
export type ProbeAnswer =
  /** `proposal` is null if no launch of the probe gave a time. */
  | { readonly kind: 'done'; readonly proposal: MeasuringProposal | null }
  /** The page must run this plan, and then repeat the call with the times of this round and of all earlier ones. */
  | { readonly kind: 'round'; readonly plan: BenchPlan };

/** `designs` is the unit loop over designs of a sweep. The other suites measure the device itself. */
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
  /** The measured time plus the predicted time of ordering the units; null if there is no correct result. */
  readonly measuredMs: number | null;
  readonly failure: string | null;
}

/** What the measurements of a sweep show so far, and the designs to measure next. */
export interface TuningStep {
  readonly runId: number;
  readonly deviceId: string;
  /** The number of designs to choose from. */
  readonly considered: number;
  readonly measured: number;
  /** The number of designs that could not be measured or gave a wrong result. */
  readonly failed: number;
  /**
   * The measured design with the least expected time. Null if nothing is measured. Times include the predicted time of
   * ordering the units.
   */
  readonly best: {
    readonly designIndex: number;
    readonly design: Design;
    readonly measuredMs: number;
    /** The expected time of this design, from its own measurements and those of other designs. */
    readonly expectedMs: number;
    readonly predictedMs: number;
  } | null;
  /**
   * The expected fraction by which `best` is slower than the fastest design of all, or its 90 % quantile if that is
   * larger. It is at least the gain of the last two thirds of the measurements. `null` if nothing is measured.
   */
  readonly expectedRegret: number | null;
  /**
   * Spearman's rank correlation of predicted and measured times, −1…1. Null if fewer than 12 designs are measured or
   * all predictions are equal.
   */
  readonly skill: number | null;
  readonly history: readonly TunedDesign[];
  /** The expected best time of 1, 2, … randomly chosen designs by the corrected predictions, ms; may be empty. */
  readonly randomMs: readonly number[];
  /** The designs to measure next. Empty if all designs are measured. */
  readonly next: readonly number[];
}

/** Statistics of the repeats of one case, ms. */
export interface MeasuredTime {
  readonly medianMs: number;
  /** The 95 % confidence interval of the median, by order statistics. Null with too few repeats. */
  readonly lowMs: number | null;
  readonly highMs: number | null;
  readonly minMs: number;
  readonly maxMs: number;
  readonly repeats: number;
  /** Every repeat without the warm-ups, in order. */
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  readonly outliers: number;
  /** The relative change from the first repeats to the last. Null if the trend is not significant. */
  readonly driftFraction: number | null;
  readonly clockMhz: number | null;
}

export interface MeasuredCase {
  /** The position in the plan, or for an import in the file, from 0. */
  readonly position: number;
  readonly case: BenchCase;
  /** The case in a few words: the design, or the parameters of the benchmark. */
  readonly label: string;
  readonly deviceId: string | null;
  readonly designIndex: number | null;
  readonly design: Design | null;
  readonly predictedMs: number | null;
  /** Null if the case failed, has only values, or is not yet measured. */
  readonly measured: MeasuredTime | null;
  /** Whether the result agrees with the CPU's result. Null if it was not checked. */
  readonly correct: boolean | null;
  /** The digest of the result, if the results of designs are compared by digests. */
  readonly digest?: string;
  readonly failure: string | null;
  /** Clocks, power and temperature during the measurement. Absent if nothing was read. */
  readonly conditions?: Conditions;
  readonly registersPerThread: number | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

export interface MeasuringDetail {
  readonly runId: number;
  readonly request: MeasuringRequest;
  readonly device: MeasuringDevice | null;
  /** All cases of the plan, in order. A case without a time, values or a failure is not yet measured. */
  readonly cases: readonly MeasuredCase[];
  /** What a reader must know about the numbers: another device than predicted, drift, wrong results, … */
  readonly warnings: readonly string[];
}

/** A device with the fields that a run of probes measured on it. */
export interface MeasuredDevice {
  readonly runId: number;
  readonly measuredOn: string;
  readonly device: GpuDevice;
  /** The measured fields, with the values and sources that the device gets. `before` is null if it had no value. */
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
  /** The rank by prediction, from 1, among the compared designs. */
  readonly predictedRank: number;
  readonly measuredRank: number;
  readonly predictedMs: number;
  /** The predicted time of the balancing pass, ms. It is part of the ranking of a sweep, but not of `predictedMs`. */
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

/** The comparison of predictions with measurements, for the designs measured in one run. */
export interface MeasuringComparison {
  readonly runId: number;
  readonly sourceRunId: number;
  readonly deviceId: string;
  readonly device: string;
  readonly measuredOn: string;
  /** `prediction` means the saved prediction of the sweep. Otherwise, a calibration profile gives a new prediction. */
  readonly basis: 'prediction' | { readonly profileId: number; readonly name: string };
  /** The clock of the measurement, MHz, if the predictions are for that clock; otherwise null. */
  readonly clockMhz: number | null;
  /**
   * The fastest measured design first. Like the measured times, the predicted times cover only a launch and its kernel,
   * while a sweep includes the time of ordering the units. Failed designs and wrong results are left out.
   */
  readonly designs: readonly ComparedDesign[];
  /** The median of measured / predicted. Errors are computed after dividing by it, `unscaled` errors before. */
  readonly scale: number;
  readonly medianError: number;
  readonly p95Error: number;
  readonly unscaledMedianError: number;
  /** NaN if all predictions or all measurements are equal. */
  readonly spearman: number;
  readonly kendall: number;
  /** 95 % intervals from resampling the designs. Null if there are too few designs. */
  readonly intervals: {
    readonly scale: Bounds | null;
    readonly medianError: Bounds | null;
    readonly spearman: Bounds | null;
  };
  /** The measured time of the best of the model's first k designs over the best measured time, minus 1. */
  readonly regret: readonly { readonly k: number; readonly fraction: number }[];
  /** The number of random measurements that find, on average, as good a design as measuring the model's first k. */
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
  /** The number of designs with a correct result and a time. */
  readonly designs: number;
  /** The fastest design of the run, as an index into `designs`. */
  readonly best: number;
  /** The comparison with the fastest design of the first run. Null for the first run. */
  readonly againstFirst: TimeRatio | null;
  /** The number of designs with a time in the first run that failed or gave wrong results here. */
  readonly lost: number;
}

/** The measured times of several runs on other devices or of other versions of a kernel. */
export interface RunsComparison {
  /** Smaller relative differences are ignored. */
  readonly threshold: number;
  readonly runs: readonly ComparedRun[];
  /** Every design that at least one run has. Each list has one entry per run. */
  readonly designs: readonly {
    readonly label: string;
    readonly times: readonly (Pick<MeasuredTime, 'medianMs' | 'lowMs' | 'highMs' | 'repeats'> | null)[];
    /** The ratio to the first run. Null for the first run itself, and if either run did not measure the design. */
    readonly against: readonly (TimeRatio | null)[];
  }[];
  /** cross[i][j] is the time of run i's fastest design in run j, ms, or null if it was not measured there. */
  readonly cross: readonly (readonly (number | null)[])[];
  /**
   * The design with the smallest worst ratio to the fastest design of each run. Null if no design was measured in all.
   */
  readonly oneForAll: {
    readonly design: number;
    /** The largest ratio of its time to the fastest time of a run, ≥ 1. */ readonly worst: number;
  } | null;
  readonly common: number;
  readonly warnings: readonly string[];
}

/**
 * The measured bandwidth by number of cores, and the contention models compared with measured unbalanced work
 * (Langguth).
 */
export interface ContentionFindings {
  readonly cores: readonly number[];
  readonly bandwidthGbS: readonly number[];
  readonly lowGbS: readonly (number | null)[];
  readonly highGbS: readonly (number | null)[];
  readonly singleCoreGbS: number;
  readonly fullGbS: number;
  /** ⌈ρ/β⌉. */
  readonly kneeCores: number;
  /** The machine as a device for `devices.save`. Null unless all cores were measured. */
  readonly device: CpuDevice | null;
  readonly workloads: readonly {
    readonly workload: 'triangular' | 'amdahl';
    readonly cores: number;
    readonly measuredMs: number;
    /** `error` is predicted over measured time, minus 1. */
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

/** What the user must state before a file can be imported. */
export interface ImportQuestions {
  /** The names of the studies, if an Optuna storage has several. */
  readonly studies: readonly string[];
  /** Whether the times have no unit. */
  readonly needsUnit: boolean;
  /** The parameters of the configurations, with the matching field of a design and some values. */
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
  /** The sweep that contains configurations of the file, and the number of cases that match its designs. */
  readonly linked?: { readonly runId: number; readonly deviceId: string; readonly designs: number };
  readonly warnings: readonly string[];
}
