import { fourier, powerOfTwoAtLeast } from '../../numeric/fourier.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { firstIndex } from '../../numeric/search.ts';
import { moments } from '../../models/workload/laws.ts';
import { FOLLOWED_ROUNDS } from '../constants.ts';

/** Lanes start in step if the standard deviation of lengths, in iterations, is below this. */
const IN_STEP_DEVIATION = 0.05;
/** A sum of lengths is computed up to this number of standard deviations above its mean. */
const SUM_REACH = 6;
const START_POINTS = 2 ** 14;
/** Minimum number of rounds that are followed one by one, even if `START_POINTS` are too few for their lengths. */
const MIN_FOLLOWED_ROUNDS = 4;
/** Units of a fetching lane that are followed one by one. */
const FETCHED_ROUNDS = 48;
/** Units of a fetching lane that are followed even if lengths must be rounded to fit `START_POINTS`. */
const MIN_FETCHED_ROUNDS = 12;
/** Damping of the last point of a transform of starts. Beyond this point, the rate of starts counts as settled. */
const DAMPED_SPECTRUM = 1e-7;

/**
 * Computes the number of iterations of a work group in which any lane starts a unit, if every lane starts its next unit
 * as soon as its last one ends. A lane starts round j + 1 after the sum S_j of j lengths. With a(t) = Σ_{j<m} P(S_j =
 * t), none of the n lanes starts a unit at iteration t with probability (1 − a(t))ⁿ.
 * @param sizes numbers of lanes n ≥ 1, ascending; each gets a result
 * @param rounds m ≥ 1, whole: units per lane
 * @returns for each n, a number between 1 and n·m, and the part of it that the last round adds
 */
export function computeIndependentStarts(law: LengthLaw, sizes: readonly number[], rounds: number): RoundStarts[] {
  const { mean, standardDeviation } = moments(law);
  if (rounds === 1 || mean <= 1 || standardDeviation < IN_STEP_DEVIATION)
    return sizes.map(() => ({ starts: rounds, perRound: 1 }));
  let followed = Math.min(rounds, FOLLOWED_ROUNDS);
  while (followed > MIN_FOLLOWED_ROUNDS && computeReach([law], [followed]) > START_POINTS) followed -= 1;
  const [untilLast, all] = computeOrderedStarts([law], sizes, [[followed - 1], [followed]]);
  return all.map((starts, i) => {
    const perRound = starts - untilLast[i];
    return { starts: starts + (rounds - followed) * perRound, perRound };
  });
}

interface RoundStarts {
  readonly starts: number;
  readonly perRound: number;
}

/**
 * Counts the iterations in which any of n lanes starts a unit, if every lane takes `counts[b]` units of `laws[b]`, one
 * law after another (buckets).
 * @returns for each pattern of counts and each n of `sizes`, a number between 1 and n times the units of a lane
 */
export function computeOrderedStarts(
  laws: readonly LengthLaw[],
  sizes: readonly number[],
  patterns: readonly (readonly number[])[],
): number[][] {
  const reach = Math.max(...patterns.map((counts) => computeReach(laws, counts)));
  // Lengths that do not fit the number of points are rounded to coarser steps.
  const step = Math.max(1, Math.ceil(reach / START_POINTS));
  const size = powerOfTwoAtLeast(reach / step);
  const transform = fourier(size);
  const spectra = laws.map((law) => {
    const spectrum = new Float64Array(2 * size);
    transform.realTransform(spectrum, computeMasses(law, step, size, 1));
    return spectrum;
  });
  const sums = new Float64Array(2 * size);
  const lane = new Float64Array(2 * size);
  return patterns.map((counts) => {
    for (let k = 0; k <= size; k += 2) {
      let re = 1;
      let im = 0;
      let sumRe = 0;
      let sumIm = 0;
      for (let b = 0; b < counts.length; b += 1) {
        const unitRe = spectra[b][k];
        const unitIm = spectra[b][k + 1];
        let powerRe = 1;
        let powerIm = 0;
        let squareRe = unitRe;
        let squareIm = unitIm;
        for (let rest = counts[b]; rest > 0; rest >>= 1) {
          if (rest & 1) {
            const next = powerRe * squareRe - powerIm * squareIm;
            powerIm = powerRe * squareIm + powerIm * squareRe;
            powerRe = next;
          }
          const next = squareRe * squareRe - squareIm * squareIm;
          squareIm = 2 * squareRe * squareIm;
          squareRe = next;
        }
        // With the spectrum φ of a law: 1 + φ + … + φᵏ⁻¹ = (1 − φᵏ)/(1 − φ). If φ is 1, all terms are 1.
        const norm = (1 - unitRe) * (1 - unitRe) + unitIm * unitIm;
        let seriesRe = counts[b];
        let seriesIm = 0;
        if (norm > 1e-20) {
          seriesRe = ((1 - powerRe) * (1 - unitRe) + powerIm * unitIm) / norm;
          seriesIm = ((1 - powerRe) * unitIm - powerIm * (1 - unitRe)) / norm;
        }
        sumRe += re * seriesRe - im * seriesIm;
        sumIm += re * seriesIm + im * seriesRe;
        const next = re * powerRe - im * powerIm;
        im = re * powerIm + im * powerRe;
        re = next;
      }
      // The first start is at iteration 0 with certainty.
      sums[k] = sumRe - 1;
      sums[k + 1] = sumIm;
    }
    transform.completeSpectrum(sums);
    transform.inverseTransform(lane, sums);
    return countStarts(lane, sizes, step);
  });
}

