import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { PASSWORD_VARIABLE } from '../../../src-workers/domain/program.ts';
import {
  errorText,
  ok,
  systemReason,
  type Result,
  badInput,
  notFound,
  unsupported,
} from '../../../src-workers/domain/result.ts';
import { APP_VERSION, MODEL_VERSION, SIMULATOR_VERSION } from '../version.ts';

export interface RedisSettings {
  /** `redis://[USER@]HOST[:PORT][/DATABASE]`, or `rediss://` for TLS, without a password. */
  readonly url: string;
  /** A file whose first line is the password. Without a file, the password comes from the environment. */
  readonly passwordFile?: string | undefined;
  /** With different prefixes, several groups of machines can share one Redis. */
  readonly prefix?: string | undefined;
}

const DEFAULT_PREFIX = 'lockstep';
const DEFAULT_PORT = 6379;
/** How long a Redis may take to answer before it counts as unreachable, ms. */
export const ANSWER_MS = 4000;
const ASK_MS = 500;
const MAX_RETRY_MS = 2000;

/** An agent and the owner of a run must share these versions, because a prediction belongs to its model. */
export const VERSIONS = `Lockstep ${APP_VERSION}, model ${MODEL_VERSION}, simulator ${SIMULATOR_VERSION}`;

export interface Connection {
  readonly redis: Redis;
  readonly prefix: string;
  readonly place: string;
  key(...parts: readonly string[]): string;
  onClose(end: () => Promise<unknown>): void;
  /** Finishes work in progress and disconnects. Returns a message if the Redis did not answer, otherwise null. */
  close(): Promise<string | null>;
}

export async function redisOptions({
  url,
  passwordFile,
  prefix = DEFAULT_PREFIX,
}: RedisSettings): Promise<
  Result<Pick<Connection, 'prefix' | 'place'> & { readonly options: ReturnType<typeof optionsOf> }>
