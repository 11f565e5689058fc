import { afterEach, describe, expect, it, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { engineEnvironment, NODE_NEEDED } from '../../src-main/hosts/runtimes.mjs';
import { machineText, thisMachine } from '../../src-main/services/machine/machine.ts';
import { designsPerMs, withSweep, type FinishedSweep } from '../../src-main/services/sweeps/pace.ts';
import { isOrderAware, takesMiddles } from '../../src-main/services/version.ts';
import { childEnvironment } from '../../src-workers/bench/parent.ts';

afterEach(() => vi.unstubAllEnvs());

it('the machine of a run is described with the meaning of its numbers, and is the device of an import, if its file names one', () => {
  const known = { host: 'box', platform: 'linux 6.1', cpu: 'Xeon', cores: 2, node: 'v24.21.0' };
  expect(machineText(known)).toBe('box, linux 6.1, Xeon, 2 cores, Node 24.21.0');
  expect(machineText({ ...known, cores: 1 })).toContain('Xeon, 1 core, Node');
  expect(machineText(thisMachine())).toContain(`Node ${process.versions.node}`);
  expect(machineText({ device: 'A100', driver: '550.1' })).toBe('A100, 550.1');
  expect(machineText(null)).toBe('');
});

it('requires the same version of Node in its package and at its start', () =>
  expect(NODE_NEEDED).toContain(`Node ${manifest.engines.node.replace('>=', '')} or newer`));

describe('the pace of predictions', () => {
  const run = (designs: number, elapsedMs: number): FinishedSweep => ({ designs, elapsedMs, orderedUnits: null });
  const known = (...runs: readonly FinishedSweep[]) => runs.reduce<readonly FinishedSweep[]>(withSweep, []);
  const after = (...runs: readonly FinishedSweep[]): number => designsPerMs(known(...runs), null);
  const [large, slow] = [run(1_000_000, 5000), run(2000, 4000)];

  it('does not come from a small run, which mostly consists of starting', () => {
    const small = run(840, 500);
    expect(after(small)).toBe(after());
    expect([after(large, small), after(small, large)]).toEqual([200, 200]);
  });

  it('comes from the largest of the last runs of its kind, and is inverse to the number of ordered units', () => {
    expect([after(large, slow), after(slow), after(large, run(1_000_000, 10_000))]).toEqual([200, 0.5, 100]);
    const later = Array.from({ length: 5 }, () => run(400_000, 4000));
    expect(after(large, ...later)).toBe(100);
    const both = known({ ...run(80_000, 160_000), orderedUnits: 200_000 }, large, ...later);
    expect([null, 200_000, 100_000].map((units) => designsPerMs(both, units))).toEqual([100, 0.5, 1]);
    expect(designsPerMs(known(large), 100_000)).toBe(3);
  });
});

it('a saved run means what it meant in the version that made it', () => {
  const versions = [undefined, 'other 9.9', 'composite 2.9', 'composite 3', 'composite 4.1', 'composite 4.2', 'composite 4.10', 'composite 5.0']; // prettier-ignore
  expect(versions.map(isOrderAware)).toEqual([false, false, false, true, true, true, true, true]);
  expect(versions.map(takesMiddles)).toEqual([false, false, false, false, false, true, true, true]);
});

function childOf(engine: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  for (const [name, value] of Object.entries(engine)) vi.stubEnv(name, value);
  return childEnvironment();
}

it('the engine keeps its settings from the programs that it measures', () => {
  const engine = engineEnvironment({ PATH: '/bin' });
  expect(engine).toMatchObject({ PATH: '/bin', MALLOC_ARENA_MAX: expect.stringMatching(/^\d+$/) as string });
  const child = childOf(engine);
  expect(child).toMatchObject({ PATH: '/bin' });
  expect(Object.keys(child)).not.toContain('MALLOC_ARENA_MAX');
  expect(Object.keys(child)).not.toContain('LOCKSTEP_ENGINE_ONLY');
});

it('the engine and its programs have the settings of the user', () => {
  const mine = { PATH: '/bin', MALLOC_ARENA_MAX: '7' };
  const engine = engineEnvironment(mine);
  expect(engine).toMatchObject(mine);
  expect(childOf(engine)).toMatchObject(mine);
});
