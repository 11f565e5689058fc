import type { BenchBackend, MeasuringDevice } from './benchmark.ts';

/** Lanes of a CUDA thread group (a warp), on every device so far. */
export const CUDA_GROUP_WIDTH = 32;
/**
 * Threads of a block, on every CUDA device since compute capability 2.0 (CUDA C++ Programming Guide, Compute
 * Capabilities).
 */
const CUDA_BLOCK_THREADS = 1024;

/** What a target can run at all: designs are predicted for another device, which may be wider. Null: no known bound. */
export interface Ability {
  readonly cores: number | null;
  readonly threadsPerUnit: number | null;
  readonly blockThreads: number | null;
  /** Whether the compiler accepts a register cap. */
  readonly registerCaps: boolean;
  /** Whether the width of its thread groups is known, which the best buckets depend on. */
  readonly bestBuckets: boolean;
  /** Whether its stand-in loop runs whole units alone, each as long as it is: no padding and no even shares. */
  readonly wholeUnits: boolean;
  /** Whether its blocks can take tiles of the units: no stand-in loop does. */
  readonly tiles: boolean;
}

/** @param device as it answered; null if it was not queried or did not answer */
export function abilityOf(backend: BenchBackend, device: MeasuringDevice | null): Ability {
  const stated = (name: string): number | null => {
    const value = device?.properties[name];
    return typeof value === 'number' ? value : null;
  };
  const anything: Ability = {
    cores: null,
    threadsPerUnit: null,
    blockThreads: null,
    registerCaps: true,
    bestBuckets: true,
    wholeUnits: backend === 'cuda' || backend === 'hip' || backend === 'webgpu',
    tiles: backend === 'program',
  };
  switch (backend) {
    case 'cpu':
      return { ...anything, cores: stated('availableProcessors') ?? device?.multiprocessors ?? null };
    case 'cuda':
      return { ...anything, threadsPerUnit: CUDA_GROUP_WIDTH, blockThreads: CUDA_BLOCK_THREADS };
    case 'hip':
      // The loop is compiled for as many threads per unit as CUDA's groups have.
      return { ...anything, threadsPerUnit: CUDA_GROUP_WIDTH, blockThreads: CUDA_BLOCK_THREADS, registerCaps: false };
    case 'webgpu':
      return {
        ...anything,
        // Threads that share a unit exchange through subgroup operations, and the narrowest subgroup bounds them.
        threadsPerUnit: stated('subgroups') === 0 ? 1 : (device?.threadGroupWidth ?? stated('subgroupMinSize')),
        blockThreads: stated('maxComputeInvocationsPerWorkgroup'),
        registerCaps: false,
        bestBuckets: device === null || device.threadGroupWidth !== null,
      };
    case 'program':
      // A device is known of OpenCL alone, which cannot cap registers.
      return { ...anything, blockThreads: stated('maxWorkGroupSize'), registerCaps: device === null };
  }
}
