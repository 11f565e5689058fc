import { join } from 'node:path';

export type MeasuringPrograms = Readonly<ReturnType<typeof programsIn>>;

export const programsIn = (sources: string) => ({
  cpuChildFile: join(sources, 'bench', 'cpu', 'child.ts'),
  webgpuChildFile: join(sources, 'bench', 'webgpu', 'child.ts'),
  ownChildFile: join(sources, 'bench', 'program', 'child.ts'),
  cudaFolder: join(sources, 'bench', 'cuda', 'sources'),
  openclHost: join(sources, 'bench', 'opencl', 'host.py'),
});
