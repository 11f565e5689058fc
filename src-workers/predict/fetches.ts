import {
  ADDITIONS_PER_CYCLE,
  computeFetchCost,
  computeFetchCycles,
  computePhaseCycles,
  makeFetchingTable,
  mergesAdditions,
  type FetchCost,
} from './cost/fetch-cost.ts';
import { getPace } from './cost/pace.ts';
import { getSharedByCaps } from './depths.ts';
import { countUnitsPerFetch, type GpuCandidate } from './design/candidate.ts';
import { computeIterationFactor } from './launch-costs.ts';
import type { SharedByCaps } from './tables.ts';
import type { CycleTable } from './time/cycles.ts';

function getFetchCost(candidate: GpuCandidate, { depths: { means, scale } }: SharedByCaps): FetchCost | null {
  if (!means.fetches) return null;
  const { workingBlocks, shape, device } = candidate;
  const factor = computeIterationFactor(candidate);
  const cost = computeFetchCost(device, means.fetches, workingBlocks * shape.groupsPerBlock, factor);
  return { ...cost, fetching: { ...cost.fetching, iterations: cost.fetching.iterations * scale } };
}

export function computeFetchingCycles(candidate: GpuCandidate): number {
  return candidate.balancing.kind === 'dynamic-fetch' ? getFetchingCycles(candidate, getSharedByCaps(candidate)) : 0;
}

export function getFetchingCycles(candidate: GpuCandidate, shared: SharedByCaps): number {
  const cost = getFetchCost(candidate, shared);
  return cost ? computeFetchCycles(getPace(candidate).pipeline, cost, countFetchingGroups(candidate)) : 0;
}

/** The fewest cycles in which the counter serves all fetches of a launch, for any grid; 0 if nothing is fetched. */
export function computeCounterCycles({ predictor, balancing, device, unitsPerGroup }: GpuCandidate): number {
  if (balancing.kind !== 'dynamic-fetch') return 0;
  const unitsAtOnce = balancing.fetch === 'group' ? unitsPerGroup : countUnitsPerFetch(balancing);
  const lanes = balancing.fetch !== 'group' && mergesAdditions(device) ? unitsPerGroup : 1;
  return predictor.plan.units / unitsAtOnce / lanes / ADDITIONS_PER_CYCLE;
}

function countFetchingGroups({ workingBlocks, shape, device }: GpuCandidate): number {
  const threadGroups = workingBlocks * shape.groupsPerBlock * shape.threadGroupsPerGroup;
  return threadGroups / Math.min(device.multiprocessors, workingBlocks);
}

/** Cycles of a fetching launch: before its first iteration, per iteration while units are left, and of last fetches. */
export interface SimulatedFetches {
  readonly startCycles: number;
  readonly cyclesPerIteration: CycleTable;
  readonly lastCycles: number;
}

export function playFetches(candidate: GpuCandidate): SimulatedFetches | null {
  const cost = getFetchCost(candidate, getSharedByCaps(candidate));
  if (!cost) return null;
  const { pipeline, getCycles } = getPace(candidate);
  return {
    startCycles: cost.startCycles,
    cyclesPerIteration: makeFetchingTable(pipeline, cost, getCycles().length - 1, candidate.shape.threadGroupsPerGroup),
    lastCycles: computePhaseCycles(pipeline, cost.last, countFetchingGroups(candidate)),
  };
}
