import { writeSync } from 'node:fs';
import { ENGINE_ONLY_VARIABLE, SECRET_VARIABLES } from '../domain/program.ts';

/** The environment variable with the id of the process that started our program and reads its output. */
export const PARENT_VARIABLE = 'LOCKSTEP_PARENT';

/** Interval of the check, ms. */
const LOOK_MS = 500;

/**
 * Ends this process soon after its reader has ended for any reason, since a killed process cannot end its programs. A
 * process that a user started has no such variable, and continues.
 */
export function endWithParent(): void {
  const parent = Number(process.env[PARENT_VARIABLE]);
  if (!(parent > 0)) return;
  setInterval(() => {
    // A process without a parent is adopted by a process with another id.
    if (process.ppid !== parent) process.exit(1);
  }, LOOK_MS).unref();
}

/** Prints a record, or the line of a plan, for the reader. */
export function printLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // The pipe is full and does not block; the reader will make room.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/**
 * Returns this process's environment without secrets and without settings of the engine, for a program that it starts,
 * because others wrote that program.
 */
export function childEnvironment(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  // Windows ignores the case of names.
  const ownNames = process.env[ENGINE_ONLY_VARIABLE]?.split(' ') ?? [];
  const omitted = [...SECRET_VARIABLES, ENGINE_ONLY_VARIABLE, ...ownNames];
  const inherited = Object.entries(process.env).filter(([name]) => !omitted.includes(name.toUpperCase()));
  return { ...Object.fromEntries(inherited), ...added };
}

/** Environment in which this process's own program runs a script as Node. Under Electron, it would open an app. */
export function ownNode(): Readonly<Record<string, string>> {
  return process.versions.electron ? { ELECTRON_RUN_AS_NODE: '1' } : {};
}
