import { fourier } from '../../numeric/fourier.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { normalUpperTail } from '../../models/workload/normal.ts';
import { MAX_POINTS } from '../constants.ts';

/** Sums of at least this many terms of comparable variance, if hardly skewed, are computed as Pearson III laws. */
const SMOOTH_TERMS = 16;
const SMOOTH_SKEWNESS = 0.5;
/** Sums of more draws than this are computed as Pearson III laws, whatever their skewness is. */
const SMOOTH_DRAWS = 256;
const TRANSFORM_POINTS = 1024;
/** A larger skewness of a Pearson III law is reduced to this, because the grid of normal quantiles is too coarse. */
const LARGEST_SKEWNESS = 4;
/** Wilson and Hilferty's cube counts as 0 if its base is below this, because a sum has larger rounding errors. */
const LOWEST_CUBE_BASE = 1e-4;
/** −ln P(a sum lies beyond one end of its window). Chosen: e⁻²³ is 1e-10, like `NEGLIGIBLE_DEPTH`. */
const WINDOW_INFORMATION = 23;
/** The search for a window ends once a step leaves more than this fraction of the window. */
const WORTHWHILE_WINDOW = 0.99;

/** `values` strictly increase, and `survival[i]` = P(X > values[i]), so the last entry is 0. */
export interface DiscreteLaw {
  readonly values: Float64Array;
  readonly survival: Float64Array;
}

export interface Cumulants {
  readonly mean: number;
  readonly variance: number;
  /** Third central moment. */
  readonly third: number;
}

export function fromMasses(values: Float64Array, masses: Float64Array): DiscreteLaw {
  return { values, survival: survivalFrom(masses.slice()) };
}

/** Turns P(X = values[i]) into P(X > values[i]), in place. */
function survivalFrom(masses: Float64Array): Float64Array {
  // Adding from the top keeps the precision of small tails.
  for (let i = masses.length - 1, above = 0; i >= 0; i--) {
    const mass = masses[i];
    masses[i] = above;
    above = Math.min(1, above + mass);
  }
  return masses;
}

export function computeMasses({ survival }: DiscreteLaw): Float64Array {
  const masses = new Float64Array(survival.length);
  let above = 1;
  for (let i = 0; i < masses.length; i++) {
    masses[i] = above - survival[i];
    above = survival[i];
  }
  return masses;
}

/** Lists the values with a positive probability. Probabilities in a far tail may be rounded to 0. */
export function listAtoms(law: DiscreteLaw) {
  const masses = computeMasses(law);
  return { support: law.values.filter((_, i) => masses[i] > 0), probability: masses.filter((mass) => mass > 0) };
}

/** The law of the largest of `count` independent draws. `count` > 0 may be a fraction. */
export function takeMaximum(law: DiscreteLaw, count: number): DiscreteLaw {
  if (count === 1) return law;
  const survival = new Float64Array(law.survival.length);
  takeMaximumInto(survival, law.survival, count);
  return { values: law.values, survival };
}

/** Writes 1 − (1 − s)^count. Whole powers use products s + t − s·t, which keep the precision of small tails. */
export function takeMaximumInto(out: Float64Array, survival: Float64Array, count: number): void {
  const points = survival.length;
  if (!Number.isInteger(count) || count < 1 || count >= 2 ** 31) {
    for (let i = 0; i < points; i++) out[i] = -Math.expm1(count * Math.log1p(-survival[i]));
    return;
  }
  for (let i = 0; i < points; i++) out[i] = survival[i];
  let odd = count;
  for (; odd % 2 === 0; odd /= 2) for (let i = 0; i < points; i++) out[i] *= 2 - out[i];
  if (odd === 1) return;
  for (let i = 0; i < points; i++) {
    let square = out[i];
    let either = square;
    for (let rest = odd >> 1; rest > 0; rest >>= 1) {
      square *= 2 - square;
      if (rest & 1) either += square - either * square;
    }
    out[i] = either;
  }
}

export function shiftLaw(law: DiscreteLaw, offset: number): DiscreteLaw {
  return offset === 0 ? law : { values: law.values.map((v) => v + offset), survival: law.survival };
}

