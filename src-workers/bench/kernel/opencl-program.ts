import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchPlan, MeasuringDevice, ProgramTask } from '../../domain/benchmark.ts';
import type { Design } from '../../domain/design.ts';
import {
  elementType,
  VALUE_TYPES,
  type KernelArgument,
  type KernelEntry,
  type KernelTask,
  type LaunchValue,
} from '../../domain/kernel-manifest.ts';
import { fail, ok, systemReason, unwrap, type Result, notFound, unsupported, badInput } from '../../domain/result.ts';
import { lastLine } from '../../domain/text.ts';
import { readDevices } from '../cuda/local.ts';
import type { Build } from '../program/build.ts';
import { quotedWord } from '../program/command-line.ts';
import { refuseCap } from '../stand-in.ts';
import { findProgram, pathFolders, runTool } from '../tool.ts';
import type { KernelProgram } from './cuda-program.ts';
import { fileName, inputFile, readContents, sourcePath, writeContents } from './files.ts';
import {
  defineConstants,
  findEntry,
  launchesOfStart,
  launchValues,
  resolveNumber,
  outputCount,
  takesOrder,
  unitLaunches,
  valueBytes,
} from './launches.ts';

const ASK_LIMIT_MS = 30_000;

export interface OpenclHost {
  readonly python: string;
  readonly devices: readonly MeasuringDevice[];
}

/** Finds the first Python in PATH that has PyOpenCL. Only one Python in each folder is tried. */
export async function findOpencl(host: string, signal?: AbortSignal): Promise<Result<OpenclHost>> {
  let lacking = notFound('OpenCL needs Python, which is not in PATH');
  for (const folder of pathFolders(process.env)) {
    const python = await findProgram(['python3', 'python', 'python.exe'], [folder]);
    if (python === null) continue;
    const ran = await runTool(python, [host], { timeLimitMs: ASK_LIMIT_MS, signal });
    if (!ran.ok && ran.error.code === 'cancelled') return ran;
    if (ran.ok && ran.value.code === 0) {
      const devices = readDevices(ran.value.stdout);
      return devices.ok ? ok({ python, devices: devices.value }) : devices;
    }
    const said = ran.ok ? lastLine(ran.value.stderr) : ran.error.message;
    const missing = /No module named '(\w+)/.exec(said)?.[1];
    lacking = notFound(missing ? `${python} has no module ${missing}, which OpenCL needs` : `${python}: ${said}`);
  }
  return lacking;
}

export async function openclProgram(
  plan: Pick<BenchPlan, 'warmUps' | 'repeats' | 'workload'>,
  program: ProgramTask,
  kernel: KernelTask,
  host: string,
  folder: string,
): Promise<Result<KernelProgram>> {
  const source = sourcePath(kernel, 'cl');
  if (source === null) return unsupported(`${kernel.file} names no .cl source. OpenCL needs one.`);
  const found = await findOpencl(host);
  if (!found.ok) return found;
  const contents = await readContents(kernel);
  if (!contents.ok) return contents;
  const { manifest } = kernel;
  const lengths = plan.workload?.lengths ?? new Uint32Array(0);
  const build: Build = async ({ design: index }, design) => {
    const launches = openclLaunches(kernel, design, lengths);
    if (!launches.ok) return launches;
    const { units, device } = kernel;
    const repeats = launchesOfStart(plan);
    const given = manifest.arguments.map((argument, at) => describedArgument(argument, at, units));
    const task = { device, source, repeats, arguments: given, blockThreads: design.blockThreads, ...launches.value };
    const path = join(folder, `design-${index}.json`);
    await writeFile(path, JSON.stringify(task));
    return ok(path);
  };
  try {
    await writeContents(manifest, contents.value, folder);
  } catch (error) {
    return fail('storage', `The files of ${kernel.file} cannot be written (${systemReason(error)}).`);
  }
  const words = [found.value.python, host].map(quotedWord).join(' ');
  const exec = `${words} {binary}${takesOrder(manifest) ? ' {orderFile}' : ''}`;
  return ok({ task: { ...program, exec, folder }, build });
}

function describedArgument(argument: KernelArgument, at: number, units: number) {
  const { name, output, value } = argument;
  const { value: type, count: values } = elementType(argument.type)!;
  return {
    name,
    type,
    values,
    struct: typeof value === 'object',
    file: inputFile(argument, at),
    count: output ? unwrap(outputCount(argument, units)) : 0,
    reference: output?.reference === undefined ? null : fileName('reference', at),
    absolute: output?.absolute ?? 0,
    relative: output?.relative ?? 0,
  };
}

export interface OpenclLaunch {
  readonly gridBlocks: number;
  readonly options: readonly string[];
  /** Bytes of the last argument, which is `__local`; null if the kernel has no such argument. */
  readonly sharedBytes: number | null;
  /** The bytes of scalar arguments in hexadecimal, lowest byte first, by position. */
  readonly values: Readonly<Record<string, string>>;
}

/** Fails if no entry implements the design, if the design caps registers, or if a computed number is not allowed. */
export function openclLaunches(
  { manifest, units }: Pick<KernelTask, 'manifest' | 'units'>,
  design: Design,
  lengths: Uint32Array,
): Result<{ readonly entry: string; readonly launches: readonly OpenclLaunch[] }> {
  const found = findEntry(manifest, design);
  if (!found.ok) return found;
  if (design.registerCap !== null) return refuseCap(design.registerCap, 'OpenCL');
  const launches: OpenclLaunch[] = [];
  for (const launch of unitLaunches(design, lengths)) {
    const described = openclLaunch(manifest.arguments, found.value, launchValues(design, launch, units));
    if (!described.ok) return described;
    launches.push(described.value);
  }
  return ok({ entry: found.value.entry, launches });
}

function openclLaunch(
  all: readonly KernelArgument[],
  entry: KernelEntry,
  numbers: Readonly<Record<LaunchValue, number>>,
): Result<OpenclLaunch> {
  const options = defineConstants(entry, numbers);
  if (!options.ok) return options;
  const { sharedBytes } = entry;
  const shared = sharedBytes === undefined ? null : resolveNumber(sharedBytes, numbers);
  if (shared !== null && !(Number.isSafeInteger(shared) && shared >= 1))
    return badInput(`"sharedBytes" is ${sharedBytes}. For this design that is ${shared}, not a whole number ≥ 1`);
  const values: Record<string, string> = {};
  for (const [at, { name, type: text, value }] of all.entries()) {
    if (value === undefined || typeof value === 'object') continue;
    const type = elementType(text)!.value;
    const number = resolveNumber(value, numbers);
    const signed = type.startsWith('i');
    const end = 2 ** (8 * VALUE_TYPES[type].bytes - (signed ? 1 : 0));
    if (/^[iu]/.test(type) && !(Number.isInteger(number) && number < end && number >= (signed ? -end : 0)))
      return badInput(`The argument ${name} is ${value}. For this design that is ${number}, which ${text} cannot hold`);
    values[at] = Buffer.from(valueBytes(type, [number])).toString('hex');
  }
  return ok({ gridBlocks: numbers.gridBlocks, options: options.value, sharedBytes: shared, values });
}
