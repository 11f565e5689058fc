import { isEvenShare, isPadded, type LockstepBalancing } from '../../domain/design.ts';
import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, PipelineParameters } from '../../domain/kernel.ts';
import { bytesOfIteration, LEVEL_1_LATENCY, LEVEL_2_LATENCY, loadLatencyCycles } from '../../models/memory/accesses.ts';
import { firstLevelCacheBytes } from '../../models/memory/first-level-cache.ts';
import { sectorBytes } from '../../models/memory/traffic.ts';
import { bytesPerMultiprocessorCycle, pipelineParameters, type Demand } from '../../models/pipeline/derive.ts';
import {
  cyclesWithTraffic,
  cycleTable,
  marginalCycles,
  type MarginalCycles,
} from '../../models/pipeline/soft-saturation.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { ACHIEVED_BANDWIDTH } from '../constants.ts';
import { countSearchSteps } from '../dealing/even-share.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { preparePipeline } from '../predictor.ts';
import type { Pace } from '../tables.ts';
import { ONE_SCHEDULER, smoothRounds, tabulateRounds, type CycleTable, type Schedulers } from '../time/cycles.ts';
import { countActiveLanes } from './active-lanes.ts';
import { isOneLoop, getMeanRound } from './mean-round.ts';
import { added, computePhaseDemands, computeStepFactor, times } from './phases.ts';

/** The cost of an iteration, and of the other phases in iterations: see README.md. */

/** If issue has a smaller share than this in the cycles of one more group, schedulers are assumed to have no effect. */
const LEAST_ISSUE_SHARE = 0.05;
/** A setup below this part of the iterations between setups is rounded more coarsely, so that launches share laws. */
const SMALL_SETUP = 1 / 8;

/** More rounds count as this many: a phase that runs once per thread then has little weight. */
const MOST_ROUNDS = 64;

/** Rounds to one of four values per power of two, so that launches share laws and tables. */
function roundToScale(rounds: number): number {
  if (!(rounds > 1)) return 1;
  if (rounds >= MOST_ROUNDS) return MOST_ROUNDS;
  const step = 2 ** Math.max(0, Math.floor(Math.log2(rounds)) - 2);
  return Math.round(rounds / step) * step;
}

/** A family (launches of one block size and register cap) gets a lower bound: full multiprocessors, many rounds. */
export function getPace(candidate: GpuCandidate): Pace {
  if (candidate.pace) return candidate.pace;
  const { device, balancing } = candidate;
  const { plan, paces } = candidate.predictor;
  const { axes } = plan;
  const { deviceAt, capAt, blockAt, threadsAt, loopAt, balancingAt, shape, workingBlocks } = candidate;
  if (isPlain(candidate)) {
    const isSingle = isOneLoop(candidate);
    const isFetching = balancing.kind === 'dynamic-fetch';
    const at =
      ((deviceAt * axes.threadsPerUnit.length + threadsAt) * axes.registerCap.length + capAt) * 4 +
      2 * Number(isSingle) +
      Number(isFetching);
    return (candidate.pace = paces.plain[at] ??= getPlainPace(candidate, isSingle, isFetching));
  }
  const isFamily = candidate.gridBlocks === 0;
  const isShare = isEvenShare(balancing);
  const rounds = isFamily ? MOST_ROUNDS : isShare ? 1 : roundToScale(candidate.meanUnitsPerThread);
  const blocks = isFamily
    ? shape.residentBlocks
    : Math.min(shape.residentBlocks, Math.ceil(workingBlocks / device.multiprocessors));
  const activeGroups = blocks * shape.groupsPerBlock;
  const { residentThreads, sharedMemoryBytes } = shape.accessing;
  // Blocks of any size with equally many groups and threads, and no shared memory, have the same pace.
  let key = (deviceAt * axes.threadsPerUnit.length + threadsAt) * axes.registerCap.length + capAt;
  key = (key * axes.loop.length + loopAt) * axes.balancing.length + balancingAt;
  key = key * (axes.blockThreads.length + 1) + (sharedMemoryBytes > 0 ? blockAt + 1 : 0);
  key = (key * (MOST_ROUNDS + 1) + rounds) * 2 + Number(isFamily);
  key = (key * 4096 + residentThreads) * 256 + activeGroups;
  // Even shares have a different number of items in every launch, so their launches share no pace.
  const make = (): Pace => makePace(candidate, rounds, activeGroups, isFamily);
  return (candidate.pace = isShare ? make() : paces.known(key, make));
}