export function computeCumulants(law: DiscreteLaw): Cumulants {
  const { values, survival } = law;
  const mean = computeMean(values, survival);
  let variance = 0;
  let third = 0;
  let above = 1;
  for (let i = 0; i < values.length; i++) {
    const mass = above - survival[i];
    above = survival[i];
    const d = values[i] - mean;
    variance += mass * d * d;
    third += mass * d * d * d;
  }
  return { mean, variance, third };
}

/** E[X]: the lowest value plus ∫ P(X > v) dv above it, for values of any sign. */
export function computeMean(values: Float64Array, survival: Float64Array): number {
  let mean = values[0];
  for (let i = 1; i < values.length; i++) mean += (values[i] - values[i - 1]) * survival[i - 1];
  return mean;
}

/**
 * Moves the law onto `grid`, which strictly increases. Every atom is divided between the two grid points around it, so
 * that the mean stays the same; atoms outside move to the nearest end.
 */
export function moveToGrid(law: DiscreteLaw, grid: Float64Array): DiscreteLaw {
  const { values, survival } = law;
  const masses = new Float64Array(grid.length);
  const last = grid.length - 1;
  let cell = -1;
  let next = grid[0];
  let width = Infinity;
  let above = 1;
  for (let i = 0; i < values.length; i++) {
    const mass = above - survival[i];
    above = survival[i];
    const v = values[i];
    if (v >= next) {
      while (cell < last && grid[cell + 1] <= v) cell++;
      next = cell < last ? grid[cell + 1] : Infinity;
      width = next - grid[cell];
    }
    if (cell < 0) masses[0] += mass;
    else {
      // The last point has no cell above it, so it passes no mass on.
      const share = (v - grid[cell]) / width;
      masses[cell] += mass * (1 - share);
      if (share > 0) masses[cell + 1] += mass * share;
    }
  }
  return { values: grid, survival: survivalFrom(masses) };
}

/**
 * Picks at most `maxPoints` of the law's own values, including both ends, evenly spaced in a weighted sum of the value,
 * the probability and the logarithm of the tail, which determines the maximum of many draws.
 */
export function makeCoarseGrid(law: DiscreteLaw, maxPoints = MAX_POINTS): Float64Array {
  const { values, survival } = law;
  const count = values.length;
  if (count <= maxPoints) return values;
  const range = values[count - 1] - values[0];
  const tailFloor = Math.max(survival[count - 2], 1e-12);
  const tail = -Math.log(tailFloor);
  const coordinate = (i: number) =>
    (values[i] - values[0]) / range + (1 - survival[i]) + -Math.log(Math.max(survival[i], tailFloor)) / tail;
  const first = coordinate(0);
  const step = (coordinate(count - 1) - first) / (maxPoints - 2);
  const picked = new Float64Array(maxPoints);
  picked[0] = values[0];
  let kept = 1;
  let next = first + step;
  for (let i = 1; i < count - 1; i++) {
    const c = coordinate(i);
    if (c >= next) {
      picked[kept++] = values[i];
      next = c + step;
    }
  }
  picked[kept++] = values[count - 1];
  return picked.slice(0, kept);
}

function mergeValues(a: Float64Array, b: Float64Array): Float64Array {
  const merged = new Float64Array(a.length + b.length);
  let count = 0;
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const x = a[i];
    const y = b[j];
    merged[count++] = x <= y ? x : y;
    if (x <= y) i++;
    if (y <= x) j++;
  }
  while (i < a.length) merged[count++] = a[i++];
  while (j < b.length) merged[count++] = b[j++];
  return merged.slice(0, count);
}

/** Merges the values of all laws. More than `MAX_POINTS` values are thinned out as for an equal mixture of the laws. */
export function makeCommonGrid(laws: readonly DiscreteLaw[]): Float64Array {
  if (laws.length === 1) return makeCoarseGrid(laws[0]);
  const candidates = listCandidateValues(laws);
  if (candidates.length <= MAX_POINTS) return candidates;
  const survival = new Float64Array(candidates.length);
  for (const { values, survival: own } of laws) {
    let at = -1;
    let above = 1 / laws.length;
    for (let i = 0; i < candidates.length; i++) {
      while (at + 1 < values.length && values[at + 1] <= candidates[i]) above = own[++at] / laws.length;
      survival[i] += above;
    }
  }
  return makeCoarseGrid({ values: candidates, survival });
}

