import { fourier, powerOfTwoAtLeast } from '../../numeric/fourier.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { moments } from '../workload/laws.ts';

/**
 * Number of iterations of a work group in which some lane starts a unit, when every lane starts its next unit as soon as
 * its last one ends (flattened loops, dynamic fetch).
 *
 * Whatever a lane does before the first iteration of a unit, the other lanes wait for: lockstep issues it once for each
 * such iteration, not once for each round. All lanes start their first unit together; round j + 1 of a lane starts after the
 * sum S_j of j lengths, so with a(t) = Σ_{j<m} P(S_j = t) an iteration t sees none of the n lanes start with probability
 * (1 − a(t))ⁿ. Exact for lanes that take m units each of independent lengths; short units that many lanes take at once, and
 * limits that many run to, fall on the same iterations.
 *
 * @param sizes n ≥ 1 of each wanted result, ascending
 * @param rounds m ≥ 1, whole: units per lane
 * @returns for each n a number between 1 and n·m, and how many of them the last round adds
 */
export function independentStarts(law: LengthLaw, sizes: readonly number[], rounds: number): Starts[] {
  const { mean, standardDeviation } = moments(law);
  if (rounds === 1 || mean <= 1 || standardDeviation < IN_STEP_DEVIATION)
    return sizes.map(() => ({ starts: rounds, perRound: 1 }));
  const { support, probability } = law;
  const longest = support[support.length - 1]!;
  const reach = (sums: number): number =>
    Math.min(sums * longest, sums * mean + REACH * standardDeviation * Math.sqrt(sums)) + 1;
  // What a round adds is soon the same for all: the last ones followed stand for the rest.
  let followed = Math.min(rounds, FOLLOWED_ROUNDS);
  while (followed > LEAST_FOLLOWED && reach(followed - 1) > MOST_POINTS) followed -= 1;
  // Lengths that do not fit are told apart less finely.
  const step = Math.max(1, Math.ceil(reach(followed - 1) / MOST_POINTS));
  const size = powerOfTwoAtLeast(reach(followed - 1) / step);
  const transform = fourier(size);
  const masses = new Float64Array(size);
  for (let i = 0; i < support.length; i += 1) {
    const cell = support[i]! / step;
    const below = Math.floor(cell);
    masses[below % size]! += probability[i]! * (below + 1 - cell);
    masses[(below + 1) % size]! += probability[i]! * (cell - below);
  }
  const one = new Float64Array(2 * size);
  transform.realTransform(one, masses);
  // φ + φ² + … of the spectrum φ, up to the last sum but one and to the last.
  const last = new Float64Array(2 * size);
  const both = new Float64Array(2 * size);
  for (let k = 0; k <= size; k += 2) {
    const re = one[k]!;
    const im = one[k + 1]!;
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
    // φ·(1 − φᵏ)/(1 − φ); where φ is 1, all terms are.
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
  // Two real sequences out of one transform.
  for (let k = 0; k < 2 * size; k += 2) {
    both[k]! -= last[k + 1]!;
    both[k + 1]! += last[k]!;
  }
  transform.inverseTransform(one, both);
  const untilLast = startsIn(one, 0, sizes, step);
  const all = startsIn(one, 1, sizes, step);
  return all.map((starts, i) => {
    const perRound = starts - untilLast[i]!;
    return { starts: starts + (rounds - followed) * perRound, perRound };
  });
}

export interface Starts {
  readonly starts: number;
  readonly perRound: number;
}

/** Lanes whose lengths vary less than this start in step. */
const IN_STEP_DEVIATION = 0.05;
/** Deviations of a sum that are followed beyond its mean. */
const REACH = 6;
const MOST_POINTS = 2 ** 14;
const LEAST_FOLLOWED = 4;
/** Rounds after which what one adds is the same for all. */
export const FOLLOWED_ROUNDS = 32;

/** One and the sum of 1 − (1 − a(t))ⁿ over all t > 0 of the expected starts of a lane, interleaved with another's. */
function startsIn(starts: Float64Array, part: number, sizes: readonly number[], step: number): number[] {
  const sums = sizes.map(() => 1);
  for (let t = 2 + part; t < starts.length; t += 2) {
    const a = Math.min(1, starts[t]! / step);
    if (a < 1e-12) continue;
    // Of twice as many lanes any starts with s + s − s².
    let any = a;
    let lanes = 1;
    for (let i = 0; i < sizes.length; i += 1) {
      const n = sizes[i]!;
      for (; 2 * lanes <= n; lanes *= 2) any *= 2 - any;
      sums[i]! += step * (n === lanes ? any : -Math.expm1(n * Math.log1p(-a)));
    }
  }
  return sums;
}

/**
 * The same where only the mean and the deviation of lengths are known, as inside buckets that differ from round to round: the
 * start of round j comes after (j−1)·μ iterations with a deviation of σ·√(j−1), taken as normal, so an iteration t sees none
 * of the n lanes start with probability Π_j (1 − p_j(t))ⁿ. Once the rounds overlap, that is (1 − 1/μ)ⁿ for every t.
 *
 * Within 6 % of played groups for lengths with one peak; up to a third too few for heavy tails in wide groups.
 *
 * @param mean,standardDeviation of the unit lengths, iterations
 * @param lanes n ≥ 1
 * @param rounds m ≥ 1, units per lane
 * @returns between 1 and n·m
 */
export function divergentStarts(mean: number, standardDeviation: number, lanes: number, rounds: number): number {
  if (lanes === 1 || rounds === 1 || mean <= 1 || standardDeviation < IN_STEP_DEVIATION) return rounds;
  // Rounds overlap from here on; where lengths hardly vary that takes long, and the last round followed stands for the rest.
  const overlap = Math.ceil((OVERLAP * mean) / standardDeviation) ** 2;
  const followed = Math.min(rounds, overlap, MAX_FOLLOWED_ROUNDS);
  const untilLast = startsOf(mean, standardDeviation, lanes, followed - 1);
  const all = startsOf(mean, standardDeviation, lanes, followed);
  const each = followed === overlap ? mean * -Math.expm1(lanes * Math.log1p(-1 / mean)) : all - untilLast;
  return all + (rounds - followed) * each;
}

/** Rounds overlap when their deviation is this part of the mean. */
const OVERLAP = 0.75;
const MAX_FOLLOWED_ROUNDS = 64;

function startsOf(mean: number, standardDeviation: number, lanes: number, rounds: number): number {
  if (rounds <= 1) return rounds;
  // Wide spreads are summed on coarser steps: the sum is an integral by then.
  const step = Math.max(1, standardDeviation / 8);
  const last = (rounds - 1) * mean + 5 * standardDeviation * Math.sqrt(rounds - 1);
  const none = new Float64Array(Math.ceil(last / step) + 1);
  for (let round = 1; round < rounds; round += 1) {
    const centre = round * mean;
    const deviation = standardDeviation * Math.sqrt(round);
    const from = Math.max(0, Math.floor((centre - 5 * deviation) / step));
    const to = Math.min(none.length - 1, Math.ceil((centre + 5 * deviation) / step));
    let mass = 0;
    for (let t = from; t <= to; t += 1) mass += Math.exp(-0.5 * ((t * step - centre) / deviation) ** 2);
    for (let t = from; t <= to; t += 1) {
      const p = Math.exp(-0.5 * ((t * step - centre) / deviation) ** 2) / (mass * step);
      none[t]! += lanes * Math.log1p(-Math.min(p, 1 - 1e-9));
    }
  }
  return none.reduce((sum, log) => sum - step * Math.expm1(log), 1);
}
