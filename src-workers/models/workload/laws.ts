import { ok, type Result, badInput, unsupported } from '../../domain/result.ts';
import { shortened } from '../../domain/text.ts';
import type { LawMoments, LengthLaw } from '../../domain/workload.ts';
import { firstIndex } from '../../numeric/search.ts';
import { weightedQuantile } from '../../numeric/statistics.ts';
import { normalUpperTail } from './normal.ts';

const DEFAULT_TRUNCATION = 1e-6;
/** Two columns of doubles take 16 MB. A loss table over them takes about a second. */
export const MAX_SUPPORT_POINTS = 1_000_000;
/** Maximum distance of a sum of probabilities or weights from 1, for values with three printed digits. */
export const PROBABILITY_SUM_TOLERANCE = 1e-3;

/** Points whose probability relative to the mode is below this are dropped, so that no probability is subnormal. */
const NEGLIGIBLE_WEIGHT = 1e-290;
/** Mass beyond the last computed weight, as a fraction of the truncation. It only affects `truncatedMass`. */
const TAIL_BEYOND = 1e-9;

export interface CategoricalPoint {
  readonly length: number;
  readonly probability: number;
}

export interface MixturePart {
  readonly weight: number;
  readonly law: LengthLaw;
}

/** Successes in `trials` tries, 0…trials. Fails unless trials is an integer ≥ 0 and 0 ≤ p ≤ 1. */
export function binomialLaw(trials: number, p: number): Result<LengthLaw> {
  const label = `binomial(${trials},${p})`;
  if (!isLength(trials)) return mustBe(label, 'trials', trials, 'an integer ≥ 0');
  if (!(p >= 0 && p <= 1)) return mustBe(label, 'p', p, 'a probability between 0 and 1');
  if (p === 0) return ok(pointMass(label, 0));
  if (p === 1) return ok(pointMass(label, trials));
  const odds = p / (1 - p);
  return unimodalLaw(label, {
    mode: Math.min(trials, Math.floor((trials + 1) * p)),
    last: trials,
    ratioUp: (k) => ((trials - k) / (k + 1)) * odds,
    truncation: 0,
    limitRatio: 0,
  });
}

/** Trials to the first success: 1, 2, … Fails unless 0 < p ≤ 1 and 1e-15 ≤ truncation ≤ 0.5. */
export function geometricLaw(p: number, truncation = DEFAULT_TRUNCATION): Result<LengthLaw> {
  const label = `geometric(${p})`;
  if (!(p > 0 && p <= 1)) return mustBe(label, 'p', p, 'a probability above 0, up to 1');
  if (!isTruncation(truncation)) return badTruncation(label, truncation);
  if (p === 1) return ok(pointMass(label, 1));
  const logFailure = Math.log1p(-p);
  const last = Math.max(1, Math.ceil(Math.log(truncation) / logFailure));
  if (last > MAX_SUPPORT_POINTS) return tooManyPoints(label, last);
  const support = new Float64Array(last);
  const probability = new Float64Array(last);
  const scale = p / -Math.expm1(last * logFailure);
  for (let i = 0; i < last; i++) {
    support[i] = i + 1;
    probability[i] = Math.exp(i * logFailure) * scale;
  }
  return ok({ label, support, probability, truncatedMass: Math.exp(last * logFailure) });
}

export function poissonLaw(mean: number, truncation = DEFAULT_TRUNCATION): Result<LengthLaw> {
  const label = `poisson(${mean})`;
  if (!(mean >= 0 && mean <= Number.MAX_SAFE_INTEGER)) return mustBe(label, 'mean', mean, 'a number ≥ 0');
  if (!isTruncation(truncation)) return badTruncation(label, truncation);
  if (mean === 0) return ok(pointMass(label, 0));
  return unimodalLaw(label, {
    mode: Math.floor(mean),
    last: Infinity,
    ratioUp: (k) => mean / (k + 1),
    truncation,
    limitRatio: 0,
  });
}

export function uniformLaw(a: number, b: number): Result<LengthLaw> {
  const label = `uniform(${a},${b})`;
  if (!isLength(a)) return mustBe(label, 'a', a, 'an integer ≥ 0');
  if (!isLength(b) || b < a) return mustBe(label, 'b', b, `an integer ≥ ${a}`);
  const points = b - a + 1;
  if (points > MAX_SUPPORT_POINTS) return tooManyPoints(label, points);
  const support = Float64Array.from({ length: points }, (_, i) => a + i);
  return ok({ label, support, probability: new Float64Array(points).fill(1 / points), truncatedMass: 0 });
}

