import { homedir } from 'node:os';
import { join } from 'node:path';
import { compileCuda, type CudaCompilation } from '../../../src-workers/bench/cuda/compile.ts';
import type { CudaObject } from '../../../src-workers/bench/cuda/cuda-plan.ts';
import {
  capabilitiesOf,
  listDevices,
  localToolkit,
  type CompilationPlace,
} from '../../../src-workers/bench/cuda/local.ts';
import { findToolkit, forSomeGpu, lackingText, type ToolkitChoice } from '../../../src-workers/bench/cuda/toolkit.ts';
import { findEmulator } from '../../../src-workers/bench/cuda/emulation.ts';
import { findHipcc, HIP_GROUP_WIDTH, hipArchitectures } from '../../../src-workers/bench/cuda/hip.ts';
import { findOpencl } from '../../../src-workers/bench/kernel/opencl-program.ts';
import { cudaCommand } from '../../../src-workers/bench/cuda/write.ts';
import { writePlanFolder } from '../../../src-workers/bench/plan-files.ts';
import { findAbility, type Ability } from '../../../src-workers/domain/ability.ts';
import {
  deviceTitle,
  type BenchBackend,
  type BenchPlan,
  type MeasuringDevice,
} from '../../../src-workers/domain/benchmark.ts';
import {
  errorText,
  fail,
  ok,
  type Result,
  unsupported,
  badInput,
  notFound,
} from '../../../src-workers/domain/result.ts';
import type { MeasuringTarget } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { MeasuringPrograms } from './programs.ts';
import {
  runProgram,
  scriptProgram,
  type Program,
  type ProgramEnd,
  type ProgramLimits,
  type TakeRecord,
} from './runner.ts';
import type { Context } from '../context.ts';
import { remoteTarget } from '../agents/protocol.ts';
import { inTemporaryFolder } from '../files/temporary-folder.ts';

/**
 * Benchmarks run on the targets `cuda:0`, …, `hip:0`, …, `opencl:0`, … (own kernels only), `webgpu` (Dawn under Node),
 * `cpu`, and the targets that are defined below. `webgpu-page` is the GPU of the calling page.
 */
export const PAGE_TARGET = 'webgpu-page';
/** The user's own program. Only the command line may start it; through a page, any program could be started. */
export const PROGRAM_TARGET = 'program';
/** The user's kernel on the CPU emulation of CUDA. It gives results but no times. Only the command line offers it. */
export const EMULATION_TARGET = 'emulation';
/** `caller:NAME` is a function NAME of the calling program, which sends records as a page does. */
export const isCallerTarget = (target: string): boolean => /^caller:[^@]{1,300}$/.test(target);

export const isOpencl = (target: string): boolean => /^opencl:\d{1,2}$/.test(target);

/** The time limit for compiling one object file, ms. The kernels are small, but a busy machine may be slow. */
export const COMPILE_LIMIT_MS = 300_000;
const ASK_LIMIT_MS = 30_000;

export function targetBackend(asked: string): Result<BenchBackend> {
  const remote = remoteTarget(asked);
  const target = remote?.target ?? asked;
  const gpu = /^(cuda|hip):\d{1,2}$/.exec(target)?.[1];
  if (gpu) return ok(gpu as 'cuda' | 'hip');
  const local = [PAGE_TARGET, PROGRAM_TARGET, EMULATION_TARGET].includes(target) || isOpencl(target);
  if (remote && (local || isCallerTarget(target)))
    return unsupported(`Agents do not measure on ${target}. To measure here, remove @${remote.agent.slice(0, 80)}.`);
  if (target === 'webgpu' || target === PAGE_TARGET) return ok('webgpu');
  if (target === 'cpu' || target === PROGRAM_TARGET) return ok(target);
  if (isCallerTarget(target) || target === EMULATION_TARGET || isOpencl(target)) return ok('program');
  return badInput(
    `target must be cuda:0, hip:0, opencl:0, webgpu, ${PAGE_TARGET}, ${EMULATION_TARGET} or cpu, not "${target.slice(0, 80)}".`,
  );
}

