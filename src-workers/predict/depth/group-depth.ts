import { formatBalancing } from '../../domain/balancing.ts';
import type { GroupDepth, GroupFetches, StepLaw } from '../../domain/depth.ts';
import type { WholeUnitBalancing } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { kept } from '../../numeric/kept.ts';
import { lossMoments, quickMeanLosses } from '../../models/imbalance/closed-form.ts';
import { findBestBuckets, makeQuantileBuckets, listRoundPatterns, type Bucket } from './buckets.ts';
import {
  listAtoms,
  makeCoarseGrid,
  makeCommonGrid,
  computeCumulants,
  fromMasses,
  takeMaximumInto,
  takeMaximum,
  computeMean,
  moveToGrid,
  addLaws,
  addLawsEach,
  makeSumTerm,
  type Cumulants,
  type DiscreteLaw,
} from './discrete-law.ts';
import { computeFetchedStarts, computeIndependentStarts, computeOrderedStarts } from './divergent-starts.ts';
import { computeDynamicGroupDepth, countLastFetches, prepareRenewals, type Renewals } from './dynamic-fetch.ts';
import type { FetchedOrder, FetchingGroup } from './fetched.ts';
import { computeWindowMeanLoss, computeWindowSurvival, type SortedWindow } from './window.ts';
import {
  FOLLOWED_ROUNDS,
  KEPT_DEPTH_NUMBERS,
  KEPT_LANE_LAWS,
  LARGEST_MOMENT_TERM,
  LARGEST_WINDOW_UNITS,
  LOSS_POINTS,
  MAX_POINTS,
} from '../constants.ts';

/**
 * Law of the depth of work groups of `n` units, for one balancing.
 *
 * The launch deals units out round by round. In round j of m, every slot takes the unit that is j·slots further on in
 * the order of the balancing (a grid-stride loop).
 *
 * - `none` for a workload without an order, `shuffle`: units are independent draws. Nested loops run m independent
 *   rounds, each as long as its longest unit. Flattened loops run the longest of n sums of m units.
 * - buckets: the groups of a block take their units from one bucket at a time. Each slot visits the buckets in
 *   proportion to their sizes. When the rounds do not divide evenly, its position decides which bucket gets the extra
 *   round (`listRoundPatterns`).
 * - `window-sort`: one unit per slot, and exact. The window is rounded up to whole groups.
 * - `full-sort`: one unit per slot. The units of a block are taken as equally long. For more units per slot,
 *   `computeSortedLaunch` models both sorted cases: slots that keep their place in the window and slots that change it.
 * - `dynamic-fetch`: lanes fetch one or several consecutive units at a time, from a pool of n·m units for each of the
 *   `poolGroups` groups that share it. Or a group fetches n units at once and ends them together. The balancing
 *   determines the form of the loop, so `loop` has no effect. The law is an approximation; see
 *   `computeDynamicGroupDepth`. `fetches` counts accesses to the counter.
 *
 * `values`, `meanDepth` and `meanWork` contain the setup. A nested loop runs the setup once per round. A flattened loop
 * or dynamic fetch runs it whenever a lane starts a unit, since the other lanes wait (`divergent-starts.ts`).
 * `meanLoss` and `aggregateLoss` are losses of the lengths alone, as Swatman et al. define them. `meanLoss` is per
 * round for a nested loop. It is an approximation if it needs the joint law of a group's sums (flattened loops,
 * windows, dynamic fetch).
 *
 * @param n units per work group, integer ≥ 1
 * @param unitsPerThread m ≥ 1, units over slots: an integer, except for buckets and if groups share a pool, and 1 for
 * sorted units; a RangeError otherwise
 * @param options.setupIterations iterations before the first iteration of each unit, ≥ 0
 * @param options.poolGroups groups that fetch from one pool, integer ≥ 1; 1 if omitted
 * @param options.fetched the units that fetchers take, if the order of the units is known
 */
