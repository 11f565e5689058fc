import { createBudget } from '../numeric/budget.ts';
import { KEPT_BYTES, KEPT_BYTES_PER_LENGTH, SLAB_LENGTH } from './constants.ts';
import { createArena } from './time/arena.ts';

/** The memory in which a thread keeps laws and launches of all plans, for sweeps and for advice. */
export const threadBudget = createBudget(KEPT_BYTES);

export function makeRoomForOrders(lengths: number): void {
  threadBudget.bytes = KEPT_BYTES + lengths * KEPT_BYTES_PER_LENGTH;
}

/** The memory of a thread for block laws, which may be cleared except while laws of the current design are in use. */
export const threadArena = createArena(SLAB_LENGTH);
