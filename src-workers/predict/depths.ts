import type { GroupDepth } from '../domain/depth.ts';
import { isEvenShare, isPadded, type EvenShareBalancing } from '../domain/design.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { getOrMake, keptFor } from '../numeric/kept.ts';
import { getCachedDepth } from './caches.ts';
import { FETCHING_GROUPS } from './constants.ts';
import { getPace } from './cost/pace.ts';
import { arrangeKnownUnits } from './dealing/arrange.ts';
import { readFetchedOrder } from './dealing/fetched-order.ts';
import { keepsOrder } from './dealing/given.ts';
import { tabulateFetches, tabulateRounds, tabulateUnits, type TabulatedUnits } from './dealing/units-per-slot.ts';
import { computeEvenShareDepth, computeShareStarts, type ShareStarts } from './depth/even-share.ts';
import type { FetchedOrder } from './depth/fetched.ts';
import { makeGroupDepthLaw } from './depth/group-depth.ts';
import { mixMeans, type DepthMeans } from './depth/means.ts';
import { computePaddedDepth, countSliceUnits } from './depth/padded.ts';
import type { GpuCandidate } from './design/candidate.ts';
import { computeBalancingMs } from './launch-costs.ts';
import { getDealtLaunch, hasGivenShares } from './launches.ts';
import { getPaddedLaw, isInGivenOrder } from './orders.ts';
import { getGivenOrder } from './plan.ts';
import type { DepthLaws, DepthOfDesign, SharedByCaps } from './tables.ts';
import { isSorted } from './time/dealt-launch.ts';

export function getSharedByCaps(candidate: GpuCandidate): SharedByCaps {
  const { predictor, deviceAt, threadsPerUnit, loopAt, balancingAt, blockAt, gridBlocks, meanUnitsPerThread } =
    candidate;
  const { caches } = predictor;
  const { setupIterations, overheadIterations } = getPace(candidate);
  const last = caches.shared;
  if (
    last !== null &&
    last.gridBlocks === gridBlocks &&
    last.meanUnitsPerThread === meanUnitsPerThread &&
    last.deviceAt === deviceAt &&
    last.blockAt === blockAt &&
    last.balancingAt === balancingAt &&
    last.loopAt === loopAt &&
    last.threadsPerUnit === threadsPerUnit &&
    last.setupIterations === setupIterations &&
    last.overheadIterations === overheadIterations &&
    last.predictor === predictor
  )
    return last;
  return (caches.shared = {
    predictor,
    deviceAt,
    threadsPerUnit,
    loopAt,
    balancingAt,
    blockAt,
    gridBlocks,
    meanUnitsPerThread,
    setupIterations,
    overheadIterations,
    depths: computeDepths(candidate),
    balancingMs: computeBalancingMs(candidate),
  });
}

export function computeDepths(candidate: GpuCandidate): DepthOfDesign {
  const { balancing, meanUnitsPerThread: meanUnits, gridBlocks } = candidate;
  if (isInGivenOrder(candidate) && keepsOrder(balancing)) {
    const means = getDealtLaunch(candidate).means!;
    return { ...OF_ONE_KIND, means, scale: meanUnits, laws: null, timeScale: 1 };
  }
  if (hasGivenShares(candidate)) {
    const means = getDealtLaunch(candidate).means!;
    // `meanDepth` counts blocks without work, which do not search for a share.
    const workingDepth = means.meanDepth * (gridBlocks / candidate.workingBlocks);
    const searchShare = getPace(candidate).overheadIterations / workingDepth;
    return { ...OF_ONE_KIND, means, scale: 1, laws: null, timeScale: 1, searchShare };
  }
  const one = (units: TabulatedUnits): DepthOfDesign => {
    const laws = getDepthLaws(candidate, units);
    return { ...OF_ONE_KIND, means: laws.means, scale: units.scale, laws, timeScale: units.scale };
  };
  switch (balancing.kind) {
    case 'dynamic-fetch':
      return one(tabulateFetches(meanUnits));
    case 'quantile-buckets':
    case 'best-buckets':
      return one(tabulateRounds(meanUnits));
    case 'window-sort':
    case 'full-sort':
      // A law of one unit per slot has the losses of any number of sorted units, but does not give their time.
      return { ...one({ units: 1, scale: meanUnits, key: 1 }), timeScale: 1 };
    case 'nonzero-split':
    case 'merge-path':
      return computeEvenShareDepths(candidate, balancing);
    case 'none':
    case 'shuffle':
    case 'padded':
    case 'padded-slice': {
      const { fullerBlocks, timeScale, ...dealt } = tabulateUnits(meanUnits, gridBlocks);
      if (fullerBlocks === 0) return { ...one(dealt), timeScale };
      const shorter = getDepthLaws(candidate, dealt);
      const units = dealt.units + 1;
      const laws = getDepthLaws(candidate, { units, scale: 1, key: units });
      const means = mixMeans(shorter.means, laws.means, meanUnits - dealt.units);
      return { means, scale: dealt.scale, laws, shorter, fullerBlocks, timeScale, searchShare: 0 };
    }
  }
}

