import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { ProgramTask } from '../../domain/benchmark.ts';
import type { Design } from '../../domain/design.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { cachedOutput, pruneCache } from '../output-cache.ts';
import { firstError } from '../cuda/ptxas.ts';
import { findProgram, pathFolders, runTool, type ToolRun } from '../tool.ts';
import { splitCommand, substituted, type Values } from './command-line.ts';

export type Build = (values: Values, design: Design) => Promise<Result<string>>;

const FILE = process.platform === 'win32' ? 'program.exe' : 'program';

/** A user's build line names its compiler, so NVCC has no effect on it. */
const REMEDY = 'name its nvcc in --build';

/** Builds once for equal build lines. Resolves to the path of `{binary}`, or to an empty text if no line names it. */
export function openBuilder(
  { build, folder }: Pick<ProgramTask, 'build' | 'folder'>,
  keptIn: { readonly cache: string; readonly run: string },
  timeLimitMs: number,
  env: (temporary: string) => Readonly<Record<string, string>> = () => ({}),
): Build {
  if (build === null) return () => Promise.resolve(ok(''));
  const line = splitCommand(build);
  if (!line.ok) return () => Promise.resolve(line);
  const known = new Map<string, Promise<Result<string>>>();
  const kept = new Set<string>();

  const run = (words: readonly string[], binary: string, temporary: string): Promise<Result<ToolRun>> => {
    const args = words.slice(1).map((word) => word.replaceAll('{binary}', binary));
    return runTool(words[0], args, { cwd: folder, timeLimitMs, env: env(temporary) });
  };
  const made = async (words: readonly string[]): Promise<Result<string>> => {
    if (!line.value.some((word) => word.includes('{binary}'))) {
      const built = await run(words, '', tmpdir());
      if (!built.ok) return built;
      const { code, stdout, stderr } = built.value;
      return code === 0 ? ok('') : unsupported(`The build failed: ${firstError(`${stdout}\n${stderr}`, REMEDY)}`);
    }
    const inputs = await findInputs(words, folder);
    // If a folder has too many files to check for changes, its builds are kept for this run alone.
    const cacheFolder = inputs ? keptIn.cache : keptIn.run;
    const entry = await cachedOutput(
      cacheFolder,
      FILE,
      [folder, ...words, ...(inputs ?? [])],
      'The build failed',
      (path, temporary) => run(words, path, temporary),
      REMEDY,
    );
    if (!entry.ok) return entry;
    kept.add(entry.value.key);
    if (entry.value.made && inputs) await pruneCache(cacheFolder, kept);
    return ok(entry.value.path);
  };
  return (values) => {
    const words = line.value.map((word) => substituted(word, values));
    const key = JSON.stringify(words);
    return getOrMake(known, key, () => made(words));
  };
}

/** If the named folders have more files, checking all of them for changes would take too long. */
const MAX_FILES = 5000;
const PASSED_BY = /^(\..*|node_modules|__pycache__)$/;

/** Lists contents of named files, and name, size and time of all files in named folders; null if there are too many. */
async function findInputs(words: readonly string[], folder: string): Promise<readonly string[] | null> {
  const [tool, ...others] = words;
  const program = /[\\/]/.test(tool) ? resolve(folder, tool) : await findProgram([tool], pathFolders(process.env));
  const inputs: string[] = [process.platform, process.arch, program === null ? tool : await readStamp(program)];
  const folders = new Set([folder]);
  for (const word of others) {
    for (const path of [word, word.slice(2), word.slice(word.indexOf('=') + 1)]) {
      if (path === '' || path.includes('{binary}')) continue;
      const full = isAbsolute(path) ? path : join(folder, path);
      const found = await stat(full).catch(() => null);
      if (found?.isDirectory()) folders.add(full);
      else if (found?.isFile())
        inputs.push(`${full} ${createHash('sha256').update(await readFile(full)).digest('hex')}`); // prettier-ignore
    }
  }
  const files: string[] = [];
  const waiting = [...folders];
  for (const at of waiting) {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (PASSED_BY.test(entry.name)) continue;
      if (entry.isDirectory()) waiting.push(join(at, entry.name));
      else files.push(await readStamp(join(at, entry.name)));
    }
    if (files.length > MAX_FILES || waiting.length > MAX_FILES) return null;
  }
  return [...inputs, ...files];
}

async function readStamp(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  return found ? `${path} ${found.size} ${found.mtimeMs}` : path;
}
