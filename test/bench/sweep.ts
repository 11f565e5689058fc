/**
 * `node test/bench/sweep.ts` measures the speed of a sweep of a million designs, `short.ts` that of prediction alone.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { RANK_COLUMNS } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { median } from '../../src-workers/numeric/statistics.ts';
import { inFolder } from '../db/sample.ts';
import { call, ended, testEngine } from '../unit/engine-calls.ts';

const WORKERS = 2;

const writeCells = (what: string, [target, median, ratio]: readonly string[]): void =>
  void process.stdout.write(
    `${[what.padEnd(58), target.padStart(16), median.padStart(20), ratio.padStart(8)].join('  ')}\n`,
  );
/** Prints a line of a benchmark's table: case, target, figure and their ratio, above 1 if the target is met. */
function report(what: string, target: number, value: number, unit: string): void {
  const figures = [`${target} ${unit}`, `${Number(value.toPrecision(4))} ${unit}`, (target / value).toFixed(2)];
  writeCells(what, figures);
}

/** 1,032,192 designs over four devices: a usual space of block sizes, caps, granularities and orderings. */
const MILLION: StudyFile = {
  lockstep: 1,
  name: 'A million designs',
  workload: { lengths: 'geometric(0.05)', units: 1 << 22 },
  kernel: {
    name: 'walk',
    registersPerThread: 64,
    instructionsPerIteration: 60,
    dependentLoadsPerIteration: 1,
    serialFraction: 0.05,
    lengthsKnownBeforeLaunch: true,
  },
  devices: ['nvidia-v100-sxm2-16gb', 'nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb', 'nvidia-rtx-4090'],
  axes: {
    threadsPerUnit: [1, 2, 4, 8, 16, 32],
    loop: ['nested', 'flattened'],
    balancing: ['none', 'quantile-buckets(4)', 'full-sort', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    unitsPerThread: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64],
    registerCap: [null, ...Array.from({ length: 13 }, (_, i) => 60 - 3 * i)],
  },
};

writeCells('what', ['target', 'median', 'ratio']);
await inFolder(async (folder) => {
  const engine = await testEngine(join(folder, 'bench.db'), { workers: WORKERS });
  let peakBytes = 0;
  const sampler = setInterval(() => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss())), 20);
  const { id: studyId } = await call(engine, 'studies.save', { study: MILLION });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const start = performance.now();
  const { id: runId, enumerated } = await ended(engine, 'runs.start', { studyId });
  await call(engine, 'ranking.page', { runId });
  const elapsedMs = performance.now() - start;
  delay.disable();
  report(`${enumerated} designs predicted, saved and ranked, ${WORKERS} workers`, 4000, elapsedMs, 'ms');
  report('event loop delay, 99th percentile', 50, delay.percentile(99) / 1e6, 'ms');
  report('peak memory', 600, peakBytes / 1e6, 'MB');
  for (const column of RANK_COLUMNS) {
    const sort = { column, descending: true };
    await call(engine, 'ranking.page', { runId, sort });
    const times: number[] = [];
    for (let i = 0; i < 7; i += 1) {
      const from = performance.now();
      await call(engine, 'ranking.page', { runId, sort, offset: i * 100_000 });
      times.push(performance.now() - from);
    }
    report(`ranking page by ${column}, sorted before`, 30, median(Float64Array.from(times)), 'ms');
  }
  const again = await call(engine, 'runs.start', { studyId });
  await new Promise((resolve) => setTimeout(resolve, 500));
  const from = performance.now();
  await call(engine, 'runs.cancel', { id: again.runId });
  report('cancel', 200, performance.now() - from, 'ms');
  clearInterval(sampler);
  await engine.close();
});