const OF_ONE_KIND = { shorter: null, fullerBlocks: 0, searchShare: 0 };

function computeEvenShareDepths(candidate: GpuCandidate, balancing: EvenShareBalancing): DepthOfDesign {
  const { predictor, itemsPerSlot: items, unitsPerGroup, meanUnitsPerThread: unitsPerSlot } = candidate;
  const { law } = predictor.plan;
  const known = predictor.laws[candidate.balancingAt];
  const { setupIterations: setup, overheadIterations: overhead } = getPace(candidate);
  const compute = (): GroupDepth =>
    computeEvenShareDepth(law, getShareStarts(law, balancing), { items, unitsPerGroup, unitsPerSlot }, setup, overhead);
  const ofDepth = (means: DepthMeans, laws: DepthLaws, timeScale: number, depth: number): DepthOfDesign => ({
    ...OF_ONE_KIND,
    means,
    scale: 1,
    laws,
    timeScale,
    searchShare: overhead / depth,
  });
  if (setup === 0) {
    // All groups are equally deep, so one law of depth 1, scaled by the depth, serves them all.
    const means = compute();
    const laws = getCachedDepth(known, 0, () => ({ ...means, meanDepth: 1, values: Float64Array.of(1) }));
    return ofDepth(means, laws, means.meanDepth, means.meanDepth);
  }
  const laws = getCachedDepth(known, `${items} ${unitsPerSlot} ${unitsPerGroup} ${setup} ${overhead}`, compute);
  return ofDepth(laws.means, laws, 1, laws.means.meanDepth);
}

/** Keyed by law, so that predictors of the same units share the starts. */
const knownStarts = new WeakMap<LengthLaw, Map<EvenShareBalancing['kind'], ShareStarts>>();

function getShareStarts(law: LengthLaw, balancing: EvenShareBalancing): ShareStarts {
  return keptFor(knownStarts, law, Infinity, balancing.kind, () => computeShareStarts(law, balancing));
}

function getDepthLaws(candidate: GpuCandidate, { units, key: unitsKey }: TabulatedUnits): DepthLaws {
  const { predictor, balancing, unitsPerGroup, loopAt, balancingAt } = candidate;
  const { plan } = predictor;
  if (isEvenShare(balancing))
    throw new TypeError(`The balancing ${balancing.kind} cuts units, so no depth follows from their law.`);
  const loop = plan.axes.loop[loopAt];
  // A full sort's law does not depend on the group size. With sorted, fetched or single units, a nested and a
  // flattened loop are alike.
  const group = balancing.kind === 'full-sort' ? 0 : unitsPerGroup;
  const isLoopAlike = isSorted(balancing) || balancing.kind === 'dynamic-fetch' || units === 1;
  const key = (unitsKey * 128 + group) * 2 + Number(loop === 'flattened' && !isLoopAlike);
  const { setupIterations: setup } = getPace(candidate);
  return getCachedDepth(predictor.laws[balancingAt], setup > 0 ? `${key} ${setup}` : key, () => {
    if (isPadded(balancing)) {
      const slice = countSliceUnits(balancing, plan.units);
      return computePaddedDepth(plan.law, getPaddedLaw(predictor, slice), slice, unitsPerGroup, loop, units, setup);
    }
    return makeGroupDepthLaw(plan.law, unitsPerGroup, balancing, loop, units, {
      setupIterations: setup,
      poolGroups: FETCHING_GROUPS,
      fetched: balancing.kind === 'dynamic-fetch' ? getFetchedOrder(candidate, balancing.fetch) : undefined,
    });
  });
}

function getFetchedOrder(
  { predictor: { plan, fetchedOrders }, unitsPerGroup }: GpuCandidate,
  fetch: number | 'group' = 1,
): FetchedOrder | undefined {
  const given = getGivenOrder(plan);
  if (!given) return undefined;
  const key = fetch === 'group' ? -unitsPerGroup : fetch * 128 + unitsPerGroup;
  return getOrMake(fetchedOrders, key, () => {
    const order = arrangeKnownUnits(given, plan.units, plan.law, { kind: 'none' }, unitsPerGroup);
    return readFetchedOrder(order, fetch, unitsPerGroup);
  });
}
