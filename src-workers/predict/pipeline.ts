import type { GroupDepth } from '../domain/depth.ts';
import {
  isEvenShare,
  isPadded,
  type EvenShareBalancing,
  type LockstepBalancing,
  type MixedBalancing,
} from '../domain/design.ts';
import type { RegimeId } from '../domain/regime.ts';
import type { GpuDevice } from '../domain/device.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { deviceStack, divergenceCycles } from '../models/divergence/costs.ts';
import { expectedDivergence } from '../models/divergence/expected.ts';
import { keptFor } from '../numeric/kept.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { moments } from '../models/workload/laws.ts';
import { getPace } from './cost/pace.ts';
import { computePhaseDemands, computeStepFactor } from './cost/phases.ts';
import { getCachedDepth, getCachedResidency, makeRoom } from './caches.ts';
import { BLOCK_START_CYCLES, FETCHING_GROUPS, LAUNCH_FLOOR_MS } from './constants.ts';
import { computeBalancingCost, computeBalancingMilliseconds, PASS_OVERHEAD_MS } from './cost/balancing-cost.ts';
import {
  ADDITIONS_PER_CYCLE,
  computeFetchCost,
  computeFetchCycles,
  computePhaseCycles,
  makeFetchingTable,
  type FetchCost,
  mergesAdditions,
} from './cost/fetch-cost.ts';
import { predictCpu, type CpuLoads } from './cpu.ts';
import { arrangeKnownUnits } from './dealing/arrange.ts';
import { hasDivergentSetup, type Dealing } from './dealing/deal.ts';
import { keepsOrder, getLossOfGroups, startsAtRandom } from './dealing/given.ts';
import { findSureLongest, keepsLanes, makeSortedOrder, readSorted } from './dealing/order.ts';
import { findFewestStarts } from './dealing/sample.ts';
import {
  isSorted,
  makeKnownBlockLaw,
  computeOrderedLaunch,
  computeSortedLaunch,
  countWindowUnits,
  type KnownLaunch,
} from './time/known-launch.ts';
import { getSharedUnits } from './dealing/even-share.ts';
import {
  areLongerInParts,
  findFewestLaneIterations,
  computeGivenLaunch,
  hasTrend,
  computeShareLaunch,
  type GivenLaunch,
} from './dealing/given-launch.ts';
import { tabulateFetches, tabulateRounds, tabulateUnits, type TabulatedUnits } from './dealing/units-per-slot.ts';
import { readFetchedOrder } from './dealing/fetched-order.ts';
import type { FetchedOrder } from './depth/fetched.ts';
import { computeEvenShareDepth, computeShareStarts as startsOfShares, type ShareStarts } from './depth/even-share.ts';
import { makeGroupDepthLaw } from './depth/group-depth.ts';
import { computePaddedDepth, countSliceUnits } from './depth/padded.ts';
import { mixMeans, type DepthMeans } from './depth/means.ts';
import {
  getLockstepBalancing,
  getPartition,
  countUnitsPerFetch,
  type Candidate,
  type ClassCandidate,
} from './design/candidate.ts';
import { getGivenOrder } from './plan.ts';
import { isInGivenOrder, getOrder, getPaddedLaw } from './orders.ts';
import { preparePipeline } from './predictor.ts';
import type { DepthLaws, DepthOfDesign, Predictor, SharedByCaps } from './tables.ts';
import type { CycleTable } from './time/cycles.ts';
import type { BlockLaw } from './time/law.ts';
import { makePlainLaunch, findRegime, type TimedLaunch } from './time/regimes.ts';
import { makeResidency, makeResidencyOnDemand, type Residency } from './time/residency.ts';

/**
 * The prediction of a valid design: depth of a group → dealing → time of the launch. `design/candidate.ts` finds
 * invalid designs before. See README.md.
 */

export interface TimedDesign {
  timeMs: number;
  meanLoss: number;
  aggregateLoss: number;
  /** The regime that computed the time. */
  regime: RegimeId;
}

export interface TimedOnGpu extends TimedDesign {
  /** The time by which starting the blocks lengthens the launch, ms. */
  blockStartsMs: number;
  depth: DepthMeans;
  /** Mean units per slot over the number of units of the depth law. */
  scale: number;
  /** Share of the cycles in which slots search the start of their share and pass on the unit that its end cuts, 0…1. */
  searchShare: number;
  launch: TimedLaunch;
  /** The part of the time that fetching units takes, ms. */
  fetchingMs: number;
}

