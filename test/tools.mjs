// Lists the programs that tests start and a machine may lack: where each program is, its purpose, and how to get it.
// The file is plain JavaScript, because `npm test` reads it on any Node.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHROMIUM_NAMES } from '../src-main/services/machine/chromium.mjs';

/**
 * @typedef {'chromium' | 'swiftshader' | 'g++' | 'shellcheck' | 'sqlite3' | 'redis-server' | 'openssl' | 'python3' |
 *   'kokkos' | 'nvcc' | 'hipcc' | 'optuna' | 'slurm' | 'networkx' | 'scipy' | 'nbconvert' | 'opencl' | 'speedscope' | 'duckdb' |
 *   'arrow' | 'polars'} ToolName
 */

/** Folder of the tools that npm provides. */
export const NPM_TOOLS = fileURLToPath(new URL('../node_modules/.cache/tools', import.meta.url));

/** Package with the machine code of Polars, which npm does not choose by itself. */
const POLARS_BINARY = `nodejs-polars-${process.platform}-${process.arch}${{ linux: '-gnu', win32: '-msvc' }[String(process.platform)] ?? ''}`;

/** @param {readonly string[]} names */
function inPath(names) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const name of names) for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name);
  return null;
}

/**
 * Returns the first Python on PATH that has these modules. The first Python on PATH may not see Debian's packages.
 * @param {...string} modules
 */
function pythonWith(...modules) {
  const pythons = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'python3'));
  const code = `import sys; from importlib.util import find_spec; sys.exit(None in map(find_spec, ${JSON.stringify(modules)}))`;
  return pythons.find((python) => existsSync(python) && spawnSync(python, ['-c', code]).status === 0) ?? null;
}

/**
 * Returns the folder of a file in the `node_modules` of a tool; null if the file is missing.
 * @param {string} name
 * @param {string} file
 */
function npmTool(name, file) {
  const path = join(NPM_TOOLS, name, 'node_modules', file);
  return existsSync(path) ? dirname(path) : null;
}

/** Returns the path of the Chromium of `npx playwright install chromium`, or null if it does not start. */
function chromiumOfPlaywright() {
  const { chromium } = createRequire(import.meta.url)('playwright-core');
  const file = chromium.executablePath();
  return existsSync(file) && spawnSync(file, ['--version'], { timeout: 20_000 }).status === 0 ? file : null;
}

/** Finds SwiftShader's Vulkan driver, which comes with a Chromium. */
function swiftShader() {
  try {
    if (process.platform !== 'linux' || !createRequire(import.meta.url).resolve('webgpu')) return null;
  } catch {
    return null; // The driver is in an optional package.
  }
  const { LOCKSTEP_VULKAN_ICD: named } = process.env;
  if (named) return existsSync(named) ? named : null;
  const chromium = findTool('chromium');
  const folders = ['/usr/lib/chromium', '/opt/google/chrome', ...(chromium ? [dirname(chromium)] : [])];
  return folders.map((folder) => join(folder, 'vk_swiftshader_icd.json')).find((file) => existsSync(file)) ?? null;
}

/**
 * Describes a program on PATH. Its Debian package has the same name.
 * @param {string} name
 * @param {string} use
 * @param {string} get
 */
const program = (name, use, get) => ({ use, get, debian: name, find: () => inPath([name]) });

/**
 * Describes Python modules. Their Debian packages have the names of the modules.
 * @param {string} use
 * @param {...string} modules
 */
const python = (use, ...modules) => ({
  use,
  get: `install ${modules.join(', ')} for Python`,
  debian: modules.map((name) => `python3-${name}`).join(' '),
  find: () => pythonWith(...modules),
});

/**
 * Describes npm packages.
 * @param {string} use
 * @param {string} npm
 * @param {() => string | null} find
 */
const ofNpm = (use, npm, find) => ({ use, get: 'npm test fetches it from npm', debian: null, npm, find });

/**
 * All tools. `debian` names the Debian packages of a tool, separated by spaces; `npm test` installs them if it is
 * allowed to. `npm` names the npm packages of a tool. They are installed in a folder of `NPM_TOOLS` with the name of
 * the tool. `needs` names another tool that must exist.
 * @type {Readonly<Record<ToolName, { use: string, get: string, debian: string | null, npm?: string, needs?: ToolName,
 *   find: () => string | null }>>}
 */
