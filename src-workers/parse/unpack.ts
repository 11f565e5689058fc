import { fail, ok, type Result } from '../domain/result.ts';

/** The largest file that is imported, packed or unpacked: room for a million measured configurations, and a limit for archives that explode. */
export const MAX_IMPORT_BYTES = 256 * 2 ** 20;

/**
 * A file's content, unpacked where it is gzip (known by its first bytes, not by its name). Fails on a file or content of more
 * than `limit` bytes, and on a damaged or cut-off archive.
 */
export async function unpacked(
  bytes: Uint8Array,
  label: string,
  limit = MAX_IMPORT_BYTES,
): Promise<Result<Uint8Array>> {
  const tooLarge = (): Result<never> => fail('bad-input', `${label}: more than ${limit} bytes, the limit`);
  if (bytes.length > limit) return tooLarge();
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return ok(bytes);
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream('gzip'));
    for await (const part of stream) {
      length += part.length;
      if (length > limit) return tooLarge();
      parts.push(part);
    }
  } catch (error) {
    // Node's stream says why in the cause alone.
    const said = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = said instanceof Error ? said.message : String(said);
    return fail('bad-input', `${label}: the gzip file is damaged after ${length} unpacked bytes (${reason})`);
  }
  const content = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return ok(content);
}
