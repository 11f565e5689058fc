import { isEvenShare } from '../domain/design.ts';
import { getPace } from './cost/pace.ts';
import { hasDivergentSetup } from './dealing/deal.ts';
import { findFewestLaneIterations } from './dealing/given-launch.ts';
import { getLossOfGroups, keepsOrder } from './dealing/given.ts';
import { findSureLongest, readSorted } from './dealing/order.ts';
import { findFewestStarts } from './dealing/sample.ts';
import { computeDepths } from './depths.ts';
import type { GpuCandidate } from './design/candidate.ts';
import { hasGivenShares, makeDealing } from './launches.ts';
import { getOrder, getSortedOrder, isInGivenOrder } from './orders.ts';
import { getGivenOrder } from './plan.ts';
import { isSorted } from './time/dealt-launch.ts';

/** The longest unit alone on a multiprocessor, a lower bound of the launch; 0 for even shares, which cut units. */
export function computeAloneCycles(candidate: GpuCandidate): number {
  if (isEvenShare(candidate.balancing)) return 0;
  const { longestGiven, longestLength } = candidate.predictor;
  const { step, start } = getPace(candidate).aloneCycles;
  return (isInGivenOrder(candidate) ? longestGiven : longestLength) * step + start;
}

/**
 * Counts the iterations of all work groups together, without following the launch. For some designs, such as flattened
 * loops over a given order, the result is only a lower bound.
 */
function countWorkIterations(candidate: GpuCandidate): number {
  const { plan, meanLength } = candidate.predictor;
  const { balancing, meanUnitsPerThread, unitsPerGroup, itemsPerSlot } = candidate;
  const { setupIterations, overheadIterations } = getPace(candidate);
  const given = getGivenOrder(plan);
  let perUnit: number;
  if (given !== null && keepsOrder(balancing)) {
    const order = takesTurns(candidate) ? getOrder(candidate, balancing, given) : null;
    const loss = order ? getLossOfGroups(order, unitsPerGroup).aggregateLoss : 1;
    perUnit = meanLength * loss + setupIterations;
  } else if (hasGivenShares(candidate)) {
    perUnit = (itemsPerSlot + overheadIterations + setupIterations) / meanUnitsPerThread;
  } else if (isSorted(balancing)) {
    const order = getSortedOrder(plan, balancing);
    perUnit = Math.max(meanLength, findSureLongest(order, makeDealing(candidate))) + setupIterations;
  } else {
    const { means, scale } = computeDepths(candidate);
    perUnit = (means.meanDepth * scale) / meanUnitsPerThread;
  }
  return (plan.units / unitsPerGroup) * perUnit;
}

/**
 * Counts the fewest iterations that all work groups can have together, over all launches with the candidate's values of
 * the other axes. More units per lane do not lower the loss of a nested loop. Other loops may lose nothing.
 */
export function countFewestIterations(candidate: GpuCandidate): number {
  const { balancing, loopAt } = candidate;
  const lossless = countLosslessIterations(candidate);
  const { loop } = candidate.predictor.plan.axes;
  if (loop[loopAt] !== 'nested' || balancing.kind === 'dynamic-fetch' || isEvenShare(balancing)) return lossless;
  candidate.meanUnitsPerThread = 1;
  return Math.max(lossless, countWorkIterations(candidate));
}

/**
 * Counts the iterations of all work groups if no lane waits for another. Setups are left out in two cases: lanes with
 * even shares may run them at the same time, and the last starts of units fetched in a given order are only estimated.
 */
export function countLosslessIterations(candidate: GpuCandidate): number {
  const { balancing, unitsPerGroup } = candidate;
  const { plan, meanLength } = candidate.predictor;
  const isFetchedInOrder = balancing.kind === 'dynamic-fetch' && getGivenOrder(plan) !== null;
  const setup = isEvenShare(balancing) || isFetchedInOrder ? 0 : getPace(candidate).setupIterations;
  return (plan.units / unitsPerGroup) * (meanLength + setup);
}

/** Lower bound, almost certain, of the iterations of a flattened loop over listed units; 0 if there is none. */
function countFlattenedIterations(candidate: GpuCandidate): number {
  if (takesTurns(candidate)) return 0;
  const { balancing } = candidate;
  const { plan, meanLength } = candidate.predictor;
  const given = getGivenOrder(plan);
  const dealing = makeDealing(candidate);
  if (given !== null && keepsOrder(balancing))
    return findFewestLaneIterations(getOrder(candidate, balancing, given), dealing);
  if (!isSorted(balancing) || !hasDivergentSetup(dealing)) return 0;
  const order = getSortedOrder(plan, balancing);
  const longest = Math.max(meanLength, findSureLongest(order, dealing));
  const starts = findFewestStarts(readSorted(order, dealing), dealing);
  return (plan.units / candidate.unitsPerGroup) * longest + dealing.setupIterations * starts;
}

/** Whether the lanes of a group start their units together, or have one unit each. */
function takesTurns({ predictor, loopAt, meanUnitsPerThread, unitsPerGroup }: GpuCandidate): boolean {
  return predictor.plan.axes.loop[loopAt] === 'nested' || meanUnitsPerThread <= 1 || unitsPerGroup === 1;
}

/**
 * Computes the minimum number of cycles for the work of a launch, at the best rate of its multiprocessors. If units are
 * draws and all blocks fit the device, the multiprocessor with the most blocks decides.
 */
export function computeBusyCycles(candidate: GpuCandidate, iterations = countWorkIterations(candidate)): number {
  const { workingBlocks, shape, meanUnitsPerThread, device } = candidate;
  const { multiprocessors } = device;
  const mean = workingBlocks / multiprocessors;
  const most = Math.ceil(mean);
  const isUneven = most <= shape.residentBlocks && isDealtAlike(candidate);
  const fewest = Math.floor(meanUnitsPerThread) / meanUnitsPerThread;
  const uneven = isUneven ? ((most / mean) * fewest) / multiprocessors : 0;
  const part = Math.max(1 / Math.min(multiprocessors, workingBlocks), uneven);
  const rate = getPace(candidate).findBestRate(Math.min(most, shape.residentBlocks) * shape.groupsPerBlock);
  return iterations * part * rate;
}

/**
 * Raises the result of `computeBusyCycles` by the time that lanes of a flattened loop almost certainly lose by waiting.
 * For sorted launches, the work of one block is left out as a margin, because some depths are interpolated.
 */
export function computeCloseBusyCycles(candidate: GpuCandidate): number {
  const sure = isSorted(candidate.balancing) ? 1 - 1 / candidate.gridBlocks : 1;
  const iterations = Math.max(countWorkIterations(candidate), countFlattenedIterations(candidate));
  return computeBusyCycles(candidate, sure * iterations);
}

/** Whether blocks differ in the number and the lengths of their units only by chance. */
function isDealtAlike(candidate: GpuCandidate): boolean {
  const { balancing } = candidate;
  return !isInGivenOrder(candidate) && !isSorted(balancing) && balancing.kind !== 'dynamic-fetch';
}
