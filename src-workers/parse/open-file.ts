import { createReadStream, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ok, systemReason, type Result, badInput, notFound } from '../domain/result.ts';
import { LOCAL_PATH } from '../domain/text.ts';
import { resolveOrderedWorkload, type OrderedWorkload } from './grammar.ts';
import type { FileBytes } from './source.ts';
import { MAX_FILE_BYTES } from './unpack.ts';

export interface OpenedFile {
  readonly file: string;
  readonly state: string;
}

export function fileState({ mtimeMs, size, ino }: Stats): string {
  return `${mtimeMs}|${size}|${ino}`;
}

export function fileOpener(folder: string, opened?: (file: OpenedFile) => void) {
  return async (path: string): Promise<Result<FileBytes>> => {
    if (!LOCAL_PATH.test(path)) return badInput(`${path} is on another machine. Copy it to the folder of the study.`);
    const file = resolve(folder, path);
    let byteLength: number;
    try {
      const info = await stat(file);
      if (!info.isFile()) return badInput(`${path} is a folder or a special file. Specify a regular file.`);
      if (info.size > MAX_FILE_BYTES)
        return badInput(`${path} has ${info.size} bytes, which is more than the limit of ${MAX_FILE_BYTES}.`);
      byteLength = info.size;
      opened?.({ file, state: fileState(info) });
    } catch (error) {
      return notFound(
        `${path} cannot be read (${systemReason(error)}). Paths are relative to the folder of the study or, without a study, to the current folder.`,
      );
    }
    return ok({
      byteLength,
      slice: (start, end = byteLength) => slice(file, start, end),
      [Symbol.asyncIterator]: () => (createReadStream(file) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
    });
  };
}

async function slice(file: string, start: number, end: number): Promise<ArrayBuffer> {
  await using handle = await open(file);
  const bytes = new Uint8Array(Math.max(0, end - start));
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.buffer.slice(0, bytesRead);
}

export async function workloadWithFiles({
  text,
  folder,
  truncation,
}: {
  readonly text: string;
  readonly folder: string;
  readonly truncation?: number | undefined;
}): Promise<Result<OrderedWorkload & { readonly files: readonly OpenedFile[] }>> {
  const files: OpenedFile[] = [];
  const openFile = fileOpener(folder, (file) => files.push(file));
  const resolved = await resolveOrderedWorkload(text, { openFile, truncation });
  return resolved.ok ? ok({ ...resolved.value, files }) : resolved;
}
