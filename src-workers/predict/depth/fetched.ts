import type { DiscreteLaw } from './discrete-law.ts';

/** The units that work groups fetch from a given order; see `dealing/fetched-order.ts`. */
export interface FetchedOrder {
  /** Mean loss of the units that a group fetches for all its lanes; `null` if each lane fetches its own units. */
  readonly meanLoss: number | null;
  /** @param setupIterations setup before each unit, for which the other lanes of the group wait */
  group(unitsPerLane: number, setupIterations: number): FetchingGroup;
}

export interface FetchingGroup {
  readonly depth: DiscreteLaw;
  /** Iterations until the units run out, without setups. */
  readonly iterations: number;
  readonly starts: number;
  /** Number of iterations after which any lane fetches, until the units run out; `lastEvents`: afterwards. */
  readonly events: number;
  readonly lastEvents: number;
}
