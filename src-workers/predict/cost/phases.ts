import { NEAR_PAGE_LATENCY, type GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, Phase } from '../../domain/kernel.ts';
import { kernelPhase } from '../../domain/provenance.ts';
import { costFactor } from '../../models/granularity/granularity.ts';
import { phaseDemand as derivedDemand, type Demand } from '../../models/pipeline/derive.ts';

/**
 * The work that combines the results of the thread groups that share a unit: a store to shared memory, a barrier, a
 * load and a second barrier, with the addresses. Counted by hand, and assumed for every kernel.
 */
const WIDE_COMBINE: Phase = { instructions: 15, dependentExchanges: 4 };

/** The time of an iteration of a lane that shares its unit, divided by that of a thread with a whole unit. */
export function computeStepFactor(
  { sharing, serialFraction, cooperationCost }: KernelProfile,
  threadsPerUnit: number,
): number {
  return sharing === 'deal' ? 1 : costFactor(threadsPerUnit, serialFraction, cooperationCost);
}

export const added = (...demands: readonly Demand[]): Demand => ({
  latencyCycles: demands.reduce((sum, { latencyCycles }) => sum + latencyCycles, 0),
  issueCycles: demands.reduce((sum, { issueCycles }) => sum + issueCycles, 0),
});
export const times = ({ latencyCycles, issueCycles }: Demand, count: number): Demand => ({
  latencyCycles: latencyCycles * count,
  issueCycles: issueCycles * count,
});

interface Circumstances {
  /** Mean latency of the loads that start a unit, divided by the latency of device memory, 0…1. */
  readonly loadLatency?: number;
  readonly loadsElsewhere?: number;
  /** The measured demand of an iteration divided by the demand derived from the data sheet. */
  readonly off?: Demand;
}
export const SAME: Demand = { latencyCycles: 1, issueCycles: 1 };

export function computePhaseDemands(
  kernel: KernelProfile,
  device: GpuDevice,
  threadsPerUnit: number,
  { loadLatency = NEAR_PAGE_LATENCY, loadsElsewhere = 0, off = SAME }: Circumstances = {},
) {
  const phaseDemand = (phase: Phase | undefined, share = 1): Demand => {
    const dependentLoads = Math.max(0, (phase?.dependentLoads ?? 0) - loadsElsewhere) * share;
    const { latencyCycles, issueCycles } = derivedDemand(device, phase && { ...phase, dependentLoads });
    return { latencyCycles: latencyCycles * off.latencyCycles, issueCycles: issueCycles * off.issueCycles };
  };
  const combine = times(phaseDemand(kernelPhase(kernel, 'combine')), Math.log2(threadsPerUnit));
  const wide = phaseDemand(threadsPerUnit > device.threadGroupWidth ? WIDE_COMBINE : undefined);
  const unit = added(phaseDemand(kernel.unit, loadLatency), combine, wide);
  return {
    prologue: phaseDemand(kernel.prologue),
    unit,
    /** Without a refill phase, changing to the next unit costs as much as starting and ending one. */
    refill: kernel.refill ? added(phaseDemand(kernel.refill, loadLatency), combine, wide) : unit,
    search: phaseDemand(kernelPhase(kernel, 'search')),
    carry: phaseDemand(kernelPhase(kernel, 'carry')),
  };
}
