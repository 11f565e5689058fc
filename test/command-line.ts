import { expect } from 'vitest';
import { main } from '../src-main/cli/main.ts';
import { reportError, type Streams, type Terminal, terminalOn } from '../src-main/cli/output.ts';

export type Outcome = { readonly status: number; readonly out: string; readonly err: string };

/** Runs a command in this process, and captures its output and exit code. */
export async function captured(
  command: (terminal: Terminal) => Promise<number | void>,
  streams: Partial<Streams> = {},
): Promise<Outcome> {
  let [out, err] = ['', ''];
  const host = terminalOn({
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    interactive: false,
    columns: 100,
    ...streams,
  });
  const status = (await command(host).catch((error: unknown) => reportError(host, error))) ?? 0;
  return { status, out, err };
}

/** Runs the whole command line in this process. */
export const lockstep = (...args: readonly string[]): Promise<Outcome> => captured((terminal) => main(args, terminal));

/** Returns the JSON document that a command prints. Fails if the command fails or prints anything else. */
export function documentOf<T>({ status, out, err }: Outcome): T {
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return JSON.parse(out) as T;
}
