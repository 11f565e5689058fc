import type { Achieved, Breakdown } from '../domain/breakdown.ts';
import { isEvenShare, isPadded } from '../domain/design.ts';
import { regimeInfo } from '../domain/regime.ts';
import { ACHIEVED_BANDWIDTH } from '../domain/device.ts';
import { explainCpu } from './cpu.ts';
import { keepsOrder } from './dealing/given.ts';
import {
  examineDesign,
  isOnCpu,
  isOneLaunch,
  type Candidate,
  type ClassCandidate,
  type GpuCandidate,
} from './design/candidate.ts';
import { computeBalancingMs, computeIterationFactor, computeStackFactor } from './launch-costs.ts';
import { getCpuLoads, timeOnGpu, type TimedOnGpu } from './time-design.ts';
import type { SweepPlan } from './plan.ts';
import { phaseDemand } from '../models/pipeline/derive.ts';
import { getPace } from './cost/pace.ts';
import { countRounds, getMeanRound, isOneLoop } from './cost/mean-round.ts';
import { isInGivenOrder } from './orders.ts';
import { preparePipeline } from './predictor.ts';
import type { Predictor } from './tables.ts';
import { interpolateCycles } from './time/cycles.ts';

/** A breakdown names the longest unit as the cause if it takes at least this fraction of a launch's time. */
const LONGEST_SHARE = 0.5;

/**
 * Explains the predicted time of a valid design as a sum of parts. The parts are differences between idealised
 * machines, each one step closer to the design: all lanes busy and issue-bound → + cooperation → + lockstep → + spills
 * → + real number of active groups (latency) → + blocks → + last wave → + reconvergence stack → + balancing.
 */
export function explainDesign(whole: Predictor, index: number): Breakdown | null {
  const { candidate } = examineDesign(whole, index);
  if (candidate.invalid !== 0) return null;
  if (isOneLaunch(candidate)) return explainLaunch(candidate);
  if (!isOnCpu(candidate)) return explainClasses(candidate, candidate.classes!);
  const { predictor, device, balancing, gridBlocks } = candidate;
  return explainCpu(getCpuLoads(predictor), device, balancing, gridBlocks);
}

function explainClasses(candidate: Candidate, classes: readonly ClassCandidate[]): Breakdown {
  const each = classes.map(({ candidate: own }) => explainLaunch(own));
  const longest = each.reduce((a, b) => (b.timeMs > a.timeMs ? b : a));
  const balancing = computeBalancingMs(candidate);
  const parts = { ...longest.parts };
  for (const name of Object.keys(parts) as (keyof typeof parts)[])
    parts[name] = each.reduce((sum, own) => sum + own.parts[name], name === 'balancing' ? balancing : 0);
  const timeMs = each.reduce((sum, own) => sum + own.timeMs, balancing);
  const achieved = addAchieved(each, timeMs);
  const { longestUnit, ...whole } = { ...longest, timeMs, parts, achieved };
  return longestUnit && longestUnit.timeMs >= LONGEST_SHARE * timeMs ? { ...whole, longestUnit } : whole;
}

function addAchieved(each: readonly Breakdown[], timeMs: number): Achieved {
  const over = (of: (one: Achieved) => number | null): number | null => {
    const values = each.map((one) => of(one.achieved));
    return values.includes(null)
      ? null
      : values.reduce<number>((sum, v, at) => sum + (v! * each[at].timeMs) / timeMs, 0);
  };
  const limits = new Set(each.map(({ achieved }) => achieved.limit));
  return {
    issueFraction: over((one) => one.issueFraction),
    bandwidthGbS: over((one) => one.bandwidthGbS),
    bandwidthFraction: over((one) => one.bandwidthFraction),
    limit: limits.size === 1 ? [...limits][0] : null,
  };
}

