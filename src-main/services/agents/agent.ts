import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Job, WorkerOptions } from 'bullmq';
import type { BenchPlan } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { kept } from '../../../src-workers/numeric/kept.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { MeasuringTarget } from '../../contract/measuring.ts';
import type { MeasuringPrograms } from '../measuring/programs.ts';
import { measureHere } from '../measuring/targets.ts';
import type { Pool } from '../pool.ts';
import { ANSWER_MS, connected, repeat, VERSIONS, type Connection, type RedisSettings } from './connection.ts';
import { announce, announced } from './owner.ts';
import {
  CANCEL_CHANNEL,
  decodeShared,
  deviceQueue,
  encode,
  HEARTBEAT_MS,
  plainName,
  RESULT_KEPT_S,
  TASK_QUEUE,
  type AgentRecord,
  type MeasuringJob,
  type OwnerRecord,
  type RunTask,
  type Said,
  type TaskJob,
} from './protocol.ts';

export interface AgentOptions extends RedisSettings {
  /** Owners (machines that start runs) see the devices of the agent as `cuda:0@NAME`. */
  readonly name: string;
  readonly pool: Pool;
  readonly programs: MeasuringPrograms;
  readonly devices: readonly MeasuringTarget[];
  /** How long an agent may be silent before other agents get its jobs, ms. */
  readonly silenceMs: number;
  readonly say: (line: string) => void;
}

export interface RunningAgent {
  readonly place: string;
  /**
   * Waits for the running tasks and hands an unfinished measurement back to its owner. Returns a message if the
   * Redis did not answer, otherwise null.
   */
  close(): Promise<string | null>;
}

const TASK_LIMIT_MS = 30 * 60_000;
/** A task counts as failed after more agents than this have stopped while they worked on it. */
const MAX_STALLS = 20;
const MAX_PLANS = 3;

/** During a measurement, an agent runs no other tasks. */
export async function openAgent(options: AgentOptions): Promise<Result<RunningAgent>> {
  if (plainName(options.name) !== options.name)
    return badInput(
      `The name of an agent must consist of letters, digits, dots, - and _, not "${options.name.slice(0, 80)}". Specify --name.`,
    );
  return connected(options, (connection) => agentOn(connection, options));
}

function createPlanCache({ redis, key }: Connection) {
  const plans = new Map<string, Promise<unknown>>();
  return async <Plan extends SweepPlan | BenchPlan>(digest: string): Promise<Plan> => {
    const loading = kept(plans, MAX_PLANS, digest, async () => {
      const bytes = await redis.getBuffer(key('plan', digest));
      if (!bytes) throw new Error('The plan of this task is no longer in Redis.');
      const plan = decodeShared<Plan>(bytes);
      return 'id' in plan ? { ...plan, id: digest } : plan;
    });
    loading.catch(() => plans.delete(digest));
    return (await loading) as Plan;
  };
}

function aloneBeside(tasks: { pause: () => Promise<void>; resume: () => unknown }) {
  let measuring: Promise<unknown> = Promise.resolve();
  return <T>(body: () => Promise<T>): Promise<T> => {
    const next = measuring.then(async () => {
      await tasks.pause();
      try {
        return await body();
      } finally {
        void tasks.resume();
      }
    });
    measuring = next.catch(() => {});
    return next;
  };
}

function refusals(connection: Connection, say: AgentOptions['say']) {
  const refused = new Set<string>();
  return async (): Promise<void> => {
    for (const { host, versions, waiting } of await announced<OwnerRecord>(connection, 'owner'))
      if (versions !== VERSIONS && waiting > 0 && refused.size !== refused.add(`${host} ${versions}`).size)
        say(`Refused work of ${host}, which has ${versions}: this agent has ${VERSIONS}. Install one version on both.`);
  };
}

/** The work of a silent owner is dropped. The owner hands it out again when it comes back. */
const isOwned = async ({ redis, key }: Connection, owner: string): Promise<boolean> =>
  (await redis.exists(key('owner', owner))) === 1;

async function measureForOwner(
  connection: Connection,
  engine: Pick<AgentOptions, 'pool' | 'programs'>,
  target: string,
  job: Job<MeasuringJob>,
  plan: BenchPlan,
  stop: AbortSignal,
): Promise<void> {
  const { redis, key } = connection;
  const stream = key('records', job.id!);
  const write = async (said: Said): Promise<void> => {
    await redis.multi().xadd(stream, '*', 'said', JSON.stringify(said)).expire(stream, RESULT_KEPT_S).exec();
  };
  const lost = new AbortController();
  const watch = repeat(HEARTBEAT_MS, async () => {
    if (!(await isOwned(connection, job.data.owner))) lost.abort();
  });
  const signal = AbortSignal.any([stop, lost.signal]);
  const written: Promise<void>[] = [];
  try {
    const end = await measureHere(engine, target, plan, job.data.limits, signal, async (record, atMs) => {
      // The writes are not awaited, because waiting for an unreachable Redis would exceed the program's time limit.
      written.push(write({ record, atMs }));
      written.at(-1)!.catch(() => {});
      return ok(null);
    });
    await Promise.all(written);
    // If the last message is missing, the owner hands out the rest of the measurement again.
    if (!signal.aborted) await write({ end });
  } finally {
    watch.stop();
  }
}

