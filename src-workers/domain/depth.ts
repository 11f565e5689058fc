/**
 * The law of a work group's depth for one order of the units. The depth is the number of iterations for which the work
 * group keeps its thread group busy. A time prediction needs no other property of a workload.
 */
export interface GroupDepth extends StepLaw {
  /**
   * The law without setup, present if all depths contain the same setup of `setupDepth` iterations. Designs that differ
   * only in the setup share this law.
   */
  readonly withoutSetup?: { readonly law: StepLaw; readonly setupDepth: number };
  /** E[depth] of one work group, iterations. */
  readonly meanDepth: number;
  /** Mean work of one slot, iterations: E[W]·m, the time of an ideal machine without lockstep. */
  readonly meanWork: number;
  /** aggregateLoss = meanDepth / meanWork ≥ 1. It does not include the cost of balancing. */
  readonly aggregateLoss: number;
  /** E[H] of a group (Swatman's mean loss) ≥ 1. */
  readonly meanLoss: number;
  /** The fetches of a work group's lanes from the common counter; absent if there are none. */
  readonly fetches?: GroupFetches;
}

/**
 * `values` is strictly increasing, ≥ 0. Survival functions are step functions that change at `values`:
 * P(depth > v) for values[i] ≤ v < values[i+1] is out[i]; below values[0] it is 1; out[last] is 0.
 */
export interface StepLaw {
  readonly values: Float64Array;
  /**
   * Writes P(max depth over `groupsPerBlock` consecutive groups > values[i]) into `out` (length of `values`). With
   * buckets or windows, consecutive groups may lie in the same bucket or window.
   */
  survivalInto(out: Float64Array, groupsPerBlock: number): void;
}

/** Mean numbers for one work group, from its first fetch until the units run out. */
export interface GroupFetches {
  /**
   * Number of fetchers: the lanes, or 1 if the group fetches as a whole. Each also fetches before the first iteration;
   * the counts below exclude these fetches.
   */
  readonly fetchers: number;
  /** Iterations of the group until the units run out. */
  readonly iterations: number;
  /** Iterations after which at least one fetcher fetches. */
  readonly events: number;
  /** Additions to the common counter. */
  readonly additions: number;
  /**
   * After the units have run out: iterations until the group ends, and iterations after which a fetch finds no unit.
   */
  readonly last: { readonly iterations: number; readonly events: number };
}
