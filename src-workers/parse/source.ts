import { fail, FailureError, type Result } from '../domain/result.ts';
import { shortened } from '../domain/text.ts';

/** A file's bytes, in chunks of any size: a Node stream, a browser's `File.stream()`, or an array in a test. */
export type ByteSource = AsyncIterable<Uint8Array>;

/** The source's bytes; an error while reading becomes a `FailureError`, so that it is not taken for a bug. */
export async function* readBytes(source: ByteSource, label: string): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    throw new FailureError({
      code: 'bad-input',
      message: `${label}: the file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

/** Runs a parser that throws `FailureError` from deep inside, and gives its failure as a value. */
export async function caught<T>(parse: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof FailureError) return { ok: false, error: error.failure };
    throw error;
  }
}

/** Throws a failure that names a place in a file. Lines and columns count from 1. */
export function refuse(
  label: string,
  place: { readonly line: number; readonly column?: number },
  message: string,
): never {
  const column = place.column === undefined ? '' : `, column ${place.column}`;
  const failure = fail('bad-input', `${label}, line ${place.line}${column}: ${message}`, { ...place });
  if (failure.ok) throw new Error('unreachable');
  throw new FailureError(failure.error);
}

/** Characters of a field or value in a message. */
export const MAX_SHOWN = 40;

/** A field as it may stand in a message: quoted, short, without control characters. */
export function shown(text: string): string {
  return JSON.stringify(shortened(text, MAX_SHOWN));
}

/** A decimal number, not `0x10`, `Infinity` or an empty field, which `Number` would take. */
export const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
