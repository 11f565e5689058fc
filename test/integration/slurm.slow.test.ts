import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentOf, lockstep, type Outcome } from '../command-line.ts';
import { freePort } from '../redis.ts';
import { lacks } from '../tools.mjs';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder } from '../workplace.ts';
import { EMULATING_NVCC, runToEnd, type Ended } from './bench-cuda-plans.ts';

/** Runs a bundle's job array with the real Slurm on this machine. The emulation of CUDA replaces the two devices. */

const TASKS = 3;
const CASES = 7;
/** Limits for the start of a daemon and for a job. Both normally take far less time. */
const START_MS = 240_000;
const JOB_MS = 240_000;

const folder = testFolder();
const db = join(folder, 'test.db');
const bundle = join(folder, 'bundle');
const cluster = join(folder, 'cluster');
const environment = { SLURM_CONF: join(cluster, 'slurm.conf'), NVCC: EMULATING_NVCC, LOCKSTEP_ARCHITECTURE: 'sm_90' };
const daemons: ChildProcess[] = [];

function daemon(program: string, ...args: readonly string[]): void {
  daemons.push(spawn(program, args, { env: { ...process.env, ...environment }, stdio: 'ignore' }));
}

const slurm = (program: string, ...args: readonly string[]): Promise<Ended> =>
  runToEnd('timeout', [String(JOB_MS / 1000), program, ...args], bundle, environment);

const logs = (): string =>
  ['slurmctld', 'slurmd'].map((name) => readFileSync(join(cluster, `${name}.log`), 'utf8').slice(-2000)).join('\n');

async function startCluster(): Promise<void> {
  const node = hostname().split('.')[0];
  const user = userInfo().username;
  mkdirSync(join(cluster, 'state'), { recursive: true });
  mkdirSync(join(cluster, 'spool'));
  writeFileSync(join(cluster, 'munge.key'), randomBytes(1024), { mode: 0o400 });
  for (const gpu of [0, 1]) writeFileSync(join(cluster, `gpu${gpu}`), '');
  writeFileSync(join(cluster, 'gres.conf'), `NodeName=${node} Name=gpu Count=2 File=${cluster}/gpu[0-1]\n`);
  const lines = [
    'ClusterName=lockstep',
    `SlurmctldHost=${node}(127.0.0.1)`,
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    'AuthType=auth/munge',
    `AuthInfo=socket=${cluster}/munge.sock`,
    'CredType=cred/munge',
    `SlurmctldPort=${await freePort()}`,
    `SlurmdPort=${await freePort()}`,
    `StateSaveLocation=${cluster}/state`,
    `SlurmdSpoolDir=${cluster}/spool`,
    ...['Slurmctld', 'Slurmd'].map((name) => `${name}PidFile=${cluster}/${name}.pid`),
    `SlurmctldLogFile=${cluster}/slurmctld.log`,
    `SlurmdLogFile=${cluster}/slurmd.log`,
    // Control groups would need a system that lets this user create them.
    'ProctrackType=proctrack/pgid',
    'TaskPlugin=task/none',
    'JobAcctGatherType=jobacct_gather/none',
    'MpiDefault=none',
    'MailProg=/bin/true',
    'ReturnToService=2',
    'SlurmdParameters=config_overrides',
    'SchedulerParameters=sched_interval=1,batch_sched_delay=0',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_Core',
    'GresTypes=gpu',
    `NodeName=${node} NodeAddr=127.0.0.1 CPUs=2 Gres=gpu:2 State=UNKNOWN`,
    'PartitionName=all Nodes=ALL Default=YES State=UP',
  ];
  writeFileSync(environment.SLURM_CONF, `${lines.join('\n')}\n`);
  const files = { key: 'munge.key', pid: 'munged.pid', log: 'munged.log', seed: 'munge.seed' };
  const options = Object.entries(files).map(([name, file]) => `--${name}-file=${join(cluster, file)}`);
  daemon('munged', '--foreground', '--force', `--socket=${cluster}/munge.sock`, ...options);
  await setTimeout(500);
  daemon('slurmctld', '-D');
  await setTimeout(1000);
  daemon('slurmd', '-D');
  const end = performance.now() + START_MS;
  for (;;) {
    const { stdout } = await runToEnd('timeout', ['5', 'sinfo', '--noheader', '--format=%T'], cluster, environment);
    if (stdout.trim() === 'idle') return;
    if (performance.now() > end) throw new Error(`The cluster is not idle after ${START_MS} ms: ${stdout}\n${logs()}`);
    await setTimeout(300);
  }
}

describe.skipIf(lacks('slurm', 'g++'))('a bundle as a job array of Slurm', () => {
  const run = (...args: readonly string[]): Promise<Outcome> => lockstep(...args, '--db', db);
  const log = (task: number): string => readFileSync(join(bundle, `slice-${task}.log`), 'utf8');

  beforeAll(async () => {
    const study = join(folder, 'study.json');
    const axes = { threadsPerUnit: [1, 4], blockThreads: [64, 128], unitsPerThread: [1, 2, 4] };
    const workload = { lengths: 'geometric(0.2)', units: 2000 };
    writeFileSync(study, JSON.stringify(smallStudy({ axes, workload, devices: ['nvidia-a100-sxm4-40gb'] })));
    expect((await run('sweep', study)).status).toBe(0);
    const asked = `--top ${CASES} --repeats 2 --warm-ups 0 --slurm ${TASKS} --json`.split(' ');
    documentOf(await run('bench', '1', ...asked, '--bundle', bundle));
    mkdirSync(cluster);
    await startCluster();
  }, 2 * START_MS);
  afterAll(async () => {
    for (const one of daemons.reverse()) {
      one.kill('SIGTERM');
      if (one.exitCode === null && one.signalCode === null) await once(one, 'exit');
    }
  });

  const imported = async () => documentOf<{ cases: number; runId: number }>(await run('import', bundle, '--json'));

  it(
    'measures a part of the array, imports it, resumes the rest, and measures nothing twice',
    { timeout: 3 * JOB_MS },
    async () => {
      const some = await slurm('sbatch', '--wait', '--array=0-1', 'run.slurm');
      expect(some.code, `${some.stderr}\n${log(0)}\n${log(1)}`).toBe(0);
      const counts = [3, 2, 2];
      for (const task of [0, 1]) expect(log(task)).toContain(`measuring; 0 of ${counts[task]} cases are done already`);
      expect((await imported()).cases).toBe(5);

      const all = await slurm('sbatch', '--wait', 'run.slurm');
      expect(all.code, `${all.stderr}\n${logs()}`).toBe(0);
      const done = [0, 1, 2].map((task) => /measuring; (\d of \d)/.exec(log(task))![1]);
      expect(done).toEqual(['3 of 3', '2 of 2', '0 of 2']);
      const { cases, runId } = await imported();
      expect(cases).toBe(CASES);
      const shown = await run('runs', 'show', String(runId), '--json');
      expect(documentOf(shown)).toMatchObject({ state: 'complete' });
    },
  );
});