type Here = Pick<Context, 'pool' | 'programs'>;

/** Measures a plan on a target of this machine or an agent (`cuda:0@HOST`). Fails if the program cannot be started. */
export function measureOn(
  context: Context,
  runId: number | null,
  target: string,
  plan: BenchPlan,
  limits: ProgramLimits,
  signal: AbortSignal,
  take: TakeRecord,
): Promise<Result<ProgramEnd>> {
  const remote = remoteTarget(target);
  return remote
    ? context.agents.measure(remote, runId, plan, limits, signal, take)
    : measureHere(context, target, plan, limits, signal, take);
}

export async function measureHere(
  here: Here,
  target: string,
  plan: BenchPlan,
  limits: ProgramLimits,
  signal: AbortSignal,
  take: TakeRecord,
): Promise<Result<ProgramEnd>> {
  return inTemporaryFolder(async (folder) => {
    const program = await prepareProgram(here, target, plan, folder, signal);
    if (signal.aborted) return ok({ kind: 'cancelled' });
    return program.ok ? ok(await runProgram(program.value, limits, signal, take)) : program;
  });
}

async function prepareProgram(
  context: Here,
  target: string,
  plan: BenchPlan,
  folder: string,
  signal: AbortSignal,
): Promise<Result<Program>> {
  if (plan.backend === 'cuda' || plan.backend === 'hip') {
    const objects = await context.pool.run('cudaFiles', { plan, folder }, { signal }).catch((error: unknown) => {
      if (signal.aborted) return fail('cancelled', 'cancelled');
      throw error;
    });
    if (!objects.ok) return objects;
    const ordinal = Number(target.slice(`${plan.backend}:`.length));
    const { cudaFolder } = context.programs;
    const program =
      plan.backend === 'hip'
        ? await compiledHip(cudaFolder, objects.value, plan.threadGroupWidth ?? HIP_GROUP_WIDTH, signal)
        : await cudaProgram(cudaFolder, objects.value, ordinal, signal);
    return program.ok ? ok(cudaCommand(program.value, folder, ordinal)) : program;
  }
  return scriptWithPlan(context.programs, plan, folder);
}

/** Fails with `unsupported` in every host but the command line; `instead` is the command to use there. */
export function checkMayRunPrograms({ host }: Context, instead: string): Result<null> {
  return host === 'cli'
    ? ok(null)
    : unsupported(
        `Only the command line starts your own program, because otherwise anyone with access to this app could start any program. Use ${instead}.`,
      );
}

async function scriptWithPlan(programs: MeasuringPrograms, plan: BenchPlan, folder: string): Promise<Result<Program>> {
  try {
    await writePlanFolder(folder, plan);
  } catch (error) {
    return fail('storage', `The plan cannot be written: ${errorText(error)}`);
  }
  if (plan.program) {
    const options = { cache: join(userCacheFolder(), 'programs'), 'build-limit': COMPILE_LIMIT_MS, 'cuda-sources': programs.cudaFolder, 'opencl-host': programs.openclHost }; // prettier-ignore
    const args = [folder, ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])];
    return ok(scriptProgram(programs.ownChildFile, args, folder));
  }
  return ok(scriptProgram(plan.backend === 'cpu' ? programs.cpuChildFile : programs.webgpuChildFile, [folder], folder));
}

async function cudaProgram(
  sources: string,
  objects: readonly CudaObject[],
  ordinal: number,
  signal: AbortSignal,
): Promise<Result<string>> {
  const chosen = await localToolkit(placeOf(sources, signal));
  if (!chosen.ok) return chosen;
  if (chosen.value.lacking.length === 0) return compiledCuda(sources, objects, chosen.value, signal);
  // Only the list of CUDA devices says which GPU has this ordinal.
  const listed = await listDevices(chosen.value, placeOf(sources, signal));
  if (!listed.ok) return listed;
  const device = listed.value.find(({ properties }) => properties.ordinal === ordinal);
  if (!device) return compiledCuda(sources, objects, chosen.value, signal);
  const own = await findToolkit(process.env, capabilitiesOf([device]));
  if (!own.ok) return own;
  return own.value.lacking.length === 0
    ? compiledCuda(sources, objects, own.value, signal)
    : unsupported(`${deviceTitle(device)} cannot be measured: ${lackingText(own.value.lacking)}.`);
}

