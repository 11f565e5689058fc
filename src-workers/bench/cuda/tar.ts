import { ok, type Result, badInput } from '../../domain/result.ts';
import type { PlacedFile } from './cuda-plan.ts';

const BLOCK = 512;
export const ARCHIVE_FOLDER = 'lockstep-bundle';

/** Equal files give equal bytes, since owners and times are zero. Fails with `bad-input` on a bad path. */
export function tarArchive(files: readonly PlacedFile[]): Result<Uint8Array> {
  const sizes = files.map(({ bytes }) => BLOCK + Math.ceil(bytes.length / BLOCK) * BLOCK);
  // Two empty blocks end an archive.
  const archive = new Uint8Array(sizes.reduce((sum, size) => sum + size, 2 * BLOCK));
  let at = 0;
  for (const [i, { path, bytes, executable }] of files.entries()) {
    const name = new TextEncoder().encode(`${ARCHIVE_FOLDER}/${path}`);
    if (path === '' || name.length > 100 || path.startsWith('/') || path.split('/').includes('..'))
      return badInput(`The path ${JSON.stringify(path)} leaves the archive, or is longer than 84 bytes.`);
    const header = archive.subarray(at, at + BLOCK);
    header.set(name, 0);
    const field = (text: string, offset: number): void => header.set(new TextEncoder().encode(text), offset);
    const octal = (value: number, digits: number, offset: number): void =>
      field(`${value.toString(8).padStart(digits, '0')}\0`, offset);
    octal(executable ? 0o755 : 0o644, 7, 100);
    octal(0, 7, 108); // owner
    octal(0, 7, 116); // group
    octal(bytes.length, 11, 124);
    octal(0, 11, 136); // time
    field('0', 156); // a plain file
    field('ustar\0' + '00', 257);
    // The checksum is computed while its own field contains spaces.
    field(' '.repeat(8), 148);
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
      148,
    );
    archive.set(bytes, at + BLOCK);
    at += sizes[i];
  }
  return ok(archive);
}
