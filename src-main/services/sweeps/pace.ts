/** Estimates how fast this machine predicts, from its earlier predictions. */

export interface FinishedSweep {
  readonly designs: number;
  readonly elapsedMs: number;
}

/** A first guess, in designs per ms, until a run has been timed. */
const FIRST_GUESS = 300;
/** A run below both limits spends most of its time on starting the workers and building the tables. */
const TIMED_DESIGNS = 100_000;
const TIMED_MS = 2000;
/** The number of saved recent runs, because load and kernel differ from run to run. */
const LAST_RUNS = 5;

/** Adds a run to those that determine the pace. Returns the runs to keep, oldest first. */
export function withSweep(known: readonly FinishedSweep[], finished: FinishedSweep): readonly FinishedSweep[] {
  const { designs, elapsedMs } = finished;
  return elapsedMs > 0 && (designs >= TIMED_DESIGNS || elapsedMs >= TIMED_MS)
    ? [...known, finished].slice(-LAST_RUNS)
    : known;
}

/** Returns the designs per ms of the last of the largest runs, whose start takes the smallest share of the time. */
export function designsPerMs(known: readonly FinishedSweep[]): number {
  let largest: FinishedSweep | null = null;
  for (const one of known) if (one.designs >= (largest?.designs ?? 0)) largest = one;
  return largest ? largest.designs / largest.elapsedMs : FIRST_GUESS;
}
