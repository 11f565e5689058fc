import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { ok, systemReason, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { EXIT_HUNG } from '../../../src-workers/bench/cuda/cuda-plan.ts';
import { killGroup } from '../../../src-workers/bench/guard.ts';
import { childEnvironment, ownNode, PARENT_VARIABLE } from '../../../src-workers/bench/parent.ts';
import { parseBenchRecord } from '../../../src-workers/parse/bench-records.ts';
import type { BenchCommand } from '../../../src-workers/bench/cuda/write.ts';
import type { BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import { linesOf } from '../files/lines.ts';
import { lastLine, shortened } from '../../../src-workers/domain/text.ts';

/** Runs a measuring program in a process group of its own, reads its lines of JSON, and reports how it ended. */

export interface Program extends BenchCommand {
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProgramLimits {
  readonly totalMs: number;
  /** How long the program may take to mention its first case. A record of another type restarts this time. */
  readonly startMs: number;
  readonly caseMs: number;
}

/**
 * Takes a record and its time in ms from the start of the program. The next record comes when the promise resolves. A
 * failure refuses the record and ends the program.
 */
export type TakeRecord = (record: BenchRecord, atMs: number) => Promise<Result<unknown>>;

export type ProgramEnd =
  | { readonly kind: 'ended' }
  | { readonly kind: 'cancelled' }
  /** The agent that ran the program stopped answering. Another attempt measures the rest. */
  | { readonly kind: 'lost' }
  /** A launch hung, and the program reported its case. Another attempt measures the rest. */
  | { readonly kind: 'hung' }
  | { readonly kind: 'late'; readonly whole: boolean; readonly limitMs: number }
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string };

const MAX_LINE_BYTES = 64 * 2 ** 20;
const STDERR_TAIL_CHARACTERS = 8192;
const MAX_SHOWN_CHARACTERS = 300;
/** The wait for the last lines of standard error after the program's end, ms. Another process may keep it open. */
const LAST_WORDS_MS = 200;
const TERM_GRACE_MS = 2000;

/** Returns the program that runs a script and ends with this process. Under Electron, Electron's own Node runs it. */
export function scriptProgram(file: string, args: readonly string[], cwd: string): Program {
  const env = { ...ownNode(), [PARENT_VARIABLE]: String(process.pid) };
  return { program: process.execPath, args: [file, ...args], cwd, env };
}

/** Runs a program. All records are processed when the call resolves. It rejects only if `take` has a bug. */
export async function runProgram(
  program: Program,
  limits: ProgramLimits,
  signal: AbortSignal,
  take: TakeRecord,
): Promise<ProgramEnd> {
  if (signal.aborted) return { kind: 'cancelled' };
  const from = performance.now();
  const child = spawn(program.program, [...program.args], {
    cwd: program.cwd,
    env: childEnvironment(program.env),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const kill = (name: NodeJS.Signals): void => {
    if (process.platform === 'win32') child.kill(name);
    else if (child.pid !== undefined) killGroup(child.pid, name);
  };
  let end: ProgramEnd | null = null;
  let killTimer: NodeJS.Timeout | null = null;
  const stop = (reason: ProgramEnd): void => {
    if (end) return;
    end = reason;
    kill('SIGTERM');
    killTimer = setTimeout(() => kill('SIGKILL'), TERM_GRACE_MS);
  };

  const startError = new Promise<Error | null>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(null));
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, name) => resolve({ code, signal: name })),
  );
  const drained = new Promise<void>((resolve) => child.stderr.once('close', resolve));
  let stderr = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => (stderr = (stderr + text).slice(-STDERR_TAIL_CHARACTERS)));

  const failedStart = await startError;
  if (failedStart) {
    return { kind: 'crashed', message: `${program.program} cannot be started (${systemReason(failedStart)})` };
  }

  const onAbort = (): void => stop({ kind: 'cancelled' });
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const total = setTimeout(() => stop({ kind: 'late', whole: true, limitMs: limits.totalMs }), limits.totalMs);
  let quiet: NodeJS.Timeout | null = null;
  let begun = false;
  const watchQuiet = (): void => {
    if (quiet) clearTimeout(quiet);
    const limitMs = begun ? limits.caseMs : limits.startMs;
    quiet = setTimeout(() => stop({ kind: 'late', whole: false, limitMs }), limitMs);
  };
  watchQuiet();
  try {
    let about: string | null = null;
    for await (const line of linesOf(child.stdout, MAX_LINE_BYTES, false)) {
      if (end) break;
      const record = readRecord(line);
      if (!record.ok) {
        stop({ kind: 'refused', message: record.error.message });
        break;
      }
      if (!record.value) continue;
      const taken = await take(record.value, performance.now() - from);
      if (!taken.ok) {
        stop({ kind: 'refused', message: taken.error.message });
        break;
      }
      const now = 'case' in record.value ? record.value.case : record.value.type;
      begun ||= 'case' in record.value;
      if (now !== about) watchQuiet();
      about = now;
    }
    // The loop may have ended early and closed the pipe, which ends a program that still writes.
    const { code, signal: name } = await exited;
    if (end) return end;
    if (code === 0) return { kind: 'ended' };
    if (code === EXIT_HUNG) return { kind: 'hung' };
    await Promise.race([drained, pause(LAST_WORDS_MS, undefined, { ref: false })]);
    const how = name ? `was ended by the signal ${name}` : `ended with exit code ${code}`;
    const words = errorLine(stderr);
    return { kind: 'crashed', message: words ? `${how}: ${shortened(words, MAX_SHOWN_CHARACTERS)}` : how };
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearTimeout(total);
    if (quiet) clearTimeout(quiet);
    if (killTimer) clearTimeout(killTimer);
    // Processes that the program has left behind end too.
    kill('SIGKILL');
  }
}

function errorLine(stderr: string): string {
  const last = lastLine(stderr);
  const thrown = /^Node\.js v/.test(last) ? stderr.split('\n').findLast((line) => /^\w*Error\b/.test(line)) : undefined;
  return thrown?.trim() ?? last;
}

function readRecord(line: string | null): Result<BenchRecord | null> {
  if (line === null)
    return badInput(`The measuring program printed a line of more than ${MAX_LINE_BYTES} bytes, which is the limit.`);
  if (line.trim() === '') return ok(null);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return badInput(
      `The measuring program printed "${shortened(line, MAX_SHOWN_CHARACTERS)}", which is not a record in one line of JSON.`,
    );
  }
  const record = parseBenchRecord(value);
  return record.ok ? record : badInput(`The measuring program printed a wrong record: ${record.error.message}`);
}
