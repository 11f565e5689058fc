/** How fast this machine predicts, from the predictions that it has made. */

export interface FinishedSweep {
  readonly designs: number;
  readonly elapsedMs: number;
}

/** A first guess, designs per ms, until a run has told. */
const FIRST_GUESS = 300;
/** Most of a smaller and shorter run than either is spent on starting the workers and building the tables. */
const TELLING_DESIGNS = 100_000;
const TELLING_MS = 2000;
/** Runs that are looked back on: later ones may be of a busier machine, or of a dearer kernel. */
const LAST_RUNS = 5;

/** The runs that tell the pace, with one more; oldest first. */
export function withSweep(known: readonly FinishedSweep[], finished: FinishedSweep): readonly FinishedSweep[] {
  const { designs, elapsedMs } = finished;
  return elapsedMs > 0 && (designs >= TELLING_DESIGNS || elapsedMs >= TELLING_MS)
    ? [...known, finished].slice(-LAST_RUNS)
    : known;
}

/** Designs per ms: those of the largest of the runs, of equals the last, since starting takes the least part of it. */
export function designsPerMs(known: readonly FinishedSweep[]): number {
  let largest: FinishedSweep | null = null;
  for (const one of known) if (one.designs >= (largest?.designs ?? 0)) largest = one;
  return largest ? largest.designs / largest.elapsedMs : FIRST_GUESS;
}
