import { fourier, powerOfTwoAtLeast } from '../../numeric/fourier.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { firstIndex } from '../../numeric/search.ts';
import { moments } from '../../models/workload/laws.ts';
import {
  DAMPED_SPECTRUM,
  FETCHED_ROUNDS,
  FOLLOWED_ROUNDS,
  MIN_FETCHED_ROUNDS,
  MIN_FOLLOWED_ROUNDS,
  IN_STEP_DEVIATION,
  MAX_FOLLOWED_ROUNDS,
  OVERLAPPING_ROUNDS,
  START_POINTS,
  SUM_REACH,
} from '../constants.ts';

/**
 * Number of iterations of a work group in which any lane starts a unit, when every lane starts its next unit as soon as
 * its last one ends (flattened loops, dynamic fetch).
 *
 * What a lane does before the first iteration of a unit, the other lanes wait for. Lockstep issues it once for each
 * such iteration, not once for each round. All lanes start their first unit together, and round j + 1 of a lane starts
 * after the sum S_j of j lengths. So with a(t) = Σ_{j<m} P(S_j = t), none of the n lanes starts a unit at iteration t
 * with probability (1 − a(t))ⁿ. This is exact for lanes that take m units each of independent lengths. Short units that
 * many lanes take at once, and limits that many units run to, fall on the same iterations.
 *
 * @param sizes n ≥ 1 of each wanted result, ascending
 * @param rounds m ≥ 1, whole: units per lane
 * @returns for each n a number between 1 and n·m, and how many of them the last round adds
 */
