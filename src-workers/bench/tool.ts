import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fail, ok, systemReason, type Result, unsupported, notFound } from '../domain/result.ts';
import { startGuarded, type StartError } from './guard.ts';
import { childEnvironment } from './parent.ts';

export interface ToolRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly cwd?: string;
  /** Added to this process's environment without its secrets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeLimitMs: number;
  readonly signal?: AbortSignal | undefined;
}

export function pathFolders(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return (environment['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
}

export async function findProgram(names: readonly string[], folders: readonly string[]): Promise<string | null> {
  for (const folder of folders)
    for (const name of names) if (await isProgram(join(folder, name))) return join(folder, name);
  return null;
}

export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * All processes of the tool are killed when it ends, at the time limit, on cancel, and when this process is killed. An
 * exit code other than 0 is no failure. Fails with `not-found`, `cancelled`, or with `unsupported` at the time limit.
 */
export function runTool(program: string, args: readonly string[], options: ToolOptions): Promise<Result<ToolRun>> {
  const { cwd, timeLimitMs, signal } = options;
  if (signal?.aborted) return Promise.resolve(fail('cancelled', `${program} was cancelled`));
  return new Promise((resolve) => {
    const output = { stdout: '', stderr: '' };
    let stopped: Result<never> | null = null;
    const end = (result: Result<ToolRun>): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      resolve(stopped ?? result);
    };
    const kill = startGuarded({ program, args, cwd, env: childEnvironment(options.env) }, (report) => {
      if ('text' in report) output[report.stream] += report.text;
      else if ('code' in report) end(ok({ code: report.code, ...output }));
      else end(cannotStart(program, report.error));
    });
    const stop = (why: Result<never>): void => {
      stopped ??= why;
      kill();
    };
    const timer = setTimeout(
      () => stop(unsupported(`${program} took longer than ${timeLimitMs} ms and was stopped`)),
      timeLimitMs,
    );
    const cancel = (): void => stop(fail('cancelled', `${program} was cancelled`));
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

function cannotStart(program: string, error: StartError): Result<never> {
  return error.code === 'ENOENT' || error.code === 'EACCES'
    ? notFound(`${program} cannot be started (${systemReason(error)})`)
    : fail('internal', `${program} could not be run: ${error.message}`);
}
