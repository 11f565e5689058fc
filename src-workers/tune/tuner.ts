import { normalQuantile, normalUpperTail } from '../models/workload/normal.ts';
import { arbitraryOrder, mersenneTwister, standardNormal } from '../numeric/random.ts';
import { firstIndex } from '../numeric/search.ts';
import { mean as average, sortedQuantile, spearman } from '../numeric/statistics.ts';
import { choleskyFactor } from '../numeric/symmetric.ts';
import { makeAxis, createProcess, fitWidths, widthsOf, type Field, type Process } from './process.ts';

/**
 * Decides which designs to measure next, and when to stop.
 *
 * The first designs are spread over the space, and some of them over the best predictions, because a search that begins
 * in one place stays there. Then a Gaussian process models the measured times (`process.ts`). The prediction is one of
 * its inputs, and the measurements decide its weight, so a prediction that they contradict counts for little.
 *
 * Times are mapped to values with a spread of 1. The map resolves the fast half of the times and limits the slow
 * half by ranks (half-rank warping: Song et al., The Vizier Gaussian Process Bandit Algorithm, 2024,
 * doi:10.48550/arXiv.2408.11527). Otherwise designs that are 30 times too slow would decide the widths.
 *
 * The next design is the one with the greatest expected improvement over the best measured one (Jones, Schonlau and
 * Welch, J. Global Optim. 13 (1998), doi:10.1023/A:1008306431147). Within a batch, each design is chosen as if the
 * designs before it had been measured as expected (kriging believer: Ginsbourg, Le Riche and Carraro, 2010,
 * doi:10.1007/978-3-642-10701-6_6). Every fourth of a batch is chosen with a wider process, because nothing else
 * shows where the process is wrong.
 *
 * The expected regret is the larger of two estimates. One comes from the process, which has no information about
 * designs that differ from all measured ones. The other comes from the search so far: the next measurements may gain as
 * much as the last two thirds gained. `npm run bench -- tuning` reports how often the estimate is right.
 */

/** A property that distinguishes designs: an axis, or a value that follows from several axes. */
export interface Coordinate {
  readonly values: Float64Array;
  /** The difference between the largest and the smallest value; 0 if the values are names, which have no distances. */
  readonly range: number;
}

export interface TuningSpace {
  /** All positive. */
  readonly predictedMs: Float64Array;
  readonly coordinates: readonly Coordinate[];
  /** Standard deviation of a prediction's error in ln(time). It also counts as the deviation of one measured time. */
  readonly deviation: number;
}

export interface KnownDesign {
  readonly design: number;
  readonly timeMs: number | null;
  /** Standard deviation of ln(time). */
  readonly noise: number;
}

export interface TuningEstimate {
  readonly design: number;
  /** Expected from the design's own measurement and the other measurements. */
  readonly timeMs: number;
  /**
   * The fraction by which this design is expected to be slower than the fastest of the space: the larger of the mean
   * and the 90 % quantile, and at least the gain of the last two thirds of the measurements.
   */
  readonly expectedRegret: number;
}

export interface Tuner {
  observe(design: number, timeMs: number, noise: number): void;
  reject(design: number): void;
  propose(count: number): readonly number[];
  /** Returns `null` if nothing was measured. */
  estimate(): TuningEstimate | null;
  /** Returns expected times of all designs that were not rejected, ms, in any order; empty if nothing was measured. */
  expectedTimes(): Float64Array;
}

const SPREAD = 12;
/** Number of spread designs, at the start, that come from the best predictions only. */
const SPREAD_BY_PREDICTION = 4;
/** One in this number of designs counts among the best predictions, and at least `LEAST_BEST` designs do. */
const BEST_SHARE = 50;
const LEAST_BEST = 8;
/**
 * Each spread design is the one in a random pool that is farthest from all taken ones. The pool has this many designs
 * for each spread design. The farthest of all designs would always be in a corner of the space.
 */
