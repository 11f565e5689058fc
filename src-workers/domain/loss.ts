import type { LawMoments } from './workload.ts';

export interface LossReport {
  readonly workload: LawMoments & {
    readonly label: string;
    readonly truncatedMass: number;
    readonly fitted: boolean;
    /** How a file was read, if a user could expect a different reading. */
    readonly note?: string;
  };
  readonly rows: readonly {
    readonly n: number;
    /** `meanLoss`, its standard deviation and `aggregateLoss` are for groups of n independent units. */
    readonly meanLoss: number;
    readonly standardDeviationLoss: number;
    readonly aggregateLoss: number;
    /** Exact, for groups of n consecutive units in the order of the workload; `null` if it has no order. */
    readonly givenOrder: GivenLoss | null;
    readonly quantiles: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
    /** How the quantiles were computed; `resolution` is their largest relative error. */
    readonly distribution: { readonly method: 'exact' | 'binned'; readonly resolution: number } | null;
  }[];
}

export interface GivenLoss {
  readonly aggregateLoss: number;
  /** Mean loss over the groups, ≥ 1. A group without work has the loss 1. */
  readonly meanLoss: number;
}
