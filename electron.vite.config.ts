import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'electron-vite';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const at = (path: string) => resolve(import.meta.dirname, path);
/** Leaves out entries whose source does not exist, so that the other parts can still be built. */
const entries = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).filter(([, path]) => existsSync(at(path))));

export default defineConfig({
  main: {
    build: {
      outDir: 'out/main',
      target: 'node20',
      sourcemap: true,
      license: { fileName: 'licenses.md' },
      // Packages with native code, or with paths of their own, stay outside the bundle. All other packages are bundled,
      // because Node does not run TypeScript inside node_modules, and because an installed copy must run from out/
      // alone.
      externalizeDeps: false,
      rolldownOptions: {
        external: ['electron', 'better-sqlite3', 'piscina', 'webgpu', 'bullmq', 'ioredis'],
        input: entries({
          desktop: 'src-main/desktop/main.ts',
          'engine-process': 'src-main/desktop/engine-process.ts',
          serve: 'src-main/serve/main.ts',
          cli: 'src-main/cli/main.ts',
          library: 'src-main/library.ts',
          worker: 'src-workers/worker.ts',
          'store-thread': 'db/thread.ts',
          'bench-cpu': 'src-workers/bench/cpu/child.ts',
          'bench-webgpu': 'src-workers/bench/webgpu/child.ts',
          'bench-program': 'src-workers/bench/program/child.ts',
        }),
        output: { format: 'es', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  },
  preload: {
    build: {
      outDir: 'out/preload',
      externalizeDeps: false, // A sandboxed preload script can load no other file.
      rolldownOptions: {
        input: entries({ preload: 'src-main/desktop/preload.ts' }),
        output: { format: 'cjs', entryFileNames: '[name].cjs' },
      },
    },
  },
  renderer: {
    root: at('src-renderer'),
    build: {
      outDir: at('out/renderer'),
      emptyOutDir: true,
      target: 'chrome130',
      minify: 'oxc',
      cssMinify: true,
      license: { fileName: 'licenses.md' }, // Licences of the packages in the page, which the About page shows.
      chunkSizeWarningLimit: 800, // In kB. ECharts alone is this large, and every view with a chart needs it.
      rolldownOptions: {
        input: at('src-renderer/index.html'),
        output: {
          codeSplitting: {
            groups: [
              { name: 'echarts', test: /node_modules\/(echarts|zrender|tslib)\//, priority: 1 },
              { name: 'shared', minShareCount: 2 },
            ],
          },
        },
      },
    },
    plugins: [svelte({ configFile: false })],
  },
});
