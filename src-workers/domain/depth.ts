/** The law of a work group's depth: iterations for which the work group keeps its thread group busy. */
export interface GroupDepth extends StepLaw {
  /** The law without setup (the work once per unit). Designs that differ only in setup share this law. */
  readonly withoutSetup?: { readonly law: StepLaw; readonly setupDepth: number };
  readonly meanDepth: number;
  /** Mean work of a slot of m units, iterations: m times the mean length, as on a machine without lockstep. */
  readonly meanWork: number;
  /** aggregateLoss = meanDepth / meanWork ≥ 1. It does not include the cost of balancing. */
  readonly aggregateLoss: number;
  /** Mean of the losses of work groups (E[H] of Swatman et al.), ≥ 1. */
  readonly meanLoss: number;
  readonly fetches?: GroupFetches;
}

/**
 * `values` is strictly increasing, ≥ 0. Survival functions are step functions that change at `values`:
 * P(depth > v) for values[i] ≤ v < values[i+1] is out[i]; below values[0] it is 1; out[last] is 0.
 */
export interface StepLaw {
  readonly values: Float64Array;
  /**
   * Writes P(max depth over `groupsPerBlock` consecutive groups > values[i]) into `out` (length of `values`). Groups in
   * the same bucket or window are not independent.
   */
  survivalInto(out: Float64Array, groupsPerBlock: number): void;
}

/** Mean numbers for one work group, after its first fetch and until the units run out. */
export interface GroupFetches {
  /** Number of slots, or 1 if the group fetches as a whole. */
  readonly fetchers: number;
  readonly iterations: number;
  /** Iterations after which at least one fetcher fetches. */
  readonly events: number;
  readonly additions: number;
  /** After the units have run out: iterations of the group, and iterations after which a fetch finds no unit. */
  readonly last: { readonly iterations: number; readonly events: number };
}
