import type { BenchBackend, MeasuringDevice } from './benchmark.ts';

export const CUDA_GROUP_WIDTH = 32;
/** The limit since compute capability 2.0 (CUDA C++ Programming Guide, Compute Capabilities). */
const CUDA_BLOCK_THREADS = 1024;

/** The limits of a target; null if unknown. */
export interface Ability {
  readonly cores: number | null;
  readonly threadsPerUnit: number | null;
  readonly blockThreads: number | null;
  readonly registerCaps: boolean;
  readonly bestBuckets: boolean;
  /** Whether padding and even shares are excluded. */
  readonly wholeUnits: boolean;
  readonly tiles: boolean;
}

/** @param device null if it was not queried or did not answer */
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
      return {
        ...anything,
        // Thread groups have 64 lanes on AMD's compute devices, and 32 lanes on its other devices.
        threadsPerUnit: device?.threadGroupWidth ?? null,
        blockThreads: CUDA_BLOCK_THREADS,
        registerCaps: false,
      };
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
      // The device of a program is known in advance only with OpenCL, which has no register caps.
      return { ...anything, blockThreads: stated('maxWorkGroupSize'), registerCaps: device === null };
  }
}
