/**
 * t(w) of a multiprocessor: cycles of one iteration of every active thread group while w groups are active. The index w
 * runs from 0 to the maximum number of thread groups; t(0) is unused. The table depends only on kernel and device.
 * Source: soft saturation, `models/pipeline/soft-saturation.ts`.
 */
export type CycleTable = Float64Array;

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
