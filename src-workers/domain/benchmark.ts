import type { Sharing } from './kernel.ts';
import type { Design } from './design.ts';
import type { KernelTask } from './kernel-manifest.ts';

/**
 * Plans of measurements, and their results. A plan is a list of cases for one backend. The program that runs the plan
 * (a CUDA program, a WebGPU device in a page or under Node, threads of the CPU, the user's own program) answers with
 * records, one JSON line each, in the same format for all backends. A result file contains the line of the plan and
 * then these records. It can be written on a machine without Lockstep and imported here.
 */
export const BENCH_BACKENDS = ['cuda', 'hip', 'webgpu', 'cpu', 'program'] as const;
export type BenchBackend = (typeof BENCH_BACKENDS)[number];

/** Returns whether a backend runs the stand-in loop rather than the user's own kernel. */
export function isStandIn(backend: BenchBackend | 'external'): boolean {
  switch (backend) {
    case 'cuda':
    case 'hip':
    case 'webgpu':
    case 'cpu':
      return true;
    case 'program':
    case 'external':
      return false;
  }
}

/**
 * The unit loop that stands in for a kernel on a GPU, in the terms of a kernel profile. If units are dealt, u threads
 * do ⌈length / u⌉ passes and combine their results. If units are split, u threads do `length` passes of I·φ(u)
 * instructions, φ(u) = (1 − σ)/u + σ + κ·log₂u. The instructions form one chain of dependencies. A pass cannot have
 * fewer instructions than its loop needs. `unitLoopShape` (bench/stand-in.ts) counts the instructions of a pass, and
 * the prediction uses this count. The result does not depend on the design: the sum of a unit begins with f = mix(unit
 * + 1) | 1, iteration k (from 1 on) adds k·f to the sum, and the sum is stored in result[unit], all in 32-bit integers.
 * So every backend must compute the same bits for every design.
 */
export interface UnitLoopProfile extends Omit<SecondUnitLoopProfile, 'version'> {
  readonly version: 3;
  readonly sharing: Sharing;
  /** Instructions that run once per unit, and in each step that combines the results of a unit's threads. */
  readonly unitInstructions: number;
  readonly combineInstructions: number;
}

/**
 * The loop of version 2: each pass did several iterations, and units were always split. It no longer runs, but its
 * measurements can still be read.
 */
export interface SecondUnitLoopProfile {
  readonly version: 2;
  /** I: machine instructions of an iteration of one thread, including its loads and the loop's own instructions. */
  readonly instructionsPerIteration: number;
  readonly integerShare: number;
  readonly fp64Share: number;
  readonly specialShare: number;
  /** The serial fraction σ and the cost of cooperation κ. */
  readonly serialFraction: number;
  readonly cooperationCost: number;
  readonly dependentLoadsPerIteration: number;
  readonly bytesPerIteration: number;
  /** Number of registers that the instructions use in turn. A lower register cap forces spills. */
  readonly registersPerThread: number;
  /**
   * Minimum size of the table that the loads walk, in 32-bit words; a power of two. A backend that knows the device's
   * caches uses a larger table.
   */
  readonly tableWords: number;
}

/**
 * The loop of version 1, with integer and logic operations only: steps of 7 operations, some of them serial, and
 * dependent loads. It no longer runs, but its measurements can still be read.
 */
export interface FirstUnitLoopProfile {
  readonly version?: undefined;
  readonly parallelSteps: number;
  readonly serialSteps: number;
  readonly dependentLoads: number;
  readonly tableWords: number;
}

export type AnyUnitLoopProfile = UnitLoopProfile | SecondUnitLoopProfile | FirstUnitLoopProfile;

/** Bytes that the prediction for a CPU counts. */
export interface UnitTraffic {
  readonly bytesPerIteration: number;
  readonly bytesPerUnit: number;
}

