import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { documentOf, lockstep } from '../command-line.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder } from '../workplace.ts';

// Interrupts the command in a separate process. test/verify/kills.ts tests kills.

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

/** Returns the number of saved chunks in a database that may not exist yet. */
function savedChunks(file: string): number {
  if (!existsSync(file)) return 0;
  const reader = new Database(file, { readonly: true });
  try {
    return (reader.prepare('SELECT count(*) AS n FROM run_chunks').get() as { n: number }).n;
  } catch {
    return 0; // The database is still being created.
  } finally {
    reader.close();
  }
}

it('Ctrl-C ends a sweep in one line and keeps what was saved', async () => {
  const file = at('interrupted.db');
  const child = spawn(process.execPath, [join(ROOT, 'src-main/cli/lockstep.mjs'), 'sweep', wide, '--db', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data: Buffer) => void (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => void (err += data.toString()));
  const closed = once(child, 'close');
  while (savedChunks(file) < 2 && child.exitCode === null) await pause(20);
  child.kill('SIGINT');
  expect([await closed, out]).toEqual([[1, null], '']);
  expect(err).toMatch(/^lockstep: Run 1 stopped after [\d,]+ of 49,152 designs\. .*lockstep runs resume 1 [^\n]*\n$/);
  expect(documentOf(await lockstep('runs', 'show', '1', '--db', file, '--json'))).toMatchObject({ state: 'cancelled' });
});
