/** Ranks by value, from 1. Equal values keep their order. */
export function ordinalRanks(values: ArrayLike<number>): readonly number[] {
  const order = Array.from(values, (_, at) => at).sort((a, b) => values[a] - values[b] || a - b);
  const ranks = new Array<number>(values.length);
  order.forEach((at, rank) => (ranks[at] = rank + 1));
  return ranks;
}

function fractionalRanks(values: Float64Array): Float64Array {
  const order = Uint32Array.from(values, (_, i) => i).sort((a, b) => values[a] - values[b]);
  const ranks = new Float64Array(values.length);
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && values[order[end]] === values[order[start]]) end += 1;
    for (let i = start; i < end; i += 1) ranks[order[i]] = (start + end + 1) / 2;
    start = end;
  }
  return ranks;
}

/** Pearson's correlation, −1…1, of at least 2 values without NaN; NaN if all values of one side are equal. */
export function pearson(a: Float64Array, b: Float64Array): number {
  const meanA = mean(a);
  const meanB = mean(b);
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i += 1) {
    const x = a[i] - meanA;
    const y = b[i] - meanB;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb);
}

/** Spearman's rank correlation, −1…1, of at least 2 values without NaN; NaN if all values of one side are equal. */
export function spearman(a: Float64Array, b: Float64Array): number {
  return pearson(fractionalRanks(a), fractionalRanks(b));
}

export interface PairCounts {
  /** Pairs in the same order in a and b, minus pairs in opposite order. */
  readonly score: number;
  readonly pairs: number;
  readonly tiedA: number;
  readonly tiedB: number;
}

/**
 * Counts concordant minus discordant pairs in O(n log n): after a sort by a, then b, every swap of a merge sort by b is
 * a discordant pair. Source: Knight, J. Amer. Statist. Assoc. 61 (1966), doi:10.1080/01621459.1966.10480879.
 */
export function concordance(a: Float64Array, b: Float64Array): PairCounts {
  const n = a.length;
  const order = Uint32Array.from(a, (_, i) => i).sort((i, j) => a[i] - a[j] || b[i] - b[j]);
  const tiedA = tiedPairs(order, (i, j) => a[i] === a[j]);
  const tiedBoth = tiedPairs(order, (i, j) => a[i] === a[j] && b[i] === b[j]);
  let values: Float64Array = Float64Array.from(order, (i) => b[i]);
  let merged: Float64Array = new Float64Array(n);
  let swaps = 0;
  for (let width = 1; width < n; width *= 2) {
    for (let start = 0; start < n; start += 2 * width) {
      const middle = Math.min(n, start + width);
      const end = Math.min(n, start + 2 * width);
      let left = start;
      let right = middle;
      for (let out = start; out < end; out += 1) {
        if (right >= end || (left < middle && values[left] <= values[right])) merged[out] = values[left++];
        else {
          merged[out] = values[right++];
          swaps += middle - left;
        }
      }
    }
    [values, merged] = [merged, values];
  }
  const tiedB = tiedPairs(
    Uint32Array.from(values, (_, i) => i),
    (i, j) => values[i] === values[j],
  );
  const pairs = (n * (n - 1)) / 2;
  return { score: pairs - tiedA - tiedB + tiedBoth - 2 * swaps, pairs, tiedA, tiedB };
}

function tiedPairs(order: Uint32Array, equal: (i: number, j: number) => boolean): number {
  let pairs = 0;
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && equal(order[start], order[end])) end += 1;
    pairs += ((end - start) * (end - start - 1)) / 2;
    start = end;
  }
  return pairs;
}

/**
 * Kendall's τ-b, −1…1: only columns with the same order and the same ties reach 1. Source: Kendall, Biometrika 33
 * (1945), doi:10.1093/biomet/33.3.239.
 * @param a,b same length ≥ 2, no NaN
 * @returns NaN if all values of one side are equal
 */
export function kendall(a: Float64Array, b: Float64Array): number {
  const { score, pairs, tiedA, tiedB } = concordance(a, b);
  return score / Math.sqrt((pairs - tiedA) * (pairs - tiedB));
}

export function mean(values: Float64Array | readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

/**
 * Interpolates linearly between order statistics (Hyndman and Fan's type 7, Amer. Statist. 50 (1996),
 * doi:10.1080/00031305.1996.10473566).
 * @param sorted ascending, at least one value
 */
export function sortedQuantile(sorted: ArrayLike<number>, fraction: number): number {
  const position = fraction * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below];
  return position > below ? low + (position - below) * (sorted[below + 1] - low) : low;
}

/** The smallest of ascending values whose cumulative weight reaches `target`, or the last value if none does. */
export function weightedQuantile(values: Float64Array, weights: Float64Array, target: number): number {
  let sum = 0;
  const position = weights.findIndex((weight) => (sum += weight) >= target);
  return values[position < 0 ? values.length - 1 : position];
}

/** @param values at least one, no NaN; the array is not changed */
export function median(values: Float64Array): number {
  return sortedQuantile(values.slice().sort(), 0.5);
}

/** The median of |x − centre|; times `MAD_TO_DEVIATION`, an estimate of the standard deviation of a normal law. */
export function medianAbsoluteDeviation(values: Float64Array, centre: number): number {
  return median(values.map((value) => Math.abs(value - centre)));
}

/** 1 / Φ⁻¹(¾): the standard deviation of a normal law divided by its median absolute deviation. */
export const MAD_TO_DEVIATION = 1.482602218505602;

/** The order statistics that enclose the median, as positions from 0 in ascending order. */
export interface MedianInterval {
  readonly low: number;
  readonly high: number;
  /** The probability that the interval contains the median, 0…1; at least the requested confidence. */
  readonly coverageFraction: number;
}

/**
 * Finds the narrowest symmetric pair of order statistics that encloses the median with at least the given confidence,
 * for any law: the number of draws below the median is Bin(n, ½). Source: David and Nagaraja, Order Statistics, 3rd ed.
 * (2003), section 7.1, doi:10.1002/0471722162.
 * @returns `null` if there are too few values (fewer than 6 at 95 %)
 */
export function medianInterval(count: number, confidenceFraction: number): MedianInterval | null {
  // P(Bin(n, ½) = k) = C(n, k)/2ⁿ is computed by logarithms, because 2⁻ⁿ underflows for long series.
  let logTerm = -count * Math.LN2;
  let below = 0;
  let found: MedianInterval | null = null;
  for (let k = 0; 2 * k < count - 1; k += 1) {
    below += Math.exp(logTerm);
    const coverageFraction = 1 - 2 * below;
    if (coverageFraction < confidenceFraction) break;
    found = { low: k, high: count - 1 - k, coverageFraction };
    logTerm += Math.log((count - k) / (k + 1));
  }
  return found;
}

/**
 * The Theil–Sen estimator, the median slope over all pairs, tolerates arbitrary values at a quarter of the points. It
 * takes n²/2 steps and memory for as many numbers. Source: Sen, J. Amer. Statist. Assoc. 63 (1968),
 * doi:10.1080/01621459.1968.10480934.
 * @param y at least two values, at x = 0, 1, 2, …
 */
export function theilSenSlope(y: Float64Array): number {
  const slopes = new Float64Array((y.length * (y.length - 1)) / 2);
  let at = 0;
  for (let i = 0; i < y.length; i += 1)
    for (let j = i + 1; j < y.length; j += 1) slopes[at++] = (y[j] - y[i]) / (j - i);
  return median(slopes);
}