/** Lists the values of all laws. If they are too many, the result is 2·`MAX_POINTS` evenly spaced values instead. */
function listCandidateValues(laws: readonly DiscreteLaw[]): Float64Array {
  let union = laws[0].values;
  for (let i = 1; i < laws.length && union.length <= 4 * MAX_POINTS; i++) union = mergeValues(union, laws[i].values);
  if (union.length <= 4 * MAX_POINTS) return union;
  let low = Infinity;
  let high = -Infinity;
  for (const { values } of laws) {
    low = Math.min(low, values[0]);
    high = Math.max(high, values[values.length - 1]);
  }
  const even = new Float64Array(2 * MAX_POINTS);
  for (let i = 0; i < even.length; i++) even[i] = low + ((high - low) * i) / (even.length - 1);
  return even;
}

export interface SumTerm {
  readonly law: DiscreteLaw;
  readonly cumulants: Cumulants;
  readonly logMoments: Map<number, number>;
}

export function makeSumTerm(law: DiscreteLaw): SumTerm {
  return { law, cumulants: computeCumulants(law), logMoments: new Map() };
}

/**
 * Returns the law of the sum of independent draws, `counts[i]` from `terms[i]`. A sum of many terms is approximated by
 * a Pearson III law fitted to its mean, variance and skewness (Wilson, Hilferty 1931, doi:10.1073/pnas.17.12.684).
 * Other sums are exact to rounding if their lattice fits `TRANSFORM_POINTS`; otherwise only the mean is exact.
 */
export function addLaws(terms: readonly SumTerm[], counts: readonly number[]): DiscreteLaw {
  return addLawsEach(terms, [counts])[0];
}

export function addLawsEach(terms: readonly SumTerm[], countLists: readonly (readonly number[])[]): DiscreteLaw[] {
  const laws = countLists.map((counts) => addSimply(terms, counts));
  const hard = countLists.filter((_, i) => laws[i] === null);
  const transformed = hard.length === 0 ? [] : addByTransform(terms, hard);
  return laws.map((law) => law ?? transformed.shift()!);
}

/** The law of the sum if it is a single draw, a constant, or smooth; `null` if it must be computed by transform. */
function addSimply(terms: readonly SumTerm[], counts: readonly number[]): DiscreteLaw | null {
  const total = { mean: 0, variance: 0, third: 0, squaredVariance: 0, count: 0, lowest: 0 };
  terms.forEach(({ law, cumulants }, i) => {
    const count = counts[i];
    total.lowest += count * law.values[0];
    total.count += count;
    total.mean += count * cumulants.mean;
    total.variance += count * cumulants.variance;
    total.third += count * cumulants.third;
    total.squaredVariance += count * cumulants.variance * cumulants.variance;
  });
  if (total.count === 1) return terms[counts.indexOf(1)].law;
  // A deviation below 1e-9 of the mean counts as 0, because rounding would make neighbouring grid values equal.
  if (total.variance <= 1e-18 * total.mean * total.mean) {
    return { values: Float64Array.of(total.mean), survival: Float64Array.of(0) };
  }
  const skewness = total.third / total.variance ** 1.5;
  const effectiveTerms = (total.variance * total.variance) / total.squaredVariance;
  const smooth = effectiveTerms >= SMOOTH_TERMS && Math.abs(skewness) <= SMOOTH_SKEWNESS;
  return smooth || total.count > SMOOTH_DRAWS
    ? raiseTo(total.lowest, makeSmoothLaw(total.mean, Math.sqrt(total.variance), skewness))
    : null;
}

/** Moves all mass below `lowest` to `lowest`, and the other values towards `lowest` so that the mean stays the same. */
function raiseTo(lowest: number, law: DiscreteLaw): DiscreteLaw {
  if (law.values[0] >= lowest) return law;
  const first = Math.max(0, law.values.findIndex((value) => value > lowest) - 1);
  const values = law.values.slice(first);
  const survival = law.survival.subarray(first);
  values[0] = lowest;
  const scale = (computeMean(law.values, law.survival) - lowest) / (computeMean(values, survival) - lowest);
  return { values: values.map((value) => lowest + (value - lowest) * scale), survival };
}

