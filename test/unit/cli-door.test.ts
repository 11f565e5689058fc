import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sweepCommand } from '../../src-main/cli/commands/sweep.ts';
import { simulateCommand } from '../../src-main/cli/commands/simulate.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { captured } from '../command-line.ts';
import { progressed } from './engine-calls.ts';
import { smallStudy, wideStudy } from './export-runs.ts';
import { testFolder, useBench } from '../workplace.ts';

/** The command line starts runs through the contract, so that other clients of the contract see them. */

const folder = testFolder();
const { engine } = useBench();

it('a sweep of the command line is listed as running, and the contract can cancel it', async () => {
  const file = join(folder, 'wide.json');
  writeFileSync(file, JSON.stringify(wideStudy));
  const cancelled = progressed(engine).then(({ runId }) => engine.call('runs.cancel', { id: runId }));
  const swept = await captured((terminal) => sweepCommand(engine, terminal, file, { top: 5 }));
  expect(await cancelled).toEqual({ ok: true, value: null });
  expect(swept.status).toBe(1);
  expect(swept.err).toContain('lockstep runs resume 1');
  const run = unwrap(await engine.call('runs.get', { id: 1 }));
  expect(run).toMatchObject({ state: 'cancelled', study: { name: wideStudy.name } });
  expect(run.valid + run.invalid).toBeBetween(0, run.enumerated);

  // This simulation covers only one of the designs.
  const simulated = await captured((terminal) => simulateCommand(engine, terminal, '1', { top: 1 }));
  expect(simulated.status).toBe(0);
  const partial = /^Run 1 has predicted [\d,]+ of [\d,]+ designs; others may be faster\./m;
  expect(simulated.out + simulated.err).toMatch(partial);

  // If a run has ended, the call resolves at once. If there is no such run, the call fails.
  expect(unwrap(await engine.call('runs.wait', { id: 1 })).state).toBe('cancelled');
  expect(await engine.call('runs.wait', { id: 99 })).toFail('not-found');
  expect(await engine.call('runs.cancel', { id: 1 })).toFail('conflict');
});

it('a simulation says if nothing is random, and then compares nothing', async () => {
  const file = join(folder, 'merge-path.json');
  const kernel = { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true };
  const axes = { balancing: ['merge-path'], blockThreads: [64, 128], unitsPerThread: [1] };
  // In this file, the units have a given order.
  writeFileSync(join(folder, 'lengths.csv'), Array.from({ length: 20_000 }, (_, at) => (at * 37) % 101).join('\n'));
  const workload = { lengths: 'file:lengths.csv', units: 20_000 };
  writeFileSync(file, JSON.stringify(smallStudy({ kernel, axes, workload, devices: ['nvidia-rtx-4090'] })));
  const { status } = await captured((terminal) => sweepCommand(engine, terminal, file, { top: 1 }));
  expect(status).toBe(0);
  const [{ id }] = unwrap(await engine.call('runs.list', {}));
  const { out } = await captured((terminal) => simulateCommand(engine, terminal, String(id), { top: 2 }));
  expect(out).toContain('Nothing is random in these designs. ');
  expect(out).not.toMatch(/correlation|± 0|[-+]0\.00 %|differ by a median/);
});

it('a sweep over parts of a GPU names them, and is refused for a part that is larger than the GPU', async () => {
  const file = join(folder, 'parts.json');
  writeFileSync(file, JSON.stringify(smallStudy()));
  const of = (...parts: readonly string[]) => {
    const device = parts.map((part) => `nvidia-h100-sxm5-80gb${part}`);
    return captured((terminal) => sweepCommand(engine, terminal, file, { top: 3, device }));
  };
  expect((await of(':66', '')).out).toContain('H100 SXM5 80 GB (66 of 132 SMs)');
  expect((await of(':500')).status).toBe(1);
});
