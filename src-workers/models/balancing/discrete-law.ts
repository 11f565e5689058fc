import { fourier } from '../../numeric/fourier.ts';
import { normalUpperTail } from '../workload/normal.ts';

/**
 * A law on a few atoms, as the depths are computed with: `values` strictly increasing, `survival[i]` = P(X > values[i]),
 * so the last entry is 0.
 */
export interface DiscreteLaw {
  readonly values: Float64Array;
  readonly survival: Float64Array;
}

/** Atoms kept of a law; enough that a mean depth moves by less than 1e-3 of itself (see the tests). */
export const MAX_POINTS = 512;

export interface Cumulants {
  readonly mean: number;
  readonly variance: number;
  /** Third central moment. */
  readonly third: number;
}

/** Law from its atoms' probabilities; `values` strictly increasing. */
export function fromMasses(values: Float64Array, masses: Float64Array): DiscreteLaw {
  const survival = new Float64Array(values.length);
  // From the top, so that small tails keep their digits.
  for (let i = values.length - 1; i > 0; i--) survival[i - 1] = Math.min(1, survival[i] + masses[i]);
  return { values, survival };
}

/** P(X = values[i]). */
export function massesOf(law: DiscreteLaw): Float64Array {
  return law.survival.map((s, i) => (i === 0 ? 1 : law.survival[i - 1]) - s);
}

/** Law of the largest of `count` independent draws; `count` > 0, not necessarily whole. */
export function maximumOf(law: DiscreteLaw, count: number): DiscreteLaw {
  if (count === 1) return law;
  return { values: law.values, survival: law.survival.map((s) => -Math.expm1(count * Math.log1p(-s))) };
}

/** Law of X + offset. */
export function shifted(law: DiscreteLaw, offset: number): DiscreteLaw {
  return offset === 0 ? law : { values: law.values.map((v) => v + offset), survival: law.survival };
}

export function cumulantsOf(law: DiscreteLaw): Cumulants {
  const { values, survival } = law;
  const mean = meanOf(values, survival);
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

/** E[X] = ∫ P(X > v) dv of a law on `values` ≥ 0 or not. */
export function meanOf(values: Float64Array, survival: Float64Array): number {
  let mean = values[0];
  for (let i = 1; i < values.length; i++) mean += (values[i] - values[i - 1]) * survival[i - 1];
  return mean;
}

/**
 * The law moved onto `grid`, every atom shared by the two grid points around it so that the mean stays.
 *
 * @param grid strictly increasing; atoms outside it go to its nearest end
 */
export function onGrid(law: DiscreteLaw, grid: Float64Array): DiscreteLaw {
  const masses = new Float64Array(grid.length);
  const last = grid.length - 1;
  let cell = 0;
  let above = 1;
  for (let i = 0; i < law.values.length; i++) {
    const mass = above - law.survival[i];
    above = law.survival[i];
    const v = law.values[i];
    while (cell < last && grid[cell + 1] <= v) cell++;
    if (cell === last || v <= grid[0]) masses[cell] += mass;
    else {
      const share = (v - grid[cell]) / (grid[cell + 1] - grid[cell]);
      masses[cell] += mass * (1 - share);
      masses[cell + 1] += mass * share;
    }
  }
  return fromMasses(grid, masses);
}

/**
 * At most `maxPoints` of the law's own values, both ends included: evenly spaced in a blend of the value, the probability
 * and the logarithm of the tail, so that the bulk, the range, and the far tail that a maximum of many sees are all
 * resolved.
 */
export function coarseGrid(law: DiscreteLaw, maxPoints = MAX_POINTS): Float64Array {
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
  const picked = [0];
  let next = first + step;
  for (let i = 1; i < count - 1; i++) {
    const c = coordinate(i);
    if (c >= next) {
      picked.push(i);
      next = c + step;
    }
  }
  picked.push(count - 1);
  return Float64Array.from(picked, (i) => values[i]);
}

/** The values of both, each once; all strictly increasing. */
export function mergedValues(a: Float64Array, b: Float64Array): Float64Array {
  const merged = new Float64Array(a.length + b.length);
  let count = 0;
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    const value = j >= b.length || (i < a.length && a[i] <= b[j]) ? a[i] : b[j];
    if (i < a.length && a[i] === value) i++;
    if (j < b.length && b[j] === value) j++;
    merged[count++] = value;
  }
  return merged.slice(0, count);
}

