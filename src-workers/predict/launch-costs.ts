import { isEvenShare, isLockstep, isPadded } from '../domain/design.ts';
import type { GpuDevice } from '../domain/device.ts';
import { deviceStack, stackCycles } from '../models/divergence/costs.ts';
import { expectedDivergence } from '../models/divergence/expected.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { moments } from '../models/workload/laws.ts';
import { getOrMake } from '../numeric/kept.ts';
import { LAUNCH_FLOOR_MS } from './constants.ts';
import { computeBalancingCost, computeBalancingMilliseconds, PASS_OVERHEAD_MS } from './cost/balancing-cost.ts';
import { getPace } from './cost/pace.ts';
import { computePhaseDemands, computeStepFactor } from './cost/phases.ts';
import { countSliceUnits } from './depth/padded.ts';
import type { Candidate, GpuCandidate } from './design/candidate.ts';
import { preparePipeline } from './predictor.ts';

/** Assumed cycles between two block starts on an NVIDIA device: as measured on an H100 (test/data/measured). */
const BLOCK_START_CYCLES = 1.2;

/** Assumed fill of an AMD device: median of the 16 fits to the SpMV times of three AMD GPUs (db/evidence). */
export const AMD_FILL_MICROSECONDS = 5.7;

/** The time in which a device starts all blocks, ms; 0 if the rate is unknown. */
export function computeBlockStartsMs({ device, gridBlocks }: GpuCandidate): number {
  const assumed = device.vendor === 'nvidia' ? (BLOCK_START_CYCLES * 1e3) / device.clockMhz : 0;
  return gridBlocks * (device.blockStartNanoseconds ?? assumed) * 1e-6;
}

/**
 * The time by which a launch of so many blocks takes longer to start than one of few blocks, ms. It grows until every
 * multiprocessor has a block (db/devices/README.md).
 */
export function computeFillMs({ fillMicroseconds, vendor, multiprocessors }: GpuDevice, gridBlocks: number): number {
  const assumed = vendor === 'amd' ? AMD_FILL_MICROSECONDS : 0;
  return (fillMicroseconds ?? assumed) * 1e-3 * Math.min(1, gridBlocks / multiprocessors);
}

/** Returns the shortest time of a launch, ms; 0 if the launch time of the device is known and added separately. */
export function computeLaunchFloorMs({ launchMicroseconds }: GpuDevice): number {
  return launchMicroseconds === undefined ? LAUNCH_FLOOR_MS : 0;
}

export function shortestLaunchMs({ launchMicroseconds }: GpuDevice): number {
  return launchMicroseconds === undefined ? LAUNCH_FLOOR_MS : launchMicroseconds * 1e-3;
}

/** Returns the factor from the cycle table to the launch, with its other phases and the reconvergence stack. */
export function computeIterationFactor(candidate: GpuCandidate): number {
  return getPace(candidate).iterationFactor * computeStackFactor(candidate);
}

/**
 * Computes the factor ≥ 1 by which the reconvergence stack lengthens the life of a work group (`deviceStack`). While
 * the stack is pushed or popped, other groups may run, so the cycles count as latency of its iterations.
 */
export function computeStackFactor(candidate: GpuCandidate): number {
  const { balancing, device, deviceAt, unitsPerGroup, threadsPerUnit } = candidate;
  const { plan, stackFactors } = candidate.predictor;
  // Lanes that run equally long leave the loop together, so the stack stays empty.
  if (isEvenShare(balancing)) return 1;
  if (isPadded(balancing) && countSliceUnits(balancing, plan.units) >= unitsPerGroup) return 1;
  const key = deviceAt * 128 + unitsPerGroup;
  return getOrMake(stackFactors, key, () => {
    const { costs } = deviceStack(device);
    if (costs === null) return 1;
    const { law, kernel } = plan;
    const cycles = stackCycles(costs, expectedDivergence(law, unitsPerGroup));
    const [loss] = lossMoments(law, [unitsPerGroup]);
    const { unit } = computePhaseDemands(kernel, device, threadsPerUnit);
    const step = computeStepFactor(kernel, threadsPerUnit) * preparePipeline(plan, device, null, 0).latencyCycles;
    const latency = moments(law).mean * loss.aggregateLoss * step + unit.latencyCycles;
    return latency > 0 ? 1 + cycles / latency : 1;
  });
}

/**
 * Time of balancing, of starting the launches and of filling the device, ms; 0 on a CPU. Launches that follow one
 * another fill the device once. The launches of a mixed design have none of this, since the design has it.
 */
export function computeBalancingMs({ predictor, device, balancing, classes, gridBlocks }: Candidate): number {
  if (device.kind === 'cpu' || !(isLockstep(balancing) || balancing.kind === 'mixed') || predictor.isClass) return 0;
  const { units, kernel } = predictor.plan;
  const furtherMs = classes ? (classes.length - 1) * PASS_OVERHEAD_MS : 0;
  const startMs = (device.launchMicroseconds ?? 0) * 1e-3;
  const blocks = classes ? Math.max(...classes.map(({ candidate }) => candidate.gridBlocks)) : gridBlocks;
  const orderMs = computeBalancingMilliseconds(device, computeBalancingCost(balancing, units, kernel));
  return orderMs + furtherMs + startMs + computeFillMs(device, blocks);
}