const DRAWN = 20;
/** The widths are fitted again when the number of measurements has grown by this factor. */
const GROWTH = 1.2;
/** Maximum number of measurements in a fit: half of them the fastest, half of them spread evenly over the rest. */
const MAX_FITTED = 160;
/** The w of `process.ts`. With 1, as in most tuners, the bench's convolutions take many times as many measurements. */
const INTERACTION = 0.6;
/** Predictions are rounded to this many values when they serve as a coordinate. */
const LEVELS = 48;
/** One in this number of designs of a batch is chosen with a process that is wider by the factor `WIDER`. */
const WIDE_EVERY = 4;
const WIDER = 2;
/**
 * For the expected regret, the Gaussian process is widened by at least this factor. The fitted widths alone understate
 * the uncertainty. Chosen on five of the nine measured spaces that the bench replays.
 */
const LEAST_WIDENING = 1.5;
/** The expected regret considers only this many of the most promising designs. */
const JUDGED_DESIGNS = 128;
const DRAWS = 128;
const SURE = 0.9;

/** @param seed for the pool of spread designs, the choice between equally promising ones, and draws of times */
export function createTuner(space: TuningSpace, seed: number): Tuner {
  const { predictedMs, deviation } = space;
  const count = predictedMs.length;
  const order = arbitraryOrder(count, seed);
  const byPrediction = order.toSorted((one, other) => predictedMs[one] - predictedMs[other]);
  const isPredicted = predictedMs[byPrediction[0]] < predictedMs[byPrediction[count - 1]];
  const field = predictedField(space, byPrediction, isPredicted);
  const nextSpread = spreadOver(field, order, isPredicted ? byPrediction : null);
  const known: number[] = [];
  const logMs: number[] = [];
  const noises: number[] = [];
  const tried = new Set<number>();
  const rejected = new Set<number>();
  let current: { readonly fittedTo: number; readonly process: Process; readonly noise: (at: number) => number } | null =
    null;
  let added = 0;

  function processNow() {
    let fittedTo = 1;
    while (Math.ceil(GROWTH * fittedTo) <= known.length) fittedTo = Math.ceil(GROWTH * fittedTo);
    if (current?.fittedTo !== fittedTo) {
      const scale = halfRanks(Float64Array.from(logMs.slice(0, fittedTo)), deviation);
      const noise = (at: number): number => (noises[at] / scale.unit) ** 2;
      const some = selectFitted(logMs.slice(0, fittedTo));
      const widths = fitWidths(field, {
        designs: some.map((at) => known[at]),
        z: Float64Array.from(some, (at) => scale.toValue(logMs[at])),
        noise: Float64Array.from(some, noise),
      });
      current = { fittedTo, process: createProcess(field, widths), noise };
      added = 0;
    }
    for (; added < known.length; added += 1) current.process.add(known[added], current.noise(added));
    return current;
  }

  function posterior() {
    const { process, noise } = processNow();
    const scale = halfRanks(Float64Array.from(logMs), deviation);
    const z = Float64Array.from(logMs, scale.toValue);
    const { mean, errors, pulls } = process.expect(z);
    const expected = z.map((value, at) => value - noise(at) * pulls[at]);
    const least = expected.indexOf(expected.reduce((one, other) => Math.min(one, other)));
    return { process, scale, mean, errors, expected, least };
  }

  function chosen(wanted: number, taken: Set<number>): void {
    const { process, mean, expected, least } = posterior();
    let bound = expected[least];
    const before = taken.size;
    while (taken.size < wanted) {
      const wider = (taken.size - before) % WIDE_EVERY === WIDE_EVERY - 1 ? WIDER : 1;
      const untaken = order.filter((design) => !taken.has(design));
      if (untaken.length === 0) break;
      const next = mostImproving(untaken, bound, mean, process.spread, wider);
      taken.add(next);
      bound = Math.min(bound, mean[next]);
      if (taken.size < wanted) process.add(next, 0);
    }
    process.keep(known.length);
  }

  function processRegret({ process, scale, mean, errors, expected, least }: ReturnType<typeof posterior>): number {
    const wider = widening(field, logMs, errors);
    const untried = order.filter((design) => !tried.has(design));
    const judged = mostPromising(untried, process, mean, wider);
    const regrets = drawnRegrets(process, judged, mean, expected[least], wider, seed);
    return scale.unit * Math.max(average(regrets), sortedQuantile(regrets.sort(), SURE));
  }

  return {
    observe(design, timeMs, noise) {
      if (tried.has(design)) throw new Error(`Design ${design} already has a measurement or was rejected.`);
      tried.add(design);
      known.push(design);
      logMs.push(Math.log(timeMs));
      noises.push(noise);
    },
    reject(design) {
      tried.add(design);
      rejected.add(design);
    },
    propose(wanted) {
      const taken = new Set(tried);
      const until = tried.size + wanted;
      // A design that cannot be measured gives no information, so another spread design takes its place.
      while (taken.size < until && (known.length === 0 || taken.size - rejected.size < SPREAD)) {
        const next = nextSpread(taken);
        if (next === null) break;
        taken.add(next);
      }
      if (taken.size < until && taken.size < count) chosen(until, taken);
      return [...taken].slice(tried.size);
    },
    estimate() {
      if (known.length === 0) return null;
      const now = posterior();
      return {
        design: known[now.least],
        timeMs: Math.exp(now.scale.toLog(now.expected[now.least])),
        expectedRegret: Math.expm1(Math.max(recentGain(logMs), tried.size < count ? processRegret(now) : 0)),
      };
    },
    expectedTimes() {
      if (known.length === 0) return new Float64Array();
      const { mean, scale } = posterior();
      return Float64Array.from(
        order.filter((one) => !rejected.has(one)),
        (one) => Math.exp(scale.toLog(mean[one])),
      );
    },
  };
}

