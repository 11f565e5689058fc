import type { Sharing } from './kernel.ts';
import type { Design } from './design.ts';
import type { KernelTask } from './kernel-manifest.ts';

/**
 * What is measured and what comes back. A plan is a list of cases for one backend; the program that runs it (a CUDA
 * program, a WebGPU device in a page or under Node, threads of the CPU, a person's own program) answers with the same
 * records, one JSON line each. A file of such lines, the plan's line first, is a result file: it can be made on a
 * machine without Lockstep and imported.
 */
export const BENCH_BACKENDS = ['cuda', 'hip', 'webgpu', 'cpu', 'program'] as const;
export type BenchBackend = (typeof BENCH_BACKENDS)[number];

/** Whether times of a backend are of the loop that stands in for a kernel, and not of a kernel of the person's own. */
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
 * The unit loop that stands in for a kernel on a GPU: what it is to do, in the terms of a kernel profile. Where units
 * are dealt, u threads do ⌈length / u⌉ passes, and combine their results; where they are split, `length` passes of
 * I·φ(u) instructions, φ(u) = (1 − σ)/u + σ + κ·log₂u. Instructions are one chain of dependencies. A pass cannot have
 * fewer than it needs itself: what it has, and is predicted by, `unitLoopShape` of bench/stand-in.ts says. What it
 * computes on the way changes nothing: iteration k of a unit, from 1 on, adds k·f to a sum that begins with f =
 * mix(unit + 1) | 1 and stands in result[unit] at last, all in 32-bit integers. So every backend must find the same
 * bits for every design.
 */
export interface UnitLoopProfile extends Omit<SecondUnitLoopProfile, 'version'> {
  readonly version: 3;
  readonly sharing: Sharing;
  /** Instructions of the kernel's phases: once a unit, and in each step that combines the results of its threads. */
  readonly unitInstructions: number;
  readonly combineInstructions: number;
}

/**
 * The loop of version 2, whose passes did several iterations; all units were split. It is not run any more; its
 * measurements can be read.
 */
export interface SecondUnitLoopProfile {
  readonly version: 2;
  /** I: machine instructions of an iteration of one thread, with its loads and the turn of the loop. */
  readonly instructionsPerIteration: number;
  readonly integerShare: number;
  readonly fp64Share: number;
  readonly specialShare: number;
  /** σ and κ. */
  readonly serialFraction: number;
  readonly cooperationCost: number;
  readonly dependentLoadsPerIteration: number;
  readonly bytesPerIteration: number;
  /** Registers that steps go round in, so that a lower cap has to spill them. */
  readonly registersPerThread: number;
  /**
   * Least size of the table that loads walk, 32-bit words, a power of two; a backend that knows the device's caches
   * takes a larger one.
   */
  readonly tableWords: number;
}

/**
 * The loop of version 1, all in integers and logic: steps of 7 operations, some of them serial, and dependent loads. It
 * is not run any more; its measurements can be read.
 */
export interface FirstUnitLoopProfile {
  readonly version?: undefined;
  readonly parallelSteps: number;
  readonly serialSteps: number;
  readonly dependentLoads: number;
  readonly tableWords: number;
}

export type AnyUnitLoopProfile = UnitLoopProfile | SecondUnitLoopProfile | FirstUnitLoopProfile;

/** Memory traffic that the prediction of a CPU counts, bytes. */
export interface UnitTraffic {
  readonly bytesPerIteration: number;
  readonly bytesPerUnit: number;
}

/** The units of a plan's unit loops: drawn once, then the same for every design. */
export interface UnitLoopWorkload {
  readonly label: string;
  /** Iterations of unit 0, 1, 2, … */
  readonly lengths: Uint32Array;
  /** Has no meaning where no GPU runs the loop. */
  readonly profile: AnyUnitLoopProfile;
  /**
   * Bytes that a CPU moves instead of running the loop, since its prediction counts nothing else. Where a plan for a
   * CPU has lengths of bundles of units, or of a part of them, they are those of one entry. `null` if unknown, as in
   * a plan of an older version.
   */
  readonly traffic: UnitTraffic | null;
}

