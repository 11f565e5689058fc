import { deserialize, serialize } from 'node:v8';
import type { BenchPlan, BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import type { Result } from '../../../src-workers/domain/result.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { WorkerTasks } from '../pool.ts';
import type { ProgramEnd, ProgramLimits } from '../measuring/runner.ts';
import { VERSIONS } from './connection.ts';
import type { Agent } from '../../contract/agents.ts';

/**
 * Large data is stored apart from the jobs, under keys that expire: a plan under its digest, so that all tasks of a run
 * share it, and a result under its job. The names of queues contain the versions of the program and its models, so that
 * a job waits for an agent of its own version.
 */

export type RunTask = 'predict' | 'simulate';
export type RunTaskInput = Parameters<WorkerTasks[RunTask]>[0];
export type RunTaskOutput = Awaited<ReturnType<WorkerTasks[RunTask]>>;

export interface TaskJob {
  readonly owner: string;
  readonly runId: number;
  readonly plan: string;
  readonly input: object;
}

export interface MeasuringJob {
  readonly owner: string;
  readonly runId: number | null;
  readonly plan: string;
  readonly limits: ProgramLimits;
}

/** An entry in the stream of a measurement. An interrupted measurement lacks the last entry, the end. */
export type Said = { readonly record: BenchRecord; readonly atMs: number } | { readonly end: Result<ProgramEnd> };

export type AgentRecord = Omit<Agent, 'id' | 'fits'>;

export interface OwnerRecord {
  readonly host: string;
  readonly versions: string;
  readonly waiting: number;
}

export const HEARTBEAT_MS = 2000;
/** How long an agent or owner may be silent, s. Then the agent is no longer shown, or the owner's work is ignored. */
export const SILENCE_S = 30;
export const RESULT_KEPT_S = 3600;
export const PLAN_KEPT_S = 24 * 3600;

export const plainName = (text: string): string => text.replaceAll(/[^\w.-]+/g, '_');
export const TASK_QUEUE = `tasks-${plainName(VERSIONS)}`;
export const deviceQueue = (agent: string, target: string): string =>
  `device-${plainName(agent)}-${plainName(target)}-${plainName(VERSIONS)}`;
export const CANCEL_CHANNEL = 'cancelled';

export function remoteTarget(target: string): { readonly target: string; readonly agent: string } | null {
  const at = target.indexOf('@');
  return at < 0 ? null : { target: target.slice(0, at), agent: target.slice(at + 1) };
}

export const encode = (value: unknown): Buffer => serialize(value);

/** Decodes data. Each array has its own memory, which can be transferred. */
export function decode<T>(bytes: Uint8Array): T {
  return withArrays(deserialize(bytes), (array) => array.slice()) as T;
}

/** Decodes data into shared memory, so that the workers of a pool read it without a copy. */
export function decodeShared<T extends SweepPlan | BenchPlan>(bytes: Uint8Array): T {
  return withArrays(deserialize(bytes), (array) => {
    const shared = new (array.constructor as new (buffer: SharedArrayBuffer) => NumberArray)(
      new SharedArrayBuffer(array.byteLength),
    );
    shared.set(array);
    return shared;
  }) as T;
}

type NumberArray = Float64Array | Float32Array | Uint32Array | Uint16Array | Uint8Array;

function withArrays(value: unknown, change: (array: NumberArray) => NumberArray): unknown {
  if (ArrayBuffer.isView(value)) return change(value as NumberArray);
  if (Array.isArray(value)) return value.map((one) => withArrays(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withArrays(one, change)]));
}
