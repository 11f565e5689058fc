import { readPlanFolder } from '../../../src-workers/bench/plan-files.ts';
import { cpuDevice } from '../../../src-workers/bench/cpu/device.ts';
import { measureCpu } from '../../../src-workers/bench/cpu/measure.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';

/* Runs the CPU's measuring program with passes of a few megabytes, because its tests do not measure speed. */
const PROGRAM = new URL('../../../src-workers/bench/cpu/child.ts', import.meta.url);
const print = (record: object): void => void process.stdout.write(`${JSON.stringify(record)}\n`);
const plan = unwrap(await readPlanFolder(process.argv[2]));
print(cpuDevice());
await measureCpu(plan, PROGRAM, { passBytes: 2 ** 22, maxThreads: 2 }, print);
