import { join } from 'node:path';

export interface MeasuringPrograms {
  readonly cpuChildFile: string;
  readonly webgpuChildFile: string;
  /** The script that runs the user's own program. */
  readonly ownChildFile: string;
  /** The folder with the sources of the CUDA program. */
  readonly cudaFolder: string;
  /** The Python program that runs OpenCL kernels. */
  readonly openclHost: string;
}

/** @param sources the folder `src-workers` */
export const programsIn = (sources: string): MeasuringPrograms => ({
  cpuChildFile: join(sources, 'bench', 'cpu', 'child.ts'),
  webgpuChildFile: join(sources, 'bench', 'webgpu', 'child.ts'),
  ownChildFile: join(sources, 'bench', 'program', 'child.ts'),
  cudaFolder: join(sources, 'bench', 'cuda', 'sources'),
  openclHost: join(sources, 'bench', 'opencl', 'host.py'),
});
