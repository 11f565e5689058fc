import { greatestCommonDivisor } from '../numeric/lattice.ts';
import { mean, sortedQuantile } from '../numeric/statistics.ts';
import { dot } from '../numeric/symmetric.ts';

/** A design counts as good if its time exceeds the best by at most this fraction. */
export const GOOD_FRACTION = 0.03;

/** The regret of a design in a draw of the unknown inputs is ln(its time / the best time of the draw). */
export interface DesignRegret {
  readonly expected: number;
  /** Fraction of the draws in which the design is within `GOOD_FRACTION` of the best, 0…1. */
  readonly chance: number;
  readonly worst90: number;
  /** Geometric mean of the times, and their 5 % and 95 % quantiles, ms. */
  readonly meanMs: number;
  readonly lowMs: number;
  readonly highMs: number;
}

/**
 * Computes the regret of each design over draws that all designs share; null for a design that cannot run in some draw.
 * @param timeMs for each draw, a time for each design
 * @param competing number of designs, from the first, among which the best of a draw is sought
 */
export function computeRegrets(
  timeMs: readonly Float64Array[],
  competing = timeMs[0]?.length ?? 0,
): readonly (DesignRegret | null)[] {
  const best = timeMs.map((times) =>
    times
      .subarray(0, competing)
      .reduce((least, time) => (Number.isNaN(time) ? least : Math.min(least, time)), Infinity),
  );
  const designs = timeMs[0]?.length ?? 0;
  return Array.from({ length: designs }, (_, design) => {
    const times = Float64Array.from(timeMs, (one) => one[design]);
    if (times.some(Number.isNaN)) return null;
    const regrets = times.map((time, draw) => Math.max(0, Math.log(time / best[draw])));
    const good = regrets.filter((regret) => regret <= Math.log1p(GOOD_FRACTION)).length;
    const ascending = times.toSorted();
    return {
      expected: mean(regrets),
      chance: good / times.length,
      worst90: sortedQuantile(regrets.toSorted(), 0.9),
      meanMs: Math.exp(mean(times.map(Math.log))),
      lowMs: sortedQuantile(ascending, 0.05),
      highMs: sortedQuantile(ascending, 0.95),
    };
  });
}

/** Number of permuted orders, which show how much a fit to a few draws gains by chance. */
const SHUFFLES = 8;

/**
 * Computes the expected value of partial perfect information: the mean regret that is saved if the value of one input
 * is known before the design is chosen. The saved time of each design is fitted by a parabola in the input's rank. The
 * gain of the same fit to permuted ranks is subtracted, since a fit to a few draws always gains something.
 * @param ranks for each draw, the probability (0…1) at which the law of the input was read
 */
export function gainOfKnowing(timeMs: readonly Float64Array[], chosen: number, ranks: readonly number[]): number {
  const designs = [...timeMs[0].keys()].filter((at) => timeMs.every((times) => !Number.isNaN(times[at])));
  const saved = designs.map((design) => timeMs.map((times) => Math.log(times[chosen] / times[design])));
  const gainBy = (order: readonly number[]): number => {
    const fit = parabolas(order);
    const fitted = saved.map(fit);
    return order.reduce((sum, _, draw) => sum + Math.max(...fitted.map((one) => one[draw])), 0) / order.length;
  };
  const draws = ranks.length;
  let chance = 0;
  for (let shuffle = 1; shuffle <= SHUFFLES; shuffle += 1) {
    const step = chooseStep(draws, shuffle);
    chance += gainBy(ranks.map((_, draw) => ((draw * step + shuffle) % draws) / draws)) / SHUFFLES;
  }
  return Math.max(0, gainBy(ranks) - chance);
}

function chooseStep(draws: number, shuffle: number): number {
  let step = Math.max(2, Math.round(draws * (0.381966 + 0.05 * shuffle)));
  while (greatestCommonDivisor(step, draws) !== 1) step += 1;
  return step;
}

/** Fits 1, x and x² by least squares at fixed points. The returned function maps values to fitted values. */
function parabolas(points: readonly number[]): (values: readonly number[]) => readonly number[] {
  const basis: number[][] = [];
  for (const power of [0, 1, 2]) {
    const column = points.map((point) => (point - 0.5) ** power);
    for (const other of basis) {
      const along = dot(column, other);
      other.forEach((value, at) => (column[at] -= along * value));
    }
    const size = Math.sqrt(dot(column, column));
    if (size > 1e-9) basis.push(column.map((value) => value / size));
  }
  return (values) => {
    const along = basis.map((column) => dot(column, values));
    return points.map((_, at) => basis.reduce((sum, column, i) => sum + along[i] * column[at], 0));
  };
}
