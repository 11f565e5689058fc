import { accessSync, closeSync, constants, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import Database from 'better-sqlite3';

import { INVALID_REASONS } from '../src-workers/domain/design.ts';
import type { Result } from '../src-workers/domain/result.ts';
import { attempt, refuse } from './failure.ts';
import { type Migration, hasTables, migrate, readMigrations, userVersion } from './migrate.ts';

/** The letters `LKST` in a file's header, which mark it as a database of Lockstep. */
const APPLICATION_ID = 0x4c4b5354;

/** A check of all pages takes tens of ms for this many bytes. Larger files are opened without it. */
const QUICK_CHECK_BYTES = 16 * 2 ** 20;

export interface OpenOptions {
  readonly file: string;
  readonly migrationsFolder: string;
  readonly busyTimeoutMs?: number;
  /** Whether the caller only reads. If so, a database that cannot be written is opened too, and `readonly` is set. */
  readonly reads?: boolean | undefined;
}

/** May undo the unfinished work of a killed process in a file, even if it then refuses the file. */
export function openDatabase(options: OpenOptions): Result<Database.Database> {
  const { file } = options;
  const migrations = readMigrations(options.migrationsFolder);
  return attempt(file, () => {
    const timeout = options.busyTimeoutMs ?? 5000;
    const isFixed =
      options.reads === true &&
      allows(file, constants.R_OK) &&
      !(allows(file, constants.W_OK) && allows(dirname(file), constants.W_OK));
    if (isFixed && !inspectFile(file, migrations, null, isFixed)) return openReadOnly(file, migrations);
    const fresh = inspectFile(file, migrations, timeout);
    const db = new Database(file, { timeout });
    try {
      untilUnlocked(timeout, () => {
        if (fresh) {
          // Before the WAL is on, these settings go to the file itself, where `inspectFile` finds them.
          db.pragma('page_size = 8192');
          db.pragma(`application_id = ${APPLICATION_ID}`);
        }
        db.pragma('journal_mode = WAL');
      });
      // With FULL, a commit survives a power cut. The cost is one sync per chunk of tens of thousands of rows.
      db.pragma('synchronous = FULL');
      db.pragma('wal_autocheckpoint = 4000');
      db.pragma('cache_size = -32768');
      db.pragma('foreign_keys = OFF');
      migrate(db, file, migrations);
      db.pragma('foreign_keys = ON');
      nameInvalidReasons(db);
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  });
}

/** SQLite can hold no larger database in memory. */
const MAX_IN_MEMORY_BYTES = 2 ** 31 - 1024;

/**
 * Opens a database that cannot be written. SQLite can open such a file only if a log is beside it, as while another
 * program works on it. Without a log, all content is in the file itself, which is then read into memory.
 */
function openReadOnly(file: string, migrations: readonly Migration[]): Database.Database {
  const hasLog = bytesOf(`${file}-wal`) > 0;
  const isUnfinished = bytesOf(`${file}-journal`) > 0 || (hasLog && !existsSync(`${file}-shm`));
  const why = isUnfinished
    ? 'a program was killed while it wrote it'
    : readHeader(file).readInt32BE(60) < migrations.length
      ? 'an older version of Lockstep made it'
      : !hasLog && bytesOf(file) > MAX_IN_MEMORY_BYTES
        ? 'it has more than 2 GiB'
        : null;
  if (why !== null)
    refuse(
      'storage',
      `${file} is read-only, and cannot be opened without writing, because ${why}. Copy all files whose names begin with ${file} to a folder that can be written, and specify the copy.`,
      { file },
    );
  if (hasLog) return new Database(file, { readonly: true, fileMustExist: true });
  const image = readFileSync(file);
  // Both versions of the format become 1, which means without a log. A database in memory cannot have a log.
  image.fill(1, 18, 20);
  return new Database(image, { readonly: true });
}

const RETRY_MS = 10;

/** Repeats `body` while the file is locked, because SQLite does not wait for a lock to change the journal mode. */
function untilUnlocked(timeoutMs: number, body: () => void): void {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return body();
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
      if (!isBusy || performance.now() > end) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Checks a database without writing. If a killed process left a journal, the content is not checked. */
export function inspectDatabase({ file, migrationsFolder }: OpenOptions): Result<{ readonly bytes: number | null }> {
  const migrations = readMigrations(migrationsFolder);
  return attempt(file, () => {
    inspectFile(file, migrations, null);
    return { bytes: existsSync(file) ? storedBytes(file) : null };
  });
}

/**
 * Refuses a file that is not a valid database of Lockstep. Returns whether the file is missing or empty.
 * @param undoTimeoutMs how long to wait for the lock before undoing what a killed process left unfinished. With null,
 *   nothing is written, and the content of a file with unfinished work is not checked.
 * @param isFixed whether the file may be read-only
 */
function inspectFile(
  file: string,
  migrations: readonly Migration[],
  undoTimeoutMs: number | null,
  isFixed = false,
): boolean {
  const folder = dirname(file);
  const folderStat = statSync(folder, { throwIfNoEntry: false });
  if (!folderStat?.isDirectory()) refuse('storage', `${file} cannot be opened: ${folder} is not a folder.`, { file });
  // SQLite keeps its log beside the file, so the folder must be writable too.
  if (!isFixed && !allows(folder, constants.W_OK))
    refuse(
      'storage',
      `${file} cannot be opened: the folder ${folder} is read-only. Specify a database in a folder that can be written.`,
      { file },
    );
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat) return true;
  if (!stat.isFile()) {
    const what = stat.isDirectory() ? 'a folder' : 'not a regular file';
    refuse('storage', `${file} is ${what}. Specify a database file.`, { file });
  }
  if (!isFixed && !allows(file, constants.W_OK))
    refuse('storage', `${file} is read-only. Specify a file that can be written.`, { file });
  if (stat.size === 0) return true;

  const header = readHeader(file);
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    refuse('storage', `${file} is not a SQLite database. Specify a database of Lockstep.`, { file });
  const applicationId = header.readInt32BE(68);
  if (applicationId !== APPLICATION_ID)
    refuse('storage', `${file} belongs to another program (application id ${applicationId}, not ${APPLICATION_ID}).`, {
      file,
    });
  if (bytesOf(`${file}-journal`) > 0) {
    if (undoTimeoutMs === null) return false;
    undoUnfinished(file, undoTimeoutMs);
    return inspectFile(file, migrations, null);
  }
  refuseUnknown(file, header.readInt32BE(60), migrations);
  // If a killed process left a log, the file may be shorter than its header says.
  const expectedBytes = pageBytes(header) * header.readUInt32BE(28);
  if (stat.size < expectedBytes && bytesOf(`${file}-wal`) === 0)
    refuse('storage', `${file} is damaged: it has ${stat.size} bytes, but its header says ${expectedBytes}.`, { file });
  probe(
    isFixed ? openReadOnly(file, migrations) : new Database(file, { readonly: true, fileMustExist: true }),
    file,
    migrations,
  );
  return false;
}

/** Opens the file, so that SQLite undoes the changes of a process that was killed before the file had a log. */
function undoUnfinished(file: string, timeout: number): void {
  const db = new Database(file, { timeout, fileMustExist: true });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    db.close();
  }
}

/** Checks the content through SQLite, including the log, by a connection that cannot write, and closes it. */
function probe(db: Database.Database, file: string, migrations: readonly Migration[]): void {
  try {
    refuseUnknown(file, userVersion(db), migrations);
    // This query always reads the schema, so it fails if the schema is damaged.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    if (bytesOf(file) <= QUICK_CHECK_BYTES) {
      const verdict = db.pragma('quick_check(1)', { simple: true }) as string;
      if (verdict !== 'ok') refuse('storage', `${file} is damaged: ${verdict.replaceAll('\n', ' ')}`, { file });
    }
    // One transaction reads the version and the tables, because another program may be creating the tables just now.
    const [version, isRight] = db.transaction(() => {
      const found = userVersion(db);
      return [found, hasTables(db, found, migrations)] as const;
    })();
    if (!isRight)
      refuse(
        'storage',
        `${file} is damaged: its tables are not those of version ${version}. Restore a backup, or start a new file.`,
        { file, version },
      );
  } finally {
    db.close();
  }
}

