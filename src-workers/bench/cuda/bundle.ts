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
  /** The folder with the CUDA sources. Its folder `bundle` has texts with `@NAMES@` in place of values. */
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
    text('README.txt', await readme(plan, slurmTasks, read)),
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

type ReadText = (name: string) => Promise<string>;

/** Throws if the text has a placeholder for which there is no value, because text and code then do not match. */
const filled = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replaceAll(/@([A-Z_]+)@/g, (place, name: string) => {
    if (!(name in values)) throw new Error(`A text of the bundle has ${place}, which has no value.`);
    return String(values[name]);
  });

async function readme(plan: BenchPlan, tasks: number | undefined, read: ReadText): Promise<string> {
  const slurm = tasks === undefined ? '' : filled(await read('slurm-readme.txt'), { TASKS: tasks });
  return filled(await read(`${plan.backend}-readme.txt`), {
    CASES: plan.cases.length,
    WARM_UPS: plan.warmUps,
    REPEATS: plan.repeats,
    WIDTH: plan.threadGroupWidth ?? '',
    SLURM: slurm,
  });
}

const slurmScript = async (tasks: number, read: ReadText): Promise<string> =>
  filled(await read('run.slurm'), { TASKS: tasks, LAST_TASK: tasks - 1 });

function shellWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w=+./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}

async function shellScript(plan: BenchPlan, objects: readonly CudaObject[], read: ReadText): Promise<string> {
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

/** The script needs Windows PowerShell 5.1. It writes output by .NET, because `>` would change the encoding. */
async function windowsScript(plan: BenchPlan, objects: readonly CudaObject[], read: ReadText): Promise<string> {
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