/** The parameters of one case, by kind of benchmark. */
export interface BenchParameters {
  /**
   * A design on the plan's workload: on a GPU slots of u threads, dealt out round by round as `simulate/units.ts` does;
   * on a CPU a thread per core that moves the bytes of its share.
   */
  readonly 'unit-loop': {
    readonly design: Design;
    /** The design's index in the sweep it was taken from. */
    readonly designIndex: number | null;
    readonly predictedMs: number | null;
    /**
     * Resident blocks of a multiprocessor in the prediction. The loop needs fewer registers than the kernel that it
     * stands in for, so a backend limits its launch to this many where it can. `null`: as many as fit.
     */
    readonly residentBlocks: number | null;
  };
  /** Powers of a small matrix, one power per unit; cycles per work group (Swatman 2022, Algorithm 1). */
  readonly 'matrix-power': {
    /** In the workload grammar. */
    readonly lengths: string;
    /** n: units side by side in a work group. */
    readonly unitsPerGroup: number;
    readonly workGroups: number;
    /** One unit per lane in lockstep, or each unit in a separate group, as a MIMD machine would run it. */
    readonly execution: 'lockstep' | 'independent';
    /** An explicit synchronisation of the group in every iteration. */
    readonly synchronised: boolean;
  };
  /** Loops left one lane after another (Białas and Strzelecki 2015). */
  readonly 'divergent-loops': {
    readonly loops: 'single' | 'double';
    /** 0 … group width − 1 lanes that leave on their own. */
    readonly divergentLanes: number;
    readonly iterations: number;
  };
  /** The sum of a binomial series over a launch shape (Hasan 2014). */
  readonly 'launch-grid': { readonly blocks: number; readonly threads: number; readonly elements: number };
  /** One property of the device (Kim). */
  readonly probe: { readonly probe: string; readonly arguments: Readonly<Record<string, number>> };
  /** STREAM triad on the first `cores` cores, each with a separate share. */
  readonly stream: { readonly cores: number; readonly bytesPerCore: number };
  /** Lower triangular matrix times vector, even rows per core: core i of P has work ∝ 2i − 1 (Langguth). */
  readonly triangular: { readonly cores: number; readonly rows: number };
  /** Triad in which core 1 has (P + 1) times the share of each other core (Langguth's Amdahl workload). */
  readonly 'imbalanced-stream': { readonly cores: number; readonly bytesPerShare: number };
  /**
   * A kernel of someone else's, measured by another program: it comes from an imported file, and nothing here can run
   * it.
   */
  readonly external: {
    readonly kernel: string;
    readonly configuration: Readonly<Record<string, number | string | boolean>>;
    /** The design of a sweep that the configuration is, where it was found to be one. */
    readonly linked?: { readonly design: Design; readonly designIndex: number; readonly predictedMs: number };
  };
}
export type BenchmarkId = keyof BenchParameters;

/** A program of the person's own, which the backend `program` runs for every launch of a design. */
export interface ProgramTask {
  /** Command lines with placeholders (`bench/program/command-line.ts`). */
  readonly exec: string;
  readonly build: string | null;
  /** Absolute path of the folder in which both run. */
  readonly folder: string;
  /** Units of the study. */
  readonly units: number;
  /** Device of the sweep that the designs are of. */
  readonly deviceId: string;
  /** Digest of the right result, where a part of the run that was measured before found it. */
  readonly reference: string | null;
  /** For a probe: designs one after another, and results are not compared. */
  readonly probe: boolean;
  /** Lanes of a thread group of the predicted device; orders of units by bucket depend on it. */
  readonly threadGroupWidth?: number | null;
}

export type BenchCase = {
  readonly [Id in BenchmarkId]: {
    /** Unique within the plan; letters, digits and `.-_`. */
    readonly id: string;
    readonly benchmark: Id;
    readonly parameters: BenchParameters[Id];
  };
}[BenchmarkId];

export type CaseOf<Id extends BenchmarkId> = Extract<BenchCase, { readonly benchmark: Id }>;

/** Before each launch that counts: the data of the launch before it (`warm`), or none of it (`flush`). */
export const CACHE_STATES = ['warm', 'flush'] as const;
export type CacheState = (typeof CACHE_STATES)[number];

/** Cases whose launches alternate. More would be fairer, and leave fewer complete where a run is interrupted. */
export const ALTERNATING = 8;

export interface BenchPlan {
  readonly format: 'lockstep-bench';
  readonly version: 1;
  readonly backend: BenchBackend;
  readonly cases: readonly BenchCase[];
  /** Launches of each case before the first that counts. */
  readonly warmUps: number;
  /** Launches of each case that count. */
  readonly repeats: number;
  readonly seed: number;
  /** A case that takes longer than this altogether is given up, ms. */
  readonly caseTimeLimitMs: number;
  /** Lanes of the thread groups of a HIP device, which its program is compiled for. */
  readonly threadGroupWidth?: number;
  /** Cases whose launches alternate in random order, on a CUDA or HIP device. One after another where absent. */
  readonly alternating?: number;
  /** What the cache of a CUDA or HIP device holds before a launch. `warm` where absent. */
  readonly cache?: CacheState;
  /** Present where there are unit loops, and for the backend `program` where it reads their lengths. */
  readonly workload: UnitLoopWorkload | null;
  /** Present for the backend `program`. Where there is a kernel too, its commands are made from that. */
  readonly program?: ProgramTask;
  /** A kernel of the person's own, which is measured in place of the unit loop; in CUDA by the backend `program`. */
  readonly kernel?: KernelTask;
}

/** The sweep whose designs a plan measures, with what identifies it in the database that it came from. */
export interface PlanSource {
  readonly runId: number;
  /** Name of the sweep's study. */
  readonly study: string;
  /** Seed of the sweep's study. */
  readonly seed: number;
  /** Device of the sweep whose designs these are. */
  readonly deviceId: string;
}

