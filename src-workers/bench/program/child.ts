import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endWithParent, printLine } from '../parent.ts';
import { LENGTHS_FILE, readPlanFolder } from '../plan-files.ts';
import { openBuilder } from './build.ts';
import { measureProgram } from './measure.ts';

/**
 * Measures the plan in a folder by running a person's own program: node child.ts FOLDER --cache FOLDER --build-limit MS. Prints
 * records, one JSON line each, and ends with 0; 1 where the plan cannot be read, with one line on standard error.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { cache: { type: 'string' }, 'build-limit': { type: 'string' } },
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
  const build = openBuilder(task, { cache, run: join(folder, 'builds') }, Number(values['build-limit']));
  await measureProgram(plan.value, task, join(folder, LENGTHS_FILE), build, printLine);
}

endWithParent();
await main();
