import type { GpuDevice } from '../../domain/device.ts';
import type { KernelProfile } from '../../domain/kernel.ts';
import { unwrap } from '../../domain/result.ts';
import { amdOccupancyRules } from '../occupancy/amd.ts';
import { APPLE_REGISTER_GRANULE } from '../occupancy/apple.ts';
import { intelOccupancyRules } from '../occupancy/intel.ts';
import { nvidiaOccupancyRules } from '../occupancy/nvidia.ts';
import { bytesPerMultiprocessorCycle } from './derive.ts';
import type { KimDevice, KimFunctionalUnit, KimLaunch, KimRegisterFile } from './kim.ts';

/**
 * Describes a device of the catalogue in the terms of Kim's poster, for one kernel.
 *
 * One functional unit does all arithmetic. Every instruction takes the arithmetic latency, and the width is the number
 * of thread groups that hide it (latency × lanes/ω). Device memory is another such unit, with a width by its bandwidth.
 * Both units serve a whole multiprocessor, so there is one partition. The poster's formula leaves out some limits, so
 * N_slot is at least the `residentBlocks`.
 */
export function kimDevice(device: GpuDevice, kernel: KernelProfile): KimDevice {
  const { limits, threadGroupWidth } = device;
  const { granularity, sharedMemoryGranularityBytes, reservedBytes, scalarFile } = allocation(device);
  const registers: KimRegisterFile = {
    maxPerThread: limits.maxRegistersPerThread,
    maxPerBlock: limits.maxRegistersPerBlock / threadGroupWidth,
    registers: limits.registersPerMultiprocessor / threadGroupWidth,
    granularity,
  };
  return {
    threadGroupWidth,
    multiprocessors: device.multiprocessors,
    maxThreadsPerBlock: limits.maxThreadsPerBlock,
    maxThreadsPerGrid: limits.maxGridBlocks * limits.maxThreadsPerBlock,
    maxSharedMemoryBytesPerBlock: limits.maxSharedMemoryBytesPerBlock + reservedBytes,
    blockSlots: limits.maxBlocksPerMultiprocessor,
    threadGroupSlots: limits.maxThreadGroupsPerMultiprocessor,
    sharedMemoryBytes: limits.sharedMemoryBytesPerMultiprocessor,
    sharedMemoryGranularityBytes,
    registerFiles: scalarFile ? [registers, scalarFile] : [registers],
    partitions: 1,
    functionalUnits: [arithmetic(device, kernel), ...memory(device, kernel)],
  };
}

export function kimLaunch(
  device: GpuDevice,
  kernel: KernelProfile,
  blockThreads: number,
  gridBlocks: number,
  scalarRegistersPerThreadGroup = 0,
): KimLaunch {
  const { reservedBytes, scalarFile } = allocation(device);
  return {
    threadsPerBlock: blockThreads,
    gridBlocks,
    sharedMemoryBytesPerBlock: kernel.sharedMemoryBytesPerBlock + reservedBytes,
    registersPerThread: scalarFile
      ? [kernel.registersPerThread, scalarRegistersPerThreadGroup]
      : [kernel.registersPerThread],
  };
}

function arithmetic(device: GpuDevice, kernel: KernelProfile): KimFunctionalUnit {
  const latency = device.dependentIssueLatencyCycles;
  return {
    name: 'arithmetic',
    latencyCycles: kernel.instructionsPerIteration * latency,
    count: 1,
    widthThreadGroups: (latency * device.fp32LanesPerMultiprocessor) / device.threadGroupWidth,
  };
}

function memory(device: GpuDevice, kernel: KernelProfile): KimFunctionalUnit[] {
  const latencyCycles = kernel.dependentLoadsPerIteration * device.memoryLatencyCycles;
  const bytes = kernel.bytesPerIteration * device.threadGroupWidth;
  if (latencyCycles === 0 || bytes === 0) return [];
  const widthThreadGroups = (latencyCycles * bytesPerMultiprocessorCycle(device)) / bytes;
  return [{ name: 'device memory', latencyCycles, count: 1, widthThreadGroups }];
}

interface Allocation {
  readonly granularity: number;
  readonly sharedMemoryGranularityBytes: number;
  readonly reservedBytes: number;
  /** Registers per thread group, if scalar registers can run out. */
  readonly scalarFile?: KimRegisterFile;
}

function allocation(device: GpuDevice): Allocation {
  const rules = device.occupancy;
  const whole = (granularity: number, sharedMemoryGranularityBytes = 1, reservedBytes = 0): Allocation => ({
    granularity,
    sharedMemoryGranularityBytes,
    reservedBytes,
  });
  switch (rules.family) {
    case 'nvidia': {
      const found = unwrap(nvidiaOccupancyRules(rules.computeCapability));
      const unit = found.registersAllocatedTo === 'block' ? 1 : found.registerAllocationUnit / device.threadGroupWidth;
      return whole(unit, found.sharedMemoryAllocationUnitBytes, found.reservedSharedMemoryBytesPerBlock);
    }
    case 'amd': {
      const found = unwrap(amdOccupancyRules(rules.isa, rules.waveSize));
      const base = whole(found.vectorRegisterGranule, found.ldsGranuleBytes);
      if (found.scalarRegistersPerSimd === null) return base;
      const registers = found.scalarRegistersPerSimd * found.simds;
      return {
        ...base,
        scalarFile: {
          maxPerThread: found.maxScalarRegistersPerWave,
          maxPerBlock: registers,
          registers,
          granularity: found.scalarRegisterGranule,
        },
      };
    }
    // A hardware thread owns a fixed set of registers, so they are not allocated one by one.
    case 'intel': {
      const found = unwrap(intelOccupancyRules(rules.architecture, rules.simdWidth));
      return whole(found.smallModeRegisters, found.localMemorySizes[0]);
    }
    case 'apple':
      return whole(APPLE_REGISTER_GRANULE);
    case 'generic':
      return whole(1);
  }
}
