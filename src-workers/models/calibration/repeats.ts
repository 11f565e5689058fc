import { ok, type Result, badInput } from '../../domain/result.ts';
import {
  concordance,
  MAD_TO_DEVIATION,
  mean,
  median,
  medianAbsoluteDeviation,
  medianInterval,
  theilSenSlope,
} from '../../numeric/statistics.ts';
import { normalUpperTail } from '../workload/normal.ts';

/**
 * Times of a kernel are skewed and have outliers, so the summary is the median with its interval by order statistics:
 * Hoefler and Belli, SC 2015, doi:10.1145/2807591.2807644.
 */
export interface RepeatsSummary {
  readonly repeats: number;
  readonly warmUps: number;
  readonly medianNs: number;
  /** Confidence interval of the median, at least 95 %; `null` with fewer than 6 repeats. */
  readonly interval: { readonly lowNs: number; readonly highNs: number; readonly coverageFraction: number } | null;
  readonly minNs: number;
  readonly maxNs: number;
  readonly outliers: readonly number[];
  /** Number of repeats at the start that were slower than the second half. Above 0, longer warm-up was needed. */
  readonly slowStarts: number;
  readonly drift: Trend | null;
  readonly warnings: readonly RepeatWarning[];
}

export interface Trend {
  /** Change from the first to the last value along the Theil–Sen line, divided by the median: 0.02 for 2 % slower. */
  readonly relativeChange: number;
  /** Two-sided p-value of the Mann–Kendall test against no trend. */
  readonly pValue: number;
  readonly significant: boolean;
}

export const REPEAT_WARNINGS = [
  { code: 'few-repeats', text: 'too few repeats for a confidence interval' },
  { code: 'outliers', text: 'some repeats are far from the others' },
  { code: 'slow-start', text: 'the first repeats are slower: warm up longer' },
  { code: 'drift', text: 'times drift from the first repeat to the last' },
] as const;
export type RepeatWarning = (typeof REPEAT_WARNINGS)[number]['code'];

const CONFIDENCE = 0.95;
/** Modified z-score above which a time is an outlier (Iglewicz and Hoaglin 1993, ISBN 9780873892476). */
const OUTLIER_SCORE = 3.5;
/** A difference below 1 % does not decide between designs. */
const RELEVANT = 0.01;
const TREND_SIGNIFICANCE = 0.01;
/** With 5 values, even a strictly monotone series has p = 2/5! > 0.01. */
const MIN_TREND = 6;
const MIN_STEADY = 6;

/** @param timesNs times of all launches in order, including warm-ups */
export function summariseRepeats(timesNs: ArrayLike<number>, warmUp: ArrayLike<boolean>): Result<RepeatsSummary> {
  if (warmUp.length !== timesNs.length)
    return badInput(
      `There are ${timesNs.length} measured times and ${warmUp.length} warm-up marks. Specify one mark for each time.`,
    );
  const positions: number[] = [];
  for (let i = 0; i < timesNs.length; i += 1) {
    if (!(timesNs[i] >= 0 && timesNs[i] < Infinity))
      return badInput(`Repeat ${i} took ${timesNs[i]} ns. A time must be 0 or more.`, { repeat: i });
    if (!warmUp[i]) positions.push(i);
  }
  if (positions.length === 0)
    return badInput(`Every launch is a warm-up (launches: ${timesNs.length}). At least one must count.`);
  const times = Float64Array.from(positions, (i) => timesNs[i]);
  const sorted = times.slice().sort();
  const n = sorted.length;
  const medianNs = median(times);
  const bounds = medianInterval(n, CONFIDENCE);
  const interval = bounds && {
    lowNs: sorted[bounds.low],
    highNs: sorted[bounds.high],
    coverageFraction: bounds.coverageFraction,
  };
  const outliers = outlierPositions(times).map((i) => positions[i]);
  const slowStarts = slowStartCount(times);
  const drift = n >= MIN_TREND ? findTrend(times) : null;
  const warnings: RepeatWarning[] = [];
  if (!interval) warnings.push('few-repeats');
  if (outliers.length > 0) warnings.push('outliers');
  if (slowStarts > 0) warnings.push('slow-start');
  if (drift?.significant) warnings.push('drift');
  return ok({
    repeats: n,
    warmUps: timesNs.length - n,
    medianNs,
    interval,
    minNs: sorted[0],
    maxNs: sorted[n - 1],
    outliers,
    slowStarts,
    drift,
    warnings,
  });
}

