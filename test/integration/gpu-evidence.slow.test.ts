import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { inspectedSpmvStudy } from '../data/bench/spmv-reference.ts';
import { lacks } from '../tools.mjs';
import { call, ended } from '../unit/engine-calls.ts';
import { cacheIn, testFolder, useEngines } from '../workplace.ts';

// Runs `npm run gpu-evidence` on the emulation of CUDA, with few designs of few units.
const ROOT = join(import.meta.dirname, '..', '..');
const out = testFolder();
const cache = cacheIn(out);

function evidence(...args: readonly string[]) {
  return spawnSync(
    process.execPath,
    [join(ROOT, 'test/bench/gpu-evidence.ts'), '--out', out, '--tiny', '--device', 'nvidia-rtx-4090', ...args],
    {
      encoding: 'utf8',
      // Without hipcc, fewer devices are asked.
      env: { ...process.env, NVCC: join(ROOT, 'test/data/cuda-shim/nvcc'), HIPCC: 'none', XDG_CACHE_HOME: cache },
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
    const short = evidence('--minutes', '0.0001', '--steps', 'studies');
    expect([short.status, short.stderr]).toEqual([0, '']);
    expect(summary().steps).toMatchObject({
      facts: { state: 'complete' },
      studies: { state: 'partial', problems: [/^geometric: not started: the time of this step is used up/] },
    });

    // A complete step is not repeated.
    const stateFile = join(out, 'state.json');
    const state = JSON.parse(readFileSync(stateFile, 'utf8')) as Summary;
    const done = { state: 'complete', seconds: 1, figures: { earlier: true }, problems: [] };
    writeFileSync(stateFile, JSON.stringify({ ...state, steps: { ...state.steps, 'launch-grid': done } }));
    const whole = evidence('--minutes', '60', '--steps', 'launch-grid,studies,spmv,tuned');
    expect(whole.stderr).toBe('');
    expect(whole.stdout).not.toContain('Launch grid');
    const { device, steps } = summary();
    expect(steps['launch-grid']).toMatchObject(done);
    expect(device.name).toContain('emulation');
    // Three designs are too few to calibrate. This is reported, and the other steps continue.
    expect(steps['studies']).toMatchObject({
      state: 'partial',
      figures: { geometric: { measured: 4, before: { designs: 4 } } },
      problems: [/^geometric: .*A calibration needs at least \d+ measured designs/],
    });
    expect([steps['spmv'].state, steps['tuned'].state]).toEqual(['complete', 'complete']);
    expect(steps['spmv'].figures).toMatchObject({
      lp_ship04l: { failed: 0 },
      all: { asEvidence: [{ implementations: [{ name: 'thread_mapped' }] }] },
    });
    expect(steps['tuned'].figures).toMatchObject({ measured: 8, failed: 0 });
  },
  400_000,
);

const { engineOn } = useEngines();

it.skipIf(lacks('nvcc'))('reads the figures of the SpMV kernels from their code, for a GPU', async () => {
  const engine = await engineOn();
  const file = join(ROOT, 'db/examples/kernels/spmv/spmv.json');
  const fitted = JSON.parse(readFileSync(file, 'utf8')) as StudyFile;
  const study = await inspectedSpmvStudy(fitted, 5242, (what) =>
    call(engine, 'kernel.inspect', { ...what, arch: 'sm_90' }),
  );
  // The figures of the example's study were fitted to a software adapter, where a step of a row takes 310 instructions.
  expect(study.implementations!.map(({ name }) => name)).toEqual(fitted.implementations!.map(({ name }) => name));
  for (const { name, kernel } of study.implementations!) {
    expect(kernel!.instructionsPerIteration, name).toBeGreaterThan(5);
    expect(kernel!.instructionsPerIteration, name).toBeLessThan(40);
    expect(kernel!.origins?.['instructionsPerIteration'], name).toBe('imported');
  }
  const [row] = study.implementations!;
  expect(row.kernel!.accesses).toContainEqual({ elementBytes: 4, pattern: 'scattered', footprintBytes: 4 * 5242 });
  const workload = { lengths: 'poisson(5)', units: 5242 };
  const axes = { ...fitted.axes, threadsPerUnit: [1, 4, 8, 32, 128], blockThreads: [128], unitsPerThread: [1, 2] };
  const run = await ended(engine, 'runs.start', {
    study: { ...study, workload, axes, devices: ['nvidia-h100-sxm5-80gb'] },
    folder: ROOT,
  });
  expect(run).toMatchObject({ state: 'complete', error: null });
  const page = await call(engine, 'ranking.page', { runId: run.id, limit: 100 });
  expect(new Set(page.rows.map(({ design }) => design.implementation)).size).toBe(study.implementations!.length);
});

it('refuses options that it does not understand', () => {
  const nowhere = join(out, 'not-made');
  const unknown = evidence('--steps', 'everything', '--out', nowhere);
  expect(existsSync(nowhere)).toBe(false);
  expect(unknown).toMatchObject({ status: 2, stderr: expect.stringMatching(/^No step has the name "everything"\. Specify some of facts, probes/) as string }); // prettier-ignore
});
