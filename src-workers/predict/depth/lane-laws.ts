import { keptFor } from '../../numeric/kept.ts';
import { lossMoments, quickMeanLosses } from '../../models/imbalance/closed-form.ts';
import { listRoundPatterns } from './buckets.ts';
import {
  listAtoms,
  makeCoarseGrid,
  makeCommonGrid,
  computeCumulants,
  takeMaximum,
  computeMean,
  moveToGrid,
  addLawsEach,
  makeSumTerm,
  type Cumulants,
  type DiscreteLaw,
} from './discrete-law.ts';
import {
  COMMON_SIZES,
  getBuckets,
  getShared,
  type BucketSet,
  type PreparedLaw,
  type WorkGroup,
} from './prepared-law.ts';
import { computeWindowMeanLoss, type SortedWindow } from './window.ts';
import { LARGEST_WINDOW_UNITS } from '../constants.ts';

/** Maximum number of cached laws of flattened lanes. With many buckets, each takes some hundred kilobytes. */
const KEPT_LANE_LAWS = 96;
/** Points of the law of a lane's sum for its mean loss, which then has three correct digits. */
const LOSS_POINTS = 192;
/** Maximum size of the terms that `computeMomentLoss` leaves out. Errors were below twice this in all laws tried. */
const LARGEST_MOMENT_TERM = 1e-4;

export interface WeightedLaw {
  readonly weight: number;
  readonly law: DiscreteLaw;
}

/** Weighted laws on common values. Each of `parts` is the law of all lanes, or of all groups, in some of the blocks. */
export interface LaneLaws {
  readonly parts: readonly WeightedLaw[];
  readonly values: Float64Array;
  readonly losses: Map<number, number>;
  readonly sizes: readonly number[];
}

export function makeLaneLaws(parts: readonly WeightedLaw[], sizes: readonly number[] = []): LaneLaws {
  const values = makeCommonGrid(parts.map(({ law }) => law));
  return {
    parts: parts.map(({ weight, law }) => ({ weight, law: moveToGrid(law, values) })),
    values,
    losses: new Map(),
    sizes,
  };
}

const keptSums = new WeakMap<PreparedLaw, Map<string, LaneLaws>>();

/** Returns the laws of a lane's summed lengths. Groups of any size share them if the buckets do not depend on n. */
export function getLaneSums(prepared: PreparedLaw, set: BucketSet, n: number, rounds: number): LaneLaws {
  if (set.cutForWidth) return makeLaneLaws(addRounds(prepared, set, 1, rounds), [n]);
  return keptFor(keptSums, prepared, KEPT_LANE_LAWS, `${set.key} ${rounds}`, () =>
    makeLaneLaws(addRounds(prepared, set, 1, rounds), COMMON_SIZES),
  );
}

/** Adds up the rounds, separately for each `RoundPattern`. Each round takes as long as the longest of n units. */
export function addRounds(
  prepared: PreparedLaw,
  { buckets, key }: BucketSet,
  n: number,
  rounds: number,
): readonly WeightedLaw[] {
  const perRound = getShared(prepared, `round ${key} ${n}`, () =>
    buckets.map(({ law }) => makeSumTerm(takeMaximum(law, n))),
  );
  const patterns = listRoundPatterns(
    buckets.map(({ share }) => share),
    rounds,
  );
  const laws = addLawsEach(
    perRound,
    patterns.map(({ counts }) => counts),
  );
  return patterns.map(({ weight }, i) => ({ weight, law: laws[i] }));
}

export function makeWindow(units: number, n: number): SortedWindow {
  return { n, units: n * Math.max(1, Math.ceil(units / n)) };
}

