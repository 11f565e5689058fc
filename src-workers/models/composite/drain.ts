import { anyOf } from '../../numeric/exponential.ts';
import { normalQuantile } from '../workload/normal.ts';
import {
  ACTIVE,
  BLOCK,
  CELL_FIELDS,
  DEVIATION,
  GROUP,
  LOG_IDLE,
  OWN,
  OWN_VARIANCE,
  VARIANCE,
  WIDTH,
  type ActivityProfile,
} from './profile.ts';
import { thinned } from './population.ts';
import { meanRate, rateAt, type SmoothedRate } from './rate.ts';

/** What `drainCycles` found, beside its result: written there, read at once by its caller. */
export const drainParts = {
  /** Expected time of one multiprocessor, cycles. */
  meanCycles: 0,
  /** Variance of its time, cycles², as far as it comes from how much work it has. */
  variance: 0,
  /** Expected time of the multiprocessor that holds the longest block of all, cycles. */
  longestCycles: 0,
};

/**
 * Expected time, cycles, in which the slowest of some multiprocessors finishes the blocks it holds, when ended blocks are
 * not replaced.
 *
 * On average one takes ∫ E[t(w(v))] dv over the virtual time v in which it has anything active. The slowest is late for two
 * independent reasons: it holds the longest block of all (the same integral over the time in which any block of the
 * device is active, for the multiprocessor that holds that block), or more work in total (the variance of the integral).
 * @param profile activity of a slot
 * @param slots block slots in use per multiprocessor
 * @param cap most groups that can be active on a multiprocessor
 */
export function drainCycles(
  profile: ActivityProfile,
  slots: number,
  multiprocessors: number,
  rate: SmoothedRate,
  cap: number,
): number {
  const { cycles } = rate;
  const meanTime = meanDrain(profile, slots, multiprocessors, cycles, cap);
  drainParts.meanCycles = meanTime;
  const top = normalMaximum(multiprocessors);
  slowestInto(slowest, profile, slots, multiprocessors, top, cycles, cap);
  const variance = slowest[VARIANCE_OF_TIME];
  drainParts.variance = variance;
  drainParts.longestCycles = slowest[LONGEST_TIME];
  if (multiprocessors <= 1) return meanTime;
  const topTime = slowest[TOP_TIME];
  const aligned = slowest[ALIGNED];
  const longest = Math.max(0, slowest[LONGEST_TIME] - meanTime);
  const skewed =
    aligned > 0 ? Math.min(MOST_SKEWED * top, top + SKEWNESS_LEFT * (slowest[ALIGNED_SHIFT] / aligned - top)) : top;
  const most = skewed * Math.sqrt(variance);
  const apart = Math.sqrt(longest * longest + most * most);
  // No multiprocessor is later than one that had the most active groups at every time. Where the ranking never changes
  // (a few giants) one is exactly that late.
  const bound = topTime - meanTime;
  if (apart >= bound) return topTime;
  const alignment = aligned > 0 ? Math.min(1, Math.sqrt(variance) / aligned) : 0;
  const squared = alignment * alignment;
  const fourth = squared * squared;
  // Sharply: the bound fades as the ranking of the multiprocessors changes over time.
  return meanTime + apart + (bound - apart) * fourth * fourth;
}

/** Expected time of one multiprocessor, cycles. The loops are two: one of both is too long to be compiled without calls. */
function meanDrain(
  { cells, data }: ActivityProfile,
  slots: number,
  multiprocessors: number,
  cycles: Float64Array,
  cap: number,
): number {
  const end = cells * CELL_FIELDS;
  const deviceSlots = slots * multiprocessors;
  const rootSlots = Math.sqrt(slots);
  let meanTime = 0;
  for (let c = 0; c < end; c += CELL_FIELDS) {
    const b = data[c + BLOCK];
    if (b < 1e-13) continue;
    const h = data[c + WIDTH];
    const logIdle = data[c + LOG_IDLE];
    if (deviceSlots * logIdle > -NOWHERE) {
      meanTime += h * slots * b * rateAt(cycles, data[c + OWN], cap);
      continue;
    }
    // Mean and deviation of the active groups of all slots, and where it is not certain that there are any, given that.
    let mean = slots * data[c + ACTIVE];
    let deviation = rootSlots * data[c + DEVIATION];
    let alive = 1;
    const logIdleHere = slots * logIdle;
    if (logIdleHere >= -SURE) {
      alive = slots === 1 ? b : anyOf(logIdleHere);
      const square = (deviation * deviation + mean * mean) / alive;
      mean /= alive;
      deviation = Math.sqrt(Math.max(0, square - mean * mean));
    }
    meanTime += h * alive * meanRate(cycles, mean, deviation, cap);
  }
  return meanTime;
}

/** ln P(no block is active) in the cell at `c`, of a population of which these slots hold all or a part. */
function logNowhereIn({ data, nowhere, slots }: ActivityProfile, c: number, deviceSlots: number): number {
  const log = nowhere![c / CELL_FIELDS];
  return deviceSlots > WHOLE * slots ? log : thinned(log, slots * data[c + BLOCK], deviceSlots / slots);
}

/** Of the slowest multiprocessor, in this order: */
const slowest = new Float64Array(5);
/** Time in which any block of the device is active, and time with the most active groups at every time, cycles. */
const LONGEST_TIME = 0;
const TOP_TIME = 1;
/** Variance of the time of one multiprocessor, cycles², and its deviation if all times were aligned, cycles. */
const VARIANCE_OF_TIME = 2;
const ALIGNED = 3;
/** The same with the shift of the most active groups in the place of one deviation. */
const ALIGNED_SHIFT = 4;

