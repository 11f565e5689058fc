import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tests start hundreds of workers and commands: each takes a third of the time where Node keeps what it parsed.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

/** Slow files first: without times of earlier runs the order is by size, and a short file that runs long would end alone. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): boolean => moduleId.endsWith('.slow.test.ts');
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

// One project: everything that needs no browser. The browser tests have their own runner (playwright.config.ts).
export default defineConfig({
  test: {
    include: ['test/{unit,property,golden,db,integration}/**/*.test.ts'],
    setupFiles: ['test/seed.ts'],
    // A busy machine may starve a test for a minute: the limit only ends one that hangs.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
    sequence: { sequencer: SlowFirst },
    // Files share two processes, so that sources are loaded twice and not for every file: a third of the time. A test that
    // changes something global restores it.
    pool: 'forks',
    isolate: false,
  },
});
