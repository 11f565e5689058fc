import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tests start hundreds of workers and commands. With cached compiled code, each start takes a third of the time.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

/**
 * Runs slow files first. Without known times, Vitest sorts files by size, and a small file that takes long would run
 * alone at the end.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith('.slow.test.ts');
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

// All tests without a browser are one project. Browser tests have their own runner (playwright.config.ts).
export default defineConfig({
  test: {
    include: ['test/{unit,property,golden,db,integration}/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // A busy machine may stop a test for a minute. The limit is long, so that it only ends a test that hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    sequence: { sequencer: SlowFirst },
    // All files share two processes, so sources are loaded twice instead of once per file. This takes a third of the
    // time. A test that changes a global value restores it.
    pool: 'forks',
    isolate: false,
  },
});