/** Estimates a spread by the median or, if that is 0, the mean of absolute deviations (Iglewicz, Hoaglin). */
function robustDeviation(values: Float64Array, centre: number): number {
  const byMedian = MAD_TO_DEVIATION * medianAbsoluteDeviation(values, centre);
  if (byMedian > 0) return byMedian;
  // √(π/2) is the standard deviation of a normal law divided by its mean absolute deviation.
  return Math.sqrt(Math.PI / 2) * mean(values.map((value) => Math.abs(value - centre)));
}

function outlierPositions(times: Float64Array): number[] {
  const centre = median(times);
  const beyond = Math.max(RELEVANT * centre, OUTLIER_SCORE * robustDeviation(times, centre));
  const found: number[] = [];
  times.forEach((time, i) => {
    if (Math.abs(time - centre) > beyond) found.push(i);
  });
  return found;
}

function slowStartCount(times: Float64Array): number {
  if (times.length < MIN_STEADY) return 0;
  const steady = times.subarray(times.length >> 1);
  const centre = median(steady);
  const slow = centre + Math.max(RELEVANT * centre, OUTLIER_SCORE * robustDeviation(steady, centre));
  const first = times.findIndex((time) => !(time > slow));
  return first < 0 ? times.length : first;
}

/** A trend compares all pairs, so longer series are first reduced to the medians of this many blocks. */
const MAX_TREND = 512;

function findTrend(values: Float64Array): Trend {
  const blocks = Math.min(values.length, MAX_TREND);
  const series =
    blocks === values.length
      ? values
      : Float64Array.from({ length: blocks }, (_, b) =>
          median(
            values.subarray(Math.floor((b * values.length) / blocks), Math.floor(((b + 1) * values.length) / blocks)),
          ),
        );
  const centre = median(series);
  const change = theilSenSlope(series) * (series.length - 1);
  const relativeChange = change === 0 ? 0 : change / centre;
  const pValue = mannKendall(series);
  return {
    relativeChange,
    pValue,
    significant: pValue < TREND_SIGNIFICANCE && Math.abs(relativeChange) >= RELEVANT,
  };
}

const MAX_EXACT = 12;

/**
 * Computes the two-sided p-value of Kendall's score of a series against its order, for independent repeats without
 * trend: exact for short series without ties, otherwise normal, corrected for ties and continuity. Sources: Mann,
 * Econometrica 13 (1945), doi:10.2307/1907187; Kendall, Rank Correlation Methods, 4th ed. (1975).
 */
export function mannKendall(series: Float64Array): number {
  const n = series.length;
  const order = Float64Array.from(series, (_, i) => i);
  const { score, tiedB } = concordance(order, series);
  if (score === 0) return 1;
  if (tiedB === 0 && n <= MAX_EXACT) return exactScoreTail(n, Math.abs(score));
  let variance = n * (n - 1) * (2 * n + 5);
  const sorted = series.slice().sort();
  for (let start = 0; start < n;) {
    let end = start + 1;
    while (end < n && sorted[end] === sorted[start]) end += 1;
    const t = end - start;
    variance -= t * (t - 1) * (2 * t + 5);
    start = end;
  }
  return Math.min(1, 2 * normalUpperTail((Math.abs(score) - 1) / Math.sqrt(variance / 18)));
}

/** Computes P(|score| ≥ s) over all orders of n different values. The score is n(n − 1)/2 − 2·inversions. */
function exactScoreTail(n: number, score: number): number {
  const pairs = (n * (n - 1)) / 2;
  // probability[k] belongs to k inversions. The m-th value adds 0 to m − 1 inversions with equal probability.
  let probability = new Float64Array(pairs + 1);
  probability[0] = 1;
  for (let m = 2; m <= n; m += 1) {
    const next = new Float64Array(pairs + 1);
    for (let k = 0; k <= pairs; k += 1)
      for (let added = 0; added < m && added <= k; added += 1) next[k] += probability[k - added] / m;
    probability = next;
  }
  let tail = 0;
  probability.forEach((p, inversions) => {
    if (Math.abs(pairs - 2 * inversions) >= score) tail += p;
  });
  return Math.min(1, tail);
}
