/**
 * t(w) of a multiprocessor: cycles of one iteration of every active thread group while w groups are active. The index w
 * runs from 0 to the maximum number of thread groups; t(0) is unused. The table depends only on kernel and device.
 * Source: soft saturation, `models/pipeline/soft-saturation.ts`.
 */
export type CycleTable = Float64Array;

/**
 * The schedulers of a multiprocessor. A thread group stays with one of them and competes for issue slots only with the
 * other groups of its scheduler. Memory traffic competes with that of all groups.
 */
export interface Schedulers {
  /** q, integer ≥ 1. */
  readonly count: number;
  /** Share of issue, as opposed to traffic, in the cycles that a further group costs, 0…1. */
  readonly issueShare: number;
}

/** A multiprocessor whose groups all compete with each other. */
export const ONE_SCHEDULER: Schedulers = { count: 1, issueShare: 0 };

/**
 * The number of groups w for which t(w) is the pace of one scheduler. It is a weighted mean: all groups of the
 * multiprocessor, by the share of traffic, and q times the scheduler's own groups, by the share of issue. If there are
 * at most q groups, a group that is alone on its scheduler waits for no other.
 */
export function countCompeting(own: number, all: number, { count, issueShare }: Schedulers): number {
  if (own <= 1 && all <= count) return all;
  return all + issueShare * (count * own - all);
}

/**
 * The number of schedulers beyond the first, weighted by the share α of issue: α(q − 1). It is smaller if so few groups
 * are active on a multiprocessor that most have a scheduler of their own.
 */
export function countFurther({ count, issueShare }: Schedulers, active = Infinity): number {
  return issueShare * (count - 1) * Math.min(1, active / count);
}

/**
 * The largest number of groups that compete if a multiprocessor holds this many: the number on its fullest scheduler,
 * limited to the table.
 */
export function findMostCompeting(groups: number, schedulers: Schedulers, cyclesPerIteration: CycleTable): number {
  const fullest = countCompeting(Math.ceil(groups / schedulers.count), groups, schedulers);
  return Math.min(Math.ceil(fullest - 1e-9), cyclesPerIteration.length - 1);
}

/**
 * Makes t(w) linear between whole rounds of q schedulers. Only whole rounds occur if schedulers count their groups
 * apart (`countCompeting`), so any other w is a mean.
 */
export function smoothRounds(cyclesPerIteration: CycleTable, q: number): CycleTable {
  if (q === 1) return cyclesPerIteration;
  const last = cyclesPerIteration.length - 1;
  return cyclesPerIteration.map((cycles, w) => {
    const below = w - (w % q);
    if (below === w || below === 0) return cycles;
    const above = cyclesPerIteration[Math.min(last, below + q)];
    return cyclesPerIteration[below] + ((w - below) / q) * (above - cyclesPerIteration[below]);
  });
}

/** t between whole w by linear interpolation. It is t(1) below one group and t(cap) above `cap` groups. */
export function interpolateCycles(cyclesPerIteration: CycleTable, groups: number, cap: number): number {
  if (groups <= 1) return cyclesPerIteration[1];
  if (groups >= cap) return cyclesPerIteration[cap];
  const below = groups | 0;
  const t = cyclesPerIteration[below];
  return t + (groups - below) * (cyclesPerIteration[below + 1] - t);
}

/**
 * E[t(w)] for a number of active groups with this mean and standard deviation, at most `cap`; cycles per iteration. Two
 * points with these moments represent the law: one deviation to either side, or unequal ones at the cap.
 */
export function computeMeanCycles(
  cyclesPerIteration: CycleTable,
  mean: number,
  deviation: number,
  cap: number,
): number {
  if (mean + deviation <= cap) {
    return (
      0.5 *
      (interpolateCycles(cyclesPerIteration, mean - deviation, cap) +
        interpolateCycles(cyclesPerIteration, mean + deviation, cap))
    );
  }
  const room = cap - mean;
  if (!(room > 1e-9)) return cyclesPerIteration[cap];
  const variance = deviation * deviation;
  const below = (room * room) / (room * room + variance);
  return (
    below * interpolateCycles(cyclesPerIteration, mean - variance / room, cap) + (1 - below) * cyclesPerIteration[cap]
  );
}
