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

/** The time in which a device starts all blocks, ms; 0 if the rate is unknown. */
export function computeBlockStartsMs({ device, gridBlocks }: GpuCandidate): number {
  const assumed = device.vendor === 'nvidia' ? (BLOCK_START_CYCLES * 1e3) / device.clockMhz : 0;
  return gridBlocks * (device.blockStartNanoseconds ?? assumed) * 1e-6;
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

/** Time of balancing, of the starts of further launches and, if known, of the first one's start, ms; 0 on a CPU. */
export function computeBalancingMs({ predictor, device, balancing, classes }: Candidate): number {
  if (device.kind === 'cpu' || !(isLockstep(balancing) || balancing.kind === 'mixed')) return 0;
  const { units, kernel } = predictor.plan;
  const furtherMs = classes ? (classes.length - 1) * PASS_OVERHEAD_MS : 0;
  const startMs = (device.launchMicroseconds ?? 0) * 1e-3;
  return computeBalancingMilliseconds(device, computeBalancingCost(balancing, units, kernel)) + furtherMs + startMs;
}
