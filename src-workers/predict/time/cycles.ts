/**
 * t(w) of a multiprocessor: the cycles that one iteration of every active work group takes while w groups are active,
 * for w from 0 (unused) to the maximum (`models/pipeline/soft-saturation.ts`).
 */
export type CycleTable = Float64Array;

/** A thread group competes for issue only on its scheduler, and for memory with all groups. */
export interface Schedulers {
  /** q, integer ≥ 1. */
  readonly count: number;
  /** α: the share of issue, as opposed to memory traffic, in the cycles that a further group costs, 0…1. */
  readonly issueShare: number;
}

export const ONE_SCHEDULER: Schedulers = { count: 1, issueShare: 0 };

/**
 * Returns the w for which t(w) is the pace of one scheduler: α·q·own + (1 − α)·all, where α is the share of issue. With
 * at most q groups, each has a scheduler to itself and waits for no other group.
 */
export function countCompeting(own: number, all: number, { count, issueShare }: Schedulers): number {
  if (own <= 1 && all <= count) return all;
  return all + issueShare * (count * own - all);
}

/** Returns α(q − 1), the weight of the further schedulers; less if fewer than q groups are active. */
export function countFurther({ count, issueShare }: Schedulers, active = Infinity): number {
  return issueShare * (count - 1) * Math.min(1, active / count);
}

/** The largest number of groups that compete if a multiprocessor holds `groups` groups, limited to the table. */
export function findMostCompeting(groups: number, schedulers: Schedulers, cyclesPerIteration: CycleTable): number {
  const fullest = countCompeting(Math.ceil(groups / schedulers.count), groups, schedulers);
  return Math.min(Math.ceil(fullest - 1e-9), cyclesPerIteration.length - 1);
}

/** Tabulates t(w). Above q, it is linear between multiples of q, at which all schedulers have equally many groups. */
export function tabulateRounds(most: number, q: number, cyclesOf: (groups: number) => number): CycleTable {
  const table = new Float64Array(most + 1);
  for (let w = 0; w <= most; w++) if (w < q || w % q === 0 || w === most) table[w] = cyclesOf(w);
  for (let below = q; below < most; below += q) {
    const cycles = table[below];
    const more = table[Math.min(most, below + q)] - cycles;
    for (let w = below + 1; w < below + q && w <= most; w++) table[w] = cycles + ((w - below) / q) * more;
  }
  return table;
}

export function smoothRounds(cyclesPerIteration: CycleTable, q: number): CycleTable {
  return tabulateRounds(cyclesPerIteration.length - 1, q, (w) => cyclesPerIteration[w]);
}

/** Interpolates t(w), the cycles of an iteration with w active groups; t(1) below one group and t(cap) above `cap`. */
export function interpolateCycles(cyclesPerIteration: CycleTable, groups: number, cap: number): number {
  if (groups <= 1) return cyclesPerIteration[1];
  if (groups >= cap) return cyclesPerIteration[cap];
  const below = groups | 0;
  const t = cyclesPerIteration[below];
  return t + (groups - below) * (cyclesPerIteration[below + 1] - t);
}

/**
 * Computes E[t(w)], in cycles per iteration, from the mean and standard deviation of the number w of active groups,
 * which is at most `cap`. Two points with these moments stand in for the law of w.
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
