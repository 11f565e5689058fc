import { ok, type Result, badInput } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { solveSymmetric } from '../../numeric/symmetric.ts';
import { empiricalLaw } from './laws.ts';

/** Figures of lengths; only the mean is required. Quartiles are of the sorted lengths; `sd` is of the population. */
export interface SummaryFigures {
  readonly min?: number;
  readonly q1?: number;
  readonly median?: number;
  readonly q3?: number;
  readonly max?: number;
  readonly mean?: number;
  readonly sd?: number;
  readonly skewness?: number;
}
export const SUMMARY_FIGURES = ['min', 'q1', 'median', 'q3', 'max', 'mean', 'sd', 'skewness'] as const;

/** Maximum number of points of a section (a range between two figures). The lower end of a long section is denser. */
const SECTION_POINTS = 20_000;
/** Without a maximum, a law ends this many times `reach` above its figures, where an exponential law has e⁻²¹ left. */
const TAIL_SPREADS = 20;
/** Tolerance of the mean as a fraction of the range, because people round figures. */
const MEAN_TOLERANCE = 1e-3;
const SPREAD_TOLERANCE = 0.01;
const SKEWNESS_TOLERANCE = 0.05;
/** Minimum probability of a stated end, too small to change a moment. */
const END_MASS = 1e-12;
const MAX_STEPS = 300;

/**
 * Makes the law of maximum entropy among all laws with these quartiles, moments and ends (Jaynes, Phys. Rev. 106
 * (1957), doi:10.1103/PhysRev.106.620): in each range between quartiles, it is a factor times exp of the same
 * polynomial.
 *
 * Without `min`, lengths begin at 0; without `max`, they end far above the mean. Fails if figures are missing,
 * out of range, out of order, or impossible together; the message then says what would be possible.
 */
export function summaryLaw(figures: SummaryFigures, label: string): Result<LengthLaw> {
  const checked = checkFigures(figures, label);
  if (!checked.ok) return checked;
  const { mean, sd, skewness } = figures;
  const sections = makeSections(figures, checked.value);
  const [lowest, highest] = meanRange(sections);
  const slack = MEAN_TOLERANCE * (checked.value.high - checked.value.low);
  if (!(mean! >= lowest - slack && mean! <= highest + slack))
    return badInput(
      `${label}: the mean ${mean} is not possible. With these quartiles and ends it must be between ${digits(lowest)} and ${digits(highest)}.`,
    );
  const scale = sd !== undefined && sd > 0 ? sd : Math.max(1, checked.value.high - checked.value.low);
  const square = sd === undefined ? [] : [(sd / scale) ** 2];
  let counts = countUnits(figures, sections, maximumEntropy(sections, mean!, scale, [0, ...square]));
  const spread = computeFigures(counts).sd;
  if (sd !== undefined && Math.abs(spread - sd) > SPREAD_TOLERANCE * Math.max(1, sd))
    return badInput(
      `${label}: no lengths have the sd ${sd} with the other figures; the nearest possible sd is about ${digits(spread)}. Correct the sd, or omit a figure.`,
    );
  if (sd !== undefined && skewness !== undefined && sd > 0) {
    const cube = skewness * (sd / scale) ** 3;
    counts = countUnits(figures, sections, maximumEntropy(sections, mean!, scale, [0, ...square, cube]));
    const met = computeFigures(counts);
    const { low, high } = checked.value;
    // If only the ends, the mean and the sd are known, the extreme laws have two points each, one of them at an end.
    const [least, most] = [sd / (mean! - low) - (mean! - low) / sd, (high - mean!) / sd - sd / (high - mean!)];
    if (
      Math.abs(met.sd - sd) > SPREAD_TOLERANCE * sd ||
      Math.abs(met.skewness - skewness) > SKEWNESS_TOLERANCE * Math.max(Math.abs(skewness), 1)
    )
      return badInput(
        `${label}: no lengths have the skewness ${skewness} with the other figures. It must be from ${digits(least)} to ${digits(most)}; quartiles make this range narrower. Correct the skewness, or omit it.`,
      );
  }
  const law = empiricalLaw(counts, label);
  return law.ok ? ok({ ...law.value, fitted: true }) : law;
}

