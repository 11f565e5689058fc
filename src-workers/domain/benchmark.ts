import type { Sharing } from './kernel.ts';
import type { Design } from './design.ts';
import type { KernelTask } from './kernel-manifest.ts';

export const BENCH_BACKENDS = ['cuda', 'hip', 'webgpu', 'cpu', 'program'] as const;
export type BenchBackend = (typeof BENCH_BACKENDS)[number];

export function isStandIn(backend: BenchBackend | 'external'): boolean {
  return backend !== 'program' && backend !== 'external';
}

/**
 * The unit loop that stands in for a kernel on a GPU. An iteration has I instructions in one chain of dependencies. If
 * iterations are dealt, each of u threads does ⌈length / u⌉ passes, and the results are combined. If they are split,
 * each does `length` passes of I·φ(u) instructions, φ(u) = (1 − σ)/u + σ + κ·log₂u. A pass never has fewer instructions
 * than the loop itself needs (`unitLoopShape` in bench/stand-in.ts). The result of a unit is f + Σ k·f over its
 * iterations k = 1, 2, …, with f = mix(unit + 1) | 1. These are 32-bit integers, so all backends compute the same bits.
 */
export interface UnitLoopProfile extends Omit<SecondUnitLoopProfile, 'version'> {
  readonly version: 3;
  readonly sharing: Sharing;
  readonly unitInstructions: number;
  readonly combineInstructions: number;
}

/** A loop that only old measurements have. Its iterations are always split. */
export interface SecondUnitLoopProfile {
  readonly version: 2;
  /** I: machine instructions of an iteration of one thread, including its loads and the loop's own instructions. */
  readonly instructionsPerIteration: number;
  readonly integerShare: number;
  readonly fp64Share: number;
  readonly specialShare: number;
  readonly serialFraction: number;
  readonly cooperationCost: number;
  readonly dependentLoadsPerIteration: number;
  readonly bytesPerIteration: number;
  /** Number of registers that the instructions use in turn. A lower register cap forces spills. */
  readonly registersPerThread: number;
  /** Size of the table that the loads walk, 32-bit words; a power of two. CUDA and HIP use more if a cache is large. */
  readonly tableWords: number;
}

/** A loop that only old measurements have: integer and logic operations, and dependent loads. */
export interface FirstUnitLoopProfile {
  readonly version?: undefined;
  readonly parallelSteps: number;
  readonly serialSteps: number;
  readonly dependentLoads: number;
  readonly tableWords: number;
}

export type AnyUnitLoopProfile = UnitLoopProfile | SecondUnitLoopProfile | FirstUnitLoopProfile;

export interface UnitTraffic {
  readonly bytesPerIteration: number;
  readonly bytesPerUnit: number;
}

export interface UnitLoopWorkload {
  readonly label: string;
  readonly lengths: Uint32Array;
  readonly profile: AnyUnitLoopProfile;
  /** Bytes that a CPU moves for an entry of `lengths`, which may stand for several units. */
  readonly traffic: UnitTraffic | null;
}