/** The values of all laws, at most `maxPoints` of them; a mixture with equal weights says which to keep. */
export function commonGrid(laws: readonly DiscreteLaw[], maxPoints = MAX_POINTS): Float64Array {
  if (laws.length === 1) return coarseGrid(laws[0], maxPoints);
  const union = laws.map((law) => law.values).reduce(mergedValues);
  if (union.length <= maxPoints) return union;
  const survival = new Float64Array(union.length);
  for (const law of laws) {
    let at = -1;
    for (let i = 0; i < union.length; i++) {
      while (at + 1 < law.values.length && law.values[at + 1] <= union[i]) at++;
      survival[i] += (at < 0 ? 1 : law.survival[at]) / laws.length;
    }
  }
  return coarseGrid({ values: union, survival }, maxPoints);
}

/** A law to draw from, with its cumulants. */
export interface SumTerm {
  readonly law: DiscreteLaw;
  readonly cumulants: Cumulants;
}

/** Terms of comparable variance from which on a sum is taken by its first three cumulants. */
const SMOOTH_TERMS = 16;
/** Largest skewness for that. */
const SMOOTH_SKEWNESS = 0.5;
/** Draws from which on it is done whatever the skewness: placing them on a lattice would cost more than it tells. */
const SMOOTH_DRAWS = 256;
const TRANSFORM_POINTS = 1024;

/**
 * Law of the sum of independent draws, `counts[i]` from `terms[i]`.
 *
 * Sums of many terms are Pearson III laws with the right mean, variance and skewness, by the Wilson–Hilferty cube
 * (Wilson, Hilferty 1931, doi:10.1073/pnas.17.12.684); others a product of discrete Fourier transforms over 1,024 lattice
 * points, exact to rounding where the lattice of the sum fits and mean-preserving where it does not.
 */
export function sumOf(terms: readonly SumTerm[], counts: readonly number[]): DiscreteLaw {
  return sumsOf(terms, [counts])[0];
}

/** Several sums of the same terms, one for each list of counts: they share the terms' transforms. */
export function sumsOf(terms: readonly SumTerm[], countLists: readonly (readonly number[])[]): DiscreteLaw[] {
  const laws = countLists.map((counts) => simpleSum(terms, counts));
  const hard = countLists.filter((_, i) => laws[i] === null);
  const transformed = hard.length === 0 ? [] : transformedSums(terms, hard);
  return laws.map((law) => law ?? transformed.shift()!);
}

/** The sum where it is a single draw, a constant, or smooth; `null` where it has to be computed in full. */
function simpleSum(terms: readonly SumTerm[], counts: readonly number[]): DiscreteLaw | null {
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
  // Spread below 1e-9 of the mean is a constant; below that the grids would no longer increase.
  if (total.variance <= 1e-18 * total.mean * total.mean) {
    return { values: Float64Array.of(total.mean), survival: Float64Array.of(0) };
  }
  const skewness = total.third / total.variance ** 1.5;
  const effectiveTerms = (total.variance * total.variance) / total.squaredVariance;
  const smooth = effectiveTerms >= SMOOTH_TERMS && Math.abs(skewness) <= SMOOTH_SKEWNESS;
  return smooth || total.count > SMOOTH_DRAWS
    ? raisedTo(total.lowest, smoothLaw(total.mean, Math.sqrt(total.variance), skewness))
    : null;
}

/** The law with what lies below `lowest` moved there, and the rest drawn in towards it so that the mean stays. */
function raisedTo(lowest: number, law: DiscreteLaw): DiscreteLaw {
  if (law.values[0] >= lowest) return law;
  const first = Math.max(0, law.values.findIndex((value) => value > lowest) - 1);
  const values = law.values.slice(first);
  const survival = law.survival.subarray(first);
  values[0] = lowest;
  const scale = (meanOf(law.values, law.survival) - lowest) / (meanOf(values, survival) - lowest);
  return { values: values.map((value) => lowest + (value - lowest) * scale), survival };
}

