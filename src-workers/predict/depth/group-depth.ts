import { formatBalancing } from '../../domain/balancing.ts';
import type { GroupDepth, StepLaw } from '../../domain/depth.ts';
import type { WholeUnitBalancing } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { keptWith } from '../../numeric/kept.ts';
import { takeMaximumInto, computeMean, type DiscreteLaw } from './discrete-law.ts';
import { computeDynamicGroupDepth } from './dynamic-fetch.ts';
import type { FetchedOrder } from './fetched.ts';
import { addRounds, computeMeanLoss, getLaneSums, makeLaneLaws, makeWindow, type LaneLaws } from './lane-laws.ts';
import { getBuckets, getShared, prepareLaw, type BucketSet, type PreparedLaw, type WorkGroup } from './prepared-law.ts';
import { countGroupFetches, countUnitStarts, getFetchedLaw, getRenewals } from './unit-starts.ts';
import { computeWindowSurvival, type SortedWindow } from './window.ts';
import { LARGEST_WINDOW_UNITS, MAX_POINTS } from '../constants.ts';

/** Maximum number of values in the cached depths of a law. The geometric example needs between 2**20 and 2**21. */
const KEPT_DEPTH_NUMBERS = 2 ** 21;

/**
 * Makes the law of the depth of work groups of `n` units, for one balancing (README.md, Depth).
 *
 * `values`, `meanDepth` and `meanWork` contain the setup. A nested loop runs it once per round; a flattened loop or
 * dynamic fetch runs it whenever a lane starts a unit, since the other lanes wait. `meanLoss` and `aggregateLoss` are
 * losses of the lengths alone, as Swatman et al. define them. `meanLoss` is the loss of one round for a nested loop,
 * and an approximation for other loops.
 *
 * @param n units per work group, integer ≥ 1
 * @param unitsPerThread m ≥ 1, units over slots: an integer except for buckets and shared pools; 1 for sorted units,
 * whose further rounds `computeSortedLaunch` follows
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
  const { setupIterations: setup, poolGroups = 1, fetched } = options;
  checkGroup(n, balancing, unitsPerThread, poolGroups);
  const prepared = prepareLaw(law);
  const group: WorkGroup = { prepared, n, balancing, loop, rounds: unitsPerThread };
  const played = fetched?.group(unitsPerThread, setup);
  const plain = played ? makePlainDepth(makeOneLaw(played.depth)) : getPlainDepth(group, poolGroups);
  const { model, meanDepth: pureDepth } = plain;
  const pureWork = prepared.cumulants.mean * unitsPerThread;
  const setupDepth = setup === 0 ? 0 : setup * (played?.starts ?? (plain.unitStarts ??= countUnitStarts(group)));
  // A group is never shorter than the mean of its lanes, so only rounding could make the loss less than 1.
  const aggregateLoss = pureWork > 0 ? Math.max(1, pureDepth / pureWork) : 1;
  let meanLoss: number | undefined;
  let values: Float64Array | undefined;
  return {
    // Tables are made from the law without setup, so these values are rarely read.
    get values() {
      return setupDepth === 0 ? model.values : (values ??= model.values.map((v) => v + setupDepth));
    },
    ...(setupDepth !== 0 && { withoutSetup: { law: model, setupDepth } }),
    meanDepth: pureDepth + setupDepth,
    meanWork: pureWork + setup * unitsPerThread,
    aggregateLoss,
    get meanLoss() {
      // The loss is between 1 and n by definition. Approximations may leave that range for extreme laws.
      meanLoss ??= Math.min(n, Math.max(1, fetched?.meanLoss ?? computeMeanLoss(group, aggregateLoss, model.laneSums)));
      return meanLoss;
    },
    ...(balancing.kind === 'dynamic-fetch' && {
      fetches: countGroupFetches({ ...group, balancing }, setup, played, pureDepth),
    }),
    survivalInto: model.survivalInto,
  };
}

function checkGroup(n: number, balancing: WholeUnitBalancing, unitsPerThread: number, poolGroups: number): void {
  if (!Number.isInteger(n) || n < 1)
    throw new RangeError(`A group of ${n} units is not possible; the number must be an integer ≥ 1.`);
  const fractional =
    balancing.kind === 'dynamic-fetch'
      ? poolGroups > 1
      : balancing.kind === 'quantile-buckets' || balancing.kind === 'best-buckets';
  if (!(unitsPerThread >= 1 && (fractional || Number.isInteger(unitsPerThread)))) {
    throw new RangeError(`${unitsPerThread} units per thread are not possible; the number must be an integer ≥ 1.`);
  }
  if ((balancing.kind === 'window-sort' || balancing.kind === 'full-sort') && unitsPerThread !== 1) {
    throw new RangeError(
      `The balancing ${balancing.kind} has no depth law for ${unitsPerThread} units per thread. Use computeSortedLaunch.`,
    );
  }
}

interface DepthModel extends StepLaw {
  /** Number of values that the model keeps and does not share with other models. */
  readonly numbers: number;
  /** For a flattened loop, laws of a lane's iterations over several rounds, one for each `RoundPattern`. */
  readonly laneSums?: LaneLaws;
}

