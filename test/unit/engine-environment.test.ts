import { afterEach, expect, it, vi } from 'vitest';
import { engineEnvironment } from '../../src-main/hosts/runtimes.mjs';
import { childEnvironment } from '../../src-workers/bench/parent.ts';

afterEach(() => vi.unstubAllEnvs());

function childOf(engine: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  for (const [name, value] of Object.entries(engine)) vi.stubEnv(name, value);
  return childEnvironment();
}

it('keeps settings of the engine from the programs that it measures', () => {
  const engine = engineEnvironment({ PATH: '/bin' });
  expect(engine).toMatchObject({ PATH: '/bin', MALLOC_ARENA_MAX: expect.stringMatching(/^\d+$/) as string });
  const child = childOf(engine);
  expect(child).toMatchObject({ PATH: '/bin' });
  expect(Object.keys(child)).not.toContain('MALLOC_ARENA_MAX');
  expect(Object.keys(child)).not.toContain('LOCKSTEP_ENGINE_ONLY');
});

it('leaves settings of the user', () => {
  const mine = { PATH: '/bin', MALLOC_ARENA_MAX: '7' };
  const engine = engineEnvironment(mine);
  expect(engine).toMatchObject(mine);
  expect(childOf(engine)).toMatchObject(mine);
});