/** Writes the time and losses of a valid candidate into `out`. */
export function timeDesign(predictor: Predictor, candidate: Candidate, out: TimedDesign): void {
  const { device, gridBlocks } = candidate;
  if (candidate.classes) {
    timeClasses(predictor, candidate, candidate.classes, out);
    return;
  }
  if (device.kind === 'gpu') {
    timeOnGpu(predictor, candidate, device, out as TimedOnGpu);
    return;
  }
  const { timeMs, loss } = predictCpu(getCpuLoads(predictor), device, getPartition(predictor, candidate), gridBlocks);
  out.timeMs = timeMs;
  out.meanLoss = loss;
  out.aggregateLoss = loss;
  out.regime = 'memory-contention';
}

/**
 * Adds up the launches of a mixed design, because they run one after another. The losses are for all its units
 * together.
 */
function timeClasses(
  predictor: Predictor,
  candidate: Candidate,
  classes: readonly ClassCandidate[],
  out: TimedDesign,
): void {
  const timed = {} as TimedDesign;
  let timeMs = computeBalancingMs(predictor, candidate, candidate.device as GpuDevice);
  let longestMs = -1;
  let meanLoss = 0;
  let work = 0;
  let lockstep = 0;
  for (const { units, candidate: own } of classes) {
    const { plan, meanLength } = units.predictor;
    timeDesign(units.predictor, own, timed);
    timeMs += timed.timeMs;
    meanLoss += (timed.meanLoss * plan.units) / predictor.plan.units;
    work += plan.units * meanLength;
    lockstep += plan.units * meanLength * timed.aggregateLoss;
    if (timed.timeMs <= longestMs) continue;
    longestMs = timed.timeMs;
    out.regime = timed.regime;
  }
  out.timeMs = timeMs;
  out.meanLoss = meanLoss;
  out.aggregateLoss = work > 0 ? lockstep / work : 1;
}

export function timeOnGpu(predictor: Predictor, candidate: Candidate, device: GpuDevice, out: TimedOnGpu): void {
  const shared = getSharedByCaps(predictor, candidate, device);
  const { depths } = shared;
  const { isClass } = predictor;
  makeRoom(predictor.caches);
  const launch = makeLaunch(predictor, candidate, device, depths);
  const regime = findRegime(launch);
  const cycles = regime.cycles(launch) * depths.timeScale;
  const alone = computeAloneCycles(predictor, candidate) / getPace(predictor, candidate).iterationFactor;
  // The blocks that represent a launch of known units may contain too little of its work, so its busy time is a lower
  // limit.
  const busy = depths.laws === null ? computeBusyCycles(predictor, candidate, device) : 0;
  const fetching = getFetchingCycles(predictor, candidate, device, shared);
  const factor = computeIterationFactor(predictor, candidate, device);
  const msPerCycle = factor / (device.clockMhz * 1e3);
  out.fetchingMs = fetching * msPerCycle;
  const workMs = (Math.max(cycles, alone, busy) + fetching) * msPerCycle;
  const startsMs = computeBlockStartsMs(device, candidate.gridBlocks);
  const kernelMs = Math.max(workMs, startsMs);
  out.regime = workMs < startsMs ? 'block-starts' : cycles < alone ? 'longest-unit' : regime.id;
  out.blockStartsMs = kernelMs - workMs;
  out.timeMs = (isClass ? kernelMs : Math.max(kernelMs, computeLaunchFloorMs(device))) + shared.balancingMs;
  out.meanLoss = depths.means.meanLoss;
  out.aggregateLoss = depths.means.aggregateLoss;
  out.depth = depths.means;
  out.scale = depths.scale;
  out.searchShare = depths.searchShare ?? 0;
  out.launch = launch;
}

/** Time in which a device starts all blocks of a launch, ms: a lower limit of the launch. 0 if nothing is known. */
export function computeBlockStartsMs(device: GpuDevice, gridBlocks: number): number {
  const assumed = device.vendor === 'nvidia' ? (BLOCK_START_CYCLES * 1e3) / device.clockMhz : 0;
  return gridBlocks * (device.blockStartNanoseconds ?? assumed) * 1e-6;
}

/**
 * The shortest time of a launch, ms. It is 0 if the device's own launch time is known, because that time is added
 * separately.
 */
function computeLaunchFloorMs({ launchMicroseconds }: GpuDevice): number {
  return launchMicroseconds === undefined ? LAUNCH_FLOOR_MS : 0;
}

/** Reuses the results of the last design if the two designs differ only in their register cap. */
function getSharedByCaps(predictor: Predictor, candidate: Candidate, device: GpuDevice): SharedByCaps {
  const { caches } = predictor;
  const { deviceAt, threadsPerUnit, loopAt, balancingAt, blockAt, gridBlocks, meanUnitsPerThread } = candidate;
  const { setupIterations: setup, overheadIterations: overhead } = getPace(predictor, candidate);
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
    last.setupIterations === setup &&
    last.overheadIterations === overhead &&
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
    setupIterations: setup,
    overheadIterations: overhead,
    depths: computeDepths(predictor, candidate, device),
    balancingMs: computeBalancingMs(predictor, candidate, device),
  });
}

