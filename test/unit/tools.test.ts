import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { forgetTools, lacks } from '../tools.mjs';

const folder = mkdtempSync(join(tmpdir(), 'lockstep-tools-'));
afterEach(() => {
  vi.unstubAllEnvs();
  forgetTools();
  rmSync(folder, { recursive: true });
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
