import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programPlaces } from '../hosts/places.ts';
import { defaultDatabaseFile } from '../services/files/data-folder.ts';
import { openEngine } from '../services/engine.ts';
import { TOKEN_VARIABLE } from '../../src-workers/domain/program.ts';
import { type Result, notFound } from '../../src-workers/domain/result.ts';
import { keptToken } from './kept-token.ts';
import { serve } from './serve.ts';

export interface BrowserHostOptions {
  readonly databaseFile?: string;
  readonly port: number;
  /** The default is LOCKSTEP_TOKEN, or else the saved token of the database. */
  readonly token?: string;
  readonly print: (line: string) => void;
  readonly ready?: (served: { readonly address: string; readonly port: number }) => void;
  readonly rendererFolder?: string;
}

export async function runBrowserHost(options: BrowserHostOptions): Promise<Result<null>> {
  const places = programPlaces();
  const { rendererFolder = places.rendererFolder } = options;
  if (!existsSync(join(rendererFolder, 'index.html')))
    return notFound(`The folder ${rendererFolder} has no page. Build it with npm run build.`);
  const { databaseFile = defaultDatabaseFile() } = options;
  const engine = await openEngine({ databaseFile, host: 'serve', ...places.engine });
  if (!engine.ok) return engine;
  const token = options.token ?? (process.env[TOKEN_VARIABLE] || (await keptToken(databaseFile)));
  const host = await serve({ engine: engine.value, rendererFolder, port: options.port, token });
  if (!host.ok) {
    await engine.value.close();
    return host;
  }
  const { address, port, close } = host.value;
  // the listener must exist before the address is printed; otherwise an early Ctrl-C is missed
  const stopped = stopSignal();
  if (options.port !== 0 && port !== options.port)
    options.print(`Port ${options.port} is taken, so port ${port} is used.`);
  options.ready?.({ address, port });
  options.print(`Lockstep is at ${address}`);
  options.print(
    `From another machine: ssh -L ${port}:127.0.0.1:${port} THIS-HOST, then open the same address there. Ctrl-C stops.`,
  );

  await stopped;
  await close();
  const silent = await engine.value.close();
  if (silent !== null) options.print(silent);
  return { ok: true, value: null };
}

/**
 * A second request to stop ends the process at once. Under npm, Ctrl-C arrives twice within moments (from the terminal
 * and from the parent process), and these two count as one request.
 */
function stopSignal(): Promise<void> {
  const SAME_REQUEST_MS = 1_000;
  return new Promise((resolve) => {
    let askedAt: number | null = null;
    const stop = () => {
      askedAt ??= Date.now();
      if (Date.now() - askedAt > SAME_REQUEST_MS) process.exit(130);
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
}
