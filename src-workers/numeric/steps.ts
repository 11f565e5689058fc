/**
 * The progress of a thread's present task, for the thread that waits for it: a task whose steps stand still hangs. A
 * task that nobody waits for ends between two steps, so that the tables of its thread stay.
 */

/** Steps that a thread has done, and whether its task shall end. */
const CELLS = 2;
const THREADS = 512;

export function sharedSteps(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(THREADS * CELLS * Int32Array.BYTES_PER_ELEMENT));
}

/** What a thread shares. Numbers of threads rise; no two of a pool are so far apart. */
export function stepsOf(shared: Int32Array, threadId: number): Int32Array {
  const from = (threadId % THREADS) * CELLS;
  return shared.subarray(from, from + CELLS);
}

let own: Int32Array = new Int32Array(CELLS);

/** Makes this thread count its steps in `cells`, for `stepsOf`. */
export function shareSteps(cells: Int32Array): void {
  own = cells;
}

/**
 * Counts a step: a design that is examined, or a replication.
 * @throws if nobody waits for the task any more
 */
export function countStep(): void {
  own[0] += 1;
  if (Atomics.load(own, 1) !== 0) throw new Error('The task was stopped.');
}