function predictedField(
  { predictedMs, coordinates, deviation }: TuningSpace,
  byPrediction: Int32Array,
  isPredicted: boolean,
): Field {
  const axes = coordinates.map(({ values, range }) => makeAxis(values, range === 0));
  const logPredicted = predictedMs.map(Math.log);
  const line = isPredicted
    ? logPredicted.map(halfRanks(logPredicted, deviation).toValue)
    : new Float64Array(predictedMs.length);
  if (isPredicted) {
    const [low, high] = [line[byPrediction[0]], line[byPrediction.at(-1)!]];
    axes.push(
      makeAxis(
        line.map((value) => Math.round((LEVELS * (value - low)) / (high - low))),
        false,
      ),
    );
  }
  return { line, axes, interaction: INTERACTION };
}

function spreadOver(field: Field, order: Int32Array, byPrediction: Int32Array | null) {
  const pool = order.subarray(0, SPREAD * DRAWN);
  const best = byPrediction?.subarray(0, Math.max(LEAST_BEST, Math.ceil(order.length / BEST_SHARE)));
  return (taken: ReadonlySet<number>): number | null => {
    const next = best && taken.size < SPREAD_BY_PREDICTION ? farthest(field, best, taken) : null;
    return next ?? farthest(field, pool, taken) ?? farthest(field, order, taken);
  };
}

const distance = ({ axes }: Field, one: number, other: number): number =>
  axes.reduce((sum, { codes, size, apart }) => sum + apart[codes[one] * size + codes[other]], 0);

function farthest(field: Field, among: ArrayLike<number>, taken: ReadonlySet<number>): number | null {
  let [found, most]: [number | null, number] = [null, -1];
  for (const design of Array.from(among)) {
    if (taken.has(design)) continue;
    let near = Infinity;
    for (const other of taken) near = Math.min(near, distance(field, design, other));
    if (near > most) [found, most] = [design, near];
  }
  return found;
}

function mostImproving(
  designs: Int32Array,
  bound: number,
  mean: Float64Array,
  spread: Float64Array,
  wider: number,
): number {
  let [next, most] = [designs[0], -Infinity];
  for (const design of designs) {
    const gain = logImprovement(bound - mean[design], wider * Math.sqrt(Math.max(1e-12, spread[design])));
    if (gain > most) [next, most] = [design, gain];
  }
  return next;
}

function mostPromising(designs: Int32Array, process: Process, mean: Float64Array, wider: number): readonly number[] {
  const promise = mean.map((value, at) => value - 2 * wider * Math.sqrt(Math.max(0, process.spread[at]) + process.own));
  return Array.from(designs)
    .sort((one, other) => promise[one] - promise[other])
    .slice(0, JUDGED_DESIGNS);
}

