import { randomUUID } from 'node:crypto';
import { sha256 } from '../studies/workloads.ts';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Queue, QueueEvents } from 'bullmq';
import type { BenchPlan } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { AgentsState } from '../../contract/agents.ts';
import type { ProgramEnd, ProgramLimits, TakeRecord } from '../measuring/runner.ts';
import { ANSWER_MS, connected, repeat, VERSIONS, type Connection, type RedisSettings } from './connection.ts';
import {
  CANCEL_CHANNEL,
  decode,
  deviceQueue,
  encode,
  HEARTBEAT_MS,
  PLAN_KEPT_S,
  SILENCE_S,
  TASK_QUEUE,
  type AgentRecord,
  type MeasuringJob,
  type OwnerRecord,
  type RunTask,
  type RunTaskInput,
  type RunTaskOutput,
  type Said,
  type TaskJob,
} from './protocol.ts';

export interface Owner {
  /** Rejects with an AbortError if the signal fires, otherwise with the error of the task. */
  run(name: RunTask, runId: number, input: RunTaskInput, signal?: AbortSignal): Promise<RunTaskOutput>;
  /** The result is `lost` if the agent stopped answering. */
  measure(
    where: { readonly agent: string; readonly target: string },
    runId: number | null,
    plan: BenchPlan,
    limits: ProgramLimits,
    signal: AbortSignal,
    take: TakeRecord,
  ): Promise<Result<ProgramEnd>>;
  capacity(): number;
  state(): Promise<AgentsState>;
  close(): Promise<string | null>;
}

/** The time between two checks of pending jobs, ms. A Redis that loses its data also loses events. */
const RECONCILE_MS = 3000;
/** The owner hands out at least this many tasks, so that agents that join during a run find work immediately. */
const MIN_CAPACITY = 8;
const RECORD_WAIT_MS = 2000;

interface Pending {
  readonly add: () => Promise<unknown>;
  readonly settle: (end: { readonly bytes: Buffer } | { readonly error: Error }) => void;
}

/** @param storeId distinguishes the runs of this database from those of other databases */
export function openOwner(settings: RedisSettings, storeId: string): Promise<Result<Owner>> {
  return connected(settings, (connection) => ownerOn(connection, storeId));
}

