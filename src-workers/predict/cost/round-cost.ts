import { isEvenShare, isPadded } from '../../domain/design.ts';
import { ACHIEVED_BANDWIDTH, NEAR_PAGE_LATENCY, type GpuDevice } from '../../domain/device.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import {
  bytesOfIteration,
  type AccessingThreads,
  LEVEL_1_LATENCY,
  LEVEL_2_LATENCY,
  loadLatencyCycles,
} from '../../models/memory/accesses.ts';
import { firstLevelCacheBytes } from '../../models/memory/first-level-cache.ts';
import { sectorBytes } from '../../models/memory/traffic.ts';
import { bytesPerMultiprocessorCycle, pipelineParameters, type Demand } from '../../models/pipeline/derive.ts';
import { cyclesWithTraffic } from '../../models/pipeline/soft-saturation.ts';
import { countSearchSteps } from '../dealing/even-share.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { containsTraffic, type SweepPlan } from '../plan.ts';
import { preparePipeline } from '../predictor.ts';
import type { RoundCost } from '../tables.ts';
import { tabulateRounds, type CycleTable } from '../time/cycles.ts';
import { countActiveLanes } from './active-lanes.ts';
import { getMeanRound, isOneLoop } from './mean-round.ts';
import { added, computePhaseDemands, computeStepFactor, SAME, times } from './phases.ts';

/** Maximum number of bytes per cycle to one multiprocessor. Assumed: the width of its port to the level-2 cache. */
const MOST_BYTES_PER_CYCLE = 64;

/**
 * @param threads threads that share the caches of a multiprocessor
 * @param isFamily whether the candidate stands for all launches of its block size, so that the cost is a lower bound
 */
export function makeRoundCost(candidate: GpuCandidate, rounds: number, threads: number, isFamily: boolean): RoundCost {
  const { predictor, device, balancing, shape, threadsPerUnit: u, unitsPerGroup: n } = candidate;
  const { plan, elements } = predictor;
  const { kernel } = plan;
  const hasTraffic = containsTraffic(plan, device.id);
  const isSingle = isOneLoop(candidate);
  const mean = getMeanRound(candidate, rounds);
  // For a family with a single loop, the cost is a lower bound, as if no lane waited and all started together.
  const isBound = isFamily && isSingle;
  const { iterations, starts } = isBound ? { iterations: predictor.meanLength, starts: 1 } : mean;
  const loss = isBound ? Infinity : iterations / predictor.meanLength;
  // Issue cycles that contain the traffic scale with bytes. Other issue cycles leave the traffic to `transferCycles`.
  const cap = plan.axes.registerCap[candidate.capAt];
  const plain = preparePipeline(plan, device, cap, hasTraffic ? shape.bytesPerIteration : 0);
  const { step, bytes, aloneCycles } = computeStep(candidate, plain, threads, loss);
  const { start, thread } = computePhases(candidate, rounds, isFamily ? n : starts);
  const perCycle = computeBytesPerCycle(candidate, isFamily);
  const { transferScale = 1 } = plan.pipeline[device.id] ?? {};
  const transferOf = (bytes: number): number => (hasTraffic ? 0 : (transferScale * bytes) / perCycle);
  const moved = isPadded(balancing) ? iterations * u : isEvenShare(balancing) ? iterations : elements;
  const stepTransfer = transferOf(n * moved * bytes);
  const ofUnit = isSingle ? (kernel.refill ?? kernel.unit) : kernel.unit;
  const unitBytes = (ofUnit?.bytes ?? 0) + Math.log2(u) * (kernel.combine?.bytes ?? 0);
  const shareBytes = countSearchSteps(plan.units) * (kernel.search?.bytes ?? 0) + (kernel.carry?.bytes ?? 0);
  const startTransfer = transferOf(n * mean.units * unitBytes);
  const threadTransfer = transferOf(
    (kernel.prologue?.bytes ?? 0) * Math.min(device.threadGroupWidth, n * u) +
      (isEvenShare(balancing) ? n * shareBytes : 0),
  );
  const pipeline: PipelineParameters = {
    ...plain,
    latencyCycles: iterations * step.latencyCycles + starts * start.latencyCycles + thread.latencyCycles / rounds,
    issueCycles: iterations * step.issueCycles + starts * start.issueCycles + thread.issueCycles / rounds,
  };
  const transferCycles = stepTransfer + startTransfer + threadTransfer / rounds;
  const most = Math.floor(device.limits.maxThreadGroupsPerMultiprocessor / shape.threadGroupsPerGroup);
  const tables: CycleTable[] = [];
  return {
    bytesPerIteration: bytes,
    iterations,
    starts,
    step: { ...step, transferCycles: stepTransfer / iterations },
    start: { ...start, transferCycles: startTransfer / starts },
    thread: { ...thread, transferCycles: threadTransfer },
    alone: { step: aloneCycles, start: start.latencyCycles },
    pipeline,
    transferCycles,
    most,
    // Most designs are only compared by their bounds, so tables are made on demand.
    getCycles: (schedulers) =>
      (tables[schedulers] ??= tabulateRounds(most, schedulers, (groups) =>
        cyclesWithTraffic(pipeline, transferCycles, groups * shape.threadGroupsPerGroup),
      )),
  };
}

/** The cost of an iteration divided by that of a thread with a whole unit in a nested loop. */
export function computeStepCost(candidate: GpuCandidate): number {
  const { kernel } = candidate.predictor.plan;
  const u = candidate.threadsPerUnit;
  const dealt = kernel.sharing === 'deal' && isEvenShare(candidate.balancing) ? 1 / u : 1;
  return computeStepFactor(kernel, u) * dealt + (isOneLoop(candidate) ? (kernel.flattenedCost ?? 0) : 0);
}

