/** What lockstep costs a workload, over group sizes. */
export interface LossReport {
  readonly workload: {
    readonly label: string;
    readonly mean: number;
    readonly standardDeviation: number;
    readonly supportMin: number;
    readonly supportMax: number;
    readonly truncatedMass: number;
    /** Whether the law was fitted to figures, and otherwise assumed. */
    readonly fitted: boolean;
    /** How a file was read, where a person could expect otherwise. */
    readonly note?: string;
  };
  readonly rows: readonly {
    /** Units per group. */
    readonly n: number;
    /** For groups of n independent units: mean and standard deviation of the loss, and total time over total work. */
    readonly meanLoss: number;
    readonly standardDeviationLoss: number;
    readonly aggregateLoss: number;
    /** For groups of n consecutive units in the order of the workload, exact; `null` if it has none. */
    readonly givenOrder: GivenLoss | null;
    /** `null` if they were not asked for. */
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
    /** How the quantiles were found; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number } | null;
  }[];
}

/** The loss of units in their order. */
export interface GivenLoss {
  /** Total lockstep time over total work, ≥ 1. */
  readonly aggregateLoss: number;
  /** Mean over the groups of their loss, ≥ 1; a group without work has none. */
  readonly meanLoss: number;
}
