/** How a kernel's lane loop treats the units it owns. */
export type LoopForm = 'nested' | 'flattened';

/**
 * How the lanes of a thread group read an array: each along the elements of its own unit (values of CSR: coalesced as
 * far as threads share the unit), all lanes side by side (padded, column-major), or each at an arbitrary place (a
 * gather).
 */
export const ACCESS_PATTERNS = ['along-unit', 'across-lanes', 'scattered'] as const;
export type AccessPattern = (typeof ACCESS_PATTERNS)[number];

/** An array; an iteration reads one element of it. */
export interface MemoryAccess {
  readonly pattern: AccessPattern;
  readonly elementBytes: number;
  /**
   * Size of an array that is read again and again; left out where each element is read once, or where no cache can hold
   * it.
   */
  readonly footprintBytes?: number | undefined;
  /**
   * Share of a gather's reads that need a sector of their own from device memory, beyond what fits the caches, 0…1.
   * Assumed if left out.
   */
  readonly missFraction?: number | undefined;
  /**
   * Each element is read once, and `footprintBytes` are all that the launch reads so: what fits the level-2 cache is
   * there from a launch before, as where a measurement repeats one.
   */
  readonly isWarm?: boolean | undefined;
}

/**
 * How the threads of a unit share it. `deal`: its iterations are dealt to the lanes, ⌈length / u⌉ to each, and combined
 * once a unit (a CSR row by several threads). `split`: every iteration is split among them and costs φ(u) = (1−σ)/u + σ
 * + κ·log₂u of it (Swatman et al. 2022).
 */
export const SHARINGS = ['deal', 'split'] as const;
export type Sharing = (typeof SHARINGS)[number];

/** What a thread executes at one place of a kernel, outside the iterations. Absent numbers are 0. */
export interface Phase {
  /** Thread-group instructions issued. */
  readonly instructions: number;
  /** 0…1, as those of the iterations. */
  readonly integerShare?: number | undefined;
  readonly fp64Share?: number | undefined;
  readonly specialShare?: number | undefined;
  /** Arithmetic instructions on the longest chain, each waiting for the one before. Left out: all instructions. */
  readonly chainInstructions?: number | undefined;
  /** Shuffles and accesses to shared memory on that chain. */
  readonly dependentExchanges?: number | undefined;
  /** Loads from device memory on that chain; where units are fetched, the addition to the counter is one. */
  readonly dependentLoads?: number | undefined;
  /** Device-memory traffic, bytes: per thread for the prologue, per unit for all other phases. */
  readonly bytes?: number | undefined;
}

/**
 * Where a kernel has a phase. `prologue`: once a thread; `unit`: once a unit, before and after its iterations;
 * `combine`: a step of the tree that combines the results of a unit, log₂ u of them; `refill`: where one loop over all
 * units (flattened, fetching) changes the unit; `search`: a step of the binary search for an even share; `carry`:
 * handing on the unit that the end of an even share cuts.
 */
export const PHASES = ['prologue', 'unit', 'combine', 'refill', 'search', 'carry'] as const;
export type PhaseName = (typeof PHASES)[number];

/**
 * What is known of a kernel, independent of the device it runs on. Figures "per iteration" are of one iteration of a
 * work unit executed by one thread; what runs once a thread or once a unit stands in the phases, which every lane pays
 * in full.
 */
export interface KernelProfile extends Readonly<Partial<Record<PhaseName, Phase | undefined>>> {
  readonly name: string;
  /** Registers per thread that the compiler uses without a cap. */
  readonly registersPerThread: number;
  /** Static and dynamic shared memory (LDS) of a block, bytes. */
  readonly sharedMemoryBytesPerBlock: number;
  /** Thread-group instructions issued per iteration. */
  readonly instructionsPerIteration: number;
  /**
   * 0…1, their sum at most 1, 0 if left out: parts of the instructions that are 32-bit integer or logic, FP64, and
   * special functions. The others are taken to be FP32.
   */
  readonly integerShare?: number;
  readonly fp64Share?: number;
  readonly specialShare?: number;
  /**
   * Arithmetic instructions of an iteration on its longest chain of dependencies. Left out: all of them, no parallelism
   * at all.
   */
  readonly chainInstructions?: number | undefined;
  /** Shuffles and accesses to shared memory on that chain, per iteration; 0 if left out. */
  readonly dependentExchanges?: number | undefined;
  /** Loads per iteration on the critical path that go to device memory: each adds one memory latency to the floor τ. */
  readonly dependentLoadsPerIteration: number;
  /** Device-memory traffic of one lane per iteration, bytes; 0 if `accesses` say it. */
  readonly bytesPerIteration: number;
  /** Arrays read in an iteration; traffic follows from them by device and mapping (`models/memory/accesses.ts`). */
  readonly accesses?: readonly MemoryAccess[] | undefined;
  /** How threads share a unit; `split` if left out. */
  readonly sharing?: Sharing | undefined;
  /** σ of `split`, 0…1: the part of an iteration that does not speed up when threads share a unit. */
  readonly serialFraction: number;
  /** κ of `split`, ≥ 0: cost of one cooperation step (of log₂u) in every iteration, as a fraction of an iteration. */
  readonly cooperationCost: number;
  /**
   * What a single loop over all units (flattened, or fetching) adds to every iteration, as a fraction of an iteration
   * of one thread, ≥ 0; 0 if left out. It finds the end of a unit and, where branches are masked instead of jumped
   * over, changes the unit.
   */
  readonly flattenedCost?: number;
  /**
   * p ≥ 1: softness of the knee between latency-bound and issue-bound. A study's default, 6.5, is fitted: see
   * `models/README.md`.
   */
  readonly kneeSoftness: number;
  /** Input and state bytes of a unit that a reordering has to move. A study's default, 64, is assumed. */
  readonly bytesPerUnit: number;
  /** Whether unit lengths are known before launch; sorting and bucketing need them. */
  readonly lengthsKnownBeforeLaunch: boolean;
  /** Cost of one register spilled by a register cap: issue instructions per iteration. A study's default is 2. */
  readonly spillInstructionsPerRegister: number;
}

/** Issue behaviour of one SM for one kernel, measured or derived: cycles of SM time per iteration. */
export interface PipelineParameters {
  /** τ: latency floor of one iteration, cycles. */
  readonly latencyCycles: number;
  /** c: issue cost of one iteration of one thread group, cycles of the whole SM. */
  readonly issueCycles: number;
  /** p: softness of the knee. */
  readonly kneeSoftness: number;
  /** q: schedulers per SM; thread groups are served in whole rounds of q. */
  readonly schedulers: number;
}
