import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorText, FailureError, ok, unwrap, type Result, badInput } from '../domain/result.ts';
import { bytesSource, caught, joined, readBytes, type ByteSource } from './source.ts';

/** Limit of an imported file, packed or unpacked, bytes. A million measured configurations fit. */
export const MAX_IMPORT_BYTES = 256 * 2 ** 20;

export const MAX_FILE_BYTES = 4 * 2 ** 30;

export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Unpacks a gzip stream. Throws a `FailureError` on a damaged or truncated archive, or more than `limit` bytes. */
export async function* gunzipped(source: ByteSource, label: string, limit: number): AsyncGenerator<Uint8Array> {
  const unpacking = pipeline(Readable.from(readBytes(source, label)), createGunzip(), () => {});
  let length = 0;
  try {
    for await (const part of unpacking as AsyncIterable<Uint8Array>) {
      length += part.length;
      if (length > limit) unwrap(tooLarge(label, limit, 'the unpacked file'));
      yield part;
    }
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = errorText(error);
    unwrap(badInput(`${label}: the gzip file is damaged after ${length} unpacked bytes (${reason})`));
  }
}

const tooLarge = (label: string, limit: number, what = 'the file'): Result<never> =>
  badInput(`${label}: ${what} has more bytes than the limit of ${limit}`);

export async function gathered(source: ByteSource, label: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of readBytes(source, label)) {
    length += part.length;
    if (length > limit) unwrap(tooLarge(label, limit));
    parts.push(part);
  }
  return joined(parts, length);
}

export async function unpacked(
  bytes: Uint8Array,
  label: string,
  limit = MAX_IMPORT_BYTES,
): Promise<Result<Uint8Array>> {
  if (bytes.length > limit) return tooLarge(label, limit);
  if (!isGzip(bytes)) return ok(bytes);
  return caught(async () => ok(await gathered(gunzipped(bytesSource(bytes), label, limit), label, limit)));
}
