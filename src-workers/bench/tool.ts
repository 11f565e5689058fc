import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fail, ok, systemReason, type Result, unsupported, notFound } from '../domain/result.ts';
import { childEnvironment, ownNode } from './parent.ts';

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly cwd?: string;
  /** Variables that are added to this process's environment, which has no secrets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeLimitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export function pathFolders(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

/** The first program with one of these names in the first folder that has one; `null` if there is none. */
export async function findProgram(names: readonly string[], folders: readonly string[]): Promise<string | null> {
  for (const folder of folders)
    for (const name of names) if (await isProgram(join(folder, name))) return join(folder, name);
  return null;
}

/** Whether a file exists and can be started. */
export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * The script between this process and a tool, which is its only child. When this process ends in any way, the channel
 * closes, and the script kills the tool with all that it started. The channel also reports a tool that cannot be
 * started.
 */
const GUARD = `
const [program, ...args] = process.argv.slice(1);
const stdio = ['ignore', 'inherit', 'inherit'];
const child = require('node:child_process').spawn(program, args, { stdio, windowsHide: true });
process.once('disconnect', () => {
  if (process.platform !== 'win32') process.kill(0, 'SIGKILL');
  child.kill('SIGKILL');
  process.exit(1);
});
child.once('error', ({ code, message }) => process.send({ code, message }, () => process.exit(1)));
// A signal is reported as 128 plus its number, as shells do.
child.once('exit', (code, signal) => process.exit(code ?? 128 + require('node:os').constants.signals[signal]));
`;

/** Why a tool cannot be started, as reported by the guard or Node. */
interface StartError {
  readonly code?: string;
  readonly message: string;
}

/** Maximum length of a tool's output; the rest is cut. The important part of a compiler's output is its beginning. */
export const MAX_OUTPUT_CHARACTERS = 4_000_000;

/**
 * Runs a tool to its end, without a shell. The tool and all processes that it started are killed at its end, at the
 * time limit, on cancel, and when this process is killed.
 * An exit code other than 0 is not a failure here. Fails with `not-found` if there is no such program, with
 * `unsupported` if it takes too long, and with `cancelled`.
 */
export function runTool(program: string, args: readonly string[], options: ToolOptions): Promise<Result<ToolRun>> {
  const { timeLimitMs, signal } = options;
  if (signal?.aborted) return Promise.resolve(fail('cancelled', `${program} was cancelled`));
  return new Promise((resolve) => {
    // With a separate process group, the processes behind a compiler can be killed together.
    const ownGroup = process.platform !== 'win32';
    const child = spawn(process.execPath, ['-e', GUARD, '--', program, ...args], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: childEnvironment({ ...options.env, ...ownNode() }),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: ownGroup,
      windowsHide: true,
    });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]!.setEncoding('utf8').on('data', (text: string) => {
        if (output[stream].length < MAX_OUTPUT_CHARACTERS) output[stream] += text;
      });
    }
    let stopped: Result<never> | null = null;
    const killAll = (): void => {
      if (child.pid === undefined) return;
      try {
        if (ownGroup) process.kill(-child.pid, 'SIGKILL');
        else child.kill('SIGKILL');
      } catch {
        // The tool has ended in the meantime.
      }
    };
    const stop = (why: Result<never>): void => {
      stopped ??= why;
      killAll();
    };
    const timer = setTimeout(
      () => stop(unsupported(`${program} took longer than ${timeLimitMs} ms and was stopped`)),
      timeLimitMs,
    );
    const cancel = (): void => stop(fail('cancelled', `${program} was cancelled`));
    signal?.addEventListener('abort', cancel, { once: true });
    const end = (result: Result<ToolRun>): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      resolve(stopped ?? result);
    };
    const cannotStart = (error: StartError): void =>
      end(
        error.code === 'ENOENT' || error.code === 'EACCES'
          ? notFound(`${program} cannot be started (${systemReason(error)})`)
          : fail('internal', `${program} cannot be started: ${error.message}`),
      );
    child.on('error', cannotStart);
    child.on('message', (message) => cannotStart(message as StartError));
    // Processes that the tool left running would hold the pipes open and disturb the next measurement.
    child.on('exit', killAll);
    child.on('close', (code) => end(ok({ code: code ?? 1, ...output })));
  });
}
