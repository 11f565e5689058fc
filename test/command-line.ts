import { afterAll, beforeAll, expect, vi } from 'vitest';
import { main } from '../src-main/cli/main.ts';
import { reportError, type Streams, type Terminal, terminalOn } from '../src-main/cli/output.ts';
import * as engines from '../src-main/services/engine.ts';
import type { EngineOptions } from '../src-main/services/engine.ts';
import { ok, unwrap } from '../src-workers/domain/result.ts';

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

export const lockstep = (...args: readonly string[]): Promise<Outcome> => captured((terminal) => main(args, terminal));

/** Lets all commands of a file on a database use one engine, because opening one takes most of a short command. */
export function shareEngine(databaseFile: () => string, more: Partial<EngineOptions> = {}): void {
  const { openEngine } = engines;
  let shared: ReturnType<typeof openEngine> | undefined;
  const opened = async (options: EngineOptions): ReturnType<typeof openEngine> => {
    if (options.databaseFile !== databaseFile()) return openEngine(options);
    const engine = unwrap(await (shared ??= openEngine({ ...options, ...more })));
    return ok({ ...engine, context: engine.context, close: async () => null });
  };
  beforeAll(() => void vi.spyOn(engines, 'openEngine').mockImplementation(opened));
  afterAll(async () => {
    vi.mocked(engines.openEngine).mockRestore();
    if (shared) await unwrap(await shared).close();
  });
}

/** Returns the JSON document that a command prints. Fails if the command fails or prints anything else. */
export function documentOf<T>({ status, out, err }: Outcome): T {
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return JSON.parse(out) as T;
}
