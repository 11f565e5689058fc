import { computeAny } from '../../numeric/exponential.ts';
import { normalQuantile } from '../../models/workload/normal.ts';
import {
  ACTIVE,
  APART,
  BLOCK,
  CELL_FIELDS,
  DEVIATION,
  GROUP,
  LOG_CERTAIN,
  LOG_IDLE,
  OWN,
  OWN_VARIANCE,
  VARIANCE,
  WIDTH,
  type ActivityProfile,
} from './activity.ts';
import {
  computeMeanCycles,
  countFurther,
  findMostCompeting,
  interpolateCycles,
  type CycleTable,
  type Schedulers,
} from './cycles.ts';

/**
 * No multiprocessor takes longer than one that always has the most active groups. This exponent sets how sharply that
 * bound loses influence if the ranking of multiprocessors changes over time. Fitted on 500 random designs.
 */
const ALIGNMENT_POWER = 8;
/** If −ln P(no block of the device is active) is above this, some block counts as certainly active. */
const IMPOSSIBLE_LOG = 25;
/** An event is taken as certain if the logarithm of its odds is at least this (a probability of 1 − 1e-9). */
const ALL_BUT_CERTAIN = 20.7;
/** If the probability that any block of the device is active is below this, at most one is assumed active. */
const AT_MOST_ONE_ACTIVE = 1e-2;

/** Blocks of a launch. How long each one is active is certain, but its start is random. */
export interface ExactLives {
  /** Activity of a block from its start, with the cells of `profile`. */
  readonly fresh: ActivityProfile;
  readonly gridBlocks: number;
}

/**
 * Computes the expected cycles in which the slowest of several multiprocessors ends its blocks, if no new one starts
 * (README.md, The drain). With several schedulers, the slowest scheduler counts instead.
 * @param slots block slots in use per multiprocessor
 * @param lives how long the blocks of the launch are active, if their lives are certain; `null` if lives are random
 */
export function computeDrainCycles(
  profile: ActivityProfile,
  slots: number,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
  lives: ExactLives | null = null,
): number {
  const cap = findMostCompeting(slots * profile.groupsPerBlock, schedulers, cyclesPerIteration);
  const further = countFurther(schedulers);
  const meanTime = computeMeanDrain(profile, slots, multiprocessors, cyclesPerIteration, schedulers, cap);
  const competitors = multiprocessors * Math.min(1 + further, slots * profile.groupsPerBlock);
  if (competitors <= 1) return meanTime;
  const top = estimateNormalMaximum(Math.round(competitors));
  writeSlowestInto(slowest, profile, slots, multiprocessors, top, cyclesPerIteration, schedulers, cap, lives);
  const variance = slowest[VARIANCE_OF_TIME];
  const longest = Math.max(0, slowest[LONGEST_TIME] - meanTime);
  const apart = Math.sqrt(longest * longest + top * top * variance);
  // If the ranking of the multiprocessors never changes, one has the most active groups at every time.
  const bound = slowest[TOP_TIME] - meanTime;
  if (apart >= bound) return meanTime + bound;
  const aligned = slowest[ALIGNED];
  const alignment = aligned > 0 ? Math.min(1, Math.sqrt(variance) / aligned) : 0;
  return meanTime + apart + (bound - apart) * Math.pow(alignment, ALIGNMENT_POWER);
}

/**
 * Computes the expected time in cycles from the last dispatch to the end of the block that starts then, while the other
 * block slots of its multiprocessor empty. The first profile is of this block, the second of the other block slots.
 */
export function computeLastBlockCycles(
  { data: own }: ActivityProfile,
  { groupsPerBlock, cells, data }: ActivityProfile,
  slots: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
): number {
  const cap = findMostCompeting(slots * groupsPerBlock, schedulers, cyclesPerIteration);
  let time = 0;
  for (let c = 0, end = cells * CELL_FIELDS; c < end; c += CELL_FIELDS) {
    const others = (slots - 1) * data[c + ACTIVE];
    const groups = own[c + OWN] + countFurther(schedulers, own[c + ACTIVE] + others) * own[c + APART] + others;
    time += data[c + WIDTH] * own[c + BLOCK] * interpolateCycles(cyclesPerIteration, groups, cap);
  }
  return time;
}

/** A function of its own, because the compiler does not inline functions into a longer loop. */
function computeMeanDrain(
  { cells, data }: ActivityProfile,
  slots: number,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
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
    if (deviceSlots * logIdle > -AT_MOST_ONE_ACTIVE) {
      meanTime += h * slots * b * interpolateCycles(cyclesPerIteration, data[c + OWN], cap);
      continue;
    }
    // If it is possible that no group is active, mean and deviation are conditional on at least one active group.
    let mean = slots * data[c + ACTIVE];
    const further = countFurther(schedulers, mean);
    const spread = schedulers.issueShare * further * data[c + ACTIVE] * data[c + APART];
    let deviation = rootSlots * (spread > 0 ? Math.sqrt(data[c + VARIANCE] + spread) : data[c + DEVIATION]);
    let alive = 1;
    const logIdleHere = slots * logIdle;
    if (logIdleHere >= -ALL_BUT_CERTAIN) {
      alive = slots === 1 ? b : computeAny(logIdleHere);
      const square = (deviation * deviation + mean * mean) / alive;
      mean /= alive;
      deviation = Math.sqrt(Math.max(0, square - mean * mean));
    }
    meanTime += h * alive * computeMeanCycles(cyclesPerIteration, mean, deviation, cap);
  }
  return meanTime;
}

