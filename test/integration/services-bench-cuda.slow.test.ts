import { join } from 'node:path';
import { afterAll, beforeAll, expect, it as always, vi } from 'vitest';
import { BENCH_SUITES } from '../../src-main/contract/measuring.ts';
import { suiteCases } from '../../src-main/services/measuring/suites.ts';
import { cudaPlan } from '../../src-workers/bench/cuda/cuda-plan.ts';
import { fail, unwrap } from '../../src-workers/domain/result.ts';
import { ended } from '../unit/engine-calls.ts';
import { smallStudy } from '../unit/export-runs.ts';
import { lacks } from '../tools.mjs';
import { cacheIn, sweep, testFolder, useBench } from '../workplace.ts';
import { benchPlan } from '../measuring.ts';

const it = always.skipIf(lacks('g++'));

// The engine makes a complete CUDA measurement on the emulation, which replaces nvcc and a device.
const ROOT = join(import.meta.dirname, '..', '..');
const folder = testFolder();
const { call, engine } = useBench();

beforeAll(async () => {
  vi.stubEnv('NVCC', join(ROOT, 'test', 'data', 'cuda-shim', 'nvcc'));
  vi.stubEnv('XDG_CACHE_HOME', cacheIn(folder));
});
afterAll(() => vi.unstubAllEnvs());

it('names the device, compiles and measures designs', async () => {
  const targets = await call('bench.targets', {});
  expect(targets[0]).toMatchObject({ id: 'cuda:0', available: true, label: 'CPU emulation of CUDA, for tests' });
  // The engine caches its answers about targets. Identical objects show that it has not asked again.
  const still = await call('bench.targets', {});
  expect(still).toHaveLength(targets.length);
  for (const [at, target] of still.entries()) expect(target).toBe(targets[at]);
  const checks = await call('app.doctor', {});
  expect(checks.find(({ id }) => id === 'nvcc')).toMatchObject({ state: 'ok', found: /^nvcc 0/ });

  const axes = { threadsPerUnit: [1, 2], blockThreads: [32, 64], gridBlocks: [8, 9], balancing: ['none', 'dynamic-fetch'] }; // prettier-ignore
  const workload = { lengths: 'geometric(0.2)', units: 2000 };
  const { id: runId, state } = await sweep(engine, smallStudy({ workload, devices: ['nvidia-rtx-4090'], axes }));
  expect(state).toBe('complete');
  const ask = { target: 'cuda:0', runId, count: 8, cache: 'flush' as const, repeats: 3, warmUps: 1 };
  const measured = await ended(engine, 'bench.start', ask);
  expect(measured).toMatchObject({ state: 'complete', enumerated: 8, invalid: 0 });
  const found = await call('bench.detail', { id: measured.id });
  expect(found.cases).toHaveLength(8);
  for (const one of found.cases)
    expect(one).toMatchObject({ correct: true, measured: { timesMs: { length: 3 }, warmUpMs: { length: 1 } } });

  expect(found.request.cache).toBe('flush');
  const onCpu = await engine.call('bench.start', { ...ask, target: 'webgpu' });
  expect(onCpu).toFail('unsupported', /^Caches can be/);

  const refused = await ended(engine, 'bench.start', { ...ask, target: 'cuda:7' });
  expect(refused).toMatchObject({ state: 'failed', valid: 0, invalid: 0 });
});

it('measures on a HIP device with its own width', async () => {
  vi.stubEnv('HIPCC', join(ROOT, 'test', 'data', 'cuda-shim', 'hipcc'));
  try {
    const targets = await call('bench.targets', { again: true });
    const hip = { available: true, device: { backend: 'hip', threadGroupWidth: 64 } };
    expect(targets.find(({ id }) => id === 'hip:0')).toMatchObject(hip);
    const once = { target: 'hip:0', repeats: 1, warmUps: 0 };
    const loops = await ended(engine, 'bench.start', { ...once, suite: 'divergent-loops' });
    expect(loops).toMatchObject({ state: 'complete', invalid: 0 });
    const { cases, device } = await call('bench.detail', { id: loops.id });
    expect(device).toMatchObject(hip.device);
    expect(cases.every(({ correct }) => correct === true)).toBe(true);
    expect(cases[0].values['laneCycles']).toHaveLength(64);
    // These designs are from the sweep above.
    const designs = await ended(engine, 'bench.start', { ...once, runId: 1, count: 1 });
    expect(designs).toMatchObject({ state: 'complete', valid: 1, invalid: 0 });
  } finally {
    vi.stubEnv('HIPCC', undefined);
  }
});

it('builds every suite as a plan that the CUDA program accepts', async () => {
  for (const suite of BENCH_SUITES) {
    if (suite === 'designs' || suite === 'contention') continue;
    const cases = unwrap(suiteCases(suite, 'cuda', null));
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    unwrap(await cudaPlan(benchPlan(cases), { openFile: async () => fail('unsupported', 'no files') }));
  }
});
