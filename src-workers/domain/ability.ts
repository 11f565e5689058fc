import type { BenchBackend, MeasuringDevice } from './benchmark.ts';

/** Lanes of a thread group (warp) on every CUDA device so far. */
export const CUDA_GROUP_WIDTH = 32;
/**
 * Maximum number of threads of a block on every CUDA device since compute capability 2.0 (CUDA C++ Programming Guide,
 * Compute Capabilities).
 */
const CUDA_BLOCK_THREADS = 1024;

/** The limits of a target; null if none is known. The device for which designs are predicted may allow more. */
export interface Ability {
  readonly cores: number | null;
  readonly threadsPerUnit: number | null;
  readonly blockThreads: number | null;
  /** Whether the compiler accepts a register cap. */
  readonly registerCaps: boolean;
  /** Whether the width of the target's thread groups is known. The best buckets depend on it. */
  readonly bestBuckets: boolean;
  /** Whether the target can run only balancings that give a slot whole units, so neither padding nor even shares. */
  readonly wholeUnits: boolean;
  /** Whether a block can take a tile of the units. The stand-in loop has no tiles. */
  readonly tiles: boolean;
}

/**
 * Finds what a backend can run on a device.
 * @param device the properties that the device reported; null if it was not queried or did not answer
 */
export function findAbility(backend: BenchBackend, device: MeasuringDevice | null): Ability {
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
      // The loop is compiled for the width of a CUDA thread group.
      return { ...anything, threadsPerUnit: CUDA_GROUP_WIDTH, blockThreads: CUDA_BLOCK_THREADS, registerCaps: false };
    case 'webgpu':
      return {
        ...anything,
        // Threads that share a unit use subgroup operations, so the narrowest subgroup limits their number.
        threadsPerUnit: stated('subgroups') === 0 ? 1 : (device?.threadGroupWidth ?? stated('subgroupMinSize')),
        blockThreads: stated('maxComputeInvocationsPerWorkgroup'),
        registerCaps: false,
        bestBuckets: device === null || device.threadGroupWidth !== null,
      };
    case 'program':
      // A program reports a device only if it uses OpenCL, which cannot cap registers.
      return { ...anything, blockThreads: stated('maxWorkGroupSize'), registerCaps: device === null };
  }
}
