import type { ActivityProfile } from './block-law.ts';
import { meanRate, rateAt, type SmoothedRate } from './rate.ts';

/** What `drainCycles` found, beside its result: written there, read at once by its caller. */
export const drainParts = {
  /** Expected time of one multiprocessor, cycles. */
  meanCycles: 0,
  /** Variance of its time, cycles², as far as it comes from how much work it has. */
  variance: 0,
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
 * @param cap most groups that can be active, if not those of the slots in use
 */
export function drainCycles(
  profile: ActivityProfile,
  extra: ActivityProfile | undefined,
  extraWeight: number,
  slots: number,
  groupsPerBlock: number,
  multiprocessors: number,
  rate: SmoothedRate,
  cap = slots * groupsPerBlock,
): number {
  const W = groupsPerBlock;
  const { cycles } = rate;
  const { width } = profile;
  const deviceSlots = slots * multiprocessors;
  const top = normalMaximum(multiprocessors);
  const skewing = Math.max(0, top * top - 1) / 6;
  let meanTime = 0;
  let longestTime = 0;
  let inner = 0;
  let spread = 0;
  let topTime = 0;
  let alignedShift = 0;
  let aligned = 0;
  for (let c = 0; c < width.length; c++) {
    const h = width[c];
    let block = profile.block[c];
    let group = profile.group[c];
    let pair = profile.pair[c];
    let logIdle = profile.logIdle[c];
    if (extra) {
      logIdle += extraWeight * extra.logIdle[c];
      block += extraWeight * extra.block[c];
      group += extraWeight * extra.group[c];
      pair += extraWeight * extra.pair[c];
      // The grid of starts is only so fine: a slot never holds more than one block.
      if (block > 1) block = 1;
      if (group > block) group = block;
      if (pair > group) pair = group;
    }
    if (block < 1e-13) continue;
    const active = W * group;
    const square = active + W * (W - 1) * pair;
    const slotVariance = Math.max(0, square - active * active);

    const idle = power(1 - block, slots);
    const alive = 1 - idle;
    const mean = (slots * active) / alive;
    const variance = (slots * (slotVariance + slots * active * active)) / alive - mean * mean;
    meanTime += h * alive * meanRate(cycles, mean, variance, cap);

    const own = active / block;
    const meanSlow = own + (slots - 1) * active;
    const varianceSlow = Math.max(0, square / block - own * own) + (slots - 1) * slotVariance;
    // At least half a group to either side, so that the difference is a slope.
    const step = Math.max(0.5, Math.sqrt(varianceSlow));
    const above = rateAt(cycles, meanSlow + step, cap);
    const t = meanRate(cycles, meanSlow, varianceSlow, cap);
    const aliveAnywhere = 1 - Math.exp(deviceSlots * logIdle);
    longestTime += h * t * aliveAnywhere;
    if (group < 1) {
      // Var ∫t dv = 2∬ t'(u) t'(v) Cov(w(u), w(v)), and for u < v the covariance is Var w(v)·P(ended by u)/P(ended by v).
      const slope = (above - t) / step;
      const before = slope * (1 - group) * h;
      spread += ((slope * slots * slotVariance) / (1 - group)) * h * (2 * inner + before);
      inner += before;
      const deviation = Math.sqrt(slots * slotVariance);
      const clump = slotVariance / Math.max(1e-12, active * (1 - group));
      const shift = Math.min(cap - slots * active, top * deviation + Math.max(0, skewing * (1 - 2 * group) * clump));
      const topGroups = slots * active + shift;
      topTime += h * aliveAnywhere * Math.max(t, rateAt(cycles, topGroups, cap));
      aligned += h * slope * deviation;
      alignedShift += h * slope * shift;
    } else topTime += h * t;
  }
  drainParts.meanCycles = meanTime;
  drainParts.variance = spread;
  if (multiprocessors <= 1) return meanTime;
  const longest = Math.max(0, longestTime - meanTime);
  const skewed = aligned > 0 ? top + SKEWNESS_LEFT * (alignedShift / aligned - top) : top;
  const most = skewed * Math.sqrt(spread);
  const apart = Math.sqrt(longest * longest + most * most);
  // No multiprocessor is later than one that had the most active groups at every time. Where the ranking never changes
  // (a few giants) one is exactly that late.
  const bound = topTime - meanTime;
  if (apart >= bound) return topTime;
  const alignment = aligned > 0 ? Math.min(1, Math.sqrt(spread) / aligned) : 0;
  return meanTime + apart + (bound - apart) * Math.pow(alignment, ALIGNMENT_POWER);
}

/** How much of the skewness of the number of active groups is left in the total over time. */
const SKEWNESS_LEFT = 0.3;
/** How sharply the bound fades as the ranking of the multiprocessors changes over time. */
const ALIGNMENT_POWER = 8;

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