function slowestInto(
  out: Float64Array,
  profile: ActivityProfile,
  slots: number,
  multiprocessors: number,
  top: number,
  cycles: Float64Array,
  cap: number,
): void {
  const { cells, data, spread, nowhere } = profile;
  const end = cells * CELL_FIELDS;
  const deviceSlots = slots * multiprocessors;
  const rootSlots = Math.sqrt(slots);
  const skewing = Math.max(0, top * top - 1) / 6;
  let longestTime = 0;
  let inner = 0;
  let variance = 0;
  let topTime = 0;
  let alignedShift = 0;
  let aligned = 0;
  for (let c = 0; c < end; c += CELL_FIELDS) {
    if (data[c + BLOCK] < 1e-13) continue;
    const h = data[c + WIDTH];
    const logNowhere = nowhere === null ? deviceSlots * data[c + LOG_IDLE] : logNowhereIn(profile, c, deviceSlots);
    const own = data[c + OWN];
    if (logNowhere > -NOWHERE) {
      // At most one block is active anywhere, and hardly ever: that one alone.
      const t = rateAt(cycles, own, cap);
      longestTime -= h * logNowhere * t;
      topTime -= h * logNowhere * t;
      continue;
    }
    const active = data[c + ACTIVE];
    const slotVariance = data[c + VARIANCE];
    const all = slots * active;
    // The slot with the longest block is active for certain.
    const meanSlow = own + (all - active);
    const varianceSlow = data[c + OWN_VARIANCE] + (slots - 1) * slotVariance;
    const deviationSlow = Math.sqrt(varianceSlow);
    const t = meanRate(cycles, meanSlow, deviationSlow, cap);
    let aliveAnywhere = h;
    if (logNowhere >= -MANY) {
      // That any block is active, to second order in how their expected number changes within the cell.
      const any = anyOf(logNowhere);
      aliveAnywhere *=
        nowhere === null ? any - 0.5 * spread[c / CELL_FIELDS] * logNowhere * logNowhere * (1 - any) : any;
    }
    longestTime += t * aliveAnywhere;
    const group = data[c + GROUP];
    const ended = 1 - group;
    if (ended > 0) {
      // The most groups active on any multiprocessor, by the first terms of Cornish and Fisher's expansion; the skewness
      // is that of a count of clumps.
      const clump = active > 0 ? slotVariance / (ended * active) : 0;
      const skewed = skewing * (ended - group) * clump;
      const deviation = rootSlots * data[c + DEVIATION];
      const shift = Math.min(cap - all, top * deviation + Math.max(0, skewed));
      // The slope up to there, where the slowest is: a rate may be flat around the mean. At least half a group or a deviation
      // wide, so that the difference is a slope.
      const step = Math.max(0.5, deviationSlow, all + shift - meanSlow);
      const above = rateAt(cycles, meanSlow + step, cap);
      // Var ∫t dv = 2∬ t'(u) t'(v) Cov(w(u), w(v)), and for u < v the covariance is Var w(v)·P(ended by u)/P(ended by v).
      // Never negative but for rounding at the cap.
      const slope = (Math.max(0, above - t) / step) * h;
      const before = slope * ended;
      variance += ((slope * varianceSlow) / ended) * (2 * inner + before);
      inner += before;
      topTime += aliveAnywhere * Math.max(t, rateAt(cycles, all + shift, cap));
      aligned += slope * deviationSlow;
      alignedShift += slope * shift * (deviation > 0 ? deviationSlow / deviation : 1);
    } else topTime += h * t;
  }
  out[LONGEST_TIME] = longestTime;
  out[TOP_TIME] = topTime;
  out[VARIANCE_OF_TIME] = variance;
  out[ALIGNED] = aligned;
  out[ALIGNED_SHIFT] = alignedShift;
}

/**
 * Expected time, cycles, from the dispatch of a block to its end, beside what is left of the other slots of its multiprocessor.
 * @param fresh profile of a block that has just started, on the same cells
 * @param profile, slots, rate, cap as of `drainCycles`
 */
export function lastBlockCycles(
  fresh: ActivityProfile,
  profile: ActivityProfile,
  slots: number,
  { cycles }: SmoothedRate,
  cap: number,
): number {
  const { data } = profile;
  const own = fresh.data;
  let time = 0;
  for (let c = 0; c < profile.cells * CELL_FIELDS; c += CELL_FIELDS) {
    time += data[c + WIDTH] * own[c + BLOCK] * rateAt(cycles, own[c + OWN] + (slots - 1) * data[c + ACTIVE], cap);
  }
  return time;
}

/** e to minus this is nothing. */
const MANY = 25;
/** Logarithm of the odds from which on something is active. */
const SURE = 20.7;
/** Probability that any block of the device is active below which no two are. */
const NOWHERE = 1e-2;
/** Part of the slots that is all of them. */
const WHOLE = 1 - 1e-9;
/** How much of the skewness of the number of active groups is left in the total over time. */
const SKEWNESS_LEFT = 0.3;
/** Largest factor by which skewness raises the expected maximum. */
const MOST_SKEWED = 1.25;

const maxima: number[] = [0, 0];

/** E[max of n standard normals], within 1 % for every n ≥ 1 (Blom 1958: the quantile at (n − 3/8)/(n + 1/4)). */
export function normalMaximum(n: number): number {
  const known = maxima[n];
  if (known !== undefined) return known;
  const value = normalQuantile((n - 0.375) / (n + 0.25));
  maxima[n] = value;
  return value;
}
