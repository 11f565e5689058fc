import { readdir, realpath } from 'node:fs/promises';
import { join, win32 } from 'node:path';
import { ok, type Result, notFound, unsupported } from '../../domain/result.ts';
import { findProgram, isProgram, pathFolders, runTool } from '../tool.ts';
import { firstError } from './ptxas.ts';
import { neededToolkit, knownByRelease } from './releases.ts';

/** Chooses the CUDA toolkit for this machine's GPUs. Compute capabilities are whole numbers: 90 is 9.0. */

type Environment = Readonly<Record<string, string | undefined>>;

export interface Toolkit {
  readonly nvcc: string;
  /** Compute capabilities for which this nvcc compiles; empty if unknown. */
  readonly known: readonly number[];
}

export interface ToolkitChoice {
  readonly nvcc: string;
  /** Such as `sm_90`, or `compute_90` if the driver does the last step of compiling. `native` if no GPU is known. */
  readonly architectures: readonly string[];
  readonly lacking: readonly number[];
}

const ASK = { timeLimitMs: 30_000 } as const;
const FILE = process.platform === 'win32' ? 'nvcc.exe' : 'nvcc';

export function cudaFolders(environment: Environment): readonly string[] {
  const homes = ['CUDA_HOME', 'CUDA_PATH'].flatMap((name) => environment[name] || []);
  return [
    ...pathFolders(environment),
    ...homes.map((home) => join(home, 'bin')),
    ...(process.platform === 'win32' ? [] : ['/usr/local/cuda/bin']),
  ];
}

/** Lists the folders of versions, newest first: CUDA_PATH_V12_9, /usr/local/cuda-12.9, Program Files, … */
async function versionFolders(environment: Environment): Promise<readonly string[]> {
  const named = Object.entries(environment).flatMap(([name, value]) =>
    /^CUDA_PATH_V\d+_\d+$/i.test(name) && value ? [value] : [],
  );
  const places =
    process.platform === 'win32'
      ? [join(environment['ProgramFiles'] ?? 'C:\\Program Files', 'NVIDIA GPU Computing Toolkit', 'CUDA')]
      : ['/usr/local', '/opt'];
  const listed = await Promise.all(
    places.map(async (place) =>
      (await readdir(place).catch(() => []))
        .filter((name) => /^(cuda(-[\d.]+)?|v[\d.]+)$/.test(name))
        .map((name) => join(place, name)),
    ),
  );
  const version = (home: string): string => /[\d._]+$/.exec(home)?.[0] ?? '';
  return [...named, ...listed.flat()]
    .sort((a, b) => version(b).localeCompare(version(a), 'en', { numeric: true }))
    .map((home) => join(home, 'bin'));
}

async function findCompilers(environment: Environment): Promise<Result<readonly string[]>> {
  const set = environment['NVCC'];
  if (set)
    return (await isProgram(set))
      ? ok([set])
      : notFound(`NVCC is ${set}, which is not a program. Set it to the path of nvcc`);
  const found = new Map<string, string>();
  for (const folder of [...cudaFolders(environment), ...(await versionFolders(environment))]) {
    const nvcc = await findProgram([FILE], [folder]);
    if (nvcc === null) continue;
    const real = await realpath(nvcc).catch(() => nvcc);
    if (!found.has(real)) found.set(real, nvcc);
  }
  return found.size > 0
    ? ok([...found.values()])
    : notFound(
        'nvcc is not in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda or /usr/local/cuda-*. Install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads)',
      );
}

async function readToolkit(nvcc: string): Promise<Toolkit> {
  const listed = await runTool(nvcc, ['--list-gpu-code'], ASK);
  if (listed.ok && listed.value.code === 0) return { nvcc, known: knownCapabilities(listed.value.stdout) };
  const release = await nvccVersion(nvcc);
  return { nvcc, known: release.ok ? knownByRelease(release.value) : [] };
}

export function knownCapabilities(listed: string): readonly number[] {
  return [...listed.matchAll(/^sm_(\d+)\s*$/gm)].map(([, number]) => Number(number));
}

/** Returns the architecture for a GPU. For a GPU newer than nvcc, this is PTX, which the driver compiles. */
function findArchitecture({ known }: Toolkit, capability: number): string | null {
  if (known.length === 0 || known.includes(capability)) return `sm_${capability}`;
  const older = known.filter((one) => one < capability);
  return older.length > 0 ? `compute_${Math.max(...older)}` : null;
}

export function chooseToolkit(toolkits: readonly Toolkit[], capabilities: readonly number[]): ToolkitChoice {
  if (capabilities.length === 0) return { nvcc: toolkits[0].nvcc, architectures: ['native'], lacking: [] };
  const choices = toolkits.map((toolkit) => {
    const ways = capabilities.map((one) => findArchitecture(toolkit, one));
    const architectures = [...new Set(ways.filter((way) => way !== null))].sort();
    const lacking = capabilities.filter((_, at) => ways[at] === null);
    const score = ways.reduce((sum, way) => sum + (way === null ? 0 : way.startsWith('sm_') ? 2 : 1), 0);
    return { nvcc: toolkit.nvcc, architectures, lacking, score };
  });
  const best = Math.max(...choices.map(({ score }) => score));
  const { score: _score, ...choice } = choices.find(({ score }) => score === best)!;
  return choice;
}

