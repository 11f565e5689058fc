import { normalUpperTail } from '../models/workload/normal.ts';
import { arbitraryOrder, mersenneTwister, standardNormal, type UniformSource } from '../numeric/random.ts';
import { choleskyFactor } from '../numeric/symmetric.ts';

/**
 * Which designs to measure next, and when to stop: a Gaussian process over the error of the prediction.
 *
 *     ln(time measured of design i) = ln(time predicted of i) + y(i) + noise
 *     y(i) = c + b·(ln predicted(i) − ln least predicted) + Σₐ fₐ(xᵢₐ) + g(xᵢ) + e(i)
 *
 * c is the scale common to all designs; b says that a prediction stretches or shrinks differences; fₐ is a correction by the value of one
 * coordinate (additive Gaussian process, Duvenaud, Nickisch and Rasmussen, NIPS 2011); g is one of all sets of coordinates (the product over
 * coordinates of 1 − w + w·k, the same source); e is of each design alone. k is exp(−|Δ|/range) (Rasmussen and Williams, Gaussian Processes
 * for Machine Learning, 2006, §4.2.1). All widths but that of c are in proportion to the error of a prediction that evidence lets expect; by
 * which factor, and how much of it is e, has weights by the marginal likelihood (§5.4.1 there) over a small grid.
 *
 * Where a space varies far more than the grid allows (the convolution on the MI250X: by a factor of 30, without skill of the prediction),
 * the posterior is too narrow. The expected regret therefore widens it by what was measured: each measurement was predicted from those before
 * it alone, and the mean square of these held-out errors over their expected width is the factor on the variance (the posterior mean of a
 * variance factor with an inverse-gamma prior at 1, which counts as one measurement). The choice of designs keeps the narrow widths: wide ones
 * explore without end, and need more measurements on both convolutions. `npm run bench -- tune` reports what is expected and what is true.
 *
 * The next design has the greatest expected improvement over the best measured one (Jones, Schonlau and Welch, J. Global Optim. 13
 * (1998), doi:10.1023/A:1008306431147), averaged over the grid (Snoek, Larochelle and Adams, NIPS 2012). The designs of one batch are
 * chosen as if each of those before had been measured as expected (kriging believer: Ginsbourg, Le Riche and Carraro, 2010,
 * doi:10.1007/978-3-642-10701-6_6): they spread over what is uncertain.
 */

/** What designs are told apart by: an axis, or something that follows from several. */
export interface Coordinate {
  /** One per design. */
  readonly values: Float64Array;
  /** Distance at which corrections keep 1/e of their correlation; 0 where values are names, and none is near another. */
  readonly range: number;
  /** Standard deviation of the correction by this coordinate alone, of ln(time). */
  readonly deviation: number;
}

export interface TuningSpace {
  /** All positive. */
  readonly predictedMs: Float64Array;
  readonly coordinates: readonly Coordinate[];
  /** Standard deviation of the error of a prediction, of ln(time), as evidence lets expect it. */
  readonly deviation: number;
}

/** A design that was measured, or could not be. */
export interface KnownDesign {
  readonly design: number;
  /** Null where it could not be measured. */
  readonly timeMs: number | null;
  /** Standard deviation of ln(time) of the measurement. */
  readonly noise: number;
}

/** What is known so far. */
export interface TuningEstimate {
  /** The measured design with the least expected time. */
  readonly design: number;
  /** Expected time of it, ms, by its own measurement and those of others. */
  readonly timeMs: number;
  /** exp(E[ln(its time over that of the fastest design of the space)]) − 1, by the posterior, widened by its errors so far. */
  readonly expectedRegret: number;
}

export interface Tuner {
  /**
   * Takes a measurement of a design that has none.
   * @param noise standard deviation of ln(time) of the measurement
   */
  observe(design: number, timeMs: number, noise: number): void;
  /** Leaves out a design that cannot be measured. */
  reject(design: number): void;
  /** So many designs to measure next; fewer where no more are left. None of them is measured or rejected. */
  propose(count: number): readonly number[];
  /** `null` where nothing is measured. */
  estimate(): TuningEstimate | null;
  /** Expected times of all designs that were not rejected, ms, by predictions and measurements, in no order; empty where nothing is measured. */
  expectedTimes(): Float64Array;
}