/** Standard normal quantiles on an even grid, with the mass around each. The masses at both ends include the tails. */
const NORMAL_GRID = (() => {
  const points = 321;
  const reach = 6.4;
  const step = (2 * reach) / (points - 1);
  const z = Float64Array.from({ length: points }, (_, i) => -reach + i * step);
  const survival = z.map((value, i) => (i === points - 1 ? 0 : normalUpperTail(value + step / 2)));
  return { z, survival, masses: computeMasses({ values: z, survival }) };
})();

export function makeSmoothLaw(mean: number, standardDeviation: number, skewness: number): DiscreteLaw {
  const { z, survival, masses } = NORMAL_GRID;
  const points = z.length;
  const bounded = Math.min(LARGEST_SKEWNESS, Math.abs(skewness));
  const standard = new Float64Array(points);
  // As the skewness goes to 0, the cube approaches the normal quantile itself.
  const cubed = bounded >= 1e-6;
  let first = 0;
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < points; i++) {
    let value = z[i];
    if (cubed) {
      // The law ends 2/skewness deviations below its mean, where the cube is 0. Grid points beyond that end, or within
      // the rounding error of the sum, become one atom at the end.
      let base = 1 + (bounded * value) / 6 - (bounded * bounded) / 36;
      if (base < LOWEST_CUBE_BASE) {
        base = 0;
        first = i;
      }
      value = (2 / bounded) * (base * base * base - 1);
    }
    standard[i] = value;
    sum += masses[i] * value;
    squares += masses[i] * value * value;
  }
  // The cube is an approximation, so mean and deviation are corrected afterwards.
  const scale = standardDeviation / Math.sqrt(squares - sum * sum);
  const values = new Float64Array(points - first);
  if (skewness >= 0) {
    for (let i = 0; i < values.length; i++) values[i] = mean + (standard[first + i] - sum) * scale;
    return { values, survival: first === 0 ? survival : survival.subarray(first) };
  }
  // A negative skewness mirrors the law: a tail above a value becomes a tail below it.
  const mirrored = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const at = points - 1 - i;
    values[i] = mean - (standard[at] - sum) * scale;
    mirrored[i] = at === first ? 0 : 1 - survival[at - 1];
  }
  return { values, survival: mirrored };
}

function addByTransform(terms: readonly SumTerm[], countLists: readonly (readonly number[])[]): DiscreteLaw[] {
  const ownStep = findCommonStep(terms.map(({ law }) => law.values));
  const sums = countLists.map((counts) => {
    const sum = { counts, draws: 0, mean: 0, origin: 0, low: 0, high: 0, margin: 0 };
    terms.forEach(({ law, cumulants }, i) => {
      sum.draws += counts[i];
      sum.mean += counts[i] * cumulants.mean;
      sum.origin += counts[i] * law.values[0];
      sum.high += counts[i] * law.values[law.values.length - 1];
    });
    sum.low = sum.origin;
    return sum;
  });
  let step = ownStep;
  if (ownStep === 0 || sums.some(({ low, high }) => (high - low) / ownStep > TRANSFORM_POINTS - 2)) {
    for (const sum of sums) {
      sum.high = Math.min(sum.high, sum.mean + boundTail(terms, sum.counts, 1));
      sum.low = Math.max(sum.low, sum.mean - boundTail(terms, sum.counts, -1));
      // A draw between two cells is moved to one of them. The root mean square of this shift is at most half a cell per
      // draw, so a sum may lie `margin` cells outside its window.
      sum.margin = Math.ceil(Math.min(sum.draws, 3.5 * Math.sqrt(sum.draws)) + 1);
      step = Math.max(step, (sum.high - sum.low) / (TRANSFORM_POINTS - 2 - 2 * sum.margin));
    }
    // If lengths have a limit, many draws are at the ends of the widest law, so both ends must lie on the lattice.
    const widest = Math.max(...terms.map(({ law }) => law.values[law.values.length - 1] - law.values[0]));
    step = Math.max(step, widest / Math.max(1, Math.floor(widest / step)));
  }

  const transform = fourier(TRANSFORM_POINTS);
  let scratch = 0;
  const nextScratch = (): Float64Array => (spectrumScratch[scratch++] ??= new Float64Array(2 * TRANSFORM_POINTS));
  const spectra = terms.map(({ law }) => {
    const spectrum = nextScratch();
    transform.realTransform(spectrum, computeLatticeMasses(law, step));
    return spectrum;
  });
  // The lists differ in only a few draws, so the product of the spectra of all common draws is computed once.
  const base = nextScratch();
  const inAll = terms.map((_, i) => countLists.reduce((least, counts) => Math.min(least, counts[i]), Infinity));
  multiplyPowersInto(base, spectra, inAll);
  const sumInto = (product: Float64Array, counts: readonly number[]): void => {
    multiplyPowersInto(
      product,
      spectra,
      counts.map((count, i) => count - inAll[i]),
    );
    multiplyInto(product, base);
  };

  // Masses are real, so one transform yields two sums: one as its real part, one as its imaginary part.
  const one = nextScratch();
  const other = nextScratch();
  const both = nextScratch();
  const masses = nextScratch();
  const laws: DiscreteLaw[] = [];
  for (let at = 0; at < sums.length; at += 2) {
    sumInto(one, sums[at].counts);
    if (at + 1 < sums.length) sumInto(other, sums[at + 1].counts);
    else other.fill(0);
    joinInto(both, one, other);
    transform.inverseTransform(masses, both);
    for (let part = 0; part < 2 && at + part < sums.length; part++) {
      const { origin, low, margin } = sums[at + part];
      // The transform gives sums modulo its size. Cell j of the window is the j-th cell from the lowest kept sum.
      const start = Math.max(0, Math.floor((low - origin) / step + 1e-9) - margin);
      laws.push(makeLatticeLaw(masses, part, origin, start, step));
    }
  }
  return laws;
}