export interface BenchParameters {
  /** The slots of a GPU take units as in `simulate/units.ts`. Each core of a CPU moves the bytes of its share. */
  readonly 'unit-loop': {
    readonly design: Design;
    readonly designIndex: number | null;
    readonly predictedMs: number | null;
    /** As predicted. On CUDA and HIP, the measured loop allows no more. */
    readonly residentBlocks: number | null;
  };
  /** Each unit computes a power of a small matrix (Swatman 2022, Algorithm 1). */
  readonly 'matrix-power': {
    readonly lengths: string;
    readonly unitsPerGroup: number;
    readonly workGroups: number;
    /** One unit per lane in lockstep, or each unit in a separate group, as on a MIMD machine. */
    readonly execution: 'lockstep' | 'independent';
    readonly synchronised: boolean;
  };
  /** A loop that the lanes of a thread group leave one after another (Białas and Strzelecki 2015). */
  readonly 'divergent-loops': {
    readonly loops: 'single' | 'double';
    /** Number of lanes that leave the loop separately, 0 … group width − 1. */
    readonly divergentLanes: number;
    readonly iterations: number;
  };
  /** Sums a binomial series by a launch of this shape (Hasan 2014). */
  readonly 'launch-grid': { readonly blocks: number; readonly threads: number; readonly elements: number };
  /** A microbenchmark that measures a property of a device (Kim). */
  readonly probe: { readonly probe: string; readonly arguments: Readonly<Record<string, number>> };
  readonly stream: { readonly cores: number; readonly bytesPerCore: number };
  /** Lower triangular matrix times vector with equal numbers of rows per core: core i has work ∝ 2i − 1 (Langguth). */
  readonly triangular: { readonly cores: number; readonly rows: number };
  /** Triad in which core 1 of P has (P + 1) times the share of each other core (Langguth's Amdahl workload). */
  readonly 'imbalanced-stream': { readonly cores: number; readonly bytesPerShare: number };
  readonly external: {
    readonly kernel: string;
    readonly configuration: Readonly<Record<string, number | string | boolean>>;
    readonly linked?: { readonly design: Design; readonly designIndex: number; readonly predictedMs: number };
  };
}
export type BenchmarkId = keyof BenchParameters;

export interface ProgramTask {
  /** Command lines with placeholders (`bench/program/command-line.ts`). */
  readonly exec: string;
  readonly build: string | null;
  readonly folder: string;
  readonly units: number;
  readonly deviceId: string;
  /** Digest of the correct result, if an earlier part of the run found it. */
  readonly reference: string | null;
  /** Whether this is a probe: designs run one after another, and results are not compared. */
  readonly probe: boolean;
  /** Thread-group width of the predicted device. The order by `best-buckets` depends on it. */
  readonly threadGroupWidth?: number | null;
}

export type BenchCase = {
  readonly [Id in BenchmarkId]: {
    readonly id: string;
    readonly benchmark: Id;
    readonly parameters: BenchParameters[Id];
  };
}[BenchmarkId];

export type CaseOf<Id extends BenchmarkId> = Extract<BenchCase, { readonly benchmark: Id }>;

/** What the cache holds before a counted launch: the data of the previous launch (`warm`), or none of it (`flush`). */
export const CACHE_STATES = ['warm', 'flush'] as const;
export type CacheState = (typeof CACHE_STATES)[number];

/** Number of cases whose launches alternate, to share changes of the device. If larger, an interruption loses more. */
export const ALTERNATING = 8;

export interface BenchPlan {
  readonly format: 'lockstep-bench';
  readonly version: 1;
  readonly backend: BenchBackend;
  readonly cases: readonly BenchCase[];
  readonly warmUps: number;
  readonly repeats: number;
  readonly seed: number;
  readonly caseTimeLimitMs: number;
  /** Lanes of a thread group of a HIP device; the program is compiled for this width. */
  readonly threadGroupWidth?: number;
  readonly alternating?: number;
  readonly cache?: CacheState;
  readonly workload: UnitLoopWorkload | null;
  readonly program?: ProgramTask;
  /** The user's own kernel. The backend `program` measures it, or `webgpu` if it is in WGSL. */
  readonly kernel?: KernelTask;
}

export interface PlanSource {
  readonly runId: number;
  readonly study: string;
  readonly seed: number;
  readonly deviceId: string;
}

/** First line of a result file: the plan, with a digest in place of the lengths. */
export interface PlanLine {
  readonly type: 'plan';
  readonly plan: Omit<BenchPlan, 'workload'> & {
    readonly workload: (Omit<UnitLoopWorkload, 'lengths'> & { readonly units: number }) | null;
  };
  /** SHA-256 of the lengths as little-endian 32-bit integers, hexadecimal; `null` if the plan has none. */
  readonly lengthsDigest: string | null;
  readonly source: PlanSource | null;
}