/** Failures before the r-th success. Fails unless r > 0 (any real number), 0 < p ≤ 1 and 1e-15 ≤ truncation ≤ 0.5. */
export function negativeBinomialLaw(r: number, p: number, truncation = DEFAULT_TRUNCATION): Result<LengthLaw> {
  const label = `negative-binomial(${r},${p})`;
  if (!(r > 0 && r <= Number.MAX_SAFE_INTEGER)) return mustBe(label, 'r', r, 'a number > 0');
  if (!(p > 0 && p <= 1)) return mustBe(label, 'p', p, 'a probability above 0, up to 1');
  if (!isTruncation(truncation)) return badTruncation(label, truncation);
  if (p === 1) return ok(pointMass(label, 0));
  const q = 1 - p;
  const mode = r > 1 ? Math.floor(((r - 1) * q) / p) : 0;
  if (mode > Number.MAX_SAFE_INTEGER) return tooManyPoints(label, mode);
  return unimodalLaw(label, {
    mode,
    last: Infinity,
    ratioUp: (k) => ((k + r) / (k + 1)) * q,
    truncation,
    limitRatio: q,
  });
}

/** zipf(s, max): P(k) ∝ k^−s for k = 1…max. Fails unless s is finite and ≥ 0 and max is an integer ≥ 1. */
export function zipfLaw(s: number, max: number): Result<LengthLaw> {
  const label = `zipf(${s},${max})`;
  if (!(s >= 0 && s < Infinity)) return mustBe(label, 's', s, 'a finite number ≥ 0');
  if (!isLength(max) || max < 1) return mustBe(label, 'max', max, 'an integer ≥ 1');
  if (max > MAX_SUPPORT_POINTS) return tooManyPoints(label, max);
  const weights = Float64Array.from({ length: max }, (_, i) => Math.pow(i + 1, -s));
  return ok(normalised(label, 1, weights, 0));
}

/** ⌈e^N⌉ for a normal N, 1, 2, … Fails unless μ is finite, σ finite and > 0, and 1e-15 ≤ truncation ≤ 0.5. */
export function lognormalLaw(mu: number, sigma: number, truncation = DEFAULT_TRUNCATION): Result<LengthLaw> {
  const label = `lognormal(${mu},${sigma})`;
  if (!Number.isFinite(mu)) return mustBe(label, 'mu', mu, 'a finite number');
  if (!(sigma > 0 && sigma < Infinity)) return mustBe(label, 'sigma', sigma, 'a finite number > 0');
  if (!isTruncation(truncation)) return badTruncation(label, truncation);
  const standardised = (k: number): number => (Math.log(k) - mu) / sigma;
  const tail = (k: number): number => normalUpperTail(standardised(k));
  if (tail(MAX_SUPPORT_POINTS) > truncation) return tooManyPoints(label, MAX_SUPPORT_POINTS + 1);
  const last = firstIndex(1, MAX_SUPPORT_POINTS, (k) => tail(k) <= truncation);
  const weights = new Float64Array(last);
  let previous = -Infinity;
  for (let k = 1; k <= last; k++) {
    const z = standardised(k);
    // Differences are taken in the smaller tail, because 1 − (a tiny number) would lose digits.
    weights[k - 1] =
      z <= 0 ? normalUpperTail(-z) - normalUpperTail(-previous) : normalUpperTail(previous) - normalUpperTail(z);
    previous = z;
  }
  return ok(normalised(label, 1, weights, tail(last)));
}

export function constantLaw(k: number): Result<LengthLaw> {
  const label = `constant(${k})`;
  if (!isLength(k)) return mustBe(label, 'k', k, 'an integer ≥ 0');
  return ok(pointMass(label, k));
}

/** The probabilities must sum to 1 within `PROBABILITY_SUM_TOLERANCE` and are renormalised. Zeros are dropped. */
export function categoricalLaw(points: readonly CategoricalPoint[], label?: string): Result<LengthLaw> {
  const name = label ?? `categorical(${points.map((point) => `${point.length}:${point.probability}`).join(',')})`;
  const weightOf = new Map<number, number>();
  let sum = 0;
  for (const { length, probability } of points) {
    if (!isLength(length)) return mustBe(inMessage(name), 'length', length, 'an integer ≥ 0');
    if (!(probability >= 0 && probability <= 1 + PROBABILITY_SUM_TOLERANCE)) {
      return mustBe(inMessage(name), `probability of length ${length}`, probability, 'a number between 0 and 1');
    }
    if (weightOf.has(length)) {
      return badInput(`${inMessage(name)}: length ${length} is given twice`);
    }
    weightOf.set(length, probability);
    sum += probability;
  }
  return isOne(sum) ? fromWeights(name, weightOf, 0) : badSum(name, 'probabilities', sum);
}

