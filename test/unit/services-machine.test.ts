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
  const after = (...runs: readonly FinishedSweep[]): number =>
    designsPerMs(runs.reduce<readonly FinishedSweep[]>(withSweep, []));
  const large = { designs: 1_000_000, elapsedMs: 5000 };

  it('does not come from a small run, which mostly consists of starting', () => {
    const small = { designs: 840, elapsedMs: 500 };
    expect(after(small)).toBe(after());
    expect(after(large, small)).toBe(200);
    expect(after(small, large)).toBe(200);
  });

  it('comes from the largest of the last runs', () => {
    expect(after(large, { designs: 2000, elapsedMs: 4000 })).toBe(200);
    expect(after({ designs: 2000, elapsedMs: 4000 })).toBe(0.5);
    expect(after(large, { designs: 1_000_000, elapsedMs: 10_000 })).toBe(100);
    const five = Array.from({ length: 5 }, () => ({ designs: 400_000, elapsedMs: 4000 }));
    expect(after(large, ...five)).toBe(100);
  });
});
