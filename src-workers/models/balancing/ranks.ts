import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { normalQuantile } from '../workload/normal.ts';
import type { DiscreteLaw } from './discrete-law.ts';
import { equalPart } from './starts.ts';
import { binomialWindow } from './window.ts';

/**
 * Lengths of the units of sorted windows, by rank. Windows differ; `strata` windows stand for all of them, the s-th with
 * every rank at the (s + ½)/strata quantile of its own law, or where there are no more windows at the mean s-th of so many:
 * ranks that one group holds rise and fall together.
 */
export interface RankTable {
  /** M, units of a window. */
  readonly units: number;
  /** Ranks told apart: M, or where that is many, so many equal steps. */
  readonly ranks: number;
  readonly strata: number;
  /** Length of rank r of stratum s at s·ranks + r. */
  readonly lengths: Float64Array;
  /** Over the strata, of the length of each rank. */
  readonly meanLengths: Float64Array;
  readonly lengthVariances: Float64Array;
  /** Third central moment. */
  readonly lengthThirds: Float64Array;
  /** Expected number of units from the first to rank r that are longer than the one before. */
  readonly changes: Float64Array;
  /** `equalPart` of so many lanes from each place on, as far as they are of one window. */
  equalParts(lanes: number): Float64Array;
  /**
   * Sums over rounds in which a slot moves on by `step` places of its window.
   * @param lanes of a group that waits for the longest of its window, where it crosses the end; of no more than one: 1
   */
  orbits(step: number, lanes: number): OrbitSums;
  /**
   * A stratum for every window, each as often as the others, in an order without pattern.
   * @param draw 0, 1, …: one arbitrary order each, the odd ones mirrored
   */
  strataOf(draw: number): Uint8Array;
}

/** The places that a slot passes through, moving on by the same step each round, and comes back to: `period` of them. */
export interface OrbitSums {
  readonly step: number;
  readonly lanes: number;
  readonly period: number;
  /** Where in the sums a place is. */
  readonly at: Int32Array;
  /** Of each orbit `period` + 1 numbers: sums over the places before, of what `RankTable` has of their ranks. */
  readonly means: Float64Array;
  readonly deviations: Float64Array;
  readonly variances: Float64Array;
  readonly thirds: Float64Array;
}

/** Sum of `values` (one of the sums of `orbits`) over `rounds` rounds from a place on. */
export function orbitSum({ period, at }: OrbitSums, values: Float64Array, place: number, rounds: number): number {
  const from = at[place];
  const first = from - (from % (period + 1));
  const last = first + period;
  const turns = Math.floor(rounds / period);
  const to = from + rounds - turns * period;
  const whole = turns * values[last];
  return to <= last ? whole + values[to] - values[from] : whole + values[last] - values[from] + values[to - period];
}

/** Numbers kept of one window size, and strata at most. */
const TABLE_ENTRIES = 2 ** 17;
const MOST_STRATA = 64;
/** Ranks at either end that are tabulated one by one, and the step of the others as a fraction of the way to the end. */
const END_RANKS = 48;
const RANK_STEP = 0.025;
/** Quantiles averaged over in the outermost strata, which hold the tails. */
const TAIL_QUANTILES = 4;
/** Quantiles averaged over in all strata together. */
const LEAST_QUANTILES = 16;

/**
 * @param law the lengths, on few enough atoms to be searched
 * @param whole the lengths themselves: how often neighbours differ depends on every one of them
 * @param units M ≥ 1
 * @param windows that there are: no more strata
 */