/** The units of a plan's unit loops. They are drawn once and are the same for every design. */
export interface UnitLoopWorkload {
  readonly label: string;
  /** Iterations of unit 0, 1, 2, … */
  readonly lengths: Uint32Array;
  /** The profile of the loop. It has no effect if the plan is not for a GPU. */
  readonly profile: AnyUnitLoopProfile;
  /**
   * Bytes that a CPU moves instead of running the loop, since its prediction counts only traffic. In a plan for a CPU,
   * an entry of `lengths` may stand for a bundle or a part of the units, and these bytes are then per entry. `null` if
   * unknown, as in a plan of an older version.
   */
  readonly traffic: UnitTraffic | null;
}

/** The parameters of one case, by kind of benchmark. */
export interface BenchParameters {
  /**
   * A design on the plan's workload. A GPU runs slots of u threads, to which units are dealt round by round as in
   * `simulate/units.ts`. A CPU runs one thread per core, and each thread moves the bytes of its share.
   */
  readonly 'unit-loop': {
    readonly design: Design;
    /** The design's index in its sweep. */
    readonly designIndex: number | null;
    readonly predictedMs: number | null;
    /**
     * Number of blocks that the prediction keeps resident on a multiprocessor. The loop needs fewer registers than the
     * kernel that it replaces, so a backend limits its launch to this number if it can. `null`: no limit.
     */
    readonly residentBlocks: number | null;
  };
  /** Each unit computes one power of a small matrix. Results are cycles per work group (Swatman 2022, Algorithm 1). */
  readonly 'matrix-power': {
    readonly lengths: string;
    /** n: units side by side in a work group. */
    readonly unitsPerGroup: number;
    readonly workGroups: number;
    /** One unit per lane in lockstep, or each unit in a separate group, as on a MIMD machine. */
    readonly execution: 'lockstep' | 'independent';
    /** Whether the group synchronises explicitly in every iteration. */
    readonly synchronised: boolean;
  };
  /** A loop that the lanes of a thread group leave one after another (Białas and Strzelecki 2015). */
  readonly 'divergent-loops': {
    readonly loops: 'single' | 'double';
    /** Number of lanes that leave the loop separately, 0 … group width − 1. */
    readonly divergentLanes: number;
    readonly iterations: number;
  };
  /** The sum of a binomial series over a launch shape (Hasan 2014). */
  readonly 'launch-grid': { readonly blocks: number; readonly threads: number; readonly elements: number };
  /** One property of the device, found by a microbenchmark (Kim). */
  readonly probe: { readonly probe: string; readonly arguments: Readonly<Record<string, number>> };
  /** STREAM triad on the first `cores` cores, each with a separate share. */
  readonly stream: { readonly cores: number; readonly bytesPerCore: number };
  /** Lower triangular matrix times vector with equal numbers of rows per core: core i has work ∝ 2i − 1 (Langguth). */
  readonly triangular: { readonly cores: number; readonly rows: number };
  /** Triad in which core 1 has (P + 1) times the share of each other core (Langguth's Amdahl workload). */
  readonly 'imbalanced-stream': { readonly cores: number; readonly bytesPerShare: number };
  /** A kernel that another program measured. It comes from an imported file and cannot be run here. */
  readonly external: {
    readonly kernel: string;
    readonly configuration: Readonly<Record<string, number | string | boolean>>;
    /** The design of the sweep with this configuration, if one was found. */
    readonly linked?: { readonly design: Design; readonly designIndex: number; readonly predictedMs: number };
  };
}
export type BenchmarkId = keyof BenchParameters;

/** The user's own program, which the backend `program` runs for every launch of a design. */
export interface ProgramTask {
  /** Command lines with placeholders (`bench/program/command-line.ts`). */
  readonly exec: string;
  readonly build: string | null;
  /** Absolute path of the folder in which both commands run. */
  readonly folder: string;
  readonly units: number;
  /** The device for which the designs of the sweep were predicted. */
  readonly deviceId: string;
  /** Digest of the correct result, if an earlier part of the run found it. */
  readonly reference: string | null;
  /** Whether this is a probe: designs run one after another, and results are not compared. */
  readonly probe: boolean;
  /** Lanes of a thread group of the device that was predicted. The order of units by bucket depends on it. */
  readonly threadGroupWidth?: number | null;
}