async function compiledCuda(
  sources: string,
  objects: readonly CudaObject[],
  choice: ToolkitChoice,
  signal: AbortSignal,
): Promise<Result<string>> {
  const fitting = forSomeGpu(choice);
  if (!fitting.ok) return fitting;
  const { nvcc, architectures } = fitting.value;
  return compiledProgram({ nvcc, ...placeOf(sources, signal), objects, architectures });
}

const placeOf = (sources: string, signal: AbortSignal): CompilationPlace => ({
  sources,
  cacheFolder: join(userCacheFolder(), 'cuda'),
  timeLimitMs: COMPILE_LIMIT_MS,
  signal,
});

async function compiledProgram(request: CudaCompilation): Promise<Result<string>> {
  const compiled = await compileCuda(request);
  return compiled.ok ? ok(compiled.value.program) : compiled;
}

async function compiledHip(
  sources: string,
  objects: readonly CudaObject[],
  threadGroupWidth: number,
  signal: AbortSignal,
): Promise<Result<string>> {
  const hipcc = await findHipcc(process.env);
  if (!hipcc.ok) return hipcc;
  const compiler = { nvcc: hipcc.value, hip: { threadGroupWidth } };
  const place = placeOf(sources, signal);
  const devices = await listDevices(compiler, place);
  if (!devices.ok) return devices;
  return compiledProgram({ ...compiler, ...place, objects, architectures: hipArchitectures(devices.value) });
}

async function hipTargets(programs: MeasuringPrograms, signal: AbortSignal): Promise<readonly MeasuringTarget[]> {
  const hipcc = await findHipcc(process.env);
  if (!hipcc.ok) return [];
  const compiler = { nvcc: hipcc.value, hip: { threadGroupWidth: HIP_GROUP_WIDTH } };
  const devices = await listDevices(compiler, placeOf(programs.cudaFolder, signal));
  if (!devices.ok) return [target('hip:0', 'hip', devices, 'HIP needs an AMD GPU with its driver.')];
  return devices.value.map((device) => target(`hip:${device.properties.ordinal}`, 'hip', ok(device), ''));
}

export function userCacheFolder(): string {
  const home = homedir();
  if (process.platform === 'win32')
    return join(process.env.LOCALAPPDATA ?? join(home, 'AppData', 'Local'), 'Lockstep', 'Cache');
  if (process.platform === 'darwin') return join(home, 'Library', 'Caches', 'Lockstep');
  return join(process.env.XDG_CACHE_HOME || join(home, '.cache'), 'lockstep');
}

async function askDevices(program: Program, signal: AbortSignal): Promise<Result<readonly MeasuringDevice[]>> {
  const devices: MeasuringDevice[] = [];
  let lost: string | null = null;
  const limits = { totalMs: ASK_LIMIT_MS, startMs: ASK_LIMIT_MS, caseMs: ASK_LIMIT_MS };
  const end = await runProgram(program, limits, signal, async (record) => {
    if (record.type === 'device') devices.push(record);
    if (record.type === 'lost') lost = record.message;
    return ok(null);
  });
  if (devices.length > 0) return ok(devices);
  if (lost !== null) return notFound(lost);
  switch (end.kind) {
    case 'crashed':
    case 'refused':
      return notFound(end.message);
    case 'hung':
    case 'late':
      return notFound(`no answer within ${ASK_LIMIT_MS / 1000} s`);
    case 'ended':
      return notFound('no device');
    case 'lost':
    case 'cancelled':
      return fail('cancelled', 'cancelled');
  }
}

