import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile, Phase, PipelineParameters } from '../../domain/kernel.ts';
import { bytesOfIteration } from '../memory/accesses.ts';
import { mixedLanes } from './instruction-classes.ts';

/**
 * Cycles before the result of a shuffle, or of a load from shared memory, can be used. Assumed for every device:
 * microbenchmarks of NVIDIA GPUs find some twenty to thirty.
 */
const EXCHANGE_LATENCY_CYCLES = 25;

export interface PipelineOptions {
  /** Registers per thread that the compiler must spill because of a register cap, ≥ 0. */
  readonly spilledRegisters: number;
  /** Traffic of one lane per iteration, bytes; by default that of the kernel with one thread per unit. */
  readonly bytesPerIteration?: number;
}

/**
 * Soft-saturation parameters of a kernel on a device, from public figures alone. A calibration replaces them.
 *
 * 1. Instructions of one iteration: I = instructionsPerIteration + spilledRegisters · spillInstructionsPerRegister.
 * 2. Issue: a thread-group instruction occupies ω lanes' worth of the SM's FP32 lanes, so an iteration of one thread
 * group costs I·ω/lanes cycles of the SM. Instructions of other classes have lanes of their own, as far as the profile
 * gives their shares (`instruction-classes.ts`); without them every instruction counts as one that runs at the FP32
 * rate.
 * 3. Bandwidth: the same iteration moves bytes·ω bytes (`bytesOfIteration`), of which one SM gets its even share,
 * bandwidth / (SMs · clock) bytes per cycle. c is the larger of 2 and 3: the resource that runs out first sets the
 * throughput.
 * 4. Latency floor: τ = chain·dependentIssueLatency + exchanges·exchangeLatency + dependentLoads·memoryLatency, the
 * longest chain of an iteration executed alone. A profile that does not say its chain has all instructions on it.
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
  const spills = options.spilledRegisters * kernel.spillInstructionsPerRegister;
  const instructions = kernel.instructionsPerIteration + spills;
  const issueCycles = (instructions * width) / mixedLanes(device, kernel);
  const bytes = options.bytesPerIteration ?? bytesOfIteration(device, kernel);
  const bandwidthCycles = (bytes * width) / bytesPerMultiprocessorCycle(device);
  return {
    latencyCycles: chainCycles(
      device,
      (kernel.chainInstructions ?? kernel.instructionsPerIteration) + spills,
      kernel.dependentExchanges ?? 0,
      kernel.dependentLoadsPerIteration,
    ),
    issueCycles: Math.max(issueCycles, bandwidthCycles),
    kneeSoftness: kernel.kneeSoftness,
    schedulers: device.schedulersPerMultiprocessor,
  };
}

/** Latency, cycles, of a chain of dependent instructions, exchanges and loads. */
function chainCycles(device: GpuDevice, instructions: number, exchanges: number, loads: number): number {
  return (
    instructions * device.dependentIssueLatencyCycles +
    exchanges * EXCHANGE_LATENCY_CYCLES +
    loads * device.memoryLatencyCycles
  );
}

/**
 * What one thread group needs to execute something, in cycles: latency when it is alone, and issue of the
 * multiprocessor.
 */
export interface Demand {
  readonly latencyCycles: number;
  readonly issueCycles: number;
}

/** Demand of a phase of a kernel; none if it has no such phase. */
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

/** One multiprocessor's even share of the device-memory bandwidth, bytes per cycle. */
export function bytesPerMultiprocessorCycle(device: GpuDevice): number {
  return (device.memoryBandwidthGbS * 1e9) / (device.multiprocessors * device.clockMhz * 1e6);
}