/** Computes Swatman's mean loss: of one round for a nested loop, of all rounds together for other loops. */
export function computeMeanLoss(
  { prepared, n, balancing, rounds }: WorkGroup,
  aggregateLoss: number,
  sums: LaneLaws | undefined,
): number {
  const set = getBuckets(prepared, n, balancing);
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
    case 'quantile-buckets':
    case 'best-buckets':
      return sums ? computeLaneSumsLoss(sums, n) : computeBucketLoss(prepared, set, n);
    case 'window-sort': {
      if (balancing.units > LARGEST_WINDOW_UNITS) return 1;
      const window = makeWindow(balancing.units, n);
      return window.units === n
        ? computeBucketLoss(prepared, set, n)
        : getShared(prepared, `window loss ${window.units} ${n}`, () => computeWindowMeanLoss(prepared.law, window));
    }
    case 'full-sort':
      return 1;
    case 'dynamic-fetch': {
      if (rounds === 1 || n === 1 || prepared.cumulants.mean === 0 || balancing.fetch === 'group')
        return computeBucketLoss(prepared, set, n);
      // Fetching is assumed to reduce the mean loss − 1 by the same factor as the aggregate loss − 1.
      const unfetched = getLaneSums(prepared, set, n, Math.round(rounds));
      const longer = computeAggregate(unfetched.parts[0].law, n) - 1;
      if (longer <= 0) return 1;
      return 1 + ((aggregateLoss - 1) * (computeLaneSumsLoss(unfetched, n) - 1)) / longer;
    }
  }
}

function computeBucketLoss(prepared: PreparedLaw, { buckets, key }: BucketSet, n: number): number {
  return getShared(prepared, `loss ${key} ${n}`, () =>
    buckets.reduce((sum, { share, law }) => sum + share * lossMoments(listAtoms(law), [n])[0].meanLoss, 0),
  );
}

/** The mean losses for each n, if the summed lengths of the n lanes are independent draws from `sum`. */
function computeLaneSumLosses(sum: DiscreteLaw, sizes: readonly number[]): number[] {
  const cumulants = computeCumulants(sum);
  const losses = sizes.map((n) => computeMomentLoss(sum, cumulants, n));
  const hard = sizes.filter((_, i) => losses[i] === null);
  if (hard.length === 0) return losses as number[];
  const quick = quickMeanLosses(listAtoms(moveToGrid(sum, makeCoarseGrid(sum, LOSS_POINTS))), hard);
  return losses.map((loss) => loss ?? quick.shift()!);
}

/** E[longest of n] / E[X]. */
function computeAggregate(law: DiscreteLaw, n: number): number {
  const longest = takeMaximum(law, n);
  return computeMean(longest.values, longest.survival) / computeMean(law.values, law.survival);
}

function computeLaneSumsLoss({ parts, losses, sizes }: LaneLaws, n: number): number {
  let loss = losses.get(n);
  if (loss === undefined) {
    const wanted = sizes.includes(n) ? sizes : [n];
    const byPart = parts.map(({ law }) => computeLaneSumLosses(law, wanted));
    wanted.forEach((size, i) =>
      losses.set(
        size,
        parts.reduce((total, { weight }, p) => total + weight * byPart[p][i], 0),
      ),
    );
    loss = losses.get(n)!;
  }
  return loss;
}

/**
 * Computes E[D/A] for a group's depth D and the mean A of its lanes, to second order in A's variance v: (E[D]/E[A])·(1
 * + v/E[A]²) − cov(D, A)/E[A]². The result is `null` if A's third and fourth moments matter.
 */
function computeMomentLoss(law: DiscreteLaw, { mean, variance, third }: Cumulants, n: number): number | null {
  if (mean === 0 || n === 1) return 1;
  const { values, survival } = law;
  const squared = mean * mean;
  const spread = variance / squared;
  const leftOut = (Math.abs(third) / (squared * mean) + 3 * spread * spread) / (n * n);
  if (leftOut > LARGEST_MOMENT_TERM) return null;
  const others = takeMaximum(law, n - 1).survival;
  // From the top down: E[longest of x and the other lanes] for each x, and E[longest of n].
  let longest = values[0];
  let beyond = 0;
  let covariance = 0;
  for (let i = values.length - 1; i >= 0; i--) {
    if (i + 1 < values.length) {
      const gap = values[i + 1] - values[i];
      beyond += gap * others[i];
      longest += gap * (others[i] + survival[i] * (1 - others[i]));
    }
    const mass = (i === 0 ? 1 : survival[i - 1]) - survival[i];
    covariance += mass * (values[i] - mean) * (values[i] + beyond);
  }
  const aggregateLoss = longest / mean;
  if (leftOut * aggregateLoss > LARGEST_MOMENT_TERM) return null;
  return Math.max(1, aggregateLoss * (1 + spread / n) - covariance / squared);
}
