import type { GroupFetches } from '../../domain/depth.ts';
import type { GpuDevice } from '../../domain/device.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import { cyclesPerIteration } from '../../models/pipeline/soft-saturation.ts';
import type { CycleTable } from '../time/cycles.ts';

/** Atomic additions to one address per cycle of a device, measured on an H100 (test/data/measured), assumed for all. */
export const ADDITIONS_PER_CYCLE = 0.68;

/** nvcc, and LLVM for AMD devices, merge the additions of a thread group's lanes (one ATOMG on sm_90). */
export const mergesAdditions = ({ vendor }: Pick<GpuDevice, 'vendor'>): boolean =>
  vendor === 'nvidia' || vendor === 'amd';

/**
 * The latency of an atomic addition divided by that of a load from device memory. The counter stays in the L2 cache
 * (Jia et al., 2018, arXiv:1804.06826; Abdelkhalik et al., 2022, arXiv:2208.11174). Assumed for every device.
 */
const LATENCY_SHARE = 0.5;

/** The cost of fetching. Its cycles times `computeIterationFactor` are cycles of the launch. */
export interface FetchCost {
  /** Cycles before the first iteration, when all fetchers of the device access the counter at once. */
  readonly startCycles: number;
  /** The phase until the units run out. In the phase `last`, every fetcher finds once that no unit is left. */
  readonly fetching: FetchingPhase;
  readonly last: FetchingPhase;
}

export interface FetchingPhase {
  readonly iterations: number;
  /** Latency that fetching adds to an iteration. Other groups run in the meantime, as with any latency. */
  readonly latencyCycles: number;
  /** Cycles that the counter needs to serve one iteration of all groups of the device. */
  readonly counterCycles: number;
}

/** @param iterationFactor multiplies all cycles afterwards, so the cycles of fetching are first divided by it */
export function computeFetchCost(
  device: GpuDevice,
  { fetchers, iterations, events, additions, last }: GroupFetches,
  groups: number,
  iterationFactor: number,
): FetchCost {
  const latency = (LATENCY_SHARE * device.memoryLatencyCycles) / iterationFactor;
  const addition = 1 / (ADDITIONS_PER_CYCLE * iterationFactor);
  const isOne = mergesAdditions(device);
  const makePhase = (iterations: number, events: number, additions: number): FetchingPhase => ({
    iterations,
    latencyCycles: iterations > 0 ? (events / iterations) * latency : 0,
    counterCycles: iterations > 0 ? ((isOne ? events : additions) / iterations) * groups * addition : 0,
  });
  return {
    startCycles: Math.max(latency, (isOne ? 1 : fetchers) * groups * addition),
    fetching: makePhase(iterations, events, additions),
    last: makePhase(last.iterations, last.events, fetchers),
  };
}

/** Cycles of an iteration. The fetch counter may limit the throughput, like any other resource. */
function computeFetchingCycles(pipeline: PipelineParameters, phase: FetchingPhase, groups: number): number {
  const turns = pipeline.schedulers * Math.ceil(groups / pipeline.schedulers);
  return cyclesPerIteration(
    {
      ...pipeline,
      latencyCycles: pipeline.latencyCycles + phase.latencyCycles,
      issueCycles: Math.max(pipeline.issueCycles, phase.counterCycles / turns),
    },
    groups,
  );
}

export function makeFetchingTable(
  pipeline: PipelineParameters,
  { fetching }: FetchCost,
  maxGroups: number,
  threadGroupsPerGroup: number,
): CycleTable {
  return Float64Array.from({ length: maxGroups + 1 }, (_, groups) =>
    computeFetchingCycles(pipeline, fetching, threadGroupsPerGroup * Math.max(1, groups)),
  );
}

/** Computes the cycles of fetching if a mean of `groups` groups per multiprocessor stays active to the end. */
export function computeFetchCycles(pipeline: PipelineParameters, cost: FetchCost, groups: number): number {
  const { startCycles, fetching, last } = cost;
  return startCycles + computePhaseCycles(pipeline, fetching, groups) + computePhaseCycles(pipeline, last, groups);
}

export function computePhaseCycles(pipeline: PipelineParameters, phase: FetchingPhase, groups: number): number {
  const below = Math.max(1, Math.floor(groups));
  const slower = (w: number): number => computeFetchingCycles(pipeline, phase, w) - cyclesPerIteration(pipeline, w);
  const each = slower(below);
  return phase.iterations * (groups > below ? each + (groups - below) * (slower(below + 1) - each) : each);
}
