/**
 * The rate of a multiprocessor: t(w), cycles of one iteration of every active thread group while w are active; index
 * w = 0 … the most thread groups it holds, t(0) unused. It depends on kernel and device alone.
 * Source: soft saturation, `models/pipeline/soft-saturation.ts`.
 */
export type RateTable = Float64Array;

/** t between the integers, by linear interpolation; held at t(1) below one group and at t(cap) above `cap` groups. */
export function rateAt(rate: RateTable, groups: number, cap: number): number {
  if (groups <= 1) return rate[1];
  if (groups >= cap) return rate[cap];
  const below = groups | 0;
  const t = rate[below];
  return t + (groups - below) * (rate[below + 1] - t);
}

/**
 * E[t(w)] for a number of active groups of given mean and standard deviation, at most `cap`; cycles per iteration.
 * Two points with these moments stand for the law: one deviation to either side, or unequal ones at the cap.
 */
export function meanRate(rate: RateTable, mean: number, deviation: number, cap: number): number {
  if (mean + deviation <= cap) {
    return 0.5 * (rateAt(rate, mean - deviation, cap) + rateAt(rate, mean + deviation, cap));
  }
  const room = cap - mean;
  if (!(room > 1e-9)) return rate[cap];
  const variance = deviation * deviation;
  const below = (room * room) / (room * room + variance);
  return below * rateAt(rate, mean - variance / room, cap) + (1 - below) * rate[cap];
}
