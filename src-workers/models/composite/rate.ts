/**
 * The rate of a multiprocessor, ready to be averaged over a fluctuating number of active thread groups.
 * Depends on kernel and device alone, so a sweep makes one for all its designs.
 */
export interface SmoothedRate {
  /** t(w): cycles of one iteration of every active group, index w = 0 … groups. */
  readonly cycles: Float64Array;
  readonly groups: number;
}

export function smoothRate(cyclesPerIteration: Float64Array): SmoothedRate {
  return { cycles: cyclesPerIteration, groups: cyclesPerIteration.length - 1 };
}

/** t between the integers, by linear interpolation; held at t(1) below one group and at t(cap) above `cap` groups. */
function rateAt(cycles: Float64Array, groups: number, cap: number): number {
  if (groups <= 1) return cycles[1];
  if (groups >= cap) return cycles[cap];
  const below = Math.floor(groups);
  return cycles[below] + (groups - below) * (cycles[below + 1] - cycles[below]);
}

// Three-point Gauss–Hermite rule for a standard normal: nodes 0 and ±√3, weights 2/3 and 1/6.
const NODE = Math.sqrt(3);

/**
 * E[t(w)] for a number of active groups with the given mean and variance, at least 1 and at most `cap`.
 * @returns cycles per iteration
 */
export function meanRate(rate: SmoothedRate, mean: number, variance: number, cap: number): number {
  const { cycles } = rate;
  if (!(variance > 1e-9)) return rateAt(cycles, mean, cap);
  const step = NODE * Math.sqrt(variance);
  return (
    (2 / 3) * rateAt(cycles, mean, cap) +
    (1 / 6) * (rateAt(cycles, mean - step, cap) + rateAt(cycles, mean + step, cap))
  );
}