/** Whether a launch consists of iterations that move no data. */
function isPlain({ predictor: { paces }, balancing, shape, threadsPerUnit }: GpuCandidate): boolean {
  if (!paces.hasNoPhases || shape.bytesPerIteration > 0 || shape.threadGroupsPerGroup > 1) return false;
  return !isEvenShare(balancing) && (threadsPerUnit === 1 || !paces.combines);
}

function getPlainPace(candidate: GpuCandidate, isSingle: boolean, isFetching: boolean): Pace {
  const { device } = candidate;
  const { plan, paces } = candidate.predictor;
  const { kernel, axes } = plan;
  const cap = axes.registerCap[candidate.capAt];
  const pipeline = preparePipeline(plan, device, cap, 0);
  const schedulers = isFetching ? ONE_SCHEDULER : getSchedulers(pipeline, 1, 1);
  const key = `${candidate.deviceAt} ${cap} ${schedulers.count}`;
  const most = device.limits.maxThreadGroupsPerMultiprocessor;
  const table = getOrMake(paces.tables, key, () => smoothRounds(cycleTable(pipeline, most), schedulers.count));
  const iterationFactor =
    computeStepFactor(kernel, candidate.threadsPerUnit) + (isSingle ? (kernel.flattenedCost ?? 0) : 0);
  return {
    getCycles: () => table,
    findBestRate: (groups) => findBestRate(pipeline, 0, 1, { count: schedulers.count, most }, groups),
    iterationFactor,
    schedulers,
    pipeline,
    aloneCycles: { step: table[1] * iterationFactor, start: 0 },
    stepIssueCycles: pipeline.issueCycles * iterationFactor,
    roundIssueCycles: null,
    transferCycles: 0,
    setupIterations: 0,
    overheadIterations: 0,
  };
}

/**
 * Rounds a setup so that launches share laws: to five binary digits, or more coarsely if it is small (`SMALL_SETUP`).
 * @param iterations iterations for which a group runs between two setups
 */
function roundSetup(setup: number, iterations: number): number {
  if (!(setup > 0)) return 0;
  const step = 2 ** (Math.floor(Math.log2(Math.max(setup, iterations * SMALL_SETUP))) - 4);
  return Math.max(1, Math.round(setup / step)) * step;
}

