import { createBudget } from '../numeric/budget.ts';
import { KEPT_BYTES, KEPT_BYTES_PER_LENGTH, SLAB_LENGTH } from './constants.ts';
import { createArena } from './time/arena.ts';

/** The memory in which a thread keeps laws and launches of all plans, for sweeps and for advice. */
export const threadBudget = createBudget(KEPT_BYTES);

/** Makes room in the memory of a thread for the orders of a workload with this number of lengths. */
export function makeRoomForOrders(lengths: number): void {
  threadBudget.bytes = KEPT_BYTES + lengths * KEPT_BYTES_PER_LENGTH;
}

/** The memory of a thread for block laws. Only the current design needs its laws to stay. */
export const threadArena = createArena(SLAB_LENGTH);
