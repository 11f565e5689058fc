/**
 * The benchmark of `npm run bench -- --against REV`. Each case prints one JSON line with its fastest time in ms,
 * because other load only adds time. The file also runs in older revisions, so it imports only stable modules.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { lossDistribution } from '../../src-workers/models/imbalance/distribution.ts';
import { binomialLaw, geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { oneDesign, planOf } from '../unit/sweep-plans.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SIMULATED = 3;
/** Designs with laws and with orders, few enough to take little time. */
const small = (lengths: string): StudyFile => ({
  ...oneDesign({ workload: { lengths, units: 1 << 16 } }),
  axes: {
    threadsPerUnit: [1, 4],
    loop: ['nested', 'flattened'],
    balancing: ['none', 'full-sort'],
    blockThreads: [64, 128, 256, 512],
    unitsPerThread: [1, 2, 4, 8],
  },
});

const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
const engine = unwrap(
  await openEngine({ databaseFile: join(folder, 'bench.db'), resourceFolder: ROOT, host: 'cli', workers: 1 }),
);
const call = async <T>(name: string, input: unknown): Promise<T> =>
  unwrap((await engine.dispatch(name, input)) as Result<T>);

const geometric = unwrap(geometricLaw(0.05));
const binomial = unwrap(binomialLaw(40, 0.5));
const study = small('geometric(0.05)');
const plan = await planOf(study);
const predictor = createPredictor(plan);
const designs = predictor.counts.reduce((product, count) => product * count, 1);
const inOrder = createPredictor(await planOf(small('example:collatz')));
const { timeMs } = predictChunk(predictor, 0, designs);
const fastest = timeMs.reduce(
  (best, time, design) => (time < timeMs[best] || Number.isNaN(timeMs[best]) ? design : best),
  0,
);

const cases: Readonly<Record<string, () => unknown>> = {
  'mean loss': () => lossMoments(geometric, [2, 4, 8, 16, 32]),
  'distribution of the loss': () => unwrap(lossDistribution(binomial, 8)),
  'designs predicted, first time': () => predictChunk(createPredictor(plan), 0, designs),
  'designs predicted, tables at hand': () => predictChunk(predictor, 0, designs),
  'designs in a given order': () => predictChunk(inOrder, 0, designs),
  'simulated design': () =>
    unwrap(simulateDesign(predictor, fastest, { seed: 1, halfWidth: 1e-9, maxReplications: SIMULATED })),
  'run predicted, saved and ranked': async () => {
    const { runId } = await call<{ runId: number }>('runs.start', { study });
    await call('runs.wait', { id: runId });
    await call('ranking.page', { runId });
  },
  'start of the command line': () =>
    spawnSync(process.execPath, ['src-main/cli/lockstep.mjs', 'loss', '--workload', 'constant(3)'], { cwd: ROOT }),
};
const bench = new Bench({ time: 100, warmupTime: 30, warmupIterations: 1, iterations: 3 });
for (const [name, run] of Object.entries(cases)) bench.add(name, run);
await bench.run();
await engine.close();
rmSync(folder, { recursive: true });
for (const { name, result } of bench.tasks) {
  if (!('latency' in result)) throw new Error(`${name} could not be timed: ${result.state}`);
  process.stdout.write(`${JSON.stringify({ name, ms: result.latency.min })}\n`);
}