export function makeGroupDepthLaw(
  law: LengthLaw,
  n: number,
  balancing: WholeUnitBalancing,
  loop: LoopForm,
  unitsPerThread: number,
  options: {
    readonly setupIterations: number;
    readonly poolGroups?: number;
    readonly fetched?: FetchedOrder | undefined;
  },
): GroupDepth {
  if (!Number.isInteger(n) || n < 1)
    throw new RangeError(`A group of ${n} units is not possible; the number must be an integer ≥ 1.`);
  const fractional =
    balancing.kind === 'dynamic-fetch'
      ? (options.poolGroups ?? 1) > 1
      : balancing.kind === 'quantile-buckets' || balancing.kind === 'best-buckets';
  if (!(unitsPerThread >= 1 && (fractional || Number.isInteger(unitsPerThread)))) {
    throw new RangeError(`${unitsPerThread} units per thread are not possible; the number must be an integer ≥ 1.`);
  }
  const isOrdered = balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
  if (isOrdered && unitsPerThread !== 1) {
    throw new RangeError(
      `${balancing.kind} with ${unitsPerThread} units per thread has no law of one group. Use computeSortedLaunch.`,
    );
  }
  const prepared = prepareLaw(law);
  const setup = options.setupIterations;
  const { fetched } = options;
  const played = fetched?.group(unitsPerThread, setup);
  const plain = played
    ? makePlainDepth(makeIndependentGroups(makeLaneLaws([{ weight: 1, law: played.depth }]), 1))
    : makeKeptDepth(prepared, n, balancing, loop, unitsPerThread, options.poolGroups ?? 1);
  const { model, meanDepth: pureDepth } = plain;
  const pureWork = prepared.cumulants.mean * unitsPerThread;
  const setupDepth =
    setup === 0
      ? 0
      : setup * (played?.starts ?? (plain.unitStarts ??= unitStarts(law, n, balancing, loop, unitsPerThread)));
  // Rounding alone could make it less than 1, because a group is never shorter than its mean unit.
  const aggregateLoss = pureWork > 0 ? Math.max(1, pureDepth / pureWork) : 1;
  let meanLoss: number | undefined;
  return {
    values: setupDepth === 0 ? model.values : model.values.map((v) => v + setupDepth),
    ...(setupDepth !== 0 && { withoutSetup: { law: model, setupDepth } }),
    meanDepth: pureDepth + setupDepth,
    meanWork: pureWork + setup * unitsPerThread,
    aggregateLoss,
    get meanLoss() {
      // The loss is between 1 and n by definition. Approximations may leave that range for extreme laws.
      meanLoss ??= Math.min(
        n,
        Math.max(
          1,
          fetched?.meanLoss ?? computeMeanLoss(prepared, n, balancing, unitsPerThread, aggregateLoss, model.laneSums),
        ),
      );
      return meanLoss;
    },
    ...(balancing.kind === 'dynamic-fetch' && {
      fetches: countGroupFetches(prepared, law, n, balancing, unitsPerThread, setup, played, pureDepth),
    }),
    survivalInto: model.survivalInto,
  };
}

type DynamicFetch = Extract<WholeUnitBalancing, { kind: 'dynamic-fetch' }>;

/**
 * Number of accesses to the counter. A group that fetches for its lanes counts as one lane with the longest units.
 * @param depth mean depth of the group without setups
 */
function countGroupFetches(
  prepared: PreparedLaw,
  law: LengthLaw,
  n: number,
  { fetch = 1 }: DynamicFetch,
  rounds: number,
  setup: number,
  played: FetchingGroup | undefined,
  depth: number,
): GroupFetches {
  if (played) {
    const fetchers = fetch === 'group' ? 1 : n;
    const once = Math.max(1, rounds / (fetch === 'group' ? 1 : fetch));
    return {
      fetchers,
      iterations: played.iterations + setup * (played.starts - 1),
      events: played.events,
      additions: fetchers * (once - 1),
      last: { iterations: Math.max(0, depth - played.iterations), events: played.lastEvents },
    };
  }
  const [fetchers, fetches, name, between] =
    fetch === 'group'
      ? [1, rounds, `longest of ${n}`, () => makeLengthLaw(takeMaximum(prepared.law, n))]
      : fetch === 1
        ? [n, rounds, 'units', () => law]
        : [n, rounds / fetch, `chunks of ${fetch}`, () => makeLengthLaw(getChunkSum(prepared, fetch))];
  const once = Math.max(1, fetches);
  const { starts, iterations } = getFetchedStarts(prepared, between, fetchers, name)(once);
  // The setup runs at every start of a unit: at each fetch, and again for each further unit of a chunk.
  const countUnitStarts =
    typeof fetch === 'number' && fetch > 1
      ? getFetchedStarts(prepared, () => law, n, 'units')(Math.max(1, rounds)).starts
      : starts;
  return {
    fetchers,
    iterations: iterations + setup * (countUnitStarts - 1),
    events: starts - 1,
    additions: fetchers * (once - 1),
    last: {
      iterations: Math.max(0, depth - iterations),
      events: fetchers === 1 ? 1 : countSharedLastFetches(prepared, fetch, n, once),
    },
  };
}

