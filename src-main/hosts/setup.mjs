// Builds a fresh clone and downloads Electron. It is plain JavaScript, because it runs before a build.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findElectron } from './runtimes.mjs';

const SOURCES = ['src-main', 'src-renderer', 'src-workers', 'db', 'electron.vite.config.ts', 'package-lock.json'];
const BUILT = ['out/main/desktop.js', 'out/main/serve.js', 'out/preload/preload.cjs', 'out/renderer/index.html'];
/** A download counts as failed if no data arrives for this time, ms. */
const STALLED_MS = 30_000;
const PROGRESS_MS = 500;

/** Forwards the signals that stop this process. The child receives Ctrl-C twice and can handle that. */
export function runChild(file, args, { onStart, ...options } = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit', ...options });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => output.push(data));
    let stopped = false;
    const pass = (signal) => {
      stopped = true;
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, pass);
    const end = (code) => {
      for (const signal of signals) process.off(signal, pass);
      resolve({ code: code ?? 1, stopped, output: Buffer.concat(output).toString() });
    };
    child.on('error', (error) => {
      output.push(Buffer.from(error.message));
      end(1);
    });
    child.on('close', end);
    onStart?.(() => child.kill('SIGKILL'));
  });
}

function filesIn(path) {
  try {
    const found = statSync(path);
    return found.isDirectory() ? readdirSync(path).flatMap((name) => filesIn(join(path, name))) : [found];
  } catch {
    return [];
  }
}

function isBuilt(root) {
  const built = BUILT.map((path) => join(root, path));
  if (!built.every(existsSync)) return false;
  const newest = (path) => Math.max(0, ...filesIn(path).map(({ mtimeMs }) => mtimeMs));
  return Math.min(...built.map(newest)) >= Math.max(...SOURCES.map((path) => newest(join(root, path))));
}

/** Builds if the build is missing or older than its sources. An installed program has no bundler and keeps its build. */
export async function ensureBuilt(root, node, say) {
  const bundler = join(root, 'node_modules/electron-vite/bin/electron-vite.js');
  if (!existsSync(bundler))
    return {
      failed: BUILT.every((path) => existsSync(join(root, path)))
        ? null
        : 'The dependencies are not installed. Run: npm ci',
      stopped: false,
    };
  if (isBuilt(root)) return { failed: null, stopped: false };
  say('Building Lockstep (first start, or changed sources) …');
  const stdio = ['ignore', 'pipe', 'pipe'];
  const { code, stopped, output } = await runChild(node, [bundler, 'build'], { cwd: root, stdio });
  return { failed: code === 0 ? null : `${output}\nThe build failed.`, stopped };
}

/** The installer of the Electron package verifies the checksum. It needs Node 22.12 or later. */
export async function fetchElectron(root, node, out, stalledMs = STALLED_MS) {
  const folder = join(root, 'node_modules/electron');
  const installer = join(folder, 'install.js');
  if (!existsSync(installer)) return { failed: 'the dependencies are not installed (run: npm ci)', stopped: false };
  out.write('Downloading the Electron runtime (first start; about 120 MB) …\n');
  // The size of the installer's temporary files shows the progress, so they get a folder of their own.
  const temporary = mkdtempSync(join(tmpdir(), 'lockstep-electron-'));
  const bytes = () =>
    [temporary, join(folder, 'dist')].flatMap(filesIn).reduce((sum, { size }) => sum + Number(size), 0);
  let most = 0;
  let grewAt = Date.now();
  let stalled = false;
  let shown = 0;
  let kill = () => {};
  const timer = setInterval(() => {
    const now = bytes();
    if (now > most) {
      most = now;
      grewAt = Date.now();
    } else if (Date.now() - grewAt > stalledMs) {
      stalled = true;
      kill();
    }
    const megabytes = Math.floor(most / 1e6);
    // A log gets a new line every 20 MB, instead of a line that changes.
    if (out.isTTY ? megabytes > shown : megabytes >= shown + 20) {
      shown = megabytes;
      out.write(out.isTTY ? `\r  ${megabytes} MB` : `  ${megabytes} MB\n`);
    }
  }, PROGRESS_MS);
  const { code, stopped, output } = await runChild(node, [installer], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...{ TMPDIR: temporary, TEMP: temporary, TMP: temporary, ELECTRON_GET_NO_PROGRESS: '1', NODE_USE_ENV_PROXY: '1' },
    },
    onStart: (stop) => void (kill = stop),
  });
  clearInterval(timer);
  rmSync(temporary, { recursive: true, force: true });
  if (out.isTTY && shown > 0) out.write('\r\x1b[2K');
  if (code === 0 && 'file' in findElectron(root)) return { failed: null, stopped };
  const reason = stalled
    ? `nothing arrived for ${Math.round(stalledMs / 1000)} s`
    : (output.split('\n').find((line) => /error/i.test(line)) ?? `its installer ended with ${code}`).trim();
  return { failed: `Electron could not be downloaded (${reason})`, stopped };
}
