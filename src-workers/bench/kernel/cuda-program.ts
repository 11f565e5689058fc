import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BenchPlan, ProgramTask } from '../../domain/benchmark.ts';
import {
  LENGTHS_FILE_NAME,
  ORDER_FILE_NAME,
  type ElementType,
  type KernelArgument,
  type KernelEntry,
  type KernelTask,
  type LaunchValue,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, systemReason, type Result } from '../../domain/result.ts';
import { architectureFlags } from '../cuda/compile.ts';
import { localToolkit } from '../cuda/local.ts';
import { forSomeGpu } from '../cuda/toolkit.ts';
import { LENGTHS_FILE } from '../plan-files.ts';
import { openBuilder, type Build } from '../program/build.ts';
import { quotedWord } from '../program/command-line.ts';
import { readContents, sourcePath } from './files.ts';
import { entryOf, launchValues, numberOf, outputCount } from './launches.ts';

/** A person's kernel in CUDA as a program: a host of ours, generated for each entry, and built for each set of constants. */

interface Folders {
  /** Of the CUDA sources. */
  readonly sources: string;
  /** Of the plan: the program is started there. */
  readonly folder: string;
  readonly cache: string;
  readonly run: string;
}

export interface KernelProgram {
  readonly task: ProgramTask;
  readonly build: Build;
}

/** Launches of one start of the program, as a part of all: a start takes a while, and designs are to alternate. */
const STARTS = 3;

/** What differs between the launches of a mixed design. */
const OF_A_LAUNCH: readonly LaunchValue[] = ['threadsPerUnit', 'gridBlocks', 'firstUnit', 'launchUnits'];

