import type { Database } from 'better-sqlite3';

import type { Result } from '../src-workers/domain/result.ts';
import { attempt } from './failure.ts';
import { openLibrary } from './library.ts';
import { type OpenOptions, openDatabase, storedBytes } from './open.ts';
import { openOwnership } from './ownership.ts';
import { resultsOf } from './results.ts';
import { openRuns } from './runs.ts';
import { type Statements, now, openStatements } from './statements.ts';
import type { Store, StoreMethods } from './store-api.ts';
import { openStudies } from './studies.ts';

/** Measured bytes of one row of `predictions`. */
const VALID_ROW_BYTES = 63;
const INVALID_ROW_BYTES = 26;

export interface OpenStore {
  readonly store: Store;
  beat(): Result<null>;
  /** Returns a number that changes whenever another connection commits. */
  dataVersion(): number;
  close(): void;
}

export function openStore(options: OpenOptions): Result<OpenStore> {
  const opened = openDatabase(options);
  return opened.ok ? attempt(options.file, () => storeOn(opened.value, options.file)) : opened;
}

export function storeOn(db: Database, file: string): OpenStore {
  const statements = openStatements(db);
  const ownership = openOwnership(statements);
  const { rowOf, ownRow, countResults, ...runs } = openRuns(statements, ownership);
  if (!db.readonly) ownership.markInterrupted();
  const methods: StoreMethods = {
    ...openStudies(statements),
    ...runs,
    ...resultsOf(statements, { rowOf, ownRow, countResults }),
    ...openLibrary(statements),
    ...openUpkeep(statements, file),
  };
  const store = Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: readonly unknown[]) =>
        attempt(file, () => (method as (...args: readonly unknown[]) => unknown)(...args)),
    ]),
  ) as unknown as Store;
  return {
    store,
    beat: () =>
      attempt(file, () => {
        ownership.beat();
        if (!db.readonly) ownership.markInterrupted();
        return null;
      }),
    dataVersion: () => db.pragma('data_version', { simple: true }) as number,
    close() {
      // If releasing fails, the database still closes. The next process that opens it takes this owner for dead.
      attempt(file, () => ownership.release());
      db.close();
    },
  };
}

function openUpkeep({ db, get, all, run, write }: Statements, file: string) {
  return {
    purgeDeleted: (before = now()) =>
      write(() => ({
        studies: run('DELETE FROM studies WHERE deleted_at <= ?', before),
        runs: run('DELETE FROM runs WHERE deleted_at <= ?', before),
      })),
    diskUse() {
      const pageBytes = db.pragma('page_size', { simple: true }) as number;
      const freePages = db.pragma('freelist_count', { simple: true }) as number;
      const pages = db.pragma('page_count', { simple: true }) as number;
      const perRun = all<{ runId: number; isDeleted: number; bytes: number }>(
        `SELECT
           id AS run_id,
           deleted_at IS NOT NULL AS is_deleted,
           octet_length(study) + octet_length(machine)
             + iif(kind = 'sweep', ? * valid_count + ? * invalid_count, 0)
             + (SELECT coalesce(sum(octet_length(data)), 0) FROM run_columns WHERE run_id = runs.id)
             + (SELECT coalesce(sum(octet_length(design) + octet_length(times_ms) + octet_length(detail)), 0) FROM simulations WHERE run_id = runs.id)
             + (SELECT coalesce(sum(octet_length(design) + octet_length(detail)), 0) FROM measured_designs WHERE run_id = runs.id)
             AS bytes
         FROM runs ORDER BY id`,
        VALID_ROW_BYTES,
        INVALID_ROW_BYTES,
      );
      // The sizes of rows are averages, so their sum could exceed the used part of the file.
      const most = pageBytes * (pages - freePages);
      const share = Math.min(1, most / perRun.reduce((sum, { bytes }) => sum + bytes, 0));
      const runs = perRun.map(({ bytes, ...one }) => ({ ...one, bytes: Math.floor(share * bytes) }));
      const deleted = runs.filter(({ isDeleted }) => isDeleted === 1);
      return {
        fileBytes: storedBytes(file),
        freeBytes: pageBytes * freePages,
        runs: runs.map(({ runId, bytes }) => ({ runId, bytes })),
        bin: {
          runs: deleted.length,
          studies: get<{ count: number }>('SELECT count(*) AS count FROM studies WHERE deleted_at IS NOT NULL')!.count,
          bytes: deleted.reduce((sum, { bytes }) => sum + bytes, 0),
        },
      };
    },
    vacuum() {
      db.exec('VACUUM');
      db.pragma('wal_checkpoint(TRUNCATE)');
      return null;
    },
    checkIntegrity() {
      const lines = (db.pragma('integrity_check') as { integrity_check: string }[]).map((row) => row.integrity_check);
      const broken = db.pragma('foreign_key_check') as readonly unknown[];
      const references = broken.length > 0 ? [`references to missing rows: ${broken.length}`] : [];
      return [...lines.filter((line) => line !== 'ok'), ...references];
    },
  } satisfies Partial<StoreMethods>;
}
