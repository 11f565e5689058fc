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

/** The results of the procedures about measuring. */

/** A place where benchmarks can run, or the reason why it cannot be used. */
export interface MeasuringTarget {
  /** The id in `bench.start`: `cuda:0`, `webgpu`, `cpu`, …. Only a page can measure on its `webgpu-page`. */
  readonly id: string;
  readonly backend: BenchBackend;
  readonly available: boolean;
  /** The name of the device, with a note if software emulates it. If there is no device, the missing part is named. */
  readonly label: string;
  readonly device: MeasuringDevice | null;
  /** How to make the target available. Empty if it is available. */
  readonly advice: string;
}

export interface Bundle {
  /** The file name of the archive with all files. */
  readonly fileName: string;
  readonly cases: number;
  /** The state of the cache before each launch, on a CUDA device. */
  readonly cache?: CacheState;
  /**
   * How many valid designs of the device a CUDA device can run, and which limits exclude the others. Null if it can run
   * all of them, or if the request names its designs.
   */
  readonly leftOut: RunnableDesigns | null;
  readonly packed: readonly string[];
  readonly bytes: number;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array; readonly executable?: true }[];
}

export interface MeasuringRequest {
  /** The target of the measurement. In a run of kind `import`, it is the name of the imported file. */
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
  /** How many designs can be chosen, if the target cannot run every design of the sweep. */
  readonly leftOut?: RunnableDesigns;
  /** Present if fewer units were measured than the sweep has. The run's predictions are for this number of units. */
  readonly part?: MeasuredPart;
  readonly probe?: MeasuringProbe;
  readonly program?: { readonly exec: string; readonly build: string | null };
  readonly kernel?: { readonly file: string; readonly name: string };
}

export interface MeasuredPart {
  readonly units: number;
  readonly ofUnits: number;
  /** The number of designs that were left out because they have more blocks than the measured units fill. */
  readonly designsLeftOut: number;
}

/** What a few launches before the run showed about its duration. */
export interface MeasuringProbe {
  /** The requested number of repeats. */
  readonly ofRepeats: number;
  /**
   * The number of chosen designs, over which the measured ones are spread evenly. Absent in runs of earlier versions.
   */
  readonly ofDesigns?: number | undefined;
  /** The expected duration of the reduced run, ms. `fullMs` is the expected duration of the whole request. */
  readonly estimateMs: number;
  readonly fullMs: number;
}

/** A proposal for what can be measured within the time limit. */
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

/** The suite `designs` measures the unit loop over designs of a sweep. The other suites measure the device itself. */
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
  /** The measured time plus the predicted time of ordering the units, ms; null if there is no correct result. */
  readonly measuredMs: number | null;
  readonly failure: string | null;
}

/** What the measurements of a sweep show so far, and the designs to measure next. */
export interface TuningStep {
  readonly runId: number;
  readonly deviceId: string;
  /** The number of designs among which the tuning chooses. */
  readonly considered: number;
  readonly measured: number;
  /** The number of designs that could not be measured, or gave a wrong result. */
  readonly failed: number;
  /**
   * The measured design with the least expected time. Null if no design is measured. All times include the predicted
   * time of ordering the units.
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
   * The expected fraction by which `best` is slower than the fastest design of all, or the 90 % quantile of this
   * fraction if that is larger. At least the gain from the last two thirds of the measurements. `null` if nothing is
   * measured.
   */
  readonly expectedRegret: number | null;
  /**
   * Spearman's rank correlation of predicted and measured times, −1…1. Null if fewer than 12 designs are measured or
   * all predictions are equal.
   */
  readonly skill: number | null;
  readonly history: readonly TunedDesign[];
  /** The expected best time after 1, 2, … random designs, ms, by the corrected predictions. The list may be empty. */
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
  /** The time of every repeat in order, without the warm-ups. */
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  readonly outliers: number;
  /** The relative change from the first repeats to the last ones. Null if there is no significant trend. */
  readonly driftFraction: number | null;
  readonly clockMhz: number | null;
}

export interface MeasuredCase {
  /** The position of the case, from 0: in the plan, or in the file of an import. */
  readonly position: number;
  readonly case: BenchCase;
  /** A description of the case in a few words: the design, or the parameters of the benchmark. */
  readonly label: string;
  readonly deviceId: string | null;
  readonly designIndex: number | null;
  readonly design: Design | null;
  readonly predictedMs: number | null;
  /** The statistics of the times. Null if the case failed, has only `values`, or is not yet measured. */
  readonly measured: MeasuredTime | null;
  /** Whether the result agrees with the result of the CPU. Null if it was not checked. */
  readonly correct: boolean | null;
  /** The digest of the result. Present if the results of designs are compared with each other by digests. */
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
  /** What a reader must know about the numbers: another device than predicted, drift, wrong results and so on. */
  readonly warnings: readonly string[];
}

