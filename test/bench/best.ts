/**
 * The best designs without predicting all: `node test/bench/best.ts`. A million designs, held against an exhaustive
 * sweep, and timed for the answer alone; then a billion. What, target, figure and ratio, one line each; processor time
 * beside the elapsed one, for busy machines.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { call, ended } from '../unit/engine-calls.ts';
import { MILLION } from './million.ts';
import { report, ROOT, WORKERS } from './report.ts';

const BEST = 10_000;
const { axes } = MILLION;

/** 1,005,699,072 designs: 11,692 launches of each. */
const BILLION: StudyFile = {
  ...MILLION,
  name: 'A billion designs',
  axes: {
    ...axes,
    unitsPerThread: { from: 1, to: 4096 },
    gridBlocks: { from: 64, to: 262_144, step: 64 },
    blocksPerMultiprocessor: { from: 1, to: 3500 },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
const engine = unwrap(
  await openEngine({ databaseFile: join(folder, 'bench.db'), resourceFolder: ROOT, host: 'cli', workers: WORKERS }),
);

/** Prints how long a sweep took, and returns it with its best designs. */
async function timed(what: string, targetMs: number, study: StudyFile, best?: number): Promise<RunSummary> {
  let peakBytes = 0;
  const sampler = setInterval(() => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss())), 20);
  const [start, before] = [performance.now(), process.cpuUsage()];
  const run = await ended(engine, 'runs.start', { study, ...(best !== undefined && { best }) });
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  clearInterval(sampler);
  report(what, targetMs, elapsedMs, 'ms');
  report('  processor time', targetMs * WORKERS, (user + system) / 1e3, 'ms');
  report('  peak memory of the process', 1000, peakBytes / 1e6, 'MB');
  if (run.kept) report('  designs predicted', run.enumerated, run.kept.predicted ?? NaN, '');
  return run;
}

const columnsOf = async ({ id }: RunSummary) => unwrap(await engine.context.store.loadRunColumns(id));

try {
  await timed('a million designs, the best 10,000, first time', 2000, MILLION, BEST);
  const best = await timed('a million designs, the best 10,000', 500, MILLION, BEST);
  await timed('a billion designs, the best 10,000', 60_000, BILLION, BEST);
  const all = await timed('a million designs, all', 4000, MILLION);

  const { timeMs } = await columnsOf(all);
  const found = await columnsOf(best);
  const expected = [...timeMs.keys()]
    .filter((design) => !Number.isNaN(timeMs[design]))
    .sort((a, b) => timeMs[a] - timeMs[b] || a - b)
    .slice(0, BEST)
    .sort((a, b) => a - b);
  const same = expected.filter(
    (design, at) => found.designs![at] === design && found.timeMs[at] === timeMs[design],
  ).length;
  report('of the 10,000, the same as in the exhaustive sweep', BEST, same, 'designs', true);
  const [one, other] = await Promise.all(
    [all, best].map(({ id }) =>
      call<{ readonly recommended: { readonly row: { readonly designIndex: number } } | null }>(
        engine,
        'ranking.best',
        {
          runId: id,
          limit: 1,
        },
      ),
    ),
  );
  const isRecommended = one.recommended?.row.designIndex === other.recommended?.row.designIndex;
  if (same < BEST || !isRecommended) process.exitCode = 1;
} finally {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
}
