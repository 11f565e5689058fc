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
import type { CpuDevice } from '../../src-workers/domain/device.ts';
import type { RunnableDesigns } from './runnable.ts';

/** Shapes of what measuring procedures return. */

/** Somewhere that benchmarks can run, or why they cannot. */
export interface MeasuringTarget {
  /**
   * Target as `bench.start` takes it: `cuda:0`, `webgpu`, `cpu`, …. The page's own GPU is `webgpu-page`; only a page
   * can measure on it.
   */
  readonly id: string;
  readonly backend: BenchBackend;
  readonly available: boolean;
  /** Name of the device, marked if it is software. Without a device, the name of the missing part. */
  readonly label: string;
  readonly device: MeasuringDevice | null;
  /** Instruction for making it available. Empty if it is available. */
  readonly advice: string;
}

/** A measurement packed for another machine. */
export interface Bundle {
  /** File name of the archive that the files make. */
  readonly fileName: string;
  readonly cases: number;
  /** What the cache held before each launch, on a CUDA device. */
  readonly cache?: CacheState;
  /** The designs that the choice was made from, if no CUDA device can run all designs of the sweep. */
  readonly leftOut: RunnableDesigns | null;
  /** Paths of the files that were packed, and their size together, bytes. */
  readonly packed: readonly string[];
  readonly bytes: number;
  /** The files, or the one archive that holds them. */
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array; readonly executable?: true }[];
}

/** The request of a `bench` run. */
export interface MeasuringRequest {
  /** The target that measured. For an import, the name of the file. */
  readonly target: string;
  /** `external`: another program measured, and its file does not name the backend. */
  readonly backend: BenchBackend | 'external';
  /** `external`: kernels of other authors, from an imported file. */
  readonly suite: BenchSuite | 'external';
  /** The sweep whose designs are measured. Null for suites that need no sweep. */
  readonly sourceRunId: number | null;
  /** The device of the sweep whose predictions the measurements are held against. */
  readonly deviceId: string | null;
  readonly repeats: number;
  readonly warmUps: number;
  readonly cases: number;
  /** What the cache held before each launch, on a CUDA device. */
  readonly cache?: CacheState;
  /** The designs that the choice was made from, if the target cannot run all designs of the sweep. */
  readonly leftOut?: RunnableDesigns;
  /**
   * Present if fewer units were measured than the sweep has. Predictions compared with these times are for this number
   * of units.
   */
  readonly part?: MeasuredPart;
  /** What a probe found before the run. */
  readonly probe?: MeasuringProbe;
  /** The command lines of a person's own program. */
  readonly program?: { readonly exec: string; readonly build: string | null };
  /** A person's kernel, by the path of its manifest. */
  readonly kernel?: { readonly file: string; readonly name: string };
}

export interface MeasuredPart {
  readonly units: number;
  readonly ofUnits: number;
  /** Designs left out: they have more blocks than these units fill. */
  readonly designsLeftOut: number;
}

/** What a few launches before a run let expect of it. */
export interface MeasuringProbe {
  /** Number of repeats that were asked for. */
  readonly ofRepeats: number;
  /** The expected time of the run, and the expected time of everything that was asked for, ms. */
  readonly estimateMs: number;
  readonly fullMs: number;
}

/** What to measure, so that it fits the time. */
export interface MeasuringProposal extends MeasuringProbe {
  readonly units: number;
  readonly ofUnits: number;
  readonly repeats: number;
}

/** A probe that the engine ran, or one that a page must run. */
export type ProbeAnswer =
  /** `proposal`: null if no launch of the probe gave a time, so that nothing is known. */
  | { readonly kind: 'done'; readonly proposal: MeasuringProposal | null }
  /** The page runs this plan. It then asks again and sends the times of this round and of all earlier ones. */
  | { readonly kind: 'round'; readonly plan: BenchPlan };

/** `designs`: the unit loop over designs of a sweep. The others measure the device itself. */
export const BENCH_SUITES = [
  'designs',
  'matrix-power',
  'divergent-loops',
  'launch-grid',
  'probes',
  'contention',
] as const;
export type BenchSuite = (typeof BENCH_SUITES)[number];

/** A design as it was measured for a tuning. */
export interface TunedDesign {
  readonly designIndex: number;
  readonly design: Design;
  /** The run that measured it; the newest of several. */
  readonly runId: number;
  readonly predictedMs: number;
  /**
   * Includes what ordering the units takes, as predicted. Null if the design could not be measured, or gave a wrong
   * result.
   */
  readonly measuredMs: number | null;
  /** Why it has no time; null if it has one. */
  readonly failure: string | null;
}