function explainLaunch(candidate: GpuCandidate): Breakdown {
  const { predictor, device, shape, balancing } = candidate;
  const isCut = isEvenShare(balancing);
  const timed = {} as TimedOnGpu;
  timeOnGpu(candidate, timed);
  const { plan } = predictor;
  const groups = shape.residentBlocks * shape.groupsPerBlock;
  const toMs = 1 / (device.clockMhz * 1e3);
  const groupsPerMultiprocessor = (candidate.workingBlocks * shape.groupsPerBlock) / device.multiprocessors;
  const pace = getPace(candidate);
  // An even share counts as one round. The time of its search is a separate part, computed below.
  const rounds = isCut ? 1 - timed.searchShare : candidate.meanUnitsPerThread;
  const round = getMeanRound(candidate, countRounds(candidate));
  // Converts cycles per thread group and round into milliseconds for all rounds of one multiprocessor.
  const roundsMs = groupsPerMultiprocessor * rounds * shape.threadGroupsPerGroup * toMs;
  const { stepIssueCycles, transferCycles } = pace;
  const issueCycles = pace.roundIssueCycles ?? round.iterations * stepIssueCycles;
  // Lanes that have ended move no data, but padding moves data.
  const transfer = (iterations: number): number =>
    isPadded(balancing) ? (transferCycles * iterations) / round.iterations : transferCycles;
  const issue = (iterations: number): number => issueCycles - (round.iterations - iterations) * stepIssueCycles;
  const throughput = (iterations: number): number => Math.max(issue(iterations), transfer(iterations));
  const iterations = roundIterations(candidate, timed, round.iterations);
  const spilledMs = roundsMs * throughput(iterations);
  const cap = plan.axes.registerCap[candidate.capAt];
  const spills = preparePipeline(plan, device, cap, 0).issueCycles / preparePipeline(plan, device, null, 0).issueCycles;
  const lockstep = spilledMs / spills;
  const useful = Math.min(iterations, isCut ? Infinity : predictor.meanLength);
  const cooperating = (roundsMs * throughput(useful)) / spills;
  // If several threads that share a unit are faster in total than one thread per unit, their time is the ideal.
  const alone = preparePipeline(plan, device, null, 0).issueCycles * predictor.elements;
  const unitsPerLane = plan.units / device.threadGroupWidth / device.multiprocessors;
  const unitMs = unitsPerLane * (alone + phaseDemand(device, plan.kernel.unit).issueCycles) * toMs;
  const ideal = Math.min(cooperating, Math.max(unitMs, (roundsMs * transfer(useful)) / spills));
  const { pipeline } = pace;
  const cycles = pace.getCycles();
  // The time of the launch, ms, if this number of groups stayed active on a multiprocessor to the end.
  const msWith = (active: number): number =>
    spilledMs *
    Math.max(
      1,
      interpolateCycles(cycles, active, cycles.length - 1) / active / shape.threadGroupsPerGroup / pipeline.issueCycles,
    );
  const active = Math.min(groups, Math.ceil(groupsPerMultiprocessor));
  const latencyMs = msWith(active);
  // The blocks of the last wave are not replaced, so their tail is part of `lastWave`.
  const refilled = Math.max(0, 1 - groups / groupsPerMultiprocessor);
  const { meanBlock, meanGroup } = timed.launch.residency.block;
  // Mean number of active groups, because a group is active for only a part of the life of its block.
  const busy = Math.max(1, active * (meanBlock > 0 ? meanGroup / meanBlock : 1));
  const balancingMs = computeBalancingMs(candidate) + timed.fetchingMs;
  const withStackMs = timed.timeMs - balancingMs;
  const wholeMs = withStackMs / computeStackFactor(candidate);
  const kernelMs = wholeMs * (1 - timed.searchShare);
  // Blocks of whole waves that run in step wait less than this estimate, so the time that remains limits the tail.
  const tail = Math.min(refilled * (msWith(busy) - latencyMs), Math.max(0, kernelMs - latencyMs));
  const blockTail = Math.max(tail, Math.min(timed.blockStartsMs, kernelMs - latencyMs));
  const parts = {
    idealWork: ideal,
    cooperation: cooperating - ideal,
    imbalance: lockstep - cooperating,
    registerCap: spilledMs - lockstep,
    latency: latencyMs - spilledMs,
    blockTail,
    lastWave: kernelMs - latencyMs - blockTail,
    divergence: withStackMs - wholeMs,
    balancing: balancingMs + wholeMs - kernelMs,
  };
  const perIteration = cycles[1] * computeIterationFactor(candidate) * toMs;
  const length = findLongestLength(plan);
  const longestMs = (length + pace.setupIterations) * perIteration;
  const longestUnit = !isCut && longestMs >= LONGEST_SHARE * timed.timeMs ? { length, timeMs: longestMs } : null;
  const issueMs = roundsMs * issue(iterations) * Math.min(1, kernelMs / latencyMs);
  const transferMs = roundsMs * transferCycles;
  const memory = device.achievedBandwidthFraction ?? ACHIEVED_BANDWIDTH;
  const bandwidthFraction = transferMs > 0 ? (memory * transferMs) / timed.timeMs : null;
  const isBusy = Math.max(issueMs, transferMs) >= timed.timeMs / 2;
  return {
    timeMs: timed.timeMs,
    parts,
    achieved: {
      issueFraction: issueMs / timed.timeMs,
      bandwidthGbS: bandwidthFraction && bandwidthFraction * device.memoryBandwidthGbS,
      bandwidthFraction,
      limit: !isBusy ? null : issueMs >= transferMs ? 'issue' : 'bandwidth',
    },
    regime: regimeInfo(timed.regime),
    order: isInGivenOrder(candidate) ? 'given' : 'independent',
    ...(longestUnit && { longestUnit }),
  };
}

/** Iterations of a round. Similar neighbours end together more often than independent draws (`ofDraws`). */
function roundIterations(candidate: GpuCandidate, { aggregateLoss }: TimedOnGpu, ofDraws: number): number {
  const isDealt = isInGivenOrder(candidate) && keepsOrder(candidate.balancing);
  return isDealt && isOneLoop(candidate) ? candidate.predictor.meanLength * aggregateLoss : ofDraws;
}

/** The largest length that an expected 0.5 units or more reach; in a list, the longest length. */
function findLongestLength({ law, units }: SweepPlan): number {
  let tail = 0;
  for (let at = law.support.length - 1; at > 0; at -= 1) {
    tail += law.probability[at];
    if (tail * units >= 0.5) return law.support[at];
  }
  return law.support[0];
}
