import { isEvenShare, isPadded, type LockstepBalancing } from '../../domain/design.ts';
import { NEAR_PAGE_LATENCY, type GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, PipelineParameters } from '../../domain/kernel.ts';
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
import { ACHIEVED_BANDWIDTH } from '../constants.ts';
import { countSearchSteps } from '../dealing/even-share.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { preparePipeline } from '../predictor.ts';
import type { RoundCost } from '../tables.ts';
import { tabulateRounds, type CycleTable } from '../time/cycles.ts';
import { countActiveLanes } from './active-lanes.ts';
import { getMeanRound, isOneLoop } from './mean-round.ts';
import { added, computePhaseDemands, computeStepFactor, times } from './phases.ts';

/** Most bytes that one multiprocessor receives per cycle. Assumed: the width of its port to the level-2 cache. */
const MOST_BYTES_PER_CYCLE = 64;

/**
 * Computes what a mean round needs, whatever the number of active groups.
 * @param rounds units of a slot
 * @param threads threads that share the caches of a multiprocessor
 * @param isFamily whether the candidate stands for all launches of a family, which get a lower bound
 */
export function makeRoundCost(candidate: GpuCandidate, rounds: number, threads: number, isFamily: boolean): RoundCost {
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
  const loss = isFamily && isSingle ? Infinity : iterations / predictor.meanLength;
  const active = countActiveLanes(predictor, balancing, lanes, loss);
  // Most reads happen after some lanes have ended, so the caches hold only the data of the active lanes.
  const run = isEvenShare(balancing) ? candidate.itemsPerSlot : shape.accessing.unitElements;
  const taking = { ...shape.accessing, residentThreads: threads * active.ofReads, unitElements: run };
  const bytes = measured ? 0 : bytesOfIteration(device, kernel, taking);
  const latencyOf = (by: AccessingThreads, anyUnit: (probability: number) => number): number => {
    const all = kernel.dependentLoadsPerIteration * device.memoryLatencyCycles;
    return (step.latencyCycles + (measured ? 0 : loadLatencyCycles(device, kernel, by, anyUnit) - all)) * cost;
  };
  const own: Demand = {
    latencyCycles: latencyOf(taking, (probability) => active.any(lanes, probability)),
    issueCycles: step.issueCycles * cost,
  };
  // A measured pipeline describes only the iterations. The other phases are derived, and corrected by the ratio of the
  // measured to the derived values of the iterations.
  const derived = measured ? pipelineParameters(device, kernel, { spilledRegisters: 0 }) : step;
  const off: Demand = {
    latencyCycles: measured ? plan.pipeline[device.id].latencyCycles / derived.latencyCycles : 1,
    issueCycles: measured ? plan.pipeline[device.id].issueCycles / derived.issueCycles : 1,
  };
  const phases = computePhaseDemands(kernel, device, u, {
    loadLatency: computeLoadLatency(kernel, device, isSingle, balancing, lanes, isFamily ? lanes : starts, rounds),
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
  const evenly = achieved * bytesPerMultiprocessorCycle(device);
  const busy = isFamily ? 1 : Math.min(1, candidate.workingBlocks / device.multiprocessors);
  const perCycle = Math.max(evenly, Math.min(MOST_BYTES_PER_CYCLE, evenly / busy)) * threadGroupsPerGroup;
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
  const tables: CycleTable[] = [];
  return {
    iterations,
    starts,
    step: { ...own, transferCycles: stepBytes / iterations },
    start: { ...perStart, transferCycles: unitBytes / starts },
    thread: { ...share, transferCycles: threadBytes },
    alone: {
      step: latencyOf({ ...taking, residentThreads: u }, (probability) => probability),
      start: perStart.latencyCycles,
    },
    pipeline,
    transferCycles: transfer,
    most,
    // Most designs are only compared by their bounds, so tables are made on demand.
    getCycles: (schedulers) =>
      (tables[schedulers] ??= tabulateRounds(most, schedulers, (groups) =>
        cyclesWithTraffic(pipeline, transfer, groups * threadGroupsPerGroup),
      )),
  };
}

/**
 * Computes the mean latency of the loads that start a unit, divided by the latency of device memory, 0…1. Neighbours
 * are close in memory, so their pages are known, and they share sectors: groups that start together wait for these
 * sectors, and later rounds find most of them fetched. Half of the bytes count as reads.
 */
function computeLoadLatency(
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
  if (read === 0 || balancing.kind === 'dynamic-fetch') return NEAR_PAGE_LATENCY;
  const sectors = (lanes * read) / sectorBytes(device);
  const misses = Math.min(1, isSingle ? Math.max(1, sectors) / starts : sectors);
  const hits = firstLevelCacheBytes(device, 0) > 0 ? LEVEL_1_LATENCY : LEVEL_2_LATENCY;
  const later = misses * NEAR_PAGE_LATENCY + (1 - misses) * hits;
  return isSingle ? later : (NEAR_PAGE_LATENCY + (rounds - 1) * later) / rounds;
}