/** Caches the result of `countLastFetches`. It depends on the number of units only if lanes have few units. */
function countSharedLastFetches(prepared: PreparedLaw, fetch: number | 'group', n: number, fetches: number): number {
  const most = Math.min(2, fetches);
  return getShared(prepared, `last fetches ${fetch} ${n} ${most}`, () => {
    const renewals = getRenewals(prepared, fetch, n);
    return renewals ? countLastFetches(renewals, n, most) : 1;
  });
}

/** The renewals of a fetcher (see `getFetchedLaw`); `null` if all units are empty. */
function getRenewals(prepared: PreparedLaw, fetch: number | 'group', n: number): Renewals | null {
  return getShared(prepared, `renewals ${fetch} ${fetch === 'group' ? n : ''}`, () =>
    prepareRenewals(getFetchedLaw(prepared, fetch, n)),
  );
}

/** The law of what a fetcher runs between two fetches: a unit, a chunk, or the longest unit of a group. */
function getFetchedLaw(prepared: PreparedLaw, fetch: number | 'group', n: number): DiscreteLaw {
  if (fetch === 'group') return takeMaximum(prepared.law, n);
  return fetch === 1 ? prepared.law : getChunkSum(prepared, fetch);
}

function makeLengthLaw(law: DiscreteLaw): LengthLaw {
  return { label: '', truncatedMass: 0, ...listAtoms(law) };
}

/** Law of the total length of `units` units. */
function getChunkSum(prepared: PreparedLaw, units: number): DiscreteLaw {
  return getShared(prepared, `chunk ${units}`, () => addLaws([makeSumTerm(prepared.law)], [units]));
}

/**
 * Returns `computeFetchedStarts` for groups of n lanes, computed together with the other common sizes. `name`
 * identifies the law.
 */
function getFetchedStarts(
  prepared: PreparedLaw,
  law: () => LengthLaw,
  n: number,
  name: string,
): (rounds: number) => { readonly starts: number; readonly iterations: number } {
  const sizes = listGroupSizes(n);
  const fetched = getShared(prepared, `fetched ${name} ${sizes.join()}`, () => computeFetchedStarts(law(), sizes));
  return (rounds) => {
    const { starts, iterations } = fetched(rounds);
    return { starts: starts[sizes.indexOf(n)], iterations };
  };
}

/**
 * Number of times that a group runs the setup of a unit. It is once per round if all lanes start together, and
 * otherwise once for every iteration at which a lane starts a unit. Sorted lanes end together, so they stay in step.
 */
function unitStarts(law: LengthLaw, n: number, balancing: WholeUnitBalancing, loop: LoopForm, rounds: number): number {
  const prepared = prepareLaw(law);
  switch (balancing.kind) {
    case 'dynamic-fetch': {
      if (n === 1 || balancing.fetch === 'group') return rounds;
      return getFetchedStarts(prepared, () => law, n, 'units')(rounds).starts;
    }
    case 'none':
    case 'shuffle':
      return loop === 'nested' ? rounds : countDealtStarts(prepared, law, n, rounds);
    case 'quantile-buckets':
    case 'best-buckets': {
      if (loop === 'nested') return rounds;
      return countBucketStarts(prepared, n, balancing, rounds);
    }
    case 'window-sort':
    case 'full-sort':
      return rounds;
  }
}