/** Without scratch arrays, each call would leave hundreds of kilobytes of garbage. */
const spectrumScratch: Float64Array[] = [];
const cellScratch = new Int32Array(TRANSFORM_POINTS);
const massScratch = new Float64Array(TRANSFORM_POINTS);

/**
 * Makes the law of the values origin + (start + j)·step, j = 0, 1, ….
 * @param masses masses by start + j modulo the size, interleaved with those of another law; `part` (0 or 1) chooses one
 */
function makeLatticeLaw(masses: Float64Array, part: number, origin: number, start: number, step: number): DiscreteLaw {
  let kept = 0;
  let totalMass = 0;
  for (let j = 0; j < TRANSFORM_POINTS; j++) {
    const mass = masses[2 * ((start + j) % TRANSFORM_POINTS) + part];
    // Smaller masses are rounding errors of the transform.
    if (mass < 1e-15) continue;
    cellScratch[kept] = j;
    massScratch[kept++] = mass;
    totalMass += mass;
  }
  const values = new Float64Array(kept);
  const scaled = new Float64Array(kept);
  const scale = 1 / totalMass;
  for (let i = 0; i < kept; i++) {
    values[i] = origin + (start + cellScratch[i]) * step;
    scaled[i] = massScratch[i] * scale;
  }
  return { values, survival: survivalFrom(scaled) };
}

/** Returns the law's masses on a lattice from its first value, wrapped to the transform's size. The mean is kept. */
function computeLatticeMasses({ values, survival }: DiscreteLaw, step: number): Float64Array {
  const cells = massScratch.fill(0);
  let above = 1;
  for (let i = 0; i < values.length; i++) {
    const mass = above - survival[i];
    above = survival[i];
    const position = (values[i] - values[0]) / step;
    const nearest = Math.round(position);
    if (Math.abs(position - nearest) < 1e-9) {
      cells[nearest % TRANSFORM_POINTS] += mass;
    } else {
      const cell = Math.floor(position);
      cells[cell % TRANSFORM_POINTS] += mass * (cell + 1 - position);
      cells[(cell + 1) % TRANSFORM_POINTS] += mass * (position - cell);
    }
  }
  return cells;
}

const HALF = TRANSFORM_POINTS / 2;

