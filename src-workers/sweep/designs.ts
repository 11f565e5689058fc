import type { Breakdown } from '../domain/breakdown.ts';
import { INVALID_REASONS, type Design, type InvalidReason, type LockstepBalancing } from '../domain/design.ts';
import type { Device, GpuDevice } from '../domain/device.ts';
import type { LoopForm } from '../domain/kernel.ts';
import { interpolateRate } from '../models/pipeline/soft-saturation.ts';
import { decodeInto } from '../space/axes.ts';
import { examine, lockstepBalancing, partitionOf, type Candidate } from './candidate.ts';
import { explainCpu } from './cpu.ts';
import { placedBlockLaw } from './placed.ts';
import type { SweepPlan } from './plan.ts';
import { pipelineOf } from './predictor.ts';
import type { Predictor } from './tables.ts';
import {
  balancingMs,
  cpuLoadsOf,
  iterationCost,
  orderingMs,
  stackFactor,
  timeOnGpu,
  type TimedOnGpu,
} from './timing.ts';

/** Number of designs by invalid reason code (index 0: valid), without predicting any. */
export function classifyDesigns(predictor: Predictor, first: number, count: number): Float64Array {
  const tally = new Float64Array(INVALID_REASONS.length);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  decodeInto(positions, predictor.counts, first);
  for (let i = 0; i < count; i += 1) {
    examine(predictor, positions, candidate);
    tally[candidate.invalid] += 1;
    advance(positions, predictor.counts);
  }
  return tally;
}

function advance(positions: Int32Array, counts: readonly number[]): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    positions[axis] += 1;
    if (positions[axis] < counts[axis]) return;
    positions[axis] = 0;
  }
}

/** The design at an index, with what its device makes of it. */
export function describeDesign(
  predictor: Predictor,
  index: number,
): {
  readonly design: Design;
  readonly device: Device;
  readonly invalid: InvalidReason | null;
  readonly residentThreadGroups: number;
} {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  const { axes } = predictor.plan;
  return {
    device: candidate.device,
    invalid: candidate.invalid === 0 ? null : INVALID_REASONS[candidate.invalid].code,
    residentThreadGroups: candidate.shape.residentBlocks * candidate.shape.groupsPerBlock,
    design: {
      threadsPerUnit: axes.threadsPerUnit[positions[1]],
      unitsPerThread: candidate.unitsPerThread,
      loop: axes.loop[positions[2]],
      balancing: axes.balancing[positions[3]],
      blockThreads: candidate.device.kind === 'cpu' && candidate.invalid === 0 ? 1 : axes.blockThreads[positions[6]],
      gridBlocks: candidate.gridBlocks,
      registerCap: axes.registerCap[positions[5]],
    },
  };
}

/** A valid design as something that can be played: what its launch is made of, and what its cycles cost. */
export interface PlayableDesign {
  readonly device: GpuDevice;
  readonly balancing: LockstepBalancing;
  readonly loop: LoopForm;
  readonly unitsPerGroup: number;
  readonly unitsPerThread: number;
  /** Units in flight in one block; the last thread group of a block may be partly empty. */
  readonly slotsPerBlock: number;
  readonly groupsPerBlock: number;
  readonly residentBlocks: number;
  readonly gridBlocks: number;
  /** t(w), index w = 0 … the most thread groups of a multiprocessor. */
  readonly cyclesPerIteration: Float64Array;
  /** Milliseconds of one cycle of t(w): clock and cost of an iteration that threads share. */
  readonly msPerCycle: number;
  readonly balancingMs: number;
  /** What of that comes before the launch: no part of the time of a kernel. */
  readonly orderingMs: number;
}

/** @returns `null` where the design is invalid, or of a CPU */
export function playableDesign(predictor: Predictor, index: number): PlayableDesign | null {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  const { device, shape, threadsPerUnit } = candidate;
  if (candidate.invalid !== 0 || device.kind === 'cpu') return null;
  const { axes } = predictor.plan;
  return {
    device,
    balancing: lockstepBalancing(predictor, candidate),
    loop: axes.loop[candidate.loopAt],
    unitsPerGroup: candidate.unitsPerGroup,
    unitsPerThread: candidate.unitsPerThread,
    slotsPerBlock: axes.blockThreads[positions[6]] / threadsPerUnit,
    groupsPerBlock: shape.groupsPerBlock,
    residentBlocks: shape.residentBlocks,
    gridBlocks: candidate.gridBlocks,
    cyclesPerIteration: predictor.rates[candidate.deviceAt][candidate.capAt].cycles,
    msPerCycle:
      (iterationCost(predictor.plan, candidate) * stackFactor(predictor, candidate, device)) / (device.clockMhz * 1e3),
    balancingMs: balancingMs(predictor, candidate, device),
    orderingMs: orderingMs(predictor, candidate, device),
  };
}

