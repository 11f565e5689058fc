import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

import Database from 'better-sqlite3';
import { expect, it } from 'vitest';

import { processLives } from '../../db/ownership.ts';
import type { MeasurementRecord, RunAxes } from '../../db/records.ts';
import { openStore } from '../../db/store.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inFolder, MIGRATIONS, SAMPLE_AXES, sampleChunk, sampleDraft } from '../db/sample.ts';

const CHUNK_DESIGNS = 2_000;
const AXES: RunAxes = { ...SAMPLE_AXES, blockThreads: Array.from({ length: 2_000 }, (_, i) => 32 * (i + 1)) };
/** Moments of the kill after the child's first word, milliseconds: inside different steps of different chunks. */
const KILL_AFTER_MS = [0, 3, 11, 29, 47, 83, 113];

/** Runs the child until it is killed or ends. Returns the lines it wrote. */
async function runChild(file: string, runId: number, killAfterMs: number | null): Promise<string[]> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'crash-child.ts'), file, `${runId}`, `${CHUNK_DESIGNS}`],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  let output = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    if (output === '' && killAfterMs !== null) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    output += text;
  });
  await Promise.all([exited, once(child.stdout, 'close')]);
  // A line cut by the kill was not reported.
  return output.split('\n').slice(0, -1);
}

it('keeps everything reported as saved when it is killed at any moment, and resumes from there', () =>
  inFolder(async (folder) => {
    const file = `${folder}/lockstep.db`;
    const start = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    const { id, enumeratedCount } = unwrap(start.store.createRun(sampleDraft(AXES)));
    start.close();

    const reported = new Set<number>();
    let kills = 0;
    for (const killAfterMs of KILL_AFTER_MS) {
      const lines = await runChild(file, id, killAfterMs);
      lines.filter((line) => /^\d+$/.test(line)).forEach((line) => reported.add(Number(line)));
      if (lines.includes('complete')) break;
      kills++;

      const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
      expect(unwrap(open.store.getRun(id)).state).toBe('interrupted');
      const chunks = unwrap(open.store.listChunks(id));
      const committed = new Set(chunks.map((chunk) => chunk.firstDesign));
      expect([...reported].filter((first) => !committed.has(first))).toEqual([]);
      const columns = unwrap(open.store.loadRunColumns(id));
      for (const { firstDesign, count } of chunks) {
        const expected = sampleChunk(firstDesign, count);
        expect(columns.timeMs.subarray(firstDesign, firstDesign + count)).toEqual(expected.timeMs);
      }
      open.close();
      const db = new Database(file, { readonly: true });
      const rows = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM predictions').get()?.n;
      db.close();
      expect(rows).toBe(chunks.reduce((sum, chunk) => sum + chunk.count, 0));
    }
    expect(kills).toBeGreaterThan(2);

    expect((await runChild(file, id, null)).at(-1)).toBe('complete');
    const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    const { firstDesign: _first, ...columns } = sampleChunk(0, enumeratedCount);
    expect(unwrap(open.store.loadRunColumns(id))).toEqual(columns);
    expect(unwrap(open.store.getRun(id)).state).toBe('complete');
    expect(unwrap(open.store.checkIntegrity())).toEqual([]);
    open.close();
  }));

it.runIf(process.platform === 'linux')(
  'takes a process that has ended for dead before its parent collects it',
  async () => {
    // The shell has a child and becomes a program that never collects it; only then may the child end.
    const parent = spawn('/bin/sh', ['-c', 'cat <&3 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    });
    const exited = once(parent, 'exit');
    const soon = { timeout: 120_000 };
    try {
      const [line] = (await once(parent.stdout!, 'data')) as [Buffer];
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8'), soon).not.toBe('sh\n');
      expect(processLives(Number(line.toString()))).toBe(true);
      (parent.stdio[3] as Writable).end();
      await expect.poll(() => processLives(Number(line.toString())), soon).toBe(false);
      process.kill(Number(line.toString()), 0);
      expect(processLives(parent.pid!)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
      await exited;
    }
  },
);

it('takes a run for interrupted when its process is gone or has been silent for long, and only then', () =>
  inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    const owner = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    const { id } = unwrap(owner.store.createRun(sampleDraft()));
    const other = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    const raw = new Database(file);
    const stateAfter = (sql: string, value: string | number): string => {
      raw.prepare(sql).run(value);
      unwrap(other.beat());
      return unwrap(other.store.getRun(id)).state;
    };
    const secondsAgo = (seconds: number): string => new Date(Date.now() - 1000 * seconds).toISOString();
    expect(stateAfter('UPDATE owners SET heartbeat_at = ?', secondsAgo(20))).toBe('running');
    unwrap(owner.beat());
    expect(stateAfter('UPDATE owners SET pid = ?', process.ppid)).toBe('running');
    const gone = spawnSync(process.execPath, ['--version']).pid;
    expect(stateAfter('UPDATE owners SET pid = ?', gone)).toBe('interrupted');
    // The former owner, if it lives after all, gets a conflict and writes nothing.
    expect(owner.store.savePredictionChunk(id, sampleChunk(0, 1))).toMatchObject({
      ok: false,
      error: { code: 'conflict' },
    });

    unwrap(owner.store.resumeRun(id));
    expect(stateAfter('UPDATE owners SET heartbeat_at = ?', secondsAgo(3600))).toBe('interrupted');
    raw.close();
    other.close();
    owner.close();
  }));

it.each(['killed', 'closed'] as const)('takes an import out that was not done when its process was %s', (how) =>
  inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    const owner = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    const measurement: MeasurementRecord = {
      sourceRunId: null,
      designIndex: null,
      deviceId: 'fast',
      design: { a: 1 },
      predictedMs: null,
      backend: 'external',
      timesMs: [1.5, 1.25],
      correct: null,
      failure: null,
      detail: {},
    };
    const imported = (): number => {
      const { id } = unwrap(owner.store.createRun({ ...sampleDraft(), kind: 'import', axes: null }));
      unwrap(owner.store.saveMeasurements(id, [measurement, measurement]));
      return id;
    };
    const done = imported();
    unwrap(owner.store.finishRun(done, { state: 'complete', elapsedMs: 1 }));
    const half = imported();
    const sweep = unwrap(owner.store.createRun(sampleDraft())).id;
    if (how === 'killed') {
      const raw = new Database(file);
      raw.prepare('UPDATE owners SET pid = ?').run(spawnSync(process.execPath, ['--version']).pid);
      raw.close();
    } else owner.close();

    const next = unwrap(openStore({ file, migrationsFolder: MIGRATIONS }));
    expect(unwrap(next.store.listRuns({})).rows.map(({ id, state }) => [id, state])).toEqual([
      [sweep, 'interrupted'],
      [done, 'complete'],
    ]);
    expect(unwrap(next.store.listMeasurements(done))).toEqual([measurement, measurement]);
    expect(next.store.listMeasurements(half)).toMatchObject({ ok: false, error: { code: 'not-found' } });
    expect(unwrap(next.store.checkIntegrity())).toEqual([]);
    if (how === 'killed') {
      expect(owner.store.saveMeasurements(half, [measurement])).toMatchObject({ error: { code: 'not-found' } });
      owner.close();
    }
    const raw = new Database(file, { readonly: true });
    expect(raw.prepare('SELECT count(*) AS n FROM measurements').get()).toEqual({ n: 4 });
    raw.close();
    next.close();
  }),
);
