import { defineConfig } from 'vitest/config';

// One project: everything that needs no browser. The browser tests have their own runner (playwright.config.ts).
export default defineConfig({
  test: {
    include: ['test/{unit,property,golden,db,integration}/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    pool: 'forks',
  },
});
