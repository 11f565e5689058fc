import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BenchPlan } from '../../domain/benchmark.ts';
import { fail, ok, type Result } from '../../domain/result.ts';
import type { WorkloadContext } from '../../parse/grammar.ts';
import { cudaPlan, type CudaPlan } from './cuda-plan.ts';

export interface BenchCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Fails as `cudaPlan` does, and with `storage` if the files cannot be written. */
export async function writeCudaPlan(
  plan: BenchPlan,
  folder: string,
  context: WorkloadContext,
): Promise<Result<CudaPlan>> {
  const made = await cudaPlan(plan, context);
  if (!made.ok) return made;
  try {
    for (const { path, bytes } of made.value.files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), bytes);
    }
  } catch (error) {
    return fail('storage', `the plan cannot be written: ${String(error)}`);
  }
  return ok(made.value);
}

export function cudaCommand(program: string, folder: string, device: number): BenchCommand {
  // With `--turns`, the program announces the case of each launch, so that a crash can be assigned to a case.
  return { program, args: ['--plan', 'plan.txt', '--device', String(device), '--turns'], cwd: folder };
}
