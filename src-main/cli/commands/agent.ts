import { availableParallelism, hostname } from 'node:os';
import type { Command } from 'commander';
import { ok, type Result, unwrap, notFound } from '../../../src-workers/domain/result.ts';
import type { MeasuringTarget } from '../../contract/measuring.ts';
import type { Places } from '../../hosts/places.ts';
import { openAgent } from '../../services/agents/agent.ts';
import { VERSIONS } from '../../services/agents/connection.ts';
import { counted } from '../../services/export/text.ts';
import type { MeasuringPrograms } from '../../services/measuring/programs.ts';
import { targetsLike } from '../../services/measuring/targets.ts';
import { openPool } from '../../services/pool.ts';
import { type RedisOptions, redisSettings } from '../agents.ts';
import { byAgents, type CommandLine, positive } from '../command-line.ts';
import { badUsage, type Terminal } from '../output.ts';

export function addAgent(program: Command, { terminal, places }: CommandLine): void {
  byAgents(program.command('agent').description("work on other machines' runs: sweeps, simulations, measurements"))
    .option('--json', 'print one JSON document when the agent is connected')
    .option('--name <name>', 'name of this agent (default: the name of the machine); cuda:0@NAME is its device')
    .option(
      '--devices <list>',
      'devices that this agent measures on, as in cuda:0,cpu',
      (text: string) => text.split(','),
      [],
    )
    .option(
      '--workers <count>',
      'tasks that run at the same time (default: one for each core)',
      positive,
      availableParallelism(),
    )
    .option(
      '--silence <seconds>',
      'how long this agent may be silent before other agents take over its work',
      positive,
      30,
    )
    .addHelpText(
      'after',
      `
  lockstep agent --redis redis://HOST --devices cuda:0        on each machine that helps
  lockstep sweep study.json --redis redis://HOST              on the machine that saves the runs
  lockstep bench 1 --redis redis://HOST --target cuda:0@NAME
Every result is saved once, in the database of the machine that started the run. If an agent stops, crashes or hangs,
other agents continue its work. Agents take work only from machines that have the same version. Everyone who can write
to the Redis can give agents work, so protect the Redis by a password.
With --json: {name, place, versions, workers, devices}.`,
    )
    .action(async (options: AgentCommandOptions) => {
      if (!options.redis) throw badUsage('An agent takes its work from a Redis. Specify --redis redis://HOST:PORT.');
      await agentCommand(terminal, places, options);
    });
}

interface AgentCommandOptions extends RedisOptions {
  readonly json?: boolean;
  readonly redis: string;
  readonly name?: string;
  readonly devices: readonly string[];
  readonly workers: number;
  readonly silence: number;
}

async function agentCommand(
  terminal: Terminal,
  places: Places,
  { name = hostname(), devices: wanted, workers, silence, ...options }: AgentCommandOptions,
): Promise<void> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  const pool = openPool(places.engine.workerFile, workers, 0);
  try {
    const devices = unwrap(await offeredDevices(places.engine.programs, wanted, stopped.signal));
    const agent = unwrap(
      await openAgent({
        ...redisSettings(options)!,
        name,
        pool,
        programs: places.engine.programs,
        devices,
        silenceMs: silence * 1000,
        say: (line) => terminal.err(`lockstep: ${line}\n`),
      }),
    );
    const { place } = agent;
    if (options.json) terminal.json({ name, place, versions: VERSIONS, workers, devices });
    else
      terminal.say(
        `Agent ${name} takes work from ${place}: ${counted(workers, 'worker')}${devices.map(({ id, label }) => `, ${id} (${label})`).join('')}. Ctrl-C stops it.`,
      );
    if (!stopped.signal.aborted)
      await new Promise((resolve) => stopped.signal.addEventListener('abort', resolve, { once: true }));
    const silent = await agent.close();
    if (silent !== null) terminal.err(`lockstep: ${silent}\n`);
    return;
  } finally {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
    await pool.close();
  }
}

async function offeredDevices(
  programs: MeasuringPrograms,
  wanted: readonly string[],
  closing: AbortSignal,
): Promise<Result<readonly MeasuringTarget[]>> {
  const offered: MeasuringTarget[] = [];
  for (const id of wanted) {
    const device = (await targetsLike(id, programs, closing)).find((one) => one.id === id);
    if (!device)
      return notFound(`This machine has no device ${id.slice(0, 80)}. lockstep bench --list prints its devices.`);
    if (!device.available) return notFound(`The device ${id} cannot measure: ${device.label}. ${device.advice}`);
    offered.push(device);
  }
  return ok(offered);
}
