/** The times include balancing. */
export interface SimulatedTimes {
  readonly timesMs: readonly number[];
  readonly meanMs: number;
  readonly standardDeviationMs: number;
  readonly minMs: number;
  readonly medianMs: number;
  readonly maxMs: number;
}

export interface SimulatedDistribution extends SimulatedTimes {
  /** 95 % confidence interval of the mean (Student). */
  readonly lowMs: number;
  readonly highMs: number;
  /** False if the interval was still wider than requested after the maximum number of replications. */
  readonly precise: boolean;
}
