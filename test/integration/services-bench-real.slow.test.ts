import { expect, it } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { keptPlan } from '../../src-workers/bench/plan-files.ts';
import { cpuPlan } from '../../src-workers/bench/cpu/cpu-plan.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { ended as endedOn, type StartName } from '../unit/engine-calls.ts';
import { lacks } from '../tools.mjs';
import { useBench } from '../workplace.ts';

// Tests the engine with real measuring programs, on this machine's CPU and on the software adapter of a Chromium.
const DEVICE = 'software-swiftshader';
const { call, engine } = useBench();

const ended = (name: StartName, input: unknown): Promise<RunSummary> => endedOn(engine, name, input);

it.skipIf(lacks('swiftshader'))('sweeps, measures with WebGPU, ranks the times and compares', async (context) => {
  const targets = await call('bench.targets', {});
  expect(targets.map(({ id }) => id)).toEqual(expect.arrayContaining(['webgpu', 'webgpu-page', 'cpu']));
  const webgpu = targets.find(({ id }) => id === 'webgpu')!;
  expect(webgpu).toMatchObject({ available: true });
  if (webgpu.device?.properties.software !== 1) context.skip(`WebGPU measures on another device: ${webgpu.label}`);

  const study: StudyFile = {
    lockstep: 1,
    name: 'Software',
    workload: { lengths: 'geometric(0.02)', units: 2048 },
    kernel: { name: 'loop', registersPerThread: 32, instructionsPerIteration: 60, lengthsKnownBeforeLaunch: true },
    devices: [DEVICE],
    axes: { balancing: ['none', 'full-sort', 'window-sort(256)'], blockThreads: [16, 64], gridBlocks: [8] },
  };
  const { id: studyId } = await call('studies.save', { study });
  const sweep = await ended('runs.start', { studyId });
  expect(sweep.state).toBe('complete');
  const run = await ended('bench.start', { target: 'webgpu', runId: sweep.id, choose: 'random', count: 6, repeats: 3, warmUps: 1 }); // prettier-ignore
  expect(run).toMatchObject({ state: 'complete', invalid: 0 });
  const detail = await call('bench.detail', { id: run.id });
  for (const one of detail.cases) expect([one.label, one.correct]).toEqual([one.label, true]);
  expect(detail.warnings.join('\n')).not.toMatch(/measured on/);

  // The adapter is the catalogue's SwiftShader, so the ranking shows its times.
  const page = await call('ranking.page', { runId: sweep.id, limit: 1000 });
  expect(page.measured).toBe(detail.cases.length);
  expect(page.rows.filter((row) => row.fidelity === 'measured')).toHaveLength(detail.cases.length);

  const compared = await call('bench.compare', { id: run.id });
  expect(compared.designs).toHaveLength(detail.cases.length);
});

it('measures contention on the CPU, and continues where an earlier attempt stopped', async () => {
  // A plan of bench.start would move gigabytes. A saved run with smaller cases is resumed instead.
  const { store } = engine.context;
  const plan = { ...cpuPlan({ cores: 2, totalBytes: 2 ** 22 }), repeats: 7, warmUps: 1 };
  const request = { target: 'cpu', backend: 'cpu', suite: 'contention', sourceRunId: null, deviceId: null, repeats: 7, warmUps: 1, cases: plan.cases.length }; // prettier-ignore
  const { id } = unwrap(
    await store.createRun({
      kind: 'bench',
      name: 'contention on cpu',
      studyId: null,
      appVersion: '0',
      modelVersions: {},
      seed: plan.seed,
      machine: {},
      enumeratedCount: plan.cases.length,
      devices: [],
      axes: null,
      study: { measuring: { request, warnings: [] }, bench: keptPlan(plan, null, null) },
    }),
  );
  unwrap(await store.finishRun(id, { state: 'cancelled', elapsedMs: 0 }));
  expect(await ended('runs.resume', { id })).toMatchObject({ state: 'complete', valid: 4, invalid: 0 });
  const detail = await call('bench.detail', { id });
  expect(detail.device).toMatchObject({ backend: 'cpu', timer: 'host' });
  expect(detail.cases.map((one) => one.correct)).toEqual([true, true, true, true]);
  const found = await call('bench.contention', { id });
  expect(found).toMatchObject({
    cores: [1, 2],
    fullGbS: Math.max(...found.bandwidthGbS),
    workloads: ['triangular', 'amdahl'].map((workload) => ({ workload, cores: 2 })),
  });
  for (const bandwidth of found.bandwidthGbS) expect(bandwidth).toBeGreaterThan(0);
  for (const { models } of found.workloads) expect(models.map(({ model }) => model)).toContain('staircase');
  if (found.device) await call('devices.save', { device: found.device });

  // Run 1 is the sweep of the test above, unless that test was skipped.
  const other = lacks('swiftshader') ? 99 : 1;
  expect((await engine.call('bench.contention', { id: other })).ok).toBe(false);
});
