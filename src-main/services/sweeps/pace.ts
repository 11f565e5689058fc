export interface FinishedSweep {
  readonly designs: number;
  /**
   * The number of units if they are predicted one by one, so that the time grows with their number; otherwise `null`.
   */
  readonly orderedUnits: number | null;
  readonly elapsedMs: number;
}

/**
 * The paces that are assumed until a run has been timed: in designs per ms, and in designs times units per ms if the
 * units are taken in their order.
 */
const FIRST_GUESS = 300;
const FIRST_ORDERED_GUESS = 300_000;
/** A run below both limits mostly starts workers and builds tables, so it does not count. */
const TIMED_DESIGNS = 100_000;
const TIMED_MS = 2000;
/** Older runs are dropped, because load and kernel change. */
const LAST_RUNS = 5;

const isOrdered = ({ orderedUnits }: Pick<FinishedSweep, 'orderedUnits'>): boolean => orderedUnits !== null;

export function withSweep(known: readonly FinishedSweep[], finished: FinishedSweep): readonly FinishedSweep[] {
  const { designs, elapsedMs } = finished;
  if (elapsedMs <= 0 || (designs < TIMED_DESIGNS && elapsedMs < TIMED_MS)) return known;
  const others = known.filter((one) => isOrdered(one) !== isOrdered(finished));
  const alike = known.filter((one) => isOrdered(one) === isOrdered(finished));
  return [...others, ...[...alike, finished].slice(-LAST_RUNS)];
}

/**
 * Returns the designs per ms of a sweep, by the largest run of its kind, where the start of the run matters least. Of
 * equal runs, the last counts. A design whose units are taken in their order can take hundreds of times as long as one
 * with a law.
 */
export function designsPerMs(known: readonly FinishedSweep[], orderedUnits: number | null): number {
  const work = (run: FinishedSweep): number => run.designs * (run.orderedUnits ?? 1);
  let largest: FinishedSweep | null = null;
  for (const one of known)
    if (isOrdered(one) === isOrdered({ orderedUnits }) && (!largest || work(one) >= work(largest))) largest = one;
  const guess = orderedUnits === null ? FIRST_GUESS : FIRST_ORDERED_GUESS;
  return (largest ? work(largest) / largest.elapsedMs : guess) / (orderedUnits ?? 1);
}
