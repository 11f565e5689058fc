import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, ok, type Result, unsupported } from '../domain/result.ts';
import { firstError } from './cuda/ptxas.ts';
import type { ToolRun } from './tool.ts';

export interface CacheEntry {
  readonly key: string;
  readonly path: string;
  readonly log: string;
  readonly made: boolean;
}

/**
 * Returns the output file of a tool, from the cache if possible. An entry is a folder with the file, the tool's log and
 * the file's digest. If the file has changed, it is made again. Several processes may use one cache. Fails with
 * `unsupported` and the tool's first error, with `storage`, and as `make` does.
 * @param parts everything on which the output depends
 * @param make makes the file. It may use the folder `temporary`, which is then removed.
 * @param remedy how the user names another nvcc, if not by NVCC
 */
export async function cachedOutput(
  cacheFolder: string,
  file: string,
  parts: readonly string[],
  refused: string,
  make: (path: string, temporary: string) => Promise<Result<ToolRun>>,
  remedy?: string,
): Promise<Result<CacheEntry>> {
  const key = createHash('sha256')
    .update(JSON.stringify([file, ...parts]))
    .digest('hex');
  const folder = join(cacheFolder, key);
  const found = await readEntry(folder, file);
  if (found !== null) {
    await markUsed(folder);
    return ok({ key, path: join(folder, file), log: found, made: false });
  }
  const draft = join(cacheFolder, `${DRAFT}${randomUUID()}`);
  try {
    const temporary = join(draft, 'temporary');
    await mkdir(temporary, { recursive: true });
    const run = await make(join(draft, file), temporary);
    await rm(temporary, { recursive: true, force: true });
    if (!run.ok) return run;
    const log = run.value.stdout + run.value.stderr;
    if (run.value.code !== 0) return unsupported(`${refused}: ${firstError(log, remedy)}`, { log: log.slice(0, 4000) });
    if (!(await isFile(join(draft, file)))) return unsupported(`${refused}: it made no file ${join(draft, file)}`);
    await writeFile(join(draft, ENTRY), JSON.stringify({ digest: await computeDigest(join(draft, file)), log }));
    await replace(draft, folder, file);
  } catch (error) {
    return fail('storage', `the cache of compiled programs cannot be written: ${String(error)}`);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  const written = await readEntry(folder, file);
  return written === null
    ? fail('storage', `${join(folder, file)} has changed since it was written`)
    : ok({ key, path: join(folder, file), log: written, made: true });
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

const ENTRY = 'entry.json';
const DRAFT = 'draft-';

/** Maximum size of the cache, bytes. The outputs for a plan and a compiler take a few megabytes, so many fit. */
const MAX_CACHE_BYTES = 256 * 2 ** 20;
/** Age at which an unfinished entry must come from a killed process, ms. No compilation may take nearly as long. */
const STALE_DRAFT_MS = 24 * 3600 * 1000;

async function markUsed(folder: string): Promise<void> {
  const now = new Date();
  // Another process may have removed the entry in the meantime. The next process will make it again.
  await utimes(join(folder, ENTRY), now, now).catch(() => {});
}

/**
 * Removes the remains of killed processes, and the least recently used entries until the rest fits in `maxBytes`.
 * Entries that cannot be removed stay, because a large cache must not stop a measurement.
 * @param kept keys of entries that are neither removed nor counted
 */
export async function pruneCache(
  cacheFolder: string,
  kept: ReadonlySet<string>,
  maxBytes = MAX_CACHE_BYTES,
): Promise<void> {
  const remove = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true }).catch(() => {});
  const entries: { readonly folder: string; readonly bytes: number; readonly usedMs: number }[] = [];
  for (const name of await readdir(cacheFolder).catch(() => [])) {
    const folder = join(cacheFolder, name);
    try {
      if (name.startsWith(DRAFT)) {
        if (Date.now() - (await stat(folder)).mtimeMs > STALE_DRAFT_MS) await remove(folder);
      } else if (/^[0-9a-f]{64}$/.test(name) && !kept.has(name)) {
        const files = await Promise.all((await readdir(folder)).map((file) => stat(join(folder, file))));
        const bytes = files.reduce((sum, { size }) => sum + size, 0);
        entries.push({ folder, bytes, usedMs: Math.max(...files.map(({ mtimeMs }) => mtimeMs)) });
      }
    } catch {
      // Another process has already removed it.
    }
  }
  let bytes = 0;
  for (const entry of entries.sort((a, b) => b.usedMs - a.usedMs)) {
    bytes += entry.bytes;
    if (bytes > maxBytes) await remove(entry.folder);
  }
}

async function readEntry(folder: string, file: string): Promise<string | null> {
  try {
    const entry: unknown = JSON.parse(await readFile(join(folder, ENTRY), 'utf8'));
    if (typeof entry !== 'object' || entry === null || !('digest' in entry) || !('log' in entry)) return null;
    return typeof entry.log === 'string' && entry.digest === (await computeDigest(join(folder, file)))
      ? entry.log
      : null;
  } catch {
    return null;
  }
}

async function computeDigest(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

/** Moves a finished folder to its place. If another process has just put the same folder there, that folder stays. */
async function replace(draft: string, folder: string, file: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rename(draft, folder);
    } catch (error) {
      if ((await readEntry(folder, file)) !== null) return;
      if (attempt === 2) throw error;
      // The folder in this place is damaged.
      const aside = `${draft}-old`;
      await rename(folder, aside).catch(() => {});
      await rm(aside, { recursive: true, force: true });
    }
  }
}