/** First line of a result file: the plan, with a digest in place of the lengths, and where its designs came from. */
export interface PlanLine {
  readonly type: 'plan';
  readonly plan: Omit<BenchPlan, 'workload'> & {
    readonly workload: (Omit<UnitLoopWorkload, 'lengths'> & { readonly units: number }) | null;
  };
  /** SHA-256 of the lengths as little-endian 32-bit integers, hexadecimal; `null` if the plan has none. */
  readonly lengthsDigest: string | null;
  readonly source: PlanSource | null;
}

/** Who measured. Two results compare only where `fingerprint` is the same. */
export interface MeasuringDevice {
  readonly type: 'device';
  /** `external`: another program measured, and its file says no more than the device's name. */
  readonly backend: BenchBackend | 'external';
  readonly name: string;
  /** Made of name, driver and versions: results of another device or driver are never mixed in silently. */
  readonly fingerprint: string;
  readonly driver: string;
  /** Compiler, runtime, browser, program: name → version. */
  readonly versions: Readonly<Record<string, string>>;
  readonly threadGroupWidth: number | null;
  readonly multiprocessors: number | null;
  readonly clockMhz: number | null;
  /**
   * Whether times come from the device's own clock, or from the host's around a launch; `null` if a file does not
   * say.
   */
  readonly timer: 'device' | 'host' | null;
  /** Limits and properties as the device states them. */
  readonly properties: Readonly<Record<string, number | string>>;
}

/** A software adapter's name begins so, wherever a target is named: its times are those of the machine's CPU. */
export const SOFTWARE_GPU = 'Software GPU (runs anywhere)';

export function isSoftware(device: Pick<MeasuringDevice, 'properties'>): boolean {
  return device.properties.software === 1;
}

/** The name of a device as a person reads it. */
export function deviceTitle(device: Pick<MeasuringDevice, 'name' | 'properties'>): string {
  return isSoftware(device) ? `${SOFTWARE_GPU}: ${device.name}` : device.name;
}

export type BenchRecord =
  | MeasuringDevice
  /** What the compiler says of a case's kernel. */
  | {
      readonly type: 'compiled';
      readonly case: string;
      readonly registersPerThread: number | null;
      readonly sharedMemoryBytes: number | null;
      readonly spillBytes: number | null;
      readonly residentBlocks: number | null;
    }
  /** The next launch is of this case: it is to blame where the program ends now. */
  | { readonly type: 'turn'; readonly case: string }
  /**
   * One launch. Warm-ups come first and are marked, not dropped. The other values are readings at the launch, where
   * they exist.
   */
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
      /** Bits, as NVML's `nvmlClocksThrottleReason…` have them. */
      readonly throttleReasons?: number;
    }
  /**
   * The result against the CPU's, or against that of other designs, by its `digest`. `message` has both values where
   * they differ.
   */
  | {
      readonly type: 'check';
      readonly case: string;
      readonly correct: boolean;
      readonly message: string;
      readonly digest?: string;
    }
  /** What a case found besides its time: bandwidths, cycles per group, a device's limit. */
  | {
      readonly type: 'values';
      readonly case: string;
      readonly values: Readonly<Record<string, number | readonly number[]>>;
    }
  /** The case has no time, and why. Cases after it are still run while the device works. */
  | { readonly type: 'failed'; readonly case: string; readonly message: string }
  /** The device itself is gone: nothing after this. */
  | { readonly type: 'lost'; readonly message: string }
  /** The last line of a run that was not interrupted. */
  | { readonly type: 'done'; readonly elapsedMs: number };

/** How the device was while a case was measured, over the launches that count; each where it was read. */
export interface Conditions {
  readonly minClockMhz?: number;
  readonly maxClockMhz?: number;
  /** Median. */
  readonly memoryClockMhz?: number;
  /** Median. */
  readonly powerW?: number;
  /** Highest. */
  readonly temperatureC?: number;
  /** Why clocks were lowered during any launch, bits as NVML has them. Absent if they were not read. */
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

/** What the records of one case say together. No time and no failure: the case has values alone. */
export interface CaseResult {
  readonly case: BenchCase;
  /** Every launch that counts, in order; empty if the case failed. */
  readonly timesMs: readonly number[];
  readonly warmUpMs: readonly number[];
  /** Median of the readings at the launches that count. */
  readonly clockMhz: number | null;
  /** Absent if nothing was read. */
  readonly conditions?: Conditions;
  readonly compiled: Omit<Extract<BenchRecord, { readonly type: 'compiled' }>, 'type' | 'case'> | null;
  /** Whether the result equals the CPU's, or that of other designs; `null` if it was not checked. */
  readonly correct: boolean | null;
  /** Digest of the result, where it was compared by one. */
  readonly digest?: string;
  /** What the check said where the result is wrong; empty otherwise. */
  readonly checkMessage: string;
  readonly failure: string | null;
  readonly values: Readonly<Record<string, number | readonly number[]>>;
}

/** A result of which only the case is known. */
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

/** On duplicates, the later one wins. */
export type Verdict = 'same' | 'faster' | 'slower' | 'cannot-tell';

export interface TimeRatio {
  /** Median of the later times over that of the earlier ones; below 1 is faster. */
  readonly ratio: number;
  /** Interval of the ratio of the medians, with a coverage of at least 95 %; `null` with too few repeats on a side. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly verdict: Verdict;
}