async function askScript(
  programs: MeasuringPrograms,
  backend: 'cpu' | 'webgpu',
  signal: AbortSignal,
): Promise<Result<MeasuringDevice>> {
  const plan: BenchPlan = {
    format: 'lockstep-bench',
    version: 1,
    backend,
    cases: [],
    warmUps: 0,
    repeats: 1,
    seed: 1,
    caseTimeLimitMs: ASK_LIMIT_MS,
    workload: null,
  };
  return inTemporaryFolder(async (folder) => {
    const program = await scriptWithPlan(programs, plan, folder);
    const devices = program.ok ? await askDevices(program.value, signal) : program;
    return devices.ok ? ok(devices.value[0]) : devices;
  });
}

async function cudaTargets(programs: MeasuringPrograms, signal: AbortSignal): Promise<readonly MeasuringTarget[]> {
  const place = placeOf(programs.cudaFolder, signal);
  const chosen = await localToolkit(place);
  const devices = chosen.ok ? await listDevices(chosen.value, place) : chosen;
  if (devices.ok) return Promise.all(devices.value.map((device) => cudaTarget(device)));
  const advice =
    devices.error.code === 'unsupported'
      ? ''
      : (await findToolkit(process.env, [])).ok
        ? 'CUDA needs an NVIDIA GPU with its driver. Without one, lockstep bench --bundle packs the measurement for a machine with such a GPU.'
        : 'Install the CUDA toolkit and put nvcc in PATH, or use lockstep bench --bundle, which packs the measurement for a machine with a compiler.';
  return [target('cuda:0', 'cuda', devices, advice)];
}

export function cudaAdvice({ name, multiprocessors, properties }: MeasuringDevice): string {
  if (/\bMIG\b/.test(name))
    return `This is a slice (MIG) of a GPU, which a study names DEVICE:${multiprocessors}:slice. CUDA sees one slice at a time; CUDA_VISIBLE_DEVICES=MIG-… chooses another (nvidia-smi -L).`;
  return properties.launchTimeLimit === 1
    ? 'This device drives a screen, so the system ends launches of more than a few seconds. Measure fewer units (--units), or raise TdrDelay on Windows.'
    : '';
}

async function cudaTarget(device: MeasuringDevice): Promise<MeasuringTarget> {
  const own = await findToolkit(process.env, capabilitiesOf([device]));
  const found = target(`cuda:${device.properties.ordinal}`, 'cuda', ok(device), '');
  return own.ok && own.value.lacking.length > 0
    ? { ...found, available: false, advice: `${lackingText(own.value.lacking)}.` }
    : { ...found, advice: cudaAdvice(device) };
}

export async function webgpuTarget(
  programs: MeasuringPrograms,
  signal: AbortSignal = new AbortController().signal,
): Promise<MeasuringTarget> {
  return target(
    'webgpu',
    'webgpu',
    await askScript(programs, 'webgpu', signal),
    'WebGPU under Node needs the optional package webgpu and a driver for Vulkan, Metal or Direct3D 12; a browser measures with its own GPU in the Measure view.',
  );
}

async function cpuTarget(programs: MeasuringPrograms, signal: AbortSignal): Promise<MeasuringTarget> {
  return target('cpu', 'cpu', await askScript(programs, 'cpu', signal), '');
}

function target(id: string, backend: BenchBackend, device: Result<MeasuringDevice>, advice: string): MeasuringTarget {
  return device.ok
    ? { id, backend, available: true, label: deviceTitle(device.value), device: device.value, advice: '' }
    : { id, backend, available: false, label: device.error.message, device: null, advice };
}

async function openclTargets(
  { openclHost }: MeasuringPrograms,
  mayRun: boolean,
  signal: AbortSignal,
): Promise<readonly MeasuringTarget[]> {
  const found = await findOpencl(openclHost, signal);
  if (!found.ok)
    return [target('opencl:0', 'program', found, 'OpenCL needs PyOpenCL and a driver; on Debian: apt-get install python3-pyopencl pocl-opencl-icd, where pocl runs on the CPU.')]; // prettier-ignore
  return found.value.devices.map((device) => {
    const id = `opencl:${device.properties.ordinal}`;
    const listed = target(id, 'program', ok(device), '');
    return mayRun
      ? { ...listed, advice: 'This target measures your own kernel (--kernel).' }
      : { ...listed, available: false, label: `only the command line measures on ${listed.label}`, advice: `Use lockstep bench RUN --kernel KERNEL.json --target ${id}.` }; // prettier-ignore
  });
}

