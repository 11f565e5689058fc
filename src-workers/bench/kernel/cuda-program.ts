import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BenchPlan, ProgramTask } from '../../domain/benchmark.ts';
import {
  elementType,
  VALUE_TYPES,
  type KernelArgument,
  type KernelEntry,
  type KernelTask,
  type LaunchValue,
  type ManifestNumber,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, systemReason, unwrap, type Result, unsupported } from '../../domain/result.ts';
import { architectureFlags } from '../cuda/compile.ts';
import { compileEmulated, findEmulator } from '../cuda/emulation.ts';
import { findHipcc, hipArchitectures, hipEnvironment, HIP_GROUP_WIDTH } from '../cuda/hip.ts';
import { listDevices, localToolkit } from '../cuda/local.ts';
import { forSomeGpu } from '../cuda/toolkit.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { openBuilder, type Build } from '../program/build.ts';
import { quotedWord } from '../program/command-line.ts';
import { refuseCap } from '../stand-in.ts';
import { fileName, inputFile, readContents, sourcePath, writeContents } from './files.ts';
import {
  arithmeticOf,
  defineConstants,
  findEntry,
  launchesOfStart,
  launchValues,
  outputCount,
  takesOrder,
  type KernelContents,
} from './launches.ts';

interface Folders {
  readonly sources: string;
  readonly folder: string;
  readonly cache: string;
  readonly run: string;
}

export interface KernelProgram {
  readonly task: ProgramTask;
  readonly build: Build;
}

const OF_A_LAUNCH: readonly LaunchValue[] = ['threadsPerUnit', 'gridBlocks', 'firstUnit', 'launchUnits'];

export async function kernelProgram(
  plan: Pick<BenchPlan, 'warmUps' | 'repeats'>,
  program: ProgramTask,
  kernel: KernelTask,
  folders: Folders,
  timeLimitMs: number,
): Promise<Result<KernelProgram>> {
  const { manifest } = kernel;
  const source = sourcePath(kernel, kernel.platform === 'hip' ? 'hip' : 'cu');
  if (source === null) return unsupported(`${kernel.file} names no .cu source. CUDA and HIP need one.`);
  const compiler = await findCompiler(kernel, folders, timeLimitMs);
  if (!compiler.ok) return compiler;
  const contents = await readContents(kernel);
  if (!contents.ok) return contents;
  const written = await writeHosts(kernel, source, contents.value, folders);
  if (!written.ok) return written;
  const hosts = written.value;
  const shellRead = /[^\p{L}\p{N}_.,:/\\+@ -]/u.exec(folders.cache);
  if (shellRead)
    return unsupported(`The cache folder ${folders.cache} contains the character ${shellRead[0]}, which has a meaning in a shell that nvcc starts. Set XDG_CACHE_HOME to another folder.`); // prettier-ignore

  const builders = new Map<string, Build>();
  const emulated = new Map<string, ReturnType<typeof compileEmulated>>();
  const build: Build = async (values, design) => {
    const found = findEntry(manifest, design);
    if (!found.ok) return found;
    const defined = definitions(kernel, found.value, design);
    if (!defined.ok) return defined;
    const { registerCap } = design;
    const words = [
      ...compiler.value.words,
      ...defined.value,
      ...(registerCap === null ? [] : ['--maxrregcount', String(registerCap)]),
      hosts.get(found.value)!,
      ...(process.platform === 'win32' ? [] : ['-ldl']),
    ];
    if (kernel.platform === 'emulation') {
      const { sources, cache: cacheFolder } = folders;
      const files = [hosts.get(found.value)!];
      return getOrMake(emulated, words.join('\n'), () =>
        compileEmulated({ sources, files, flags: [...defined.value], cacheFolder, timeLimitMs }),
      );
    }
    const line = `${words.map(quotedWord).join(' ')} -o {binary}`;
    const open = () => openBuilder({ build: line, folder: dirname(source) }, folders, timeLimitMs, compiler.value.env);
    return getOrMake(builders, line, open)(values, design);
  };
  const exec =
    `{binary} --device ${kernel.device ?? 0} --units {units} --units-per-thread {unitsPerThread} --block {blockThreads} ` +
    `--launches {launches} --repeats ${launchesOfStart(plan)}${takesOrder(manifest) ? ' --order {orderFile}' : ''}`;
  return ok({ task: { ...program, exec, folder: folders.folder }, build });
}