/** The weights must sum to 1 within `PROBABILITY_SUM_TOLERANCE` and are renormalised. */
export function mixtureLaw(parts: readonly MixturePart[]): Result<LengthLaw> {
  const label = `mixture(${parts.map((part) => `${part.weight}*${part.law.label}`).join(',')})`;
  let sum = 0;
  for (const { weight, law } of parts) {
    if (!(weight >= 0 && weight <= 1 + PROBABILITY_SUM_TOLERANCE)) {
      return mustBe(inMessage(label), `weight of ${inMessage(law.label)}`, weight, 'a number between 0 and 1');
    }
    sum += weight;
  }
  if (!isOne(sum)) return badSum(label, 'weights', sum);
  const weightOf = new Map<number, number>();
  let truncatedMass = 0;
  for (const { weight, law } of parts) {
    truncatedMass += (weight / sum) * law.truncatedMass;
    for (let i = 0; i < law.support.length; i++) {
      const length = law.support[i];
      weightOf.set(length, (weightOf.get(length) ?? 0) + weight * law.probability[i]);
    }
  }
  return fromWeights(label, weightOf, truncatedMass);
}

/** `counts` maps a length, an integer ≥ 0, to its number of occurrences (or any weight ≥ 0). */
export function empiricalLaw(counts: ReadonlyMap<number, number>, label = 'empirical'): Result<LengthLaw> {
  for (const [length, count] of counts) {
    if (!isLength(length)) return mustBe(inMessage(label), 'length', length, 'an integer ≥ 0');
    if (!(count >= 0 && count < Infinity)) {
      return mustBe(inMessage(label), `count of length ${length}`, count, 'a finite number ≥ 0');
    }
  }
  return fromWeights(label, counts, 0);
}

export function moments(law: LengthLaw): LawMoments {
  const { support, probability } = law;
  const mean = compensatedSum(support.length, (i) => support[i] * probability[i]);
  const variance = compensatedSum(support.length, (i) => {
    const deviation = support[i] - mean;
    return deviation * deviation * probability[i];
  });
  return {
    mean,
    standardDeviation: Math.sqrt(variance),
    supportMin: support[0],
    supportMax: support[support.length - 1],
  };
}

/** P(W ≤ support[i]) for every i; the last is exactly 1. */
export function cumulative(law: LengthLaw): Float64Array {
  const out = new Float64Array(law.probability.length);
  let sum = 0;
  for (let i = 0; i < out.length; i++) {
    sum += law.probability[i];
    out[i] = Math.min(1, sum);
  }
  out[out.length - 1] = 1;
  return out;
}

/** The smallest length whose cumulative probability reaches q, up to rounding: 8 for uniform(1, 10) and 0.8. */
export function quantile(law: LengthLaw, q: number): number {
  const { support, probability } = law;
  return weightedQuantile(support, probability, q - support.length * Number.EPSILON);
}

interface UnimodalShape {
  readonly mode: number;
  readonly last: number;
  /** P(k+1) / P(k). */
  readonly ratioUp: (k: number) => number;
  /** Mass to cut from an infinite tail; 0 for a finite support. */
  readonly truncation: number;
  /** lim P(k+1)/P(k). Together with the ratio at the current point, it bounds the tail by a geometric series. */
  readonly limitRatio: number;
}