function makePace(candidate: GpuCandidate, rounds: number, activeGroups: number, isFamily: boolean): Pace {
  const { predictor, device, balancing } = candidate;
  const { plan, elements } = predictor;
  const { kernel, axes } = plan;
  const { shape, threadsPerUnit: u, unitsPerGroup: n } = candidate;
  const { threadGroupsPerGroup } = shape;
  const width = device.threadGroupWidth;
  const cap = axes.registerCap[candidate.capAt];
  const measured = plan.pipeline[device.id] !== undefined;
  // Measured issue cycles contain the traffic, so the bytes only scale them. Derived ones get it as `transfer`.
  const step = preparePipeline(plan, device, cap, measured ? shape.bytesPerIteration : 0);
  const isSingle = isOneLoop(candidate);
  const cost =
    computeStepFactor(kernel, u) * (kernel.sharing === 'deal' && isEvenShare(balancing) ? 1 / u : 1) +
    (isSingle ? (kernel.flattenedCost ?? 0) : 0);
  const most = Math.floor(device.limits.maxThreadGroupsPerMultiprocessor / threadGroupsPerGroup);
  const mean = getMeanRound(candidate, rounds);
  const { lanes, units } = mean;
  // A family with a single loop gets a lower bound: its lanes lose no time and start together.
  const { iterations, starts } = isFamily && isSingle ? { iterations: predictor.meanLength, starts: 1 } : mean;
  const active = countActiveLanes(predictor, balancing);
  // Most reads happen after some lanes have ended, so the caches hold only the data of the active lanes.
  const threads = isFamily
    ? width
    : Math.min(shape.accessing.residentThreads, activeGroups * threadGroupsPerGroup * width);
  const run = isEvenShare(balancing) ? candidate.itemsPerSlot : shape.accessing.unitElements;
  const taking = { ...shape.accessing, residentThreads: threads * active.ofReads, unitElements: run };
  const bytes = measured ? 0 : bytesOfIteration(device, kernel, taking);
  const waits = measured
    ? 0
    : loadLatencyCycles(device, kernel, taking, (probability) => active.any(lanes, probability)) -
      kernel.dependentLoadsPerIteration * device.memoryLatencyCycles;
  const own: Demand = { latencyCycles: (step.latencyCycles + waits) * cost, issueCycles: step.issueCycles * cost };
  // A measured pipeline describes only the iterations. The other phases are derived, and corrected by the ratio of the
  // measured to the derived values of the iterations.
  const derived = measured ? pipelineParameters(device, kernel, { spilledRegisters: 0 }) : step;
  const off: Demand = {
    latencyCycles: measured ? plan.pipeline[device.id].latencyCycles / derived.latencyCycles : 1,
    issueCycles: measured ? plan.pipeline[device.id].issueCycles / derived.issueCycles : 1,
  };
  const phases = computePhaseDemands(kernel, device, u, {
    missShare: computeMissShare(kernel, device, isSingle, balancing, lanes, isFamily ? lanes : starts, rounds),
    // The start of a fetched unit contains the load that waits for the counter, whose cost is in `fetch-cost.ts`.
    loadsElsewhere: balancing.kind === 'dynamic-fetch' ? 1 : 0,
    off,
  });
  const perStart = isSingle ? phases.refill : phases.unit;
  // A flattened loop takes its first unit before the loop and finishes its last unit after it.
  const perGroup = isSingle && kernel.refill ? added(phases.prologue, phases.unit) : phases.prologue;
  const share = isEvenShare(balancing)
    ? added(perGroup, times(phases.search, countSearchSteps(plan.units)), phases.carry)
    : perGroup;
  // `perCycle`: bytes that memory moves per cycle for the thread groups of one work group.
  const achieved = device.achievedBandwidthFraction ?? ACHIEVED_BANDWIDTH;
  const perCycle = achieved * bytesPerMultiprocessorCycle(device) * threadGroupsPerGroup;
  const stepBytes =
    (lanes * (isPadded(balancing) ? iterations * u : isEvenShare(balancing) ? iterations : elements) * bytes) /
    perCycle;
  const ofUnit = isSingle ? (kernel.refill ?? kernel.unit) : kernel.unit;
  const unitBytes = measured ? 0 : (lanes * units * (ofUnit?.bytes ?? 0)) / perCycle;
  const threadBytes = measured ? 0 : ((kernel.prologue?.bytes ?? 0) * Math.min(width, n * u)) / perCycle;
  const whole = {
    latencyCycles: iterations * own.latencyCycles + starts * perStart.latencyCycles + share.latencyCycles / rounds,
    issueCycles: iterations * own.issueCycles + starts * perStart.issueCycles + share.issueCycles / rounds,
  };
  const transfer = stepBytes + unitBytes + threadBytes / rounds;
  const pipeline: PipelineParameters = { ...step, ...whole };
  const partsAmong = (groups: number): MarginalCycles =>
    marginalCycles(pipeline, transfer, groups * threadGroupsPerGroup);
  const cyclesAmong = (groups: number) => {
    const part = partsAmong(groups);
    return ({ latencyCycles, issueCycles }: Demand, moved: number): number =>
      part.latency * latencyCycles + part.issue * issueCycles + part.transfer * moved;
  };
  const cyclesOf = cyclesAmong(activeGroups);
  const iteration = cyclesOf(own, stepBytes / iterations);
  const startIterations = cyclesOf(perStart, unitBytes / starts) / iteration;
  const groupIterations = cyclesOf(share, threadBytes) / iteration;
  const cyclesAlone = cyclesAmong(1);
  const isShare = isEvenShare(balancing);
  const setup = roundSetup(startIterations + (isShare ? 0 : groupIterations / (starts * rounds)), iterations / starts);
  const overhead = isShare ? roundSetup(groupIterations, iterations) : 0;
  // All groups of a fetching launch run out of units together, so their schedulers need not be distinguished.
  const schedulers =
    balancing.kind === 'dynamic-fetch'
      ? ONE_SCHEDULER
      : getSchedulers(pipeline, threadGroupsPerGroup, computeIssueShare(pipeline, transfer, partsAmong(activeGroups)));
  let table: CycleTable | null = null;
  return {
    // Most designs are only compared by their bounds, so the table is made on demand. An accessor instead of a method
    // would double the memory of a pace.
    getCycles: () =>
      (table ??= tabulateRounds(most, schedulers.count, (groups) =>
        cyclesWithTraffic(pipeline, transfer, groups * threadGroupsPerGroup),
      )),
    findBestRate: (groups) =>
      findBestRate(pipeline, transfer, threadGroupsPerGroup, { count: schedulers.count, most }, groups),
    schedulers,
    iterationFactor: 1 / (iterations + starts * setup + overhead / rounds),
    pipeline: { ...pipeline, issueCycles: Math.max(pipeline.issueCycles, transfer) },
    aloneCycles: {
      step: cyclesAlone(own, isFamily ? 0 : stepBytes / iterations),
      start: isFamily ? 0 : cyclesAlone(perStart, unitBytes / starts),
    },
    stepIssueCycles: own.issueCycles,
    roundIssueCycles: whole.issueCycles,
    transferCycles: transfer,
    setupIterations: setup,
    overheadIterations: overhead,
  };
}

