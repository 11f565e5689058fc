import { randomBytes } from 'node:crypto';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';

/** The form of a token, which becomes part of an address and of a header. */
export const TOKEN_PATTERN = /^[\w-]{16,200}$/;

export function randomToken(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * The token of a database. A file next to the database, which only its owner can read, keeps it, so that pages know a
 * server that was started again. A file that others could read, or without a token, is replaced. Where it cannot be
 * written, the token lasts for this start only.
 */
export async function keptToken(databaseFile: string): Promise<string> {
  const file = `${databaseFile}.token`;
  const known = await readToken(file).catch(() => null);
  if (known !== null) return known;
  const token = randomToken();
  try {
    await writeFile(file, token, { mode: 0o600 });
    // The mode is that of new files alone.
    await chmod(file, 0o600);
  } catch {
    // A folder that cannot be written.
  }
  return token;
}

async function readToken(file: string): Promise<string | null> {
  const { mode } = await stat(file);
  // Windows has no such bits; there the folder of a person is their own.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return null;
  const token = await readFile(file, 'utf8');
  return TOKEN_PATTERN.test(token) ? token : null;
}
