import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { normalUpperTail } from '../../models/workload/normal.ts';
import {
  computeCumulants,
  fromMasses,
  takeMaximumInto,
  takeMaximum,
  moveToGrid,
  shiftLaw,
  makeSmoothLaw,
  addLaws,
  makeSumTerm,
  type DiscreteLaw,
} from './discrete-law.ts';

const FETCH_LATTICE_POINTS = 300;
/** The rate of unit starts counts as settled after this many steps, even if nearly equal lengths need more. */
const LONGEST_TRANSIENT = 4096;
/** Maximum probability of a part of the law of T, the time when units run out. A part has one law of residual lives. */
const PART_PROBABILITY = 1 / 6;
/** Maximum width of a part of T's law outside its tails, divided by mean plus standard deviation of a length. */
const PART_WIDTH = 1 / 4;
/** Maximum probability of a part in the tails of T's law, which may be wider than `PART_WIDTH`. */
const TAIL_PROBABILITY = 1e-3;
/** The law of the time at which the units run out is cut off at this number of standard deviations. */
const TIME_REACH = 6.4;

/**
 * The renewal process of a lane that fetches one unit after another: its rate of starts and the law of its units. It is
 * a class because of a fault of V8's optimised code (Node 24): two results of one object literal shared the memory of
 * their numbers, so a later law changed `step`, `mean` and `variance` of an earlier one.
 */
export class Renewals {
  readonly step: number;
  /** Probability of an empty unit, after which a lane fetches again at once. */
  readonly emptyProbability: number;
  readonly mean: number;
  readonly variance: number;
  /** P(length > x steps) of a non-empty unit, x = 0, 1, …. */
  readonly survival: Float64Array;
  readonly lengths: Float64Array;
  /** Expected starts of non-empty units at step t, up to the step at which this rate settles at 1/mean. */
  readonly starts: Float64Array;
  /** Mean number of non-empty units that a lane has started by step t, for the same t as `starts`. */
  readonly startedMean: Float64Array;
  readonly startedVariance: Float64Array;

  constructor(fields: Renewals) {
    this.step = fields.step;
    this.emptyProbability = fields.emptyProbability;
    this.mean = fields.mean;
    this.variance = fields.variance;
    this.survival = fields.survival;
    this.lengths = fields.lengths;
    this.starts = fields.starts;
    this.startedMean = fields.startedMean;
    this.startedVariance = fields.startedVariance;
  }
}

/** Prepares the renewals of one lane; `null` if all units are empty. It takes long, so callers keep the result. */
export function prepareRenewals(law: DiscreteLaw): Renewals | null {
  const { values } = law;
  const largest = values[values.length - 1];
  if (largest === 0) return null;
  const ownStep = findWholeStep(values);
  const step = ownStep > 0 && largest / ownStep <= FETCH_LATTICE_POINTS ? ownStep : largest / FETCH_LATTICE_POINTS;
  const points = Math.round(largest / step);
  const grid = Float64Array.from({ length: points + 1 }, (_, i) => i * step);
  grid[points] = largest;
  const lattice = moveToGrid(law, grid);
  const emptyProbability = 1 - lattice.survival[0];
  const survival = lattice.survival.map((s) => Math.min(1, s / (1 - emptyProbability)));
  const { mean, variance } = computeCumulants({ values: grid.map((_, i) => i), survival });

  const lengths = new Int32Array(points);
  const masses = new Float64Array(points);
  let count = 0;
  for (let j = 1; j <= points; j++) {
    const mass = survival[j - 1] - survival[j];
    if (mass <= 0) continue;
    lengths[count] = j;
    masses[count++] = mass;
  }
  // With f = `masses` and convolutions ∗: `starts` is u = f∗u plus the first start, and `pairs` is u∗u = u + f∗(u∗u).
  const starts = new Float64Array(LONGEST_TRANSIENT);
  const pairs = new Float64Array(LONGEST_TRANSIENT);
  // For the number N of started units: E[N] = Σ u and E[N(N+1)/2] = Σ u∗u.
  const startedMean = new Float64Array(LONGEST_TRANSIENT);
  const startedVariance = new Float64Array(LONGEST_TRANSIENT);
  starts[0] = 1;
  pairs[0] = 1;
  startedMean[0] = 1;
  let allPairs = 1;
  let steps = 1;
  for (let settledSince = 0; steps < LONGEST_TRANSIENT && steps - settledSince <= points; steps++) {
    let rate = 0;
    let pairRate = 0;
    for (let i = 0; i < count && lengths[i] <= steps; i++) {
      rate += masses[i] * starts[steps - lengths[i]];
      pairRate += masses[i] * pairs[steps - lengths[i]];
    }
    starts[steps] = rate;
    pairs[steps] = rate + pairRate;
    if (Math.abs(rate * mean - 1) > 1e-3) settledSince = steps;
    const once = startedMean[steps - 1] + rate;
    allPairs += pairs[steps];
    startedMean[steps] = once;
    startedVariance[steps] = Math.max(0, 2 * allPairs - once - once * once);
  }
  return new Renewals({
    step,
    emptyProbability,
    mean,
    variance,
    survival,
    lengths: Float64Array.from(survival, (_, i) => i * step),
    starts: starts.slice(0, steps),
    startedMean: startedMean.slice(0, steps),
    startedVariance: startedVariance.slice(0, steps),
  });
}

