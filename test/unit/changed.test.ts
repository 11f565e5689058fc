import { expect, it } from 'vitest';
import { nearestTests } from '../changed.mjs';

it('a changed source is tested by the tests that import it, first those with its name, or else by the tests of its importers', () => {
  expect(nearestTests(['src-workers/predict/dealing/deal.ts'])).toContain('test/unit/predict/dealing.test.ts');
  expect(nearestTests(['src-workers/parse/csv.ts'])[0]).toMatch(/csv/);
  expect(nearestTests(['src-main/hosts/page.ts'])).toEqual(['test/unit/transport-serve.test.ts']);
});

it('a changed test runs itself, unless it is slow or needs a browser', () => {
  const slow = ['test/integration/made-up.slow.test.ts', 'test/e2e/newcomer.test.ts'];
  expect(nearestTests([...slow, 'test/unit/changed.test.ts'])).toEqual(['test/unit/changed.test.ts']);
});