export function independentStarts(law: LengthLaw, sizes: readonly number[], rounds: number): RoundStarts[] {
  const { mean, standardDeviation } = moments(law);
  if (rounds === 1 || mean <= 1 || standardDeviation < IN_STEP_DEVIATION)
    return sizes.map(() => ({ starts: rounds, perRound: 1 }));
  const longest = law.support[law.support.length - 1];
  const reach = (sums: number): number =>
    Math.min(sums * longest, sums * mean + SUM_REACH * standardDeviation * Math.sqrt(sums)) + 1;
  // Each round soon adds as much as the one before, so the last rounds followed stand for the rest.
  let followed = Math.min(rounds, FOLLOWED_ROUNDS);
  while (followed > MIN_FOLLOWED_ROUNDS && reach(followed - 1) > START_POINTS) followed -= 1;
  // Lengths that do not fit the points are rounded to coarser steps.
  const step = Math.max(1, Math.ceil(reach(followed - 1) / START_POINTS));
  const size = powerOfTwoAtLeast(reach(followed - 1) / step);
  const transform = fourier(size);
  const one = new Float64Array(2 * size);
  transform.realTransform(one, massesOf(law, step, size, 1));
  // Sums φ + φ² + … of the spectrum φ: `last` without the highest power, `both` with it.
  const last = new Float64Array(2 * size);
  const both = new Float64Array(2 * size);
  for (let k = 0; k <= size; k += 2) {
    const re = one[k];
    const im = one[k + 1];
    let powerRe = 1;
    let powerIm = 0;
    let squareRe = re;
    let squareIm = im;
    for (let rest = followed - 1; rest > 0; rest >>= 1) {
      if (rest & 1) {
        const next = powerRe * squareRe - powerIm * squareIm;
        powerIm = powerRe * squareIm + powerIm * squareRe;
        powerRe = next;
      }
      const next = squareRe * squareRe - squareIm * squareIm;
      squareIm = 2 * squareRe * squareIm;
      squareRe = next;
    }
    // φ·(1 − φᵏ)/(1 − φ); where φ is 1, all terms are 1.
    const norm = (1 - re) * (1 - re) + im * im;
    let sumRe = followed - 1;
    let sumIm = 0;
    if (norm > 1e-20) {
      const topRe = re - (re * powerRe - im * powerIm);
      const topIm = im - (re * powerIm + im * powerRe);
      sumRe = (topRe * (1 - re) - topIm * im) / norm;
      sumIm = (topIm * (1 - re) + topRe * im) / norm;
    }
    last[k] = sumRe;
    last[k + 1] = sumIm;
    both[k] = sumRe - powerRe;
    both[k + 1] = sumIm - powerIm;
  }
  transform.completeSpectrum(both);
  transform.completeSpectrum(last);
  // One transform yields two real sequences.
  for (let k = 0; k < 2 * size; k += 2) {
    both[k] -= last[k + 1];
    both[k + 1] += last[k];
  }
  transform.inverseTransform(one, both);
  const untilLast = startsIn(one, 0, sizes, step);
  const all = startsIn(one, 1, sizes, step);
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
 * 1 plus the sum of 1 − (1 − a(t))ⁿ over all t > 0, for the expected starts a(t) of a lane. `starts` interleaves two
 * sequences, of which `part` picks one.
 */
function startsIn(starts: Float64Array, part: number, sizes: readonly number[], step: number): number[] {
  const sums = sizes.map(() => 1);
  for (let t = 2 + part; t < starts.length; t += 2) {
    const a = Math.min(1, starts[t] / step);
    if (a < 1e-12) continue;
    forAnyStart(a, sizes, (i, any) => (sums[i] += step * any));
  }
  return sums;
}

/**
 * Counts starts where lanes fetch their units and all stop together, after m units each on average. The iterations t
 * run until a lane is expected to have started m units, and u(t) = Σ_j P(S_j = t) over all j is the renewal of the
 * lengths.
 *
 * @param sizes n ≥ 1 of each wanted result, ascending
 * @returns for m ≥ 1 the number of starts for each n, and the iterations
 */
export function fetchedStarts(law: LengthLaw, sizes: readonly number[]): (rounds: number) => FetchedStarts {
  const { mean, standardDeviation } = moments(law);
  if (mean <= 1 || standardDeviation < IN_STEP_DEVIATION)
    return (rounds) => ({ starts: sizes.map(() => rounds), iterations: (rounds - 1) * mean });
  const step = Math.max(1, Math.ceil((MIN_FETCHED_ROUNDS * mean) / START_POINTS));
  const size = powerOfTwoAtLeast(Math.min(START_POINTS, (FETCHED_ROUNDS * mean) / step));
  // Damping makes what lies beyond the last point negligible where it wraps around to the first.
  const damping = DAMPED_SPECTRUM ** (1 / size);
  const transform = fourier(size);
  const spectrum = new Float64Array(2 * size);
  transform.realTransform(spectrum, massesOf(law, step, size, damping));
  for (let k = 0; k <= size; k += 2) {
    // φ/(1 − φ) = 1/(1 − φ) − 1.
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
    // Each later round adds as much as the rounds of the second half do.
    const low = taken[high] < rounds ? size >> 1 : high - 1;
    const part = (rounds - taken[low]) / (taken[high] - taken[low]);
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

/** P(X = t) times damping^t at t = 0, step, 2·step, …, wrapped from the last point to the first. The mean stays. */
function massesOf({ support, probability }: LengthLaw, step: number, size: number, damping: number): Float64Array {
  const masses = new Float64Array(size);
  for (let i = 0; i < support.length; i += 1) {
    const cell = support[i] / step;
    const below = Math.floor(cell);
    masses[below % size] += probability[i] * (below + 1 - cell) * damping ** below;
    masses[(below + 1) % size] += probability[i] * (cell - below) * damping ** (below + 1);
  }
  return masses;
}

/** Passes P(any of n lanes starts) for each n, for lanes that start with probability `a`. */
function forAnyStart(a: number, sizes: readonly number[], use: (i: number, any: number) => void): void {
  // Any of twice as many lanes starts with probability s + s − s².
  let any = a;
  let lanes = 1;
  for (let i = 0; i < sizes.length; i += 1) {
    const n = sizes[i];
    for (; 2 * lanes <= n; lanes *= 2) any *= 2 - any;
    use(i, n === lanes ? any : -Math.expm1(n * Math.log1p(-a)));
  }
}

/**
 * Counts starts where only the mean and the deviation of lengths are known, as inside buckets. Round j starts after
 * (j−1)·μ iterations with a deviation of σ·√(j−1), taken as normal. So none of the n lanes starts a unit at iteration t
 * with probability Π_j (1 − p_j(t))ⁿ. Once the rounds overlap, that is (1 − 1/μ)ⁿ for every t.
 *
 * The result is within 6 % of played groups for lengths with one peak. Heavy tails in wide groups have up to a third
 * more starts.
 *
 * @param mean,standardDeviation of the unit lengths, iterations
 * @param lanes n ≥ 1
 * @param rounds m ≥ 1, units per lane
 * @returns between 1 and n·m
 */
export function divergentStarts(mean: number, standardDeviation: number, lanes: number, rounds: number): number {
  if (lanes === 1 || rounds === 1 || mean <= 1 || standardDeviation < IN_STEP_DEVIATION) return rounds;
  // Rounds overlap from here on. That takes long where lengths vary little, and the last round followed then stands for
  // the rest.
  const overlap = Math.ceil((OVERLAPPING_ROUNDS * mean) / standardDeviation) ** 2;
  const followed = Math.min(rounds, overlap, MAX_FOLLOWED_ROUNDS);
  const untilLast = normalStarts(mean, standardDeviation, lanes, followed - 1);
  const all = normalStarts(mean, standardDeviation, lanes, followed);
  const each = followed === overlap ? mean * -Math.expm1(lanes * Math.log1p(-1 / mean)) : all - untilLast;
  return all + (rounds - followed) * each;
}

/** Counts the starts of `rounds` rounds of normal lengths; no other round follows the last. */
function normalStarts(mean: number, standardDeviation: number, lanes: number, rounds: number): number {
  if (rounds <= 1) return Math.max(1, rounds);
  const all = standardDeviation * Math.sqrt(rounds - 1);
  // Wide spreads are summed on coarser steps, because the sum is an integral by then.
  const step = Math.max(1, standardDeviation / 8);
  const none = new Float64Array(Math.ceil(((rounds - 1) * mean + 5 * all) / step) + 2);
  for (let round = 1; round < rounds; round++) {
    const centre = round * mean;
    const deviation = Math.max(IN_STEP_DEVIATION, standardDeviation * Math.sqrt(round));
    const from = Math.max(0, Math.floor((centre - 5 * deviation) / step));
    const to = Math.min(none.length - 1, Math.ceil((centre + 5 * deviation) / step));
    let mass = 0;
    for (let t = from; t <= to; t += 1) mass += Math.exp(-0.5 * ((t * step - centre) / deviation) ** 2);
    for (let t = from; t <= to; t += 1) {
      const p = Math.exp(-0.5 * ((t * step - centre) / deviation) ** 2) / (mass * step);
      none[t] += lanes * Math.log1p(-Math.min(p, 1 - 1e-9));
    }
  }
  return none.reduce((starts, log) => starts - step * Math.expm1(log), 1);
}
