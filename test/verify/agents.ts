import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { inFolder } from '../db/sample.ts';
import { startAgent, startRedis, type CommandProcess } from '../redis.ts';
import { findTool } from '../tools.mjs';
import { expectSound, sweepIn, work } from './kills.ts';
import { inSeconds, wholeBelow, type Report, type Section } from './report.ts';

/** Ends agents, the engine that uses them, and the Redis between them at random moments. */

const AGENTS = 3;
const PREFIX = 'verify';
/** Mean time between two attacks, ms. */
const STRIKE_MS = 700;
/** Time for which an agent is stopped, ms. It is longer than the silence after which other agents get the work. */
const STOP_MS = 2500;

async function verifyAgents(report: Report, kills: number): Promise<void> {
  if (findTool('redis-server') === null) return report.figure('agents', 'not tested: redis-server is missing');
  const { uniform } = report;
  const struck = {
    'agents killed': 0,
    'agents stopped for a while': 0,
    'Redis killed, and empty when it is back': 0,
    'engine killed': 0,
  };
  const strikes = (): number => Object.values(struck).reduce((sum, count) => sum + count, 0);
  let complete = 0;
  await inFolder(async (folder) => {
    const file = (name: string): string => join(folder, `${name}.db`);
    const alone = await work('sweep', file('alone'));
    const expected = sweepIn(file('alone'));
    report.say(`sweep: ${expected?.parts.size} parts in ${inSeconds(alone.workMs)} without agents`);

    const redis = await startRedis(folder);
    const agents: CommandProcess[] = [];
    const restart = async (at: number): Promise<void> => {
      agents[at] = await startAgent(redis, PREFIX, `agent-${at}`, '--silence', '1');
    };
    await Promise.all(Array.from({ length: AGENTS }, (_, at) => restart(at)));
    process.env.LOCKSTEP_TEST_REDIS = JSON.stringify({ url: redis.url, passwordFile: redis.passwordFile, prefix: PREFIX }); // prettier-ignore
    const strike = async (): Promise<void> => {
      const [kind, at] = [uniform(), wholeBelow(uniform, AGENTS)];
      if (kind < 0.75) {
        struck['agents killed']++;
        await agents[at].kill();
        await restart(at);
      } else if (kind < 0.9) {
        struck['agents stopped for a while']++;
        agents[at].child.kill('SIGSTOP');
        setTimeout(() => agents[at].child.kill('SIGCONT'), STOP_MS);
      } else {
        struck['Redis killed, and empty when it is back']++;
        await redis.kill();
        await pause(1000 * uniform());
        await redis.start();
      }
    };
    let run = 0;
    try {
      while (strikes() < kills) {
        const name = `run-${run}`;
        const ms = alone.workMs * uniform();
        const kill = uniform() < 0.25 ? ({ after: 'ready', ms, whom: 'engine' } as const) : null;
        const before = sweepIn(file(name))?.parts ?? new Map<string, string>();
        let over = false;
        const working = work('sweep', file(name), { kill }).finally(() => (over = true));
        while (!over) {
          await Promise.race([pause(2 * STRIKE_MS * uniform()), working]);
          if (!over && strikes() < kills) await strike();
        }
        const { killed, lines } = await working;
        struck['engine killed'] += Number(killed);
        const at = `run ${run}, seed ${report.seed}, strike ${strikes()}`;
        expectSound(report, at, file(name));
        const now = sweepIn(file(name));
        const lost = [...before].filter(([key, value]) => now?.parts.get(key) !== value);
        if (lost.length > 0) report.fail(`${at}: ${lost.length} parts saved before are gone or changed`);
        const done = lines.find((line) => line.startsWith('done '));
        if (!killed && !done?.startsWith('done complete')) report.fail(`${at}: ended as ${done ?? 'nothing'}`);
        if (!done) continue;
        complete++;
        run++;
        if (!isDeepStrictEqual(now, expected)) report.fail(`${at}: the run is complete with other results`);
      }
    } finally {
      delete process.env.LOCKSTEP_TEST_REDIS;
      await Promise.all(agents.map((agent) => agent.kill()));
      await redis.kill();
    }
  });
  for (const [what, count] of Object.entries(struck)) report.figure(what, count);
  report.figure('runs completed with the results of a single machine', complete);
}

export const section: Section = {
  what: 'agents, their Redis and the engine of the run, killed at random moments: each result is saved once',
  amount: { full: 200, quick: 10, unit: 'strikes' },
  run: verifyAgents,
};
