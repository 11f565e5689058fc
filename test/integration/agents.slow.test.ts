import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import { agentsText } from '../../src-main/cli/agents.ts';
import { openAgents } from '../../src-main/services/agents/agents.ts';
import { openAgent, type RunningAgent } from '../../src-main/services/agents/agent.ts';
import { connect, redisOptions, VERSIONS, type RedisSettings } from '../../src-main/services/agents/connection.ts';
import { announce, openOwner } from '../../src-main/services/agents/owner.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { isDone } from '../../src-main/services/measuring/measured.ts';
import { programsIn } from '../../src-main/services/measuring/programs.ts';
import { openPool, type Pool } from '../../src-main/services/pool.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { lockstep } from '../command-line.ts';
import type { FakeBench } from '../data/bench/fake-child.ts';
import { REDIS_PASSWORD, redisArgs, startCommand, startRedis, type TestRedis } from '../redis.ts';
import { findTool, lacks } from '../tools.mjs';
import { call, ended, finished, progressed } from '../unit/engine-calls.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { sweep, testEngine, testFolder } from '../workplace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FAKE = join(ROOT, 'test', 'data', 'bench', 'fake-child.ts');
const SOURCES = join(ROOT, 'src-workers');
const folder = testFolder();

describe('the address of a Redis', () => {
  it.each<readonly [string, RegExp]>([
    ['redis://user:hunter2@host', /must not hold a password.*LOCKSTEP_REDIS_PASSWORD/],
    ...['http://host', 'redis://host/first', 'host:6379', '', 'redis://%zz@host'].map(
      (url) => [url, /must be redis:\/\/HOST:PORT/] as const,
    ),
  ])('%s is refused, and the reason contains no secret', async (url, reason) => {
    const read = await redisOptions({ url });
    expect(read).toFail(null, reason);
    expect(JSON.stringify(read)).not.toContain('hunter2');
  });

  it('may name a TLS server, a user and a database, and the password comes from the file', async () => {
    const passwordFile = join(folder, 'secret');
    writeFileSync(passwordFile, 'first line\nsecond\n');
    const { options, place } = unwrap(await redisOptions({ url: 'rediss://me@host:7000/3', passwordFile }));
    expect(options).toMatchObject({ host: 'host', port: 7000, db: 3, username: 'me', password: 'first line', tls: { servername: 'host' } }); // prettier-ignore
    expect(place).toBe('rediss://host:7000');
    expect(await redisOptions({ url: 'redis://host', prefix: 'a:b' })).toMatchObject({ error: { context: { field: 'prefix' } } }); // prettier-ignore
    expect(await redisOptions({ url: 'redis://host', passwordFile: join(folder, 'absent') })).toFail('not-found');
  });

  // These tests wait for time limits, so they run concurrently.
  it.concurrent('is refused if nothing answers there, with advice on what to check', async () => {
    expect(await connect({ url: 'redis://127.0.0.1:1' })).toFail('not-found', /ECONNREFUSED/);
  });

  it.concurrent.each([
    { after: 'nothing', answers: [], message: /no answer within 4 s/ },
    // The first text replies to HELLO 3 and to the name of the client. The second text replies to INFO.
    { after: 'its version', answers: ['%0\r\n+OK\r\n+OK\r\n', '$19\r\nredis_version:7.0.0\r\n'], message: /did not answer within 4 s/ }, // prettier-ignore
  ])('is refused if it says $after and then nothing', async ({ answers, message }) => {
    const server = createServer((socket) => {
      const left = [...answers];
      socket.on('data', () => void socket.write(left.shift() ?? '')).on('error', () => {});
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await openOwner({ url: `redis://127.0.0.1:${port}` }, 'store')).toFail('not-found', message);
    server.close();
  });
});

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  delete process.env.FAKE_BENCH;
});
let databases = 0;
/** Opens an engine whose work agents do if a Redis is named. The test closes it at its end. */
async function engineOf(redis: RedisSettings): Promise<Engine> {
  const engine = await testEngine(join(folder, `${(databases += 1)}.db`), { redis });
  open.push(() => engine.close());
  return engine;
}
const device = (id: string) => ({ id, backend: 'cpu', available: true, label: 'Fake device', device: null, advice: '' }) as const; // prettier-ignore
/** All agents in this process use these worker threads. */
let pool: Pool;
beforeAll(() => void (pool = openPool(join(SOURCES, 'worker.ts'), 1, 0)));
afterAll(() => pool.close());
async function openAgentOn(redis: RedisSettings, name: string, say: (line: string) => void = () => {}) {
  const programs = { ...programsIn(SOURCES), cpuChildFile: FAKE };
  const agent = unwrap(
    await openAgent({ ...redis, name, pool, programs, devices: [device('cpu')], silenceMs: 1000, say }),
  );
  open.push(() => agent.close());
  return agent;
}

