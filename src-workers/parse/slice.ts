import { setImmediate as nextTurn } from 'node:timers/promises';

/** Other work gets its turn this often, ms. */
const SLICE_MS = 8;

/** Long work in slices, so that its thread answers others meanwhile: `if (slice.isOver) await slice.next()`. */
export class Slice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MS;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#began = performance.now();
  }
}
