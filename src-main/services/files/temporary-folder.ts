import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { processLives } from '../../../db/ownership.ts';
import { fail, type Result } from '../../../src-workers/domain/result.ts';

const PREFIX = `lockstep-plan-${hostname().replaceAll(/[^\w.]/g, '_')}-`;

/** Makes a folder that lasts as long as the call. Fails with `storage` if it cannot be made. */
export async function inTemporaryFolder<T>(body: (folder: string) => Promise<Result<T>>): Promise<Result<T>> {
  let folder: string;
  try {
    await removeLeftFolders();
    folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
  } catch (error) {
    return fail('storage', `No temporary folder can be made: ${String(error)}`);
  }
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Killed processes leave folders whose lengths may take hundreds of megabytes. */
async function removeLeftFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? /^(\d+)-/.exec(name.slice(PREFIX.length))?.[1] : undefined;
    if (pid === undefined || processLives(Number(pid))) continue;
    // A folder of another user cannot be removed, so it stays.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}
