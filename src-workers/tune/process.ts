import { choleskyFactor } from '../numeric/symmetric.ts';

/**
 * A Gaussian process over the designs of a space (Rasmussen and Williams, Gaussian Processes for Machine Learning,
 * 2006):
 *
 *     z(x) = c + b·line(x) + g(x) + e(x)
 *
 * c is the same for all designs. b·line is proportional to a given value of each design. g is smooth along the axes,
 * with the covariance s²·Πₐ (1 − w + w·kₐ), the sum over all sets of axes (Duvenaud, Nickisch and Rasmussen, Additive
 * Gaussian Processes, NIPS 2011). e is independent for each design. kₐ is Matérn's with ν = 5/2 over the length of axis
 * a (§4.2.1 of the book), so that a long length switches an axis off. The widths (of g, e, b, and the lengths) are the
 * most probable ones (§5.4.1 there); their priors expect values z with a spread of about 1.
 */

/** One axis. `codes` has, for each design, the number of its value among the `size` distinct values. */
export interface Axis {
  readonly codes: Uint16Array;
  readonly size: number;
  /** Distance between every two values, 0…1; a matrix, row after row. */
  readonly apart: Float64Array;
}

export interface Field {
  readonly axes: readonly Axis[];
  readonly line: Float64Array;
  /** w, above 0 and at most 1. With w = 1, designs that differ only along one axis can be uncorrelated. */
  readonly interaction: number;
}

export interface Measured {
  readonly designs: readonly number[];
  readonly z: Float64Array;
  readonly noise: Float64Array;
}

/** @param isNamed whether the values are names, which have no distances */
export function makeAxis(values: Float64Array, isNamed: boolean): Axis {
  const distinct = Float64Array.from(new Set(values)).sort();
  const number = new Map(Array.from(distinct, (value, at) => [value, at]));
  const span = distinct.at(-1)! - distinct[0] || 1;
  const apart = (one: number, other: number): number =>
    isNamed ? Number(one !== other) : Math.abs(one - other) / span;
  return {
    codes: Uint16Array.from(values, (value) => number.get(value)!),
    size: distinct.length,
    apart: Float64Array.from(Array.from(distinct).flatMap((one) => Array.from(distinct, (other) => apart(one, other)))),
  };
}

const COMMON = 1;
/** Added to the diagonal, because the covariances of similar designs are nearly singular. */
const JITTER = 1e-6;
/** Priors of ln(width) of g, e and b, and of ln(length) of an axis: mean and standard deviation. */
const PRIOR = {
  smooth: [0, 0.7],
  own: [Math.log(0.03), 1],
  line: [Math.log(0.5), 1],
  length: [Math.log(0.5), 1],
} as const;
/** Natural logarithms of the widths of g, e and b, then of the length of each axis. */
export type Widths = Float64Array;
const [SMOOTH, OWN, LINE, LENGTHS] = [0, 1, 2, 3];

export const widthsOf = ({ axes }: Field): number => LENGTHS + axes.length;

/** Computes t = 1 − w + w·kₐ for every two values of axis a, and the slope d ln(t) / d ln(length of the axis). */
function correlations(
  { apart }: Axis,
  logLength: number,
  interaction: number,
): { readonly table: Float64Array; readonly slope: Float64Array } {
  const table = new Float64Array(apart.length);
  const slope = new Float64Array(apart.length);
  const rate = Math.sqrt(5) / Math.exp(logLength);
  apart.forEach((distance, at) => {
    const r = rate * distance;
    const decay = Math.exp(-r);
    table[at] = 1 - interaction + interaction * (1 + r + (r * r) / 3) * decay;
    slope[at] = (interaction * ((r * r) / 3) * (1 + r) * decay) / table[at];
  });
  return { table, slope };
}

/** Computes the negative log probability of widths, up to a constant, and writes its gradient. */
function improbability(
  { axes, line, interaction }: Field,
  { designs, z, noise }: Measured,
  widths: Widths,
  gradient: Float64Array,
): number {
  const n = designs.length;
  const each = axes.map((axis, a) => ({ ...axis, ...correlations(axis, widths[LENGTHS + a], interaction) }));
  const [smooth, own, slope] = [SMOOTH, OWN, LINE].map((at) => Math.exp(2 * widths[at]));
  const product = designs.map((one, i) =>
    Float64Array.from({ length: i + 1 }, (_, j) =>
      each.reduce((value, { codes, size, table }) => value * table[codes[one] * size + codes[designs[j]]], smooth),
    ),
  );
  const lower = choleskyFactor(
    product.map((row, i) =>
      row.map(
        (value, j) =>
          value + COMMON + slope * line[designs[i]] * line[designs[j]] + (i === j ? own + noise[i] + JITTER : 0),
      ),
    ),
  );
  // `inverse` is the inverse of the Cholesky factor; `solved` is the inverse covariance times z.
  const inverse: Float64Array[] = [];
  const solved = new Float64Array(n);
  let value = 0;
  for (let i = 0; i < n; i += 1) {
    const row = new Float64Array(i + 1);
    for (let j = 0; j <= i; j += 1) {
      let sum = i === j ? 1 : 0;
      for (let k = j; k < i; k += 1) sum -= lower[i][k] * inverse[k][j];
      row[j] = sum / lower[i][i];
    }
    inverse.push(row);
    const whitened = row.reduce((sum, factor, j) => sum + factor * z[j], 0);
    row.forEach((factor, j) => (solved[j] += factor * whitened));
    value += 0.5 * whitened ** 2 + Math.log(lower[i][i]);
  }
  gradient.fill(0);
  for (let i = 0; i < n; i += 1)
    for (let j = 0; j <= i; j += 1) {
      let precision = 0;
      for (let k = i; k < n; k += 1) precision += inverse[k][i] * inverse[k][j];
      const weight = (precision - solved[i] * solved[j]) * (i === j ? 0.5 : 1);
      const ofSmooth = weight * product[i][j];
      gradient[SMOOTH] += 2 * ofSmooth;
      gradient[LINE] += 2 * weight * slope * line[designs[i]] * line[designs[j]];
      if (i === j) gradient[OWN] += 2 * weight * own;
      else
        each.forEach(({ codes, size, slope: along }, a) => {
          gradient[LENGTHS + a] += ofSmooth * along[codes[designs[i]] * size + codes[designs[j]]];
        });
    }
  widths.forEach((width, at) => {
    const [mean, deviation] = priorOf(at);
    value += 0.5 * ((width - mean) / deviation) ** 2;
    gradient[at] += (width - mean) / deviation ** 2;
  });
  return value;
}

