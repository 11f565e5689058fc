import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { MeasuringDevice } from '../../domain/benchmark.ts';
import { ok, type Result, notFound, unsupported } from '../../domain/result.ts';
import { findProgram, isProgram, pathFolders, runTool } from '../tool.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Lanes of a thread group on AMD's compute devices, and the width for programs that only list devices. */
export const HIP_GROUP_WIDTH = 64;

const ASK = { timeLimitMs: 30_000 } as const;

async function rocmFolders(environment: Environment): Promise<readonly string[]> {
  const homes = ['HIP_PATH', 'ROCM_PATH'].flatMap((name) => environment[name] || []);
  const versions = (await readdir('/opt').catch(() => []))
    .filter((name) => /^rocm(-[\d.]+)?$/.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => join('/opt', name));
  return [...pathFolders(environment), ...[...homes, ...versions].map((home) => join(home, 'bin'))];
}

export async function findHipcc(environment: Environment): Promise<Result<string>> {
  const set = environment['HIPCC'];
  if (set)
    return (await isProgram(set))
      ? ok(set)
      : notFound(`HIPCC is ${set}, which is not a program. Set it to the path of hipcc`);
  const found = await findProgram(['hipcc', 'hipcc.exe'], await rocmFolders(environment));
  return found === null
    ? notFound('hipcc is not in PATH, HIP_PATH, ROCM_PATH or /opt/rocm. Install ROCm, or set HIPCC=/path/to/hipcc')
    : ok(found);
}

export async function hipVersion(hipcc: string): Promise<Result<string>> {
  const asked = await runTool(hipcc, ['--version'], ASK);
  if (!asked.ok) return asked;
  const version = /HIP version: ([\d.]+)/.exec(asked.value.stdout)?.[1];
  return version === undefined ? unsupported(`${hipcc} does not print its version`) : ok(version);
}

/** Without HIP_PLATFORM, hipcc uses an installed nvcc. The clang of hipcc leaves folders in TMPDIR. */
export const hipEnvironment = (temporary: string) => ({ HIP_PLATFORM: 'amd', TMPDIR: temporary });

/** Drops the features that a device names (`gfx90a:sramecc+:xnack-`). */
export function hipArchitectures(devices: readonly MeasuringDevice[]): readonly string[] {
  const named = devices.map(({ properties }) => String(properties.architecture ?? '').replace(/:.*/, ''));
  return [...new Set(named.filter((name) => /^gfx[0-9a-f]{3,}$/.test(name)))].sort();
}
