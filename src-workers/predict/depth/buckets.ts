import { computeMasses, type DiscreteLaw } from './discrete-law.ts';

export interface Bucket {
  readonly share: number;
  readonly law: DiscreteLaw;
}

/** Makes k buckets of equal share. Units of the same length may fall on both sides of a cut. */
export function makeQuantileBuckets(law: DiscreteLaw, k: number): Bucket[] {
  const masses = computeMasses(law);
  const buckets: Bucket[] = [];
  let values: number[] = [];
  let parts: number[] = [];
  let room = 1 / k;
  const close = () => {
    const share = parts.reduce((sum, part) => sum + part, 0);
    if (share > 0) buckets.push({ share, law: makeConditionalLaw(values, parts) });
    values = [];
    parts = [];
    room = 1 / k;
  };
  for (let i = 0; i < masses.length; i++) {
    let left = masses[i];
    // A remainder smaller than rounding errors stays in the preceding bucket.
    while (left > room + 1e-12 && buckets.length < k - 1) {
      values.push(law.values[i]);
      parts.push(room);
      left -= room;
      close();
    }
    if (left > 0) {
      values.push(law.values[i]);
      parts.push(left);
      room -= left;
    }
    if (room <= 1e-12 && buckets.length < k - 1) close();
  }
  close();
  return normaliseBuckets(buckets);
}

/**
 * Makes at most k buckets of contiguous lengths that minimise Σ share·E[longest of n within the bucket], exactly, by
 * dynamic programming over the support, in O(k·points²) time. Cuts between different lengths are enough, because the
 * cost is concave in the share of one length's units that goes to the lower of two buckets.
 */
export function findBestBuckets(law: DiscreteLaw, n: number, k: number): Bucket[] {
  const { values } = law;
  const masses = computeMasses(law);
  const points = values.length;
  const cost = computeBucketCosts(values, masses, n);
  const wanted = Math.min(k, points);
  // best[j] is the lowest cost of the first j lengths with the buckets considered so far.
  let best = new Float64Array(points + 1).fill(Infinity);
  best[0] = 0;
  const cuts: Int32Array[] = [];
  for (let b = 0; b < wanted; b++) {
    const next = new Float64Array(points + 1).fill(Infinity);
    const from = new Int32Array(points + 1);
    for (let i = 0; i < points; i++) {
      const base = best[i];
      if (base === Infinity) continue;
      const row = i * points;
      for (let j = i; j < points; j++) {
        const c = base + cost[row + j];
        if (c < next[j + 1]) {
          next[j + 1] = c;
          from[j + 1] = i;
        }
      }
    }
    cuts.push(from);
    best = next;
  }
  const buckets: Bucket[] = [];
  for (let b = wanted - 1, end = points; b >= 0; b--) {
    const start = cuts[b][end];
    const parts = Array.from(masses.subarray(start, end));
    buckets.unshift({
      share: parts.reduce((sum, part) => sum + part, 0),
      law: makeConditionalLaw(Array.from(values.subarray(start, end)), parts),
    });
    end = start;
  }
  return normaliseBuckets(buckets);
}

/**
 * Computes share·E[longest of n] of every bucket of the lengths v_i…v_j, row by row. For the share P_ij, this is
 * P_ij·(v_j − R_j), where R_j = Σ_x (v_{x+1} − v_x)·(P_ix/P_ij)ⁿ. Each R_j follows from the previous one as (R_{j−1} +
 * v_j − v_{j−1})·(P_{i,j−1}/P_ij)ⁿ, without cancellation or overflow.
 */
function computeBucketCosts(values: Float64Array, masses: Float64Array, n: number): Float64Array {
  const points = values.length;
  const cost = new Float64Array(points * points);
  for (let i = 0; i < points; i++) {
    let share = masses[i];
    let below = 0;
    cost[i * points + i] = share * values[i];
    for (let j = i + 1; j < points; j++) {
      const before = share;
      share += masses[j];
      below = (below + values[j] - values[j - 1]) * computePower(before / share, n);
      cost[i * points + j] = share * (values[j] - below);
    }
  }
  return cost;
}

function computePower(base: number, exponent: number): number {
  let result = 1;
  let square = base;
  for (let rest = exponent; ; square *= square) {
    if (rest % 2 === 1) result *= square;
    rest = Math.floor(rest / 2);
    if (rest === 0) return result;
  }
}

function makeConditionalLaw(values: readonly number[], parts: readonly number[]): DiscreteLaw {
  const survival = new Float64Array(values.length);
  for (let i = values.length - 1; i > 0; i--) survival[i - 1] = survival[i] + parts[i];
  const total = survival[0] + parts[0];
  return { values: Float64Array.from(values), survival: survival.map((s) => s / total) };
}

function normaliseBuckets(buckets: readonly Bucket[]): Bucket[] {
  const total = buckets.reduce((sum, bucket) => sum + bucket.share, 0);
  return buckets.map(({ share, law }) => ({ share: share / total, law }));
}

/** A range of slots that take the same numbers of units from each bucket. `weight` is its share of all slots. */
export interface RoundPattern {
  readonly weight: number;
  readonly counts: readonly number[];
}

/**
 * Counts the units that a slot takes from each bucket when ordered units are dealt round by round: in round j, the slot
 * at fraction θ of the launch takes the unit at fraction (j + θ)/m of the order, as long as that is below 1. The counts
 * change only where θ passes the fractional part of m times a cumulative share.
 * @param rounds m > 0, units divided by slots
 */
export function listRoundPatterns(shares: readonly number[], rounds: number): RoundPattern[] {
  // The end of each bucket: m·c for the cumulative share c, reached after #{j : j + θ < m·c} = ⌈m·c − θ⌉ rounds.
  const ends: number[] = [];
  let cumulative = 0;
  shares.forEach((share, b) => {
    cumulative += share;
    // A product that should be whole is rounded, because the sum of the shares has rounding errors.
    const end = rounds * (b === shares.length - 1 ? 1 : cumulative);
    ends.push(Math.abs(end - Math.round(end)) < 1e-9 ? Math.round(end) : end);
  });
  const breaks = [0, ...ends.map((end) => end - Math.floor(end)), 1].sort((a, b) => a - b);
  const patterns: RoundPattern[] = [];
  for (let i = 1; i < breaks.length; i++) {
    const weight = breaks[i] - breaks[i - 1];
    if (weight <= 1e-12) continue;
    const theta = (breaks[i] + breaks[i - 1]) / 2;
    const done = ends.map((end) => Math.max(0, Math.ceil(end - theta)));
    patterns.push({ weight, counts: done.map((d, b) => d - (b === 0 ? 0 : done[b - 1])) });
  }
  return patterns;
}
