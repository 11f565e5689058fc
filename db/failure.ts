import Database from 'better-sqlite3';

import { type Failure, type Result, expected, fail, ok, unwrap } from '../src-workers/domain/result.ts';

function storageFailure(error: unknown, file: string): Failure | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { code, message } = error;
  const failure = (text: string): Failure => ({ code: 'storage', message: text, context: { file, sqliteCode: code } });
  // SQLite maps the log's index into memory first, so a full disk first appears as SQLITE_IOERR_SHMSIZE.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE')
    return failure(`No space is left to write ${file}. Nothing of this request was saved.`);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return failure(`${file} is locked by another program. Try again when it is done.`);
  if (code.startsWith('SQLITE_NOTADB')) return failure(`${file} is not a SQLite database.`);
  if (code.startsWith('SQLITE_CORRUPT'))
    return failure(`${file} is damaged (${message}). Restore a backup, or start a new file.`);
  if (code.startsWith('SQLITE_READONLY')) return failure(`${file} cannot be written (${message}).`);
  if (code.startsWith('SQLITE_CANTOPEN')) return failure(`${file} cannot be opened (${message}).`);
  if (code.startsWith('SQLITE_IOERR'))
    return failure(
      `${file} could not be read or written (${code}): the disk may be full, failing or gone. Nothing of this request was saved.`,
    );
  return failure(`${file}: ${message} (${code})`);
}

/** Runs `body`. Turns a `FailureError` or a database error into a failure. Any other exception is thrown again. */
export function attempt<T>(file: string, body: () => T): Result<T> {
  try {
    return ok(body());
  } catch (error) {
    const failure = storageFailure(error, file);
    return failure ? { ok: false, error: failure } : expected(error);
  }
}

/** Throws an expected failure. On its way to `attempt`, an open transaction is rolled back. */
export function refuse(code: Failure['code'], message: string, context?: Failure['context']): never {
  return unwrap(fail(code, message, context));
}
