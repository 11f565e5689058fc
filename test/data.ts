import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const dataFile = (name: string): string => join(import.meta.dirname, 'data', name);

export const dataText = (name: string): string => readFileSync(dataFile(name), 'utf8');

export const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Yields the content of a file in chunks of `chunkBytes` bytes. */
export async function* chunks(content: Uint8Array | string, chunkBytes = 7): AsyncGenerator<Uint8Array> {
  const bytes = typeof content === 'string' ? encode(content) : content;
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}
