import { afterEach, expect, it, vi } from 'vitest';
import { engineEnvironment } from '../../src-main/hosts/runtimes.mjs';
import { childEnvironment } from '../../src-workers/bench/parent.ts';

afterEach(() => vi.unstubAllEnvs());

it('keeps settings of the engine from the programs that it measures, and leaves those of the user', () => {
  const mine = { PATH: '/bin', MALLOC_ARENA_MAX: '7' };
  const engine = engineEnvironment(mine);
  expect(engine).toMatchObject({ ...mine, MALLOC_MMAP_THRESHOLD_: expect.stringMatching(/^\d+$/) as string });
  for (const [name, value] of Object.entries(engine)) vi.stubEnv(name, value);
  const child = childEnvironment();
  expect(child).toMatchObject(mine);
  expect(Object.keys(child)).not.toContain('MALLOC_MMAP_THRESHOLD_');
  expect(Object.keys(child)).not.toContain('LOCKSTEP_ENGINE_ONLY');
});
