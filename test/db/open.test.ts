import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { describe, expect } from 'vitest';

import { readMigrations } from '../../db/migrate.ts';
import { inspectDatabase, openDatabase } from '../../db/open.ts';
import { openStore, storeOn } from '../../db/store.ts';
import type { Store } from '../../db/store-api.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { it } from './folder.ts';
import { inFolder, MIGRATIONS, sampleChunk, sampleDraft } from './sample.ts';
import { lacks } from '../tools.mjs';
import { checkGolden, goldenFile, goldenVersions, soundBySqlite } from '../verify/kills.ts';

const openOn = (file: string, migrationsFolder = MIGRATIONS) => openStore({ file, migrationsFolder });
const inspected = (file: string) => inspectDatabase({ file, migrationsFolder: MIGRATIONS });
function withStore(file: string, body: (store: Store) => void, migrationsFolder = MIGRATIONS): void {
  const open = unwrap(openOn(file, migrationsFolder));
  body(open.store);
  open.close();
}

/** Runs a test on a database that an earlier version of Lockstep wrote. */
const withGolden = (version: number, body: (file: string, folder: string) => void): Promise<void> =>
  inFolder((folder) => {
    const file = `${folder}/lockstep.db`;
    copyFileSync(goldenFile(version), file);
    body(file, folder);
  });