export type BenchCase = {
  readonly [Id in BenchmarkId]: {
    /** The id of the case, unique within the plan; letters, digits and `.-_`. */
    readonly id: string;
    readonly benchmark: Id;
    readonly parameters: BenchParameters[Id];
  };
}[BenchmarkId];

export type CaseOf<Id extends BenchmarkId> = Extract<BenchCase, { readonly benchmark: Id }>;

/**
 * What the cache holds before each counted launch: the data of the previous launch (`warm`), or none of it (`flush`).
 */
export const CACHE_STATES = ['warm', 'flush'] as const;
export type CacheState = (typeof CACHE_STATES)[number];

/**
 * The number of cases whose launches alternate. With a larger number, more cases are compared under the same
 * conditions, but an interrupted run completes fewer cases.
 */
export const ALTERNATING = 8;

export interface BenchPlan {
  readonly format: 'lockstep-bench';
  readonly version: 1;
  readonly backend: BenchBackend;
  readonly cases: readonly BenchCase[];
  /** Launches of each case before the first counted one. */
  readonly warmUps: number;
  /** Counted launches of each case. */
  readonly repeats: number;
  readonly seed: number;
  /** A case is stopped if it takes longer than this in total, ms. */
  readonly caseTimeLimitMs: number;
  /** Lanes of a thread group of a HIP device; the program is compiled for them. */
  readonly threadGroupWidth?: number;
  /** Number of cases whose launches alternate randomly, on a CUDA or HIP device. If absent, cases do not alternate. */
  readonly alternating?: number;
  /** The cache of a CUDA or HIP device before a launch; `warm` if absent. */
  readonly cache?: CacheState;
  /** The workload, for unit loops and for a `program` that reads the lengths. */
  readonly workload: UnitLoopWorkload | null;
  /** The task of the backend `program`. If there is also a kernel, the commands are made from the kernel. */
  readonly program?: ProgramTask;
  /** The user's own kernel, which is measured in place of the unit loop. In CUDA, the backend `program` measures it. */
  readonly kernel?: KernelTask;
}

/** The sweep whose designs a plan measures, with the properties that identify it in its database. */
export interface PlanSource {
  readonly runId: number;
  readonly study: string;
  readonly seed: number;
  /** The device for which these designs were predicted. */
  readonly deviceId: string;
}

/** First line of a result file: the plan, with a digest in place of the lengths, and its sweep. */
export interface PlanLine {
  readonly type: 'plan';
  readonly plan: Omit<BenchPlan, 'workload'> & {
    readonly workload: (Omit<UnitLoopWorkload, 'lengths'> & { readonly units: number }) | null;
  };
  /** SHA-256 of the lengths as little-endian 32-bit integers, hexadecimal; `null` if the plan has none. */
  readonly lengthsDigest: string | null;
  readonly source: PlanSource | null;
}

/** The device that ran the benchmark. Two results are comparable only if their `fingerprint` is the same. */
export interface MeasuringDevice {
  readonly type: 'device';
  /** `external` means that another program measured and its file gives only the device's name. */
  readonly backend: BenchBackend | 'external';
  readonly name: string;
  /** An identifier from name, driver and versions, so that results of different devices or drivers are never mixed. */
  readonly fingerprint: string;
  readonly driver: string;
  /** Compiler, runtime, browser, program: name → version. */
  readonly versions: Readonly<Record<string, string>>;
  readonly threadGroupWidth: number | null;
  readonly multiprocessors: number | null;
  readonly clockMhz: number | null;
  /** Whether the device's clock took the times, or the host's clock around a launch; `null` if a file does not say. */
  readonly timer: 'device' | 'host' | null;
  /** Limits and properties as the device states them. */
  readonly properties: Readonly<Record<string, number | string>>;
}

/** Marks a software adapter in the names of targets, because its times depend on the machine's CPU. */
export const SOFTWARE_GPU = 'Software GPU (runs anywhere)';

export function isSoftware(device: Pick<MeasuringDevice, 'properties'>): boolean {
  return device.properties.software === 1;
}

export function deviceTitle(device: Pick<MeasuringDevice, 'name' | 'properties'>): string {
  return isSoftware(device) ? `${SOFTWARE_GPU}: ${device.name}` : device.name;
}

