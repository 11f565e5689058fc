import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { NODE_NEEDED } from '../../src-main/hosts/runtimes.mjs';
import { machineText, thisMachine } from '../../src-main/services/machine/machine.ts';
import { designsPerMs, withSweep, type FinishedSweep } from '../../src-main/services/sweeps/pace.ts';

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
  const run = (designs: number, elapsedMs: number): FinishedSweep => ({ designs, elapsedMs });
  const after = (...runs: readonly FinishedSweep[]): number =>
    designsPerMs(runs.reduce<readonly FinishedSweep[]>(withSweep, []));
  const [large, slow] = [run(1_000_000, 5000), run(2000, 4000)];

  it('does not come from a small run, which mostly consists of starting', () => {
    const small = run(840, 500);
    expect(after(small)).toBe(after());
    expect([after(large, small), after(small, large)]).toEqual([200, 200]);
  });

  it('comes from the largest of the last runs', () => {
    expect([after(large, slow), after(slow), after(large, run(1_000_000, 10_000))]).toEqual([200, 0.5, 100]);
    expect(after(large, ...Array.from({ length: 5 }, () => run(400_000, 4000)))).toBe(100);
  });
});
