import { spawn, type ChildProcess } from 'node:child_process';
import { childEnvironment, ownNode } from './parent.ts';

export interface GuardedProgram {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

export type GuardedReport =
  | { readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** A signal counts as 128 plus its number, as in shells. */
  | { readonly code: number }
  | { readonly error: StartError };

export interface StartError {
  readonly code?: string;
  readonly message: string;
}

/** Maximum length of each output stream of a program. The rest is cut, since the beginning is the important part. */
export const MAX_OUTPUT_CHARACTERS = 4_000_000;

/** When this process ends in any way, the channel closes, and the guard kills all that it started. */
const GUARD = `
const { spawn } = require('node:child_process');
const { signals } = require('node:os').constants;
// Each program gets a process group, so the processes that a compiler started can be killed with it.
const ownGroup = process.platform !== 'win32';
const running = new Map();
const kill = ({ pid }) => {
  try {
    process.kill(ownGroup ? -pid : pid, 'SIGKILL');
  } catch {
    // The program has ended in the meantime.
  }
};
process.once('disconnect', () => {
  running.forEach(kill);
  process.exit();
});
process.on('message', ({ id, start }) => {
  if (!start) return running.has(id) && kill(running.get(id));
  // Without this callback, a failed send would end the guard before it kills the program.
  const tell = (report) => process.connected && process.send({ id, report }, () => {});
  const failed = ({ code, message }) => tell({ error: { code, message } });
  const { program, args, cwd, env } = start;
  const stdio = ['ignore', 'pipe', 'pipe'];
  let child;
  try {
    child = spawn(program, args, { cwd, env, stdio, detached: ownGroup, windowsHide: true });
  } catch (error) {
    return failed(error);
  }
  child.once('error', failed);
  if (child.pid === undefined) return;
  running.set(id, child);
  tell({ pid: child.pid });
  for (const stream of ['stdout', 'stderr']) {
    let left = ${MAX_OUTPUT_CHARACTERS};
    child[stream].setEncoding('utf8').on('data', (text) => {
      if (left > 0) tell({ stream, text: text.slice(0, left) });
      left -= text.length;
    });
  }
  // Processes that the program left behind would hold the pipes open and disturb the next measurement.
  child.once('exit', () => kill(child));
  child.once('close', (code, signal) => {
    running.delete(id);
    tell({ code: code ?? 128 + signals[signal] });
  });
});
`;

interface Running {
  readonly report: (report: GuardedReport) => void;
  pid: number | undefined;
}

type Message = { readonly id: number; readonly report: GuardedReport | { readonly pid: number } };

/** How long an idle guard is kept, ms. Starting a guard takes about 100 ms, and an idle guard holds 40 MB. */
const IDLE_MS = 10_000;

let guard: ChildProcess | null = null;
let idle: NodeJS.Timeout | undefined;
let lastId = 0;
const running = new Map<number, Running>();

/** Starts a program, which is killed with its processes when this process ends. Returns a function that kills it. */
export function startGuarded(start: GuardedProgram, report: Running['report']): () => void {
  const id = ++lastId;
  const own = getGuard();
  running.set(id, { report, pid: undefined });
  hold(own);
  // The end of the guard is reported elsewhere, so an error of sending is ignored.
  own.send({ id, start }, () => {});
  return () => void (running.has(id) && own.send({ id }, () => {}));
}

function getGuard(): ChildProcess {
  if (guard) return guard;
  const own = spawn(process.execPath, ['-e', GUARD], {
    env: childEnvironment(ownNode()),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Ctrl+C in the terminal must not end the guard before this process decides what to do.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const end = (message: string): void => {
    if (guard !== own) return;
    guard = null;
    for (const [id, { pid }] of [...running]) {
      if (pid !== undefined) killGroup(pid);
      finish(own, id, { error: { message } });
    }
  };
  own.on('message', (message) => take(own, message as Message));
  own.once('error', (error) => end(error.message));
  own.once('exit', () => end('the process that starts programs has ended'));
  return (guard = own);
}

function take(own: ChildProcess, { id, report }: Message): void {
  const program = running.get(id);
  if (!program) return;
  if ('pid' in report) program.pid = report.pid;
  else if ('text' in report) program.report(report);
  else finish(own, id, report);
}

function finish(own: ChildProcess, id: number, report: GuardedReport): void {
  const program = running.get(id);
  running.delete(id);
  if (running.size === 0) release(own);
  program?.report(report);
}

function hold(own: ChildProcess): void {
  clearTimeout(idle);
  own.ref();
  own.channel?.ref();
}

function release(own: ChildProcess): void {
  own.unref();
  own.channel?.unref();
  idle = setTimeout(() => {
    guard = null;
    if (own.connected) own.disconnect();
  }, IDLE_MS).unref();
}

export function killGroup(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // The program has ended in the meantime.
  }
}
