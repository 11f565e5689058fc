import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import type { StoreClient } from '../../../db/store-api.ts';
import { ok, type Result, conflict } from '../../../src-workers/domain/result.ts';
import type { AgentsState } from '../../contract/agents.ts';
import { validate } from '../../contract/parse.ts';
import type { MeasuringTarget } from '../../contract/measuring.ts';
import type { Pool } from '../pool.ts';
import type { RedisSettings } from './connection.ts';
import { openOwner, type Owner } from './owner.ts';
import type { RunTaskInput } from './protocol.ts';

/** The key of the setting in the app. The setting has no password, which comes from the environment or from a file. */
export const AGENTS_SETTING = 'agents';
const RETRY_MS = 10_000;
const STORE_SETTING = 'agents.store';
const settingsSchema = v.strictObject({
  url: v.pipe(v.string(), v.maxLength(400)),
  prefix: v.optional(v.string()),
  passwordFile: v.optional(v.string()),
});

export function agentsSetting(value: unknown): Result<RedisSettings | null> {
  return value === null || value === undefined ? ok(null) : validate(settingsSchema, value, AGENTS_SETTING);
}

export function openAgents(store: StoreClient) {
  let owner: Owner | null = null;
  let failure: string | null = null;
  let closed = false;
  let replaced = 0;
  const replace = async (next: Owner | null): Promise<string | null> => {
    const last = owner;
    replaced += 1;
    [owner, failure] = [closed ? null : next, null];
    const silent = (await last?.close()) ?? null;
    if (closed) await next?.close();
    return silent;
  };
  const openWith = async (settings: RedisSettings): Promise<Result<Owner>> => {
    const storeId = await readStoreId(store);
    return storeId.ok ? openOwner(settings, storeId.value) : storeId;
  };
  return {
    async use(settings: RedisSettings | null): Promise<Result<null>> {
      const opened = settings ? await openWith(settings) : ok(null);
      if (!opened.ok) return opened;
      await replace(opened.value);
      return ok(null);
    },
    async join(settings: RedisSettings): Promise<void> {
      const before = replaced;
      while (!closed && replaced === before) {
        const opened = await openWith(settings);
        if (opened.ok) return void (await (replaced === before ? replace(opened.value) : opened.value.close()));
        if (replaced === before) failure = opened.error.message;
        await pause(RETRY_MS, undefined, { ref: false });
      }
    },
    async state(): Promise<AgentsState> {
      if (owner) return owner.state();
      return failure === null ? { kind: 'off' } : { kind: 'failed', message: failure };
    },
    async devices(): Promise<readonly MeasuringTarget[]> {
      const state = await owner?.state();
      return state?.kind === 'connected' ? state.agents.flatMap(({ fits, devices }) => (fits ? devices : [])) : [];
    },
    async measure(...args: Parameters<Owner['measure']>): ReturnType<Owner['measure']> {
      return owner
        ? owner.measure(...args)
        : conflict(
            `${args[0].target}@${args[0].agent} is a device of an agent. Set the Redis of the agents first (--redis, or Settings).`,
          );
    },
    pool: (local: Pool): Pool => ({
      ...local,
      capacity: () => owner?.capacity() ?? local.capacity(),
      run(name, input, options = {}) {
        const { runId, signal } = options;
        return owner && runId !== undefined && (name === 'predict' || name === 'simulate')
          ? (owner.run(name, runId, input as RunTaskInput, signal) as Promise<never>)
          : local.run(name, input, options);
      },
    }),
    close() {
      closed = true;
      return replace(null);
    },
  };
}

export type Agents = ReturnType<typeof openAgents>;

/** Returns the id of the database, which the first call makes. Run numbers are unique only within a database. */
async function readStoreId(store: StoreClient): Promise<Result<string>> {
  const settings = await store.listSettings();
  if (!settings.ok) return settings;
  const known = settings.value[STORE_SETTING];
  if (typeof known === 'string') return ok(known);
  const made = randomUUID();
  const saved = await store.saveSetting(STORE_SETTING, made);
  return saved.ok ? ok(made) : saved;
}