/** Standard normal quantiles on an even grid and the mass around each. */
const NORMAL_GRID = (() => {
  const points = 321;
  const reach = 6.4;
  const step = (2 * reach) / (points - 1);
  const z = Float64Array.from({ length: points }, (_, i) => -reach + i * step);
  const survival = z.map((value, i) => (i === points - 1 ? 0 : normalUpperTail(value + step / 2)));
  return { z, survival };
})();

/** Beyond this skewness the normal grid no longer resolves a Pearson III law; mean and deviation are still met. */
const LARGEST_SKEWNESS = 4;

/** Pearson III law by its first three moments, on the normal grid. */
export function smoothLaw(mean: number, standardDeviation: number, skewness: number): DiscreteLaw {
  const standard = standardPearson(Math.max(-LARGEST_SKEWNESS, Math.min(LARGEST_SKEWNESS, skewness)));
  const { values, survival } = standard;
  // The cube is an approximation: its own mean and deviation are put right.
  const own = cumulantsOf(standard);
  const scale = standardDeviation / Math.sqrt(own.variance);
  return { values: values.map((value) => mean + (value - own.mean) * scale), survival };
}

function standardPearson(skewness: number): DiscreteLaw {
  const { z, survival } = NORMAL_GRID;
  // For a vanishing skewness the cube's quotient is the normal quantile itself.
  if (Math.abs(skewness) < 1e-6) return { values: z, survival };
  if (skewness < 0) return mirrored(standardPearson(-skewness));
  // The law ends 2/skewness below its mean, where the cube is 0; what the grid has beyond is one atom there.
  const base = z.map((value) => 1 + (skewness * value) / 6 - (skewness * skewness) / 36);
  const first = Math.max(0, base.findIndex((value) => value > 0) - 1);
  return {
    values: base.subarray(first).map((value) => (2 / skewness) * (Math.max(0, value) ** 3 - 1)),
    survival: survival.subarray(first),
  };
}

/** Law of −X. */
function mirrored(law: DiscreteLaw): DiscreteLaw {
  return fromMasses(law.values.map((value) => -value).reverse(), massesOf(law).reverse());
}

function transformedSums(terms: readonly SumTerm[], countLists: readonly (readonly number[])[]): DiscreteLaw[] {
  const ownStep = commonStep(terms.map(({ law }) => law.values));
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
      sum.high = Math.min(sum.high, sum.mean + tailReach(terms, sum.counts, 1));
      sum.low = Math.max(sum.low, sum.mean - tailReach(terms, sum.counts, -1));
      // Every draw that falls between two cells strays to one of them, half a cell in the root mean square at worst.
      sum.margin = Math.ceil(Math.min(sum.draws, 3.5 * Math.sqrt(sum.draws)) + 1);
      step = Math.max(step, (sum.high - sum.low) / (TRANSFORM_POINTS - 2 - 2 * sum.margin));
    }
  }

  const transform = fourier(TRANSFORM_POINTS);
  const half = TRANSFORM_POINTS / 2;
  const spectra = terms.map(({ law }) => {
    const spectrum = new Float64Array(2 * TRANSFORM_POINTS);
    transform.realTransform(spectrum, latticeMasses(law, step));
    return spectrum;
  });
  const powers = terms.map(() => new Map<number, Float64Array>());
  const powerOf = (term: number, count: number): Float64Array => {
    if (count === 1) return spectra[term];
    let power = powers[term].get(count);
    if (!power) {
      power = spectrumPower(spectra[term], count, half);
      powers[term].set(count, power);
    }
    return power;
  };

  const inverse = new Float64Array(2 * TRANSFORM_POINTS);
  const cellOf = new Int32Array(TRANSFORM_POINTS);
  const massOf = new Float64Array(TRANSFORM_POINTS);
  return sums.map(({ counts, origin, low, margin }) => {
    const product = new Float64Array(2 * TRANSFORM_POINTS);
    for (let k = 0; k <= half; k++) product[2 * k] = 1;
    counts.forEach((count, i) => {
      if (count > 0) multiplyInto(product, powerOf(i, count), half);
    });
    transform.completeSpectrum(product);
    transform.inverseTransform(inverse, product);

    // Sums are told apart modulo the size: cell j of the window starts at the lowest sum kept.
    const start = Math.max(0, Math.floor((low - origin) / step + 1e-9) - margin);
    let kept = 0;
    let totalMass = 0;
    for (
      let j = 0, at = start % TRANSFORM_POINTS;
      j < TRANSFORM_POINTS;
      j++, at = at + 1 === TRANSFORM_POINTS ? 0 : at + 1
    ) {
      const mass = inverse[2 * at];
      // Below this the transform's rounding is all there is.
      if (mass < 1e-15) continue;
      cellOf[kept] = j;
      massOf[kept++] = mass;
      totalMass += mass;
    }
    const values = new Float64Array(kept);
    const survival = new Float64Array(kept);
    // From the top, so that small tails keep their digits.
    for (let i = kept - 1, above = 0; i >= 0; i--) {
      values[i] = origin + (start + cellOf[i]) * step;
      survival[i] = Math.min(1, above);
      above += massOf[i] / totalMass;
    }
    return { values, survival };
  });
}