/** Uses only ratios of neighbouring probabilities, so that no weight underflows before it is negligible. */
function unimodalLaw(label: string, shape: UnimodalShape): Result<LengthLaw> {
  const { mode, last, ratioUp, truncation, limitRatio } = shape;
  // An infinite tail is followed far beyond its cut, so more points than the limit may be computed before it is cut.
  const walkLimit = 4 * MAX_SUPPORT_POINTS;
  const below: number[] = [];
  for (let k = mode, weight = 1; k > 0; k--) {
    weight /= ratioUp(k - 1);
    if (!(weight > NEGLIGIBLE_WEIGHT)) break;
    below.push(weight);
    if (below.length > MAX_SUPPORT_POINTS) return tooManyPoints(label, below.length);
  }
  const upper: number[] = [1];
  let sum = 1;
  for (let k = mode, weight = 1; k < last; k++) {
    const ratio = ratioUp(k);
    const bound = Math.max(ratio, limitRatio);
    if (bound < 1 && (weight * bound) / (1 - bound) < truncation * TAIL_BEYOND * sum) break;
    weight *= ratio;
    if (!(weight > NEGLIGIBLE_WEIGHT)) break;
    upper.push(weight);
    sum += weight;
    if (upper.length > walkLimit) return tooManyPoints(label, upper.length);
  }
  const first = mode - below.length;
  const weights = Float64Array.from([...below.reverse(), ...upper]);
  const total = compensatedSum(weights.length, (i) => weights[i]);
  // The tail is summed from the smallest weight up, which is exact to rounding for any truncation.
  let end = weights.length;
  let cut = 0;
  while (truncation > 0 && end > 1 && cut + weights[end - 1] <= truncation * total) cut += weights[--end];
  if (end > MAX_SUPPORT_POINTS) return tooManyPoints(label, end);
  return ok(normalised(label, first, weights.subarray(0, end), cut / total));
}

function normalised(label: string, first: number, weights: Float64Array, truncatedMass: number): LengthLaw {
  const total = compensatedSum(weights.length, (i) => weights[i]);
  const kept = weights.reduce((count, weight) => (weight / total > 0 ? count + 1 : count), 0);
  const support = new Float64Array(kept);
  const probability = new Float64Array(kept);
  let next = 0;
  for (let i = 0; i < weights.length; i++) {
    const p = weights[i] / total;
    if (!(p > 0)) continue;
    support[next] = first + i;
    probability[next++] = p;
  }
  return { label, support, probability, truncatedMass };
}

function fromWeights(label: string, weightOf: ReadonlyMap<number, number>, truncatedMass: number): Result<LengthLaw> {
  const lengths = Float64Array.from(weightOf.keys()).sort();
  const total = compensatedSum(lengths.length, (i) => weightOf.get(lengths[i])!);
  if (!(total > 0 && total < Infinity)) {
    return badInput(
      `${inMessage(label)}: the total weight is ${total}. At least one length must have a weight above 0.`,
    );
  }
  const support = lengths.filter((length) => weightOf.get(length)! / total > 0);
  if (support.length > MAX_SUPPORT_POINTS) return tooManyPoints(label, support.length);
  const probability = support.map((length) => weightOf.get(length)! / total);
  return ok({ label, support, probability, truncatedMass });
}

function pointMass(label: string, length: number): LengthLaw {
  return { label, support: Float64Array.of(length), probability: Float64Array.of(1), truncatedMass: 0 };
}

/** Neumaier's compensated sum of `term(0)` … `term(count − 1)`. */
function compensatedSum(count: number, term: (i: number) => number): number {
  let sum = 0;
  let lost = 0;
  for (let i = 0; i < count; i++) {
    const value = term(i);
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

function isLength(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isTruncation(value: number): boolean {
  return value >= 1e-15 && value <= 0.5;
}

/** @param of returns the new value of a length; it must never decrease with the length */
export function mappedLaw({ support, probability, ...law }: LengthLaw, of: (length: number) => number): LengthLaw {
  const values: number[] = [];
  const masses: number[] = [];
  support.forEach((length, at) => {
    const value = of(length);
    if (values.at(-1) === value) masses[masses.length - 1] += probability[at];
    else {
      values.push(value);
      masses.push(probability[at]);
    }
  });
  return { ...law, support: Float64Array.from(values), probability: Float64Array.from(masses) };
}

function mustBe(label: string, argument: string, got: number, what: string): Result<never> {
  return badInput(`${label}: ${argument} must be ${what}, not ${got}`);
}

function badTruncation(label: string, got: number): Result<never> {
  return mustBe(label, 'truncation', got, 'a probability between 1e-15 and 0.5');
}

function isOne(sum: number): boolean {
  return Math.abs(sum - 1) <= PROBABILITY_SUM_TOLERANCE;
}

function badSum(label: string, what: string, sum: number): Result<never> {
  return badInput(`${inMessage(label)}: the ${what} sum to ${sum} instead of 1 (within ${PROBABILITY_SUM_TOLERANCE})`);
}

function tooManyPoints(label: string, points: number): Result<never> {
  return unsupported(
    `${inMessage(label)}: at least ${points} lengths are possible; the limit is ${MAX_SUPPORT_POINTS}. Specify a law with fewer lengths.`,
  );
}

/** The label of a law of a thousand points would not be readable. */
const inMessage = (label: string): string => shortened(label, 80);
