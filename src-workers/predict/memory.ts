import { createBudget } from '../numeric/budget.ts';
import { createArena } from './time/arena.ts';

/** Number of values in a slab, a piece of memory for block laws. */
const SLAB_LENGTH = 1 << 15;
/** Memory of a worker for depth laws, launches, paces and orders of units, bytes. More of it saves no time. */
const KEPT_BYTES = 32 * 2 ** 20;
/** Additional memory for each length of a workload in a given order, bytes: eight orders of two bytes per length. */
const KEPT_BYTES_PER_LENGTH = 16;

export const threadBudget = createBudget(KEPT_BYTES);

export function makeRoomForOrders(lengths: number): void {
  threadBudget.bytes = KEPT_BYTES + lengths * KEPT_BYTES_PER_LENGTH;
}

/** A thread's memory for block laws. It may be cleared whenever no law of the current design is in use. */
export const threadArena = createArena(SLAB_LENGTH);
