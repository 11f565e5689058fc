import type { DiscreteLaw } from './discrete-law.ts';

/** What work groups fetch from units in a given order; see `dealing/fetched-order.ts`. */
export interface FetchedOrder {
  /** Mean loss of the units that a group fetches for all its lanes; `null` if each lane fetches for itself. */
  readonly meanLoss: number | null;
  /**
   * A group of the launch, for this mean number of units of its lanes.
   * @param unitsPerLane > 0
   * @param setupIterations before each unit, for which the lanes of its group wait
   */
  group(unitsPerLane: number, setupIterations: number): FetchingGroup;
}

export interface FetchingGroup {
  /** Law of its depth, without setups, iterations. */
  readonly depth: DiscreteLaw;
  /** Iterations until the units run out, without setups. */
  readonly iterations: number;
  /** Iterations in which any lane starts a unit. */
  readonly starts: number;
  /** Iterations after which any lane fetches. */
  readonly events: number;
}
