export const BARRIER_WORDS = 2;
const ARRIVED = 0;
const GENERATION = 1;

/**
 * Waits until all threads have arrived. Afterwards each thread sees everything that the others wrote before.
 * @param spins reads before a thread sleeps: 0 if waiting must not take time from working threads
 * @param onLast runs in the thread that arrives last, before all are released
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
