import { writeSync } from 'node:fs';
import { SECRET_VARIABLES } from '../domain/program.ts';

/** Environment variable that holds the id of the process that started a program of ours and reads what it says. */
export const PARENT_VARIABLE = 'LOCKSTEP_PARENT';

/** How soon a program notices, ms. */
const LOOK_MS = 500;

/**
 * Ends this process soon after the process that reads it has gone, for any reason: a killed process cannot end its
 * programs. A process that a person started has no such variable, and continues.
 */
export function endWithParent(): void {
  const parent = Number(process.env[PARENT_VARIABLE]);
  if (!(parent > 0)) return;
  setInterval(() => {
    // The process that adopts one without a parent has another id.
    if (process.ppid !== parent) process.exit(1);
  }, LOOK_MS).unref();
}

/** Prints a record, or the line of a plan, for the process that reads. */
export function printLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // The pipe is full and does not block: the reader will make room.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/**
 * This process's environment for a program that it starts: without secrets, which kernels and tools of others could
 * read.
 */
export function childEnvironment(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  // Windows ignores the case of names.
  const inherited = Object.entries(process.env).filter(([name]) => !SECRET_VARIABLES.includes(name.toUpperCase()));
  return { ...Object.fromEntries(inherited), ...added };
}

/** Environment in which this process's own program runs a script as Node: under Electron it would open an app. */
export function ownNode(): Readonly<Record<string, string>> {
  return process.versions.electron ? { ELECTRON_RUN_AS_NODE: '1' } : {};
}