export type BenchRecord =
  | MeasuringDevice
  /** The compiler's report on a case's kernel. */
  | {
      readonly type: 'compiled';
      readonly case: string;
      readonly registersPerThread: number | null;
      readonly sharedMemoryBytes: number | null;
      readonly spillBytes: number | null;
      readonly residentBlocks: number | null;
    }
  /** The next launch belongs to this case. If the program ends now, this case is the cause. */
  | { readonly type: 'turn'; readonly case: string }
  /** One launch. Warm-ups come first and are marked. The other values are readings at the launch, if available. */
  | {
      readonly type: 'sample';
      readonly case: string;
      readonly repeat: number;
      readonly warmUp: boolean;
      readonly timeNs: number;
      readonly clockMhz: number | null;
      readonly memoryClockMhz?: number;
      readonly powerW?: number;
      readonly temperatureC?: number;
      /** Bits for the reasons, as in NVML's `nvmlClocksThrottleReason…`. */
      readonly throttleReasons?: number;
    }
  /**
   * The check of a case's result: against the CPU's result, or by `digest` against other designs. If results differ,
   * `message` has both.
   */
  | {
      readonly type: 'check';
      readonly case: string;
      readonly correct: boolean;
      readonly message: string;
      readonly digest?: string;
    }
  /** The values that a case found apart from its time: bandwidths, cycles per group, a limit of the device. */
  | {
      readonly type: 'values';
      readonly case: string;
      readonly values: Readonly<Record<string, number | readonly number[]>>;
    }
  /** The case has no time; the message says why. Later cases still run while the device works. */
  | { readonly type: 'failed'; readonly case: string; readonly message: string }
  /** The device was lost; no record follows. */
  | { readonly type: 'lost'; readonly message: string }
  /** The last line of a run that was not interrupted. */
  | { readonly type: 'done'; readonly elapsedMs: number };

/** State of the device during the counted launches of a case. A value that was not read is absent. */
export interface Conditions {
  readonly minClockMhz?: number;
  readonly maxClockMhz?: number;
  /** Median over the launches. */
  readonly memoryClockMhz?: number;
  /** Median over the launches. */
  readonly powerW?: number;
  /** Maximum over the launches. */
  readonly temperatureC?: number;
  /** Why clocks were lowered during any launch; bits as in NVML. Absent if the reasons were not read. */
  readonly throttleReasons?: number;
}

/** Reasons for which a device lowers its clocks by itself (nvml.h, `nvmlClocksThrottleReason…`). */
export const THROTTLE_REASONS: readonly (readonly [bit: number, text: string])[] = [
  [0x4, 'its power limit'],
  [0x8, 'a hardware slowdown'],
  [0x20, 'its temperature (software)'],
  [0x40, 'its temperature (hardware)'],
  [0x80, 'the power brake'],
];

/** All records of one case, combined. A case that neither has a time nor failed has only values. */
export interface CaseResult {
  readonly case: BenchCase;
  /** Every counted launch, in order; empty if the case failed. */
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  /** Median over the counted launches. */
  readonly clockMhz: number | null;
  /** The conditions; absent if nothing was read. */
  readonly conditions?: Conditions;
  readonly compiled: Omit<Extract<BenchRecord, { readonly type: 'compiled' }>, 'type' | 'case'> | null;
  /** Whether the result equals the CPU's, or the result of other designs; `null` if it was not checked. */
  readonly correct: boolean | null;
  /** Digest of the result, if results are compared by digests. */
  readonly digest?: string;
  /** The message of the check if the result is wrong; empty otherwise. */
  readonly checkMessage: string;
  readonly failure: string | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

/** The fields of a result if nothing but its case is known. */
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

/** The verdict on the later of two measured times. */
export type Verdict = 'same' | 'faster' | 'slower' | 'cannot-tell';

export interface TimeRatio {
  /** Median of the later times over the median of the earlier times; below 1 is faster. */
  readonly ratio: number;
  /** Interval for this ratio, with a coverage of at least 95 %; `null` if a side has too few repeats. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly verdict: Verdict;
}