/**
 * Where the predicted time of a valid design goes. Parts are differences between idealised machines, each one step closer
 * to the design, so they add up to the predicted time exactly:
 * all lanes busy and issue-bound → + cooperation → + lockstep → + spills → + real number of active groups (latency) →
 * + block tail → + last wave → + reconvergence stack → + balancing. Of a CPU see `explainCpu`.
 */
export function explainDesign(predictor: Predictor, index: number): Breakdown | null {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  if (candidate.invalid !== 0) return null;
  const { device, shape, threadsPerUnit } = candidate;
  if (device.kind === 'cpu')
    return explainCpu(cpuLoadsOf(predictor), device, partitionOf(predictor, candidate), candidate.gridBlocks);
  const timed = {} as TimedOnGpu;
  timeOnGpu(predictor, candidate, device, timed);
  const { plan } = predictor;
  const cap = plan.axes.registerCap[candidate.capAt];
  const groups = shape.residentBlocks * shape.groupsPerBlock;
  const phi = iterationCost(plan, candidate);
  const toMs = 1 / (device.clockMhz * 1e3);
  const groupsPerMultiprocessor = (candidate.workingBlocks * shape.groupsPerBlock) / device.multiprocessors;
  const iterations = groupsPerMultiprocessor * timed.depth.meanWork * timed.scale;
  // Issue cost of one group's iteration: with a cap, and as the compiler would like it.
  const issue = pipelineOf(plan, device, cap).issueCycles;
  const issueUncapped = pipelineOf(plan, device, null).issueCycles;
  const ideal = (iterations / threadsPerUnit) * issueUncapped * toMs;
  const cooperating = iterations * phi * issueUncapped * toMs;
  const lockstep = cooperating * timed.depth.aggregateLoss;
  const spilledMs = (lockstep * issue) / issueUncapped;
  // Full occupancy of this launch, kept up to the end: cycles of an iteration of all resident groups, per group.
  const { cycles } = predictor.rates[candidate.deviceAt][candidate.capAt];
  const msWith = (active: number): number => spilledMs * Math.max(1, interpolateRate(cycles, active) / active / issue);
  const active = Math.min(groups, Math.ceil(groupsPerMultiprocessor));
  const latencyMs = msWith(active);
  // A slot is free only when the last group of its block ends. The first wave is not refilled: its tail is the last wave's.
  const refilled = Math.max(0, 1 - groups / groupsPerMultiprocessor);
  const { meanBlock, meanGroup } =
    'sample' in timed.life ? placedBlockLaw(timed.life, predictor.laws.blocks) : timed.life.block;
  // Mean share of a block's groups that are active while its slot is taken.
  const busy = Math.max(1, active * (meanBlock > 0 ? meanGroup / meanBlock : 1));
  const balancing = balancingMs(predictor, candidate, device);
  const withStackMs = timed.timeMs - balancing;
  const kernelMs = withStackMs / stackFactor(predictor, candidate, device);
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
    divergence: withStackMs - kernelMs,
    balancing,
  };
  const perIteration = cycles[1] * phi * stackFactor(predictor, candidate, device) * toMs;
  const length = longestLength(plan);
  const longestMs = (length + plan.kernel.setupIterationsPerUnit) * perIteration;
  const longestUnit = longestMs >= LONGEST_SHARE * timed.timeMs ? { length, timeMs: longestMs } : null;
  return { timeMs: timed.timeMs, parts, ...(longestUnit && { longestUnit }) };
}

/** Share of a launch's time from which on a unit's own time is the reason for it. */
const LONGEST_SHARE = 0.5;

/** The greatest length that half a unit or more is expected to reach: of a list of lengths that of its longest. */
function longestLength({ law, units }: SweepPlan): number {
  let tail = 0;
  for (let at = law.support.length - 1; at > 0; at -= 1) {
    tail += law.probability[at];
    if (tail * units >= 0.5) return law.support[at];
  }
  return law.support[0];
}
