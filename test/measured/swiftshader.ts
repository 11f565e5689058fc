import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import { softwareDriver, softwareEnvironment } from '../../src-workers/bench/webgpu/node.ts';
import type { BenchPlan, BenchRecord, MeasuringDevice, UnitLoopWorkload } from '../../src-workers/domain/benchmark.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import type { KernelTask } from '../../src-workers/domain/kernel-manifest.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { quantile } from '../../src-workers/models/workload/laws.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { benchPlan, unitLoop } from '../measuring.ts';

// Measures on SwiftShader, the software adapter of every Chromium. SwiftShader is a real lockstep machine of 4 lanes.
// Its sources (src/Pipeline/ComputeProgram.cpp and SpirvShaderControlFlow.cpp) and measured times show how it runs a
// launch. Blocks are assigned in turn to 16 tasks, and the tasks run on as many threads as the machine has cores. The
// subgroups of a block run one after another on one thread. A branch masks lanes but is never jumped over. A loop runs
// until no lane is left in it, at least once. A single block therefore runs on one thread, and its time is the sum of
// the depths of its groups. An empty unit costs one pass of its loop.

const CHILD = join(import.meta.dirname, '../../src-workers/bench/webgpu/child.ts');

/** Returns the environment in which the child uses only SwiftShader. Throws if SwiftShader is not installed. */
export function swiftShaderEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  delete env.VK_ICD_FILENAMES;
  delete env.VK_DRIVER_FILES;
  const added = softwareEnvironment(env);
  if (softwareDriver(env) === null || added === null)
    throw new Error(
      "SwiftShader's Vulkan driver was not found. Install Chromium (Debian: apt-get install chromium), or name its " +
        'description file in LOCKSTEP_VULKAN_ICD.',
    );
  return { ...env, ...added };
}

/** Gives a new process priority over all others. If the system refuses, the fastest times are still usable. */
function goFirst(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_HIGHEST);
    writeFileSync(`/proc/${pid}/autogroup`, '-20');
  } catch {
    // Only root may raise priorities, and only some Linux kernels schedule processes by session.
  }
}

async function measure(plan: BenchPlan): Promise<BenchRecord[]> {
  const env = swiftShaderEnvironment();
  const folder = await mkdtemp(join(tmpdir(), 'lockstep-measured-'));
  try {
    await writePlanFolder(folder, plan);
    return await new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [CHILD, folder], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        // In its own session, the child can get a priority as one group of processes (see `goFirst`).
        detached: true,
      });
      goFirst(child.pid!);
      let output = '';
      let errors = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
      child.once('error', reject);
      child.once('close', (code, signal) => {
        if (code !== 0) return reject(new Error(`the child ended with ${signal ?? code}: ${errors.slice(-2000)}`));
        resolve(
          output
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as BenchRecord),
        );
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns lengths spread evenly over the quantiles of a law, in random order, and so without random error. */
export function spreadLengths(law: LengthLaw, units: number, seed: number): Uint32Array {
  const lengths = Uint32Array.from({ length: units }, (_, i) => quantile(law, (i + 0.5) / units));
  const uniform = mersenneTwister(seed);
  for (let i = units - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1));
    const length = lengths[i];
    lengths[i] = lengths[j];
    lengths[j] = length;
  }
  return lengths;
}

export interface Batch {
  readonly workload: UnitLoopWorkload;
  readonly designs: readonly Design[];
  /** A kernel that is measured instead of the unit loop. */
  readonly kernel?: KernelTask;
}

export interface Timed {
  readonly device: MeasuringDevice;
  /** All samples in ns, by batch and then by design. */
  readonly samplesNs: readonly (readonly number[])[][];
}

/**
 * Measures all batches of designs in turn, several times, and checks the results. Other load then affects all batches
 * alike. The order changes, because earlier launches decide whether SwiftShader's second thread takes part in a launch.
 */
export async function timeInTurn(batches: readonly Batch[], rounds: number, repeats: number): Promise<Timed> {
  const samplesNs = batches.map(({ designs }) => designs.map((): number[] => []));
  let device: MeasuringDevice | null = null;
  for (let round = 0; round < rounds; round++)
    for (const [at, { workload, designs, kernel }] of batches.entries()) {
      const uniform = mersenneTwister(round);
      const order = designs.map((design, i) => ({ design, i, at: uniform() })).sort((a, b) => a.at - b.at);
      const records = await measure(
        benchPlan(
          order.map(({ design, i }) => unitLoop(String(i), design)),
          { backend: 'webgpu', repeats, seed: 1, caseTimeLimitMs: 120_000, workload, ...(kernel && { kernel }) },
        ),
      );
      for (const record of records) {
        if (record.type === 'device') device = record;
        else if (record.type === 'sample' && !record.warmUp) samplesNs[at][Number(record.case)].push(record.timeNs);
        else if (record.type === 'check' && !record.correct)
          throw new Error(`design ${record.case}: ${record.message}`);
        else if (record.type === 'failed' || record.type === 'lost') throw new Error(JSON.stringify(record));
      }
    }
  if (device?.threadGroupWidth !== 4 || !device.fingerprint.includes('swiftshader'))
    throw new Error(`The device is ${device?.name ?? 'missing'}, but must be SwiftShader with 4 lanes.`);
  return { device, samplesNs };
}
