import type { Breakdown } from '../domain/breakdown.ts';
import type { GpuDevice } from '../domain/device.ts';
import { isEvenShare } from '../domain/design.ts';
import { regimeInfo } from '../domain/regime.ts';
import { interpolateCycles } from '../models/pipeline/soft-saturation.ts';
import { decodeInto } from '../space/axes.ts';
import { LONGEST_SHARE } from './constants.ts';
import { explainCpu } from './cpu.ts';
import { examine, lockstepBalancing, partitionOf, type Candidate, type ClassCandidate } from './design/candidate.ts';
import {
  balancingMs,
  cpuLoadsOf,
  iterationCost,
  setupIterations,
  stackFactor,
  timeOnGpu,
  type TimedOnGpu,
  isInGivenOrder,
} from './pipeline.ts';
import type { SweepPlan } from './plan.ts';
import { pipelineOf } from './predictor.ts';
import type { Predictor } from './tables.ts';

/**
 * Where the predicted time of a valid design goes. Parts are differences between idealised machines, each one step closer
 * to the design, so they add up to the predicted time exactly:
 * all lanes busy and issue-bound → + cooperation → + lockstep → + spills → + real number of active groups (latency) →
 * + block tail → + last wave → + reconvergence stack → + balancing. Of a CPU see `explainCpu`.
 */
export function explainDesign(whole: Predictor, index: number): Breakdown | null {
  const positions = new Int32Array(whole.counts.length);
  decodeInto(positions, whole.counts, index);
  const candidate = {} as Candidate;
  const predictor = examine(whole, positions, candidate);
  return candidate.invalid === 0 ? explainCandidate(predictor, candidate) : null;
}

/** The parts of a mixed design are those of its launches together. */
function explainClasses(predictor: Predictor, candidate: Candidate, classes: readonly ClassCandidate[]): Breakdown {
  const each = classes.map(({ units, candidate: own }) => explainCandidate(units.predictor, own));
  const longest = each.reduce((a, b) => (b.timeMs > a.timeMs ? b : a));
  const balancing = balancingMs(predictor, candidate, candidate.device as GpuDevice);
  const parts = { ...longest.parts };
  for (const name of Object.keys(parts) as (keyof typeof parts)[])
    parts[name] = each.reduce((sum, own) => sum + own.parts[name], name === 'balancing' ? balancing : 0);
  const timeMs = each.reduce((sum, own) => sum + own.timeMs, balancing);
  const { longestUnit, ...whole } = { ...longest, timeMs, parts };
  return longestUnit && longestUnit.timeMs >= LONGEST_SHARE * timeMs ? { ...whole, longestUnit } : whole;
}

function explainCandidate(predictor: Predictor, candidate: Candidate): Breakdown {
  const { device, shape, threadsPerUnit } = candidate;
  if (candidate.classes) return explainClasses(predictor, candidate, candidate.classes);
  if (device.kind === 'cpu')
    return explainCpu(cpuLoadsOf(predictor), device, partitionOf(predictor, candidate), candidate.gridBlocks);
  const timed = {} as TimedOnGpu;
  timeOnGpu(predictor, candidate, device, timed);
  const { plan } = predictor;
  const cap = plan.axes.registerCap[candidate.capAt];
  const groups = shape.residentBlocks * shape.groupsPerBlock;
  const phi = iterationCost(predictor, candidate);
  const toMs = 1 / (device.clockMhz * 1e3);
  const groupsPerMultiprocessor = (candidate.workingBlocks * shape.groupsPerBlock) / device.multiprocessors;
  const iterations = groupsPerMultiprocessor * timed.depth.meanWork * timed.scale;
  // What combines a unit of several thread groups is part of its setup, but no ideal machine would do it.
  const reduction = setupIterations(predictor, candidate) - plan.kernel.setupIterationsPerUnit;
  const needed = iterations - groupsPerMultiprocessor * reduction * candidate.meanUnitsPerThread;
  // Issue cost of one group's iteration: with a cap, and as the compiler would like it.
  const issue = pipelineOf(plan, device, cap, shape.bytesPerIteration).issueCycles * shape.threadGroupsPerGroup;
  const issueUncapped =
    pipelineOf(plan, device, null, shape.bytesPerIteration).issueCycles * shape.threadGroupsPerGroup;
  const ideal = (needed / threadsPerUnit) * issueUncapped * toMs;
  const cooperating = iterations * phi * issueUncapped * toMs;
  const lockstep = cooperating * timed.depth.aggregateLoss;
  const spilledMs = (lockstep * issue) / issueUncapped;
  // Full occupancy of this launch, kept up to the end: cycles of an iteration of all resident groups, per group.
  const cyclesPerIteration = candidate.shape.cyclesPerIteration;
  const msWith = (active: number): number =>
    spilledMs * Math.max(1, interpolateCycles(cyclesPerIteration, active) / active / issue);
  const active = Math.min(groups, Math.ceil(groupsPerMultiprocessor));
  const latencyMs = msWith(active);
  // A slot is free only when the last group of its block ends. The first wave is not refilled: its tail is the last wave's.
  const refilled = Math.max(0, 1 - groups / groupsPerMultiprocessor);
  const { meanBlock, meanGroup } = timed.launch.residency.block;
  // Mean share of a block's groups that are active while its slot is taken.
  const busy = Math.max(1, active * (meanBlock > 0 ? meanGroup / meanBlock : 1));
  const balancing = balancingMs(predictor, candidate, device) + timed.fetchingMs;
  const withStackMs = timed.timeMs - balancing;
  const wholeMs = withStackMs / stackFactor(predictor, candidate, device);
  const kernelMs = wholeMs * (1 - timed.searchShare);
  // Whole waves in step wait for less than that: no more than there is.
  const blockTail = Math.min(refilled * (msWith(busy) - latencyMs), Math.max(0, kernelMs - latencyMs));
  const parts = {
    idealWork: ideal,
    cooperation: cooperating - ideal,
    imbalance: lockstep - cooperating,
    registerCap: spilledMs - lockstep,
    latency: latencyMs - spilledMs,
    blockTail,
    lastWave: kernelMs - latencyMs - blockTail,
    divergence: withStackMs - wholeMs,
    balancing: balancing + wholeMs - kernelMs,
  };
  const perIteration = cyclesPerIteration[1] * phi * stackFactor(predictor, candidate, device) * toMs;
  const length = longestLength(plan);
  const longestMs = (length + setupIterations(predictor, candidate)) * perIteration;
  const isCut = isEvenShare(lockstepBalancing(predictor, candidate));
  const longestUnit = !isCut && longestMs >= LONGEST_SHARE * timed.timeMs ? { length, timeMs: longestMs } : null;
  return {
    timeMs: timed.timeMs,
    parts,
    regime: regimeInfo(timed.regime),
    order: isInGivenOrder(predictor, candidate) ? 'given' : 'independent',
    ...(longestUnit && { longestUnit }),
  };
}

/** The greatest length that half a unit or more is expected to reach: of a list of lengths that of its longest. */
function longestLength({ law, units }: SweepPlan): number {
  let tail = 0;
  for (let at = law.support.length - 1; at > 0; at -= 1) {
    tail += law.probability[at];
    if (tail * units >= 0.5) return law.support[at];
  }
  return law.support[0];
}