/** What the measurements of a sweep show so far, and the designs to measure next. */
export interface TuningStep {
  readonly runId: number;
  readonly deviceId: string;
  /** Designs among which the next ones are chosen. */
  readonly considered: number;
  readonly measured: number;
  /** Designs that could not be measured, or gave a wrong result. */
  readonly failed: number;
  /**
   * The measured design with the least expected time. Null if nothing is measured. Times include the predicted time of
   * ordering the units.
   */
  readonly best: {
    readonly designIndex: number;
    readonly design: Design;
    readonly measuredMs: number;
    /** Expected time by its own measurement and those of others. */
    readonly expectedMs: number;
    readonly predictedMs: number;
  } | null;
  /**
   * The fraction by which `best` is expected to be slower than the fastest design of all, or which it exceeds with a
   * chance of one in ten only, whichever is more. It is at least what the last two thirds of the measurements gained.
   * `null` if nothing is measured.
   */
  readonly expectedRegret: number | null;
  /**
   * Spearman's rank correlation of predicted and measured times, −1…1. Null if fewer than 12 designs are measured or
   * all predictions are equal.
   */
  readonly skill: number | null;
  /** The measured designs, in order. */
  readonly history: readonly TunedDesign[];
  /**
   * Expected best time, ms, of 1, 2, … random ones of the considered designs, by the corrected predictions; empty if
   * nothing is measured.
   */
  readonly randomMs: readonly number[];
  /** Empty if all designs are measured. */
  readonly next: readonly number[];
}

/** Statistics of the repeats of one case, ms. */
export interface MeasuredTime {
  readonly medianMs: number;
  /** 95 % confidence interval of the median, by order statistics; null with too few repeats for one. */
  readonly lowMs: number | null;
  readonly highMs: number | null;
  readonly minMs: number;
  readonly maxMs: number;
  readonly repeats: number;
  /** Every repeat that counts, in order. */
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  readonly outliers: number;
  /** Relative change from the first repeats to the last, if the trend is significant. Otherwise null. */
  readonly driftFraction: number | null;
  readonly clockMhz: number | null;
}

