import { isEvenShare } from '../domain/design.ts';
import { getCachedResidency } from './caches.ts';
import { getPace } from './cost/pace.ts';
import type { Dealing } from './dealing/deal.ts';
import { getSharedUnits } from './dealing/even-share.ts';
import {
  areLongerInParts,
  computeGivenLaunch,
  computeShareLaunch,
  hasTrend,
  type GivenLaunch,
} from './dealing/given-launch.ts';
import { keepsOrder, startsAtRandom } from './dealing/given.ts';
import { keepsLanes } from './dealing/order.ts';
import { countUnitsPerFetch, type GpuCandidate } from './design/candidate.ts';
import { getOrder, getSortedOrder, isInGivenOrder } from './orders.ts';
import { getGivenOrder } from './plan.ts';
import type { DepthLaws, DepthOfDesign } from './tables.ts';
import {
  computeOrderedLaunch,
  computeSortedLaunch,
  countWindowUnits,
  isSorted,
  makeDealtBlockLaw,
  type DealtLaunch,
} from './time/dealt-launch.ts';
import type { BlockLaw } from './time/law.ts';
import { makePlainLaunch, type TimedLaunch } from './time/regimes.ts';
import { makeResidency, makeResidencyOnDemand, type Residency } from './time/residency.ts';

export function makeLaunch(candidate: GpuCandidate, { laws, shorter, fullerBlocks }: DepthOfDesign): TimedLaunch {
  const { balancing, workingBlocks, meanUnitsPerThread, device } = candidate;
  if (laws === null || isSorted(balancing)) return timeDealtLaunch(candidate);
  const launch = makePlainLaunch(getResidency(candidate, laws), workingBlocks, device.multiprocessors);
  if (balancing.kind === 'dynamic-fetch')
    return { ...launch, fetchedUnits: meanUnitsPerThread / countUnitsPerFetch(balancing) };
  return shorter ? { ...launch, shorter: getResidency(candidate, shorter), fullerBlocks } : launch;
}

function getResidency(candidate: GpuCandidate, laws: DepthLaws): Residency {
  const { predictor, deviceAt, capAt, shape, threadsPerUnit, unitsPerGroup, blockAt, balancing } = candidate;
  const { groupsPerBlock: W, residentBlocks } = shape;
  const { axes } = predictor.plan;
  const slotsPerBlock = axes.blockThreads[blockAt] / threadsPerUnit;
  // Groups that fetch are full until the units run out, and the lanes of even shares are equally long.
  const isFull = balancing.kind === 'dynamic-fetch' || isEvenShare(balancing);
  const lastFilled = isFull ? 1 : slotsPerBlock / unitsPerGroup - (W - 1);
  const { getCycles, schedulers } = getPace(candidate);
  return getCachedResidency(predictor.caches, laws, {
    groupsPerBlock: W,
    lastFilled,
    at: deviceAt * axes.registerCap.length + capAt,
    residentBlocks,
    cyclesPerIteration: getCycles(),
    schedulers,
  });
}

function timeDealtLaunch(candidate: GpuCandidate): TimedLaunch {
  const launch = getDealtLaunch(candidate);
  const { residentBlocks } = candidate.shape;
  const { schedulers, getCycles } = getPace(candidate);
  const cyclesPerIteration = getCycles();
  const { placed, inOrder } = launch;
  const lawOf = (): BlockLaw => makeDealtBlockLaw(launch, candidate.predictor.caches.arena);
  const residency =
    placed.length === 0 && inOrder === null
      ? makeResidency(lawOf(), residentBlocks, cyclesPerIteration, schedulers)
      : makeResidencyOnDemand(lawOf, residentBlocks, cyclesPerIteration, schedulers);
  return {
    ...makePlainLaunch(residency, candidate.gridBlocks, candidate.device.multiprocessors),
    placed,
    inOrder,
  };
}

export function makeDealing(candidate: GpuCandidate): Dealing {
  const { units, axes } = candidate.predictor.plan;
  const { gridBlocks, shape, unitsPerGroup, threadsPerUnit, loopAt, blockAt } = candidate;
  return {
    units,
    unitsPerGroup,
    groupsPerBlock: shape.groupsPerBlock,
    slotsPerBlock: axes.blockThreads[blockAt] / threadsPerUnit,
    gridBlocks,
    loop: axes.loop[loopAt],
    setupIterations: getPace(candidate).setupIterations,
  };
}

/** Whether slots take even shares of units in a given order, so that groups differ by the setups of these units. */
export function hasGivenShares(candidate: GpuCandidate): boolean {
  return isEvenShare(candidate.balancing) && isInGivenOrder(candidate) && getPace(candidate).setupIterations > 0;
}

export function getDealtLaunch(candidate: GpuCandidate): DealtLaunch {
  const { predictor, balancing, balancingAt, device, gridBlocks, shape, unitsPerGroup, itemsPerSlot } = candidate;
  const { plan, meanLength } = predictor;
  const dealing = makeDealing(candidate);
  const given = getGivenOrder(plan);
  const isInOrder = given !== null && (keepsOrder(balancing) || isEvenShare(balancing));
  // Whether all blocks fit the device at once matters only for blocks that start in random order.
  const everyBlock =
    !(isInOrder && !startsAtRandom(balancing)) && gridBlocks <= shape.residentBlocks * device.multiprocessors;
  // The form of the loop has no effect with one unit per slot, with even shares, or if there is no setup and no group
  // crosses the end of a window.
  const isLoopAlike = isInOrder
    ? gridBlocks * dealing.slotsPerBlock >= plan.units || isEvenShare(balancing)
    : dealing.setupIterations === 0 &&
      isSorted(balancing) &&
      keepsLanes(countWindowUnits(balancing, plan.units), dealing);
  const dealt: Dealing = isLoopAlike ? { ...dealing, loop: 'nested' } : dealing;
  // The number of groups per block follows from the other numbers. The key is exact for up to 2³¹ − 1 blocks.
  const key =
    (((gridBlocks * 2048 + dealing.slotsPerBlock) * 128 + unitsPerGroup) * 2 + Number(everyBlock)) * 2 +
    Number(dealt.loop === 'flattened');
  // Besides these numbers, a launch depends only on the setup and on the overhead of even shares.
  const { setupIterations: setup } = dealing;
  const overhead = isEvenShare(balancing) ? getPace(candidate).overheadIterations : 0;
  return predictor.laws[balancingAt].launches(setup > 0 || overhead > 0 ? `${key} ${setup} ${overhead}` : key, () => {
    if (given !== null && keepsOrder(balancing)) {
      const order = getOrder(candidate, balancing, given);
      const launch = (isSample: boolean): GivenLaunch => computeGivenLaunch(order, dealt, meanLength, isSample);
      return computeOrderedLaunch(launch, !startsAtRandom(balancing), () => hasTrend(order, dealt), dealt, everyBlock);
    }
    if (given !== null && isEvenShare(balancing)) {
      const shared = getSharedUnits(balancing, given, plan.units);
      const launch = (isSample: boolean): GivenLaunch =>
        computeShareLaunch(shared, dealt, itemsPerSlot, overhead, meanLength, isSample);
      const isLonger = (): boolean => areLongerInParts(launch(true).depths, dealt.groupsPerBlock);
      return computeOrderedLaunch(launch, true, isLonger, dealt, everyBlock);
    }
    if (!isSorted(balancing)) throw new TypeError(`The balancing ${balancing.kind} does not list its units.`);
    const order = getSortedOrder(plan, balancing);
    return computeSortedLaunch(order, balancing, dealt, everyBlock);
  });
}