export const TOOLS = {
  chromium: {
    use: 'the browser tests',
    get: 'npx playwright install chromium, or name one in LOCKSTEP_CHROMIUM',
    debian: 'chromium-headless-shell',
    find: () => process.env.LOCKSTEP_CHROMIUM || inPath(CHROMIUM_NAMES) || chromiumOfPlaywright(),
  },
  swiftshader: {
    use: 'measuring with WebGPU on a software adapter (Linux)',
    get: 'it comes with Chromium',
    debian: 'chromium-headless-shell',
    find: swiftShader,
  },
  'g++': program(
    'g++',
    'the CUDA sources, in an emulation and as the host compiler of nvcc',
    'install a C++17 compiler',
  ),
  shellcheck: program('shellcheck', 'the script of a bundle', 'install ShellCheck'),
  sqlite3: program('sqlite3', 'the integrity check of another SQLite', "install SQLite's command line"),
  'redis-server': program('redis-server', 'agents on other machines', 'install Redis 6.2 or newer'),
  openssl: program('openssl', 'a Redis with TLS', 'install OpenSSL'),
  python3: program('python3', 'lockstep.py, and measuring a program in Python', 'install Python 3'),
  kokkos: {
    use: 'the Kokkos export under Kokkos itself',
    get: "install Debian's Kokkos",
    debian: 'libtrilinos-kokkos-dev',
    find: () => ['/usr/include/trilinos/Kokkos_Core.hpp'].find((file) => existsSync(file)) ?? null,
  },
  nvcc: {
    use: 'the CUDA sources under the real compiler',
    get: 'install the CUDA toolkit, 12.4 or newer, and add its bin folder to PATH',
    debian: null,
    needs: 'g++',
    find: () => inPath(['nvcc']),
  },
  hipcc: {
    ...program('hipcc', 'the same sources for AMD devices', "install Debian's hipcc, or ROCm"),
    debian: null, // `npm test` does not install this package.
  },
  optuna: python('the export for Optuna and its storages, with Optuna itself', 'optuna'),
  networkx: python('files of graphs as networkx writes them', 'networkx'),
  scipy: python('files of NumPy, SciPy and pandas', 'scipy', 'pandas'),
  nbconvert: python('the exported notebook with its plots', 'nbconvert', 'ipykernel', 'pandas', 'matplotlib'),
  opencl: {
    use: 'measuring an OpenCL kernel through its driver',
    get: 'install PyOpenCL and an OpenCL driver (python3-pyopencl, pocl-opencl-icd)',
    debian: 'pocl-opencl-icd python3-pyopencl',
    find: () => {
      const python = pythonWith('pyopencl');
      const code = 'import pyopencl; pyopencl.get_platforms()';
      return python !== null && spawnSync(python, ['-c', code]).status === 0 ? python : null;
    },
  },
  slurm: {
    use: "a bundle's job array on a cluster of one machine",
    get: 'install Slurm',
    debian: 'slurm-wlm',
    find: () => {
      const programs = ['munged', 'slurmctld', 'slurmd', 'sbatch'].map((name) => inPath([name]));
      return programs.includes(null) ? null : programs[0];
    },
  },
  speedscope: ofNpm('a launch trace in the real speedscope', 'speedscope@1.25.0', () =>
    npmTool('speedscope', 'speedscope/dist/release/index.html'),
  ),
  duckdb: ofNpm('Parquet files that DuckDB writes', '@duckdb/node-api@1.5.6-r.1', () =>
    npmTool('duckdb', '@duckdb/node-api/package.json'),
  ),
  arrow: ofNpm(
    'files of Arrow, and Parquet as the Rust library writes it',
    'apache-arrow@21.2.0 parquet-wasm@0.8.0',
    () => npmTool('arrow', 'parquet-wasm/package.json'),
  ),
  polars: ofNpm(
    'compressed Arrow files that Polars writes',
    `nodejs-polars@0.26.1 ${POLARS_BINARY}@0.26.1`,
    () => npmTool('polars', `${POLARS_BINARY}/package.json`) && npmTool('polars', 'nodejs-polars/package.json'),
  ),
};

/** @type {Map<ToolName, string | null>} */
const found = new Map();

/**
 * Returns the path of a tool; `null` if this machine lacks it. The result is cached.
 * @param {ToolName} name
 * @returns {string | null}
 */
export function findTool(name) {
  if (!found.has(name)) found.set(name, TOOLS[name].find());
  return found.get(name) ?? null;
}

/** Clears the cache after an installation. */
export function forgetTools() {
  found.clear();
}

/**
 * Returns true if one of the tools or a tool that it needs is missing, for `describe.skipIf` and `it.skipIf`.
 * @param {...ToolName} names
 * @returns {boolean}
 */
export const lacks = (...names) =>
  names.some((name) => {
    const { needs } = TOOLS[name];
    return findTool(name) === null || (needs !== undefined && lacks(needs));
  });