/** Starts in groups of n lanes whose units come from one bucket after another. */
function countBucketStarts(prepared: PreparedLaw, n: number, balancing: BucketBalancing, rounds: number): number {
  if (n === 1 || rounds === 1) return rounds;
  const sizes = balancing.kind === 'best-buckets' ? [n] : listGroupSizes(n);
  const starts = getShared(prepared, `starts ${makeBucketKey(balancing, n)} ${rounds} ${sizes.join()}`, () => {
    const buckets = getLengthBuckets(prepared, n, balancing);
    const patterns = listRoundPatterns(
      buckets.map(({ share }) => share),
      rounds,
    );
    const each = computeOrderedStarts(
      buckets.map(({ law }) => makeLengthLaw(law)),
      sizes,
      patterns.map(({ counts }) => counts),
    );
    return sizes.map((_, i) => patterns.reduce((sum, { weight }, at) => sum + weight * each[at][i], 0));
  });
  return starts[sizes.indexOf(n)];
}

/** Starts in groups of n lanes that take `rounds` units each. One pass computes all common sizes. */
function countDealtStarts(prepared: PreparedLaw, law: LengthLaw, n: number, rounds: number): number {
  if (n === 1) return rounds;
  const sizes = listGroupSizes(n);
  const followed = Math.min(rounds, FOLLOWED_ROUNDS);
  const known = getShared(prepared, `starts ${followed} ${sizes.join()}`, () =>
    computeIndependentStarts(law, sizes, followed),
  );
  const { starts, perRound } = known[sizes.indexOf(n)];
  return starts + (rounds - followed) * perRound;
}

/** Group sizes that are computed together with n. */
function listGroupSizes(n: number): readonly number[] {
  return COMMON_SIZES.includes(n) ? COMMON_SIZES : [n];
}

/** Depths without setup. */
interface DepthModel extends StepLaw {
  /** Number of values that the model keeps and does not share with other models. */
  readonly numbers: number;
  /** Laws of the sums of lanes of a flattened loop over several rounds, one for each kind of lane. */
  readonly laneSums?: LaneLaws;
}

interface WeightedLaw {
  readonly weight: number;
  readonly law: DiscreteLaw;
}

/** The depth of a group without setups, and what follows from it. */
interface PlainDepth {
  readonly model: DepthModel;
  /** E[depth] of one group, iterations. */
  readonly meanDepth: number;
  /** Number of times that a group runs the setup of a unit; computed on demand. */
  unitStarts?: number;
}

function makePlainDepth(model: DepthModel): PlainDepth {
  const survival = new Float64Array(model.values.length);
  model.survivalInto(survival, 1);
  return { model, meanDepth: computeMean(model.values, survival) };
}

/** The depths of a design without setup. They are cached, because a design with another setup usually shares them. */
function makeKeptDepth(
  prepared: PreparedLaw,
  n: number,
  balancing: WholeUnitBalancing,
  loop: LoopForm,
  rounds: number,
  poolGroups: number,
): PlainDepth {
  const { depths } = prepared;
  const key = `${formatBalancing(balancing)} ${n} ${loop} ${rounds} ${poolGroups}`;
  let known = depths.get(key);
  if (known) depths.delete(key);
  else {
    known = makePlainDepth(makeDepthModel(prepared, n, balancing, loop, rounds, poolGroups));
    prepared.depthNumbers += known.model.numbers;
  }
  depths.set(key, known);
  for (const [oldest, { model }] of depths) {
    if (prepared.depthNumbers <= KEPT_DEPTH_NUMBERS) break;
    depths.delete(oldest);
    prepared.depthNumbers -= model.numbers;
  }
  return known;
}

/** Results that are computed once per law and shared by all its designs. */
interface PreparedLaw {
  /** The law reduced to at most MAX_POINTS atoms. */
  readonly law: DiscreteLaw;
  readonly cumulants: Cumulants;
  readonly shared: Map<string, unknown>;
  /** Lane laws of flattened loops, by buckets and rounds. Only the most recently used ones are kept. */
  readonly lanes: Map<string, LaneLaws>;
  /** The most recently used depths. */
  readonly depths: Map<string, PlainDepth>;
  depthNumbers: number;
}

