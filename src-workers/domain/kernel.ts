export type LoopForm = 'nested' | 'flattened';

/**
 * How the lanes of a thread group read an array. `along-unit`: each lane reads its own unit (CSR), which is coalesced
 * only where threads share the unit. `across-lanes`: neighbouring elements (padded matrices). `scattered`: any places.
 */
export const ACCESS_PATTERNS = ['along-unit', 'across-lanes', 'scattered'] as const;
export type AccessPattern = (typeof ACCESS_PATTERNS)[number];

export interface MemoryAccess {
  readonly pattern: AccessPattern;
  readonly elementBytes: number;
  /** Size of an array that is read several times in this launch or, with `isWarm`, again in the next one. */
  readonly footprintBytes?: number | undefined;
  /** Fraction, 0…1, that need a sector of their own, of the gathers that no cache serves. Assumed if omitted. */
  readonly missFraction?: number | undefined;
  /** Set if elements are read once and the launch reads only `footprintBytes`. A repeated launch finds them cached. */
  readonly isWarm?: boolean | undefined;
}

/**
 * How u threads share a unit. `deal`: each has ⌈length / u⌉ iterations, and results are combined once per unit, as for
 * a CSR row. `split`: every iteration takes φ(u) = (1−σ)/u + σ + κ·log₂u of its original time (Swatman et al. 2022).
 */
export const SHARINGS = ['deal', 'split'] as const;
export type Sharing = (typeof SHARINGS)[number];

/** The work of a thread outside the iterations. Omitted shares, exchanges, loads and bytes are 0. */
export interface Phase {
  readonly instructions: number;
  readonly integerShare?: number | undefined;
  readonly fp64Share?: number | undefined;
  readonly specialShare?: number | undefined;
  /** Arithmetic instructions on the longest chain of dependencies; all instructions if omitted. */
  readonly chainInstructions?: number | undefined;
  /** Shuffles and accesses to shared memory on the longest chain. */
  readonly dependentExchanges?: number | undefined;
  /** Loads from device memory on the longest chain. If units are fetched, the addition to the counter counts as one. */
  readonly dependentLoads?: number | undefined;
  /**
   * Device-memory traffic, bytes: per thread (prologue), unit (unit, refill), step (combine, search) or share (carry).
   */
  readonly bytes?: number | undefined;
}

/**
 * `prologue`: once per thread. `unit`: once per unit, before and after its iterations. `combine`: one of the log₂ u
 * steps that combine the results of a unit. `refill`: the change to the next unit in a single loop over all units.
 * `search`: a step of the binary search for an even share. `carry`: passes a cut unit's part to the next slot.
 */
export const PHASES = ['prologue', 'unit', 'combine', 'refill', 'search', 'carry'] as const;
export type PhaseName = (typeof PHASES)[number];

/** Figures "per iteration" are for one thread. Every lane executes all the work of a phase. */
export interface KernelProfile extends Readonly<Partial<Record<PhaseName, Phase | undefined>>> {
  readonly name: string;
  readonly registersPerThread: number;
  readonly sharedMemoryBytesPerBlock: number;
  readonly instructionsPerIteration: number;
  /** Fractions of the instructions, 0…1. All other instructions are assumed to be FP32. */
  readonly integerShare?: number;
  readonly fp64Share?: number;
  readonly specialShare?: number;
  /** FP32 instructions that read three different registers, such as a·b + c, as a fraction of all, 0…1. */
  readonly threeRegisterShare?: number;
  /** Arithmetic instructions of an iteration on its longest chain of dependencies; if omitted, all of them. */
  readonly chainInstructions?: number | undefined;
  readonly dependentExchanges?: number | undefined;
  /** Loads from device memory on an iteration's longest chain of dependencies. Each adds a memory latency to τ. */
  readonly dependentLoadsPerIteration: number;
  /** Device-memory traffic of one lane per iteration, bytes; 0 if `accesses` are given, since they determine it. */
  readonly bytesPerIteration: number;
  /** With the device and the design, these arrays determine the traffic (`memory/accesses.ts`). */
  readonly accesses?: readonly MemoryAccess[] | undefined;
  readonly sharing?: Sharing | undefined;
  /** σ of `split`, 0…1: the part of an iteration that does not get faster when threads share a unit. */
  readonly serialFraction: number;
  /** κ of `split`, ≥ 0: cost of each of the log₂u cooperation steps of an iteration, as a fraction of an iteration. */
  readonly cooperationCost: number;
  /** The check for the end of a unit, which a single loop adds to every iteration, as a fraction of the iteration. */
  readonly flattenedCost?: number;
  /** p ≥ 1: softness of the knee between latency- and issue-bound. The default, 6.5, is fitted (`models/README.md`). */
  readonly kneeSoftness: number;
  /** Input and state of a unit that a reordering moves, bytes. A study's default, 64, is assumed. */
  readonly bytesPerUnit: number;
  readonly lengthsKnownBeforeLaunch: boolean;
  /** Per iteration, for each register that a register cap spills. */
  readonly spillInstructionsPerRegister: number;
}

export interface PipelineParameters {
  /** τ: latency floor of one iteration, cycles. */
  readonly latencyCycles: number;
  /** c: issue cost of one iteration of one thread group, cycles of the whole multiprocessor. */
  readonly issueCycles: number;
  readonly kneeSoftness: number;
  /** q: schedulers per multiprocessor; thread groups are issued in whole rounds of q. */
  readonly schedulers: number;
}

export interface MeasuredPipeline extends Omit<PipelineParameters, 'schedulers'> {
  readonly schedulers?: number | undefined;
  /**
   * Factor on the predicted traffic. With it, the issue cycles are those of the instructions alone. Without it, they
   * contain the traffic, which then depends on nothing else.
   */
  readonly transferScale?: number | undefined;
}