/**
 * Cycles of the longest unit alone on a multiprocessor: a lower limit. It is 0 for even shares, because they cut units.
 */
export function computeAloneCycles(predictor: Predictor, candidate: Candidate): number {
  if (isEvenShare(getLockstepBalancing(predictor, candidate))) return 0;
  const { step, start } = getPace(predictor, candidate).aloneCycles;
  return getLongestLength(predictor, candidate) * step + start;
}

/** The longest unit, iterations: the longest given unit, or the expected longest draw. */
function getLongestLength(predictor: Predictor, candidate: Candidate): number {
  return isInGivenOrder(predictor, candidate) ? predictor.longestGiven : predictor.longestLength;
}

// -- Depth --

/** Whether slots take even shares of units in a given order. The setups of these units make groups differ. */
function hasKnownShares(predictor: Predictor, candidate: Candidate): boolean {
  return (
    isEvenShare(getLockstepBalancing(predictor, candidate)) &&
    isInGivenOrder(predictor, candidate) &&
    getSetupIterations(predictor, candidate) > 0
  );
}

function computeDepths(predictor: Predictor, candidate: Candidate, device: GpuDevice): DepthOfDesign {
  const { meanUnitsPerThread: meanUnits, gridBlocks } = candidate;
  const balancing = getLockstepBalancing(predictor, candidate);
  if (isInGivenOrder(predictor, candidate) && keepsOrder(balancing)) {
    const means = getKnownLaunch(predictor, candidate, device).means!;
    return { means, scale: meanUnits, laws: null, shorter: null, fullerBlocks: 0, timeScale: 1 };
  }
  if (hasKnownShares(predictor, candidate)) {
    const means = getKnownLaunch(predictor, candidate, device).means!;
    const searchShare = getShareOverhead(predictor, candidate) / means.meanDepth;
    return { means, scale: 1, laws: null, shorter: null, fullerBlocks: 0, timeScale: 1, searchShare };
  }
  const one = (units: TabulatedUnits): DepthOfDesign => {
    const laws = getDepthLaws(predictor, candidate, units);
    return { means: laws.means, scale: units.scale, laws, shorter: null, fullerBlocks: 0, timeScale: units.scale };
  };
  switch (balancing.kind) {
    case 'dynamic-fetch':
      return one(tabulateFetches(meanUnits));
    case 'quantile-buckets':
    case 'best-buckets':
      return one(tabulateRounds(meanUnits));
    case 'window-sort':
    case 'full-sort':
      // Sorted units have the same loss in every round. Their time is computed from the units themselves.
      return { ...one({ units: 1, scale: meanUnits, key: 1 }), timeScale: 1 };
    case 'nonzero-split':
    case 'merge-path':
      return computeEvenShareDepths(predictor, candidate, balancing);
    case 'none':
    case 'shuffle':
    case 'padded':
    case 'padded-slice': {
      const { fullerBlocks, timeScale, ...dealt } = tabulateUnits(meanUnits, gridBlocks);
      const laws = getDepthLaws(predictor, candidate, dealt);
      if (fullerBlocks === 0)
        return { means: laws.means, scale: dealt.scale, laws, shorter: null, fullerBlocks, timeScale };
      const units = dealt.units + 1;
      const more = getDepthLaws(predictor, candidate, { units, scale: 1, key: units });
      const means = mixMeans(laws.means, more.means, meanUnits - dealt.units);
      return { means, scale: dealt.scale, laws: more, shorter: laws, fullerBlocks, timeScale };
    }
  }
}

/**
 * Counts the iterations of all work groups together, without following the launch. Flattened loops over a given order,
 * and sorted draws whose groups cross the ends of windows, get a lower limit: their lanes are assumed to lose nothing.
 */
