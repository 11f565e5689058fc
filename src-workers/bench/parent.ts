import { writeSync } from 'node:fs';
import { ENGINE_ONLY_VARIABLE, SECRET_VARIABLES } from '../domain/program.ts';

export const PARENT_VARIABLE = 'LOCKSTEP_PARENT';

const LOOK_MS = 500;

/** Ends this process soon after its parent ends, even if the parent was killed. Does nothing if a user started it. */
export function endWithParent(): void {
  const parent = Number(process.env[PARENT_VARIABLE]);
  if (!(parent > 0)) return;
  setInterval(() => {
    // The system has given this process another parent, so its own parent has ended.
    if (process.ppid !== parent) process.exit(1);
  }, LOOK_MS).unref();
}

export function printLine(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      // The pipe is full. The write is tried again until the parent has read from the pipe.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/** Returns the environment for a program that others wrote, without secrets and settings of the engine. */
export function childEnvironment(added: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  // Windows ignores the case of names.
  const ownNames = process.env[ENGINE_ONLY_VARIABLE]?.split(' ') ?? [];
  const omitted = [...SECRET_VARIABLES, ENGINE_ONLY_VARIABLE, ...ownNames];
  const inherited = Object.entries(process.env).filter(([name]) => !omitted.includes(name.toUpperCase()));
  return { ...Object.fromEntries(inherited), ...added };
}

/** Returns the variable without which Electron's executable would open the app instead of running as Node. */
export function ownNode(): Readonly<Record<string, string>> {
  return process.versions.electron ? { ELECTRON_RUN_AS_NODE: '1' } : {};
}
