import { isEvenShare } from '../../domain/design.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import {
  cyclesWithTraffic,
  cycleTable,
  marginalCycles,
  type MarginalCycles,
} from '../../models/pipeline/soft-saturation.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { containsTraffic } from '../plan.ts';
import { preparePipeline } from '../predictor.ts';
import type { Pace, RoundCost, RoundPart } from '../tables.ts';
import { ONE_SCHEDULER, smoothRounds, type Schedulers } from '../time/cycles.ts';
import { countRounds, isOneLoop, MOST_ROUNDS, ROUND_STEPS } from './mean-round.ts';
import { computeStepCost, makeRoundCost } from './round-cost.ts';

/** Schedulers are ignored if issue takes less than this share of the cycles (issue and transfer) that a group adds. */
const LEAST_ISSUE_SHARE = 0.05;
/** A setup below this share of the iterations between setups is rounded more coarsely, so that launches share laws. */
const SMALL_SETUP = 1 / 8;

/** A family (all launches of one block size and register cap) gets the pace of full multiprocessors and many rounds. */
export function getPace(candidate: GpuCandidate): Pace {
  if (candidate.pace) return candidate.pace;
  const { device, balancing } = candidate;
  const { plan, paces } = candidate.predictor;
  const { axes } = plan;
  const { deviceAt, capAt, blockAt, threadsAt, loopAt, balancingAt, shape, workingBlocks } = candidate;
  const place = (deviceAt * axes.threadsPerUnit.length + threadsAt) * axes.registerCap.length + capAt;
  if (isPlain(candidate)) {
    const isFetching = balancing.kind === 'dynamic-fetch';
    const at = place * 4 + 2 * Number(isOneLoop(candidate)) + Number(isFetching);
    return (candidate.pace = paces.plain[at] ??= makePlainPace(candidate, isFetching));
  }
  const isFamily = candidate.gridBlocks === 0;
  const isShare = isEvenShare(balancing);
  const rounds = isFamily ? MOST_ROUNDS : countRounds(candidate);
  const blocks = isFamily
    ? shape.residentBlocks
    : Math.min(shape.residentBlocks, Math.ceil(workingBlocks / device.multiprocessors));
  const activeGroups = blocks * shape.groupsPerBlock;
  const threads = isFamily
    ? device.threadGroupWidth
    : Math.min(shape.accessing.residentThreads, activeGroups * shape.threadGroupsPerGroup * device.threadGroupWidth);
  // Even shares have another size in every launch. Few blocks leave multiprocessors idle, and the busy ones then have
  // more bandwidth each. Such launches have a pace of their own.
  if (isShare || (!isFamily && workingBlocks < device.multiprocessors)) {
    const cost = makeRoundCost(candidate, rounds, threads, isFamily);
    return (candidate.pace = makePace(candidate, cost, rounds, activeGroups, isFamily));
  }
  // The block size itself matters only with shared memory, or if a block is smaller than a thread group.
  const isSizeSeen = shape.accessing.sharedMemoryBytes > 0 || axes.blockThreads[blockAt] < device.threadGroupWidth;
  let key = (place * axes.loop.length + loopAt) * axes.balancing.length + balancingAt;
  key = key * (axes.blockThreads.length + 1) + (isSizeSeen ? blockAt + 1 : 0);
  key = (key * (MOST_ROUNDS * ROUND_STEPS + 1) + Math.round(rounds * ROUND_STEPS)) * 2 + Number(isFamily);
  // The number of threads matters only to caches of listed accesses. Issue cycles that contain the traffic were measured
  // with all resident threads.
  key =
    key * 4096 +
    (!plan.kernel.accesses ? 0 : containsTraffic(plan, device.id) ? shape.accessing.residentThreads : threads);
  return (candidate.pace = paces.known(key * 256 + activeGroups, () => {
    const cost = paces.rounds(key, () => makeRoundCost(candidate, rounds, threads, isFamily));
    return makePace(candidate, cost, rounds, activeGroups, isFamily);
  }));
}

/** Whether a launch consists only of iterations that move no data. */
function isPlain({ predictor: { paces }, balancing, shape, threadsPerUnit }: GpuCandidate): boolean {
  if (!paces.hasNoPhases || shape.bytesPerIteration > 0 || shape.threadGroupsPerGroup > 1) return false;
  return !isEvenShare(balancing) && (threadsPerUnit === 1 || !paces.combines);
}

