import { readFileSync, writeSync } from 'node:fs';
import type { RunProgress, RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openStore } from '../../db/store.ts';
import type { RedisSettings } from '../../src-main/services/agents/connection.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { MIGRATIONS } from '../db/sample.ts';
import { call, ended, testEngine } from '../unit/engine-calls.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { dataFile } from '../data.ts';

// `node kill-child.ts WORK FILE [OTHER]` is the process that is killed at a random moment. It begins a run of one kind,
// or resumes the killed run. It writes a line when it is ready, a line for each part that the engine reports as saved,
// and a line at the end. OTHER is the file to import or, for a sweep, the program of the workers.
type Work = 'sweep' | 'simulate' | 'measure' | 'import' | 'migrate';
const [work, file, other] = process.argv.slice(2) as [Work, string, string];
const say = (...words: readonly (string | number)[]): void => void writeSync(1, `${words.join(' ')}\n`);
const CPU = 'amd-epyc-7302p';

const SWEEP = smallStudy({
  name: 'Killed',
  workload: { lengths: 'zipf(1.2,500)', units: 100_000 },
  axes: {
    threadsPerUnit: [1, 2, 4, 8],
    balancing: ['none', 'window-sort(4096)', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    unitsPerThread: { from: 1, to: 8 },
    registerCap: [null, 32],
  },
});
const CORES = smallStudy({
  name: 'Cores',
  workload: { lengths: 'geometric(0.05)', units: 20_000 },
  kernel: { name: 'walk', registersPerThread: 40, instructionsPerIteration: 60, bytesPerIteration: 16, lengthsKnownBeforeLaunch: true }, // prettier-ignore
  devices: [CPU],
  axes: { blockThreads: [128], balancing: ['row-split', 'nonzero-split', 'merge-path'], cores: [1, 2] },
});

if (work === 'migrate') {
  say('ready');
  unwrap(openStore({ file, migrationsFolder: MIGRATIONS })).close();
  say('done complete');
} else {
  const engine = await testEngine(file, {
    ...(work === 'sweep' && other ? { workerFile: other } : {}),
    programs: { cpuChildFile: dataFile('bench/cpu-child.ts') },
    ...(process.env.LOCKSTEP_TEST_REDIS && { redis: JSON.parse(process.env.LOCKSTEP_TEST_REDIS) as RedisSettings }),
  });
  engine.subscribe((event, payload) => {
    if (event === 'run.progress') say('saved', (payload as RunProgress).runId, (payload as RunProgress).done);
  });
  say('ready');
  if (work === 'import') {
    const { runId, cases } = await call(engine, 'import.file', { fileName: 'cache.json', bytes: readFileSync(other) });
    say('saved', runId, cases);
    say('done complete');
  } else {
    const kind = work === 'measure' ? 'bench' : work;
    const runs = unwrap(await engine.call('runs.list', {}));
    const open = runs.find((run) => run.kind === kind && run.state !== 'complete' && run.state !== 'running');
    const completeSweep = async (study: StudyFile): Promise<number> => {
      const known = runs.find((run) => run.kind === 'sweep' && run.name === study.name);
      return (known ?? (await ended(engine, 'runs.start', { study }))).id;
    };
    const begin = async (): Promise<RunSummary> => {
      if (open) return ended(engine, 'runs.resume', { id: open.id });
      if (work === 'sweep') return ended(engine, 'runs.start', { study: SWEEP });
      const runId = await completeSweep(work === 'simulate' ? smallStudy() : CORES);
      if (work === 'simulate') return ended(engine, 'simulations.start', { runId, top: 60, maxReplications: 5 });
      return ended(engine, 'bench.start', { target: 'cpu', runId, count: 6, repeats: 4, warmUps: 1 });
    };
    const run = await begin();
    if (run.error !== null) say('error', run.error);
    say('done', run.state, run.valid, run.invalid);
  }
  await engine.close();
}