/** Writes ∏ spectra[i]^exponents[i], for real sequences: only the bins up to the middle one are used. */
function multiplyPowersInto(
  product: Float64Array,
  spectra: readonly Float64Array[],
  exponents: readonly number[],
): void {
  product.fill(0);
  for (let k = 0; k <= 2 * HALF; k += 2) product[k] = 1;
  const largest = exponents.reduce((a, b) => Math.max(a, b), 0);
  if (largest === 0) return;
  for (let bit = 2 ** Math.floor(Math.log2(largest)); bit >= 1; bit /= 2) {
    if (2 * bit <= largest) multiplyInto(product, product);
    for (let i = 0; i < spectra.length; i++) if (exponents[i] & bit) multiplyInto(product, spectra[i]);
  }
}

function multiplyInto(target: Float64Array, factor: Float64Array): void {
  for (let k = 0; k <= 2 * HALF; k += 2) {
    const re = target[k];
    const im = target[k + 1];
    const factorRe = factor[k];
    const factorIm = factor[k + 1];
    target[k] = re * factorRe - im * factorIm;
    target[k + 1] = re * factorIm + im * factorRe;
  }
}

function joinInto(both: Float64Array, one: Float64Array, other: Float64Array): void {
  for (let k = 0; k <= 2 * HALF; k += 2) {
    both[k] = one[k] - other[k + 1];
    both[k + 1] = one[k + 1] + other[k];
    if (k === 0 || k === 2 * HALF) continue;
    const mirror = 4 * HALF - k;
    both[mirror] = one[k] + other[k + 1];
    both[mirror + 1] = other[k] - one[k + 1];
  }
}

/**
 * Returns a distance above the mean of the sum (`sign` 1) or below it (−1). The probability that the sum is farther
 * from its mean is negligible by Chernoff's bound, which is minimised over exponents that are powers of √2.
 */
function boundTail(terms: readonly SumTerm[], counts: readonly number[], sign: 1 | -1): number {
  let longest = 0;
  let variance = 0;
  for (let i = 0; i < terms.length; i++) {
    if (counts[i] === 0) continue;
    const { law, cumulants } = terms[i];
    const end = sign > 0 ? law.values[law.values.length - 1] : law.values[0];
    longest = Math.max(longest, sign * (end - cumulants.mean));
    variance += counts[i] * cumulants.variance;
  }
  if (longest <= 0) return 0;
  const reachAt = (halves: number): number => {
    let information = WINDOW_INFORMATION;
    for (let i = 0; i < terms.length; i++) {
      if (counts[i] > 0) information += counts[i] * getLogMoment(terms[i], sign, halves);
    }
    return information / 2 ** (halves / 2);
  };
  // √(…) is the best exponent for a normal law. Above 32 / longest, only the largest deviation matters.
  const normal = Math.min(Math.sqrt((2 * WINDOW_INFORMATION) / variance), 32 / longest);
  let halves = Math.round(2 * Math.log2(normal));
  let reach = reachAt(halves);
  for (const direction of [1, -1]) {
    const before = reach;
    for (let next = reachAt(halves + direction); next < WORTHWHILE_WINDOW * reach; next = reachAt(halves + direction)) {
      reach = next;
      halves += direction;
    }
    if (reach < before) break;
  }
  return reach;
}

/** ln E[e^{±(X − mean)·θ}] with θ = 2^(halves/2); infinite if it overflows. */
function getLogMoment({ law, cumulants, logMoments }: SumTerm, sign: 1 | -1, halves: number): number {
  const key = 2 * halves + (sign > 0 ? 1 : 0);
  return getOrMake(logMoments, key, () => {
    const { values, survival } = law;
    const exponent = sign * 2 ** (halves / 2);
    let moment = 0;
    let above = 1;
    for (let i = 0; i < values.length; i++) {
      moment += (above - survival[i]) * Math.exp(exponent * (values[i] - cumulants.mean));
      above = survival[i];
    }
    return Math.log(moment);
  });
}

/** The largest whole step that divides all values of each set, counted from its first value; 0 if there is none. */
function findCommonStep(sets: readonly Float64Array[]): number {
  let step = 0;
  for (const values of sets) {
    for (let i = 1; i < values.length; i++) {
      const gap = values[i] - values[i - 1];
      if (!Number.isInteger(gap)) return 0;
      step = greatestCommonDivisor(gap, step);
      if (step === 1) return 1;
    }
  }
  return step;
}
