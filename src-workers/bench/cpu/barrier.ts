/** Words of a barrier's shared array. */
export const BARRIER_WORDS = 2;
const ARRIVED = 0;
const GENERATION = 1;

/**
 * Waits until all threads have come here. All that they wrote before is seen by all of them after.
 *
 * @param state `BARRIER_WORDS` words of a `SharedArrayBuffer`, 0 at first, which only this function changes
 * @param spins looks at the memory before a thread goes to sleep: many where all should leave at the same moment, 0
 *   if a thread that waits should leave the machine to those that work
 * @param onLast what the thread that comes last does before it lets all of them go
 */
export function arriveAndWait(state: Int32Array, threads: number, spins: number, onLast?: () => void): void {
  const generation = Atomics.load(state, GENERATION);
  if (Atomics.add(state, ARRIVED, 1) === threads - 1) {
    onLast?.();
    Atomics.store(state, ARRIVED, 0);
    Atomics.add(state, GENERATION, 1);
    Atomics.notify(state, GENERATION);
    return;
  }
  for (let spin = 0; spin < spins; spin += 1) if (Atomics.load(state, GENERATION) !== generation) return;
  while (Atomics.load(state, GENERATION) === generation) Atomics.wait(state, GENERATION, generation);
}
