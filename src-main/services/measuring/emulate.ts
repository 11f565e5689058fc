import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileEmulated } from '../../../src-workers/bench/cuda/emulation.ts';
import { fail, ok, systemReason, type Result } from '../../../src-workers/domain/result.ts';
import { COMPILE_LIMIT_MS, userCacheFolder } from './targets.ts';

export async function emulateProgram(
  cudaFolder: string,
  files: readonly string[],
  flags: readonly string[],
  output: string,
): Promise<Result<null>> {
  const cacheFolder = join(userCacheFolder(), 'emulation');
  const compiled = await compileEmulated({ sources: cudaFolder, files, flags, cacheFolder, timeLimitMs: COMPILE_LIMIT_MS }); // prettier-ignore
  if (!compiled.ok) return compiled;
  try {
    await copyFile(compiled.value, output);
    return ok(null);
  } catch (error) {
    return fail('storage', `${output} cannot be written (${systemReason(error)}).`);
  }
}
