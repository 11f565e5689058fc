import { INVALID_REASONS, type InvalidReason } from '../../domain/design.ts';
import type { CpuDevice, GpuDevice } from '../../domain/device.ts';
import type { Launch } from '../../domain/space.ts';
import { bytesOfIteration, type AccessingThreads } from '../../models/memory/accesses.ts';
import { residentBlocks } from '../../models/occupancy/resident.ts';
import type { SweepPlan } from '../plan.ts';

/** Shared memory of a thread group for its part of a shared unit, bytes: one value in double precision. */
const REDUCTION_BYTES = 8;

/** The code of each reason in the columns; 0 is valid. */
export const REASON = Object.fromEntries(INVALID_REASONS.map((reason, code) => [reason.code, code])) as Readonly<
  Record<InvalidReason, number>
>;

/** Resources of blocks of one size and register cap on a GPU, or of a number of cores on a CPU. */
export interface Shape {
  readonly invalid: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  /** More than 1 if the threads of a unit span several thread groups, which then run in step. */
  readonly threadGroupsPerGroup: number;
  readonly occupancyFraction: number;
  readonly limitedBy: number;
  /** Bytes of device memory that one lane moves in an iteration; 0 on a CPU. */
  readonly bytesPerIteration: number;
  readonly accessing: AccessingThreads;
}

const NO_SHAPE = {
  residentBlocks: 0,
  groupsPerBlock: 0,
  threadGroupsPerGroup: 1,
  occupancyFraction: 0,
  limitedBy: 0,
  bytesPerIteration: 0,
  accessing: { threadsPerUnit: 1, residentThreads: 1, sharedMemoryBytes: 0, unitElements: 1 },
};

export function makeShape(
  plan: SweepPlan,
  device: GpuDevice,
  registers: number,
  blockThreads: number,
  threadsPerUnit: number,
  meanLength: number,
): Shape {
  const threadGroups = Math.ceil(blockThreads / device.threadGroupWidth);
  const threadGroupsPerGroup = Math.max(1, threadsPerUnit / device.threadGroupWidth);
  const exchanged = threadGroupsPerGroup > 1 ? threadGroups * REDUCTION_BYTES : 0;
  if (blockThreads > device.limits.maxThreadsPerBlock) return { ...NO_SHAPE, invalid: REASON['block-threads'] };
  const sharedMemoryBytesPerBlock = plan.kernel.sharedMemoryBytesPerBlock + exchanged;
  const residency = residentBlocks(device, { blockThreads, registersPerThread: registers, sharedMemoryBytesPerBlock });
  const { limitedBy } = residency;
  if (residency.blocksPerMultiprocessor === 0) {
    return { ...NO_SHAPE, limitedBy, invalid: REASON[refusal(device, registers, limitedBy)] };
  }
  const { blocksPerMultiprocessor } = residency;
  const accessing = {
    threadsPerUnit,
    residentThreads: blocksPerMultiprocessor * blockThreads,
    sharedMemoryBytes: blocksPerMultiprocessor * sharedMemoryBytesPerBlock,
    unitElements: meanLength,
  };
  const bytesPerIteration = bytesOfIteration(device, plan.kernel, accessing);
  return {
    invalid: 0,
    residentBlocks: blocksPerMultiprocessor,
    groupsPerBlock: threadGroups / threadGroupsPerGroup,
    threadGroupsPerGroup,
    occupancyFraction: residency.occupancyFraction,
    limitedBy,
    bytesPerIteration,
    accessing,
  };
}

function refusal({ limits }: GpuDevice, registers: number, limitedBy: number): InvalidReason {
  if (limitedBy & 2) return registers > limits.maxRegistersPerThread ? 'thread-registers' : 'registers';
  return limitedBy & 4 ? 'shared-memory' : 'no-residency';
}

export function makeCoresShape(device: CpuDevice, launch: Launch): Shape {
  if (launch.kind !== 'cores') return { ...NO_SHAPE, invalid: REASON['not-on-device'] };
  if (launch.value > device.cores) return { ...NO_SHAPE, invalid: REASON.cores };
  return {
    invalid: 0,
    residentBlocks: 1,
    groupsPerBlock: 1,
    threadGroupsPerGroup: 1,
    occupancyFraction: launch.value / device.cores,
    limitedBy: 0,
    bytesPerIteration: 0,
    accessing: NO_SHAPE.accessing,
  };
}
