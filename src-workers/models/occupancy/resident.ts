import type { DeviceLimits, GpuDevice, OccupancyRules } from '../../domain/device.ts';
import { type Result, ok, unwrap } from '../../domain/result.ts';
import { amdOccupancyRules, amdResidency } from './amd.ts';
import { appleOccupancyRules, appleResidency } from './apple.ts';
import { intelOccupancyRules, intelResidency } from './intel.ts';
import { nvidiaOccupancyRules, nvidiaResidency } from './nvidia.ts';
import { type BlockUsage, type Residency, checkUsage, computeResidency, fitSharedMemory } from './usage.ts';

function genericResidency(limits: DeviceLimits, width: number, usage: BlockUsage): Residency {
  const groups = Math.ceil(usage.blockThreads / width);
  const registers = usage.registersPerThread * groups * width;
  const registersFit =
    usage.registersPerThread <= limits.maxRegistersPerThread && registers <= limits.maxRegistersPerBlock;
  return computeResidency(limits, usage, groups, {
    registers: !registersFit
      ? 0
      : registers === 0
        ? Infinity
        : Math.floor(limits.registersPerMultiprocessor / registers),
    sharedMemory: fitSharedMemory(limits, usage),
    blocks: limits.maxBlocksPerMultiprocessor,
  });
}

/** The numbers that a catalogue entry must agree with; `null` for `generic`, which has only limits. */
export function limitsByRules(rules: OccupancyRules): Result<{ limits: DeviceLimits; width: number } | null> {
  if (rules.family === 'generic') return ok(null);
  const [found, width] = findRules(rules);
  return found.ok ? ok({ limits: found.value.limits, width }) : found;
}

function findRules(
  rules: Exclude<OccupancyRules, { family: 'generic' }>,
): readonly [Result<{ readonly limits: DeviceLimits }>, number] {
  switch (rules.family) {
    case 'nvidia':
      return [nvidiaOccupancyRules(rules.computeCapability), 32];
    case 'amd':
      return [amdOccupancyRules(rules.isa, rules.waveSize), rules.waveSize];
    case 'intel':
      return [intelOccupancyRules(rules.architecture, rules.simdWidth), rules.simdWidth];
    case 'apple':
      return [appleOccupancyRules(rules.gpuFamily), 32];
  }
}

/**
 * Computes the resident blocks of a multiprocessor, by the allocation rules of the device's family. A launch that the
 * device refuses has 0 blocks, and `limitedBy` says why. Throws `FailureError` for an invalid usage or unknown rules,
 * which callers check before (`checkUsage`, `validateDevice`).
 */
export function residentBlocks(device: GpuDevice, usage: BlockUsage): Residency {
  const checked = unwrap(checkUsage(usage));
  const rules = device.occupancy;
  switch (rules.family) {
    case 'nvidia':
      return nvidiaResidency(
        unwrap(nvidiaOccupancyRules(rules.computeCapability)),
        checked,
        device.limits.maxRegistersPerThread,
      );
    case 'amd':
      return amdResidency(unwrap(amdOccupancyRules(rules.isa, rules.waveSize)), checked);
    case 'intel':
      return intelResidency(unwrap(intelOccupancyRules(rules.architecture, rules.simdWidth)), checked);
    case 'apple':
      return appleResidency(unwrap(appleOccupancyRules(rules.gpuFamily)), checked);
    case 'generic':
      return genericResidency(device.limits, device.threadGroupWidth, checked);
  }
}

export type OccupancyAxis = 'blockThreads' | 'registersPerThread' | 'sharedMemoryBytesPerBlock';

export interface OccupancyPoint {
  readonly x: number;
  readonly y: number;
}

const SHARED_MEMORY_STEP_BYTES = 1024;

export function occupancyCurve(device: GpuDevice, usage: BlockUsage, axis: OccupancyAxis): OccupancyPoint[] {
  const { limits, threadGroupWidth } = device;
  const [first, last, step] = {
    blockThreads: [threadGroupWidth, limits.maxThreadsPerBlock, threadGroupWidth],
    registersPerThread: [1, limits.maxRegistersPerThread, 1],
    sharedMemoryBytesPerBlock: [0, limits.maxSharedMemoryBytesPerBlock, SHARED_MEMORY_STEP_BYTES],
  }[axis];
  const points: OccupancyPoint[] = [];
  for (let x = first; x <= last; x += step) {
    points.push({ x, y: residentBlocks(device, { ...usage, [axis]: x }).occupancyFraction });
  }
  return points;
}
