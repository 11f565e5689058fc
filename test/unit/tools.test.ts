import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { nearestTests } from '../changed.mjs';
import { forgetTools, lacks } from '../tools.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lockstep-tools-'));
afterEach(() => {
  vi.unstubAllEnvs();
  forgetTools();
  rmSync(folder, { recursive: true, force: true });
});

it('nvcc counts as missing if its host compiler is missing', () => {
  vi.stubEnv('PATH', folder);
  forgetTools();
  writeFileSync(join(folder, 'nvcc'), '');
  expect(lacks('nvcc')).toBe(true);
  forgetTools();
  writeFileSync(join(folder, 'g++'), '');
  expect(lacks('nvcc')).toBe(false);
});

it('a changed source is tested by the tests that import it, first those with its name, or else by the tests of its importers', () => {
  expect(nearestTests(['src-workers/predict/dealing/deal.ts'])).toContain('test/unit/predict/dealing.test.ts');
  expect(nearestTests(['src-workers/parse/csv.ts'])[0]).toMatch(/csv/);
  expect(nearestTests(['src-main/hosts/page.ts'])).toEqual(['test/unit/transport-serve.test.ts']);
});

it('a changed test runs itself, unless it is slow or needs a browser', () => {
  const slow = ['test/integration/made-up.slow.test.ts', 'test/e2e/newcomer.test.ts'];
  expect(nearestTests([...slow, 'test/unit/tools.test.ts'])).toEqual(['test/unit/tools.test.ts']);
});
