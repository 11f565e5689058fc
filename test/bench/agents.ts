/** Sweeps by agents beside the pool: `npm run bench -- agents`. One line each; agents are processes of this machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine, type OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { startAgent, startRedis } from '../redis.ts';
import { ended } from '../unit/engine-calls.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { MILLION } from './million.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const WORKERS = 2;
/** Agents, and the workers of each. */
const GROUPS = [
  [1, 2],
  [1, 1],
  [2, 1],
  [4, 1],
] as const;
const CHUNKS = 60;
const CHUNK_DESIGNS = 512;

const folder = mkdtempSync(join(tmpdir(), 'lockstep-agents-bench-'));
const redis = await startRedis(folder);
let databases = 0;
const plan = await planOf(MILLION);

function report(what: string, value: number, unit: string): void {
  process.stdout.write(`${what.padEnd(64)}  ${String(Number(value.toPrecision(4))).padStart(10)} ${unit}\n`);
}

async function engineOf(prefix: string | null): Promise<Engine> {
  return unwrap(
    await openEngine({
      databaseFile: join(folder, `${(databases += 1)}.db`),
      resourceFolder: ROOT,
      host: 'cli',
      workers: WORKERS,
      ...(prefix && { redis: { url: redis.url, passwordFile: redis.passwordFile, prefix } }),
    }),
  );
}

/**
 * Time of one small chunk again and again, ms: its tables are at hand, so that little is left but the way there and
 * back.
 */
async function chunkMs({ context }: Engine): Promise<number> {
  const times: number[] = [];
  const ranges = [{ first: 0, count: CHUNK_DESIGNS }];
  for (let at = 0; at < CHUNKS; at += 1) {
    const start = performance.now();
    await context.pool.run('predict', { plan, ranges }, { runId: 1 });
    times.push(performance.now() - start);
  }
  return median(Float64Array.from(times.slice(CHUNKS / 2)));
}

async function measured(prefix: string | null, what: string): Promise<number> {
  const engine = await engineOf(prefix);
  try {
    const start = performance.now();
    const run = await ended(engine, 'runs.start', { study: MILLION });
    if (run.state !== 'complete') throw new Error(`run ${run.id} is ${run.state}: ${run.error ?? ''}`);
    report(`${run.enumerated} designs predicted and saved: ${what}`, performance.now() - start, 'ms');
    return await chunkMs(engine);
  } finally {
    await engine.close();
  }
}

process.stdout.write(`${cpus().length} cores, ${cpus()[0].model}\n`);
try {
  const ofPool = await measured(null, `the pool, ${WORKERS} workers`);
  report(`a chunk of ${CHUNK_DESIGNS} designs in the pool`, ofPool, 'ms');
  for (const [count, workers] of GROUPS) {
    const prefix = `bench-${count}-${workers}`;
    const options = ['--workers', String(workers)];
    const agents = await Promise.all(
      Array.from({ length: count }, (_, at) => startAgent(redis, prefix, `agent-${at}`, ...options)),
    );
    const what = `${count} agent${count > 1 ? 's' : ''} of ${workers}`;
    const ofAgents = await measured(prefix, what);
    report(`overhead of a chunk of ${CHUNK_DESIGNS} designs: ${what}`, ofAgents - ofPool, 'ms');
    await Promise.all(agents.map((agent) => agent.kill()));
  }
} finally {
  await redis.kill();
  rmSync(folder, { recursive: true, force: true });
}
