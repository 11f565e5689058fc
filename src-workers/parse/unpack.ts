import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorText, FailureError, ok, type Result, badInput } from '../domain/result.ts';
import { bytesSource, caught, joined, readBytes, type ByteSource } from './source.ts';

/**
 * Maximum size of an imported file, packed or unpacked. A million measured configurations fit. Archives that expand
 * without end are stopped here.
 */
export const MAX_IMPORT_BYTES = 256 * 2 ** 20;

/** Maximum size of a file of lengths, packed or unpacked. Such a file is read as a stream, so the limit is larger. */
export const MAX_FILE_BYTES = 4 * 2 ** 30;

export const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;

/** Unpacks a gzip stream. Throws a `FailureError` on a damaged or truncated archive, or more than `limit` bytes. */
export async function* gunzipped(source: ByteSource, label: string, limit: number): AsyncGenerator<Uint8Array> {
  const unpacking = pipeline(Readable.from(readBytes(source, label)), createGunzip(), () => {});
  let length = 0;
  try {
    for await (const part of unpacking as AsyncIterable<Uint8Array>) {
      length += part.length;
      if (length > limit) throw tooLarge(label, limit);
      yield part;
    }
  } catch (error) {
    if (error instanceof FailureError) throw error;
    const reason = errorText(error);
    const message = `${label}: the gzip file is damaged after ${length} unpacked bytes (${reason})`;
    throw new FailureError({ code: 'bad-input', message });
  }
}

const tooLarge = (label: string, limit: number): FailureError =>
  new FailureError({ code: 'bad-input', message: `${label}: the file has more bytes than the limit of ${limit}` });

/** Reads all bytes of a source. Throws a `FailureError` if there are more than the limit. */
export async function gathered(source: ByteSource, label: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of readBytes(source, label)) {
    length += part.length;
    if (length > limit) throw tooLarge(label, limit);
    parts.push(part);
  }
  return joined(parts, length);
}

/**
 * Returns the content of a file, unpacked if its first bytes show that it is gzip. Fails if the file or its content
 * exceeds `limit` bytes, or if the archive is damaged or truncated.
 */
export async function unpacked(
  bytes: Uint8Array,
  label: string,
  limit = MAX_IMPORT_BYTES,
): Promise<Result<Uint8Array>> {
  if (bytes.length > limit) return badInput(tooLarge(label, limit).failure.message);
  if (!isGzip(bytes)) return ok(bytes);
  return caught(async () => ok(await gathered(gunzipped(bytesSource(bytes), label, limit), label, limit)));
}
