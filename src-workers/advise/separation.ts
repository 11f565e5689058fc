import { normalQuantile } from '../models/workload/normal.ts';
import { mersenneTwister, standardNormal } from '../numeric/random.ts';
import type { TieTable } from '../sweep/ties.ts';

/**
 * Draws errors of predicted times, so that the errors of two designs differ as much as in measurements. How much
 * depends on the properties in which the designs differ (`sweep/ties.ts`).
 */

/** Parts of a design's error. Designs with the same text share a part. `widths` are standard deviations in ln(time). */
export interface ErrorParts {
  readonly texts: readonly string[];
  readonly widths: readonly number[];
}

/** Standard deviation of ln(time) among grids of a block size: 80 % of ratios err by under 2.9 % (Hasan, Table 2). */
const LAUNCH_WIDTH = Math.log1p(0.029) / normalQuantile(0.9) / Math.SQRT2;

export interface ErrorPlace {
  readonly place: number;
  readonly block: string;
  readonly design: number;
}

/**
 * Lists the parts of each design's error: for its place (`TiePlace`), for its block size, and for the design alone.
 * @param fractions for each pair of places (`TieTable`), the error that 80 % of measured pairs of designs do not exceed
 */
export function errorParts(
  designs: readonly ErrorPlace[],
  { fractions, places }: Pick<TieTable, 'fractions' | 'places'>,
): readonly ErrorParts[] {
  const variance = (fraction: number): number => (Math.log1p(fraction) / normalQuantile(0.9)) ** 2 / 2;
  return designs.map(({ place, block, design }) => {
    const own = variance(fractions[place * places + place]);
    const others = Array.from({ length: places }, (_, other) => fractions[place * places + other]);
    const apart = others.filter((_, other) => other !== place);
    const between = apart.reduce((sum, fraction) => sum + Math.max(0, variance(fraction) - own), 0);
    return {
      texts: [`place ${place}`, `block ${block}`, `design ${design}`],
      widths: [Math.sqrt(between / Math.max(1, apart.length)), Math.sqrt(own), LAUNCH_WIDTH],
    };
  });
}

/**
 * Draws times with errors: for each sample, a time for each design. Samples come in pairs with opposite errors, so that
 * the errors of every design have the mean 0 in ln(time). No launch takes less than `leastMs`, and a predicted time of
 * at most `leastMs` does not depend on the work, so it has no error.
 * @param timeMs for each draw of the inputs, a time for each design
 */
export function withErrors(
  timeMs: readonly Float64Array[],
  parts: readonly ErrorParts[],
  pairs: number,
  leastMs = 0,
): readonly Float64Array[] {
  return timeMs.flatMap((times, draw) =>
    Array.from({ length: pairs }, (_, pair) => {
      // Each pair has its own seed, so that more designs do not change the errors of the earlier designs.
      const uniform = mersenneTwister(1 + draw * pairs + pair);
      const known = new Map<string, number>();
      const errorOf = (text: string): number => {
        let error = known.get(text);
        if (error === undefined) known.set(text, (error = standardNormal(uniform)));
        return error;
      };
      const errors = parts.map(({ texts, widths }) =>
        texts.reduce((sum, text, at) => sum + widths[at] * errorOf(text), 0),
      );
      return [1, -1].map((sign) =>
        times.map((time, design) =>
          time > leastMs ? Math.max(leastMs, time * Math.exp(sign * errors[design])) : time,
        ),
      );
    }).flat(),
  );
}

/** A design that is slower than the chosen one in this share of the samples is told apart. */
const TOLD_APART = 0.9;

export function notToldApart(samples: readonly Float64Array[], chosen: number): readonly number[] {
  const others = [...samples[0].keys()].filter((design) => {
    if (design === chosen || samples.some((times) => Number.isNaN(times[design]))) return false;
    const faster = samples.filter((times) => times[chosen] < times[design]).length;
    return faster < TOLD_APART * samples.length;
  });
  return [chosen, ...others];
}

export interface Measuring {
  readonly designs: readonly number[];
  /** Mean of ln(best time of the measured designs / best time of all designs). */
  readonly regret: number;
}

/**
 * Finds a few designs of which the best is expected to be near the best of all. Each next design is the one that adds
 * the most to those before it. Measurements count as exact.
 */
export function designsToMeasure(
  samples: readonly Float64Array[],
  among: readonly number[],
  within: number,
  most: number,
): Measuring {
  const best = samples.map((times) => among.reduce((least, design) => Math.min(least, times[design]), Infinity));
  const reached = samples.map(() => Infinity);
  const designs: number[] = [];
  let regret = Infinity;
  while (designs.length < Math.min(most, among.length) && regret > within) {
    let next = -1;
    regret = Infinity;
    for (const design of among) {
      if (designs.includes(design)) continue;
      const then =
        samples.reduce((sum, times, at) => sum + Math.log(Math.min(reached[at], times[design]) / best[at]), 0) /
        samples.length;
      if (then < regret) [next, regret] = [design, then];
    }
    designs.push(next);
    samples.forEach((times, at) => (reached[at] = Math.min(reached[at], times[next])));
  }
  return { designs, regret };
}
