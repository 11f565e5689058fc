import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the parts of the program lie, run from the sources (Node's type stripping) or built (out/). */
export interface Places {
  /** Folder of package.json and db/. Inside an installed desktop app this is its archive. */
  readonly root: string;
  readonly rendererFolder: string;
  readonly preloadFile: string;
  readonly engineProcessFile: string;
  readonly workerFile: string;
  readonly storeThreadFile: string;
  /** What measures: programs that run outside, and the sources of the one that is compiled. */
  readonly programs: {
    readonly cpuChildFile: string;
    readonly webgpuChildFile: string;
    readonly ownChildFile: string;
    readonly cudaFolder: string;
  };
}

export function programPlaces(): Places {
  const here = fileURLToPath(import.meta.url);
  const built = !here.endsWith('.ts');
  const marker = built ? `${sep}out${sep}main${sep}` : `${sep}src-main${sep}`;
  const root = here.slice(0, here.lastIndexOf(marker));
  const main = (source: string, name: string) => (built ? join(root, 'out/main', name) : join(root, source));
  return {
    root,
    rendererFolder: join(root, 'out/renderer'),
    preloadFile: join(root, 'out/preload/preload.cjs'),
    engineProcessFile: main('src-main/desktop/engine-process.ts', 'engine-process.js'),
    workerFile: outsideArchive(main('src-workers/worker.ts', 'worker.js')),
    storeThreadFile: outsideArchive(main('db/thread.ts', 'store-thread.js')),
    programs: {
      cpuChildFile: outsideArchive(main('src-workers/bench/cpu/child.ts', 'bench-cpu.js')),
      webgpuChildFile: outsideArchive(main('src-workers/bench/webgpu/child.ts', 'bench-webgpu.js')),
      ownChildFile: outsideArchive(main('src-workers/bench/program/child.ts', 'bench-program.js')),
      cudaFolder: outsideArchive(join(root, 'src-workers/bench/cuda/sources')),
    },
  };
}

/** Threads and programs cannot start from inside an asar archive, nor compilers read there; the packager leaves these beside it. */
function outsideArchive(file: string): string {
  return file.replace(`app.asar${sep}`, `app.asar.unpacked${sep}`);
}