function countWorkIterations(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { plan, meanLength } = predictor;
  const { meanUnitsPerThread, unitsPerGroup } = candidate;
  const balancing = getLockstepBalancing(predictor, candidate);
  const given = getGivenOrder(plan);
  let perUnit: number;
  if (given !== null && keepsOrder(balancing)) {
    const order = takesTurns(predictor, candidate) ? getOrder(predictor, balancing, candidate, given) : null;
    const loss = order ? getLossOfGroups(order, unitsPerGroup).aggregateLoss : 1;
    perUnit = meanLength * loss + getSetupIterations(predictor, candidate);
  } else if (hasKnownShares(predictor, candidate)) {
    // At least one lane starts a unit at the first item.
    const least =
      candidate.itemsPerSlot + getShareOverhead(predictor, candidate) + getSetupIterations(predictor, candidate);
    perUnit = least / meanUnitsPerThread;
  } else if (isSorted(balancing)) {
    const order = makeSortedOrder(plan.law, plan.units, countWindowUnits(balancing, plan.units));
    const longest = findSureLongest(order, makeDealing(predictor, candidate));
    perUnit = Math.max(meanLength, longest) + getSetupIterations(predictor, candidate);
  } else {
    const { means, scale } = computeDepths(predictor, candidate, device);
    perUnit = (means.meanDepth * scale) / meanUnitsPerThread;
  }
  return (plan.units / unitsPerGroup) * perUnit;
}

/**
 * The minimum number of iterations of all work groups, in any launch with the candidate's values of all other axes.
 * Nested lanes take their units in turns and lose as much as with one unit each. Other lanes may balance a short unit
 * by a long one, so they are assumed to lose nothing.
 */
export function countFewestIterations(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { plan, meanLength } = predictor;
  const balancing = getLockstepBalancing(predictor, candidate);
  const lossless = (plan.units / candidate.unitsPerGroup) * (meanLength + computeSureSetup(predictor, candidate));
  if (plan.axes.loop[candidate.loopAt] !== 'nested' || balancing.kind === 'dynamic-fetch' || isEvenShare(balancing))
    return lossless;
  candidate.meanUnitsPerThread = 1;
  return Math.max(lossless, countWorkIterations(predictor, candidate, device));
}

/**
 * Iterations of setup that each unit certainly costs a lane. It is 0 for even shares, whose lanes may run the setup at
 * the same time, and for fetched units in a given order, whose last starts are estimates.
 */
export function computeSureSetup(predictor: Predictor, candidate: Candidate): number {
  const balancing = getLockstepBalancing(predictor, candidate);
  const isFetchedInOrder = balancing.kind === 'dynamic-fetch' && getGivenOrder(predictor.plan) !== null;
  return isEvenShare(balancing) || isFetchedInOrder ? 0 : getSetupIterations(predictor, candidate);
}

/**
 * Counts iterations that all work groups of a flattened loop over known units almost surely exceed, including losses
 * from lanes that wait; 0 for other loops.
 */
function countFlattenedIterations(predictor: Predictor, candidate: Candidate): number {
  const balancing = getLockstepBalancing(predictor, candidate);
  const { plan, meanLength } = predictor;
  const given = getGivenOrder(plan);
  if (takesTurns(predictor, candidate)) return 0;
  if (given !== null && keepsOrder(balancing)) {
    const order = getOrder(predictor, balancing, candidate, given);
    return findFewestLaneIterations(order, makeDealing(predictor, candidate));
  }
  const dealing = makeDealing(predictor, candidate);
  if (!isSorted(balancing) || !hasDivergentSetup(dealing)) return 0;
  const order = makeSortedOrder(plan.law, plan.units, countWindowUnits(balancing, plan.units));
  const longest = Math.max(meanLength, findSureLongest(order, dealing));
  const starts = findFewestStarts(readSorted(order, dealing), dealing);
  return (plan.units / candidate.unitsPerGroup) * longest + dealing.setupIterations * starts;
}

/** Whether the lanes of a group start their units together, or have one unit each. */
function takesTurns({ plan: { axes } }: Predictor, { loopAt, meanUnitsPerThread, unitsPerGroup }: Candidate): boolean {
  return axes.loop[loopAt] === 'nested' || meanUnitsPerThread <= 1 || unitsPerGroup === 1;
}

/**
 * The minimum number of cycles for the work of a launch: all working multiprocessors do the same work, at their best
 * rate. In one wave of draws, some multiprocessor has one block more than others, with the smallest number of units
 * that a slot has.
 */
function computeBusyCycles(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  iterations = countWorkIterations(predictor, candidate, device),
): number {
  const { workingBlocks, shape, meanUnitsPerThread } = candidate;
  const { multiprocessors } = device;
  const mean = workingBlocks / multiprocessors;
  const most = Math.ceil(mean);
  const isUneven = most <= shape.residentBlocks && isDealtAlike(predictor, candidate);
  const fewest = Math.floor(meanUnitsPerThread) / meanUnitsPerThread;
  const uneven = isUneven ? ((most / mean) * fewest) / multiprocessors : 0;
  const part = Math.max(1 / Math.min(multiprocessors, workingBlocks), uneven);
  const rate = getPace(predictor, candidate).findBestRate(Math.min(most, shape.residentBlocks) * shape.groupsPerBlock);
  return iterations * part * rate;
}