function refuseUnknown(file: string, version: number, migrations: readonly Migration[]): void {
  if (version < 0)
    refuse('storage', `${file} is damaged: its version is ${version}. Restore a backup, or start a new file.`, {
      file,
      version,
    });
  if (version <= migrations.length) return;
  refuse(
    'storage',
    `${file} has version ${version}; this program knows versions up to ${migrations.length}. Open it with a newer Lockstep.`,
    { file, version },
  );
}

// https://www.sqlite.org/fileformat.html#the_database_header
const HEADER_BYTES = 100;

function readHeader(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    return header.subarray(0, readSync(descriptor, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}

function pageBytes(header: Buffer): number {
  const stored = header.readUInt16BE(16);
  return stored === 1 ? 65536 : stored;
}

function allows(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** Saves the names of invalid reasons for people who use other tools. Names that newer versions added stay. */
function nameInvalidReasons(db: Database.Database): void {
  const stored = db
    .prepare<[], { code: number; name: string; description: string }>('SELECT * FROM invalid_reasons')
    .all();
  const byCode = new Map(stored.map((row) => [row.code, row]));
  const changed = INVALID_REASONS.flatMap(({ code: name, text }, code) => {
    const row = byCode.get(code);
    return row?.name === name && row.description === text ? [] : [{ code, name, text }];
  });
  if (changed.length === 0) return;
  const insert = db.prepare(
    'INSERT OR REPLACE INTO invalid_reasons (code, name, description) VALUES (:code, :name, :text)',
  );
  db.transaction(() => changed.forEach((row) => insert.run(row))).immediate();
}

export function storedBytes(file: string): number {
  return bytesOf(file) + bytesOf(`${file}-wal`);
}

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
