import { ok, type Result, badInput, notFound } from '../../src-workers/domain/result.ts';
import type { AgentsState } from '../contract/agents.ts';
import type { RedisSettings } from '../services/agents/connection.ts';
import { remoteTarget } from '../services/agents/protocol.ts';
import type { Engine } from '../services/engine.ts';
import { counted } from '../services/export/text.ts';

export interface RedisOptions {
  readonly redis?: string;
  readonly redisPrefix?: string;
  readonly redisPasswordFile?: string;
}

export function redisSettings({ redis, redisPrefix, redisPasswordFile }: RedisOptions): RedisSettings | undefined {
  return redis === undefined ? undefined : { url: redis, prefix: redisPrefix, passwordFile: redisPasswordFile };
}

/** If a target names no agent, adds the only agent that has the target's device. */
export async function agentTarget<
  Options extends RedisOptions & { readonly target?: string; readonly bundle?: string },
>(engine: Engine, options: Options): Promise<Result<Options>> {
  const { redis, target, bundle } = options;
  if (redis === undefined || bundle !== undefined) return ok(options);
  if (target === undefined)
    return badInput('Agents measure only on their own devices. Specify a device with --target, such as cuda:0.');
  if (remoteTarget(target)) return ok(options);
  const state = await engine.call('agents.state', {});
  if (!state.ok) return state;
  const known =
    state.value.kind === 'connected'
      ? state.value.agents.filter(({ fits }) => fits).flatMap(({ devices }) => devices.map(({ id }) => id))
      : [];
  const found = [...new Set(known)].filter((id) => remoteTarget(id)?.target === target);
  if (found.length === 1) return ok({ ...options, target: found[0] });
  return found.length > 1
    ? badInput(`Several agents have the device ${target}. Choose one: --target ${found.join(' or ')}.`)
    : notFound(
        `No connected agent measures on ${target}${known.length > 0 ? ` (the agents have ${known.join(', ')})` : ''}. Start an agent: lockstep agent --redis ${redis} --devices ${target}`,
      );
}

/** Says which agents do the work, or what is missing if none can. Returns `null` if this machine does the work. */
export function agentsText(state: AgentsState): string | null {
  if (state.kind !== 'connected') return null;
  const able = state.agents.filter(({ fits }) => fits);
  if (able.length > 0)
    return `${counted(able.length, 'agent')} with ${counted(
      able.reduce((sum, { workers }) => sum + workers, 0),
      'worker',
    )}: ${able.map(({ name }) => name).join(', ')}.`;
  const others = state.agents.map(({ name, versions }) => `${name} has ${versions}`);
  return others.length > 0
    ? `The run waits: agents must have ${state.versions}, but ${others.join('; ')}. Install the same version on all machines.`
    : `The run waits: no agent is connected to ${state.place}. Start an agent: lockstep agent --redis ${state.place}`;
}
