// `npm start` first builds what is missing or out of date. On a machine with a screen, it opens the desktop app; the
// first start downloads the Electron runtime. Without a screen, it starts the browser host and prints its address. This
// file is plain JavaScript, because the system's Node may be too old for TypeScript.
import { dirname, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  ENGINE_ARGUMENTS,
  engineEnvironment,
  findElectron,
  findNode,
  hostsEngine,
  NODE_NEEDED,
} from './hosts/runtimes.mjs';
import { ensureBuilt, fetchElectron, runChild } from './hosts/setup.mjs';

/** Resolves a path from the folder of the user, because npm runs scripts in the project's folder. */
const from = (path) => resolvePath(process.env.INIT_CWD ?? process.cwd(), path);
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** If Electron ends with an error within this time, it has not shown a window. */
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

const wanted = readArguments(process.argv.slice(2));
const node = findNode(root);
if (!node) stop(`${NODE_NEEDED} This is ${process.version}.`, 1);

const built = await ensureBuilt(root, node, say);
if (built.stopped) process.exit(130);
if (built.failed !== null) stop(built.failed, 1);

const hasScreen = process.platform !== 'linux' || Boolean(process.env.DISPLAY || process.env.WAYLAND_DISPLAY);
let electron = findElectron(root);
let why = null;
if (wanted.browser) why = '--browser was given';
else if (!hasScreen) why = 'no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)';
else if ('missing' in electron && process.env.LOCKSTEP_ELECTRON) why = electron.missing;
else if ('missing' in electron) {
  const { failed, stopped } = await fetchElectron(root, node, process.stdout);
  if (stopped) process.exit(130);
  if (failed === null) electron = findElectron(root);
  else why = failed;
}

if (why === null) {
  const env = { ...process.env };
  if (wanted.db) env.LOCKSTEP_DB = wanted.db;
  if (!env.LOCKSTEP_ENGINE_NODE && !hostsEngine(electron.file)) env.LOCKSTEP_ENGINE_NODE = node;
  const flags = wanted.rest.filter((one) => one.startsWith('-'));
  const studies = wanted.rest.filter((one) => !one.startsWith('-')).map(from);
  const scheme = join(root, 'src-main/desktop/page-scheme.cjs');
  const began = Date.now();
  const desktop = await runChild(electron.file, [...flags, '-r', scheme, root, ...studies], { cwd: root, env });
  if (desktop.code === 0 || desktop.stopped || Date.now() - began > FAILED_START_MS) process.exit(desktop.code);
  why = 'Electron ended at once (its message is above)';
}

say(`Opening in the browser instead of a window: ${why}.`);
const args = [...ENGINE_ARGUMENTS, join(root, 'out/main/serve.js')];
if (wanted.port) args.push('--port', wanted.port);
if (wanted.db) args.push('--db', wanted.db);
const host = await runChild(node, args, { cwd: root, env: engineEnvironment(process.env) });
process.exit(host.code);
