import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchPlan, PlanLine, PlanSource } from '../../domain/benchmark.ts';
import { ok, type Result } from '../../domain/result.ts';
import type { WorkloadContext } from '../../parse/grammar.ts';
import { keptPlan } from '../plan-files.ts';
import { wordBytes } from '../words.ts';
import { LAST_RELEASES } from './releases.ts';
import { HIP_COMPILE_FLAGS, readCudaSources, withoutCap } from './compile.ts';
import {
  COMPILE_FLAGS,
  cudaPlan,
  DEVICES_OBJECT,
  EXIT_HUNG,
  LINK_FLAGS,
  type CudaObject,
  type PlacedFile,
} from './cuda-plan.ts';

export interface BundleContents {
  /** The folder with the CUDA sources. Its folder `bundle` has the scripts, with `@NAMES@` in place of values. */
  readonly sourcesFolder: string;
  readonly source: PlanSource | null;
  readonly context: WorkloadContext;
  readonly slurmTasks?: number;
}

/** Makes all files that a machine with nvcc or hipcc needs. Fails as `cudaPlan` and `readCudaSources` do. */
export async function makeBundle(
  plan: BenchPlan,
  { sourcesFolder, source, context, slurmTasks }: BundleContents,
): Promise<Result<readonly PlacedFile[]>> {
  const sources = await readCudaSources(sourcesFolder);
  if (!sources.ok) return sources;
  const made = await cudaPlan(plan, context);
  if (!made.ok) return made;
  const { files, objects } = made.value;
  const read = (name: string): Promise<string> => readFile(join(sourcesFolder, 'bundle', name), 'utf8');
  const text = (path: string, lines: string): PlacedFile => ({ path, bytes: new TextEncoder().encode(lines) });
  const script = (path: string, lines: string): PlacedFile => ({ ...text(path, lines), executable: true });
  return ok([
    text('README.txt', readme(plan, slurmTasks)),
    script('run.sh', await shellScript(plan, objects, read)),
    ...(slurmTasks === undefined ? [] : [script('run.slurm', await slurmScript(slurmTasks, read))]),
    ...(plan.backend === 'hip' ? [] : [text('run.ps1', await windowsScript(plan, objects, read))]),
    text('plan.jsonl', `${JSON.stringify(planLine(plan, source))}\n`),
    ...files,
    ...sources.value.map(({ path, bytes }) => ({ path: `sources/${path}`, bytes })),
  ]);
}

export function planLine(plan: BenchPlan, source: PlanSource | null): PlanLine {
  const { workload } = plan;
  const digest = workload && createHash('sha256').update(wordBytes(workload.lengths)).digest('hex');
  return keptPlan(plan, digest, source);
}

function readme(plan: BenchPlan, slurmTasks: number | undefined): string {
  const hip = plan.backend === 'hip';
  return `Measurements for Lockstep
=========================

${plan.cases.length} cases, ${plan.warmUps} warm-ups and ${plan.repeats} repeats each, for one ${hip ? 'HIP' : 'CUDA'} device.

1. Copy this folder to a machine with ${hip ? `an AMD GPU whose thread groups have ${plan.threadGroupWidth} lanes, and ROCm (hipcc).` : 'an NVIDIA GPU, its driver, the CUDA toolkit (nvcc) and a C++17 compiler.'}
2. Run  ./run.sh      for the first GPU, or  ./run.sh 1  for the second${
    hip
      ? '.'
      : `, as nvidia-smi lists them. On Windows:
        powershell -ExecutionPolicy Bypass -File run.ps1      (needs the C++ build tools of Visual Studio)`
  }
3. Import results.jsonl into Lockstep:  lockstep import results.jsonl

${slurmTasks === undefined ? '' : slurmText(slurmTasks)}Run it again to continue where it was interrupted: cases that are done, or that failed, are not measured again. Delete
results.jsonl to measure everything anew.

Settings, as environment variables:
${
  hip
    ? `  HIPCC                  the compiler; by default the first in PATH, HIP_PATH, ROCM_PATH, /opt/rocm and /opt/rocm-*
  LOCKSTEP_ARCHITECTURE  such as gfx90a; by default the GPUs of this machine, as HIP names them
`
    : CUDA_SETTINGS
}`;
}

