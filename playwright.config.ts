import { defineConfig } from '@playwright/test';
import { fileURLToPath } from 'node:url';

// Nearly every test starts a host, which starts faster from cached compiled code.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

// Tests of the whole program, which need a build (npm run build). The project `browser` tests the browser host in a
// real Chromium, `desktop` tests the Electron app, and `packed` tests the app as users install it. test/e2e/fixtures
// finds the programs that a test needs. If a program is missing, it says what to do.
export default defineConfig<object, { packed: boolean }>({
  testDir: 'test/e2e',
  outputDir: 'test-results/e2e',
  // A busy machine may stop a browser for seconds. The limits are long, so that they only end a test that hangs.
  timeout: 240_000,
  expect: { timeout: 30_000 },
  workers: 1,
  // In CI, a failed test runs once more. A test that fails twice is a defect.
  retries: process.env['CI'] ? 1 : 0,
  forbidOnly: Boolean(process.env['CI']),
  reporter: [['list']],
  // Recording a trace takes as long as the test itself, so only a repeated test is recorded. `npx playwright test
  // --trace on` records all tests.
  use: {
    actionTimeout: 30_000,
    trace: 'on-first-retry',
    viewport: { width: 1280, height: 860 },
    // A new context takes almost a second, so tests reuse one. Playwright clears its pages, storage and permissions
    // before each test.
    reuseContext: true,
    // Animations would cost waiting and software rendering. Only the tests of a newcomer's first steps use them.
    contextOptions: { reducedMotion: 'reduce' },
  },
  projects: [
    { name: 'browser', testIgnore: '**/desktop*.test.ts' },
    { name: 'desktop', testMatch: '**/desktop*.test.ts' },
    // Selects tests of what depends on the place of files: the page, the engine, and the programs that the engine
    // starts.
    { name: 'packed', testMatch: '**/desktop*.test.ts', grep: /@packed/, use: { packed: true } },
  ],
});
