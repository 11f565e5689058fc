import type { GroupFetches } from '../../domain/depth.ts';
import type { GpuDevice } from '../../domain/device.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import { cyclesPerIteration } from '../../models/pipeline/soft-saturation.ts';
import type { CycleTable } from '../time/cycles.ts';

/**
 * Additions per cycle that the whole device makes to one address: "one operation per clock" (NVIDIA, "Kepler GK110
 * architecture" whitepaper, 2012; Fermi had a ninth of it). Assumed for every device.
 */
export const ADDITIONS_PER_CYCLE = 1;

/**
 * Latency of an addition, over that of a load from device memory. The counter stays in the L2. A load that hits it
 * takes 193 of 434 cycles on a V100 and 200 of 552 on an A100 (Jia et al., 2018, arXiv:1804.06826; Abdelkhalik et al.,
 * 2022, arXiv:2208.11174), and the addition comes on top. Assumed for every device.
 */
const LATENCY_SHARE = 0.5;

/**
 * What fetching from one counter costs a launch. Cycles are those of the pipeline, divided by the launch's iteration
 * factor.
 */
export interface FetchCost {
  /** Cycles before the first iteration, when every fetcher of the device asks at once. */
  readonly startCycles: number;
  /** Iterations of a group until the units run out, each of which costs more by the following. */
  readonly iterations: number;
  /** Latency that fetching adds to an iteration. Other groups run meanwhile, as with any latency. */
  readonly latencyCycles: number;
  /** Cycles in which the counter serves one iteration of all groups of the device. */
  readonly counterCycles: number;
}

/**
 * @param groups of the device that fetch
 * @param iterationFactor time of an iteration of the launch over that of the pipeline; it does not lengthen fetches
 */
export function fetchCost(
  device: GpuDevice,
  { fetchers, iterations, events, additions }: GroupFetches,
  groups: number,
  iterationFactor: number,
): FetchCost {
  const latency = (LATENCY_SHARE * device.memoryLatencyCycles) / iterationFactor;
  const addition = 1 / (ADDITIONS_PER_CYCLE * iterationFactor);
  return {
    startCycles: Math.max(latency, fetchers * groups * addition),
    iterations,
    latencyCycles: iterations > 0 ? (events / iterations) * latency : 0,
    counterCycles: iterations > 0 ? (additions / iterations) * groups * addition : 0,
  };
}

/**
 * Cycles of an iteration of w active thread groups while there is something to fetch. The counter is one more resource,
 * and the scarcest resource sets the throughput.
 */
function fetchingCyclesAt(pipeline: PipelineParameters, cost: FetchCost, groups: number): number {
  const turns = pipeline.schedulers * Math.ceil(groups / pipeline.schedulers);
  return cyclesPerIteration(
    {
      ...pipeline,
      latencyCycles: pipeline.latencyCycles + cost.latencyCycles,
      issueCycles: Math.max(pipeline.issueCycles, cost.counterCycles / turns),
    },
    groups,
  );
}

/**
 * `fetchingCyclesAt` for 0 … `maxGroups` work groups of `threadGroupsPerGroup` thread groups each, for the simulator.
 */
export function fetchingTable(
  pipeline: PipelineParameters,
  cost: FetchCost,
  maxGroups: number,
  threadGroupsPerGroup: number,
): CycleTable {
  return Float64Array.from({ length: maxGroups + 1 }, (_, groups) =>
    fetchingCyclesAt(pipeline, cost, threadGroupsPerGroup * Math.max(1, groups)),
  );
}

/**
 * Cycles that fetching adds to a launch whose groups are all active until the units run out. The last fetch of each
 * fetcher finds nothing and is not counted, because others still run.
 * @param groups thread groups of a multiprocessor, on average
 */
export function fetchCycles(pipeline: PipelineParameters, cost: FetchCost, groups: number): number {
  const below = Math.max(1, Math.floor(groups));
  const slower = (w: number): number => fetchingCyclesAt(pipeline, cost, w) - cyclesPerIteration(pipeline, w);
  const each = slower(below);
  const mixed = groups > below ? each + (groups - below) * (slower(below + 1) - each) : each;
  return cost.startCycles + cost.iterations * mixed;
}