/** Results of `writeSlowestInto`; the constants below are their positions. */
const slowest = new Float64Array(4);
/** Cycles in which any block of the device is active. */
const LONGEST_TIME = 0;
/** Cycles of a multiprocessor that has the maximum number of active groups at every time. */
const TOP_TIME = 1;
/** Variance of the time of one multiprocessor, cycles². */
const VARIANCE_OF_TIME = 2;
/** Standard deviation of one multiprocessor's time, cycles, if its active groups were correlated fully over time. */
const ALIGNED = 3;

function writeSlowestInto(
  out: Float64Array,
  { groupsPerBlock: W, cells, data }: ActivityProfile,
  slots: number,
  multiprocessors: number,
  top: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
  cap: number,
  lives: ExactLives | null,
): void {
  const { count, issueShare } = schedulers;
  const end = cells * CELL_FIELDS;
  const deviceSlots = slots * multiprocessors;
  // The last active group of a block shares its scheduler with W/count − 1 other groups of the block on average.
  const ownScale = W > 1 ? 1 + issueShare * issueShare * ((count * Math.max(0, W - count)) / (W - 1) - 1) : 1;
  const skewing = Math.max(0, top * top - 1) / 6;
  let longestTime = 0;
  let topTime = 0;
  let variance = 0;
  let inner = 0;
  let aligned = 0;
  for (let c = 0; c < end; c += CELL_FIELDS) {
    if (data[c + BLOCK] < 1e-13) continue;
    const h = data[c + WIDTH];
    const logNowhere =
      lives === null
        ? deviceSlots * data[c + LOG_IDLE]
        : computeLogNone(lives.gridBlocks * lives.fresh.data[c + BLOCK], deviceSlots * data[c + BLOCK]);
    const apart = data[c + APART];
    const active = data[c + ACTIVE];
    const all = slots * active;
    const further = countFurther(schedulers, all);
    const own = data[c + OWN] + further * apart;
    if (logNowhere > -AT_MOST_ONE_ACTIVE) {
      const t = -h * logNowhere * interpolateCycles(cyclesPerIteration, own, cap);
      longestTime += t;
      topTime += t;
      continue;
    }
    const slotVariance = data[c + VARIANCE] + issueShare * further * active * apart;
    // The block slot that has the longest block is certainly active.
    const meanSlow = own + (all - active);
    const varianceSlow = ownScale * data[c + OWN_VARIANCE] + (slots - 1) * slotVariance;
    const deviationSlow = Math.sqrt(varianceSlow);
    const t = computeMeanCycles(cyclesPerIteration, meanSlow, deviationSlow, cap);
    const aliveAnywhere = logNowhere >= -IMPOSSIBLE_LOG ? h * computeAny(logNowhere) : h;
    longestTime += t * aliveAnywhere;
    const ended = 1 - data[c + GROUP];
    if (ended > 0) {
      // The maximum number of groups that are active on any multiprocessor, by the first terms of the Cornish–Fisher
      // expansion. Groups that end together form a clump, and the number of clumps is as skewed as a binomial one.
      const clump = active > 0 ? slotVariance / (ended * active) : 0;
      const skewed = skewing * (ended - data[c + GROUP]) * clump;
      const shift = Math.min(cap - all, top * Math.sqrt(slots * slotVariance) + Math.max(0, skewed));
      // The slope is measured from the mean to the slowest multiprocessor, since t(w) may be flat around the mean. The
      // step is at least half a group and at least one deviation, so that the difference is not rounding error.
      const step = Math.max(0.5, deviationSlow, all + shift - meanSlow);
      const above = interpolateCycles(cyclesPerIteration, meanSlow + step, cap);
      // Var ∫t dv = 2∬ t'(u) t'(v) Cov(w(u), w(v)), Cov = Var w(v)·P(ended by u)/P(ended by v) for u < v; slope ≥ 0.
      const slope = (Math.max(0, above - t) / step) * h;
      const before = slope * ended;
      variance += ((slope * varianceSlow) / ended) * (2 * inner + before);
      inner += before;
      topTime += aliveAnywhere * Math.max(t, interpolateCycles(cyclesPerIteration, all + shift, cap));
      aligned += slope * deviationSlow;
    } else topTime += h * t;
  }
  out[LONGEST_TIME] = longestTime;
  out[TOP_TIME] = topTime;
  out[VARIANCE_OF_TIME] = variance;
  out[ALIGNED] = aligned;
}

/**
 * Computes ln P(no block is active), if `longer` blocks live long enough to be active at this time and `active` blocks
 * are active on average.
 */
function computeLogNone(longer: number, active: number): number {
  const blocks = Math.max(1, longer);
  return active < blocks ? Math.max(LOG_CERTAIN, blocks * Math.log1p(-active / blocks)) : LOG_CERTAIN;
}

const maxima: number[] = [0, 0];

/** E[max of n standard normals], Blom (1958): the (n − 3/8)/(n + 1/4) quantile, ≤ 5 % too large, ≤ 1 % from n = 7. */
export function estimateNormalMaximum(n: number): number {
  return (maxima[n] ??= normalQuantile((n - 0.375) / (n + 0.25)));
}