export function rankTable(law: DiscreteLaw, whole: DiscreteLaw, units: number, windows: number): RankTable {
  const ranks = Math.min(units, TABLE_ENTRIES);
  const strata = Math.max(1, Math.min(windows, MOST_STRATA, Math.floor(TABLE_ENTRIES / ranks)));
  const lengths = new Float64Array(strata * ranks);
  // Where every window has a stratum, these are the windows in order, and the last one of them the longest of so many.
  const ordered = strata === windows;
  const nodes = rankNodes(ranks);
  for (let s = 0; s < strata; s++) {
    const row = s * ranks;
    const outer = ordered || s === 0 || s === strata - 1;
    const quantiles = Math.max(outer ? TAIL_QUANTILES : 1, Math.ceil(LEAST_QUANTILES / strata));
    let before = 0;
    for (const r of nodes) {
      let length = 0;
      for (let q = 0; q < quantiles; q++) {
        const part = (q + 0.5) / quantiles;
        const probability = ordered ? betaQuantile(s + 1, strata - s, part) : (s + part) / strata;
        length += lengthAbove(law, betaQuantile(ranks - r, r + 1, 1 - probability)) / quantiles;
      }
      lengths[row + r] = length;
      const slope = (length - lengths[row + before]) / (r - before);
      for (let i = before + 1; i < r; i++) lengths[row + i] = lengths[row + before] + slope * (i - before);
      before = r;
    }
  }
  let changes: Float64Array | undefined;
  let meanLengths: Float64Array | undefined;
  let lengthVariances: Float64Array | undefined;
  let lengthThirds: Float64Array | undefined;
  let orbits: OrbitSums | undefined;
  const equalParts = new Map<number, Float64Array>();
  const orders: (Uint8Array | undefined)[] = [];
  return {
    units,
    ranks,
    strata,
    lengths,
    get changes() {
      return (changes ??= changesOf(whole, units, ranks));
    },
    get meanLengths() {
      return (meanLengths ??= meansOf(lengths, ranks, strata));
    },
    get lengthVariances() {
      return (lengthVariances ??= centralMoments(this, 2));
    },
    get lengthThirds() {
      return (lengthThirds ??= centralMoments(this, 3));
    },
    equalParts(lanes) {
      let parts = equalParts.get(lanes);
      if (!parts) {
        const { changes: all } = this;
        parts = Float64Array.from({ length: Math.max(0, ranks - lanes + 1) }, (_, r) =>
          equalPart(lanes, all[r + lanes - 1] - all[r]),
        );
        equalParts.set(lanes, parts);
      }
      return parts;
    },
    // Launches that share a step come one after another.
    orbits(step, lanes) {
      if (orbits?.step !== step || orbits.lanes !== lanes) orbits = orbitsOf(this, step, lanes);
      return orbits;
    },
    strataOf: (draw) => (orders[draw] ??= strataOf(windows, strata, draw)),
  };
}

/** Ranks from 0 to `units` − 1, close together at both ends. */
function rankNodes(units: number): number[] {
  const nodes: number[] = [];
  for (let r = 0; r < units;) {
    nodes.push(r);
    const toEnd = Math.min(r, units - 1 - r);
    r += toEnd < END_RANKS ? 1 : Math.max(1, Math.floor(RANK_STEP * toEnd));
  }
  if (nodes[nodes.length - 1] !== units - 1) nodes.push(units - 1);
  return nodes;
}

/** Expected lengths of the longest of `units` units, the longest first, `count` of them at most. */
export function longestLengths(law: DiscreteLaw, units: number, count: number): Float64Array {
  return Float64Array.from({ length: Math.min(units, count) }, (_, i) => {
    let length = 0;
    for (let q = 0; q < LEAST_QUANTILES; q++) {
      length += lengthAbove(law, betaQuantile(i + 1, units - i, (q + 0.5) / LEAST_QUANTILES)) / LEAST_QUANTILES;
    }
    return length;
  });
}

/** The length that a part `above` of all units exceeds. */
export function lengthAbove({ values, survival }: DiscreteLaw, above: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (survival[middle] <= above) high = middle;
    else low = middle + 1;
  }
  return values[low];
}

/** x with P(X ≤ x) = p for a beta law. Source: Abramowitz and Stegun 26.5.22; exact where a or b is 1. */
function betaQuantile(a: number, b: number, p: number): number {
  if (b === 1) return Math.pow(p, 1 / a);
  if (a === 1) return -Math.expm1(Math.log1p(-p) / b);
  const y = -normalQuantile(p);
  const lambda = (y * y - 3) / 6;
  const inverseA = 1 / (2 * a - 1);
  const inverseB = 1 / (2 * b - 1);
  const h = 2 / (inverseA + inverseB);
  const w = (y * Math.sqrt(h + lambda)) / h - (inverseB - inverseA) * (lambda + 5 / 6 - 2 / (3 * h));
  return a / (a + b * Math.exp(2 * w));
}

