import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { documentOf, lockstep, type Outcome } from '../command-line.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { testEngine, testFolder } from '../workplace.ts';

// The command as a process of its own, which is interrupted and killed.

const ROOT = join(import.meta.dirname, '..', '..');
const folder = testFolder();
const at = (name: string): string => join(folder, name);

const wide = at('wide.json');
writeFileSync(
  wide,
  JSON.stringify(
    smallStudy({
      axes: {
        threadsPerUnit: [1, 2, 4, 8, 16, 32],
        balancing: ['none', 'dynamic-fetch'],
        blockThreads: { from: 32, to: 1024, step: 32 },
        blocksPerMultiprocessor: { from: 1, to: 64 },
      },
    }),
  ),
);

/** Starts a sweep and sends a signal once something is saved. */
async function interrupted(file: string, signal: 'SIGINT' | 'SIGKILL'): Promise<Outcome & { signal: string | null }> {
  const child = spawn(process.execPath, [join(ROOT, 'src-main/cli/lockstep.mjs'), 'sweep', wide, '--db', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => void (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => void (err += data.toString()));
  const ended = new Promise<{ status: number; signal: string | null }>((resolve) =>
    child.on('close', (status, by) => resolve({ status: status ?? -1, signal: by })),
  );
  const savedChunks = (): number => {
    if (!existsSync(file)) return 0;
    const reader = new Database(file, { readonly: true });
    try {
      return (reader.prepare('SELECT count(*) AS n FROM run_chunks').get() as { n: number }).n;
    } catch {
      return 0; // being created
    } finally {
      reader.close();
    }
  };
  while (savedChunks() < 2 && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill(signal);
  const end = await ended;
  return { out, err, ...end };
}

it('Ctrl-C ends a sweep in one line and keeps what was saved', async () => {
  const file = at('interrupted.db');
  const ended = await interrupted(file, 'SIGINT');
  expect(ended).toMatchObject({ status: 1, signal: null, out: '' });
  expect(ended.err).toMatch(
    /^lockstep: Run 1 stopped after [\d,]+ of 49,152 designs\. .*lockstep runs resume 1 [^\n]*\n$/,
  );
  expect(documentOf(await lockstep('runs', 'show', '1', '--db', file, '--json'))).toMatchObject({ state: 'cancelled' });
});

it('SIGKILL loses nothing that was saved: the run resumes to what an uninterrupted one gives', async () => {
  const file = at('killed.db');
  expect(await interrupted(file, 'SIGKILL')).toMatchObject({ signal: 'SIGKILL', out: '' });
  const engine = await testEngine(file, { workers: 2 });
  try {
    const before = unwrap(await engine.context.store.listChunks(1));
    expect(unwrap(await engine.context.store.getRun(1)).state).toBe('interrupted');
    const done = new Promise((resolve) => engine.subscribe((event) => event === 'run.finished' && resolve(null)));
    unwrap(await engine.call('runs.resume', { id: 1 }));
    await done;
    expect(unwrap(await engine.context.store.getRun(1)).state).toBe('complete');
    const after = unwrap(await engine.context.store.listChunks(1));
    expect(after.reduce((sum, chunk) => sum + chunk.count, 0)).toBe(49_152);
    for (const chunk of before) expect(after).toContainEqual(chunk);
    const whole = documentOf<{ runId: number }>(await lockstep('sweep', wide, '--db', file, '--json'));
    const resumed = unwrap(await engine.context.store.loadRunColumns(1));
    expect(resumed).toEqual(unwrap(await engine.context.store.loadRunColumns(whole.runId)));
  } finally {
    await engine.close();
  }
});