/** Masses on the lattice that starts at the law's first value, wrapped to the transform's size; the mean stays. */
function latticeMasses({ values, survival }: DiscreteLaw, step: number): Float64Array {
  const cells = new Float64Array(TRANSFORM_POINTS);
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

function spectrumPower(spectrum: Float64Array, exponent: number, half: number): Float64Array {
  const square = spectrum.slice();
  let power: Float64Array | null = null;
  for (let rest = exponent; ;) {
    if (rest % 2 === 1) {
      if (power) multiplyInto(power, square, half);
      else power = square.slice();
    }
    rest = Math.floor(rest / 2);
    if (rest === 0) return power!;
    multiplyInto(square, square, half);
  }
}

/** Complex product of the first half + 1 bins, in place; `factor` may be `target`. */
function multiplyInto(target: Float64Array, factor: Float64Array, half: number): void {
  for (let k = 0; k <= 2 * half; k += 2) {
    const re = target[k] * factor[k] - target[k + 1] * factor[k + 1];
    target[k + 1] = target[k] * factor[k + 1] + target[k + 1] * factor[k];
    target[k] = re;
  }
}

/** −ln of the probability that a sum may have beyond its window, at either end. */
const WINDOW_INFORMATION = 23;
/** Exponents tried for the window's bound, over the longest single step in its direction; each gives a valid bound. */
const WINDOW_EXPONENTS = [0.1, 0.3, 1, 2, 4, 8, 16, 32];

/** Distance from its mean that the sum passes upwards (`sign` 1) or downwards (−1) with negligible probability: Chernoff. */
function tailReach(terms: readonly SumTerm[], counts: readonly number[], sign: 1 | -1): number {
  let longest = 0;
  let variance = 0;
  const used = terms.map((term, i) => ({ ...term, count: counts[i] })).filter(({ count }) => count > 0);
  for (const { law, cumulants, count } of used) {
    const end = sign > 0 ? law.values[law.values.length - 1] : law.values[0];
    longest = Math.max(longest, sign * (end - cumulants.mean));
    variance += count * cumulants.variance;
  }
  if (longest <= 0) return 0;
  const normal = Math.sqrt((2 * WINDOW_INFORMATION) / variance);
  const exponents = WINDOW_EXPONENTS.map((e) => e / longest);
  if (normal * longest < 32) exponents.push(normal);
  let reach = Infinity;
  for (const exponent of exponents) {
    let information = WINDOW_INFORMATION;
    for (const { law, cumulants, count } of used) {
      let moment = 0;
      let above = 1;
      for (let i = 0; i < law.values.length; i++) {
        moment += (above - law.survival[i]) * Math.exp(exponent * sign * (law.values[i] - cumulants.mean));
        above = law.survival[i];
      }
      information += count * Math.log(moment);
    }
    reach = Math.min(reach, information / exponent);
  }
  return reach;
}

/** Largest step that every value of every set is a whole number of, counted from its set's first; 0 where there is none. */
function commonStep(sets: readonly Float64Array[]): number {
  let step = 0;
  for (const values of sets) {
    for (let i = 1; i < values.length; i++) {
      const gap = values[i] - values[i - 1];
      if (!Number.isInteger(gap)) return 0;
      let a = gap;
      let b = step;
      while (b > 0) [a, b] = [b, a % b];
      step = a;
      if (step === 1) return 1;
    }
  }
  return step;
}
