import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fail, ok, systemReason, type Result } from '../../../src-workers/domain/result.ts';

export function defaultDatabaseFile(): string {
  const home = homedir();
  // The XDG base directory specification says that relative paths are ignored.
  const shared = process.env.XDG_DATA_HOME ?? '';
  const folder =
    process.platform === 'win32'
      ? join(process.env.APPDATA ?? join(home, 'AppData', 'Roaming'), 'Lockstep')
      : process.platform === 'darwin'
        ? join(home, 'Library', 'Application Support', 'Lockstep')
        : join(isAbsolute(shared) ? shared : join(home, '.local', 'share'), 'lockstep');
  return join(folder, 'lockstep.db');
}

/** Makes the folder of the default database, but not a folder that the user names. Fails with `storage`. */
export function makeDefaultFolder(databaseFile: string): Result<null> {
  if (databaseFile !== defaultDatabaseFile()) return ok(null);
  const folder = dirname(databaseFile);
  try {
    mkdirSync(folder, { recursive: true });
    return ok(null);
  } catch (error) {
    return fail(
      'storage',
      `The folder ${folder} cannot be made (${systemReason(error)}). Name another database with --db FILE.`,
    );
  }
}

export const migrationsIn = (resourceFolder: string): string => join(resourceFolder, 'db', 'migrations');
