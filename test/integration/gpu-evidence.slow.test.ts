import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';

// A dry run of `npm run gpu-evidence` on the emulation of CUDA: few designs of few units.
const ROOT = join(import.meta.dirname, '..', '..');
const out = testFolder();

function evidence(...args: readonly string[]) {
  return spawnSync(
    process.execPath,
    [join(ROOT, 'test/bench/gpu-evidence.ts'), '--out', out, '--tiny', '--device', 'nvidia-rtx-4090', ...args],
    {
      encoding: 'utf8',
      env: { ...process.env, NVCC: join(ROOT, 'test/data/cuda-shim/nvcc'), XDG_CACHE_HOME: join(out, 'cache') },
    },
  );
}
interface Summary {
  readonly device: { readonly name: string };
  readonly steps: Readonly<
    Record<string, { state: string; figures: Record<string, unknown>; problems: readonly string[] }>
  >;
}
const summary = (): Summary => JSON.parse(readFileSync(join(out, 'summary.json'), 'utf8')) as Summary;

it.skipIf(lacks('g++'))(
  'names the steps that had no time, runs them when started again, and writes a file for lockstep evidence',
  () => {
    const short = evidence('--minutes', '0.0001', '--steps', 'studies,spmv');
    expect(short.stderr).toBe('');
    expect(short.status).toBe(0);
    expect(summary().steps).toMatchObject({
      facts: { state: 'complete' },
      studies: { state: 'partial', problems: [expect.stringMatching(/^geometric: .*the time is used up/)] },
      spmv: { state: 'partial', problems: [expect.stringMatching(/^lp_ship04l: .*the time is used up/)] },
    });

    const whole = evidence('--minutes', '60', '--steps', 'studies,spmv,tuned');
    expect(whole.stderr).toBe('');
    const { device, steps } = summary();
    expect(device.name).toContain('emulation');
    // Four designs are too few to calibrate. This is reported, and the other steps continue.
    expect(steps['studies']).toMatchObject({
      state: 'partial',
      figures: { geometric: { measured: 4, before: { designs: 4 } } },
      problems: [expect.stringMatching(/^geometric: .* parameters need \d+ measured designs/)],
    });
    expect([steps['spmv'].state, steps['tuned'].state]).toEqual(['complete', 'complete']);
    expect(steps['spmv'].figures).toMatchObject({
      lp_ship04l: { failed: 0 },
      all: { asEvidence: [{ implementations: [{ name: 'thread_mapped' }] }] },
    });
    expect(steps['tuned'].figures).toMatchObject({ measured: 8, failed: 0 });
    expect(readFileSync(join(out, 'summary.md'), 'utf8')).toContain('## Tuned against exhaustive\n\ncomplete, ');

    // Complete steps are not repeated.
    const again = evidence('--steps', 'spmv,tuned');
    expect(again.stdout).toMatch(/^Device\n {2}complete after \d+ s\n.*summary\.md\n$/);
  },
  400_000,
);

it('refuses options that it does not understand', () => {
  const nowhere = join(out, 'not-made');
  const unknown = evidence('--steps', 'everything', '--out', nowhere);
  expect(existsSync(nowhere)).toBe(false);
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringMatching(/^No step has the name "everything"\. Specify some of facts, probes/) as string }); // prettier-ignore
});
