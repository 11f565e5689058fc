import type { LawMoments } from './workload.ts';

/** The cost of lockstep for a workload, by group size. */
export interface LossReport {
  readonly workload: LawMoments & {
    readonly label: string;
    readonly truncatedMass: number;
    /** Whether the law was fitted to given figures, so that its shape is assumed. */
    readonly fitted: boolean;
    /** A note on the reading of a file, if a user could expect otherwise. */
    readonly note?: string;
  };
  readonly rows: readonly {
    /** Units per group. */
    readonly n: number;
    /** For groups of n independent units: mean and standard deviation of the loss, and total time over total work. */
    readonly meanLoss: number;
    readonly standardDeviationLoss: number;
    readonly aggregateLoss: number;
    /** Exact loss for groups of n consecutive units in the order of the workload; `null` if it has no order. */
    readonly givenOrder: GivenLoss | null;
    /** `null` if the quantiles were not requested. */
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
    /** The method for the quantiles; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number } | null;
  }[];
}

/** The loss of the units in their order. */
export interface GivenLoss {
  /** Total lockstep time over total work, ≥ 1. */
  readonly aggregateLoss: number;
  /** Mean loss over the groups, ≥ 1; groups without work are excluded. */
  readonly meanLoss: number;
}