async function agentOn(connection: Connection, options: AgentOptions): Promise<RunningAgent> {
  const { name, pool, programs, devices, silenceMs, say } = options;
  const { redis, key } = connection;
  const { Worker } = await import('bullmq');
  const id = randomUUID();
  const closing = new AbortController();
  const runs = new Map<string, number | null>();
  let done = 0;

  const planOf = createPlanCache(connection);

  const during = async <T>(job: Job<TaskJob | MeasuringJob>, body: () => Promise<T>): Promise<T | null> => {
    if (!(await isOwned(connection, job.data.owner))) return null;
    runs.set(job.id!, job.data.runId);
    try {
      return await body();
    } finally {
      runs.delete(job.id!);
      done += 1;
    }
  };

  const doTask = (job: Job<TaskJob>, _token?: string, cancelled?: AbortSignal) =>
    during(job, async () => {
      const result = key('result', job.id!);
      // Another agent has saved the result, but ended before it reported the task as done.
      if ((await redis.exists(result)) === 1) return;
      const plan = await planOf<SweepPlan>(job.data.plan);
      const late = AbortSignal.timeout(TASK_LIMIT_MS);
      const signal = AbortSignal.any([late, ...(cancelled ? [cancelled] : [])]);
      const task = pool.run(job.name as RunTask, { plan, ...job.data.input } as never, { signal });
      const output = await task.catch((error: unknown) => {
        throw late.aborted ? new Error(`The agent ${name} had no result after ${TASK_LIMIT_MS / 60_000} min.`) : error;
      });
      await redis.set(result, encode(output), 'EX', RESULT_KEPT_S);
    });

  const doMeasure = (target: string, job: Job<MeasuringJob>, cancelled?: AbortSignal) =>
    alone(() =>
      during(job, async () => {
        const plan = await planOf<BenchPlan>(job.data.plan);
        const stop = AbortSignal.any([closing.signal, ...(cancelled ? [cancelled] : [])]);
        await measureForOwner(connection, { pool, programs }, target, job, plan, stop);
      }),
    );

  const shared: WorkerOptions = {
    connection: redis,
    prefix: connection.prefix,
    lockDuration: silenceMs,
    stalledInterval: Math.max(1000, silenceMs / 2),
  };
  const tasks = new Worker<TaskJob>(TASK_QUEUE, doTask, {
    ...shared,
    // One task more than there are workers is taken, so that no worker waits for the network.
    concurrency: pool.workers + 1,
    maxStalledCount: MAX_STALLS,
  });
  const alone = aloneBeside(tasks);
  const workers = [
    tasks,
    ...devices.map(
      ({ id: target }) =>
        new Worker<MeasuringJob>(
          deviceQueue(name, target),
          (job, _token, cancelled) => doMeasure(target, job, cancelled),
          { ...shared, maxStalledCount: 0 },
        ),
    ),
  ];
  for (const worker of workers) worker.on('error', () => {});
  for (const worker of workers) connection.onClose(() => worker.close(redis.status !== 'ready'));
  connection.onClose(() => redis.del(key('agent', id)));
  const listener = redis.duplicate();
  connection.onClose(async () => listener.disconnect());
  listener.on('error', () => {});
  listener.on('message', (_channel, jobId: string) => workers.forEach((worker) => worker.cancelJob(jobId)));
  await listener.subscribe(key(CANCEL_CHANNEL));

  const refuseOthers = refusals(connection, say);
  const beat = async (): Promise<void> => {
    const self: AgentRecord = {
      name,
      host: hostname(),
      versions: VERSIONS,
      workers: pool.workers,
      devices,
      runs: [...new Set(runs.values())].filter((run) => run !== null),
      done,
    };
    await announce(connection, 'agent', id, self);
    await refuseOthers();
  };
  await beat();
  const beats = repeat(HEARTBEAT_MS, () => whileSilent(beat()));

  /** Says that the Redis does not answer, and later that it answers again. */
  async function whileSilent(answer: Promise<void>): Promise<void> {
    let isSilent = false;
    const timer = setTimeout(() => {
      isSilent = !closing.signal.aborted;
      if (isSilent) say(`The Redis at ${connection.place} does not answer. This agent waits for it; Ctrl-C ends it.`);
    }, ANSWER_MS).unref();
    try {
      await answer;
      if (isSilent) say(`The Redis at ${connection.place} answers again.`);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    place: connection.place,
    async close() {
      beats.stop();
      closing.abort();
      return connection.close();
    },
  };
}