/** In windows of more units the place of a length is taken to be spread evenly, as far as it deviates. */
const MOST_COUNTED = 4096;

/**
 * Rank r + 1 is longer than rank r where for some length x exactly r units are at most x, and one of them is x itself.
 */
function changesOf({ values, survival }: DiscreteLaw, units: number, ranks: number): Float64Array {
  const changes = new Float64Array(ranks);
  const last = values.length - 1;
  if (units > MOST_COUNTED) {
    for (let x = 0; x < last; x++) {
      const mass = (x === 0 ? 1 : survival[x - 1]) - survival[x];
      const centre = ranks * (1 - survival[x]);
      const half = ranks * Math.sqrt((3 * survival[x] * (1 - survival[x])) / units);
      const from = Math.max(1, Math.round(centre - half));
      const to = Math.min(ranks, Math.max(from + 1, Math.round(centre + half)));
      if (from >= ranks) continue;
      const each = -Math.expm1(-units * mass) / (to - from);
      changes[from] += each;
      if (to < ranks) changes[to] -= each;
    }
    for (let r = 1; r < ranks; r++) changes[r] += changes[r - 1];
  } else {
    const binomial = binomialWindow(units);
    for (let x = 0; x < last; x++) {
      const below = x === 0 ? 0 : (1 - survival[x - 1]) / (1 - survival[x]);
      if (below >= 1) continue;
      const { first, masses } = binomial(1 - survival[x]);
      const from = Math.max(1, first);
      let absent = Math.pow(below, from);
      for (let r = from; r < Math.min(units, first + masses.length); r++) {
        changes[r] += masses[r - first] * (1 - absent);
        absent *= below;
      }
    }
  }
  const perRank = units / ranks;
  for (let r = 1; r < ranks; r++) changes[r] = changes[r - 1] + Math.min(perRank, changes[r]);
  return changes;
}

function meansOf(lengths: Float64Array, ranks: number, strata: number): Float64Array {
  const means = new Float64Array(ranks);
  for (let at = 0, s = 0; s < strata; s++) for (let r = 0; r < ranks; r++) means[r] += lengths[at++] / strata;
  return means;
}

function centralMoments({ lengths, meanLengths, ranks, strata }: RankTable, power: number): Float64Array {
  const moments = new Float64Array(ranks);
  for (let at = 0, s = 0; s < strata; s++) {
    for (let r = 0; r < ranks; r++) moments[r] += (lengths[at++] - meanLengths[r]) ** power / strata;
  }
  return moments;
}

function orbitsOf(table: RankTable, step: number, lanes: number): OrbitSums {
  const { units: M, meanLengths, lengthVariances, lengthThirds } = table;
  const count = greatestCommonDivisor(M, step);
  const period = M / count;
  const at = new Int32Array(M);
  const means = new Float64Array(count * (period + 1));
  const deviations = new Float64Array(means.length);
  const variances = new Float64Array(means.length);
  const thirds = new Float64Array(means.length);
  for (let orbit = 0, to = 0; orbit < count; orbit++, to++) {
    let place = orbit;
    for (let k = 0; k < period; k++, to++) {
      at[place] = to;
      const rank = place < lanes - 1 ? M - 1 : place;
      means[to + 1] = means[to] + meanLengths[rank];
      deviations[to + 1] = deviations[to] + Math.sqrt(lengthVariances[rank]);
      variances[to + 1] = variances[to] + lengthVariances[rank];
      thirds[to + 1] = thirds[to] + lengthThirds[rank];
      place += step;
      if (place >= M) place -= M;
    }
  }
  return { step, lanes, period, at, means, deviations, variances, thirds };
}

function strataOf(windows: number, strata: number, draw: number): Uint8Array {
  const order = arbitraryOrder(windows, draw >> 1);
  const mirrored = draw % 2 === 1;
  const out = new Uint8Array(windows);
  for (let w = 0; w < windows; w++) {
    const stratum = Math.floor(((order[w] + 0.5) * strata) / windows);
    out[w] = mirrored ? strata - 1 - stratum : stratum;
  }
  return out;
}
