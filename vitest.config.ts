import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tests start hundreds of workers and commands. Each takes a third of the time with cached compiled code.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

/**
 * Runs slow files first. Without known times the order is by size, so a small file that takes long would run alone at
 * the end.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith('.slow.test.ts');
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

// All tests without a browser are one project. The browser tests have their own runner (playwright.config.ts).
export default defineConfig({
  test: {
    include: ['test/{unit,property,golden,db,integration}/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // A busy machine may stop a test for a minute, so the limit is long: it only ends a test that hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    sequence: { sequencer: SlowFirst },
    // All files share two processes, so sources are loaded twice and not once per file, which takes a third of the
    // time. A test that changes a global value restores it.
    pool: 'forks',
    isolate: false,
  },
});
