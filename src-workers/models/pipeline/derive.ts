import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, PipelineParameters } from '../../domain/kernel.ts';
import { bytesOfIteration } from '../memory/accesses.ts';
import { mixedLanes } from './instruction-classes.ts';

export interface PipelineOptions {
  /** Registers per thread the compiler has to spill because of a register cap, ≥ 0. */
  readonly spilledRegisters: number;
  /** Traffic of one lane per iteration, bytes. Left out: that of the kernel with one thread per unit. */
  readonly bytesPerIteration?: number;
}

/**
 * Soft-saturation parameters of a kernel on a device, from public figures alone. A calibration replaces them.
 *
 * 1. Instructions of one iteration: I = instructionsPerIteration + spilledRegisters · spillInstructionsPerRegister.
 * 2. Issue: a thread-group instruction occupies ω lanes' worth of the SM's FP32 lanes, so an iteration of one thread
 *    group costs I·ω/lanes cycles of the SM. Instructions of other classes have lanes of their own, as far as the profile gives
 *    their shares (`instruction-classes.ts`); without them every instruction counts as one that runs at the FP32 rate.
 * 3. Bandwidth: the same iteration moves bytes·ω bytes (`bytesOfIteration`), of which one SM gets its even share, bandwidth /
 *    (SMs · clock) bytes per cycle. c is the larger of 2 and 3: the resource that runs out first sets the throughput.
 * 4. Latency floor: τ = I·dependentIssueLatency + dependentLoads·memoryLatency, an iteration executed alone, each
 *    instruction waiting for the one before. That is no instruction-level parallelism at all: a kernel with ILP e has
 *    τ/e for its arithmetic part, which a profile states by counting only the instructions of its critical path, or a
 *    calibration finds.
 * 5. q: the schedulers of the SM; p: the kernel's.
 *
 * @returns τ and c in cycles at `device.clockMhz`
 */
export function pipelineParameters(
  device: GpuDevice,
  kernel: KernelProfile,
  options: PipelineOptions,
): PipelineParameters {
  const width = device.threadGroupWidth;
  const instructions = kernel.instructionsPerIteration + options.spilledRegisters * kernel.spillInstructionsPerRegister;
  const issueCycles = (instructions * width) / mixedLanes(device, kernel);
  const bytes = options.bytesPerIteration ?? bytesOfIteration(device, kernel);
  const bandwidthCycles = (bytes * width) / bytesPerMultiprocessorCycle(device);
  return {
    latencyCycles:
      instructions * device.dependentIssueLatencyCycles +
      kernel.dependentLoadsPerIteration * device.memoryLatencyCycles,
    issueCycles: Math.max(issueCycles, bandwidthCycles),
    kneeSoftness: kernel.kneeSoftness,
    schedulers: device.schedulersPerMultiprocessor,
  };
}

/** One multiprocessor's even share of the device-memory bandwidth, bytes per cycle. */
export function bytesPerMultiprocessorCycle(device: GpuDevice): number {
  return (device.memoryBandwidthGbS * 1e9) / (device.multiprocessors * device.clockMhz * 1e6);
}
