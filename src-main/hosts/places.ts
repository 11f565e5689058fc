import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EnginePlaces } from '../services/engine.ts';

export interface Places {
  /** The folder that has package.json and db/. In an installed desktop app, it is the folder of the app's archive. */
  readonly root: string;
  readonly rendererFolder: string;
  readonly preloadFile: string;
  readonly engineProcessFile: string;
  readonly engine: EnginePlaces;
}

export function programPlaces(): Places {
  const here = fileURLToPath(import.meta.url);
  const built = !here.endsWith('.ts');
  const marker = built ? `${sep}out${sep}main${sep}` : `${sep}src-main${sep}`;
  const shipped = here.slice(0, here.lastIndexOf(marker));
  // Threads, programs and compilers cannot read an asar archive, so the packager puts the engine's files beside it.
  const root = shipped.replace(/app\.asar$/, 'app.asar.unpacked');
  const main = (source: string, name: string) => join(root, built ? join('out/main', name) : source);
  return {
    root,
    rendererFolder: join(shipped, 'out/renderer'),
    preloadFile: join(shipped, 'out/preload/preload.cjs'),
    engineProcessFile: main('src-main/desktop/engine-process.ts', 'engine-process.js'),
    engine: {
      resourceFolder: root,
      workerFile: main('src-workers/worker.ts', 'worker.js'),
      storeThreadFile: main('db/thread.ts', 'store-thread.js'),
      programs: {
        cpuChildFile: main('src-workers/bench/cpu/child.ts', 'bench-cpu.js'),
        webgpuChildFile: main('src-workers/bench/webgpu/child.ts', 'bench-webgpu.js'),
        ownChildFile: main('src-workers/bench/program/child.ts', 'bench-program.js'),
        cudaFolder: join(root, 'src-workers/bench/cuda/sources'),
        openclHost: join(root, 'src-workers/bench/opencl/host.py'),
      },
    },
  };
}
