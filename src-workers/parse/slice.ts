import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 8;

/** Cuts long work into slices, between which its thread can do other work: `if (slice.isOver) await slice.next()`. */
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