/**
 * Raises the limit of `computeBusyCycles` by the time that lanes of a flattened loop surely lose by waiting, estimated
 * on a sample of groups. For sorted launches, the block in which the last round ends is excluded, because its depths
 * are interpolated and may miss the longest one.
 */
export function computeCloseBusyCycles(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const sure = isSorted(getLockstepBalancing(predictor, candidate)) ? 1 - 1 / candidate.gridBlocks : 1;
  const iterations = Math.max(
    countWorkIterations(predictor, candidate, device),
    countFlattenedIterations(predictor, candidate),
  );
  return computeBusyCycles(predictor, candidate, device, sure * iterations);
}

/** Whether blocks differ in the number and the lengths of their units only by chance. */
function isDealtAlike(predictor: Predictor, candidate: Candidate): boolean {
  const balancing = getLockstepBalancing(predictor, candidate);
  return !isInGivenOrder(predictor, candidate) && !isSorted(balancing) && balancing.kind !== 'dynamic-fetch';
}

/** The depth law of one work group. */
function getDepthLaws(predictor: Predictor, candidate: Candidate, { units, key: unitsKey }: TabulatedUnits): DepthLaws {
  const { plan } = predictor;
  const { unitsPerGroup, loopAt, balancingAt } = candidate;
  const balancing = getLockstepBalancing(predictor, candidate);
  if (isEvenShare(balancing)) throw new TypeError(`${balancing.kind} cuts units, so no depth follows from their law.`);
  const loop = plan.axes.loop[loopAt];
  // Groups of fully sorted units have the same law, whatever their number of units. The loop matters only if
  // independent lanes take more than one unit.
  const group = balancing.kind === 'full-sort' ? 0 : unitsPerGroup;
  const isLoopAlike = isSorted(balancing) || balancing.kind === 'dynamic-fetch' || units === 1;
  const key = (unitsKey * 128 + group) * 2 + Number(loop === 'flattened' && !isLoopAlike);
  const setup = getSetupIterations(predictor, candidate);
  return getCachedDepth(predictor.laws[balancingAt], setup > 0 ? `${key} ${setup}` : key, () => {
    if (isPadded(balancing)) {
      const slice = countSliceUnits(balancing, plan.units);
      return computePaddedDepth(plan.law, getPaddedLaw(predictor, slice), slice, unitsPerGroup, loop, units, setup);
    }
    return makeGroupDepthLaw(plan.law, unitsPerGroup, balancing, loop, units, {
      setupIterations: setup,
      poolGroups: FETCHING_GROUPS,
      fetched: balancing.kind === 'dynamic-fetch' ? getFetchedOrder(predictor, balancing, candidate) : undefined,
    });
  });
}

/** The order in which groups fetch, if the units have a given order. */
function getFetchedOrder(
  { plan, fetchedOrders }: Predictor,
  { fetch = 1 }: Extract<LockstepBalancing, { kind: 'dynamic-fetch' }>,
  { unitsPerGroup }: Candidate,
): FetchedOrder | undefined {
  const given = getGivenOrder(plan);
  if (!given) return undefined;
  const key = fetch === 'group' ? -unitsPerGroup : fetch * 128 + unitsPerGroup;
  let known = fetchedOrders.get(key);
  if (!known) {
    const order = arrangeKnownUnits(given, plan.units, plan.law, { kind: 'none' }, unitsPerGroup);
    fetchedOrders.set(key, (known = readFetchedOrder(order, fetch, unitsPerGroup)));
  }
  return known;
}

/** Returns the iterations that each start of a unit adds to a work group. */
export function getSetupIterations(predictor: Predictor, candidate: Candidate): number {
  return getPace(predictor, candidate).setupIterations;
}

/**
 * Returns the iterations of a group for the search and carry of its even share, and for the phases that run once per
 * thread.
 */
export function getShareOverhead(predictor: Predictor, candidate: Candidate): number {
  return getPace(predictor, candidate).overheadIterations;
}

/**
 * Computes the time of an iteration of the launch, divided by the cycle table's time. The factor contains the other
 * phases and the reconvergence stack.
 */
export function computeIterationFactor(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  return getPace(predictor, candidate).iterationFactor * computeStackFactor(predictor, candidate, device);
}

