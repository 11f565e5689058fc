import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import { BENCH_SUITES } from '../../src-main/contract/measuring.ts';
import { suiteCases } from '../../src-main/services/measuring/suites.ts';
import { cpuPlan } from '../../src-workers/bench/cpu/cpu-plan.ts';
import { cudaPlan } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { keptPlan } from '../../src-workers/bench/plan-files.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { benchPlan } from '../measuring.ts';
import { lacks } from '../tools.mjs';
import { ended as endedOn, type StartName } from '../unit/engine-calls.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { cacheIn, testFolder, useBench } from '../workplace.ts';
import { EMULATING_HIPCC, EMULATING_NVCC, NO_FILES } from './bench-cuda-plans.ts';

// Tests real measuring programs: on this machine's CPU, Chromium's software adapter, and the emulation of CUDA.
const DEVICE = 'software-swiftshader';
const folder = testFolder();
const { call, engine, run } = useBench();

const ended = (name: StartName, input: unknown): Promise<RunSummary> => endedOn(engine, name, input);

it.skipIf(lacks('swiftshader'))('sweeps, measures with WebGPU, ranks the times and compares', async (context) => {
  const targets = await call('bench.targets', {});
  expect(targets.map(({ id }) => id)).toEqual(expect.arrayContaining(['webgpu', 'webgpu-page', 'cpu']));
  const webgpu = targets.find(({ id }) => id === 'webgpu')!;
  expect(webgpu).toMatchObject({ available: true });
  if (webgpu.device?.properties.software !== 1) context.skip(`WebGPU measures on another device: ${webgpu.label}`);

  const study = smallStudy({
    workload: { lengths: 'geometric(0.02)', units: 2048 },
    kernel: { ...smallStudy().kernel, lengthsKnownBeforeLaunch: true },
    devices: [DEVICE],
    axes: { balancing: ['none', 'full-sort', 'window-sort(256)'], blockThreads: [16, 64], gridBlocks: [8] },
  });
  const runId = await run(study);
  const few = { choose: 'random', count: 6, repeats: 3, warmUps: 1 };
  const measured = await ended('bench.start', { target: 'webgpu', runId, ...few });
  expect(measured).toMatchObject({ state: 'complete', invalid: 0 });
  const detail = await call('bench.detail', { id: measured.id });
  for (const one of detail.cases) expect([one.label, one.correct]).toEqual([one.label, true]);
  expect(detail.warnings.join('\n')).not.toMatch(/measured on/);

  // The adapter is the catalogue's SwiftShader, so the ranking shows its times.
  const page = await call('ranking.page', { runId, limit: 1000 });
  expect(page.measured).toBe(detail.cases.length);
  expect(page.rows.filter((row) => row.fidelity === 'measured')).toHaveLength(detail.cases.length);

  expect((await call('bench.compare', { id: measured.id })).designs).toHaveLength(detail.cases.length);
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
  expect((await engine.call('bench.contention', { id: 99 })).ok).toBe(false);
});

describe.skipIf(lacks('g++'))('a measurement on the emulation', () => {
  let sweepId: number;
  beforeAll(() => {
    vi.stubEnv('NVCC', EMULATING_NVCC);
    vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
  });
  afterAll(() => vi.unstubAllEnvs());

  it('names the device, compiles and measures designs', async () => {
    const targets = await call('bench.targets', { again: true });
    expect(targets[0]).toMatchObject({ id: 'cuda:0', available: true, label: 'CPU emulation of CUDA, for tests' });
    // The engine caches its answers about targets. Identical objects show that it has not asked again.
    const still = await call('bench.targets', {});
    expect(still).toHaveLength(targets.length);
    for (const [at, target] of still.entries()) expect(target).toBe(targets[at]);
    const checks = await call('app.doctor', {});
    expect(checks.find(({ id }) => id === 'nvcc')).toMatchObject({ state: 'ok', found: /^nvcc 0/ });

    const axes = { threadsPerUnit: [1, 2], blockThreads: [32, 64], gridBlocks: [8, 9], balancing: ['none', 'dynamic-fetch'] }; // prettier-ignore
    const workload = { lengths: 'geometric(0.2)', units: 2000 };
    sweepId = await run(smallStudy({ workload, devices: ['nvidia-rtx-4090'], axes }));
    const ask = { target: 'cuda:0', runId: sweepId, count: 8, cache: 'flush' as const, repeats: 3, warmUps: 1 };
    const measured = await ended('bench.start', ask);
    expect(measured).toMatchObject({ state: 'complete', enumerated: 8, invalid: 0 });
    const found = await call('bench.detail', { id: measured.id });
    expect(found.cases).toHaveLength(8);
    for (const one of found.cases)
      expect(one).toMatchObject({ correct: true, measured: { timesMs: { length: 3 }, warmUpMs: { length: 1 } } });

    expect(found.request.cache).toBe('flush');
    const onCpu = await engine.call('bench.start', { ...ask, target: 'webgpu' });
    expect(onCpu).toFail('unsupported', /^Caches can be/);

    const refused = await ended('bench.start', { ...ask, target: 'cuda:7' });
    expect(refused).toMatchObject({ state: 'failed', valid: 0, invalid: 0 });
  });

  it('measures on a HIP device with its own width', async () => {
    vi.stubEnv('HIPCC', EMULATING_HIPCC);
    const targets = await call('bench.targets', { again: true });
    const hip = { available: true, device: { backend: 'hip', threadGroupWidth: 64 } };
    expect(targets.find(({ id }) => id === 'hip:0')).toMatchObject(hip);
    const once = { target: 'hip:0', repeats: 1, warmUps: 0 };
    const loops = await ended('bench.start', { ...once, suite: 'divergent-loops' });
    expect(loops).toMatchObject({ state: 'complete', invalid: 0 });
    const { cases, device } = await call('bench.detail', { id: loops.id });
    expect(device).toMatchObject(hip.device);
    expect(cases.every(({ correct }) => correct === true)).toBe(true);
    expect(cases[0].values['laneCycles']).toHaveLength(64);
    const designs = await ended('bench.start', { ...once, runId: sweepId, count: 1 });
    expect(designs).toMatchObject({ state: 'complete', valid: 1, invalid: 0 });
  });

  it('builds every suite as a plan that the CUDA program accepts', async () => {
    for (const suite of BENCH_SUITES) {
      if (suite === 'designs' || suite === 'contention') continue;
      const cases = unwrap(suiteCases(suite, 'cuda', null));
      expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
      unwrap(await cudaPlan(benchPlan(cases), NO_FILES));
    }
  });
});