/** Reads the kernel's files, writes those that its program reads, and says how it is built and started. */
export async function kernelProgram(
  { warmUps, repeats }: Pick<BenchPlan, 'warmUps' | 'repeats'>,
  program: ProgramTask,
  kernel: KernelTask,
  folders: Folders,
  timeLimitMs: number,
): Promise<Result<KernelProgram>> {
  const { manifest, units } = kernel;
  const source = sourcePath(kernel, 'cu');
  if (source === null) return fail('unsupported', `${kernel.file} names no .cu source, which CUDA needs.`);
  const found = await localToolkit({
    sources: folders.sources,
    cacheFolder: join(folders.cache, 'devices'),
    timeLimitMs,
  });
  const toolkit = found.ok ? forSomeGpu(found.value) : found;
  if (!toolkit.ok) return toolkit;
  const { nvcc, architectures } = toolkit.value;
  const contents = await readContents(kernel);
  if (!contents.ok) return contents;
  const hosts = new Map<KernelEntry, string>();
  try {
    for (const at of manifest.arguments.keys()) {
      const { initial, references } = contents.value;
      for (const [what, array] of [
        ['argument', initial[at]],
        ['reference', references[at]],
      ] as const)
        // prettier-ignore
        if (array) await writeFile(join(folders.folder, fileName(what, at)), array);
    }
    const ours = await Promise.all(['host.cuh', 'own-kernel.cuh'].map((name) => readFile(join(folders.sources, name))));
    for (const entry of manifest.entries) {
      const host = hostSource(kernel, entry, source, join(folders.sources, 'own-kernel.cuh'));
      if (!host.ok) return host;
      const digest = createHash('sha256').update(host.value);
      for (const bytes of ours) digest.update(bytes);
      const path = join(folders.cache, 'hosts', digest.digest('hex'), 'host.cu');
      const known = await readFile(path, 'utf8').catch(() => null);
      if (known !== host.value) {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, host.value);
      }
      hosts.set(entry, path);
    }
  } catch (error) {
    return fail('storage', `The host program of ${kernel.file} cannot be written (${systemReason(error)}).`);
  }
  const shellRead = /[^\p{L}\p{N}_.,:/\\+@ -]/u.exec(folders.cache);
  if (shellRead)
    return fail('unsupported', `nvcc would hand the character ${shellRead[0]} of the folder ${folders.cache} to a shell. Set XDG_CACHE_HOME to another folder.`); // prettier-ignore

  const flags = ['-std=c++17', '-O3', ...architectureFlags(architectures)];
  const builders = new Map<string, Build>();
  const build: Build = async (values, design) => {
    const found = entryOf(manifest, design);
    if (!found.ok) return found;
    const { constants } = found.value;
    for (const [name, value] of Object.entries(constants))
      if (design.classes && OF_A_LAUNCH.some((one) => value === `{${one}}`))
        return fail('unsupported', `The constant ${name} is ${value}, and differs between the launches of a mixed design. Make it an argument`); // prettier-ignore
    const { threadsPerUnit, gridBlocks, registerCap } = design;
    const numbers = launchValues(design, { threadsPerUnit, gridBlocks, firstUnit: 0, units }, units);
    const words = [
      nvcc,
      ...flags,
      ...Object.entries(constants).map(([name, value]) => `-D${name}=${numberOf(value, numbers)}`),
      ...(registerCap === null ? [] : ['--maxrregcount', String(registerCap)]),
      hosts.get(found.value)!,
      ...(process.platform === 'win32' ? [] : ['-ldl']),
    ];
    const line = `${words.map(quotedWord).join(' ')} -o {binary}`;
    if (!builders.has(line)) builders.set(line, openBuilder({ build: line, folder: dirname(source) }, folders, timeLimitMs)); // prettier-ignore
    return builders.get(line)!(values, design);
  };
  const perStart = Math.ceil((warmUps + repeats) / STARTS);
  const ordered = manifest.arguments.some(({ file }) => file === ORDER_FILE_NAME);
  const exec =
    `{binary} --device ${kernel.device} --units {units} --units-per-thread {unitsPerThread} --block {blockThreads} ` +
    `--launches {launches} --repeats ${perStart}${ordered ? ' --order {orderFile}' : ''}`;
  return ok({ task: { ...program, exec, folder: folders.folder }, build });

  function hostSource(
    { manifest: { name, arguments: all } }: KernelTask,
    { entry }: KernelEntry,
    own: string,
    harness: string,
  ): Result<string> {
    const unquotable = [own, harness].find((path) => /["\n\r]/.test(path));
    if (unquotable !== undefined)
      return fail('unsupported', `${unquotable} has a quote or a line break in its path, which #include cannot name. Rename it.`); // prettier-ignore
    const table = all.map((argument, at) => {
      const { type, output } = argument;
      const fields = [
        `"${argument.name}"`,
        `Element::${type}`,
        quotedOrNull(inputFile(argument, at)),
        output ? outputCount(argument, units) : 0,
        quotedOrNull(output?.reference === undefined ? null : fileName('reference', at)),
        output?.absolute ?? 0,
        output?.relative ?? 0,
      ];
      return `    {${fields.join(', ')}},`;
    });
    const given = all.map(({ type, value }, at) =>
      value === undefined
        ? `static_cast<${CPP_TYPES[type]}*>(arrays[${at}])`
        : `static_cast<${CPP_TYPES[type]}>(${typeof value === 'number' ? value : `one.${value.slice(1, -1)}`})`,
    );
    return ok(`// Generated: measures the entry ${entry} of ${JSON.stringify(name)}.
#include "${harness.replaceAll('\\', '/')}"
#include "${own.replaceAll('\\', '/')}"

static void launchEntry(const lockstep::KernelLaunch& one, void* const* arrays) {
  (void)arrays;
  lockstep::launch(${['::' + entry, 'static_cast<unsigned>(one.gridBlocks)', 'static_cast<unsigned>(one.blockThreads)', ...given].join(',\n                   ')});
}

int main(int count, char** words) {
  using lockstep::Element;
  static const lockstep::KernelArgument ARGUMENTS[] = {
${table.join('\n')}
  };
  return lockstep::runKernel(ARGUMENTS, ${all.length}, launchEntry, count, words);
}
`);
  }
}

const CPP_TYPES: Readonly<Record<ElementType, string>> = {
  u32: 'uint32_t',
  i32: 'int32_t',
  f32: 'float',
  f64: 'double',
};

const fileName = (what: 'argument' | 'reference', at: number): string => `${what}-${at}.bin`;
const quotedOrNull = (file: string | null): string => (file === null ? 'nullptr' : `"${file}"`);

/** The file of an argument in the program's folder. */
function inputFile({ file, output }: KernelArgument, at: number): string | null {
  if (file === LENGTHS_FILE_NAME) return LENGTHS_FILE;
  if (file === ORDER_FILE_NAME) return 'order';
  return file === undefined && output?.file === undefined ? null : fileName('argument', at);
}