interface PlainDepth {
  readonly model: DepthModel;
  readonly meanDepth: number;
  unitStarts?: number;
}

function makePlainDepth(model: DepthModel): PlainDepth {
  const survival = new Float64Array(model.values.length);
  model.survivalInto(survival, 1);
  return { model, meanDepth: computeMean(model.values, survival) };
}

const getDepthsOf = keptWith((_law: PreparedLaw) => ({ depths: new Map<string, PlainDepth>(), numbers: 0 }));

function getPlainDepth(group: WorkGroup, poolGroups: number): PlainDepth {
  const { prepared, n, balancing, loop, rounds } = group;
  const cache = getDepthsOf(prepared);
  const { depths } = cache;
  const key = `${formatBalancing(balancing)} ${n} ${loop} ${rounds} ${poolGroups}`;
  let known = depths.get(key);
  if (known) depths.delete(key);
  else {
    known = makePlainDepth(makeDepthModel(group, poolGroups));
    cache.numbers += known.model.numbers;
  }
  depths.set(key, known);
  for (const [oldest, { model }] of depths) {
    if (cache.numbers <= KEPT_DEPTH_NUMBERS) break;
    depths.delete(oldest);
    cache.numbers -= model.numbers;
  }
  return known;
}

function makeDepthModel(group: WorkGroup, poolGroups: number): DepthModel {
  const { prepared, n, balancing, rounds } = group;
  const set = getBuckets(prepared, n, balancing);
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
    case 'quantile-buckets':
    case 'best-buckets':
      return makeBucketModel(group, set);
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
        return makeBucketModel({ ...group, loop: fetch === 'group' ? 'nested' : 'flattened' }, set);
      if (fetches === 1) return makeOneLaw(getFetchedLaw(prepared, fetch, n), lanes);
      const renewals = getRenewals(prepared, fetch, n);
      return makeOneLaw(renewals ? computeDynamicGroupDepth(renewals, lanes, fetches, poolGroups) : EMPTY);
    }
  }
}

const EMPTY: DiscreteLaw = { values: Float64Array.of(0), survival: Float64Array.of(0) };

function makeBucketModel({ prepared, n, loop, rounds }: WorkGroup, set: BucketSet): DepthModel {
  if (rounds === 1) {
    return makeIndependentGroups(makeLaneLaws(set.buckets.map(({ share, law }) => ({ weight: share, law }))), n);
  }
  if (loop === 'nested') return makeIndependentGroups(makeLaneLaws(addRounds(prepared, set, n, rounds)), 1);
  const laneSums = getLaneSums(prepared, set, n, rounds);
  return { ...makeIndependentGroups(laneSums, n), laneSums };
}

function makeOneLaw(law: DiscreteLaw, draws = 1): DepthModel {
  return makeIndependentGroups(makeLaneLaws([{ weight: 1, law }]), draws);
}

/** The depth is the longest of `draws` independent draws. All groups of a block draw from the same law. */
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
          // Doubling the number of groups: 1 − (1 − p)² = p·(2 − p).
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

/** The last survival functions of `makeIndependentGroups`, because a table doubles the groups at each request. */
const lastSurvival: { of: unknown; groups: number; readonly parts: Float64Array[] } = {
  of: null,
  groups: 0,
  parts: [],
};

/** Makes the depth law of sorted windows for one unit per slot, exact even for a block, whose groups are neighbours. */
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

/** Makes the law of a full sort for one unit per slot, as if all groups of a block were equally long. */
function makeSortedModel({ law }: PreparedLaw): DepthModel {
  return { values: law.values, numbers: 0, survivalInto: (out) => out.set(law.survival) };
}
