import { defineConfig } from '@playwright/test';
import { fileURLToPath } from 'node:url';

// Nearly every test starts a host: Node keeps what it parsed of it.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

// Whole-program tests, after a build (npm run build). `browser`: the browser host and a real Chromium. `desktop`: the
// Electron app, `packed`: the same as people install it. What each needs is looked for in test/e2e/fixtures, which says what to do where it is missing.
export default defineConfig<object, { packed: boolean }>({
  testDir: 'test/e2e',
  outputDir: 'test-results/e2e',
  // A busy machine may starve a browser for seconds: the limits only end what hangs.
  timeout: 240_000,
  expect: { timeout: 30_000 },
  workers: 1,
  // A test that fails twice is a defect.
  retries: process.env['CI'] ? 1 : 0,
  forbidOnly: Boolean(process.env['CI']),
  reporter: [['list']],
  // A trace of every test costs as much again as the test; `npx playwright test --trace on` records one.
  use: {
    actionTimeout: 30_000,
    trace: 'on-first-retry',
    viewport: { width: 1280, height: 860 },
    // A new context costs most of a second; a used one is emptied of all that a test left: pages, storage, permissions.
    reuseContext: true,
    // Nothing to wait for, nor to draw in software; the newcomer's path has motion.
    contextOptions: { reducedMotion: 'reduce' },
  },
  projects: [
    { name: 'browser', testIgnore: '**/desktop*.test.ts' },
    { name: 'desktop', testMatch: '**/desktop*.test.ts' },
    // What depends on where the files lie: the page, the engine, and the programs that it starts.
    { name: 'packed', testMatch: '**/desktop*.test.ts', grep: /@packed/, use: { packed: true } },
  ],
});
