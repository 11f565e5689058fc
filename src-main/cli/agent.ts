import { hostname } from 'node:os';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import type { AgentsState } from '../contract/agents.ts';
import type { MeasuringTarget } from '../contract/measuring.ts';
import type { programPlaces } from '../hosts/places.ts';
import { openAgent } from '../services/agents/agent.ts';
import { VERSIONS, type RedisSettings } from '../services/agents/connection.ts';
import { remoteTarget } from '../services/agents/protocol.ts';
import type { Engine } from '../services/engine.ts';
import { counted } from '../services/export/text.ts';
import type { MeasuringPrograms } from '../services/measuring/programs.ts';
import { targetsLike } from '../services/measuring/targets.ts';
import { openPool } from '../services/pool.ts';
import { EXIT_OK, printJson, reportFailure, say, type Terminal } from './output.ts';

/** Runs this machine as an agent, and prints lines about the agents of a run. */

/** The options of every command whose work agents can do. */
export interface RedisOptions {
  readonly redis?: string;
  readonly redisPrefix?: string;
  readonly redisPasswordFile?: string;
}

export function redisSettings({ redis, redisPrefix, redisPasswordFile }: RedisOptions): RedisSettings | undefined {
  return redis === undefined ? undefined : { url: redis, prefix: redisPrefix, passwordFile: redisPasswordFile };
}

export interface AgentCommandOptions extends RedisOptions {
  readonly json?: boolean;
  readonly redis: string;
  readonly name?: string;
  readonly devices: readonly string[];
  readonly workers: number;
  readonly silence: number;
}

/** Works on the runs of other machines until it is stopped. */
export async function agentCommand(
  terminal: Terminal,
  places: ReturnType<typeof programPlaces>,
  { name = hostname(), devices: wanted, workers, silence, ...options }: AgentCommandOptions,
): Promise<number> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const pool = openPool(places.workerFile, workers, 0);
  try {
    const devices = await offeredDevices(places.programs, wanted, stopped.signal);
    if (!devices.ok) return reportFailure(terminal, devices.error);
    const agent = await openAgent({
      ...redisSettings(options)!,
      name,
      pool,
      programs: places.programs,
      devices: devices.value,
      silenceMs: silence * 1000,
      say: (line) => terminal.err(`lockstep: ${line}\n`),
    });
    if (!agent.ok) return reportFailure(terminal, agent.error);
    const { place } = agent.value;
    if (options.json) printJson(terminal, { name, place, versions: VERSIONS, workers, devices: devices.value });
    else
      say(
        terminal,
        `Agent ${name} takes work from ${place}: ${counted(workers, 'worker')}${devices.value.map(({ id, label }) => `, ${id} (${label})`).join('')}. Ctrl-C stops it.`,
      );
    if (!stopped.signal.aborted)
      await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve, { once: true }));
    const silent = await agent.value.close();
    if (silent !== null) terminal.err(`lockstep: ${silent}\n`);
    return EXIT_OK;
  } finally {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
    await pool.close();
  }
}

/** Returns the devices that the agent offers. Fails if a named device does not exist here. */
async function offeredDevices(
  programs: MeasuringPrograms,
  wanted: readonly string[],
  closing: AbortSignal,
): Promise<Result<readonly MeasuringTarget[]>> {
  const offered: MeasuringTarget[] = [];
  for (const id of wanted) {
    const device = (await targetsLike(id, programs, closing)).find((one) => one.id === id);
    if (!device)
      return fail(
        'not-found',
        `This machine has no device ${id.slice(0, 80)}. lockstep bench --list prints its devices.`,
      );
    if (!device.available)
      return fail('not-found', `The device ${id} cannot measure: ${device.label}. ${device.advice}`);
    offered.push(device);
  }
  return ok(offered);
}

/** Completes a target that does not name its agent, if exactly one agent has a device of this name. */
export async function agentTarget<
  Options extends RedisOptions & { readonly target?: string; readonly bundle?: string },
>(engine: Engine, options: Options): Promise<Result<Options>> {
  const { redis, target, bundle } = options;
  if (redis === undefined || bundle !== undefined) return ok(options);
  if (target === undefined)
    return fail('bad-input', 'Agents measure on their own devices only. Specify --target, as in cuda:0.');
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
    ? fail('bad-input', `Several agents have ${target}. Specify one: --target ${found.join(' or ')}.`)
    : fail(
        'not-found',
        `No connected agent measures on ${target}${known.length > 0 ? ` (they have ${known.join(', ')})` : ''}. Start one: lockstep agent --redis ${redis} --devices ${target}`,
      );
}

/** Says who does the work, and what is missing if nobody can. Returns `null` if this machine does it. */
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
    ? `The run waits: it needs agents with ${state.versions}, but ${others.join('; ')}. Install the same version on both.`
    : `The run waits: no agent is connected to ${state.place}. Start one: lockstep agent --redis ${state.place}`;
}