async function writeHosts(
  kernel: KernelTask,
  source: string,
  contents: KernelContents,
  folders: Folders,
): Promise<Result<ReadonlyMap<KernelEntry, string>>> {
  const hosts = new Map<KernelEntry, string>();
  try {
    await writeContents(kernel.manifest, contents, folders.folder);
    const ours = await Promise.all(['host.cuh', 'own-kernel.cuh'].map((name) => readFile(join(folders.sources, name))));
    for (const entry of kernel.manifest.entries) {
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
  return ok(hosts);
}

function definitions(
  { platform, units }: Pick<KernelTask, 'platform' | 'units'>,
  entry: KernelEntry,
  design: Parameters<Build>[1],
): Result<readonly string[]> {
  for (const [name, value] of Object.entries(entry.constants))
    if (design.classes && OF_A_LAUNCH.some((one) => arithmeticOf(value).names.has(one)))
      return unsupported(`The constant ${name} is ${value}, which differs between the launches of a mixed design. Make it an argument`); // prettier-ignore
  const { threadsPerUnit, gridBlocks, registerCap } = design;
  if (registerCap !== null && platform === 'hip') return refuseCap(registerCap, 'hipcc');
  return defineConstants(entry, launchValues(design, { threadsPerUnit, gridBlocks, firstUnit: 0, units }, units));
}

function hostSource(
  { manifest: { name, arguments: all }, units }: KernelTask,
  { entry, sharedBytes }: KernelEntry,
  own: string,
  harness: string,
): Result<string> {
  const unquotable = [own, harness].find((path) => /["\n\r]/.test(path));
  if (unquotable !== undefined)
    return unsupported(`${unquotable} has a quote or a line break in its path, which #include cannot name. Rename it.`); // prettier-ignore
  const structs = all.map((argument, at) => argumentStruct(argument, at));
  const rows = all.map((argument, at) => argumentRow(argument, at, units));
  const given = all.map(({ value }, at) =>
    value === undefined || typeof value === 'object'
      ? `Argument${at}{arrays[${at}]}`
      : `Argument${at}{${launchCpp(value)}}`,
  );
  return ok(`// Generated: measures the entry ${entry} of ${JSON.stringify(name)}.
#include "${harness.replaceAll('\\', '/')}"
// A source may be a whole program.
#define main lockstepMainOfTheSource
#include "${own.replaceAll('\\', '/')}"
#undef main

namespace {
${structs.join('\n')}
}  // namespace

static void launchEntry(const lockstep::KernelLaunch& one, void* const* arrays) {
  (void)arrays;
  lockstep::launchEntry(${['::' + entry, 'one', launchCpp(sharedBytes ?? 0), ...given].join(',\n                        ')});
}

int main(int count, char** words) {
  static const lockstep::KernelArgument ARGUMENTS[] = {
${rows.join('\n')}
  };
  return lockstep::runKernel(ARGUMENTS, ${all.length}, launchEntry, count, words);
}
`);
}

function argumentRow(argument: KernelArgument, at: number, units: number): string {
  const { name: called, type: text, value, output } = argument;
  const type = elementType(text)!;
  const { cpp } = VALUE_TYPES[type.value];
  const fields = [
    `"${called}"`,
    `lockstep::valueType<${cpp}>()`,
    type.count,
    quotedOrNull(inputFile(argument, at)),
    typeof value === 'object',
    output ? unwrap(outputCount(argument, units)) : 0,
    quotedOrNull(output?.reference === undefined ? null : fileName('reference', at)),
    output?.absolute ?? 0,
    output?.relative ?? 0,
  ];
  return `    {${fields.join(', ')}},`;
}

function argumentStruct({ name: called, type: text, value }: KernelArgument, at: number): string {
  const type = elementType(text)!;
  const { cpp } = VALUE_TYPES[type.value];
  const fits = (what: string): string =>
    `static_assert(lockstep::isElement<T, ${cpp}, ${type.count}, ${type.isStruct}>(), "the argument ${called} is ${text} in the manifest, of ${type.bytes} bytes, and ${what}");`;
  return value === undefined
    ? `struct Argument${at} {
  void* elements;
  template <class T>
  operator T*() const {
    ${fits('the parameter of the kernel points to another type')}
    return static_cast<T*>(elements);
  }
};`
    : typeof value === 'object'
      ? `struct Argument${at} {
  const void* bytes;
  template <class T>
  operator T() const {
    ${fits('the parameter of the kernel has another size')}
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};`
      : `struct Argument${at} {
  double number;
  template <class T>
  operator T() const {
    return lockstep::numberAs<T>(number, "${called}");
  }
};`;
}

/** The variable `one` is the launch. */
const launchCpp = (value: ManifestNumber): string => arithmeticOf(value).cpp((name) => `double(one.${name})`);

interface Compiler {
  readonly words: readonly string[];
  readonly env?: typeof hipEnvironment;
}

async function findCompiler(
  { platform, device }: KernelTask,
  { sources, cache }: Folders,
  timeLimitMs: number,
): Promise<Result<Compiler>> {
  const place = { sources, cacheFolder: join(cache, 'devices'), timeLimitMs };
  if (platform === 'hip') {
    const hipcc = await findHipcc(process.env);
    if (!hipcc.ok) return hipcc;
    const devices = await listDevices({ nvcc: hipcc.value, hip: { threadGroupWidth: HIP_GROUP_WIDTH } }, place);
    if (!devices.ok) return devices;
    const width = devices.value[device ?? 0]?.threadGroupWidth ?? HIP_GROUP_WIDTH;
    const targets = hipArchitectures(devices.value).map((name) => `--offload-arch=${name}`);
    const words = [hipcc.value, '-x', 'hip', '-std=c++17', '-O3', `-DLOCKSTEP_GROUP_WIDTH=${width}`, ...targets];
    return ok({ words, env: hipEnvironment });
  }
  if (platform === 'emulation') {
    const emulator = await findEmulator();
    return emulator.ok ? ok({ words: [] }) : emulator;
  }
  const found = await localToolkit(place);
  const toolkit = found.ok ? forSomeGpu(found.value) : found;
  if (!toolkit.ok) return toolkit;
  const { nvcc, architectures } = toolkit.value;
  return ok({ words: [nvcc, '-std=c++17', '-O3', ...architectureFlags(architectures)] });
}

const quotedOrNull = (file: string | null): string => (file === null ? 'nullptr' : `"${file}"`);
