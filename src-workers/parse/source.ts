import { fail, FailureError, type Result } from '../domain/result.ts';
import { shortened } from '../domain/text.ts';

/** A file's bytes, in chunks of any size: a Node stream, a browser's `File.stream()`, or an array in a test. */
export type ByteSource = AsyncIterable<Uint8Array>;

/** A file that can be read at any place, as a format with its directory at the end needs it. */
export interface FileBytes extends ByteSource {
  readonly byteLength: number;
  slice(start: number, end?: number): Promise<ArrayBuffer>;
}

const CHUNK_BYTES = 2 ** 20;

/** Bytes in memory as a file. */
export function bytesSource(bytes: Uint8Array): FileBytes {
  return {
    byteLength: bytes.length,
    slice: async (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
    },
  };
}

/** The bytes from `start` to `end` of a file, in chunks. */
export async function* byteRange(file: FileBytes, start: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; at += CHUNK_BYTES)
    yield new Uint8Array(await file.slice(at, Math.min(end, at + CHUNK_BYTES)));
}

/** Runs what a library reads by; what it throws becomes a failure that says so. */
export async function ofLibrary<T>(label: string, format: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return refuse(label, {}, `the ${format} file is damaged, or has a part that cannot be read (${shown(reason)})`);
  }
}

/** The source's bytes; an error while reading becomes a `FailureError`, so that it is not taken for a bug. */
export async function* readBytes(source: ByteSource, label: string): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    if (error instanceof FailureError) throw error;
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

/** A place in a file: a line of a text, a row of a table, an element of an array, all from 1; columns also by name. */
export interface Place {
  readonly line?: number;
  readonly row?: number;
  readonly element?: number;
  readonly column?: number | string;
}
const PLACES = ['line', 'row', 'element', 'column'] as const;

/** Throws a failure that names a place in a file. */
export function refuse(label: string, place: Place, message: string): never {
  const known = PLACES.flatMap((what) => (place[what] === undefined ? [] : [[what, place[what]] as const]));
  const where = known.map(([what, at]) => `, ${what} ${at}`).join('');
  const failure = fail('bad-input', `${label}${where}: ${message}`, Object.fromEntries(known));
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

/** What the format of a file, and the delimiter of a table, are detected from. */
export const HEAD_BYTES = 65_536;

/**
 * The first bytes of a source, and a source that still has all of them; where it is not read to its end, `close` ends
 * it.
 */
export async function peeked(
  source: ByteSource,
): Promise<{ readonly head: Uint8Array; readonly whole: ByteSource; readonly close: () => Promise<unknown> }> {
  const iterator = source[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < HEAD_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    chunks.push(next.value);
    bytes += next.value.length;
  }
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    while (chunks.length > 0) yield chunks.shift()!;
    yield* { [Symbol.asyncIterator]: () => iterator };
  };
  return {
    head: joined(chunks, bytes).subarray(0, HEAD_BYTES),
    whole: whole(),
    close: async () => iterator.return?.(),
  };
}

/** The parts as one. */
export function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
