import type { BenchBackend, BenchPlan } from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import { scriptProgram, type Program } from './bench-runner.ts';
import type { Context } from './context.ts';

/** Where benchmarks run: `cuda:0`, `cuda:1`, …, `webgpu` (Dawn under Node), `cpu`, and the GPU of the page that asks. */
export const PAGE_TARGET = 'webgpu-page';

/** Where the programs that measure lie. */
export interface MeasuringPrograms {
  readonly cpuChildFile: string;
  readonly webgpuChildFile: string;
  /** Sources of the CUDA program. */
  readonly cudaFolder: string;
}

export function targetBackend(target: string): Result<BenchBackend> {
  if (/^cuda:\d{1,2}$/.test(target)) return ok('cuda');
  if (target === 'webgpu' || target === PAGE_TARGET) return ok('webgpu');
  if (target === 'cpu') return ok('cpu');
  return fail('bad-input', `target: got "${target.slice(0, 80)}", expected cuda:0, webgpu, ${PAGE_TARGET} or cpu`);
}

/** Makes the program that measures a plan on a target, in a folder of its own. */
export async function prepareProgram(
  { programs }: Context,
  target: string,
  plan: BenchPlan,
  folder: string,
  _signal: AbortSignal,
): Promise<Result<Program>> {
  try {
    await writePlanFolder(folder, plan);
  } catch (error) {
    return fail('storage', `the plan cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  switch (plan.backend) {
    case 'cpu':
      return ok(scriptProgram(programs.cpuChildFile, [folder], folder));
    case 'webgpu':
      return ok(scriptProgram(programs.webgpuChildFile, [folder], folder));
    case 'cuda':
      return fail('unsupported', `${target}: not in this version yet`);
  }
}