const CUDA_SETTINGS = `  NVCC                   the compiler; by default the first that knows this machine's GPUs, searched in PATH, CUDA_HOME,
                         CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*
  LOCKSTEP_ARCHITECTURE  such as sm_90; by default the GPUs of this machine, as nvidia-smi or CUDA names them
  NVCC_CCBIN             on Windows: the folder of cl.exe, if neither PATH nor the installer of Visual Studio knows it

If a GPU draws a screen, the system ends launches that take more than a few seconds (on Windows two: TdrDelay below
HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\GraphicsDrivers). Pack the bundle with fewer units (--units), or use another GPU.
If a GPU is divided (MIG), CUDA sees one slice. CUDA_VISIBLE_DEVICES=MIG-… selects it; nvidia-smi -L lists the slices.
`;

const slurmText = (tasks: number): string => `On a cluster with Slurm, in a folder that all machines share:
1. sbatch run.slurm      starts ${tasks} tasks with a GPU each; write options of your cluster before the name: sbatch --partition=gpu run.slurm
2. When it is done:  lockstep import FOLDER   merges results-*.jsonl. All tasks must have had the same kind of GPU and driver.
To measure what is missing, run the same sbatch again.

`;

type ReadScript = (name: string) => Promise<string>;

const filled = (script: string, values: Readonly<Record<string, string | number>>): string =>
  script.replaceAll(/@([A-Z_]+)@/g, (_, name: string) => String(values[name]));

const slurmScript = async (tasks: number, read: ReadScript): Promise<string> =>
  filled(await read('run.slurm'), { TASKS: tasks, LAST_TASK: tasks - 1 });

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w=+./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

async function shellScript(plan: BenchPlan, objects: readonly CudaObject[], read: ReadScript): Promise<string> {
  const hip = plan.backend === 'hip';
  const width = plan.threadGroupWidth;
  const program = hip ? 'lockstep-hip' : 'lockstep-cuda';
  const built = ({ name, source, flags }: CudaObject): string =>
    `build ${shellWords([`${name}.o`, ...(hip ? withoutCap(flags) : flags), '-c', `sources/${source}`])}`;
  const linked = (made: string, names: readonly string[]): string =>
    `make ${made} ${names.map((name) => `"$build/${name}.o"`).join(' ')} ${shellWords(LINK_FLAGS)}`;
  const building = [
    ...objects.map(built),
    linked(
      program,
      objects.map(({ name }) => name),
    ),
  ];
  const releases = LAST_RELEASES.map(
    ([upTo, release], at) =>
      `  ${at === 0 ? 'if' : 'elif'} [ "$1" -le ${upTo} ]; then older='CUDA ${release} or older'`,
  );
  const values = {
    PLATFORM: hip ? 'HIP' : 'CUDA',
    WIDTH: width ?? '',
    RELEASES: releases.join('\n'),
    NEWEST_OLD: LAST_RELEASES.at(-1)![0],
    FLAGS: shellWords(hip ? [...HIP_COMPILE_FLAGS, `-DLOCKSTEP_GROUP_WIDTH=${width}`] : COMPILE_FLAGS),
    COMPILE_DEVICES: built(DEVICES_OBJECT),
    LINK_DEVICES: linked('devices', ['devices']),
    PROGRAM: program,
    BUILD: building.map((line) => `  ${line}`).join('\n'),
    CASES: plan.cases.length,
    HUNG: EXIT_HUNG,
  };
  const part = async (name: string): Promise<string> =>
    filled(await read(`${hip ? 'hip' : 'cuda'}-${name}.sh`), values);
  return filled(await read('run.sh'), { ...values, COMPILER: await part('compiler'), TARGETS: await part('targets') });
}

/** The script needs Windows PowerShell 5.1. `>` would change the encoding, so output is copied byte by byte. */
async function windowsScript(plan: BenchPlan, objects: readonly CudaObject[], read: ReadScript): Promise<string> {
  const quoted = (words: readonly string[]): string =>
    words.map((word) => `'${word.replaceAll("'", "''")}'`).join(', ');
  const builds = objects.map(
    ({ name, source, flags }) =>
      `  Build ($compile + @(${quoted([...flags, '-c', `sources/${source}`, '-o', `build/${name}.obj`])}))`,
  );
  const link = `  Build @(${quoted(objects.map(({ name }) => `build/${name}.obj`))}, '-o', 'build/lockstep-cuda.exe')`;
  return filled(await read('run.ps1'), {
    FLAGS: quoted(COMPILE_FLAGS),
    BUILD: [...builds, link].join('\n'),
    RELEASES: LAST_RELEASES.map(([upTo, release]) => `@(${upTo}, '${release}')`).join(', '),
    CASES: plan.cases.length,
    HUNG: EXIT_HUNG,
  });
}
