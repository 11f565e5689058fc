import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { benchCommand, type BenchOptions } from '../../src-main/cli/commands/bench.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { BenchRunStudy } from '../../src-main/services/measuring/benchmarks.ts';
import { restoredPlan } from '../../src-main/services/measuring/plans.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { captured } from '../command-line.ts';
import { sweep as swept, useBench } from '../workplace.ts';
import { exampleStudy } from '../catalogue.ts';

// Measures designs for a CPU on this machine, from the study to the comparison.
const ROOT = join(import.meta.dirname, '..', '..');
const CHILD = join(ROOT, 'test', 'data', 'bench', 'cpu-child.ts');
const CPU = 'amd-epyc-7302p';
const GPU = 'nvidia-a100-sxm4-40gb';
const { call, engine } = useBench({ programs: { cpuChildFile: CHILD } });
let sweep: RunSummary;

/** The example for one CPU, with a small part of its space. */
const example = exampleStudy('spmv-cpu');
const study: StudyFile = {
  ...example,
  workload: { ...example.workload, lengths: `mtx:${join(ROOT, 'db/examples/ca-GrQc.mtx')}` },
  devices: [CPU, GPU],
  axes: { ...example.axes, threadsPerUnit: [1], unitsPerThread: [1], blockThreads: [128], cores: [1, 2] },
};

beforeAll(async () => void (sweep = await swept(engine, study)));

const bench = (run: number, options: BenchOptions) =>
  captured((terminal) => benchCommand(engine, terminal, String(run), options));

it('measures the predicted bytes, and shows predicted times beside measured ones', async () => {
  const said = await bench(sweep.id, { target: 'cpu', top: 4, repeats: 3, warmUps: 1, json: true });
  expect(said).toMatchObject({ status: 0, err: '' });
  const { runId } = JSON.parse(said.out) as { runId: number };
  const detail = await call('bench.detail', { id: runId });
  expect(detail.cases).toHaveLength(4);

  // The lengths are those of the matrix with both triangles, repeated for all units of the study.
  const rows = 5242;
  const nonZeros = 2 * 14_496 - 12;
  const { units } = study.workload;
  const { bytesPerIteration, bytesPerUnit } = study.kernel as { bytesPerIteration: number; bytesPerUnit: number };
  const totalBytes = (units / rows) * (nonZeros * bytesPerIteration + rows * bytesPerUnit);
  const ranked = await call('ranking.page', { runId: sweep.id, limit: 1000, filter: { validity: 'valid' } });
  for (const one of detail.cases) {
    expect([one.label, one.correct, one.failure, one.deviceId]).toEqual([one.label, true, null, CPU]);
    const loadBytes = one.values.loadBytes as readonly number[];
    expect(loadBytes).toHaveLength(one.design!.gridBlocks);
    const bytes = loadBytes.reduce((a, b) => a + b);
    // Each share is a multiple of 192 bytes, and a pass over all shares moves 4 MB.
    expect(Math.abs(bytes / totalBytes - 1)).toBeLessThan(1e-4);
    const row = ranked.rows.find(({ designIndex }) => designIndex === one.designIndex)!;
    expect(one.predictedMs).toBe(row.predictedMs);
    expect(Math.abs((Math.max(...loadBytes) * loadBytes.length) / bytes / row.aggregateLoss - 1)).toBeLessThan(2e-4);
  }

  const compared = await call('bench.compare', { id: runId });
  expect(compared).toMatchObject({ sourceRunId: sweep.id, deviceId: CPU, basis: 'prediction' });
  const text = await bench(runId, { compare: true });
  expect(text.out).toMatch(/4 designs of run 1, predicted for Epyc 7302P/);
  expect(text.out).toMatch(/median, (ms|µs|ns) +predicted, \1/);

  // A resumed run would measure the same entries, with the same bytes for each.
  const saved = async (id: number) => unwrap(await engine.context.store.getRun(id)).study;
  const { bench: line } = (await saved(runId)) as BenchRunStudy;
  const located = (await saved(sweep.id)) as Required<BenchRunStudy>;
  const again = unwrap(await restoredPlan(engine.context, line, located, line.plan.seed)).workload!;
  expect(again.lengths).toHaveLength(rows);
  expect(again.traffic).toEqual(line.plan.workload!.traffic);
  // Both factors are units divided by rows, but they come from different products, which are rounded differently.
  expect(again.traffic!.bytesPerIteration / ((bytesPerIteration * units) / rows)).toBeCloseTo(1, 12);
});
