import { INVALID_REASONS, type InvalidReason } from '../../domain/design.ts';
import type { CpuDevice, GpuDevice } from '../../domain/device.ts';
import type { Launch } from '../../domain/space.ts';
import { residentBlocks } from '../../models/occupancy/resident.ts';
import type { SweepPlan } from '../plan.ts';

/** Codes of the reasons, as columns hold them; 0 is valid. */
export const REASON = Object.fromEntries(INVALID_REASONS.map((reason, code) => [reason.code, code])) as Readonly<
  Record<InvalidReason, number>
>;

/** What a block size and register cap cost on one GPU, or a number of cores on one CPU, whatever the workload. */
export interface Shape {
  readonly invalid: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  readonly occupancyFraction: number;
  readonly limitedBy: number;
}

/** A block size with so many registers per thread, on a GPU. */
export function shapeOf(plan: SweepPlan, device: GpuDevice, registers: number, blockThreads: number): Shape {
  const none = { residentBlocks: 0, groupsPerBlock: 0, occupancyFraction: 0, limitedBy: 0 };
  if (blockThreads > device.limits.maxThreadsPerBlock) return { ...none, invalid: REASON['block-threads'] };
  const residency = residentBlocks(device, {
    blockThreads,
    registersPerThread: registers,
    sharedMemoryBytesPerBlock: plan.kernel.sharedMemoryBytesPerBlock,
  });
  const { limitedBy } = residency;
  if (residency.blocksPerMultiprocessor === 0) {
    const invalid = limitedBy & 2 ? REASON.registers : limitedBy & 4 ? REASON['shared-memory'] : REASON['no-residency'];
    return { ...none, limitedBy, invalid };
  }
  return {
    invalid: 0,
    residentBlocks: residency.blocksPerMultiprocessor,
    groupsPerBlock: Math.ceil(blockThreads / device.threadGroupWidth),
    occupancyFraction: residency.occupancyFraction,
    limitedBy,
  };
}

/** A launch as a CPU sees it: one thread on each core. */
export function coresShape(device: CpuDevice, launch: Launch): Shape {
  const none = { residentBlocks: 0, groupsPerBlock: 0, occupancyFraction: 0, limitedBy: 0 };
  if (launch.kind !== 'cores') return { ...none, invalid: REASON['not-on-device'] };
  if (launch.value > device.cores) return { ...none, invalid: REASON.cores };
  return {
    invalid: 0,
    residentBlocks: 1,
    groupsPerBlock: 1,
    occupancyFraction: launch.value / device.cores,
    limitedBy: 0,
  };
}