> {
  const form = 'redis://HOST:PORT, or rediss://HOST:PORT for TLS';
  let parsed: URL;
  let username: string;
  try {
    parsed = new URL(url);
    username = decodeURIComponent(parsed.username);
  } catch {
    return badInput(`The address of the Redis must be ${form}.`, { field: 'redis' });
  }
  if (parsed.password !== '')
    return badInput(
      `The address of the Redis must not hold a password, because others can read command lines and settings. Put the password into the environment variable ${PASSWORD_VARIABLE}, or into a file that --redis-password-file names.`,
      { field: 'redis' },
    );
  const database = /^\/?(\d*)$/.exec(parsed.pathname)?.[1];
  if (!['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '' || database === undefined)
    return badInput(
      `The address of the Redis must be ${form}, not ${parsed.protocol}//${parsed.host}${parsed.pathname}.`,
      { field: 'redis' },
    );
  if (!/^[\w.-]{1,64}$/.test(prefix))
    return badInput(
      `The prefix of the keys must be 1 to 64 letters, digits, dots, - and _, not "${prefix.slice(0, 80)}".`,
      { field: 'prefix' },
    );
  const password = passwordFile === undefined ? ok(process.env[PASSWORD_VARIABLE]) : await passwordIn(passwordFile);
  if (!password.ok) return password;
  const port = parsed.port === '' ? DEFAULT_PORT : Number(parsed.port);
  return ok({
    prefix,
    place: `${parsed.protocol}//${parsed.hostname}:${port}`,
    options: optionsOf(parsed, username, port, Number(database), password.value),
  });
}

function optionsOf(
  { protocol, hostname }: URL,
  username: string,
  port: number,
  db: number,
  password: string | undefined,
) {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    host,
    port,
    db,
    ...(username !== '' && { username }),
    ...(password && { password }),
    // TLS does not allow an IP address as the name of a server.
    ...(protocol === 'rediss:' && { tls: isIP(host) === 0 ? { servername: host } : {} }),
    connectTimeout: ANSWER_MS,
    // Commands wait while the Redis is unreachable.
    maxRetriesPerRequest: null,
  };
}

/** Each call begins `ms` after the last one has ended, so calls do not accumulate while a Redis is unreachable. */
export function repeat(ms: number, body: () => Promise<unknown>): { stop(): void } {
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  const next = (): void => {
    if (!stopped) timer = setTimeout(() => void body().then(next, next), ms);
  };
  next();
  return {
    stop() {
      stopped = true;
      if (timer) clearTimeout(timer);
    },
  };
}

async function passwordIn(file: string): Promise<Result<string>> {
  try {
    const [line = ''] = (await readFile(file, 'utf8')).split(/\r?\n/);
    return line === '' ? badInput(`The first line of ${file} is empty. Write the password there.`) : ok(line);
  } catch (error) {
    return notFound(`The password file ${file} cannot be read (${systemReason(error)}).`);
  }
}

export async function connected<T>(
  settings: RedisSettings,
  open: (connection: Connection) => Promise<T>,
): Promise<Result<T>> {
  const connection = await connect(settings);
  if (!connection.ok) return connection;
  const { redis, place, close } = connection.value;
  const opening = open(connection.value);
  try {
    if (await answers(redis, opening)) return ok(await opening);
    redis.disconnect();
    await close();
    return notFound(silentText(place));
  } catch (error) {
    await close();
    const reason = errorText(error);
    return unsupported(
      `The Redis at ${place} refuses what agents need: ${reason}. Check its version, its memory and the rights of the user.`,
    );
  }
}

const silentText = (place: string): string =>
  `The Redis at ${place} accepts connections but did not answer within ${ANSWER_MS / 1000} s, so the connection was closed. Check whether it hangs.`;

/** Returns whether a Redis keeps answering until `done` settles. `done` may fail. */
async function answers(redis: Redis, done: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  const timer = (ms: number) => pause(ms, false, { signal: over.signal }).catch(() => true);
  void Promise.allSettled([done]).then(() => over.abort());
  while (!over.signal.aborted) {
    const asked = Promise.allSettled([redis.ping()]);
    if (!(await Promise.race([asked, timer(ANSWER_MS)]))) return false;
    await timer(ASK_MS);
  }
  return true;
}

/** Fails if the Redis does not answer at first. Later, the connection waits for it. */
export async function connect(settings: RedisSettings): Promise<Result<Connection>> {
  const read = await redisOptions(settings);
  if (!read.ok) return read;
  const { options, prefix, place } = read.value;
  const { Redis } = await import('ioredis');
  let looking = true;
  const retryStrategy = (attempts: number): number | null =>
    looking ? Math.min(MAX_RETRY_MS, 50 * 2 ** Math.min(attempts, 10)) : null;
  const redis = new Redis({ ...options, retryStrategy });
  const all = new Set([redis]);
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => {
    const other = duplicate(override);
    all.add(other);
    // If a worker closes while its duplicate waits for a job, BullMQ ends the duplicate and connects it again.
    return other.on('end', () => all.delete(other)).on('connecting', () => all.add(other));
  };
  let lastError = `no answer within ${ANSWER_MS / 1000} s`;
  let untrusted = false;
  const refused = await new Promise<boolean>((resolve) => {
    redis.once('ready', () => resolve(false));
    // A wrong password or certificate will stay wrong, but a Redis that does not answer may still be starting.
    redis.on('error', ({ message, code = '' }: NodeJS.ErrnoException) => {
      lastError = message;
      untrusted = /CERT|ISSUER|SIGNATURE/.test(code);
      if (untrusted || /^(WRONGPASS|NOAUTH|NOPERM)/.test(message)) resolve(true);
    });
    setTimeout(() => resolve(true), ANSWER_MS).unref();
  });
  if (!refused) {
    const gone = new Promise<void>((resolve) => redis.once('end', resolve));
    const ends: (() => Promise<unknown>)[] = [];
    return ok({
      redis,
      prefix,
      place,
      key: (...parts) => [prefix, ...parts].join(':'),
      onClose: (end) => void ends.push(end),
      async close() {
        looking = false;
        const ended = Promise.race([Promise.allSettled(ends.map((end) => end())), gone]);
        const silent = !(await answers(redis, ended));
        for (const one of all) one.disconnect();
        return silent ? silentText(place) : null;
      },
    });
  }
  redis.disconnect();
  if (untrusted)
    return unsupported(
      `The certificate of the Redis at ${place} is not trusted: ${lastError}. Use the name of the host that is in the certificate, and name a file with the certificate of its authority in the environment variable NODE_EXTRA_CA_CERTS.`,
    );
  return notFound(
    `The Redis at ${place} does not answer: ${lastError}. Check the address, the password, and whether the Redis is running.`,
  );
}