/**
 * Computes the law of the time, in iterations, that n lanes need for n·m units, if each lane takes its next unit as
 * soon as it has finished one. The units run out at time T. Until then, the lanes are n independent renewal processes,
 * and the number of units that they have started is assumed to be normal. After T, the lanes finish their current
 * units. The iterations left to these units follow from the renewal rate. The law is exact for constant lengths.
 * @param poolGroups groups that fetch from one pool, with n·m units each on average; with more groups, T varies less
 */
export function computeDynamicGroupDepth(
  renewals: Renewals,
  n: number,
  unitsPerThread: number,
  poolGroups: number,
): DiscreteLaw {
  const { step, emptyProbability, mean, variance, survival, lengths, starts } = renewals;
  // Empty units take no time. The number of the other units is binomial, with mean n·m·P(not empty).
  const units = unitsPerThread * (1 - emptyProbability);
  if (units <= 1) {
    // Each lane has at most one unit on average, so the depth is the longest of all units.
    const withEmpty = survival.map((s) => s * (1 - emptyProbability));
    return takeMaximum({ values: lengths, survival: withEmpty }, n * unitsPerThread);
  }

  const lanes = n * poolGroups;
  const times = computeExhaustionTimes(renewals, lanes, units, units * emptyProbability);
  if (times === null) {
    const residual = computeSettledLives(renewals);
    // All work is either done by T or left at T: lanes·units·mean = lanes·T + mean + (lanes − 1)·E[residual].
    const meanResidual = residual.reduce((total, s) => total + s, 0);
    const end = (units * mean - meanResidual - (mean - meanResidual) / lanes) * step;
    const last = shiftLaw({ values: lengths, survival: computeLastLane(renewals, residual, n, poolGroups) }, end);
    const deviation = Math.sqrt((units * (variance + emptyProbability * mean * mean)) / lanes);
    // A deviation of T below half a step of the grid is left out.
    if (deviation < 0.5) return last;
    const noise = makeSmoothLaw(0, deviation * step, 0);
    return addLaws([makeSumTerm(last), makeSumTerm(noise)], [1, 1]);
  }

  const { first, masses } = times;
  // P(depth = first + t).
  const depth = new Float64Array(masses.length + survival.length);
  const alive = new Float64Array(survival.length);
  let aliveAt = -1;
  for (let from = 0; from < masses.length;) {
    let to = from;
    let mass = 0;
    let sum = 0;
    const widest = from + (mean + Math.sqrt(variance)) * PART_WIDTH;
    while (to < masses.length) {
      const more = mass + masses[to];
      if (mass > 0 && (more > PART_PROBABILITY || (to > widest && more > TAIL_PROBABILITY))) break;
      mass = more;
      sum += masses[to] * (first + to);
      to++;
    }
    if (mass > 0) {
      const time = Math.round(sum / mass);
      let residual: Float64Array;
      if (time < starts.length) {
        advanceLives(alive, renewals, aliveAt, time);
        aliveAt = time;
        // If all lanes start a unit in the same step, there may be too few units for all of them.
        const before = time === 0 ? 0 : renewals.startedMean[time - 1];
        const share =
          to === from + 1 && starts[time] > 0 ? Math.min(1, Math.max(0, (units - before) / starts[time])) : 1;
        const without = (1 - share) * starts[time];
        residual = alive.map((lives, x) => Math.min(1, Math.max(0, lives - without * survival[x])));
      } else residual = computeSettledLives(renewals);
      const last = computeLastLane(renewals, residual, n, poolGroups);
      for (let t = from; t < to; t++) {
        const share = masses[t];
        if (share === 0) continue;
        for (let x = 0, above = 1; x < last.length; above = last[x++]) depth[t + x] += share * (above - last[x]);
      }
    }
    from = to;
  }
  let count = 0;
  const values = new Float64Array(depth.length);
  for (let t = 0; t < depth.length; t++) {
    if (depth[t] === 0) continue;
    depth[count] = depth[t];
    values[count++] = (first + t) * step;
  }
  return fromMasses(values.slice(0, count), depth.subarray(0, count));
}