/** Two results are comparable only if the `fingerprint` of their devices is the same. */
export interface MeasuringDevice {
  readonly type: 'device';
  /** `external`: another program measured, and its file gives only the device's name. */
  readonly backend: BenchBackend | 'external';
  readonly name: string;
  readonly fingerprint: string;
  readonly driver: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly threadGroupWidth: number | null;
  readonly multiprocessors: number | null;
  readonly clockMhz: number | null;
  /** The clock that took the times: of the device, or of the host around a launch; `null` if a file does not say. */
  readonly timer: 'device' | 'host' | null;
  readonly properties: Readonly<Record<string, number | string>>;
}

/** The times of a software adapter depend on the machine's CPU, so the names of its targets begin with this mark. */
export const SOFTWARE_GPU = 'Software GPU (runs anywhere)';

export function isSoftware(device: Pick<MeasuringDevice, 'properties'>): boolean {
  return device.properties.software === 1;
}

export function deviceTitle(device: Pick<MeasuringDevice, 'name' | 'properties'>): string {
  return isSoftware(device) ? `${SOFTWARE_GPU}: ${device.name}` : device.name;
}

/** A program that runs a plan prints one record per line, as JSON. A result file has the line of the plan first. */
export type BenchRecord =
  | MeasuringDevice
  | {
      readonly type: 'compiled';
      readonly case: string;
      readonly registersPerThread: number | null;
      readonly sharedMemoryBytes: number | null;
      readonly spillBytes: number | null;
      readonly residentBlocks: number | null;
    }
  /** The next launch belongs to this case, which is to blame if the program dies in the launch. */
  | { readonly type: 'turn'; readonly case: string }
  | ({
      readonly type: 'sample';
      readonly case: string;
      readonly repeat: number;
      readonly warmUp: boolean;
      readonly timeNs: number;
      readonly clockMhz: number | null;
    } & DeviceState)
  /** Whether the result is correct. A `digest` was compared with the results of other designs. */
  | {
      readonly type: 'check';
      readonly case: string;
      readonly correct: boolean;
      readonly message: string;
      readonly digest?: string;
    }
  | {
      readonly type: 'values';
      readonly case: string;
      readonly values: Readonly<Record<string, number | readonly number[]>>;
    }
  /** After a failed case, later cases still run, as long as the device works. */
  | { readonly type: 'failed'; readonly case: string; readonly message: string }
  | { readonly type: 'lost'; readonly message: string }
  | { readonly type: 'done'; readonly elapsedMs: number };

interface DeviceState {
  readonly memoryClockMhz?: number;
  readonly powerW?: number;
  readonly temperatureC?: number;
  readonly throttleReasons?: number;
}

/** Conditions during the counted launches of a case. `memoryClockMhz` and `powerW` are medians. */
export interface Conditions extends DeviceState {
  readonly minClockMhz?: number;
  readonly maxClockMhz?: number;
}

/** Reasons for which a device lowers its clocks by itself (nvml.h, `nvmlClocksThrottleReason…`). */
export const THROTTLE_REASONS: readonly (readonly [bit: number, text: string])[] = [
  [0x4, 'its power limit'],
  [0x8, 'a hardware slowdown'],
  [0x20, 'its temperature (software)'],
  [0x40, 'its temperature (hardware)'],
  [0x80, 'the power brake'],
];

export interface CaseResult {
  readonly case: BenchCase;
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  /** Median over the counted launches. */
  readonly clockMhz: number | null;
  readonly conditions?: Conditions;
  readonly compiled: Omit<Extract<BenchRecord, { readonly type: 'compiled' }>, 'type' | 'case'> | null;
  readonly correct: boolean | null;
  readonly digest?: string;
  readonly checkMessage: string;
  readonly failure: string | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

export const NOTHING_MEASURED: Omit<CaseResult, 'case'> = {
  timesMs: [],
  warmUpMs: [],
  clockMhz: null,
  compiled: null,
  correct: null,
  checkMessage: '',
  failure: null,
  values: {},
};

export type Verdict = 'same' | 'faster' | 'slower' | 'cannot-tell';

export interface TimeRatio {
  /** Median of the later times divided by the median of the earlier times; below 1 is faster. */
  readonly ratio: number;
  /** Confidence interval with a coverage of at least 95 %; `null` if a side has too few repeats. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly verdict: Verdict;
}
