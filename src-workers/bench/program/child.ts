import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endWithParent, printLine } from '../parent.ts';
import { ok } from '../../domain/result.ts';
import { kernelProgram } from '../kernel/cuda-program.ts';
import { openclProgram } from '../kernel/opencl-program.ts';
import { readPlanFolder } from '../plan-files.ts';
import { openBuilder } from './build.ts';
import { measureProgram } from './measure.ts';
import { openUnitFiles } from './unit-files.ts';

/**
 * Measures the plan in a folder by running the user's own program. It prints records, one JSON line each. The exit code
 * is 0, or 1 if the plan cannot be read.
 *
 *     node child.ts FOLDER --cache FOLDER --build-limit MS --cuda-sources FOLDER --opencl-host FILE
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      cache: { type: 'string' },
      'build-limit': { type: 'string' },
      'cuda-sources': { type: 'string' },
      'opencl-host': { type: 'string' },
    },
    allowPositionals: true,
  });
  const [folder] = positionals;
  const { cache } = values;
  const plan = await readPlanFolder(folder);
  const task = plan.ok ? plan.value.program : undefined;
  if (!plan.ok || !task || cache === undefined) {
    process.stderr.write(`${plan.ok ? 'Specify a plan for a program, and --cache.' : plan.error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const kept = { cache, run: join(folder, 'builds') };
  const limitMs = Number(values['build-limit']);
  const { kernel } = plan.value;
  const own = !kernel
    ? ok(null)
    : kernel.platform === 'opencl'
      ? await openclProgram(plan.value, task, kernel, values['opencl-host']!, folder)
      : await kernelProgram(plan.value, task, kernel, { sources: values['cuda-sources']!, folder, ...kept }, limitMs);
  if (!own.ok) {
    process.stderr.write(`${own.error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const measured = own.value?.task ?? task;
  const build = own.value?.build ?? openBuilder(task, kept, limitMs);
  await measureProgram(plan.value, measured, openUnitFiles(plan.value, measured, folder), build, printLine);
}

endWithParent();
await main();