/** Standard deviation of the common scale, of ln(time), about that of the first measurement: wide. */
const SCALE_DEVIATION = 1;
/** Of the stretch b, over the expected error of a prediction. */
const STRETCH = 4;
/** Of the variance that is not of one coordinate: the part of each design alone. */
const OWN_PARTS = [0.05, 0.4];
/** Factors on the expected error, and the width of their prior, of ln(factor). */
const FACTORS = [0.25, 0.5, 1, 2, 4];
const FACTOR_DEVIATION = Math.log(3);
/**
 * How far g goes by a difference in one coordinate, 0…1: it is a sum over all sets of coordinates, and each coordinate more counts less. The
 * middle of its range, not fitted: on two spaces of a convolution, values from 0.25 to 0.7 need numbers of measurements within a factor of two,
 * and neither a mixture of values by their marginal likelihood nor other widths of b need fewer.
 */
const INTERACTION = 0.5;
/** How many measurements the prior of the widening counts as. */
const WIDENING_PRIOR = 1;
/** Of a measurement that is still to come. */
const COMING_NOISE = 0.01;
/** The expected regret looks at so many designs, the most promising ones, and as many draws of all their times. */
const JUDGED_DESIGNS = 128;
const DRAWS = 512;

/** One point of the grid: the posterior of y at all designs, extended by one row of the Cholesky factor per measurement. */
interface Process {
  readonly variance: number;
  readonly ownPart: number;
  logWeight: number;
  /** Sum of squares of the errors of measurements, each predicted from those before it, over their expected widths. */
  heldOut: number;
  readonly rows: Float64Array[];
  readonly mean: Float64Array;
  /** Of y at each design. */
  spread: Float64Array;
}

