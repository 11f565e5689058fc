import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';

/** The largest workload file that is read: a guard against a wrong path, not a limit of the parsers. */
const MAX_FILE_BYTES = 4 * 2 ** 30;

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** Opens a workload file relative to a folder, as a byte stream. */
export function fileOpener(folder: string) {
  return async (path: string): Promise<Result<AsyncIterable<Uint8Array>>> => {
    const file = resolve(folder, path);
    try {
      const info = await stat(file);
      if (!info.isFile()) return fail('bad-input', `${path}: got a folder or device, expected a file`);
      if (info.size > MAX_FILE_BYTES) return fail('bad-input', `${path}: got ${info.size} bytes, expected at most ${MAX_FILE_BYTES}`);
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
      return fail('not-found', `${path}: cannot be read (${reason}); expected a file beside the study`);
    }
    return ok(createReadStream(file) as AsyncIterable<Uint8Array>);
  };
}

/** The same law over shared memory: workers then read it without a copy. */
export function sharedLaw(law: LengthLaw): LengthLaw {
  const share = (values: Float64Array): Float64Array => {
    const shared = new Float64Array(new SharedArrayBuffer(values.byteLength));
    shared.set(values);
    return shared;
  };
  return { ...law, support: share(law.support), probability: share(law.probability) };
}
