import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';

import Database from 'better-sqlite3';
import { expect } from 'vitest';

import { processLives } from '../../db/ownership.ts';
import type { MeasurementRecord } from '../../db/records.ts';
import { openStore } from '../../db/store.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { it } from '../db/folder.ts';
import { MIGRATIONS, sampleChunk, sampleDraft } from '../db/sample.ts';

// Kills are tested in test/verify/kills.ts.

it.runIf(process.platform === 'linux')('counts an ended process as dead before its parent collects it', async () => {
  // The shell starts a child, and then becomes a program that never collects it. The child may end only after this.
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
});

it('counts a run as interrupted only when its process has ended or has long been silent', ({ folder }) => {
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
  // A former owner that is still alive gets a conflict, and writes nothing.
  expect(owner.store.savePredictionChunk(id, sampleChunk(0, 1))).toFail('conflict');

  unwrap(owner.store.resumeRun(id));
  expect(stateAfter('UPDATE owners SET heartbeat_at = ?', secondsAgo(3600))).toBe('interrupted');
  raw.close();
  other.close();
  owner.close();
});

it.for(['killed', 'closed'] as const)(
  'removes an import that was incomplete when its process was %s',
  (how, { folder }) => {
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
    expect(next.store.listMeasurements(half)).toFail('not-found');
    expect(unwrap(next.store.checkIntegrity())).toEqual([]);
    if (how === 'killed') {
      expect(owner.store.saveMeasurements(half, [measurement])).toFail('not-found');
      owner.close();
    }
    const raw = new Database(file, { readonly: true });
    expect(raw.prepare('SELECT count(*) AS n FROM measurements').get()).toEqual({ n: 4 });
    raw.close();
    next.close();
  },
);
