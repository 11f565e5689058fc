export interface FinishedSweep {
  readonly designs: number;
  readonly elapsedMs: number;
}

/** The pace that is assumed until a run has been timed, in designs per ms. */
const FIRST_GUESS = 300;
/** A run below both limits mostly starts workers and builds tables, so it does not count. */
const TIMED_DESIGNS = 100_000;
const TIMED_MS = 2000;
/** Older runs are dropped, because load and kernel change. */
const LAST_RUNS = 5;

export function withSweep(known: readonly FinishedSweep[], finished: FinishedSweep): readonly FinishedSweep[] {
  const { designs, elapsedMs } = finished;
  return elapsedMs > 0 && (designs >= TIMED_DESIGNS || elapsedMs >= TIMED_MS)
    ? [...known, finished].slice(-LAST_RUNS)
    : known;
}

/** Returns the designs per ms of the largest run, because its start matters least. Of equal runs, the last counts. */
export function designsPerMs(known: readonly FinishedSweep[]): number {
  let largest: FinishedSweep | null = null;
  for (const one of known) if (one.designs >= (largest?.designs ?? 0)) largest = one;
  return largest ? largest.designs / largest.elapsedMs : FIRST_GUESS;
}