/** An upper limit, almost never exceeded, of the latest start of a lane that takes `counts[b]` units of `laws[b]`. */
function computeReach(laws: readonly LengthLaw[], counts: readonly number[]): number {
  let mean = 0;
  let variance = 0;
  let longest = 0;
  laws.forEach((law, b) => {
    const one = moments(law);
    mean += counts[b] * one.mean;
    variance += counts[b] * one.standardDeviation ** 2;
    longest += counts[b] * law.support[law.support.length - 1];
  });
  return Math.min(longest, mean + SUM_REACH * Math.sqrt(variance)) + 1;
}

/** 1 + Σ (1 − (1 − a(t))ⁿ) over all t > 0, for the expected starts a(t) of a lane (even entries of `starts`). */
function countStarts(starts: Float64Array, sizes: readonly number[], step: number): number[] {
  const sums = sizes.map(() => 1);
  for (let t = 2; t < starts.length; t += 2) {
    const a = Math.min(1, starts[t] / step);
    if (a < 1e-12) continue;
    forAnyStart(a, sizes, (i, any) => (sums[i] += step * any));
  }
  return sums;
}

/**
 * Counts the iterations in which any of n lanes starts a unit, if lanes fetch their units and all stop together, after
 * m units each on average. A lane starts a unit at iteration t with probability Σ_j P(sum of j lengths = t).
 * @returns this number for each n of `sizes` and the number of all iterations, as functions of m ≥ 1
 */
export function computeFetchedStarts(law: LengthLaw, sizes: readonly number[]): (rounds: number) => FetchedStarts {
  const { mean, standardDeviation } = moments(law);
  if (mean <= 1 || standardDeviation < IN_STEP_DEVIATION)
    return (rounds) => ({ starts: sizes.map(() => rounds), iterations: (rounds - 1) * mean });
  const step = Math.max(1, Math.ceil((MIN_FETCHED_ROUNDS * mean) / START_POINTS));
  const size = powerOfTwoAtLeast(Math.min(START_POINTS, (FETCHED_ROUNDS * mean) / step));
  // Mass beyond the last point wraps around to the first points. The damping makes this mass negligible.
  const damping = DAMPED_SPECTRUM ** (1 / size);
  const transform = fourier(size);
  const spectrum = new Float64Array(2 * size);
  transform.realTransform(spectrum, computeMasses(law, step, size, damping));
  for (let k = 0; k <= size; k += 2) {
    // With the spectrum φ of the lengths: φ/(1 − φ) = 1/(1 − φ) − 1.
    const re = 1 - spectrum[k];
    const im = -spectrum[k + 1];
    const norm = re * re + im * im;
    spectrum[k] = re / norm - 1;
    spectrum[k + 1] = -im / norm;
  }
  transform.completeSpectrum(spectrum);
  const renewal = new Float64Array(2 * size);
  transform.inverseTransform(renewal, spectrum);
  const taken = new Float64Array(size);
  const starts = sizes.map(() => new Float64Array(size));
  taken[0] = 1;
  for (const sums of starts) sums[0] = 1;
  for (let t = 1; t < size; t += 1) {
    const lane = Math.min(step, Math.max(0, renewal[2 * t] / damping ** t));
    taken[t] = taken[t - 1] + lane;
    forAnyStart(lane / step, sizes, (i, any) => (starts[i][t] = starts[i][t - 1] + step * any));
  }
  return (rounds) => {
    const high = firstIndex(1, size - 1, (t) => taken[t] >= rounds);
    // Beyond the last point, each round adds as much as a round in the second half of the points.
    const low = taken[high] < rounds ? size >> 1 : high - 1;
    // No lane starts a second unit before the shortest length, so up to there `taken` does not grow.
    const part = taken[high] > taken[low] ? (rounds - taken[low]) / (taken[high] - taken[low]) : 0;
    return {
      starts: starts.map((sums) => sums[low] + part * (sums[high] - sums[low])),
      iterations: step * (low + part * (high - low)),
    };
  };
}

interface FetchedStarts {
  readonly starts: readonly number[];
  readonly iterations: number;
}

/** P(X = k·step)·damping^k for k ≥ 0, wrapped around. An X between two points is split so that its mean is kept. */
function computeMasses({ support, probability }: LengthLaw, step: number, size: number, damping: number): Float64Array {
  const masses = new Float64Array(size);
  for (let i = 0; i < support.length; i += 1) {
    const cell = support[i] / step;
    const below = Math.floor(cell);
    masses[below % size] += probability[i] * (below + 1 - cell) * damping ** below;
    masses[(below + 1) % size] += probability[i] * (cell - below) * damping ** (below + 1);
  }
  return masses;
}

/** Calls `use` with P(any of n lanes starts) for each n, if each lane starts with probability `a`. */
function forAnyStart(a: number, sizes: readonly number[], use: (i: number, any: number) => void): void {
  // Doubling the lanes turns the probability s that any lane starts into s + s − s².
  let any = a;
  let lanes = 1;
  for (let i = 0; i < sizes.length; i += 1) {
    const n = sizes[i];
    for (; 2 * lanes <= n; lanes *= 2) any *= 2 - any;
    use(i, n === lanes ? any : -Math.expm1(n * Math.log1p(-a)));
  }
}