/** All slots run the same number of items, so only the setups of their units make groups differ. */
function computeEvenShareDepths(
  predictor: Predictor,
  candidate: Candidate,
  balancing: EvenShareBalancing,
): DepthOfDesign {
  const { plan } = predictor;
  const { itemsPerSlot: items, unitsPerGroup, meanUnitsPerThread: unitsPerSlot } = candidate;
  const known = predictor.laws[candidate.balancingAt];
  const setup = getSetupIterations(predictor, candidate);
  const overhead = getShareOverhead(predictor, candidate);
  const law = (): GroupDepth =>
    computeEvenShareDepth(
      plan.law,
      getShareStarts(predictor, balancing),
      { items, unitsPerGroup, unitsPerSlot },
      setup,
      overhead,
    );
  if (setup === 0) {
    // All groups are equal, so a law of depth 1 is scaled.
    const means = law();
    const { meanDepth: timeScale } = means;
    const laws = getCachedDepth(known, 0, () => ({ ...means, meanDepth: 1, values: Float64Array.of(1) }));
    return { means, scale: 1, laws, shorter: null, fullerBlocks: 0, timeScale, searchShare: overhead / timeScale };
  }
  const laws = getCachedDepth(known, `${items} ${unitsPerSlot} ${unitsPerGroup} ${setup} ${overhead}`, law);
  const { means } = laws;
  const searchShare = overhead / means.meanDepth;
  return { means, scale: 1, laws, shorter: null, fullerBlocks: 0, timeScale: 1, searchShare };
}

/** The starts of shares by law, so that predictors of the same units share them. */
const knownStarts = new WeakMap<LengthLaw, Map<EvenShareBalancing['kind'], ShareStarts>>();

function getShareStarts({ plan: { law } }: Predictor, balancing: EvenShareBalancing): ShareStarts {
  return keptFor(knownStarts, law, Infinity, balancing.kind, () => startsOfShares(law, balancing));
}

// -- Dealing --

/** The launch whose time is computed. */
function makeLaunch(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  { laws, shorter, fullerBlocks }: DepthOfDesign,
): TimedLaunch {
  const balancing = getLockstepBalancing(predictor, candidate);
  const { multiprocessors } = device;
  if (laws === null || isSorted(balancing)) return makeKnownLaunch(predictor, candidate, device);
  const launch = makePlainLaunch(getResidency(predictor, candidate, laws), candidate.workingBlocks, multiprocessors);
  if (balancing.kind === 'dynamic-fetch')
    return { ...launch, fetchedUnits: candidate.meanUnitsPerThread / countUnitsPerFetch(balancing) };
  return shorter ? { ...launch, shorter: getResidency(predictor, candidate, shorter), fullerBlocks } : launch;
}

/** Independent blocks of a depth law, at the residency of the candidate. */
function getResidency(predictor: Predictor, candidate: Candidate, laws: DepthLaws): Residency {
  const { deviceAt, capAt, shape, threadsPerUnit, unitsPerGroup, blockAt } = candidate;
  const { groupsPerBlock: W, residentBlocks } = shape;
  const slotsPerBlock = predictor.plan.axes.blockThreads[blockAt] / threadsPerUnit;
  // Fetching lanes have units until the units run out, and lanes with even shares are equally long. So no group is
  // partly empty.
  const balancing = getLockstepBalancing(predictor, candidate);
  const isFull = balancing.kind === 'dynamic-fetch' || isEvenShare(balancing);
  const lastFilled = isFull ? 1 : slotsPerBlock / unitsPerGroup - (W - 1);
  const { getCycles, schedulers } = getPace(predictor, candidate);
  return getCachedResidency(predictor.caches, laws, {
    groupsPerBlock: W,
    lastFilled,
    at: deviceAt * predictor.plan.axes.registerCap.length + capAt,
    residentBlocks,
    cyclesPerIteration: getCycles(),
    schedulers,
  });
}

/** Makes the blocks of known units: all blocks if they are few and fit the device at once, otherwise a sample. */
function makeKnownLaunch(predictor: Predictor, candidate: Candidate, device: GpuDevice): TimedLaunch {
  const { caches } = predictor;
  const launch = getKnownLaunch(predictor, candidate, device);
  const { residentBlocks } = candidate.shape;
  const { schedulers, getCycles } = getPace(predictor, candidate);
  const cyclesPerIteration = getCycles();
  const { placed, inOrder } = launch;
  const lawOf = (): BlockLaw => makeKnownBlockLaw(launch, caches.arena);
  const residency =
    placed.length === 0 && inOrder === null
      ? makeResidency(lawOf(), residentBlocks, cyclesPerIteration, schedulers)
      : makeResidencyOnDemand(lawOf, residentBlocks, cyclesPerIteration, schedulers);
  return { ...makePlainLaunch(residency, candidate.gridBlocks, device.multiprocessors), placed, inOrder };
}

