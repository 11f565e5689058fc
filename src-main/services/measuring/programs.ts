import { join } from 'node:path';

export interface MeasuringPrograms {
  readonly cpuChildFile: string;
  readonly webgpuChildFile: string;
  readonly ownChildFile: string;
  readonly cudaFolder: string;
  readonly openclHost: string;
}

export const programsIn = (sources: string): MeasuringPrograms => ({
  cpuChildFile: join(sources, 'bench', 'cpu', 'child.ts'),
  webgpuChildFile: join(sources, 'bench', 'webgpu', 'child.ts'),
  ownChildFile: join(sources, 'bench', 'program', 'child.ts'),
  cudaFolder: join(sources, 'bench', 'cuda', 'sources'),
  openclHost: join(sources, 'bench', 'opencl', 'host.py'),
});
