import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, MeasuredPipeline, Phase, PipelineParameters } from '../../domain/kernel.ts';
import { bytesOfIteration } from '../memory/accesses.ts';
import { mixedLanes } from './instruction-classes.ts';

/** Cycles of a shuffle, or of a load from shared memory. Assumed: NVIDIA GPUs take twenty to thirty. */
export const EXCHANGE_LATENCY_CYCLES = 25;

export interface PipelineOptions {
  readonly spilledRegisters: number;
  /** Traffic of one lane per iteration, bytes; by default the kernel's, with one thread per unit. */
  readonly bytesPerIteration?: number;
}

/**
 * Derives the soft-saturation parameters of a kernel on a device from public figures. A calibration replaces them.
 *
 * 1. Instructions of one iteration: I = instructionsPerIteration + spilledRegisters · spillInstructionsPerRegister.
 * 2. Issue: a thread-group instruction occupies ω of the SM's FP32 lanes, so an iteration of one thread group takes
 *   I·ω/lanes cycles of the SM. Instructions of other classes have their own lanes, if the profile gives their shares
 *   (`instruction-classes.ts`); otherwise every instruction counts at the FP32 rate.
 * 3. Bandwidth: the same iteration moves ω times the bytes of a lane (`bytesOfIteration`), at one SM's share, bandwidth
 *   / (SMs · clock) bytes per cycle. c is the larger of 2 and 3, since the scarcer resource sets the throughput.
 * 4. Latency floor: τ = chain·dependentIssueLatency + exchanges·exchangeLatency + dependentLoads·memoryLatency, for the
 *   longest chain of an iteration executed alone. Without a stated chain, all instructions are on it.
 * 5. q is the number of schedulers of the SM, and p is the softness of the kernel's knee.
 *
 * @returns τ and c in cycles at `device.clockMhz`
 */
export function pipelineParameters(
  device: GpuDevice,
  kernel: KernelProfile,
  options: PipelineOptions,
): PipelineParameters {
  const width = device.threadGroupWidth;
  const spills = options.spilledRegisters * kernel.spillInstructionsPerRegister;
  const instructions = kernel.instructionsPerIteration + spills;
  const issueCycles = (instructions * width) / mixedLanes(device, kernel);
  const bytes = options.bytesPerIteration ?? bytesOfIteration(device, kernel);
  return {
    latencyCycles: chainCycles(
      device,
      (kernel.chainInstructions ?? kernel.instructionsPerIteration) + spills,
      kernel.dependentExchanges ?? 0,
      kernel.dependentLoadsPerIteration,
    ),
    issueCycles: Math.max(issueCycles, bandwidthCycles(device, bytes)),
    kneeSoftness: kernel.kneeSoftness,
    schedulers: device.schedulersPerMultiprocessor,
  };
}

function chainCycles(device: GpuDevice, instructions: number, exchanges: number, loads: number): number {
  return (
    instructions * device.dependentIssueLatencyCycles +
    exchanges * EXCHANGE_LATENCY_CYCLES +
    loads * device.memoryLatencyCycles
  );
}

/** Cycles that a thread group needs for a piece of code: the latency if it runs alone, and its time of issue. */
export interface Demand {
  readonly latencyCycles: number;
  readonly issueCycles: number;
}

export function phaseDemand(device: GpuDevice, phase: Phase | undefined): Demand {
  if (!phase) return { latencyCycles: 0, issueCycles: 0 };
  const { instructions, integerShare = 0, fp64Share = 0, specialShare = 0 } = phase;
  const { chainInstructions = instructions, dependentExchanges = 0, dependentLoads = 0 } = phase;
  return {
    latencyCycles: chainCycles(device, chainInstructions, dependentExchanges, dependentLoads),
    issueCycles:
      (instructions * device.threadGroupWidth) / mixedLanes(device, { integerShare, fp64Share, specialShare }),
  };
}

/** Cycles in which the share of one multiprocessor of the peak bandwidth moves the bytes of a thread group. */
export function bandwidthCycles(device: GpuDevice, bytesOfLane: number): number {
  return (bytesOfLane * device.threadGroupWidth) / bytesPerMultiprocessorCycle(device);
}

/** Issue cycles with the traffic of one thread per unit, as in derived parameters, whether or not measured ones have it. */
export function issueWithTraffic(
  device: GpuDevice,
  kernel: KernelProfile,
  { issueCycles, transferScale = 0 }: Pick<MeasuredPipeline, 'issueCycles' | 'transferScale'>,
): number {
  return Math.max(issueCycles, transferScale * bandwidthCycles(device, bytesOfIteration(device, kernel)));
}

export function bytesPerMultiprocessorCycle(device: GpuDevice): number {
  return (device.memoryBandwidthGbS * 1e9) / (device.multiprocessors * device.clockMhz * 1e6);
}