function makeDealing(predictor: Predictor, candidate: Candidate): Dealing {
  const { units, axes } = predictor.plan;
  const { gridBlocks, shape, unitsPerGroup, threadsPerUnit, loopAt, blockAt } = candidate;
  return {
    units,
    unitsPerGroup,
    groupsPerBlock: shape.groupsPerBlock,
    slotsPerBlock: axes.blockThreads[blockAt] / threadsPerUnit,
    gridBlocks,
    loop: axes.loop[loopAt],
    setupIterations: getSetupIterations(predictor, candidate),
  };
}

function getKnownLaunch(predictor: Predictor, candidate: Candidate, device: GpuDevice): KnownLaunch {
  const { plan, meanLength } = predictor;
  const { gridBlocks, shape, unitsPerGroup, balancingAt } = candidate;
  const balancing = getLockstepBalancing(predictor, candidate);
  const dealing = makeDealing(predictor, candidate);
  const given = getGivenOrder(plan);
  const isInOrder = given !== null && (keepsOrder(balancing) || isEvenShare(balancing));
  // Blocks that start in order are all known, whatever the device.
  const everyBlock =
    !(isInOrder && !startsAtRandom(balancing)) && gridBlocks <= shape.residentBlocks * device.multiprocessors;
  // If lanes keep their places, a flattened loop without setup is as deep as a nested one. With single units or even
  // shares, both loops are the same.
  const isLoopAlike = isInOrder
    ? gridBlocks * dealing.slotsPerBlock >= plan.units || isEvenShare(balancing)
    : dealing.setupIterations === 0 &&
      isSorted(balancing) &&
      keepsLanes(countWindowUnits(balancing, plan.units), dealing);
  const dealt: Dealing = isLoopAlike ? { ...dealing, loop: 'nested' } : dealing;
  // The number of groups per block follows from these numbers. Even 2³¹ − 1 blocks make an exact key.
  const key =
    (((gridBlocks * 2048 + dealing.slotsPerBlock) * 128 + unitsPerGroup) * 2 + Number(everyBlock)) * 2 +
    Number(dealt.loop === 'flattened');
  // In addition to its shape, a launch depends only on setups and the overhead of shares.
  const { setupIterations: setup } = dealing;
  const overhead = isEvenShare(balancing) ? getShareOverhead(predictor, candidate) : 0;
  return predictor.laws[balancingAt].launches(setup > 0 || overhead > 0 ? `${key} ${setup} ${overhead}` : key, () => {
    if (given !== null && keepsOrder(balancing)) {
      const order = getOrder(predictor, balancing, candidate, given);
      const launch = (isSample: boolean): GivenLaunch => computeGivenLaunch(order, dealt, meanLength, isSample);
      return computeOrderedLaunch(launch, !startsAtRandom(balancing), () => hasTrend(order, dealt), dealt, everyBlock);
    }
    if (given !== null && isEvenShare(balancing)) {
      const shared = getSharedUnits(balancing, given, plan.units);
      const launch = (isSample: boolean): GivenLaunch =>
        computeShareLaunch(shared, dealt, candidate.itemsPerSlot, overhead, meanLength, isSample);
      return computeOrderedLaunch(
        launch,
        true,
        () => areLongerInParts(launch(true).depths, dealt.groupsPerBlock),
        dealt,
        everyBlock,
      );
    }
    if (!isSorted(balancing)) throw new TypeError(`Units of ${balancing.kind} are not known.`);
    const order = makeSortedOrder(plan.law, plan.units, countWindowUnits(balancing, plan.units));
    return computeSortedLaunch(order, balancing, dealt, everyBlock);
  });
}

// -- Fetching --

/** Cost of the fetches of a candidate; `null` if it fetches nothing. */
function getFetchCost(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  { depths: { means, scale } }: SharedByCaps,
): FetchCost | null {
  if (!means.fetches) return null;
  const { workingBlocks, shape } = candidate;
  const factor = computeIterationFactor(predictor, candidate, device);
  const cost = computeFetchCost(device, means.fetches, workingBlocks * shape.groupsPerBlock, factor);
  return { ...cost, fetching: { ...cost.fetching, iterations: cost.fetching.iterations * scale } };
}

/** Cycles that fetches add to the launch of a candidate. */
export function computeFetchingCycles(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  if (getLockstepBalancing(predictor, candidate).kind !== 'dynamic-fetch') return 0;
  return getFetchingCycles(predictor, candidate, device, getSharedByCaps(predictor, candidate, device));
}

/** Cycles in which the counter serves all fetches of a launch, for any grid; 0 if nothing is fetched. */
export function computeCounterCycles(predictor: Predictor, candidate: Candidate): number {
  const balancing = getLockstepBalancing(predictor, candidate);
  if (balancing.kind !== 'dynamic-fetch') return 0;
  const unitsAtOnce = balancing.fetch === 'group' ? candidate.unitsPerGroup : countUnitsPerFetch(balancing);
  const { device, unitsPerGroup } = candidate;
  const lanes = balancing.fetch !== 'group' && mergesAdditions(device as GpuDevice) ? unitsPerGroup : 1;
  return predictor.plan.units / unitsAtOnce / lanes / ADDITIONS_PER_CYCLE;
}