/** @param seed decides between designs that are equally promising, and draws the times behind the expected regret */
export function createTuner({ predictedMs, coordinates, deviation }: TuningSpace, seed: number): Tuner {
  const count = predictedMs.length;
  const order = arbitraryOrder(count, seed);
  const logMs = predictedMs.map(Math.log);
  const leastLog = logMs.reduce((least, value) => Math.min(least, value), Infinity);
  const axes = coordinates.map(correlations);
  const alone = axes.reduce((sum, axis) => sum + axis.variance, 0);
  /** Variance by the scale, and by what the error is in proportion to, before the factor; the latter without b. */
  const scaleVariance = SCALE_DEVIATION ** 2;
  const joint = deviation ** 2;
  const known = new Set<number>();
  const rejected = new Set<number>();
  let first: number | null = null;
  const processes = FACTORS.flatMap((factor) =>
    OWN_PARTS.map((ownPart): Process => {
      const variance = factor ** 2;
      const stretch = (STRETCH * deviation) ** 2;
      return {
        variance,
        ownPart,
        logWeight: -0.5 * (Math.log(factor) / FACTOR_DEVIATION) ** 2,
        heldOut: 0,
        rows: [],
        mean: new Float64Array(count),
        spread: logMs.map((log) => scaleVariance + variance * (stretch * (log - leastLog) ** 2 + alone + joint)),
      };
    }),
  );

  /** Covariances of y at one design and at others, before anything was measured, without scale and factor: what e has no part in, and g. */
  function priorRow(
    design: number,
    others: ArrayLike<number> | null,
  ): { additive: Float64Array; together: Float64Array } {
    const length = others?.length ?? count;
    const stretch = (STRETCH * deviation) ** 2 * (logMs[design] - leastLog);
    const additive = new Float64Array(length);
    const together = new Float64Array(length).fill(joint);
    for (let at = 0; at < length; at += 1) additive[at] = stretch * (logMs[others ? others[at] : at] - leastLog);
    for (const { codes, table, values, variance } of axes) {
      const from = codes[design] * values;
      for (let at = 0; at < length; at += 1) {
        const correlation = table[from + codes[others ? others[at] : at]];
        additive[at] += variance * correlation;
        together[at] *= 1 - INTERACTION + INTERACTION * correlation;
      }
    }
    return { additive, together };
  }

  /** Posterior covariances of y at one design and at others. */
  function covariances(
    { variance, ownPart, rows }: Process,
    design: number,
    others: ArrayLike<number> | null,
    { additive, together } = priorRow(design, others),
  ): Float64Array {
    const out = additive.map((value, at) => scaleVariance + variance * (value + (1 - ownPart) * together[at]));
    for (const row of rows) {
      const weight = row[design];
      for (let at = 0; at < out.length; at += 1) out[at] -= weight * row[others ? others[at] : at];
    }
    const self = others ? Array.prototype.indexOf.call(others, design) : design;
    if (self >= 0) out[self] += variance * ownPart * joint;
    return out;
  }

  /** Conditions a process on y at a design. @param surprise y less what was expected of it. Returns it over its expected width. */
  function condition(process: Process, design: number, noise: number, row: Float64Array, surprise: number): number {
    const { rows, mean, spread } = process;
    const total = Math.sqrt(row[design] + noise ** 2);
    const step = surprise / total;
    for (let at = 0; at < count; at += 1) {
      row[at] /= total;
      mean[at] += row[at] * step;
      spread[at] = Math.max(0, spread[at] - row[at] ** 2);
    }
    rows.push(row);
    process.logWeight -= 0.5 * step ** 2 + Math.log(total);
    return step;
  }

  function weights(): readonly number[] {
    const greatest = Math.max(...processes.map(({ logWeight }) => logWeight));
    const each = processes.map(({ logWeight }) => Math.exp(logWeight - greatest));
    const sum = each.reduce((total, weight) => total + weight, 0);
    return each.map((weight) => weight / sum);
  }

  const expectedLog = (share: readonly number[], design: number): number =>
    processes.reduce((sum, { mean }, at) => sum + share[at] * mean[design], logMs[design]);

  /** The design with the least value, the first in `order` among equals. */
  function leastOf(designs: Iterable<number>, value: (design: number) => number): number | null {
    let [best, least]: [number | null, number] = [null, Infinity];
    for (const design of designs) if (value(design) < least) [best, least] = [design, value(design)];
    return best;
  }

  const free = (taken: ReadonlySet<number>): number[] =>
    Array.from(order).filter((design) => !known.has(design) && !rejected.has(design) && !taken.has(design));

  function next(taken: ReadonlySet<number>): number | null {
    const candidates = free(taken);
    const share = weights();
    const best = leastOf([...known, ...taken], (design) => expectedLog(share, design));
    if (best === null) return leastOf(candidates, (design) => logMs[design]);
    const improvement = new Float64Array(count);
    const ofBest = priorRow(best, null);
    processes.forEach((process, at) => {
      if (share[at] < 1e-3) return;
      const withBest = covariances(process, best, null, ofBest);
      const { mean, spread } = process;
      for (const design of candidates) {
        const gain = logMs[best] + mean[best] - logMs[design] - mean[design];
        const width = Math.sqrt(Math.max(1e-12, spread[design] + spread[best] - 2 * withBest[design]));
        const z = gain / width;
        if (z < -6) continue;
        const density = Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
        improvement[design] += share[at] * (gain * normalUpperTail(-z) + width * density);
      }
    });
    // Where nothing promises an improvement, the fastest as expected.
    return leastOf(candidates, (design) =>
      improvement[design] > 1e-12 ? -improvement[design] : expectedLog(share, design) + 1e6,
    );
  }

  return {
    observe(design, timeMs, noise) {
      if (known.has(design) || rejected.has(design)) throw new Error(`Design ${design} was given before.`);
      const y = Math.log(timeMs) - logMs[design];
      first ??= y;
      const prior = priorRow(design, null);
      for (const process of processes) {
        const row = covariances(process, design, null, prior);
        const error = condition(process, design, noise, row, y - first - process.mean[design]);
        process.heldOut += error ** 2;
      }
      known.add(design);
    },
    reject(design) {
      rejected.add(design);
    },
    propose(wanted) {
      const before = processes.map(({ spread, logWeight }) => ({ spread: spread.slice(), logWeight }));
      const taken = new Set<number>();
      while (taken.size < wanted) {
        const design = next(taken);
        if (design === null) break;
        taken.add(design);
        if (taken.size === wanted) break;
        const prior = priorRow(design, null);
        processes.forEach((process, at) => {
          condition(process, design, COMING_NOISE, covariances(process, design, null, prior), 0);
          process.logWeight = before[at].logWeight;
        });
      }
      processes.forEach((process, at) => {
        process.rows.length = known.size;
        process.spread = before[at].spread;
      });
      return [...taken];
    },
    estimate() {
      const share = weights();
      const design = leastOf(known, (one) => expectedLog(share, one));
      if (design === null) return null;
      const uniform = mersenneTwister(seed);
      const logRegret = processes.reduce((sum, process, at) => {
        const draws = Math.round(share[at] * DRAWS);
        return draws === 0 ? sum : sum + share[at] * logRegretOf(process, design, draws, uniform);
      }, 0);
      return {
        design,
        timeMs: Math.exp(expectedLog(share, design) + first!),
        expectedRegret: Math.expm1(logRegret),
      };
    },
    expectedTimes() {
      const scale = first;
      if (scale === null) return new Float64Array();
      const share = weights();
      return Float64Array.from(
        order.filter((one) => !rejected.has(one)),
        (one) => Math.exp(expectedLog(share, one) + scale),
      );
    },
  };

  /** By how much the posterior of a process is too narrow, a factor ≥ 1. The first measurement sets the scale alone, with an error of 0. */
  function widening({ heldOut, rows }: Process): number {
    return Math.sqrt(Math.max(1, (WIDENING_PRIOR + heldOut) / (WIDENING_PRIOR + Math.max(0, rows.length - 1))));
  }

  /** E[ln(time of the design over the least of all)], over draws of the times of the designs that are the most promising. */
  function logRegretOf(process: Process, design: number, draws: number, uniform: UniformSource): number {
    const { mean, spread } = process;
    const wider = widening(process);
    const bound = logMs.map((log, at) => log + mean[at] - 2 * wider * Math.sqrt(spread[at]));
    const designs = Array.from(order)
      .filter((one) => !rejected.has(one) && one !== design)
      .sort((a, b) => bound[a] - bound[b])
      .slice(0, JUDGED_DESIGNS - 1);
    const judged = [design, ...designs];
    const lower = choleskyFactor(judged.map((one) => covariances(process, one, judged)));
    const drawn = new Float64Array(judged.length);
    let sum = 0;
    for (let draw = 0; draw < draws; draw += 1) {
      for (let at = 0; at < drawn.length; at += 1) drawn[at] = standardNormal(uniform);
      let [own, least] = [0, Infinity];
      judged.forEach((one, at) => {
        let log = logMs[one] + mean[one];
        for (let k = 0; k <= at; k += 1) log += wider * lower[at][k] * drawn[k];
        if (at === 0) own = log;
        least = Math.min(least, log);
      });
      sum += own - least;
    }
    return sum / draws;
  }
}

/** Designs by the number of their value, and the correlation of any two values. */
function correlations({ values, range, deviation }: Coordinate) {
  const distinct = [...new Set(values)];
  const number = new Map(distinct.map((value, at) => [value, at]));
  const near = (a: number, b: number): number => (a === b ? 1 : range === 0 ? 0 : Math.exp(-Math.abs(a - b) / range));
  return {
    codes: Int32Array.from(values, (value) => number.get(value)!),
    table: Float64Array.from(distinct.flatMap((a) => distinct.map((b) => near(a, b)))),
    values: distinct.length,
    variance: deviation ** 2,
  };
}