/** A device with the fields that a run of probes measured on it. */
export interface MeasuredDevice {
  readonly runId: number;
  readonly measuredOn: string;
  readonly device: GpuDevice;
  /** The measured fields, with the values and sources that the device gets. `before` is null if there was no value. */
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
  /** The rank by predicted time, from 1, among the compared designs. */
  readonly predictedRank: number;
  readonly measuredRank: number;
  readonly predictedMs: number;
  /** The predicted time of the balancing pass, ms. The ranking of a sweep includes it; `predictedMs` does not. */
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
  /** `prediction` means the saved predictions of the sweep. Otherwise, a calibration profile makes new predictions. */
  readonly basis: 'prediction' | { readonly profileId: number; readonly name: string };
  /** The clock of the measurement, MHz, if the predictions are for that clock; otherwise null. */
  readonly clockMhz: number | null;
  /**
   * The compared designs, fastest measured first. The predicted times cover only the launch and its kernel, as the
   * measured times do; the times in a sweep also include the time of ordering the units. Failed designs and wrong
   * results are left out.
   */
  readonly designs: readonly ComparedDesign[];
  /** The median ratio of measured to predicted times. Except in `unscaled` errors, it scales the predictions. */
  readonly scale: number;
  readonly medianError: number;
  readonly p95Error: number;
  readonly unscaledMedianError: number;
  /** The rank correlations. They are NaN if all predictions or all measurements are equal. */
  readonly spearman: number;
  readonly kendall: number;
  /** The 95 % intervals of these figures, from resampling the designs. Null if there are too few designs. */
  readonly intervals: {
    readonly scale: Bounds | null;
    readonly medianError: Bounds | null;
    readonly spearman: Bounds | null;
  };
  /** The best measured time among the k best designs of the model, over the best measured time of all, minus 1. */
  readonly regret: readonly { readonly k: number; readonly fraction: number }[];
  /** How many randomly chosen designs one must measure, on average, to find as good a design as the model's first k. */
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
  /** The number of designs with a time and a correct result. */
  readonly designs: number;
  /** The fastest design of the run, as an index into `designs` of the comparison. */
  readonly best: number;
  /** The fastest design of this run compared with the fastest design of the first run. Null for the first run. */
  readonly againstFirst: TimeRatio | null;
  /** The number of designs that have a time in the first run but failed or gave wrong results in this run. */
  readonly lost: number;
}

/** The measured times of several runs, for example on several devices or of several versions of a kernel. */
export interface RunsComparison {
  /** Relative differences below this fraction are ignored. */
  readonly threshold: number;
  readonly runs: readonly ComparedRun[];
  /** Every design that at least one run measured. The lists of a design have one entry per run. */
  readonly designs: readonly {
    readonly label: string;
    readonly times: readonly (Pick<MeasuredTime, 'medianMs' | 'lowMs' | 'highMs' | 'repeats'> | null)[];
    /** The ratio to the first run. Null for the first run, and if one of the two runs did not measure the design. */
    readonly against: readonly (TimeRatio | null)[];
  }[];
  /** cross[i][j] is the time that the fastest design of run i has in run j, ms; null if run j did not measure it. */
  readonly cross: readonly (readonly (number | null)[])[];
  /**
   * The one design to use for all runs: it has the smallest worst ratio to the fastest design of each run. Null if no
   * design was measured in every run.
   */
  readonly oneForAll: {
    readonly design: number;
    /** The largest ratio of its time to the fastest time of a run, ≥ 1. */ readonly worst: number;
  } | null;
  readonly common: number;
  readonly warnings: readonly string[];
}

/**
 * The measured bandwidth for each number of cores, and the models of contention (Langguth) compared with the measured
 * times of unbalanced work.
 */
export interface ContentionFindings {
  readonly cores: readonly number[];
  readonly bandwidthGbS: readonly number[];
  readonly lowGbS: readonly (number | null)[];
  readonly highGbS: readonly (number | null)[];
  readonly singleCoreGbS: number;
  readonly fullGbS: number;
  /** The number of cores at which the bandwidth is saturated, ⌈ρ/β⌉. */
  readonly kneeCores: number;
  /** The machine as a device for `devices.save`. Null unless the run used all cores. */
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

/** What the user must answer before a file can be imported. */
export interface ImportQuestions {
  /** The names of the studies, if the file is an Optuna storage with several. */
  readonly studies: readonly string[];
  /** Whether the user must state the unit of the times. */
  readonly needsUnit: boolean;
  /** The parameters of the configurations, each with the matching field of a design and some of its values. */
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