const prepared = new WeakMap<LengthLaw, PreparedLaw>();

/** A law on at most `MAX_POINTS` atoms. */
export function getCoarseLaw(law: LengthLaw): DiscreteLaw {
  return prepareLaw(law).law;
}

function prepareLaw(source: LengthLaw): PreparedLaw {
  let entry = prepared.get(source);
  if (!entry) {
    const whole = fromMasses(source.support, source.probability);
    const { support, probability } = listAtoms(moveToGrid(whole, makeCoarseGrid(whole)));
    const law = fromMasses(support, probability);
    entry = {
      law,
      cumulants: computeCumulants(law),
      shared: new Map(),
      lanes: new Map(),
      depths: new Map(),
      depthNumbers: 0,
    };
    prepared.set(source, entry);
  }
  return entry;
}

/** Caches a value for this law under `key`. The key names everything else on which the value depends. */
function getShared<T>(law: PreparedLaw, key: string, make: () => T): T {
  if (!law.shared.has(key)) law.shared.set(key, make());
  return law.shared.get(key) as T;
}

function makeDepthModel(
  prepared: PreparedLaw,
  n: number,
  balancing: WholeUnitBalancing,
  loop: LoopForm,
  rounds: number,
  poolGroups: number,
): DepthModel {
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
      return makeBucketModel(prepared, [{ share: 1, law: prepared.law }], 'all', false, n, loop, rounds);
    case 'quantile-buckets':
    case 'best-buckets': {
      const key = makeBucketKey(balancing, n);
      const cutForWidth = balancing.kind === 'best-buckets';
      return makeBucketModel(prepared, getLengthBuckets(prepared, n, balancing), key, cutForWidth, n, loop, rounds);
    }
    case 'window-sort':
      return balancing.units > LARGEST_WINDOW_UNITS
        ? makeSortedModel(prepared)
        : makeWindowModel(prepared, makeWindow(balancing.units, n));
    case 'full-sort':
      return makeSortedModel(prepared);
    case 'dynamic-fetch': {
      const { fetch = 1 } = balancing;
      // The fetchers of a group are its lanes, or the group as a whole.
      const [lanes, fetches] = fetch === 'group' ? [1, rounds] : [n, rounds / fetch];
      if (lanes === 1 && poolGroups === 1)
        return makeBucketModel(
          prepared,
          [{ share: 1, law: prepared.law }],
          'all',
          false,
          n,
          fetch === 'group' ? 'nested' : 'flattened',
          rounds,
        );
      if (fetches === 1)
        return makeIndependentGroups(makeLaneLaws([{ weight: 1, law: getFetchedLaw(prepared, fetch, n) }]), lanes);
      const renewals = getRenewals(prepared, fetch, n);
      const depth = renewals ? computeDynamicGroupDepth(renewals, lanes, fetches, poolGroups) : makeConstantLaw(0);
      return makeIndependentGroups(makeLaneLaws([{ weight: 1, law: depth }]), 1);
    }
  }
}

type BucketBalancing = Extract<WholeUnitBalancing, { k: number }>;

function makeBucketKey(balancing: BucketBalancing, n: number): string {
  return balancing.kind === 'quantile-buckets' ? `quantile ${balancing.k}` : `best ${balancing.k} ${n}`;
}

function getLengthBuckets(prepared: PreparedLaw, n: number, balancing: BucketBalancing): Bucket[] {
  return getShared(prepared, `buckets ${makeBucketKey(balancing, n)}`, () =>
    balancing.kind === 'quantile-buckets'
      ? makeQuantileBuckets(prepared.law, balancing.k)
      : findBestBuckets(prepared.law, n, balancing.k),
  );
}

/**
 * The buckets into which `balancing` cuts the lengths, shortest first. The interface shows the thresholds.
 *
 * @returns share of the units, and shortest and longest length, of each bucket
 */
export function listBucketRanges(
  law: LengthLaw,
  n: number,
  balancing: BucketBalancing,
): { readonly share: number; readonly from: number; readonly to: number }[] {
  return getLengthBuckets(prepareLaw(law), n, balancing).map(({ share, law: inside }) => ({
    share,
    from: inside.values[0],
    to: inside.values[inside.values.length - 1],
  }));
}

