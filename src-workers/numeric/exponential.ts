/** Exponentials by table, fast enough for sums over tens of thousands of cells in a millisecond. */

const STEPS = 64;
const LOWEST = -40;

const DECAY = Float64Array.from({ length: -LOWEST * STEPS + 1 }, (_, i) => Math.exp(-i / STEPS));

/** 1 − e^x for −40 < x ≤ 0, with a relative error below 2e-5. */
export function computeAny(x: number): number {
  const steps = -x * STEPS;
  const i = (steps + 0.5) | 0;
  const rest = (i - steps) / STEPS;
  const more = rest * (1 + 0.5 * rest);
  return i === 0 ? -more : 1 - DECAY[i] * (1 + more);
}

/** The z from which on `notAll` is 1. */
export const HIGHEST_LOG = 4;

const NOT_ALL = Float64Array.from(
  { length: (HIGHEST_LOG - LOWEST) * STEPS + 2 },
  (_, i) => -Math.expm1(-Math.exp(LOWEST + i / STEPS)),
);

/** 1 − e^(−e^z): P(not all have ended) for z = ln(−ln P(all have ended)). Relative error below 5e-5; 0 for z < −40. */
export function notAll(z: number): number {
  if (z >= HIGHEST_LOG) return 1;
  const steps = (z - LOWEST) * STEPS;
  if (!(steps > 0)) return 0;
  const i = steps | 0;
  const low = NOT_ALL[i];
  return low + (steps - i) * (NOT_ALL[i + 1] - low);
}
