import type { ExportDocument } from '../../src-main/contract/api.ts';
import { documentParts } from '../../src-main/contract/document.ts';
import type { Engine } from '../state/engine.svelte.ts';

export function saveFile(fileName: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Saves text by the native dialog, or else as a download. Resolves to the file's path or name; `null` if cancelled. */
export async function saveText(fileName: string, mediaType: string, text: string): Promise<string | null> {
  if (window.lockstep) return window.lockstep.saveDocument({ fileName, mediaType, text });
  saveFile(fileName, new Blob([text], { type: mediaType }));
  return fileName;
}

export const chooseFile = (accept: string, take: (file: File) => unknown): void =>
  chooseFiles(accept, ([file]) => take(file), false);

export function chooseFiles(accept: string, take: (files: readonly File[]) => unknown, multiple = true): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.accept = accept;
  input.multiple = multiple;
  input.addEventListener('change', () => {
    if (input.files?.length) void take([...input.files]);
  });
  input.click();
}

/** Saves a document by `saveText` or, if it comes in parts, as a download. Throws if a part is missing. */
export async function saveDocument(engine: Engine, document: ExportDocument): Promise<string | null> {
  const { fileName, mediaType, text } = document;
  if (document.next === undefined) return saveText(fileName, mediaType, text);
  // The text of a document in parts may exceed the limit of a string, and a browser keeps large blobs on disk.
  const parts: Blob[] = [];
  for await (const part of documentParts(engine, document)) parts.push(new Blob([part]));
  saveFile(fileName, new Blob(parts, { type: mediaType }));
  return fileName;
}