/** Returns the weight of each length. A stated end gets at least `END_MASS`, even if the moments make it unlikely. */
function countUnits(
  { min, max }: SummaryFigures,
  sections: readonly Section[],
  weights: readonly Float64Array[],
): Map<number, number> {
  const counts = new Map<number, number>();
  sections.forEach(({ points }, s) =>
    points.forEach((length, i) => counts.set(length, (counts.get(length) ?? 0) + weights[s][i])),
  );
  for (const end of [min, max]) if (end !== undefined) counts.set(end, Math.max(counts.get(end) ?? 0, END_MASS));
  return counts;
}

const digits = (value: number): string => String(Number(value.toPrecision(4)));

interface Ends {
  readonly low: number;
  readonly high: number;
}

function checkFigures(figures: SummaryFigures, label: string): Result<Ends> {
  const refuse = (message: string): Result<never> => badInput(`${label}: ${message}`);
  const { mean, sd, skewness, min, max, q3 } = figures;
  if (mean === undefined) return refuse('the mean is missing. Specify mean=….');
  if (!(mean >= 0)) return refuse(`mean is ${mean}. It must be at least 0.`);
  if (sd !== undefined && !(sd >= 0)) return refuse(`sd is ${sd}. It must be at least 0.`);
  if (skewness !== undefined && sd === undefined) return refuse('skewness needs sd. Specify sd=… too.');
  for (const end of ['min', 'max'] as const) {
    const value = figures[end];
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0))
      return refuse(`${end} is ${value}. It must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  let before: { readonly name: string; readonly value: number } | null = null;
  for (const name of ['min', 'q1', 'median', 'q3', 'max'] as const) {
    const value = figures[name];
    if (value === undefined) continue;
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER))
      return refuse(`${name} is ${value}. It must be from 0 to ${Number.MAX_SAFE_INTEGER}.`);
    if (before && value < before.value)
      return refuse(
        `${name} is ${value}, which is below ${before.name} ${before.value}. Specify figures in ascending order.`,
      );
    before = { name, value };
  }
  const low = min ?? 0;
  if (max !== undefined && (mean < low || mean > max))
    return refuse(`mean is ${mean}. It must be from min ${low} to max ${max}.`);
  if (mean < low) return refuse(`mean is ${mean}. It must be at least min ${low}.`);
  const reach = Math.max(mean - low, sd ?? 0, (q3 ?? low) - low, 1);
  return ok({ low, high: max ?? Math.ceil(Math.max(mean, before?.value ?? 0) + TAIL_SPREADS * reach) });
}

interface Section {
  readonly mass: number;
  readonly points: Float64Array;
  /** Number of lengths that each point represents. */
  readonly widths: Float64Array;
}

function makeSections({ q1, median, q3 }: SummaryFigures, { low, high }: Ends): readonly Section[] {
  const inner = [
    { share: 0.25, value: q1 },
    { share: 0.5, value: median },
    { share: 0.75, value: q3 },
  ].flatMap(({ share, value }) =>
    value === undefined ? [] : [{ share, value: Math.min(high, Math.max(low, Math.round(value))) }],
  );
  let from = low;
  let below = 0;
  return [...inner, { share: 1, value: high }].map(({ share, value }, at) => {
    // A section begins above the previous one. If two figures are equal, its whole mass is at that length.
    const section = { mass: share - below, ...pointsBetween(at === 0 || value === from ? from : from + 1, value) };
    from = value;
    below = share;
    return section;
  });
}

function pointsBetween(first: number, last: number): Omit<Section, 'mass'> {
  const count = last - first + 1;
  if (count <= SECTION_POINTS)
    return {
      points: Float64Array.from({ length: count }, (_, i) => first + i),
      widths: new Float64Array(count).fill(1),
    };
  const points: number[] = [];
  const widths: number[] = [];
  let before = first - 1;
  for (let i = 1; i <= SECTION_POINTS; i += 1) {
    const upTo = i === SECTION_POINTS ? last : Math.floor(first + (last - first) * (i / SECTION_POINTS) ** 3);
    if (upTo <= before) continue;
    // The first and last lengths get points of their own, so that the law has exactly the given ends.
    points.push(before < first ? first : upTo === last ? last : Math.round((before + 1 + upTo) / 2));
    widths.push(upTo - before);
    before = upTo;
  }
  return { points: Float64Array.from(points), widths: Float64Array.from(widths) };
}

function meanRange(sections: readonly Section[]): readonly [number, number] {
  let lowest = 0;
  let highest = 0;
  for (const { mass, points } of sections) {
    lowest += mass * points[0];
    highest += mass * points[points.length - 1];
  }
  return [lowest, highest];
}

/** Minimises the convex dual Σ mass · ln Z(λ) − λ · moments by damped Newton steps, even if no law has the moments. */
function maximumEntropy(
  sections: readonly Section[],
  mean: number,
  scale: number,
  moments: readonly number[],
): readonly Float64Array[] {
  const order = moments.length;
  const largest =
    sections.reduce(
      (most, { points }) => Math.max(most, Math.abs(points[0] - mean), Math.abs(points[points.length - 1] - mean)),
      0,
    ) / scale || 1;
  // Powers of the deviation are divided by their largest value, so that the equations have similar sizes.
  const features = sections.map(({ points }) => points.map((length) => (length - mean) / scale / largest));
  const targets = moments.map((moment, j) => moment / largest ** (j + 1));
  let lambda = new Array<number>(order).fill(0);
  let state = dual(sections, features, lambda, targets);
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const direction = newtonStep(state.hessian, state.gradient);
    let length = 1;
    let next = state;
    for (; length > 1e-6; length /= 2) {
      const tried = lambda.map((value, j) => value + length * direction[j]);
      next = dual(sections, features, tried, targets);
      if (next.value < state.value) {
        lambda = tried;
        break;
      }
    }
    if (!(next.value < state.value)) break;
    const gain = state.value - next.value;
    state = next;
    if (gain < 1e-15 && state.gradient.every((slope) => Math.abs(slope) < 1e-12)) break;
  }
  return state.weights;
}

interface Dual {
  readonly value: number;
  readonly gradient: readonly number[];
  readonly hessian: readonly (readonly number[])[];
  readonly weights: readonly Float64Array[];
}

function dual(
  sections: readonly Section[],
  features: readonly Float64Array[],
  lambda: readonly number[],
  targets: readonly number[],
): Dual {
  const order = lambda.length;
  let value = -lambda.reduce((sum, each, j) => sum + each * targets[j], 0);
  const gradient = targets.map((target) => -target);
  const hessian = lambda.map(() => lambda.map(() => 0));
  const weights = sections.map(({ mass, widths }, s) => {
    const x = features[s];
    const exponents = x.map((deviation) => {
      let power = 1;
      let sum = 0;
      for (let j = 0; j < order; j += 1) sum += lambda[j] * (power *= deviation);
      return sum;
    });
    const top = exponents.reduce((most, each) => Math.max(most, each), -Infinity);
    const own = exponents.map((each, i) => widths[i] * Math.exp(each - top));
    const total = own.reduce((sum, each) => sum + each, 0);
    value += mass * (Math.log(total) + top);
    const powers = new Array<number>(2 * order + 1).fill(0);
    own.forEach((weight, i) => {
      let power = weight / total;
      for (let k = 0; k <= 2 * order; k += 1) {
        powers[k] += power;
        power *= x[i];
      }
    });
    for (let j = 0; j < order; j += 1) {
      gradient[j] += mass * powers[j + 1];
      for (let k = 0; k < order; k += 1) hessian[j][k] += mass * (powers[j + k + 2] - powers[j + 1] * powers[k + 1]);
    }
    return own.map((weight) => (mass * weight) / total);
  });
  return { value, gradient, hessian, weights };
}

/** Computes the step −H⁻¹g for the Hessian H and the gradient g. A small ridge keeps H regular. */
function newtonStep(hessian: readonly (readonly number[])[], gradient: readonly number[]): number[] {
  const ridge = 1e-14 + 1e-12 * hessian.reduce((sum, row, j) => sum + row[j], 0);
  return solveSymmetric(
    hessian.map((row, j) => row.map((value, k) => (j === k ? value + ridge : value))),
    gradient.map((slope) => -slope),
  );
}

function computeFigures(counts: ReadonlyMap<number, number>): { readonly sd: number; readonly skewness: number } {
  let mean = 0;
  for (const [length, weight] of counts) mean += weight * length;
  let square = 0;
  let cube = 0;
  for (const [length, weight] of counts) {
    square += weight * (length - mean) ** 2;
    cube += weight * (length - mean) ** 3;
  }
  const sd = Math.sqrt(square);
  return { sd, skewness: sd > 0 ? cube / sd ** 3 : 0 };
}