/** Computes in each draw by how much the fastest judged design is faster than the best measured one; 0 if none is. */
function drawnRegrets(
  process: Process,
  judged: readonly number[],
  mean: Float64Array,
  best: number,
  wider: number,
  seed: number,
): Float64Array {
  const lower = choleskyFactor(process.covariances(judged));
  const uniform = mersenneTwister(seed);
  const own = Math.sqrt(process.own);
  const regrets = new Float64Array(DRAWS);
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const drawn = Float64Array.from(judged, () => standardNormal(uniform));
    let lowest = best;
    judged.forEach((design, at) => {
      let error = own * standardNormal(uniform);
      for (let k = 0; k <= at; k += 1) error += lower[at][k] * drawn[k];
      lowest = Math.min(lowest, mean[design] + wider * error);
    });
    regrets[draw] = best - lowest;
  }
  return regrets;
}

/**
 * Returns the factor by which the process is too narrow for unmeasured designs. It grows with the number of widths per
 * measurement (Akaike, Ann. Inst. Stat. Math. 21, 1969), and with the errors at designs that became the best when they
 * were measured, since the designs that could still become the best are like them.
 */
function widening(field: Field, logMs: readonly number[], errors: Float64Array): number {
  let [best, squares, records] = [Infinity, 1, 1];
  logMs.forEach((log, at) => {
    if (at >= SPREAD && log < best) [squares, records] = [squares + errors[at] ** 2, records + 1];
    best = Math.min(best, log);
  });
  return Math.max(LEAST_WIDENING, Math.sqrt(squares / records)) * Math.sqrt(1 + widthsOf(field) / logMs.length);
}

function recentGain(logMs: readonly number[]): number {
  const least = (times: readonly number[]): number => times.reduce((one, other) => Math.min(one, other), Infinity);
  return least(logMs.slice(0, Math.ceil(logMs.length / 3))) - least(logMs);
}

/** Returns Spearman's rank correlation, −1…1; null if it is undefined or there are too few measurements. */
export function shownSkill(predicted: readonly number[], measured: readonly number[]): number | null {
  const skill = measured.length < SPREAD ? NaN : spearman(Float64Array.from(predicted), Float64Array.from(measured));
  return Number.isNaN(skill) ? null : skill;
}

function selectFitted(logMs: readonly number[]): readonly number[] {
  const byTime = [...logMs.keys()].sort((one, other) => logMs[one] - logMs[other]);
  const half = MAX_FITTED / 2;
  if (byTime.length <= MAX_FITTED) return byTime;
  const others = byTime.length - half;
  return [
    ...byTime.slice(0, half),
    ...Array.from({ length: half }, (_, at) => byTime[half + Math.floor((at * others) / half)]),
  ];
}

/** Computes ln(E[max(0, gain + width·N(0, 1))]). Where rounding would spoil the exact form, it uses an asymptote. */
export function logImprovement(gain: number, width: number): number {
  const z = gain / width;
  if (z < -5) return Math.log(width) - 0.5 * z * z - 2 * Math.log(-z) - 0.5 * Math.log(2 * Math.PI);
  return Math.log(width * (z * normalUpperTail(-z) + Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)));
}

/**
 * Makes the map from logarithms of times to values. A value is 0 at the median and linear below it, with a spread of 1.
 * Above it, the value is linear too, but at most the normal quantile of the rank.
 * @param least spread of the faster half if nothing is known about it
 */
function halfRanks(logs: Float64Array, least: number) {
  const sorted = logs.toSorted();
  const count = sorted.length;
  const middle = sortedQuantile(sorted, 0.5);
  const faster = sorted.filter((value) => value <= middle);
  const squares = faster.reduce((sum, value) => sum + (value - middle) ** 2, least ** 2);
  const unit = Math.sqrt(squares / (faster.length + 1));
  const toValue = (log: number): number => {
    if (log <= middle) return (log - middle) / unit;
    const rank = firstIndex(0, count, (at) => sorted[at] >= log);
    return Math.min((log - middle) / unit, normalQuantile(Math.min(1 - 0.5 / count, (rank + 0.5) / count)));
  };
  const values = sorted.map(toValue);
  /** The inverse of `toValue`, linear between the values. */
  const toLog = (value: number): number => {
    if (value <= 0) return middle + unit * value;
    const above = firstIndex(0, count, (at) => values[at] >= value);
    if (above === count) return sorted[count - 1];
    const part = (value - values[above - 1]) / (values[above] - values[above - 1]);
    return sorted[above - 1] + part * (sorted[above] - sorted[above - 1]);
  };
  return { unit, toValue, toLog };
}
