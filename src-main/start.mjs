// `npm start`: builds what is missing or out of date, then opens the desktop app where there is a screen and an Electron
// runtime, or else starts the browser host and prints its address. Plain JavaScript: the system's Node may be old.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findElectron, findNode, hostsEngine } from './runtimes.mjs';

/** Where the person is: npm changes to the project's folder first. */
const from = (path) => resolvePath(process.env.INIT_CWD ?? process.cwd(), path);
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCES = ['src-main', 'src-renderer', 'src-workers', 'db', 'electron.vite.config.ts', 'package-lock.json'];
const BUILT = ['out/main/desktop.js', 'out/main/serve.js', 'out/preload/preload.cjs', 'out/renderer/index.html'];
/** An Electron that ends with an error this soon never showed a window. */
const FAILED_START_MS = 5_000;

const say = (line) => process.stdout.write(`${line}\n`);
const stop = (line, code) => {
  process.stderr.write(`${line}\n`);
  process.exit(code);
};

const usage = `usage: npm start -- [--browser] [--port N] [--db FILE] [STUDY.json …] [Electron flags]
  --browser   use the browser even where the desktop app can start
  --port N    port of the browser host (default 7877; 0 for any)
  --db FILE   database file`;

function readArguments(argv) {
  const read = { browser: false, port: null, db: null, rest: [] };
  for (let i = 0; i < argv.length; i++) {
    const [name, inline] = argv[i].split(/=(.*)/s, 2);
    if (name === '--help') {
      say(usage);
      process.exit(0);
    } else if (name === '--browser') read.browser = true;
    else if (name === '--port' || name === '--db') {
      const value = inline ?? argv[++i];
      if (!value) stop(`${name} needs a value; ${usage}`, 2);
      read[name.slice(2)] = name === '--db' ? from(value) : value;
    } else read.rest.push(argv[i]);
  }
  return read;
}

function newest(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return found.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function isBuilt() {
  const built = BUILT.map((path) => join(root, path));
  if (!built.every(existsSync)) return false;
  const sources = SOURCES.map((path) => join(root, path)).filter(existsSync);
  return Math.min(...built.map(newest)) >= Math.max(...sources.map(newest));
}

/** Runs a child to its end, passing on what tells this process to stop. Ctrl-C so reaches it twice; it expects that. */
function run(file, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: root, stdio: 'inherit', ...options });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => output.push(data));
    let told = false;
    const pass = (signal) => {
      told = true;
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, pass);
    const end = (code) => {
      for (const signal of signals) process.off(signal, pass);
      resolve({ code: code ?? 1, told, output: Buffer.concat(output).toString() });
    };
    child.on('error', (error) => {
      output.push(Buffer.from(error.message));
      end(1);
    });
    child.on('close', end);
  });
}

const wanted = readArguments(process.argv.slice(2));
const node = findNode(root);
if (!node) stop(`Lockstep needs Node 24 or later; this is ${process.version}, and none is in node_modules.`, 1);
const bundler = join(root, 'node_modules/electron-vite/bin/electron-vite.js');

if (!isBuilt()) {
  if (!existsSync(bundler)) stop('The dependencies are not installed; run: npm ci', 1);
  say('Building Lockstep (first start, or changed sources) …');
  const build = await run(node, [bundler, 'build'], { stdio: ['ignore', 'pipe', 'pipe'] });
  if (build.told) process.exit(130);
  if (build.code !== 0) stop(`${build.output}\nThe build failed.`, 1);
}

const hasScreen = process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
const electron = findElectron(root);
let why = null;
if (wanted.browser) why = 'asked for with --browser';
else if (!hasScreen) why = 'no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)';
else if ('missing' in electron) why = electron.missing;

if (why === null) {
  const env = { ...process.env };
  if (wanted.db) env.LOCKSTEP_DB = wanted.db;
  if (!env.LOCKSTEP_ENGINE_NODE && !hostsEngine(electron.file)) env.LOCKSTEP_ENGINE_NODE = node;
  const flags = wanted.rest.filter((one) => one.startsWith('-'));
  const studies = wanted.rest.filter((one) => !one.startsWith('-')).map(from);
  const scheme = join(root, 'src-main/desktop/page-scheme.cjs');
  const began = Date.now();
  const desktop = await run(electron.file, [...flags, '-r', scheme, root, ...studies], { env });
  if (desktop.code === 0 || desktop.told || Date.now() - began > FAILED_START_MS) process.exit(desktop.code);
  why = 'Electron ended at once (its message is above)';
}

say(`Opening in the browser instead of a window: ${why}.`);
const args = [join(root, 'out/main/serve.js')];
if (wanted.port) args.push('--port', wanted.port);
if (wanted.db) args.push('--db', wanted.db);
const host = await run(node, args);
process.exit(host.code);