async function ownerOn(connection: Connection, storeId: string): Promise<Owner> {
  const { redis, key, place } = connection;
  const id = randomUUID();
  const { Queue: BullQueue, QueueEvents: BullEvents } = await import('bullmq');
  const shared = { connection: redis, prefix: connection.prefix };
  const queue: Queue = new BullQueue(TASK_QUEUE, shared);
  const events: QueueEvents = new BullEvents(TASK_QUEUE, shared);
  // Without a listener, a failed request would end the program. The next check repeats the request.
  queue.on('error', () => {});
  events.on('error', () => {});
  connection.onClose(() => redis.del(key('owner', id)));
  connection.onClose(() => queue.close());
  connection.onClose(() => events.close());
  await events.waitUntilReady();

  const pending = new Map<string, Pending>();
  let agents: readonly (AgentRecord & { readonly id: string })[] = [];

  const beat = async (): Promise<void> => {
    const self: OwnerRecord = { host: hostname(), versions: VERSIONS, waiting: pending.size };
    await announce(connection, 'owner', id, self);
    agents = await announced<AgentRecord>(connection, 'agent');
  };
  const look = async (jobId: string, again = true): Promise<void> => {
    const job = pending.get(jobId);
    if (!job) return;
    const bytes = await redis.getdelBuffer(key('result', jobId));
    if (bytes) return job.settle({ bytes });
    if ((await queue.getJobState(jobId)) !== 'unknown') return;
    // A Redis that lost its data does not know this owner either, and agents would ignore the job.
    if (again) await beat();
    if (pending.get(jobId) === job) await job.add();
    // If the run was cancelled in the meantime, the job is removed again.
    if (!pending.has(jobId)) await queue.remove(jobId);
  };
  const lookQuietly = (jobId: string): void => void look(jobId).catch(() => {});
  events.on('completed', ({ jobId }) => lookQuietly(jobId));
  events.on('failed', ({ jobId, failedReason }) => pending.get(jobId)?.settle({ error: new Error(failedReason) }));

  await beat();
  const timers = [
    repeat(HEARTBEAT_MS, beat),
    repeat(RECONCILE_MS, () => Promise.allSettled([...pending.keys()].map((jobId) => look(jobId)))),
  ];

  const { packed, putPlan } = sharedPlans(connection);
  const cancel = (jobId: string): void => void redis.publish(key(CANCEL_CHANNEL), jobId).catch(() => {});
  const capable = (): readonly AgentRecord[] => agents.filter(({ versions }) => versions === VERSIONS);

  return {
    capacity: () =>
      Math.max(
        MIN_CAPACITY,
        capable().reduce((sum, { workers }) => sum + workers, 0),
      ),
    async run(name, runId, { plan, ...input }, signal) {
      signal?.throwIfAborted();
      const { digest } = packed(plan);
      const jobId = [name, storeId, runId, sha256(digest + JSON.stringify(input)).slice(0, 32)].join('-');
      const data: TaskJob = { owner: id, runId, plan: digest, input };
      const options = { jobId, removeOnComplete: true, removeOnFail: true };
      return await new Promise((resolve, reject) => {
        const onAbort = (): void => {
          settle({ error: signal!.reason as Error });
          cancel(jobId);
          void queue.remove(jobId).catch(() => {});
        };
        const settle: Pending['settle'] = (end) => {
          if (!pending.delete(jobId)) return;
          signal?.removeEventListener('abort', onAbort);
          if ('bytes' in end) resolve(decode(end.bytes));
          else reject(end.error);
        };
        const add = async (): Promise<void> => {
          await putPlan(plan);
          await queue.add(name, data, options);
        };
        pending.set(jobId, { add, settle });
        signal?.addEventListener('abort', onAbort, { once: true });
        // An earlier process of the same run may have left the result.
        look(jobId, false).catch((error: unknown) => settle({ error: error as Error }));
      });
    },
    async measure({ agent, target }, runId, plan, limits, signal, take) {
      const jobId = ['measure', storeId, runId, randomUUID()].join('-');
      const device: Queue = new BullQueue(deviceQueue(agent, target), shared);
      const data: MeasuringJob = { owner: id, runId, plan: packed(plan).digest, limits };
      const job = { jobId, device, data, putPlan: () => putPlan(plan), cancel: () => cancel(jobId) };
      return measureOnAgent(connection, job, signal, take);
    },
    async state() {
      const ask = async () =>
        Promise.all([queue.getJobCounts('wait', 'active'), announced<AgentRecord>(connection, 'agent')]);
      const found =
        redis.status === 'ready' ? await Promise.race([ask(), pause(ANSWER_MS, null, { ref: false })]) : null;
      if (!found)
        return { kind: 'failed', message: `The Redis at ${place} does not answer. Runs on agents wait for it.` };
      const [counts, known] = found;
      agents = known;
      return {
        kind: 'connected',
        place,
        versions: VERSIONS,
        agents: agents.map(({ devices, ...agent }) => ({
          ...agent,
          devices: devices.map((one) => ({ ...one, id: `${one.id}@${agent.name}` })),
          fits: agent.versions === VERSIONS,
        })),
        waiting: counts.wait,
        active: counts.active,
      };
    },
    async close() {
      timers.forEach((timer) => timer.stop());
      for (const { settle } of pending.values()) settle({ error: new Error('The connection to Redis was closed.') });
      return connection.close();
    },
  };
}

