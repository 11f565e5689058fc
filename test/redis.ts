import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool } from './tools.mjs';

/** Starts a private Redis on loopback, and agents as processes, for tests, benchmarks and `npm run verify`. */

export const REDIS_PASSWORD = 'correct-horse';
const COMMAND = fileURLToPath(new URL('../src-main/cli/lockstep.mjs', import.meta.url));

export interface TestRedis {
  readonly url: string;
  /** Password file in the form that the options of commands and engines need. */
  readonly passwordFile: string;
  /** Ends Redis at once, with all its data. */
  kill(): Promise<void>;
  /** Starts Redis again on the same port. */
  start(): Promise<void>;
  /** Makes Redis accept connections without answering, or answer again. */
  hang(on: boolean): void;
}

/**
 * @param folder an empty folder, which the caller removes
 * @param more further options of redis-server. If they contain a certificate, the server accepts only TLS.
 */
export async function startRedis(folder: string, more: Readonly<Record<string, string>> = {}): Promise<TestRedis> {
  const port = await freePort();
  const isTls = 'tls-cert-file' in more;
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${REDIS_PASSWORD}\n`, { mode: 0o600 });
  let server: ChildProcess;
  const start = async (): Promise<void> => {
    const ports = isTls ? { port: 0, 'tls-port': port } : { port };
    const options = { ...ports, bind: '127.0.0.1', dir: folder, save: '', requirepass: REDIS_PASSWORD, ...more };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, ...String(value).split(' ')]);
    server = spawn(findTool('redis-server')!, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const text of server.stdout!) if (String(text).includes('Ready to accept')) return;
    throw new Error('redis-server ended before it was ready');
  };
  await start();
  return {
    url: isTls ? `rediss://localhost:${port}` : `redis://127.0.0.1:${port}`,
    passwordFile,
    start,
    hang: (on) => void server.kill(on ? 'SIGSTOP' : 'SIGCONT'),
    async kill() {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export interface CommandProcess {
  readonly child: ChildProcess;
  said(): string;
  kill(): Promise<void>;
}

/** Starts an agent in a separate process. Resolves when the agent accepts work. */
export function startAgent(
  redis: TestRedis,
  prefix: string,
  name: string,
  ...options: readonly string[]
): Promise<CommandProcess> {
  const args = ['agent', '--json', '--name', name, '--workers', '1'];
  return startCommand([...args, ...redisArgs(redis, prefix), ...options]);
}

/** Returns the options that make a command use a Redis. */
export const redisArgs = (redis: TestRedis, prefix: string): readonly string[] => [
  ...['--redis', redis.url, '--redis-prefix', prefix, '--redis-password-file', redis.passwordFile],
];

/** Starts a command in a separate process. Resolves when the command has printed something. */
export async function startCommand(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<CommandProcess> {
  const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stderr.on('data', (text: Buffer) => void (err += text.toString()));
  const ready = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
  const failed = once(child, 'exit').then(() => {
    throw new Error(`the command ended: ${err}`);
  });
  failed.catch(() => {});
  await Promise.race([ready, failed]);
  return {
    child,
    said: () => err,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
