import type { LawMoments } from './workload.ts';

/** The cost of lockstep for a workload, by group size. */
export interface LossReport {
  readonly workload: LawMoments & {
    readonly label: string;
    readonly truncatedMass: number;
    /** Whether the law was fitted to given figures, so that only its shape is assumed. */
    readonly fitted: boolean;
    /** A note on how a file was read, if a user could expect a different reading. */
    readonly note?: string;
  };
  readonly rows: readonly {
    /** Units per group. */
    readonly n: number;
    /**
     * The figures below are for groups of n independent units: mean and standard deviation of the loss, and total time
     * over total work.
     */
    readonly meanLoss: number;
    readonly standardDeviationLoss: number;
    readonly aggregateLoss: number;
    /** Exact loss for groups of n consecutive units in the order of the workload; `null` if it has no order. */
    readonly givenOrder: GivenLoss | null;
    /** `null` if the quantiles were not requested. */
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
    /** How the quantiles were computed; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number } | null;
  }[];
}

/** The loss of the units in the workload's own order. */
export interface GivenLoss {
  /** Total lockstep time over total work, ≥ 1. */
  readonly aggregateLoss: number;
  /** Mean loss over the groups, ≥ 1; groups without work are excluded. */
  readonly meanLoss: number;
}