const priorOf = (at: number): readonly [number, number] =>
  at < LENGTHS ? [PRIOR.smooth, PRIOR.own, PRIOR.line][at] : PRIOR.length;

const FIT_STEPS = 40;

/** Finds the most probable widths by steps along the signs of the gradient (Riedmiller, Braun: Rprop, 1993). */
export function fitWidths(field: Field, measured: Measured): Widths {
  const widths = Float64Array.from({ length: widthsOf(field) }, (_, at) => priorOf(at)[0]);
  const gradient = new Float64Array(widths.length);
  const before = new Float64Array(widths.length);
  const step = new Float64Array(widths.length).fill(0.2);
  let best = widths.slice();
  let least = Infinity;
  for (let round = 0; round < FIT_STEPS; round += 1) {
    const value = improbability(field, measured, widths, gradient);
    if (value < least) [least, best] = [value, widths.slice()];
    for (let at = 0; at < widths.length; at += 1) {
      const turned = gradient[at] * before[at];
      if (turned > 0) step[at] = Math.min(1, 1.2 * step[at]);
      if (turned < 0) step[at] *= 0.5;
      before[at] = turned < 0 ? 0 : gradient[at];
      widths[at] -= Math.sign(before[at]) * step[at];
    }
  }
  return best;
}

export interface Process {
  readonly own: number;
  /** The variance of z − e at every design. */
  readonly spread: Float64Array;
  /** Adds a measured design and the variance of its noise. Only `expect` needs the measured value. */
  add: (design: number, noise: number) => void;
  keep: (count: number) => void;
  expect: (z: Float64Array) => {
    readonly mean: Float64Array;
    /** Errors of the measured designs, each predicted from those measured before it, in standard deviations. */
    readonly errors: Float64Array;
    /** (z − mean) of each measured design, divided by the sum of the variances of its noise and e. */
    readonly pulls: Float64Array;
  };
  /** Covariances of z − e between some designs: the lower triangle. */
  covariances: (designs: readonly number[]) => readonly Float64Array[];
}

export function createProcess({ axes, line, interaction }: Field, widths: Widths): Process {
  const count = line.length;
  const tables = axes.map((axis, a) => ({
    ...axis,
    table: correlations(axis, widths[LENGTHS + a], interaction).table,
  }));
  const [smooth, own, slope] = [SMOOTH, OWN, LINE].map((at) => Math.exp(2 * widths[at]));
  const known: number[] = [];
  /** Rows of the Cholesky factor, extended to all designs. Its diagonal, with noise and e, is in `pivots`. */
  const rows: Float64Array[] = [];
  const pivots: number[] = [];
  const spread = line.map((value) => smooth + COMMON + slope * value * value);

  return {
    own,
    spread,
    add(design, noise) {
      const row = new Float64Array(count).fill(smooth);
      for (const { codes, size, table } of tables) {
        const from = codes[design] * size;
        for (let at = 0; at < count; at += 1) row[at] *= table[from + codes[at]];
      }
      const steep = slope * line[design];
      for (let at = 0; at < count; at += 1) row[at] += COMMON + steep * line[at];
      for (const before of rows) {
        const weight = before[design];
        for (let at = 0; at < count; at += 1) row[at] -= weight * before[at];
      }
      const pivot = Math.sqrt(Math.max(0, row[design]) + own + noise + JITTER);
      for (let at = 0; at < count; at += 1) {
        row[at] /= pivot;
        spread[at] -= row[at] ** 2;
      }
      known.push(design);
      rows.push(row);
      pivots.push(pivot);
    },
    keep(kept) {
      for (const row of rows.splice(kept)) for (let at = 0; at < count; at += 1) spread[at] += row[at] ** 2;
      known.length = kept;
      pivots.length = kept;
    },
    expect(z) {
      const mean = new Float64Array(count);
      const pulls = new Float64Array(rows.length);
      rows.forEach((row, i) => {
        const step = (z[i] - mean[known[i]]) / pivots[i];
        for (let at = 0; at < count; at += 1) mean[at] += step * row[at];
        pulls[i] = step;
      });
      const errors = pulls.slice();
      for (let i = rows.length - 1; i >= 0; i -= 1) {
        for (let k = i + 1; k < rows.length; k += 1) pulls[i] -= rows[i][known[k]] * pulls[k];
        pulls[i] /= pivots[i];
      }
      return { mean, errors, pulls };
    },
    covariances: (designs) =>
      designs.map((one, i) =>
        Float64Array.from({ length: i + 1 }, (_, j) => {
          const other = designs[j];
          let value = smooth;
          for (const { codes, size, table } of tables) value *= table[codes[one] * size + codes[other]];
          value += COMMON + slope * line[one] * line[other] + (i === j ? JITTER : 0);
          for (const row of rows) value -= row[one] * row[other];
          return value;
        }),
      ),
  };
}