/** @param cutForWidth whether the buckets depend on n; otherwise they are the same for groups of any width */
function makeBucketModel(
  prepared: PreparedLaw,
  buckets: readonly Bucket[],
  key: string,
  cutForWidth: boolean,
  n: number,
  loop: LoopForm,
  rounds: number,
): DepthModel {
  if (rounds === 1) {
    return makeIndependentGroups(makeLaneLaws(buckets.map(({ share, law }) => ({ weight: share, law }))), n);
  }
  if (loop === 'nested') return makeIndependentGroups(makeLaneLaws(addRounds(prepared, buckets, key, n, rounds)), 1);
  const laneSums = cutForWidth
    ? makeLaneLaws(addRounds(prepared, buckets, key, 1, rounds), [n])
    : getLaneSums(prepared, buckets, key, rounds);
  return { ...makeIndependentGroups(laneSums, n), laneSums };
}

/**
 * Returns the sums of the lanes of a flattened loop. The buckets do not depend on the number of lanes in a group, so
 * the sums do not either.
 */
function getLaneSums(prepared: PreparedLaw, buckets: readonly Bucket[], key: string, rounds: number): LaneLaws {
  return kept(prepared.lanes, KEPT_LANE_LAWS, `${key} ${rounds}`, () =>
    makeLaneLaws(addRounds(prepared, buckets, key, 1, rounds), COMMON_SIZES),
  );
}