async function emulationTarget(): Promise<MeasuringTarget> {
  const emulator = await findEmulator();
  const label = emulator.ok ? 'CPU emulation of CUDA, for your own kernel (--kernel)' : emulator.error.message;
  return { id: EMULATION_TARGET, backend: 'program', available: emulator.ok, label, device: null, advice: emulator.ok ? 'This target checks results, but measures no times.' : '' }; // prettier-ignore
}

/** Lists the targets of the kind of `id`. Listing all kinds would take time, because CUDA needs a compiler. */
export async function targetsLike(
  id: string,
  programs: MeasuringPrograms,
  signal: AbortSignal,
): Promise<readonly MeasuringTarget[]> {
  if (id.startsWith('cuda:')) return cudaTargets(programs, signal);
  if (id.startsWith('hip:')) return hipTargets(programs, signal);
  if (isOpencl(id)) return openclTargets(programs, false, signal);
  if (id === 'webgpu') return [await webgpuTarget(programs, signal)];
  return id === 'cpu' ? [await cpuTarget(programs, signal)] : [];
}

export function openTargets({
  programs,
  host,
  closing,
  agents,
}: Pick<Context, 'programs' | 'host' | 'closing'> & { readonly agents: Pick<Context['agents'], 'devices'> }) {
  const page: MeasuringTarget = {
    id: PAGE_TARGET,
    backend: 'webgpu',
    available: host !== 'cli',
    label: host === 'cli' ? 'the GPU that a browser page uses (WebGPU)' : 'the GPU of this page',
    device: null,
    advice:
      host === 'cli'
        ? 'Open the desktop app or lockstep serve: its Measure view measures with the GPU of the page.'
        : '',
  };
  const cuda = once(() => cudaTargets(programs, closing));
  const hip = once(() => hipTargets(programs, closing));
  const opencl = once(() => openclTargets(programs, host === 'cli', closing));
  const webgpu = once(async () => [await webgpuTarget(programs, closing)]);
  const cpu = once(async () => [await cpuTarget(programs, closing)]);
  const emulation = once(async () => (host === 'cli' ? [await emulationTarget()] : []));
  const like = async (id: string): Promise<readonly MeasuringTarget[]> => {
    if (remoteTarget(id)) return agents.devices();
    if (id.startsWith('hip:')) return hip(false);
    if (isOpencl(id)) return opencl(false);
    if (id === 'webgpu') return webgpu(false);
    return id === 'cpu' ? cpu(false) : [];
  };
  return {
    async list(again: boolean): Promise<readonly MeasuringTarget[]> {
      const local = [cuda, hip, opencl, webgpu, () => [page], cpu, emulation].map((ask) => ask(again));
      return (await Promise.all([...local, agents.devices()])).flat();
    },
    device: async (id: string): Promise<MeasuringDevice | null> =>
      (await like(id)).find((target) => target.id === id)?.device ?? null,
  };
}

export type Targets = ReturnType<typeof openTargets>;

function once<T>(ask: () => Promise<T>): (again: boolean) => Promise<T> {
  let known: Promise<T> | null = null;
  return (again) => {
    if (again || !known) known = ask();
    return known;
  };
}

type PageLimits = ProcedureArguments<'bench.start'>['limits'];

export function checkLimits(target: string, limits: PageLimits): Result<null> {
  return limits && target !== PAGE_TARGET
    ? badInput(`limits are only for the target ${PAGE_TARGET}, not for ${target}.`)
    : ok(null);
}

export async function targetAbility(
  targets: Targets,
  target: string,
  backend: BenchBackend,
  limits: Partial<Ability> | undefined,
): Promise<Ability> {
  return { ...findAbility(backend, await targets.device(target)), ...limits };
}
