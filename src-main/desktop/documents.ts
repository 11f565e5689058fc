import { open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { OpenedFile } from '../contract/bridge.ts';
import { fail, type Result } from '../../src-workers/domain/result.ts';

/** Largest study file that is read; the same limit as `studies.import`. */
const MAX_STUDY_BYTES = 4_000_000;

/** Reads a study file's text. What it says is the engine's to judge. */
export async function readStudyFile(file: string): Promise<Result<OpenedFile>> {
  try {
    const handle = await open(file, 'r');
    try {
      const found = await handle.stat();
      if (!found.isFile()) return fail('bad-input', `${file} is no file; expected a study file`);
      if (found.size > MAX_STUDY_BYTES)
        return fail('bad-input', `${file} has ${found.size} bytes; a study file has at most ${MAX_STUDY_BYTES}`);
      return { ok: true, value: { fileName: basename(file), text: await handle.readFile('utf8') } };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return fail('not-found', `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Writes beside the file and renames, so that a failure leaves what was there. */
export async function writeDocument(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    await writeFile(draft, text, { flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** A name that can only be a name: no folders, nothing a file system or a shell takes for more. */
export function safeFileName(suggested: string): string {
  const name = basename(suggested.replaceAll('\\', '/'))
    // eslint-disable-next-line no-control-regex -- control characters are exactly what must go
    .replace(/[\u0000-\u001f<>:"/|?*]/g, '-')
    .replace(/^\.+/, '')
    .slice(0, 120);
  return name === '' ? 'lockstep.txt' : name;
}

/** Files of a command line that may be studies: an existing file is checked when it is read. */
export function studyArguments(argv: readonly string[]): readonly string[] {
  return argv.slice(1).filter((argument) => !argument.startsWith('-') && extname(argument).toLowerCase() === '.json');
}
