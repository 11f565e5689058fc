import type { ActivityProfile } from './block-law.ts';
import { rateAt, type SmoothedRate } from './rate.ts';

/** What `drainCycles` found, beside its result: written there, read at once by its caller. */
export const drainParts = {
  /** Expected time of one multiprocessor, cycles. */
  meanCycles: 0,
};

/**
 * Expected time, cycles, in which the slowest of some multiprocessors finishes the blocks it holds, when ended blocks are
 * not replaced.
 *
 * On average one takes ∫ E[t(w(v))] dv over the virtual time v in which it has anything active. The slowest is late for two
 * independent reasons: it holds the longest block of all (the same integral over the time in which any block of the
 * device is active, for the multiprocessor that holds that block), or more work in total (the variance of the integral).
 * @param profile activity of a slot
 * @param extra further activity on the same cells, weighted by `extraWeight`; or `undefined`
 * @param slots block slots in use per multiprocessor
 * @param groupsPerBlock W_b
 */
export function drainCycles(
  profile: ActivityProfile,
  extra: ActivityProfile | undefined,
  extraWeight: number,
  slots: number,
  groupsPerBlock: number,
  multiprocessors: number,
  rate: SmoothedRate,
): number {
  const W = groupsPerBlock;
  const cap = slots * W;
  const { cycles } = rate;
  const { width } = profile;
  let meanTime = 0;
  let longestTime = 0;
  let inner = 0;
  let spread = 0;
  for (let c = 0; c < width.length; c++) {
    const h = width[c];
    let block = profile.block[c];
    let group = profile.group[c];
    let pair = profile.pair[c];
    if (extra) {
      block += extraWeight * extra.block[c];
      group += extraWeight * extra.group[c];
      pair += extraWeight * extra.pair[c];
    }
    if (block < 1e-13) continue;
    // The grid of starts is only so fine: a slot never holds more than one block.
    if (block > 1) block = 1;
    if (group > block) group = block;
    if (pair > group) pair = group;
    const active = W * group;
    const square = active + W * (W - 1) * pair;
    const slotVariance = Math.max(0, square - active * active);

    // Two-point Gauss–Hermite averages: at one standard deviation on either side.
    const idle = power(1 - block, slots);
    const alive = 1 - idle;
    const mean = (slots * active) / alive;
    const deviation = Math.sqrt(Math.max(0, (slots * (slotVariance + slots * active * active)) / alive - mean * mean));
    meanTime += h * alive * 0.5 * (rateAt(cycles, mean - deviation, cap) + rateAt(cycles, mean + deviation, cap));

    const own = active / block;
    const meanSlow = own + (slots - 1) * active;
    const varianceSlow = Math.max(0, square / block - own * own) + (slots - 1) * slotVariance;
    // At least half a group to either side, so that the difference is a slope.
    const step = Math.max(0.5, Math.sqrt(varianceSlow));
    const above = rateAt(cycles, meanSlow + step, cap);
    const t =
      varianceSlow > 0.25 ? 0.5 * (above + rateAt(cycles, meanSlow - step, cap)) : rateAt(cycles, meanSlow, cap);
    longestTime += h * t * (1 - power(idle, multiprocessors));
    if (group < 1) {
      // Var ∫t dv = 2∬ t'(u) t'(v) Cov(w(u), w(v)), and for u < v the covariance is Var w(v)·P(ended by u)/P(ended by v).
      const slope = (above - t) / step;
      const before = slope * (1 - group) * h;
      spread += ((slope * slots * slotVariance) / (1 - group)) * h * (2 * inner + before);
      inner += before;
    }
  }
  drainParts.meanCycles = meanTime;
  if (multiprocessors <= 1) return meanTime;
  const longest = Math.max(0, longestTime - meanTime);
  const most = normalMaximum(multiprocessors) * Math.sqrt(spread);
  // Exact where both reasons are normal.
  return meanTime + Math.sqrt(longest * longest + most * most);
}

/** base to a whole power ≥ 0. */
function power(base: number, exponent: number): number {
  let result = 1;
  for (let square = base, rest = exponent; rest > 0; rest >>= 1, square *= square) if (rest & 1) result *= square;
  return result;
}

const maxima: number[] = [0, 0];

/** E[max of n standard normals], within 1 % for every n ≥ 1 (Blom 1958: the quantile at (n − 3/8)/(n + 1/4)). */
function normalMaximum(n: number): number {
  const known = maxima[n];
  if (known !== undefined) return known;
  // Normal quantile: Abramowitz and Stegun 26.2.23.
  const t = Math.sqrt(-2 * Math.log(1 - (n - 0.375) / (n + 0.25)));
  const value = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  maxima[n] = value;
  return value;
}
