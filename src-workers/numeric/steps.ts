/** A task shows how many steps it has done. It can be stopped only between two steps, so that its caches stay valid. */

/** Cells of a thread: its number of steps, and whether its task must stop. */
const CELLS = 2;
const THREADS = 512;

export function sharedSteps(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(THREADS * CELLS * Int32Array.BYTES_PER_ELEMENT));
}

/** Thread numbers increase and differ by less than THREADS in a pool, so no two threads of a pool share cells. */
export function viewSteps(shared: Int32Array, threadId: number): Int32Array {
  const from = (threadId % THREADS) * CELLS;
  return shared.subarray(from, from + CELLS);
}

let own: Int32Array = new Int32Array(CELLS);

export function shareSteps(cells: Int32Array): void {
  own = cells;
}

/** Counts one design or one replication; throws if the task was stopped. */
export function countStep(): void {
  own[0] += 1;
  if (Atomics.load(own, 1) !== 0) throw new Error('The task was stopped.');
}
