import { defineConfig } from 'vitest/config';

// Tests that time something: one file after another, and by themselves, or they would measure each other.
export default defineConfig({
  test: {
    include: ['test/measured/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
    pool: 'forks',
  },
});
