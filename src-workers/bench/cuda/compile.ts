import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fail, ok, type Result, notFound } from '../../domain/result.ts';
import { COMPILE_FLAGS, HOST_OBJECT, LINK_FLAGS, type CudaObject, type PlacedFile } from './cuda-plan.ts';
import { hipEnvironment, hipVersion } from './hip.ts';
import { parsePtxas, parseResourceRemarks, type KernelUsage } from './ptxas.ts';
import { hostCompilerFlags, nvccVersion } from './toolkit.ts';
import { cachedOutput, pruneCache, type CacheEntry } from '../output-cache.ts';
import { inParallel } from '../parallel.ts';
import { runTool } from '../tool.ts';

export interface CudaCompilation {
  readonly nvcc: string;
  /** If set, hipcc compiles for AMD devices with thread groups of this many lanes. */
  readonly hip?: { readonly threadGroupWidth: number };
  readonly sources: string;
  readonly objects: readonly CudaObject[];
  /** Such as `sm_90`, `gfx90a` with HIP, `compute_90` (the driver compiles), or `native` for this machine's GPUs. */
  readonly architectures: readonly string[];
  readonly cacheFolder: string;
  readonly maxCacheBytes?: number;
  readonly timeLimitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface CompiledCuda {
  readonly program: string;
  readonly kernels: readonly KernelUsage[];
  readonly compiled: readonly string[];
}

/** Fails with `not-found` if the folder has no CUDA sources. */
export async function readCudaSources(folder: string): Promise<Result<readonly PlacedFile[]>> {
  let names: string[];
  try {
    names = (await readdir(folder)).filter((name) => /\.cuh?$/.test(name)).sort();
  } catch (error) {
    return notFound(`the CUDA sources cannot be read: ${String(error)}`);
  }
  if (!names.includes(HOST_OBJECT.source))
    return notFound(`The CUDA sources are missing: ${folder} has no ${HOST_OBJECT.source}.`);
  return ok(await Promise.all(names.map(async (path) => ({ path, bytes: await readFile(join(folder, path)) }))));
}

/**
 * Compiles and links the program that measures, unless the cache has it. The key is a digest of all sources, flags,
 * settings and the compiler. Fails with `not-found`, `storage`, `cancelled`, or `unsupported` (with the first error).
 */
export async function compileCuda(request: CudaCompilation): Promise<Result<CompiledCuda>> {
  const { hip } = request;
  const version = hip ? await hipVersion(request.nvcc) : await nvccVersion(request.nvcc);
  if (!version.ok) return version;
  const host = hip ? ok([]) : await hostCompilerFlags(process.env);
  if (!host.ok) return host;
  const sources = await readCudaSources(request.sources);
  if (!sources.ok) return sources;
  const digest = createHash('sha256');
  for (const { path, bytes } of sources.value) digest.update(`${path} ${bytes.length}\n`).update(bytes);
  const settings = NVCC_SETTINGS.map((name) => process.env[name] ?? '');
  const { platform, arch } = process;
  // Machines that share a home folder may have different GPUs, so "native" differs between them.
  const machine = request.architectures.includes('native') ? hostname() : '';
  const compiler = [request.nvcc, version.value, platform, arch, machine, ...settings];
  const base = [...compiler, digest.digest('hex'), ...listFlags(request)];
  const windows = platform === 'win32';

  let failure: Result<never> | null = null;
  const entries = await inParallel(request.objects, async (object): Promise<CacheEntry | null> => {
    if (failure) return null;
    const own = hip ? withoutCap(object.flags) : object.flags;
    const args = [...listFlags(request), ...host.value, ...own, '-c', object.source];
    const file = `${object.name}.${windows ? 'obj' : 'o'}`;
    const entry = await compiled(request, file, [...base, ...args], args, request.sources);
    if (entry.ok) return entry.value;
    failure ??= fail(entry.error.code, `${object.name}: ${entry.error.message}`);
    return null;
  });
  if (failure) return failure;

  const objects = entries.map((entry) => entry!);
  const linkFlags = windows ? host.value : LINK_FLAGS;
  const targets = hip ? offloadFlags(request) : architectureFlags(request.architectures);
  const args = [...targets, ...objects.map(({ path }) => path), ...linkFlags];
  const name = hip ? 'lockstep-hip' : 'lockstep-cuda';
  const file = windows ? `${name}.exe` : name;
  const keys = objects.map(({ key }) => key);
  const program = await compiled(request, file, [...base, ...keys, ...linkFlags], args, request.cacheFolder);
  if (!program.ok) return fail(program.error.code, `linking: ${program.error.message}`);
  const made = [...objects, program.value];
  if (made.some((entry) => entry.made))
    await pruneCache(request.cacheFolder, new Set(made.map(({ key }) => key)), request.maxCacheBytes);
  return ok({
    program: program.value.path,
    kernels: objects.flatMap(({ log }) => (hip ? parseResourceRemarks(log) : parsePtxas(log))),
    compiled: request.objects.filter((_, at) => objects[at].made).map(({ name }) => name),
  });
}

const NVCC_SETTINGS = ['NVCC_PREPEND_FLAGS', 'NVCC_APPEND_FLAGS', 'NVCC_CCBIN'] as const;

function listFlags(request: CudaCompilation): readonly string[] {
  const { hip, architectures } = request;
  return hip
    ? [...HIP_COMPILE_FLAGS, `-DLOCKSTEP_GROUP_WIDTH=${hip.threadGroupWidth}`, ...offloadFlags(request)]
    : [...COMPILE_FLAGS, ...architectureFlags(architectures)];
}

/** Products and sums are not fused, so `__fmul_rn` rounds as in CUDA. Remarks report the resources of kernels. */
export const HIP_COMPILE_FLAGS = [
  '-x',
  'hip',
  '-std=c++17',
  '-O3',
  '-ffp-contract=off',
  '-Rpass-analysis=kernel-resource-usage',
] as const;

const offloadFlags = ({ architectures }: CudaCompilation): readonly string[] =>
  architectures.map((name) => `--offload-arch=${name}`);

/** Removes the register cap from flags, since hipcc has no such flag. */
export function withoutCap(flags: readonly string[]): readonly string[] {
  const at = flags.indexOf('--maxrregcount');
  return at < 0 ? flags : flags.toSpliced(at, 2);
}

export function architectureFlags(architectures: readonly string[]): readonly string[] {
  if (architectures.includes('native')) return ['-arch=native'];
  return architectures.flatMap((name) => ['-gencode', `arch=${name.replace('sm_', 'compute_')},code=${name}`]);
}

function compiled(
  { nvcc, hip, cacheFolder, timeLimitMs, signal }: CudaCompilation,
  file: string,
  parts: readonly string[],
  args: readonly string[],
  cwd: string,
): Promise<Result<CacheEntry>> {
  return cachedOutput(cacheFolder, file, parts, `${hip ? 'hipcc' : 'nvcc'} refused`, (path, temporary) =>
    runTool(nvcc, [...args, '-o', path], {
      cwd,
      timeLimitMs,
      signal,
      ...(hip && { env: hipEnvironment(temporary) }),
    }),
  );
}
