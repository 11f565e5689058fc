/**
 * Number of iterations of a work group in which some lane starts a unit, when every lane starts its next unit as soon as
 * its last one ends (flattened loops, dynamic fetch).
 *
 * Whatever a lane does before the first iteration of a unit, the other lanes wait for: lockstep issues it once for each
 * such iteration, not once for each round. All lanes start their first unit together. The start of round j comes after
 * (j−1)·μ iterations with a deviation of σ·√(j−1), taken as normal, so an iteration t sees none of the n lanes start with
 * probability Π_j (1 − p_j(t))ⁿ. Once the rounds overlap, that is (1 − 1/μ)ⁿ for every t.
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

/** Lanes whose lengths vary less than this start in step. */
const IN_STEP_DEVIATION = 0.05;
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