/**
 * Computes P(longest > x steps), x = 0, 1, …, of a group's remaining lives when the units run out: the last unit has
 * just started, and n − 1 lanes have residual lives. If groups share a pool, almost all of them have n residual lives.
 */
function computeLastLane(renewals: Renewals, residual: Float64Array, n: number, poolGroups: number): Float64Array {
  const lives = new Float64Array(residual.length);
  takeMaximumInto(lives, residual, poolGroups > 1 ? n : n - 1);
  if (poolGroups > 1) return lives;
  const { survival } = renewals;
  for (let x = 0; x < lives.length; x++) lives[x] += survival[x] * (1 - lives[x]);
  return lives;
}

/**
 * Counts the iterations after which any of n lanes finds that the units have run out. If lanes have only one unit, they
 * end with its length; with many units, their remaining lives no longer depend on the start.
 */
export function countLastFetches({ survival, mean }: Renewals, n: number, unitsPerThread: number): number {
  const settled = Math.min(1, Math.max(0, unitsPerThread - 1));
  let events = 0;
  for (let x = 0; x + 1 < survival.length; x++) {
    const whole = survival[x] - survival[x + 1];
    events -= Math.expm1(n * Math.log1p(-Math.min(1, whole + settled * (survival[x] / mean - whole))));
  }
  return events;
}

/**
 * Computes the law of the step T at which n lanes have started n·units units, from step `first` on; `null` if the
 * whole law lies beyond the step at which the renewal rate settles.
 * @param extraVariance variance of the number of non-empty units, per lane
 */
function computeExhaustionTimes(renewals: Renewals, n: number, units: number, extraVariance: number) {
  const { mean, variance, startedMean, startedVariance } = renewals;
  const known = startedMean.length;
  // The expected number of started units minus the number of all units, in standard deviations.
  const excess = (t: number): number => {
    const beyond = Math.max(0, t - known + 1);
    const at = Math.min(t, known - 1);
    const started = startedMean[at] + beyond / mean;
    const spread = startedVariance[at] + (beyond * variance) / mean ** 3 + extraVariance;
    // The number of started units is whole and must reach n·units, so 0.5 is added as a continuity correction.
    return (n * (started - units) + 0.5) / Math.sqrt(Math.max(n * spread, 1e-9));
  };
  if (excess(known - 1) < -TIME_REACH) return null;
  let first = 0;
  while (excess(first) < -TIME_REACH) first++;
  const masses: number[] = [];
  let reached = 0;
  for (let t = first; reached < 1; t++) {
    const z = excess(t);
    // The number of started units only grows, but normal laws of different deviation may cross.
    const next = z > TIME_REACH ? 1 : Math.max(reached, 1 - normalUpperTail(z));
    masses.push(next - reached);
    reached = next;
  }
  return { first, masses };
}

/**
 * Advances P(a lane has more than x steps left), x = 0, 1, …, from step `from` to `to`. `starts` must be known up to
 * `to`. At step −1, all lanes are idle.
 */
function advanceLives(alive: Float64Array, { survival, starts }: Renewals, from: number, to: number): void {
  const passed = to - from;
  const points = survival.length;
  for (let x = 0; x < points; x++) {
    let lives = x + passed < points ? alive[x + passed] : 0;
    const ages = Math.min(passed, points - x);
    for (let age = 0; age < ages; age++) lives += starts[to - age] * survival[x + age];
    alive[x] = lives;
  }
}

/** P(a lane has more than x steps left) after the rate of starts has settled at 1/mean. */
function computeSettledLives({ survival, mean }: Renewals): Float64Array {
  const residual = new Float64Array(survival.length);
  let sum = 0;
  for (let x = survival.length - 1; x >= 0; x--) {
    sum += survival[x];
    residual[x] = Math.min(1, sum / mean);
  }
  return residual;
}

function findWholeStep(values: Float64Array): number {
  let step = 0;
  for (const value of values) {
    if (!Number.isInteger(value)) return 0;
    step = greatestCommonDivisor(value, step);
  }
  return step;
}