/** Damages a small valid database, and expects that it is refused and left unchanged. */
const expectRefused = (spoil: (file: string) => void, message: RegExp): Promise<void> =>
  withGolden(1, (file) => {
    spoil(file);
    const before = readFileSync(file);
    expect(openOn(file)).toFail('storage', message);
    expect(inspected(file)).toFail('storage', message);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

function patch(file: string, at: number, bytes: Uint8Array): void {
  const content = readFileSync(file);
  content.set(bytes, at);
  writeFileSync(file, content);
}

const after = (sql: string) => (file: string) => {
  const db = new Database(file);
  db.exec(sql);
  db.close();
};

describe('opening', () => {
  const truncate = (file: string) => truncateSync(file, statSync(file).size - 1500);
  const second = after(readMigrations(MIGRATIONS)[1].sql);
  it.each<[string, (file: string) => void, RegExp]>([
    ['a file that is not SQLite', (file) => writeFileSync(file, 'name,value\n'.repeat(50)), /not a SQLite database/],
    ['a file shorter than a header', (file) => writeFileSync(file, 'SQLite'), /not a SQLite database/],
    ['a truncated file', truncate, /damaged: it has \d+ bytes, but its header says \d+/],
    ['a damaged schema', (file) => patch(file, 100, new Uint8Array(300).fill(0xa5)), /damaged/],
    ['a damaged page', (file) => patch(file, 1024 * 40, new Uint8Array(1024).fill(0x5a)), /damaged/],
    ['a database of a newer program', after('PRAGMA user_version = 999'), /version 999.*newer Lockstep/],
    ['a version that no program writes', after('PRAGMA user_version = -5'), /damaged: its version is -5/],
    ['a version to which its tables do not belong', second, /damaged: its tables are not those of version 1/],
    ['a database of another program', after('PRAGMA application_id = 252006673'), /belongs to another program/],
  ])('refuses %s', (_what, spoil, message) => expectRefused(spoil, message));
  it('undoes the unfinished work of a killed process, and opens the file', () =>
    withGolden(5, (file, folder) => {
      const left = `${folder}/left.db`;
      const db = new Database(file);
      db.pragma('journal_mode = DELETE');
      const before = db.prepare('SELECT count(*) FROM runs').pluck().get();
      // A small cache makes SQLite write pages of the unfinished change to the file. The journal has their old content.
      db.pragma('cache_size = 1');
      db.exec('BEGIN; DELETE FROM predictions; DELETE FROM run_columns; DELETE FROM runs');
      copyFileSync(file, left);
      copyFileSync(`${file}-journal`, `${left}-journal`);
      db.exec('ROLLBACK');
      db.close();
      expect(readFileSync(left).equals(readFileSync(file))).toBe(false);
      withStore(left, () => {});
      const mended = new Database(left, { readonly: true });
      expect(mended.prepare('SELECT count(*) FROM runs').pluck().get()).toBe(before);
      mended.close();
    }));
  it('refuses a newer version that is only in the log', () =>
    withGolden(1, (source, folder) => {
      // The new version is only in the log, as after a kill. The file's own header still has the old version.
      const db = new Database(source);
      db.pragma('journal_mode = WAL');
      db.pragma('user_version = 999');
      const file = `${folder}/copy.db`;
      copyFileSync(source, file);
      copyFileSync(`${source}-wal`, `${file}-wal`);
      db.close();
      const before = readFileSync(file);
      expect(before.readInt32BE(60)).toBe(1);
      expect(openOn(file)).toFail('storage', /version 999/);
      expect(readFileSync(file).equals(before)).toBe(true);
    }));
  it('refuses a folder, a missing folder and a file in place of a folder, but takes an empty file', ({ folder }) => {
    mkdirSync(`${folder}/a.db`);
    writeFileSync(`${folder}/plain`, '');
    expect(openOn(`${folder}/a.db`)).toFail('storage', /is a folder/);
    expect(inspected(folder)).toFail('storage', /is a folder/);
    for (const path of ['none/a.db', 'plain/a.db'])
      expect(openOn(`${folder}/${path}`)).toFail('storage', /not a folder/);
    expect(unwrap(inspected(`${folder}/none.db`))).toEqual({ bytes: null });
    expect(existsSync(`${folder}/none.db`)).toBe(false);
    withStore(`${folder}/plain`, () => {});
  });
});

describe('migrating', () => {
  function withNext(folder: string, sql: string): string {
    const next = `${folder}/migrations`;
    cpSync(MIGRATIONS, next, { recursive: true });
    const number = String(readMigrations(next).length + 1).padStart(4, '0');
    writeFileSync(`${next}/${number}-next.sql`, sql);
    return next;
  }

  it('has a file of every version (node test/data/store/make-golden.ts)', () =>
    expect(goldenVersions()).toEqual(readMigrations(MIGRATIONS).map(({ version }) => version)));

  it.each(goldenVersions())('opens a file of version %i with all its content', (version) =>
    withGolden(version, (file) =>
      withStore(file, (store) => {
        expect(unwrap(store.getRun(1))).toMatchObject({ ...sampleDraft(), studyId: 1, kept: null });
        expect(checkGolden(store, version)).toEqual([]);
      }),
    ),
  );

  it('finds the sweeps of older runs, and how many designs were simulated', () =>
    withGolden(2, (file) => {
      const old = new Database(file);
      const insert = old.prepare(
        `INSERT INTO runs (study, kind, state, name, app_version, model_versions, machine, started_at, enumerated_count)
         VALUES (?, ?, 'complete', 'old', '0', '{}', 'null', '', 3)`,
      );
      const measuring = (sourceRunId: unknown): string => JSON.stringify({ measuring: { request: { sourceRunId } } });
      const simulated = Number(insert.run('{"simulation":{"sourceRunId":1}}', 'simulate').lastInsertRowid);
      const measured = Number(insert.run(measuring(1), 'bench').lastInsertRowid);
      const alone = Number(insert.run(measuring(null), 'import').lastInsertRowid);
      const simulation = old.prepare(
        `INSERT INTO simulations (run_id, position, device_id, design, replications, mean_ms, standard_deviation_ms,
           min_ms, median_ms, max_ms, times_ms, detail)
         VALUES (?, ?, 'fast', '{}', 1, 1, 0, 1, 1, 1, '[1]', '{}')`,
      );
      for (const position of [0, 1]) simulation.run(simulated, position);
      old.close();
      withStore(file, (store) => {
        const found = [simulated, measured, alone, 1].map((id) => unwrap(store.getRun(id)));
        expect(found.map(({ sourceRunId }) => sourceRunId)).toEqual([1, 1, null, null]);
        expect(found.slice(0, 3).map(({ validCount }) => validCount)).toEqual([2, 0, 0]);
        expect(unwrap(store.listRuns({})).rows.filter(({ name }) => name === 'old')).toHaveLength(3);
      });
    }));

  it('does not use the id of a removed run again', () =>
    withGolden(3, (file) => {
      after('PRAGMA foreign_keys = ON; DELETE FROM runs')(file);
      withStore(file, (store) => expect(unwrap(store.createRun(sampleDraft())).id).toBe(3));
    }));

  it('leaves a file whole if the process is killed after any statement of the newest migration', ({ folder }) => {
    const newest = readMigrations(MIGRATIONS).at(-1)!;
    const count = newest.sql.split(/(?<=;)$/m).length - 1;
    expect(count).toBeGreaterThan(2);
    for (let statement = 1; statement <= count; statement++) {
      const file = `${folder}/${statement}.db`;
      copyFileSync(goldenFile(newest.version - 1), file);
      const child = [join(import.meta.dirname, 'migrate-child.ts'), file, `${statement}`];
      expect(spawnSync(process.execPath, child).signal).toBe('SIGKILL');
      withStore(file, (store) => {
        expect(unwrap(store.listRuns({})).total).toBe(newest.version > 5 ? 3 : 2);
        expect(unwrap(store.loadRunColumns(1)).timeMs).toHaveLength(unwrap(store.getRun(1)).enumeratedCount);
        expect(unwrap(store.checkIntegrity())).toEqual([]);
      });
    }
  });

  it('keeps the content, and a copy of the file in its old version', () =>
    withGolden(1, (file, folder) => {
      withStore(file, () => {});
      const hasRun = (store: Store) => expect(unwrap(store.getRun(1)).name).toBe('sample');
      withStore(file, hasRun, withNext(folder, 'ALTER TABLE runs ADD COLUMN mood TEXT;'));
      expect(openOn(file)).toFail('storage', /newer Lockstep/);
      withStore(`${file}.v${readMigrations(MIGRATIONS).length}.backup`, hasRun);
    }));

  it('applies a migration completely or not at all', () =>
    withGolden(1, (file, folder) => {
      withStore(file, () => {});
      const broken = withNext(folder, 'DROP TABLE settings; CREATE TABLE oops (;');
      expect(openOn(file, broken)).toFail('storage', /syntax error/);
      withStore(file, (store) => expect(unwrap(store.listSettings())).toEqual({ theme: 'dark' }));
    }));

  it('refuses a migration after which rows would refer to missing rows', () =>
    withGolden(1, (file, folder) => {
      const migrationsFolder = withNext(folder, 'DELETE FROM runs;');
      expect(openOn(file, migrationsFolder)).toFail('storage', /references to missing rows would remain \(/);
      withStore(file, (store) => expect(unwrap(store.listRuns({})).total).toBe(1));
    }));
});

it('the schema has no check that fails for NULL in older versions of SQLite, on a column that may be NULL', ({
  folder,
}) => {
  const db = unwrap(openDatabase({ file: `${folder}/new.db`, migrationsFolder: MIGRATIONS }));
  const select = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'";
  const tables = db.prepare<[], { name: string; sql: string }>(select).all();
  const checked = tables.flatMap(({ name, sql }) => {
    const columns = db.pragma(`table_info(${name})`) as readonly { name: string; notnull: number }[];
    return columns
      .filter((column) => !column.notnull && sql.includes(`json_valid(${column.name})`))
      .map((column) => ({ column: column.name, sql }));
  });
  expect(checked.map(({ column }) => column)).toEqual(['failure', 'measuring_device']);
  for (const { column, sql } of checked) expect(sql).toContain(`CHECK (${column} IS NULL OR json_valid(${column}))`);
  db.close();
});

it.skipIf(lacks('sqlite3')).for(['new', ...goldenVersions()])(
  'a database passes the integrity check of the installed sqlite3: version %s',
  (version, { folder }) => {
    const file = `${folder}/lockstep.db`;
    if (version !== 'new') copyFileSync(goldenFile(version as number), file);
    withStore(file, (store) => {
      const failed = unwrap(store.createRun(sampleDraft()));
      const failure = { code: 'internal', message: 'no memory', context: {} } as const;
      unwrap(store.finishRun(failed.id, { state: 'failed', elapsedMs: 1, failure }));
      unwrap(store.createRun({ ...sampleDraft(), kind: 'bench', axes: null }));
    });
    expect(soundBySqlite(file)).toBe('ok\n');
  },
);

it('a full disk is reported, and the store keeps everything that was saved', ({ folder }) => {
  const file = `${folder}/lockstep.db`;
  const db = unwrap(openDatabase({ file, migrationsFolder: MIGRATIONS }));
  const open = storeOn(db, file);
  const { id, enumeratedCount } = unwrap(open.store.createRun(sampleDraft()));
  unwrap(open.store.savePredictionChunk(id, sampleChunk(0, 40)));
  const pages = db.pragma('page_count', { simple: true }) as number;
  db.pragma(`max_page_count = ${pages}`);
  const rest = sampleChunk(40, enumeratedCount - 40);
  expect(open.store.savePredictionChunk(id, rest)).toFail('storage', /No space is left/);
  expect(unwrap(open.store.listChunks(id))).toEqual([{ firstDesign: 0, count: 40 }]);
  expect(unwrap(open.store.loadRunColumns(id)).timeMs.subarray(0, 40)).toEqual(sampleChunk(0, 40).timeMs);
  db.pragma('max_page_count = 1000000');
  unwrap(open.store.savePredictionChunk(id, rest));
  open.close();
});

it('the store reports that another program holds the lock, and works again when it is free', ({ folder }) => {
  const file = `${folder}/lockstep.db`;
  const open = unwrap(openStore({ file, migrationsFolder: MIGRATIONS, busyTimeoutMs: 30 }));
  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  expect(open.store.createRun(sampleDraft())).toFail('storage', /locked by another program/);
  // A writer does not make readers wait.
  expect(unwrap(open.store.listRuns({})).total).toBe(0);
  other.exec('ROLLBACK');
  other.close();
  unwrap(open.store.createRun(sampleDraft()));
  open.close();
});