describe.skipIf(lacks('redis-server'))('runs whose work agents do', () => {
  let redis: TestRedis;
  let alone: Engine;
  let expected: RunSummary;
  beforeAll(async () => {
    redis = await startRedis(folder);
    alone = await testEngine(join(folder, 'alone.db'));
    expected = await sweep(alone, study);
  });
  afterAll(async () => {
    await alone.close();
    await redis.kill();
  });

  // Each test has its own prefix of keys, so that it never uses another test's agent.
  let prefix = '';
  beforeEach(({ task }) => void (prefix = `test-${task.id}`));
  const settings = (): RedisSettings => ({ url: redis.url, passwordFile: redis.passwordFile, prefix });
  const owned = (): Promise<Engine> => engineOf(settings());
  const agentHere = (name: string, say?: (line: string) => void): Promise<RunningAgent> =>
    openAgentOn(settings(), name, say);
  // The study has many parts, so that the agent is stopped before it has done all of them.
  const axes = {
    ...smallStudy().axes,
    blockThreads: { from: 64, to: 1024, step: 64 },
    blocksPerMultiprocessor: [1, 2, 3, 4, 5, 6, 7, 8],
    loop: ['nested' as const, 'flattened' as const],
  };
  const study = smallStudy({ axes });
  async function start(engine: Engine): Promise<number> {
    const { id } = await call(engine, 'studies.save', { study });
    return (await call(engine, 'runs.start', { studyId: id })).runId;
  }
  const columns = async (engine: Engine, id: number) => unwrap(await engine.context.store.loadRunColumns(id));
  async function connected() {
    const connection = unwrap(await connect(settings()));
    open.push(async () => connection.redis.disconnect());
    return connection;
  }
  /** Starts a measurement on an agent's stand-in, whose cases take this time. Resolves when it has saved a case. */
  async function measuring(owner: Engine, target: string, pauseMs: number) {
    process.env.FAKE_BENCH = JSON.stringify({ pauseMs } satisfies FakeBench);
    const { runId } = await call(owner, 'bench.start', { target, suite: 'contention', repeats: 3, warmUps: 0 });
    const done = finished(owner, runId);
    await progressed(owner);
    return { runId, done };
  }

  it('saves the results that this machine would compute, each of them once, and stores no secret', async () => {
    const owner = await owned();
    await agentHere('first');
    await agentHere('second');
    const run = await sweep(owner, study);
    expect(run).toMatchObject({ state: 'complete', bestTimeMs: expected.bestTimeMs });
    expect(await columns(owner, run.id)).toEqual(await columns(alone, expected.id));
    const chunks = unwrap(await owner.context.store.listChunks(run.id));
    expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(run.enumerated);

    const simulated = async (engine: Engine, runId: number) => {
      await ended(engine, 'simulations.start', { runId, top: 3, maxReplications: 5 });
      const rows = await call(engine, 'simulations.list', { runId });
      return rows.map(({ designIndex, simulated: { meanMs, lowMs } }) => ({ designIndex, meanMs, lowMs }));
    };
    expect(await simulated(owner, run.id)).toEqual(await simulated(alone, expected.id));
    expect(await call(owner, 'agents.state', {})).toMatchObject({ kind: 'connected', place: redis.url, waiting: 0, agents: [{ fits: true }, { fits: true }] }); // prettier-ignore

    const files = [owner.context.databaseFile, `${owner.context.databaseFile}-wal`].map((file) => readFileSync(file));
    expect(Buffer.concat(files).includes(REDIS_PASSWORD)).toBe(false);
  });

  // Redis answers only after all processes have ended. A process that waited for Redis would never end.
  it('continues if an agent hangs and Redis forgets everything, and everything closes if Redis hangs', async () => {
    const owner = await owned();
    const bin = mkdtempSync(join(folder, 'bin-'));
    const asked = join(bin, 'asked');
    writeFileSync(join(bin, 'nvcc'), `#!/bin/sh\necho "$@" >> '${asked}'\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const words = ['agent', '--json', '--workers', '1', '--silence', '1', '--devices', 'cpu'];
    const hangs = await startCommand([...words, ...redisArgs(redis, prefix)], env);
    open.push(() => hangs.kill());
    // The agent does not look for devices that it does not offer.
    expect(existsSync(asked)).toBe(false);

    const runId = await start(owner);
    const done = finished(owner, runId);
    await progressed(owner);
    hangs.child.kill('SIGSTOP');
    await redis.kill();
    await redis.start();
    const agent = await agentHere('other');
    expect(await done).toMatchObject({ state: 'complete' });
    hangs.child.kill('SIGCONT');
    expect(await columns(owner, runId)).toEqual(await columns(alone, expected.id));

    const file = join(folder, 'hangs.json');
    writeFileSync(file, JSON.stringify(study));
    const sweepArgs = ['sweep', file, '--db', join(folder, 'hangs.db'), ...redisArgs(redis, `${prefix}-alone`)];
    const waits = await startCommand(sweepArgs);
    open.push(() => waits.kill());
    expect(waits.said()).toContain('The run waits: no agent is connected');
    await expect.poll(() => call(owner, 'agents.state', {})).toMatchObject({ agents: { length: 2 } });
    redis.hang(true);
    try {
      const commands = [hangs, waits];
      for (const { child } of commands) child.kill('SIGINT');
      const ended = commands.map(({ child }) => once(child, 'exit'));
      const said = await Promise.all([owner.close(), agent.close()]);
      expect(await Promise.all(ended)).toEqual([[0, null], [1, null]]); // prettier-ignore
      for (const text of [...said, ...commands.map((one) => one.said())])
        expect(text).toMatch(/The Redis at .* did not answer within 4 s/);
    } finally {
      redis.hang(false);
    }
  });

  it('answers, cancels a measurement and closes while Redis is unreachable', async () => {
    const lines: string[] = [];
    const [owner, agent] = [await owned(), await agentHere('first', (line) => lines.push(line))];
    const { runId, done } = await measuring(owner, 'cpu@first', 150);
    await redis.kill();
    try {
      expect(await call(owner, 'agents.state', {})).toMatchObject({ kind: 'failed', message: /does not answer/ });
      await call(owner, 'runs.cancel', { id: runId });
      expect(await done).toMatchObject({ state: 'cancelled' });
      await expect.poll(() => lines[0], { timeout: 20_000 }).toMatch(/does not answer\. .* waits/);
      await redis.start();
      await expect.poll(() => lines[1], { timeout: 20_000 }).toMatch(/answers again/);
      await redis.kill();
      await Promise.all([owner.close(), agent.close()]);
    } finally {
      await redis.start();
    }
  });

  it('closes a duplicated connection that ended and was connected again', async () => {
    const connection = unwrap(await connect(settings()));
    const other = connection.redis.duplicate();
    await once(other, 'ready');
    other.disconnect();
    await once(other, 'end');
    await other.connect();
    const ended = once(other, 'end');
    await connection.close();
    await ended;
  });

  it('does not connect to a Redis that was looked for before agents were turned off', async () => {
    const agents = openAgents(alone.context.store);
    open.push(() => agents.close());
    await redis.kill();
    const joining = agents.join(settings());
    await agents.use(null).finally(() => redis.start());
    await joining;
    expect(await agents.state()).toEqual({ kind: 'off' });
  });

  it('says which command Redis refuses if its user has too few rights', async () => {
    const connection = await connected();
    await connection.redis.call('ACL', 'SETUSER', 'reader', 'on', `>${REDIS_PASSWORD}`, '~*', '&*', '+@read', '+@connection', '+info'); // prettier-ignore
    const asReader = { ...settings(), url: redis.url.replace('://', '://reader@') };
    const refused = { ok: false, error: { message: expect.stringMatching(/refuses what agents need: .*NOPERM/) } };
    const agents = openAgents(alone.context.store);
    open.push(() => agents.close());
    expect(await agents.use(asReader)).toMatchObject(refused);
    const options = { pool, programs: programsIn(SOURCES), devices: [], silenceMs: 1000, say: () => {} };
    expect(await openAgent({ ...asReader, ...options, name: 'first' })).toMatchObject(refused);
    expect(await openAgent({ ...settings(), ...options, name: 'a b' })).toFail('bad-input');
  });

  it('cancels the work of agents, and resumes with the saved results', async () => {
    const owner = await owned();
    await agentHere('first');
    const runId = await start(owner);
    const done = finished(owner, runId);
    await progressed(owner);
    await call(owner, 'runs.cancel', { id: runId });
    expect(await done).toMatchObject({ state: 'cancelled' });
    expect(await ended(owner, 'runs.resume', { id: runId })).toMatchObject({ state: 'complete' });
  });

  it('is refused with a wrong password and without one', async () => {
    const wrong = join(folder, 'wrong');
    writeFileSync(wrong, 'not-this-one');
    for (const passwordFile of [wrong, undefined]) {
      const connected = await connect({ url: redis.url, passwordFile });
      expect(connected).toFail(null, /WRONGPASS|NOAUTH/);
      expect(JSON.stringify(connected)).not.toContain('not-this-one');
    }
  });

  it('leaves work of another version alone, and both sides name their version', async () => {
    const other = 'Lockstep 0.0.1, model composite 1.0, simulator events 1.0';
    const connection = await connected();
    const record = { name: 'old', host: 'old-host', versions: other, workers: 4, devices: [], runs: [], done: 0 };
    await announce(connection, 'agent', 'old', record);
    await announce(connection, 'owner', 'old', { host: 'old-host', versions: other, waiting: 3 });
    const owner = await owned();
    const text = agentsText(await call(owner, 'agents.state', {}));
    expect(text).toContain(`agents must have ${VERSIONS}, but old has ${other}`);
    const said: string[] = [];
    await agentHere('first', (line) => said.push(line));
    const refused = `Refused work of old-host, which has ${other}: this agent has ${VERSIONS}`;
    expect(said).toEqual([expect.stringContaining(refused)]);
  });

  it.each([
    {
      what: 'disappears and comes back',
      async away(agent: RunningAgent) {
        await agent.close();
        await agentHere('bench');
      },
    },
    {
      what: 'finds no owner for its work in a Redis that forgot everything',
      async away() {
        const { redis: client, key } = await connected();
        for (const end = performance.now() + 2500; performance.now() < end; await pause(10)) {
          const owners = await client.smembers(key('owners'));
          await Promise.all(owners.map((id) => client.del(key('owner', id))));
        }
      },
    },
  ])('measures every case once on a device of an agent that $what', async ({ away }) => {
    const owner = await owned();
    const agent = await agentHere('bench');
    const { runId: benchId, done } = await measuring(owner, 'cpu@bench', 1000);
    process.env.FAKE_BENCH = '{}';
    await away(agent);
    expect(await done).toMatchObject({ state: 'complete' });
    const { cases, request } = await call(owner, 'bench.detail', { id: benchId });
    expect(request.target).toBe('cpu@bench');
    expect(cases.filter(isDone)).toHaveLength(cases.length);
    expect(unwrap(await owner.context.store.listMeasurements(benchId))).toHaveLength(cases.length);
    expect(await call(owner, 'bench.targets', {})).toContainEqual(expect.objectContaining({ id: 'cpu@bench' }));
  });

  it('measures from the command line on the only agent with a device, and says if an agent is missing', async () => {
    await agentHere('first');
    const where = ['--db', join(folder, 'commands.db'), ...redisArgs(redis, prefix)];
    process.env.FAKE_BENCH = '{}';
    const measured = await lockstep(...'bench --suite contention --target cpu --repeats 3 --json'.split(' '), ...where);
    expect(measured).toMatchObject({ status: 0, err: /1 agent with 1 worker: first\./ });
    expect(JSON.parse(measured.out)).toMatchObject({ target: 'cpu@first', failed: 0 });
    const absent = await lockstep('bench', '1', '--target', 'cuda:0', ...where);
    expect(absent).toMatchObject({ status: 2, err: /No connected agent measures on cuda:0/ });
  });
});

describe.skipIf(lacks('redis-server', 'openssl'))('a Redis with TLS and users', () => {
  let redis: TestRedis;
  const at = (name: string): string => join(folder, name);
  const openssl = (...words: string[]) => execFileSync(findTool('openssl')!, words, { stdio: 'pipe' });
  beforeAll(async () => {
    for (const name of ['authority', 'other'])
      openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)); // prettier-ignore
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=redis', '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE', '-CA', at('authority.pem'), '-CAkey', at('authority.key'), '-keyout', at('server.key'), '-out', at('server.pem')); // prettier-ignore
    redis = await startRedis(folder, {
      'tls-cert-file': at('server.pem'),
      'tls-key-file': at('server.key'),
      'tls-ca-cert-file': at('authority.pem'),
      'tls-auth-clients': 'no',
      user: `worker on >${REDIS_PASSWORD} ~lockstep:* &lockstep:* +@all -@dangerous +info +client`,
    });
  });
  const before = getCACertificates('default');
  // A process trusts these authorities, as if NODE_EXTRA_CA_CERTS named them.
  const trust = (name: string): void => setDefaultCACertificates([readFileSync(at(`${name}.pem`), 'utf8')]);
  afterAll(async () => {
    setDefaultCACertificates(before);
    await redis.kill();
  });

  it('lets agents do the work of a sweep if its certificate authority is trusted', async () => {
    trust('authority');
    const asWorker = { url: redis.url.replace('://', '://worker@'), passwordFile: redis.passwordFile };
    await openAgentOn(asWorker, 'safe');
    const owner = await engineOf(asWorker);
    expect(await sweep(owner, smallStudy())).toMatchObject({ state: 'complete' });
    const agents = [{ name: 'safe', fits: true }];
    expect(await call(owner, 'agents.state', {})).toMatchObject({ kind: 'connected', place: redis.url, agents });
  });

  it.each([
    ['with another certificate authority', 'other', 'rediss://localhost', 'unsupported', /is not trusted: self-signed certificate.*NODE_EXTRA_CA_CERTS/], // prettier-ignore
    [
      'for another host',
      'authority',
      'rediss://127.0.0.1',
      'unsupported',
      /is not trusted: .*does not match certificate/,
    ],
    ['without TLS', 'authority', 'redis://localhost', 'not-found', /./],
  ] as const)('is refused %s', async (_what, authority, place, code, reason) => {
    trust(authority);
    const url = redis.url.replace('rediss://localhost', place);
    expect(await connect({ url, passwordFile: redis.passwordFile })).toFail(code, reason);
  });
});
