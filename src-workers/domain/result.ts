import { messageText } from './text.ts';

/** Expected failures are values; bugs throw. A message states the problem, the value, the limit and the remedy. */
export type FailureCode =
  | 'bad-input' // a value, field or file that breaks its contract
  | 'not-found' // a named thing that does not exist
  | 'conflict' // the request does not fit the present state
  | 'unsupported' // understood, but not possible with this model, device or machine
  | 'storage' // the database refused: damaged, newer, full, locked
  | 'cancelled'
  | 'internal'; // a bug

export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly context?: Readonly<Record<string, string | number | boolean | null>>;
}

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Failure };

export function ok<T>(value: T): Result<T> {
  return { ok: true, value };
}

export function fail(code: FailureCode, text: string, context?: Failure['context']): Result<never> {
  const message = messageText(text);
  return { ok: false, error: context ? { code, message, context } : { code, message } };
}

const failing =
  (code: FailureCode) =>
  (text: string, context?: Failure['context']): Result<never> =>
    fail(code, text, context);
export const badInput = failing('bad-input');
export const notFound = failing('not-found');
export const conflict = failing('conflict');
export const unsupported = failing('unsupported');

/** Carries a `Failure` through code that can only throw. */
export class FailureError extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.name = 'LockstepError'; // Users of the library know the error by this name.
    this.failure = failure;
  }
}

/** Returns an expected failure that was thrown. Throws any other error again. */
export function expected(error: unknown): Result<never> {
  if (error instanceof FailureError) return { ok: false, error: error.failure };
  throw error;
}

const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  EBUSY: 'in use',
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTEMPTY: 'the folder is not empty',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files',
  ELOOP: 'too many links',
  ENAMETOOLONG: 'the name is too long',
  EFBIG: 'the file is too large',
  EIO: 'the disk or device failed',
};

export function systemReason(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : null;
  if (code === null) return String(error);
  return Object.hasOwn(SYSTEM_REASONS, code) ? `${SYSTEM_REASONS[code]}, ${code}` : code;
}

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new FailureError(result.error);
}
