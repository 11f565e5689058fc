import { spawn } from 'node:child_process';
import type { BenchRecord } from '../../domain/benchmark.ts';
import { fail } from '../../domain/result.ts';
import { resolveWorkload } from '../../parse/grammar.ts';
import { endWithParent, PARENT_VARIABLE } from '../parent.ts';
import { readPlanFolder } from '../plan-files.ts';
import { measureWebGpu } from './measure.ts';
import { openNodeWebGpu, softwareEnvironment } from './node.ts';

/*
 * Measures the plan in a folder with WebGPU: node child.ts FOLDER. Prints BenchRecords as JSON lines. A process of its own,
 * since a driver that crashes takes its process along. Exit code 0 unless the plan cannot be read or something breaks; that
 * there is no device, or no longer, is reported by a `lost` record.
 */

function print(record: BenchRecord): Promise<void> {
  return new Promise((resolve, reject) =>
    process.stdout.write(`${JSON.stringify(record)}\n`, (error) => (error ? reject(error) : resolve())),
  );
}

async function main(folder: string | undefined): Promise<number> {
  const plan = folder === undefined ? fail('bad-input', 'Name a folder with a plan') : await readPlanFolder(folder);
  if (!plan.ok) {
    process.stderr.write(`${plan.error.message}\n`);
    return 2;
  }
  const opened = await openNodeWebGpu();
  if (!opened.ok) {
    const software = opened.error.code === 'not-found' ? softwareEnvironment(process.env) : null;
    // A loader reads its environment when its process starts.
    if (software) return again(software);
    await print({ type: 'lost', message: opened.error.message });
    return 0;
  }
  const { device, info } = opened.value;
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  await measureWebGpu(device, info, plan.value, print, stop.signal, (text) =>
    resolveWorkload(text, {
      openFile: (path) =>
        Promise.resolve(fail('unsupported', `file ${path}: only laws of the grammar can be measured here`)),
    }),
  );
  device.destroy();
  return 0;
}

/** The same once more, with more in its environment; ends as that does. */
function again(env: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, process.argv.slice(1), {
      env: { ...process.env, ...env, [PARENT_VARIABLE]: String(process.pid) },
      stdio: 'inherit',
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (signal) process.kill(process.pid, signal);
      else resolve(code ?? 1);
    });
    process.on('SIGTERM', () => child.kill('SIGTERM'));
  });
}

endWithParent();
// Threads of the driver would keep the process.
process.exit(await main(process.argv[2]));
