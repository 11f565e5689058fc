import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'electron-vite';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const at = (path: string) => resolve(import.meta.dirname, path);
/** Entries whose source exists: a part of the program can be built before the others are written. */
const entries = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).filter(([, path]) => existsSync(at(path))));

export default defineConfig({
  main: {
    build: {
      outDir: 'out/main',
      target: 'node20',
      sourcemap: true,
      license: { fileName: 'licenses.md' },
      // Native or path-dependent packages stay outside the bundle; the rest is bundled, so that an installed copy,
      // where Node refuses TypeScript below node_modules, runs from out/ alone.
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
      externalizeDeps: false, // a sandboxed preload script can load no file but itself
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
      license: { fileName: 'licenses.md' }, // of the packages in the page: About shows it
      chunkSizeWarningLimit: 800, // kB; ECharts, which every view with a chart needs
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