/**
 * Computes the demand of an iteration, its bytes per lane, and its latency if a unit is alone on a multiprocessor.
 * @param loss iterations of the group divided by the mean length
 */
function computeStep(candidate: GpuCandidate, plain: PipelineParameters, threads: number, loss: number) {
  const { predictor, device, balancing, shape, unitsPerGroup: n } = candidate;
  const { plan } = predictor;
  const { kernel } = plan;
  const hasTraffic = containsTraffic(plan, device.id);
  const active = countActiveLanes(predictor, balancing, n, loss);
  // Most reads happen after some lanes have ended, so the caches hold only the data of the active lanes.
  const taking: AccessingThreads = {
    ...shape.accessing,
    residentThreads: threads * active.ofReads,
    unitElements: isEvenShare(balancing) ? candidate.itemsPerSlot : shape.accessing.unitElements,
  };
  const cost = computeStepCost(candidate);
  const { pipeline, pipelineKernel = kernel } = plan;
  const off = compareToDerived({ pipeline, kernel: pipelineKernel }, device).latencyCycles;
  const latencyOf = (by: AccessingThreads, anyUnit: (probability: number) => number): number => {
    if (hasTraffic) return plain.latencyCycles * cost;
    const all = kernel.dependentLoadsPerIteration * device.memoryLatencyCycles;
    return (plain.latencyCycles + off * (loadLatencyCycles(device, kernel, by, anyUnit) - all)) * cost;
  };
  return {
    step: {
      latencyCycles: latencyOf(taking, (probability) => active.any(n, probability)),
      issueCycles: plain.issueCycles * cost,
    },
    bytes: bytesOfIteration(device, kernel, taking),
    aloneCycles: latencyOf({ ...taking, residentThreads: candidate.threadsPerUnit }, (probability) => probability),
  };
}

function computePhases(candidate: GpuCandidate, rounds: number, starts: number) {
  const { device, balancing } = candidate;
  const { plan } = candidate.predictor;
  const isSingle = isOneLoop(candidate);
  const phases = computePhaseDemands(plan.kernel, device, candidate.threadsPerUnit, {
    loadLatency: computeLoadLatency(candidate, rounds, starts),
    // The start of a fetched unit contains the load that waits for the counter, whose cost is in `fetch-cost.ts`.
    loadsElsewhere: balancing.kind === 'dynamic-fetch' ? 1 : 0,
    off: compareToDerived(plan, device),
  });
  // A flattened loop takes its first unit before the loop and finishes its last unit after it.
  const own = isSingle && plan.kernel.refill ? added(phases.prologue, phases.unit) : phases.prologue;
  return {
    start: isSingle ? phases.refill : phases.unit,
    thread: isEvenShare(balancing) ? added(own, times(phases.search, countSearchSteps(plan.units)), phases.carry) : own,
  };
}

/**
 * Divides the measured demand of an iteration by the derived one. A measured pipeline describes only the iterations.
 * The other phases are derived, and corrected by this ratio.
 */
function compareToDerived({ kernel, pipeline }: Pick<SweepPlan, 'kernel' | 'pipeline'>, device: GpuDevice): Demand {
  const measured = pipeline[device.id];
  if (!measured) return SAME;
  const isApart = measured.transferScale !== undefined;
  const derived = pipelineParameters(device, kernel, { spilledRegisters: 0, ...(isApart && { bytesPerIteration: 0 }) });
  return {
    latencyCycles: measured.latencyCycles / derived.latencyCycles,
    issueCycles: measured.issueCycles / derived.issueCycles,
  };
}

/** Computes the bytes that a work group moves per cycle. All its thread groups transfer their parts at once. */
function computeBytesPerCycle({ device, shape, workingBlocks }: GpuCandidate, isFamily: boolean): number {
  const evenly = (device.achievedBandwidthFraction ?? ACHIEVED_BANDWIDTH) * bytesPerMultiprocessorCycle(device);
  const busy = isFamily ? 1 : Math.min(1, workingBlocks / device.multiprocessors);
  return Math.max(evenly, Math.min(MOST_BYTES_PER_CYCLE, evenly / busy)) * shape.threadGroupsPerGroup;
}

/**
 * Computes the mean latency of the loads that start a unit, divided by the latency of device memory, 0…1. Neighbours
 * are close in memory, so their address translations are cached, and they share sectors. Groups that start together
 * wait for these sectors; later rounds find most of them fetched. Half of the bytes count as reads.
 */
function computeLoadLatency(candidate: GpuCandidate, rounds: number, starts: number): number {
  const { device, balancing } = candidate;
  const { unit, refill } = candidate.predictor.plan.kernel;
  const isSingle = isOneLoop(candidate);
  const read = ((isSingle ? (refill ?? unit) : unit)?.bytes ?? 0) / 2;
  // The neighbours of a fetched unit run on other multiprocessors, so their loads share no sectors here.
  if (read === 0 || balancing.kind === 'dynamic-fetch') return NEAR_PAGE_LATENCY;
  const sectors = (candidate.unitsPerGroup * read) / sectorBytes(device);
  const misses = Math.min(1, isSingle ? Math.max(1, sectors) / starts : sectors);
  const hits = firstLevelCacheBytes(device, 0) > 0 ? LEVEL_1_LATENCY : LEVEL_2_LATENCY;
  const later = misses * NEAR_PAGE_LATENCY + (1 - misses) * hits;
  return isSingle ? later : (NEAR_PAGE_LATENCY + (rounds - 1) * later) / rounds;
}