function sharedPlans({ redis, key }: Connection) {
  const plans = new WeakMap<object, { readonly digest: string; readonly bytes: Buffer }>();
  const packed = (plan: SweepPlan | BenchPlan): { readonly digest: string; readonly bytes: Buffer } => {
    let known = plans.get(plan);
    if (!known) {
      // The digest identifies the plan here, because the plan's id is unique only within a process.
      const bytes = encode('id' in plan ? { ...plan, id: '' } : plan);
      plans.set(plan, (known = { bytes, digest: sha256(bytes) }));
    }
    return known;
  };
  const putPlan = async (plan: SweepPlan | BenchPlan): Promise<void> => {
    const { digest, bytes } = packed(plan);
    const at = key('plan', digest);
    if ((await redis.expire(at, PLAN_KEPT_S)) === 0) await redis.set(at, bytes, 'EX', PLAN_KEPT_S);
  };
  return { packed, putPlan };
}

interface HandedOut {
  readonly jobId: string;
  readonly device: Queue;
  readonly data: MeasuringJob;
  readonly putPlan: () => Promise<void>;
  readonly cancel: () => void;
}

const measureOnAgent = async (
  { redis, key, place }: Connection,
  job: HandedOut,
  signal: AbortSignal,
  take: Parameters<Owner['measure']>[5],
): ReturnType<Owner['measure']> => {
  const { jobId, device } = job;
  const stream = key('records', jobId);
  device.on('error', () => {});
  // A blocking read needs its own connection.
  const reader = redis.duplicate();
  reader.on('error', () => {});
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => (onAbort = () => reject(signal.reason as Error)));
  aborted.catch(() => job.cancel());
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  /** Waits for Redis, but only until the measurement is cancelled, because Redis may be unreachable. */
  const unlessAborted = <T>(work: Promise<T>): Promise<T> => Promise.race([work, aborted]);
  const handOut = async (): Promise<void> => {
    // Agents with the same name share this queue, but must not measure at the same time.
    await device.setGlobalConcurrency(1);
    await job.putPlan();
    if (!signal.aborted) await device.add('measure', job.data, { jobId, removeOnComplete: true, removeOnFail: true });
  };
  try {
    await unlessAborted(handOut());
    let last = '0';
    let gone = false;
    for (;;) {
      const read = await unlessAborted(reader.xread('BLOCK', RECORD_WAIT_MS, 'STREAMS', stream, last));
      for (const [entry, [, text]] of read?.[0][1] ?? []) {
        last = entry;
        const said = JSON.parse(text) as Said;
        if ('end' in said) return said.end;
        const taken = await take(said.record, said.atMs);
        if (!taken.ok) {
          job.cancel();
          return ok({ kind: 'refused', message: taken.error.message });
        }
      }
      if (read) continue;
      // If the job is gone and the stream has no last line, the agent was silent. Before that is concluded, the stream
      // is read once more, because the line may just have come.
      if (gone) return ok({ kind: 'lost' });
      gone = (await unlessAborted(device.getJobState(jobId))) === 'unknown';
    }
  } catch (error) {
    if (signal.aborted) return ok({ kind: 'cancelled' });
    return unsupported(`The Redis at ${place} failed: ${error instanceof Error ? error.message : 'closed'}.`);
  } finally {
    signal.removeEventListener('abort', onAbort);
    reader.disconnect();
    void Promise.allSettled([device.remove(jobId), redis.del(stream)]).then(() => device.close());
  }
};

/** The entry expires if the announcement is not repeated in time. */
export async function announce(
  { redis, key }: Connection,
  kind: 'agent' | 'owner',
  id: string,
  record: AgentRecord | OwnerRecord,
): Promise<void> {
  await redis
    .multi()
    .set(key(kind, id), JSON.stringify(record), 'EX', SILENCE_S)
    .sadd(key(`${kind}s`), id)
    .exec();
}

export async function announced<Record>(
  { redis, key }: Connection,
  kind: 'agent' | 'owner',
): Promise<readonly (Record & { readonly id: string })[]> {
  const ids = await redis.smembers(key(`${kind}s`));
  if (ids.length === 0) return [];
  const found = await redis.mget(ids.map((id) => key(kind, id)));
  const gone = ids.filter((_, at) => found[at] === null);
  if (gone.length > 0) await redis.srem(key(`${kind}s`), ...gone);
  return found.flatMap((text, at) => (text === null ? [] : [{ id: ids[at], ...(JSON.parse(text) as Record) }]));
}