function makePlainPace(candidate: GpuCandidate, isFetching: boolean): Pace {
  const { device } = candidate;
  const { plan, paces } = candidate.predictor;
  const cap = plan.axes.registerCap[candidate.capAt];
  const pipeline = preparePipeline(plan, device, cap, 0);
  const schedulers = isFetching ? ONE_SCHEDULER : getSchedulers(pipeline, 1, 1);
  const key = `${candidate.deviceAt} ${cap} ${schedulers.count}`;
  const most = device.limits.maxThreadGroupsPerMultiprocessor;
  const table = getOrMake(paces.tables, key, () => smoothRounds(cycleTable(pipeline, most), schedulers.count));
  const iterationFactor = computeStepCost(candidate);
  return {
    getCycles: () => table,
    findBestRate: makeBestRate(pipeline, 0, 1, schedulers.count, most),
    iterationFactor,
    schedulers,
    pipeline,
    aloneCycles: { step: table[1] * iterationFactor, start: 0 },
    bytesPerIteration: 0,
    stepIssueCycles: pipeline.issueCycles * iterationFactor,
    roundIssueCycles: null,
    transferCycles: 0,
    setupIterations: 0,
    overheadIterations: 0,
  };
}

/** Rounds a setup to five binary digits, or more coarsely if small (`SMALL_SETUP`), so that launches share laws. */
function roundSetup(setup: number, iterations: number): number {
  if (!(setup > 0)) return 0;
  const step = 2 ** (Math.floor(Math.log2(Math.max(setup, iterations * SMALL_SETUP))) - 4);
  return Math.max(1, Math.round(setup / step)) * step;
}

function makePace(
  { balancing, shape }: GpuCandidate,
  cost: RoundCost,
  rounds: number,
  activeGroups: number,
  isFamily: boolean,
): Pace {
  const { iterations, starts, step, start, thread, pipeline, transferCycles } = cost;
  const { threadGroupsPerGroup } = shape;
  const among = marginalCycles(pipeline, transferCycles, activeGroups * threadGroupsPerGroup);
  const iteration = priceAt(among, step);
  const startIterations = priceAt(among, start) / iteration;
  const threadIterations = priceAt(among, thread) / iteration;
  const isShare = isEvenShare(balancing);
  const setup = roundSetup(startIterations + (isShare ? 0 : threadIterations / (starts * rounds)), iterations / starts);
  const overhead = isShare ? roundSetup(threadIterations, iterations) : 0;
  // All groups of a fetching launch run out of units together, so their schedulers need not be distinguished.
  const schedulers =
    balancing.kind === 'dynamic-fetch'
      ? ONE_SCHEDULER
      : getSchedulers(pipeline, threadGroupsPerGroup, computeIssueShare(pipeline, transferCycles, among));
  return {
    getCycles: () => cost.getCycles(schedulers.count),
    findBestRate: makeBestRate(pipeline, transferCycles, threadGroupsPerGroup, schedulers.count, cost.most),
    schedulers,
    iterationFactor: 1 / (iterations + starts * setup + overhead / rounds),
    pipeline: { ...pipeline, issueCycles: Math.max(pipeline.issueCycles, transferCycles) },
    aloneCycles: isFamily ? { ...cost.alone, start: 0 } : cost.alone,
    bytesPerIteration: cost.bytesPerIteration,
    stepIssueCycles: step.issueCycles,
    roundIssueCycles: pipeline.issueCycles,
    transferCycles,
    setupIterations: setup,
    overheadIterations: overhead,
  };
}

function priceAt({ latency, issue, transfer }: MarginalCycles, part: RoundPart): number {
  return latency * part.latencyCycles + issue * part.issueCycles + transfer * part.transferCycles;
}

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
 * Makes a function that returns the minimum of t(w) / w for up to a number of active work groups, where w groups take
 * t(w) cycles for an iteration. The quotient falls from one full round of the schedulers to the next. With several
 * schedulers (`count`), t is linear between full rounds, so within a round the quotient is smallest at one end.
 */
function makeBestRate(
  pipeline: PipelineParameters,
  transferCycles: number,
  threadGroups: number,
  count: number,
  most: number,
): (groups: number) => number {
  const cyclesOf = (w: number): number => cyclesWithTraffic(pipeline, transferCycles, w * threadGroups);
  return (groups) => {
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
  };
}