/** Sums over the rounds, one for each pattern of buckets. Each round takes as long as the longest of n units. */
function addRounds(
  prepared: PreparedLaw,
  buckets: readonly Bucket[],
  key: string,
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

/** Laws for whole blocks, on common values. The groups of a block all have the law of one of the `parts`. */
interface LaneLaws {
  readonly parts: readonly WeightedLaw[];
  readonly values: Float64Array;
  /** Mean losses of groups of these lanes, by units per group; only the losses computed so far. */
  readonly losses: Map<number, number>;
  /** Common numbers of units per group. Computing all their losses takes little longer than the largest alone. */
  readonly sizes: readonly number[];
}

function makeLaneLaws(parts: readonly WeightedLaw[], sizes: readonly number[] = []): LaneLaws {
  const values = makeCommonGrid(parts.map(({ law }) => law));
  return {
    parts: parts.map(({ weight, law }) => ({ weight, law: moveToGrid(law, values) })),
    values,
    losses: new Map(),
    sizes,
  };
}

const COMMON_SIZES = [2, 4, 8, 16, 32, 64];

/** Groups whose depth is the longest of `draws` independent draws. All groups of a block draw from the same law. */
function makeIndependentGroups({ parts, values }: LaneLaws, draws: number): DepthModel {
  const points = values.length;
  const model: DepthModel = {
    values,
    numbers: points * (1 + parts.length),
    survivalInto(out, groupsPerBlock) {
      const { of, groups } = lastSurvival;
      for (let p = 0; p < parts.length; p++) {
        const { weight, law } = parts[p];
        const part = (lastSurvival.parts[p] ??= new Float64Array(MAX_POINTS));
        if (of !== model || (groupsPerBlock !== groups && groupsPerBlock !== 2 * groups)) {
          takeMaximumInto(part, law.survival, draws * groupsPerBlock);
        } else if (groupsPerBlock !== groups) {
          // This step doubles the number of groups.
          for (let i = 0; i < points; i++) part[i] *= 2 - part[i];
        }
        if (p === 0) for (let i = 0; i < points; i++) out[i] = weight * part[i];
        else for (let i = 0; i < points; i++) out[i] += weight * part[i];
      }
      lastSurvival.of = model;
      lastSurvival.groups = groupsPerBlock;
    },
  };
  return model;
}

/** The last result of `makeIndependentGroups`. It is kept because a table requests twice as many groups each time. */
const lastSurvival: { of: unknown; groups: number; readonly parts: Float64Array[] } = {
  of: null,
  groups: 0,
  parts: [],
};

function makeWindow(units: number, n: number): SortedWindow {
  return { n, units: n * Math.max(1, Math.ceil(units / n)) };
}

/**
 * Makes the depth law of sorted windows for one unit per slot. The law is exact even for a block, although its groups
 * are neighbours in a window.
 */
function makeWindowModel(prepared: PreparedLaw, window: SortedWindow): DepthModel {
  const { law } = prepared;
  return {
    values: law.values,
    numbers: 0,
    survivalInto: (out, groups) =>
      out.set(
        getShared(prepared, `window ${window.units} ${window.n} ${groups}`, () =>
          computeWindowSurvival(law, window, groups),
        ),
      ),
  };
}

/**
 * Makes the law of a full sort for one unit per slot. The lanes of a group, and the groups of a block, are equally
 * long.
 */
function makeSortedModel({ law }: PreparedLaw): DepthModel {
  return { values: law.values, numbers: 0, survivalInto: (out) => out.set(law.survival) };
}

function makeConstantLaw(value: number): DiscreteLaw {
  return { values: Float64Array.of(value), survival: Float64Array.of(0) };
}

function computeMeanLoss(
  prepared: PreparedLaw,
  n: number,
  balancing: WholeUnitBalancing,
  rounds: number,
  aggregateLoss: number,
  laneSums: LaneLaws | undefined,
): number {
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
      return laneSums ? computeLaneSumsLoss(laneSums, n) : getLoss(prepared, prepared.law, 'all', n);
    case 'quantile-buckets':
    case 'best-buckets': {
      if (laneSums) return computeLaneSumsLoss(laneSums, n);
      const buckets = getLengthBuckets(prepared, n, balancing);
      const key = makeBucketKey(balancing, n);
      return buckets.reduce((sum, { share, law }, b) => sum + share * getLoss(prepared, law, `${key} ${b}`, n), 0);
    }
    case 'window-sort': {
      if (balancing.units > LARGEST_WINDOW_UNITS) return 1;
      const window = makeWindow(balancing.units, n);
      return window.units === n
        ? getLoss(prepared, prepared.law, 'all', n)
        : getShared(prepared, `window loss ${window.units} ${n}`, () => computeWindowMeanLoss(prepared.law, window));
    }
    case 'full-sort':
      return 1;
    case 'dynamic-fetch': {
      if (rounds === 1 || n === 1 || prepared.cumulants.mean === 0 || balancing.fetch === 'group')
        return getLoss(prepared, prepared.law, 'all', n);
      // Fetching is assumed to reduce the mean loss by the same factor as the aggregate loss.
      const sums = getLaneSums(prepared, [{ share: 1, law: prepared.law }], 'all', Math.round(rounds));
      const unfetched = computeAggregate(sums.parts[0].law, n) - 1;
      if (unfetched <= 0) return 1;
      return 1 + ((aggregateLoss - 1) * (computeLaneSumsLoss(sums, n) - 1)) / unfetched;
    }
  }
}

/** Swatman's mean loss of n draws from `law`. `key` identifies the law among the laws of `prepared`. */
function getLoss(prepared: PreparedLaw, law: DiscreteLaw, key: string, n: number): number {
  return getShared(prepared, `loss ${key} ${n}`, () => lossMoments(listAtoms(law), [n])[0].meanLoss);
}

/** Mean losses for each n. The summed lengths of the n lanes are independent draws from `sum`. */
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

/** The mean loss, for each pattern, because slots with the same counts from every bucket have the same mean work. */
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
 * + v/E[A]²) − cov(D, A)/E[A]². The covariance equals the covariance of D and any one lane. `null` if A's third and
 * fourth moments matter, because they are omitted here.
 */
function computeMomentLoss(law: DiscreteLaw, { mean, variance, third }: Cumulants, n: number): number | null {
  if (mean === 0 || n === 1) return 1;
  const { values, survival } = law;
  const squared = mean * mean;
  const spread = variance / squared;
  const leftOut = (Math.abs(third) / (squared * mean) + 3 * spread * spread) / (n * n);
  if (leftOut > LARGEST_MOMENT_TERM) return null;
  const others = takeMaximum(law, n - 1).survival;
  // Computes E[longest of n], and for each x E[longest of x and the other lanes], from the top.
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
