import { createBudget } from '../numeric/budget.ts';
import { KEPT_BYTES, KEPT_BYTES_PER_LENGTH, SLAB_LENGTH } from './constants.ts';
import { createArena } from './time/arena.ts';

/** The memory in which a thread keeps laws and launches of all plans, for sweeps and for advice. */
export const threadBudget = createBudget(KEPT_BYTES);

/** Makes room in a thread's memory for the orders of a workload with `lengths` lengths. */
export function makeRoomForOrders(lengths: number): void {
  threadBudget.bytes = KEPT_BYTES + lengths * KEPT_BYTES_PER_LENGTH;
}

/**
 * The memory of a thread for block laws. It may be cleared at any time except while the laws of the current design are
 * in use.
 */
export const threadArena = createArena(SLAB_LENGTH);
