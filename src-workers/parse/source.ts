import { errorText, expected, FailureError, type Result, badInput, unwrap } from '../domain/result.ts';
import { shortened } from '../domain/text.ts';

/** The bytes of a file in chunks of any size. */
export type ByteSource = AsyncIterable<Uint8Array>;

export interface FileBytes extends ByteSource {
  readonly byteLength: number;
  slice(start: number, end?: number): Promise<ArrayBuffer>;
}

const CHUNK_BYTES = 2 ** 20;

export function bytesSource(bytes: Uint8Array): FileBytes {
  return {
    byteLength: bytes.length,
    slice: async (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
    },
  };
}

export async function* byteRange(file: FileBytes, start: number, end: number): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end; at += CHUNK_BYTES)
    yield new Uint8Array(await file.slice(at, Math.min(end, at + CHUNK_BYTES)));
}

export async function ofLibrary<T>(label: string, format: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = errorText(error);
    return refuse(label, {}, `the ${format} file is damaged, or has a part that cannot be read (${shown(reason)})`);
  }
}

export async function* readBytes(source: ByteSource, label: string): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    if (error instanceof FailureError) throw error;
    unwrap(badInput(`${label}: the file cannot be read: ${errorText(error)}`));
  }
}

export async function caught<T>(parse: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await parse();
  } catch (error) {
    return expected(error);
  }
}

/** A place in a file, from 1: a line of a text, a row of a table, or an element of an array. Columns may have names. */
export interface Place {
  readonly line?: number;
  readonly row?: number;
  readonly element?: number;
  readonly column?: number | string | undefined;
}
const PLACES = ['line', 'row', 'element', 'column'] as const;

export function refuse(label: string, place: Place, message: string): never {
  const known = PLACES.flatMap((what) => (place[what] === undefined ? [] : [[what, place[what]] as const]));
  const where = known.map(([what, at]) => `, ${what} ${at}`).join('');
  return unwrap(badInput(`${label}${where}: ${message}`, Object.fromEntries(known)));
}

/** Throws a failure about a file. `column` is the place in the line. */
export type Refuse = (problem: string, column?: number) => never;

export const MAX_SHOWN = 40;

export function shown(text: string): string {
  return JSON.stringify(shortened(text, MAX_SHOWN));
}

/** A decimal number. `Number` would also accept `0x10`, `Infinity` and an empty field. */
export const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Number of bytes at the start of a file from which its format, and the delimiter of a table, are recognised. */
export const HEAD_BYTES = 65_536;
export const headText = (head: Uint8Array): string => new TextDecoder('latin1').decode(head);

/** Returns the first bytes of a source, and a source that still has all bytes. `close` ends a source early. */
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

export function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
