import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { BenchRecord } from '../../domain/benchmark.ts';
import type { KernelTask } from '../../domain/kernel-manifest.ts';
import { ok, type Result, badInput, unsupported } from '../../domain/result.ts';
import { resolveWorkload } from '../../parse/grammar.ts';
import { endWithParent, PARENT_VARIABLE } from '../parent.ts';
import { readPlanFolder } from '../plan-files.ts';
import { readContents, sourcePath } from '../kernel/files.ts';
import { measureWebGpu, type LengthLawSource } from './measure.ts';
import { openNodeWebGpu, softwareEnvironment } from './node.ts';
import type { LoadedKernel } from './own-kernel.ts';

/* Measures the plan in a folder with WebGPU: node child.ts FOLDER. It prints BenchRecords as JSON lines. It is a
   separate process, because a driver that crashes ends its process too. The exit code is 0 unless the plan cannot be
   read or something breaks. A missing or lost device is reported by a `lost` record. */

function print(record: BenchRecord): Promise<void> {
  return new Promise((resolve, reject) =>
    process.stdout.write(`${JSON.stringify(record)}\n`, (error) => (error ? reject(error) : resolve())),
  );
}

async function main(folder: string | undefined): Promise<number> {
  const plan = folder === undefined ? badInput('Specify a folder with a plan.') : await readPlanFolder(folder);
  if (!plan.ok) {
    process.stderr.write(`${plan.error.message}\n`);
    return 2;
  }
  const kernel = plan.value.kernel ? await loadedKernel(plan.value.kernel) : ok(null);
  if (!kernel.ok) {
    process.stderr.write(`${kernel.error.message}\n`);
    return 2;
  }
  const opened = await openNodeWebGpu();
  if (!opened.ok) {
    const software = opened.error.code === 'not-found' ? softwareEnvironment(process.env) : null;
    // The Vulkan loader reads its environment only when a process starts.
    if (software) return again(software);
    await print({ type: 'lost', message: opened.error.message });
    return 0;
  }
  const { device, info } = opened.value;
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  const openFile = async (path: string): Promise<Result<never>> =>
    unsupported(`WebGPU cannot measure the file ${path} here. Use a law, such as geometric(0.05).`);
  const lengthLaw: LengthLawSource = (text) => resolveWorkload(text, { openFile });
  await measureWebGpu(device, info, plan.value, print, stop.signal, lengthLaw, kernel.value);
  device.destroy();
  return 0;
}

async function loadedKernel(task: KernelTask): Promise<Result<LoadedKernel>> {
  const path = sourcePath(task, 'wgsl');
  if (path === null) return unsupported(`${task.file} names no .wgsl source. WebGPU needs one.`);
  const contents = await readContents(task);
  return contents.ok ? ok({ ...contents.value, task, wgsl: await readFile(path, 'utf8') }) : contents;
}

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
// Threads of the driver would keep the process alive, so it must exit explicitly.
process.exit(await main(process.argv[2]));