export interface MeasuredCase {
  /** Its position in the plan, or for an import in the file, from 0. */
  readonly position: number;
  readonly case: BenchCase;
  /** The case in a few words: the design, or the benchmark's parameters. */
  readonly label: string;
  readonly deviceId: string | null;
  readonly designIndex: number | null;
  readonly design: Design | null;
  readonly predictedMs: number | null;
  /** Null if the case failed, has values alone, or waits for being measured. */
  readonly measured: MeasuredTime | null;
  /** Against the CPU's result; null if it was not checked. */
  readonly correct: boolean | null;
  /** Digest of the result, where designs were compared by one. */
  readonly digest?: string;
  readonly failure: string | null;
  /** Clocks, power, temperature while it was measured; absent if nothing was read. */
  readonly conditions?: Conditions;
  readonly registersPerThread: number | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

/** A run of kind `bench` or `import`. */
export interface MeasuringDetail {
  readonly runId: number;
  readonly request: MeasuringRequest;
  readonly device: MeasuringDevice | null;
  /** All of the plan, in its order. One with neither time, values nor failure waits. */
  readonly cases: readonly MeasuredCase[];
  /** Things a reader must know before using the numbers: another device than predicted for, drift, wrong results, … */
  readonly warnings: readonly string[];
}

/** One measured design and its prediction. */
export interface ComparedDesign {
  readonly designIndex: number;
  readonly design: Design;
  /** Rank from 1 by prediction, among the compared designs. */
  readonly predictedRank: number;
  readonly measuredRank: number;
  readonly predictedMs: number;
  /**
   * Predicted time of the balancing pass, ms. It is not part of `predictedMs`, but the ranking of a sweep includes it.
   */
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

/** Predictions against measurements, for the designs measured in one run. */
export interface MeasuringComparison {
  readonly runId: number;
  readonly sourceRunId: number;
  readonly deviceId: string;
  readonly device: string;
  readonly measuredOn: string;
  /** `prediction`: as the sweep saved it. Otherwise the id of the calibration profile that predicted anew. */
  readonly basis: 'prediction' | { readonly profileId: number; readonly name: string };
  /**
   * The clock of the measurement, MHz, if the predictions are for that clock instead of the device's own. Otherwise
   * null.
   */
  readonly clockMhz: number | null;
  /**
   * The fastest measured design first. Predicted times are for the measured part: a launch and its kernel. They leave
   * out the time of ordering the units beforehand, which a sweep includes. Failed designs and designs with wrong
   * results are left out.
   */
  readonly designs: readonly ComparedDesign[];
  /** Median of measured / predicted; errors below are after dividing it out, and `unscaled` before. */
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
  /** Measured time of the best of the model's first k over the best measured, less 1. */
  readonly regret: readonly { readonly k: number; readonly fraction: number }[];
  /** Random measurements that find, on average, as good a design as measuring the model's first k does. */
  readonly randomEquivalent: readonly { readonly k: number; readonly measurements: number }[];
  readonly axes: readonly {
    readonly axis: string;
    /**
     * Share of the residuals' variance that this axis alone explains beyond chance, 0…1; NaN if it cannot be
     * determined.
     */
    readonly explained: number;
    readonly values: readonly {
      readonly value: string;
      readonly medianResidual: number;
      /** Quartiles. */
      readonly lowResidual: number;
      readonly highResidual: number;
      readonly count: number;
    }[];
  }[];
  readonly warnings: readonly string[];
}

/** A run among others that measured. */
export interface ComparedRun {
  readonly runId: number;
  readonly name: string;
  /** The device that was measured. */
  readonly device: string;
  readonly startedAt: string;
  /** Designs with a correct result and a time. */
  readonly designs: number;
  /** Its fastest design, by its place in `designs`. */
  readonly best: number;
  /** Its fastest design against that of the first run; null for that run. */
  readonly againstFirst: TimeRatio | null;
  /** Designs that the first run has a time of, and that failed or gave wrong results here. */
  readonly lost: number;
}

/** Measured times of several runs: other devices, or other versions of a kernel. */
export interface RunsComparison {
  /** Relative difference that does not count. */
  readonly threshold: number;
  readonly runs: readonly ComparedRun[];
  /** Every design that a run has; lists within are by run. */
  readonly designs: readonly {
    readonly label: string;
    readonly times: readonly (Pick<MeasuredTime, 'medianMs' | 'lowMs' | 'highMs' | 'repeats'> | null)[];
    /** Ratio to the first run. Null for the first run itself, and if either run did not measure the design. */
    readonly against: readonly (TimeRatio | null)[];
  }[];
  /** cross[i][j]: the fastest design of run i as measured in run j, ms; null if it was not. */
  readonly cross: readonly (readonly (number | null)[])[];
  /**
   * The design whose worst ratio to the fastest design of each run is smallest. Null if no design was measured in all
   * runs.
   */
  readonly oneForAll: {
    readonly design: number;
    /** Time over the fastest of the run, ≥ 1. */ readonly worst: number;
  } | null;
  /** Designs measured in all runs. */
  readonly common: number;
  readonly warnings: readonly string[];
}

/** Measured bandwidth by cores, and the contention models next to measured unbalanced work (Langguth). */
export interface ContentionFindings {
  readonly cores: readonly number[];
  readonly bandwidthGbS: readonly number[];
  readonly lowGbS: readonly (number | null)[];
  readonly highGbS: readonly (number | null)[];
  readonly singleCoreGbS: number;
  readonly fullGbS: number;
  /** ⌈ρ/β⌉. */
  readonly kneeCores: number;
  /** The machine as a device of the catalogue, ready for `devices.save`; null unless all cores were measured. */
  readonly device: CpuDevice | null;
  readonly workloads: readonly {
    readonly workload: 'triangular' | 'amdahl';
    readonly cores: number;
    readonly measuredMs: number;
    /** `error`: predicted over measured time, less 1. */
    readonly models: readonly { readonly model: string; readonly timeMs: number; readonly error: number }[];
  }[];
  /** Cases that other programs disturbed. */
  readonly warnings: readonly string[];
}

export interface SavedProfile {
  readonly id: number;
  readonly name: string;
  readonly createdAt: string;
  readonly profile: CalibrationProfile;
}

/** What a person must state before a file can be imported. */
export interface ImportQuestions {
  /** Names of the studies, for an Optuna storage with several. */
  readonly studies: readonly string[];
  /** Whether its times have no unit. */
  readonly needsUnit: boolean;
  /** The parameters of its configurations, the field of a design that each is, and some of its values. */
  readonly parameters: readonly {
    readonly name: string;
    readonly field: DesignField | null;
    readonly values: readonly string[];
    /** Distinct values. */
    readonly distinct: number;
  }[];
}

/** What importing a file made. */
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
  /** The sweep whose designs were found among a file's configurations, and how many cases are one. */
  readonly linked?: { readonly runId: number; readonly deviceId: string; readonly designs: number };
  readonly warnings: readonly string[];
}
