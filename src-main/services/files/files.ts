import { randomUUID } from 'node:crypto';
import { copyFile, lstat, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import {
  fail,
  FailureError,
  ok,
  systemReason,
  type Result,
  badInput,
  notFound,
} from '../../../src-workers/domain/result.ts';

/** Reads and writes files that the user names. A wrong path must not fill the memory, and must not destroy a file. */

const MAX_TEXT_BYTES = 64 * 2 ** 20;

/**
 * Reads a file or a pipe. Fails with `bad-input` if it is a folder or has more than `maxBytes`, and with `not-found` if
 * it cannot be read.
 * @param expected what the file should be, for example `a study file (JSON)`
 */
export async function readBytes(path: string, maxBytes: number, expected = 'a file'): Promise<Result<Uint8Array>> {
  try {
    const handle = await open(path, 'r');
    try {
      const info = await handle.stat();
      if (info.isDirectory()) return badInput(`${path} is a folder. Specify ${expected}.`);
      const tooMuch = (bytes: number | string): Result<never> =>
        badInput(`${path} has ${bytes} bytes, which is more than the limit of ${maxBytes}.`);
      if (info.size > maxBytes) return tooMuch(info.size);
      if (info.isFile()) return ok(await handle.readFile());
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const part of handle.createReadStream({ autoClose: false, end: maxBytes })) {
        parts.push(part as Uint8Array);
        bytes += (part as Uint8Array).length;
      }
      return bytes > maxBytes ? tooMuch(`more than ${maxBytes}`) : ok(Buffer.concat(parts));
    } finally {
      await handle.close();
    }
  } catch (error) {
    return notFound(`${path} cannot be read (${systemReason(error)}). Specify ${expected}.`);
  }
}

/** Reads UTF-8, or UTF-16 with its byte order mark, as PowerShell writes it. The mark stays in the text. */
export async function readText(path: string, expected?: string, maxBytes = MAX_TEXT_BYTES): Promise<Result<string>> {
  const bytes = await readBytes(path, maxBytes, expected);
  if (!bytes.ok) return bytes;
  const [first, second] = bytes.value;
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return ok(new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes.value));
}

/** These errors occur if the file is writable but its folder is not, or if the file itself is a mount point. */
const ONLY_IN_PLACE = ['EACCES', 'EPERM', 'EROFS', 'EBUSY'];

/**
 * Writes a temporary file in the same folder and moves it into place, so that a failure leaves the old content. Links
 * and read permissions are preserved. A terminal, a pipe, a dangling link or a file of `ONLY_IN_PLACE` is written
 * directly. Throws the system's error.
 */
export async function writeWhole(path: string, content: string | Uint8Array | AsyncIterable<string>): Promise<void> {
  const [entry, before] = await Promise.all([lstat, stat].map((ask) => ask(path).catch(() => null)));
  if (entry && !before?.isFile()) return writeFile(path, content);
  const file = before ? await realpath(path) : path;
  const draft = `${file}.${randomUUID().slice(0, 8)}.part`;
  try {
    const isWritten = await attempt(writeFile(draft, content, { flag: 'wx', ...(before && { mode: before.mode }) }));
    if (!isWritten) await writeFile(file, content);
    else if (!(await attempt(rename(draft, file)))) await copyFile(draft, file);
  } finally {
    await rm(draft, { force: true });
  }

  /** Returns false if the work failed because only the file itself can be written. */
  async function attempt(work: Promise<void>): Promise<boolean> {
    try {
      await work;
      return true;
    } catch (error) {
      if (!before || !ONLY_IN_PLACE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return false;
    }
  }
}

/** Works like `writeWhole`, but returns errors: the failure that the content threw, or else `storage`. */
export async function writeFor(path: string, content: Parameters<typeof writeWhole>[1]): Promise<Result<null>> {
  try {
    await writeWhole(path, content);
    return ok(null);
  } catch (error) {
    if (error instanceof FailureError) return { ok: false, error: error.failure };
    return fail('storage', `${path} cannot be written (${systemReason(error)}).`);
  }
}
