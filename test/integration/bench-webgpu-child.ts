import { readPlanFolder } from '../../src-workers/bench/plan-files.ts';
import { measureWebGpu } from '../../src-workers/bench/webgpu/measure.ts';
import { openNodeWebGpu } from '../../src-workers/bench/webgpu/node.ts';
import { fail, unwrap } from '../../src-workers/domain/result.ts';

/* Measures a plan. Loses the device, or aborts, at the first counted sample. */
const [how, folder] = process.argv.slice(2) as [string, string];
const plan = unwrap(await readPlanFolder(folder));
const { device, info } = unwrap(await openNodeWebGpu());
const stop = new AbortController();
await measureWebGpu(
  device,
  info,
  plan,
  (record) => {
    process.stdout.write(`${JSON.stringify(record)}\n`);
    if (record.type !== 'sample' || record.warmUp) return;
    if (how === 'abort') stop.abort();
    else device.destroy();
  },
  stop.signal,
  () => Promise.resolve(fail('unsupported', 'no laws here')),
);
process.exit(0);