function getFetchingCycles(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  shared: SharedByCaps,
): number {
  const cost = getFetchCost(predictor, candidate, device, shared);
  if (!cost) return 0;
  return computeFetchCycles(getPace(predictor, candidate).pipeline, cost, countFetchingGroups(candidate, device));
}

/** Mean thread groups of a multiprocessor. */
function countFetchingGroups({ workingBlocks, shape }: Candidate, { multiprocessors }: GpuDevice): number {
  const threadGroups = workingBlocks * shape.groupsPerBlock * shape.threadGroupsPerGroup;
  return threadGroups / Math.min(multiprocessors, workingBlocks);
}

/**
 * The cost of fetching in a simulated launch: the cycles before the first iteration, the cycles of an iteration while
 * units are left, and the cycles of the last fetches.
 */
export interface SimulatedFetches {
  readonly startCycles: number;
  readonly cyclesPerIteration: CycleTable;
  readonly lastCycles: number;
}

export function playFetches(predictor: Predictor, candidate: Candidate, device: GpuDevice): SimulatedFetches | null {
  const cost = getFetchCost(predictor, candidate, device, getSharedByCaps(predictor, candidate, device));
  if (!cost) return null;
  const { pipeline, getCycles } = getPace(predictor, candidate);
  const most = getCycles().length - 1;
  const { threadGroupsPerGroup } = candidate.shape;
  const groups = countFetchingGroups(candidate, device);
  return {
    startCycles: cost.startCycles,
    cyclesPerIteration: makeFetchingTable(pipeline, cost, most, threadGroupsPerGroup),
    lastCycles: computePhaseCycles(pipeline, cost.last, groups),
  };
}

// -- Costs of an iteration and of a launch --

/** Stands for any number of classes, because the cost of making classes does not depend on their number. */
const CLASSES: MixedBalancing = { kind: 'mixed', classes: 2 };

/**
 * The factor ≥ 1 by which the reconvergence stack lengthens the life of a work group. A group whose lanes leave the
 * loop at different iterations pushes, pops and spills, at a published cost per event (`deviceStack`). The group waits
 * in the meantime and other groups may run, so the cycles count as latency of its iterations. The factor is 1 if there
 * is no stack.
 */
export function computeStackFactor(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { stackFactors } = predictor;
  // Lanes that run equally long leave the loop together, so the stack stays empty.
  const balancing = getLockstepBalancing(predictor, candidate);
  if (isEvenShare(balancing)) return 1;
  if (isPadded(balancing) && countSliceUnits(balancing, predictor.plan.units) >= candidate.unitsPerGroup) return 1;
  const key = candidate.deviceAt * 128 + candidate.unitsPerGroup;
  const known = stackFactors.get(key);
  if (known !== undefined) return known;
  const { plan } = predictor;
  let factor = 1;
  if (deviceStack(device).costs !== null) {
    const { law, kernel } = plan;
    const { cycles } = divergenceCycles(device, expectedDivergence(law, candidate.unitsPerGroup));
    const [loss] = lossMoments(law, [candidate.unitsPerGroup]);
    const { unit } = computePhaseDemands(kernel, device, candidate.threadsPerUnit);
    const step =
      computeStepFactor(kernel, candidate.threadsPerUnit) * preparePipeline(plan, device, null, 0).latencyCycles;
    const latency = moments(law).mean * loss.aggregateLoss * step + unit.latencyCycles;
    if (latency > 0) factor = 1 + cycles / latency;
  }
  stackFactors.set(key, factor);
  return factor;
}

/**
 * Milliseconds of balancing before a candidate's launch, plus the start of that launch and of later ones. They depend
 * only on strategy and device.
 */
export function computeBalancingMs(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { plan } = predictor;
  const { classes } = candidate;
  const balancing = classes ? CLASSES : getLockstepBalancing(predictor, candidate);
  const furtherMs = classes ? (classes.length - 1) * PASS_OVERHEAD_MS : 0;
  const startMs = (device.launchMicroseconds ?? 0) * 1e-3;
  return (
    computeBalancingMilliseconds(device, computeBalancingCost(balancing, plan.units, plan.kernel)) + furtherMs + startMs
  );
}

export function getCpuLoads(predictor: Predictor): CpuLoads {
  if (!predictor.cpuLoads) throw new TypeError('The plan has no ordered lengths, which a CPU needs.');
  return predictor.cpuLoads;
}
