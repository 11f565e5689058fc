import type { DiscreteLaw } from './discrete-law.ts';

/** What work groups fetch of units in a given order: see `dealing/fetched-order.ts`. */
export interface FetchedOrder {
  /** Mean loss of the units that a group fetches for all its lanes; `null` where each lane fetches for itself. */
  readonly meanLoss: number | null;
  /**
   * A group of the launch whose lanes take so many units each on average.
   * @param unitsPerLane > 0
   * @param setupIterations before each unit, for which the lanes of its group wait
   */
  group(unitsPerLane: number, setupIterations: number): FetchingGroup;
}

export interface FetchingGroup {
  /** Law of its depth without setups, iterations. */
  readonly depth: DiscreteLaw;
  /** Iterations until the units run out, without setups; in which some lane starts a unit; and after which some lane fetches. */
  readonly iterations: number;
  readonly starts: number;
  readonly events: number;
}
