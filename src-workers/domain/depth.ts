/**
 * Law of a work group's depth: the iterations for which it keeps its thread group busy, for one way of ordering the
 * units. A time prediction needs to know nothing else of a workload.
 */
export interface GroupDepth extends StepLaw {
  /**
   * The same law `setupDepth` iterations earlier, where setups are as many for all depths: laws with other setups share
   * it.
   */
  readonly withoutSetup?: { readonly law: StepLaw; readonly setupDepth: number };
  /** E[depth] of one work group, iterations. */
  readonly meanDepth: number;
  /** Mean work of one unit slot, iterations: E[W]·m, what an ideal machine without lockstep would need per slot. */
  readonly meanWork: number;
  /** aggregateLoss = meanDepth / meanWork ≥ 1 (balancing cost aside). */
  readonly aggregateLoss: number;
  /** E[H] of a group (Swatman's mean loss) ≥ 1. */
  readonly meanLoss: number;
  /** What the lanes of a work group ask of the counter that they fetch units from; left out where none do. */
  readonly fetches?: GroupFetches;
}

/**
 * `values` is strictly increasing, ≥ 0. Survival functions are step functions that change at `values`:
 * P(depth > v) for values[i] ≤ v < values[i+1] is out[i]; below values[0] it is 1; out[last] is 0.
 */
export interface StepLaw {
  readonly values: Float64Array;
  /**
   * Writes P(max depth over `groupsPerBlock` consecutive groups > values[i]) into `out` (length of `values`).
   * Consecutive groups share a bucket or window where the balancing has them.
   */
  survivalInto(out: Float64Array, groupsPerBlock: number): void;
}

/** Means of one work group, from its first fetch on until the units run out. */
export interface GroupFetches {
  /** What fetches: the lanes, or the group as one. All do before the first iteration; that is not in what follows. */
  readonly fetchers: number;
  /** Iterations. */
  readonly iterations: number;
  /** Iterations after which any fetches. */
  readonly events: number;
  /** Additions to the counter. */
  readonly additions: number;
}
