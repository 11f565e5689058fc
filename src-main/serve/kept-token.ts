import { randomBytes } from 'node:crypto';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';

/** A token becomes part of an address and of a header. */
export const TOKEN_PATTERN = /^[\w-]{16,200}$/;

export function randomToken(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Returns the token, which is kept in a file next to the database so that pages recognize the server after a restart. A
 * file that others can read, or that has no token, is replaced. If this fails, the token is valid until the server
 * ends.
 */
export async function keptToken(databaseFile: string): Promise<string> {
  const file = `${databaseFile}.token`;
  const known = await readToken(file).catch(() => null);
  if (known !== null) return known;
  const token = randomToken();
  try {
    await writeFile(file, token, { mode: 0o600 });
    // `writeFile` applies the mode only to new files.
    await chmod(file, 0o600);
  } catch {
    // The file cannot be written, so the token is lost when the server ends.
  }
  return token;
}

async function readToken(file: string): Promise<string | null> {
  const { mode } = await stat(file);
  // Windows has no permission bits, but other users cannot read a user's folder there.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return null;
  const token = await readFile(file, 'utf8');
  return TOKEN_PATTERN.test(token) ? token : null;
}