/** The driver's programs in the Windows Subsystem for Linux, where this folder is often missing in PATH. */
const WSL_FOLDER = '/usr/lib/wsl/lib';

export async function askNvidiaSmi(
  query: string,
  environment: Environment = process.env,
  wslFolder = WSL_FOLDER,
): Promise<string | null> {
  const names = ['nvidia-smi', 'nvidia-smi.exe'];
  const program = await findProgram(names, [...pathFolders(environment), wslFolder]);
  const asked =
    program === null ? null : await runTool(program, [`--query-gpu=${query}`, '--format=csv,noheader'], ASK);
  return asked?.ok && asked.value.code === 0 ? asked.value.stdout : null;
}

export async function localCapabilities(): Promise<readonly number[]> {
  return readCapabilities((await askNvidiaSmi('compute_cap')) ?? '');
}

/** @param said one compute capability per line, such as 9.0; the 0.0 of an emulation is skipped */
export function readCapabilities(said: string): readonly number[] {
  const found = said
    .split('\n')
    .flatMap((line) => /^(\d+)\.(\d)$/.exec(line.trim())?.slice(1).join('') ?? [])
    .map(Number);
  return [...new Set(found.filter((capability) => capability > 0))];
}

export async function findToolkit(
  environment: Environment,
  capabilities: readonly number[],
): Promise<Result<ToolkitChoice>> {
  const compilers = await findCompilers(environment);
  return compilers.ok ? ok(await firstThatKnows(compilers.value, capabilities)) : compilers;
}

async function firstThatKnows(compilers: readonly string[], capabilities: readonly number[]): Promise<ToolkitChoice> {
  const toolkits: Toolkit[] = [];
  for (const nvcc of compilers) {
    toolkits.push(await readToolkit(nvcc));
    const { architectures, lacking } = chooseToolkit(toolkits, capabilities);
    if (lacking.length === 0 && !architectures.some((name) => name.startsWith('compute_'))) break;
  }
  return chooseToolkit(toolkits, capabilities);
}

/** @param architecture such as `sm_70`; the nvcc that supports it best is chosen */
export async function findNvcc(environment: Environment, architecture = ''): Promise<Result<string>> {
  const compilers = await findCompilers(environment);
  if (!compilers.ok) return compilers;
  const number = /^(?:sm|compute)_(\d+)/.exec(architecture)?.[1];
  if (number === undefined || compilers.value.length === 1) return ok(compilers.value[0]);
  return ok((await firstThatKnows(compilers.value, [Number(number)])).nvcc);
}

/** On Windows, the installer of Visual Studio locates the host compiler; elsewhere, nvcc finds the compiler itself. */
export async function hostCompilerFlags(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): Promise<Result<readonly string[]>> {
  if (platform !== 'win32' || environment['NVCC_CCBIN']) return ok([]);
  if ((await findProgram(['cl.exe'], pathFolders(environment))) !== null) return ok([]);
  const installer = join(
    environment['ProgramFiles(x86)'] ?? 'C:\\Program Files (x86)',
    'Microsoft Visual Studio',
    'Installer',
  );
  const vswhere = await findProgram(['vswhere.exe'], [installer]);
  const pattern = 'VC\\Tools\\MSVC\\**\\bin\\Hostx64\\x64\\cl.exe';
  const asked = vswhere === null ? null : await runTool(vswhere, ['-latest', '-products', '*', '-find', pattern], ASK);
  const found = asked?.ok ? asked.value.stdout.split(/\r?\n/).filter((line) => line.endsWith('cl.exe')) : [];
  return found.length > 0
    ? ok(['-ccbin', win32.dirname(found.at(-1)!)])
    : notFound('nvcc needs cl.exe. Install the C++ build tools of Visual Studio, or set NVCC_CCBIN to its folder');
}

export function lackingText(capabilities: readonly number[]): string {
  return capabilities.map(neededToolkit).join('; ');
}

export function forSomeGpu(choice: ToolkitChoice): Result<ToolkitChoice> {
  return choice.architectures.length > 0
    ? ok(choice)
    : unsupported(`None of this machine's GPUs can be measured: ${lackingText(choice.lacking)}.`);
}

export async function nvccVersion(nvcc: string): Promise<Result<string>> {
  const asked = await runTool(nvcc, ['--version'], ASK);
  if (!asked.ok) return asked;
  const release = /release [\d.]+, V([\d.]+)/.exec(asked.value.stdout);
  return asked.value.code === 0 && release
    ? ok(release[1])
    : unsupported(`${nvcc} does not print its version: ${firstError(asked.value.stdout + asked.value.stderr)}`);
}
