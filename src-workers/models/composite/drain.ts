import type { ActivityProfile } from './block-law.ts';
import { meanRate, type SmoothedRate } from './rate.ts';

/**
 * The time that multiprocessors need to finish what they hold, in a form that any number of them can be asked for.
 * Layout of one record in a `Float64Array`, from its offset: mean time of one multiprocessor, standard deviation of its
 * total, then for 1, 2, 4, … multiprocessors the time of the one whose last block ends last.
 */
export const DRAIN_RECORD = 11;
const DOUBLINGS = DRAIN_RECORD - 2;

/**
 * Computes a drain record.
 *
 * Mean: ∫ E[t(w(v))] dv over the virtual time v in which the multiprocessor has anything active. Slowest: the same for the
 * multiprocessor that holds the longest block of all, which is active as long as any block of the device is.
 * @param out record, cycles, from `offset`
 * @param profile activity of a slot
 * @param extra further activity on the same cells, weighted by `extraWeight`; or `undefined`
 * @param slots block slots in use per multiprocessor
 * @param groupsPerBlock W_b
 */
export function drainInto(
  out: Float64Array,
  offset: number,
  profile: ActivityProfile,
  extra: ActivityProfile | undefined,
  extraWeight: number,
  slots: number,
  groupsPerBlock: number,
  rate: SmoothedRate,
): void {
  const W = groupsPerBlock;
  const cap = slots * W;
  const capAbove = Math.min(cap + 1, rate.groups);
  out.fill(0, offset, offset + DRAIN_RECORD);
  let meanTime = 0;
  let inner = 0;
  let spread = 0;
  const { width } = profile;
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

    let idle = power(1 - block, slots);
    const alive = 1 - idle;
    const mean = (slots * active) / alive;
    const variance = (slots * slotVariance + slots * slots * active * active) / alive - mean * mean;
    meanTime += h * alive * meanRate(rate, mean, variance, cap);

    const own = active / block;
    const meanSlow = own + (slots - 1) * active;
    const varianceSlow = Math.max(0, square / block - own * own) + (slots - 1) * slotVariance;
    const t = meanRate(rate, meanSlow, varianceSlow, cap);
    for (let j = 0; j < DOUBLINGS; j++) {
      out[offset + 2 + j] += h * t * (1 - idle);
      idle *= idle;
    }
    if (group < 1) {
      // Var ∫t dv = 2∬ t'(u) t'(v) Cov(w(u), w(v)), and for u < v the covariance is Var w(v)·P(ended by u)/P(ended by v).
      const slope = meanRate(rate, meanSlow + 1, varianceSlow, capAbove) - t;
      const before = slope * (1 - group) * h;
      spread += ((slope * slots * slotVariance) / (1 - group)) * h * (2 * inner + before);
      inner += before;
    }
  }
  out[offset] = meanTime;
  out[offset + 1] = Math.sqrt(spread);
}

/** Expected time of the slowest of `multiprocessors` that drain alike, cycles. */
export function slowestDrain(record: Float64Array, offset: number, multiprocessors: number): number {
  const mean = record[offset];
  if (multiprocessors <= 1) return mean;
  const level = Math.log2(multiprocessors);
  const below = Math.min(DOUBLINGS - 2, Math.floor(level));
  const low = record[offset + 2 + below];
  const longest = low + (level - below) * (record[offset + 3 + below] - low);
  const tail = Math.max(0, longest - mean);
  const sum = normalMaximum(multiprocessors) * record[offset + 1];
  // Two independent reasons to be late: exact where both are normal.
  return mean + Math.sqrt(tail * tail + sum * sum);
}

function power(base: number, exponent: number): number {
  let result = 1;
  for (let square = base; exponent > 0; exponent >>= 1, square *= square) if (exponent & 1) result *= square;
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