/** Returns the share of issue, as opposed to traffic, in the cycles that a further group costs, 0…1. */
function computeIssueShare({ issueCycles }: PipelineParameters, transferCycles: number, part: MarginalCycles): number {
  const issue = part.issue * issueCycles;
  const both = issue + part.transfer * transferCycles;
  return both > 0 ? issue / both : 0;
}

/** A work group of several thread groups occupies one scheduler for each of them. */
function getSchedulers({ schedulers }: PipelineParameters, threadGroups: number, issueShare: number): Schedulers {
  const count = schedulers / threadGroups;
  if (issueShare < LEAST_ISSUE_SHARE || !Number.isInteger(count) || count === 1) return ONE_SCHEDULER;
  return { count, issueShare };
}

/**
 * Finds the minimum of t(w) / w over 1 to `groups` active work groups. The quotient falls from one full round of the
 * schedulers to the next, and within a round it is smallest at one end.
 * @param count schedulers that count their groups separately; t is linear between their full rounds, up to `most`
 */
function findBestRate(
  pipeline: PipelineParameters,
  transferCycles: number,
  threadGroups: number,
  { count, most }: { readonly count: number; readonly most: number },
  groups: number,
): number {
  const cyclesOf = (w: number): number => cyclesWithTraffic(pipeline, transferCycles, w * threadGroups);
  if (count > 1) {
    const full = groups - (groups % count);
    if (full === 0 || full === groups) return cyclesOf(groups) / groups;
    const cycles = cyclesOf(full);
    const partly = cycles + ((groups - full) / count) * (cyclesOf(Math.min(full + count, most)) - cycles);
    return Math.min(cycles / full, partly / groups);
  }
  const perRound = pipeline.schedulers / greatestCommonDivisor(threadGroups, pipeline.schedulers);
  let best = Infinity;
  for (let w = Math.max(1, groups - (groups % perRound)); w <= groups; w++) best = Math.min(best, cyclesOf(w) / w);
  return best;
}

/**
 * Computes the fraction of a unit's loads that wait for device memory, 0…1. Neighbouring units share sectors: groups
 * that start together wait for them, and later rounds find most of them fetched. Half of the bytes count as reads.
 */
function computeMissShare(
  { unit, refill }: KernelProfile,
  device: GpuDevice,
  isSingle: boolean,
  balancing: LockstepBalancing,
  lanes: number,
  starts: number,
  rounds: number,
): number {
  const read = ((isSingle ? (refill ?? unit) : unit)?.bytes ?? 0) / 2;
  // The neighbours of a fetched unit run on other multiprocessors, so their loads share no sectors here.
  if (read === 0 || balancing.kind === 'dynamic-fetch') return 1;
  const sectors = (lanes * read) / sectorBytes(device);
  const misses = Math.min(1, isSingle ? Math.max(1, sectors) / starts : sectors);
  const hits = firstLevelCacheBytes(device, 0) > 0 ? LEVEL_1_LATENCY : LEVEL_2_LATENCY;
  const later = misses + (1 - misses) * hits;
  return isSingle ? later : (1 + (rounds - 1) * later) / rounds;
}
