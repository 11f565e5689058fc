import { availableParallelism, freemem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { parseArgs } from 'node:util';
import { endWithParent, printLine } from '../parent.ts';
import { readPlanFolder } from '../plan-files.ts';
import { cpuDevice } from './device.ts';
import { measureCpu } from './measure.ts';
import { cpuPlan, standardBytes } from './cpu-plan.ts';
import { runThread, type ThreadTask } from './thread.ts';
import { errorText } from '../../domain/result.ts';

/**
 * The program that measures this machine's CPU. It prints records, one JSON line each. Its exit code is 0, 2 on bad
 * usage, or 1 if the plan cannot be used.
 *
 *     node child.ts FOLDER          measures a plan that `writePlanFolder` wrote; also --plan FOLDER
 *     node child.ts --standard      measures the contention suite of this machine; prints a whole result file
 *     node child.ts --list          prints the device alone
 *
 * Its threads start in this file too, so that it remains a single file when it is bundled.
 */
const USAGE = 'usage: child.ts FOLDER | --plan FOLDER | --standard | --list';

function leave(code: number, message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}

async function main(): Promise<void> {
  const options = { plan: { type: 'string' }, list: { type: 'boolean' }, standard: { type: 'boolean' } } as const;
  let given;
  try {
    given = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    return leave(2, `${errorText(error)}; ${USAGE}`);
  }
  const { plan: named, list, standard } = given.values;
  const device = cpuDevice();
  if (list) return printLine(device);
  const passBytes = standardBytes(Number(device.properties.lastLevelCacheBytes), freemem());
  const measure = (plan: Parameters<typeof measureCpu>[0]): Promise<void> => {
    printLine(device);
    const machine = { passBytes, maxThreads: availableParallelism() };
    return measureCpu(plan, new URL(import.meta.url), machine, printLine);
  };
  if (standard) {
    const plan = cpuPlan({ cores: device.multiprocessors!, totalBytes: passBytes });
    printLine({ type: 'plan', plan, lengthsDigest: null, source: null });
    return measure(plan);
  }
  const folder = named ?? given.positionals[0];
  if (folder === undefined) return leave(2, USAGE);
  const plan = await readPlanFolder(folder);
  if (!plan.ok) return leave(1, plan.error.message);
  if (plan.value.backend !== 'cpu') return leave(1, `${folder}: the plan is for ${plan.value.backend}, not for cpu`);
  return measure(plan.value);
}

if (isMainThread) {
  // V8 does not replace the code of its first tier (Liftoff) while a loop runs, so this slow code would be measured.
  setFlagsFromString('--no-liftoff');
  endWithParent();
  await main();
} else {
  await runThread(workerData as ThreadTask, (message) => parentPort!.postMessage(message));
}
