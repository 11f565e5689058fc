import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fail, ok, type Result, unsupported, notFound } from '../../domain/result.ts';
import { cachedOutput, pruneCache } from '../output-cache.ts';
import { findProgram, pathFolders, runTool, type ToolRun } from '../tool.ts';
import { inlinePtx, rewriteLaunches } from './launch-syntax.ts';
import { firstError } from './ptxas.ts';

/** Printed at the first launch, so that users do not expect times from an emulated program. */
export const EMULATION_NOTE = 'CPU emulation of CUDA: results and traces are right, times mean nothing';

export interface EmulatedProgram {
  readonly sources: string;
  readonly files: readonly string[];
  readonly flags: readonly string[];
  readonly cacheFolder: string;
  readonly timeLimitMs: number;
}

export async function findEmulator(): Promise<Result<string>> {
  if (process.platform !== 'linux')
    return unsupported('The emulation of CUDA needs Linux. Use it in a container or in WSL.');
  const compiler = await findProgram(['g++'], pathFolders(process.env));
  return compiler === null
    ? notFound('The emulation of CUDA needs g++. Install it (apt-get install g++).')
    : ok(compiler);
}

/** Returns the program's path. Without g++: `not-found`. If g++ fails: `unsupported`, with its first error. */
export async function compileEmulated(request: EmulatedProgram): Promise<Result<string>> {
  const { files, cacheFolder, timeLimitMs } = request;
  const compiler = await findEmulator();
  if (!compiler.ok) return compiler;
  const run = (args: readonly string[], cwd: string): Promise<Result<ToolRun>> =>
    runTool(compiler.value, args, { cwd, timeLimitMs });
  const objects: { readonly key: string; readonly path: string }[] = [];
  for (const file of files) {
    const rewritten = await preprocessed(request, file, run);
    if (!rewritten.ok) return rewritten;
    const parts = [compiler.value, createHash('sha256').update(rewritten.value).digest('hex'), ...COMPILE];
    const object = await cachedOutput(cacheFolder, 'object.o', parts, file, async (path) => {
      await writeFile(`${path}.ii`, rewritten.value);
      return run([...COMPILE, '-c', `${path}.ii`, '-o', path], dirname(resolve(file)));
    });
    if (!object.ok) return named(object, file);
    objects.push(object.value);
  }
  const keys = objects.map(({ key }) => key);
  const libraries = request.flags.filter((flag) => /^-[lL]/.test(flag));
  const program = await cachedOutput(cacheFolder, 'program', [compiler.value, ...keys, ...libraries], 'g++', (path) =>
    run([...objects.map(({ path: object }) => object), '-o', path, ...libraries, '-ldl', '-lpthread'], cacheFolder),
  );
  if (!program.ok) return program;
  await pruneCache(cacheFolder, new Set([...keys, program.value.key]));
  return ok(program.value.path);
}

const COMPILE = ['-std=c++17', '-O1', '-w', '-ffp-contract=off', '-fpermissive', '-fpreprocessed'] as const;

async function preprocessed(
  { sources, flags }: EmulatedProgram,
  file: string,
  run: (args: readonly string[], cwd: string) => Promise<Result<ToolRun>>,
): Promise<Result<string>> {
  const emulation = join(sources, 'emulation');
  const defined = flags.filter((flag) => !/^-[lL]/.test(flag));
  const own = [
    '-DLOCKSTEP_EMULATED_TARGET',
    '-D__CUDACC__',
    '-D__NVCC__',
    '-I',
    emulation,
    '-include',
    'cuda_runtime.h',
  ];
  const ran = await run(['-x', 'c++', '-E', '-std=c++17', '-w', ...own, ...defined, file], process.cwd());
  if (!ran.ok) return ran;
  if (ran.value.code !== 0) return unsupported(await headerHint(emulation, file, firstError(ran.value.stderr)));
  const text = ran.value.stdout;
  const ptx = inlinePtx(text);
  if (ptx !== null)
    return unsupported(`${file} has inline PTX (${ptx}), which the emulation cannot run. Put it between #ifndef LOCKSTEP_EMULATION and #endif, with C++ in its place.`); // prettier-ignore
  const rewritten = rewriteLaunches(text);
  return rewritten.ok ? rewritten : unsupported(`${file}: ${rewritten.error.message}.`);
}

async function headerHint(emulation: string, file: string, error: string): Promise<string> {
  const header = /([\w./-]+): No such file or directory/.exec(error)?.[1];
  if (header === undefined) return `${file}: ${error}`;
  const has = (await readdir(emulation).catch(() => [])).filter((name) => name.endsWith('.h') && name !== 'foreign.h');
  return `${file} includes ${header}, which was not found. Add its folder with -I. The emulation has only these headers of CUDA: ${has.join(', ')}.`; // prettier-ignore
}

function named(failure: Result<never> & { readonly ok: false }, file: string): Result<never> {
  const { code, message } = failure.error;
  const missing = /[‘'](\w+)[’'] (?:was not declared|has not been declared|does not name a type)/.exec(message)?.[1];
  return missing === undefined
    ? failure
    : fail(code, `${message}. If ${missing} belongs to CUDA, the emulation lacks it: exclude it in ${basename(file)} with #ifndef LOCKSTEP_EMULATION.`); // prettier-ignore
}
