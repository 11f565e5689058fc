import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunProgress, RunSummary } from '../../src-main/contract/api.ts';
import type { MeasuredCase, MeasuringDetail, ProbeAnswer } from '../../src-main/contract/measuring.ts';
import { isReduced, startOf } from '../../src-main/contract/probe.ts';
import { leftOutText } from '../../src-main/contract/runnable.ts';
import type { ProcedureName } from '../../src-main/contract/procedures.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { isDone } from '../../src-main/services/measuring/measured.ts';
import { designCases, standInOf, spreadOver } from '../../src-main/services/measuring/plans.ts';
import type { BenchRecord } from '../../src-workers/domain/benchmark.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { fail, unwrap } from '../../src-workers/domain/result.ts';
import type { FakeBench } from '../data/bench/fake-child.ts';
import { call, ended, finished, heard, progressed, refusal as failure } from '../unit/engine-calls.ts';
import { NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { processesThatRun, sweep as sweepOf, testEngine, useEngines } from '../workplace.ts';
import { measuringDevice } from '../measuring.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FAKE = join(ROOT, 'test', 'data', 'bench', 'fake-child.ts');
const DEVICE = 'nvidia-rtx-4090';
const programs = { webgpuChildFile: FAKE, cpuChildFile: FAKE };
const { folder, closeAll, engineOn, temporaryFile } = useEngines({ programs });
beforeEach(() => fake({}));
afterEach(() => void delete process.env.FAKE_BENCH);

function fake(behaviour: FakeBench): void {
  process.env.FAKE_BENCH = JSON.stringify(behaviour);
}

/** Returns the small study without register caps, which only CUDA supports. Its kernel has no phases besides the iterations. */
function uncappedStudy(): StudyFile {
  const { kernel, axes } = smallStudy();
  const { registerCap: _caps, ...uncapped } = axes;
  return smallStudy({ kernel: { ...kernel, origins: NOTHING_ELSE }, axes: uncapped });
}

const sweep = async (engine: Engine, study = uncappedStudy()): Promise<number> => (await sweepOf(engine, study)).id;

/** `seed` has a sweep of the uncapped study. `engine` works on a copy that tests share, and knows its device. */
const seed = temporaryFile();
let engine: Engine;
const runId = 1;
beforeAll(async () => {
  await sweep(await engineOn(seed));
  await closeAll();
  engine = await testEngine(copied(), { programs });
});
afterAll(() => engine.close());
function copied(): string {
  const file = temporaryFile();
  copyFileSync(seed, file);
  return file;
}

const ASKED = { target: 'webgpu', deviceId: DEVICE, count: 5, repeats: 7 };
const ask = (of: number, more: object = {}) => ({ ...ASKED, runId: of, ...more });
const BUNDLE = { suite: 'designs', choose: 'best', count: 20, repeats: 7, warmUps: 0, caseTimeLimitMs: 1000 } as const;
/** Expects that a procedure refuses an input with this reason. */
const refuses = async (on: Engine, name: ProcedureName, input: unknown, words: RegExp | string): Promise<void> =>
  expect(await failure(on, name, input)).toEqual(words);
const measure = (engine: Engine, runId: number, more: object = {}): Promise<RunSummary> =>
  ended(engine, 'bench.start', ask(runId, more));
const detail = (engine: Engine, id: number): Promise<MeasuringDetail> => call(engine, 'bench.detail', { id });
async function doneCases(engine: Engine, id: number): Promise<readonly MeasuredCase[]> {
  return (await detail(engine, id)).cases.filter(isDone);
}
const caseIds = (cases: readonly MeasuredCase[]): string[] => cases.map(({ case: { id } }) => id);

async function casesOf(engine: Engine, runId: number): Promise<readonly string[]> {
  const { rows } = await call(engine, 'ranking.page', { runId, filter: { deviceId: DEVICE }, limit: 5 });
  return rows.map(({ designIndex }) => `design-${designIndex}`);
}
/** Sets what the next program does at a case, given by its place from 0 in the ranking of `seed`. Returns the case. */
async function fakeAt(place: number, event: NonNullable<FakeBench['event']>): Promise<string> {
  const at = (await casesOf(engine, runId))[place];
  fake({ at, event });
  return at;
}

describe('measuring designs of a sweep', () => {
  it('saves every case with all its launches, beside its predicted time', async () => {
    const progress: RunProgress[] = [];
    engine.subscribe((event, payload) => event === 'run.progress' && progress.push(payload as RunProgress));
    const [, wrong, failing] = await casesOf(engine, runId);
    fake({ wrong: [wrong], failing: [failing] });
    const run = await measure(engine, runId);
    expect(run).toMatchObject({ kind: 'bench', state: 'complete', enumerated: 5, valid: 4, invalid: 1, sourceRunId: runId }); // prettier-ignore
    const found = await detail(engine, run.id);
    expect(found.request).toEqual({ target: 'webgpu', backend: 'webgpu', suite: 'designs', sourceRunId: runId, deviceId: DEVICE, repeats: 7, warmUps: 3, cases: 5 }); // prettier-ignore
    expect(found.device).toMatchObject({ name: 'Fake device', fingerprint: 'fake' });
    const page = await call(engine, 'ranking.page', { runId, filter: { deviceId: DEVICE }, limit: 5 });
    expect(found.cases.map((one) => one.designIndex)).toEqual(page.rows.map((row) => row.designIndex));
    // The predictions are for the stand-in loop, in which sharing a unit saves less time.
    for (const [at, one] of found.cases.entries())
      expect(one.predictedMs! > page.rows[at].predictedMs).toBe(page.rows[at].design.threadsPerUnit > 1);
    const times = { repeats: 7, clockMhz: 1000, warmUpMs: { length: 3 }, timesMs: { length: 7 } };
    const failed = { measured: null, failure: 'too many registers', correct: null };
    for (const { case: ofCase, ...one } of found.cases) {
      const isWrong = ofCase.id === wrong;
      const right = { measured: times, registersPerThread: 32, values: { launches: 7 }, correct: !isWrong };
      expect(one).toMatchObject({ deviceId: DEVICE, ...(ofCase.id === failing ? failed : right) });
      if (isWrong) expect(one.failure).toMatch(/is 1 instead of 2/);
    }
    const fine = found.cases.filter((one) => one.failure === null);
    expect(run.bestTimeMs).toBe(Math.min(...fine.map((one) => one.measured!.medianMs)));
    for (const words of [/predicted for GeForce RTX 4090 but measured on Fake device/, /Wrong results/, /Not measured/])
      expect(found.warnings.join('\n')).toMatch(words);

    expect(progress.at(-1)).toMatchObject({ runId: run.id, stage: 'measuring', done: 5, total: 5 });
    expect(progress.every((one) => one.runId !== run.id || one.total === 5)).toBe(true);
    const shown = await call(engine, 'runs.get', { id: run.id });
    expect(shown).toMatchObject({ study: { name: 'Small' }, devices: [{ id: DEVICE }] });
  });

  it('measures the rows of a matrix in their order, and resumes with the same rows if the file changes', async () => {
    const file = join(folder, 'rows.mtx');
    const rows = Array.from({ length: 3000 }, (_, row) => 1 + ((row * 37) % 11));
    const write = (lengths: readonly number[]): void => {
      const entries = lengths.flatMap((length, row) => Array.from({ length }, (_, at) => `${row + 1} ${at + 1}`));
      const size = `${lengths.length} ${lengths.length} ${entries.length}`;
      writeFileSync(file, ['%%MatrixMarket matrix coordinate pattern general', size, ...entries, ''].join('\n'));
    };
    write(rows);
    const axes = { blockThreads: [32], gridBlocks: [8] };
    const runId = await sweep(engine, smallStudy({ workload: { lengths: `mtx:${file}`, units: 3000 }, axes }));
    const { runId: id } = await call(engine, 'bench.start', ask(runId, { target: 'webgpu-page' }));
    const planned = async () => [...(await call(engine, 'bench.plan', { id })).workload!.lengths];
    expect(await planned()).toEqual(rows);
    await call(engine, 'runs.cancel', { id });
    // The run has saved the order, so changes to the file do not matter.
    write(rows.toReversed());
    await refuses(engine, 'runs.resume', { id }, 'ok');
    expect(await planned()).toEqual(rows);
    await call(engine, 'runs.cancel', { id });
  });

  it('refuses designs that cannot be measured, with the reason', async () => {
    const engine = await engineOn(copied());
    for (const [input, words] of [
      [ask(runId, { target: 'tpu' }), /cuda:0, hip:0, opencl:0, webgpu.*"tpu"/],
      [{ target: 'webgpu' }, /Specify the sweep/],
      [ask(99), /no run 99/],
      [ask(runId, { deviceId: undefined }), /has several GPUs.*nvidia-a100-sxm4-40gb, nvidia-rtx-4090/],
      [ask(runId, { deviceId: 'nope' }), /"nope" is not in this run/],
      [ask(runId, { target: 'cpu' }), /is not a CPU/],
      [ask(runId, { target: 'cpu', deviceId: undefined }), /has no design for a CPU, but cpu measures only a CPU/],
      [ask(runId, { choose: 'named' }), /Specify the numbers of the designs/],
      [ask(runId, { designs: [1e7] }), /no design 10000000/],
      [ask(runId, { designs: [0] }), /belongs to the device nvidia-a100/],
      [{ target: 'cpu', suite: 'divergent-loops' }, /divergent-loops runs on cuda, hip or webgpu/],
    ] as const)
      await refuses(engine, 'bench.start', input, words);
    expect(await call(engine, 'runs.list', {})).toHaveLength(1);
    await refuses(engine, 'bench.detail', { id: runId }, /Specify a measurement/);

    const many = await sweep(engine, smallStudy({ workload: { lengths: 'geometric(0.05)', units: 2 ** 27 } }));
    await refuses(engine, 'bench.start', ask(many), /At most 67108864 units/);
  });

  it('shows a measured median only in the ranking of its own device', async () => {
    const engine = await engineOn(copied());
    const rows = async () =>
      (await call(engine, 'ranking.page', { runId, filter: { deviceId: DEVICE }, limit: 5 })).rows;
    await measure(engine, runId, { count: 2 });
    expect((await rows()).map(({ fidelity }) => fidelity)).toEqual(Array(5).fill('predicted'));
    fake({ name: 'NVIDIA GeForce RTX 4090', fingerprint: 'real' });
    const run = await measure(engine, runId, { count: 2 });
    const after = await rows();
    expect(after.map(({ fidelity }) => fidelity)).toEqual(['measured', 'measured', ...Array(3).fill('predicted')]);
    const found = await detail(engine, run.id);
    const measured = { runId: run.id, repeats: 7, measuredOn: 'NVIDIA GeForce RTX 4090' };
    expect(after[0]).toMatchObject({ timeMs: found.cases[0].measured!.medianMs, tied: true, measured });
    const sort = { column: 'measuredMs', descending: false };
    const byMeasured = await call(engine, 'ranking.page', { runId, sort, limit: 10 });
    expect(byMeasured.measured).toBe(2);
    const wanted = after.flatMap(({ measured }) => (measured ? [measured.medianMs] : [])).sort((a, b) => a - b);
    expect(byMeasured.rows.slice(0, 2).map(({ measured }) => measured!.medianMs)).toEqual(wanted);
    expect(byMeasured.rows.slice(2).every(({ measured }) => measured === null)).toBe(true);
    await call(engine, 'runs.delete', { id: run.id });
    expect((await rows())[0].fidelity).toBe('predicted');
  });
});

describe('a target that cannot run all of a sweep', () => {
  const NARROW = { width: 4, properties: { maxComputeInvocationsPerWorkgroup: 256 } };
  const NARROW_LIMITS = [
    { quantity: 'threadsPerUnit', atMost: 4 },
    { quantity: 'blockThreads', atMost: 256 },
    { quantity: 'registerCap', atMost: null },
  ];
  const ranked = async (engine: Engine, runId: number, filter: object = {}): Promise<readonly number[]> => {
    const page = await call(engine, 'ranking.page', { runId, filter: { deviceId: DEVICE, ...filter }, limit: 1000 });
    expect(page.rows).toHaveLength(page.matching);
    return page.rows.map(({ designIndex }) => designIndex);
  };
  const runnable = (engine: Engine, runId: number, more: object = {}) =>
    call(engine, 'bench.runnable', { target: 'webgpu', runId, deviceId: DEVICE, ...more });
  const chosen = async (engine: Engine, runId: number, more: object) => {
    const run = await measure(engine, runId, { repeats: 1, warmUps: 0, ...more });
    const { cases, request } = await detail(engine, run.id);
    return { designs: cases.map(({ designIndex }) => designIndex), leftOut: request.leftOut };
  };
  const narrowFilter = { threadsPerUnit: [1, 2, 4], blockThreads: { from: 0, to: 256 }, registerCap: [null] };

  it('chooses the best, random, spread or named designs, only those that it can run, and reports the others', async () => {
    const engine = await engineOn();
    const runId = await sweep(engine, smallStudy());
    fake(NARROW);
    const [all, able] = [await ranked(engine, runId), await ranked(engine, runId, narrowFilter)];
    expect(able.length).toBeLessThan(all.length / 4);
    const leftOut = { designs: all.length, runnable: able.length, limits: NARROW_LIMITS };
    expect(await runnable(engine, runId)).toEqual(leftOut);
    // Only limits that leave designs out are named.
    fake({ width: 8, properties: { maxComputeInvocationsPerWorkgroup: 1024 } });
    expect((await runnable(await engineOn(copied()), runId)).limits).toEqual([{ quantity: 'threadsPerUnit', atMost: 8 }]); // prettier-ignore
    fake(NARROW);
    const ofCuda = { designs: all.length, runnable: all.length, limits: [] };
    expect(await runnable(engine, runId, { target: 'cuda:0' })).toEqual(ofCuda);

    const choose = async (way: string, count: number) => (await chosen(engine, runId, { choose: way, count })).designs;
    expect(await chosen(engine, runId, { choose: 'best', count: 4 })).toEqual({ designs: able.slice(0, 4), leftOut });
    expect(await choose('spread', 3)).toEqual([able[0], able[Math.round((able.length - 1) / 2)], able.at(-1)]);
    const random = await choose('random', 12);
    expect(new Set(random).size).toBe(12);
    expect(random.every((design) => able.includes(design!))).toBe(true);
    expect(random).not.toEqual(able.slice(0, 12));
    expect(await choose('random', 12)).toEqual(random);
    expect(await choose('best', 1000)).toEqual(able);
    const beyond = all.find((design) => !able.includes(design))!;
    const designs = [beyond, able[0]];
    expect(await chosen(engine, runId, { designs: [...designs, beyond] })).toEqual({ designs, leftOut: undefined });
  });

  it('does not ask the target for its device if designs are named', async () => {
    const engine = await engineOn(copied());
    const designs = (await ranked(engine, runId)).slice(0, 1);
    fake({ mute: true });
    const asking = performance.now();
    const { runId: id } = await call(engine, 'bench.start', ask(runId, { designs }));
    // Only a request for the device could take up to 30 s.
    expect(performance.now() - asking).toBeLessThan(30_000);
    await call(engine, 'runs.cancel', { id });
  });

  it('leaves out the best buckets if the width of the target is unknown', async () => {
    const engine = await engineOn();
    const balancing = ['none', 'quantile-buckets(4)', 'best-buckets(4)'];
    const kernel = { ...uncappedStudy().kernel, lengthsKnownBeforeLaunch: true };
    const runId = await sweep(engine, { ...uncappedStudy(), kernel, axes: { ...uncappedStudy().axes, balancing } });
    const all = await ranked(engine, runId);
    const able = await ranked(engine, runId, { balancing: balancing.slice(0, 2) });
    const limits = [{ quantity: 'bestBuckets', atMost: null }] as const;
    const leftOut = { designs: all.length, runnable: able.length, limits };
    const ofPage = (own: object) => runnable(engine, runId, { target: 'webgpu-page', limits: own });
    expect(await ofPage({ bestBuckets: false })).toEqual(leftOut);
    expect(await ofPage({})).toMatchObject({ runnable: all.length });
    const words = 'they need the width of a thread group for best buckets, which the device does not report';
    expect(leftOutText(leftOut)).toMatch(new RegExp(`left out, because ${words}$`));
    fake({ width: null });
    expect(await chosen(engine, runId, { choose: 'best', count: all.length })).toEqual({ designs: able, leftOut });
  });

  it('learns the limits of a GPU from its page', async () => {
    const runId = await sweep(engine, smallStudy());
    const able = await ranked(engine, runId, narrowFilter);
    const limits = { threadsPerUnit: 4, blockThreads: 256 };
    const page = { target: 'webgpu-page', limits };
    expect(await runnable(engine, runId, page)).toMatchObject({ runnable: able.length, limits: NARROW_LIMITS });
    const { runId: id } = await call(engine, 'bench.start', ask(runId, { ...page, count: 6 }));
    const plan = await call(engine, 'bench.plan', { id });
    expect(plan.cases.map((one) => one.id)).toEqual(able.slice(0, 6).map((design) => `design-${design}`));
    await call(engine, 'runs.cancel', { id });
    await refuses(engine, 'bench.start', ask(runId, { limits }), /limits are only for the target webgpu-page/);
  });

  it('refuses a sweep if the target can run none of its designs, and starts no run', async () => {
    const runId = await sweep(engine, smallStudy({ axes: { ...smallStudy().axes, registerCap: [32, 64] } }));
    const { length } = await ranked(engine, runId);
    const none = `^The target supports no register cap, .* none of the ${length} designs of run ${runId} on ${DEVICE}`;
    await refuses(engine, 'bench.start', ask(runId), new RegExp(none));
    expect((await call(engine, 'runs.list', {}))[0].id).toBe(runId);
  });

  it('has the cores of the machine if it is a CPU', async () => {
    const engine = await engineOn();
    const cpu = 'amd-epyc-7302p';
    const { name, registersPerThread, instructionsPerIteration } = smallStudy().kernel;
    const figures = { bytesPerIteration: 12, lengthsKnownBeforeLaunch: true };
    const balancing = ['row-split', 'merge-path'];
    const kernel = { name, registersPerThread, instructionsPerIteration, ...figures };
    const axes = { threadsPerUnit: [1], balancing, blockThreads: [128], cores: [1, 2, 3, 4, 8, 16] };
    const runId = await sweep(engine, smallStudy({ kernel, devices: [cpu], axes }));
    fake({ multiprocessors: 1, properties: { availableProcessors: 2 } });
    const all = await ranked(engine, runId, { deviceId: cpu });
    const able = await ranked(engine, runId, { deviceId: cpu, gridBlocks: { from: 1, to: 2 } });
    expect([all.length, able.length]).toEqual([12, 4]);
    expect(able).not.toEqual(all.slice(0, 4));
    const leftOut = { designs: 12, runnable: 4, limits: [{ quantity: 'cores', atMost: 2 }] };
    const ofCpu = await chosen(engine, runId, { target: 'cpu', deviceId: undefined, count: 12 });
    expect(ofCpu).toEqual({ designs: able, leftOut });
    const onGpu = `"${cpu}" is not a GPU, but webgpu measures only a GPU`;
    await refuses(engine, 'bench.start', ask(runId, { deviceId: cpu }), new RegExp(onGpu));
  });

  it.each([
    ['CUDA', 'amd-mi250x-gcd', 32],
    ['HIP', 'amd-mi250x-gcd', 64],
    ['HIP', 'amd-rx-7900-xtx', 32],
  ])('of a bundle may be any device, whose thread groups have enough lanes: %s, %s', async (to, deviceId, lanes) => {
    const engine = await engineOn();
    const axes = { ...smallStudy().axes, threadsPerUnit: [32, 64, 128], blockThreads: [128], registerCap: [null] };
    const runId = await sweep(engine, smallStudy({ devices: [deviceId], axes }));
    fake(NARROW);
    const { length } = await ranked(engine, runId, { deviceId });
    const able = await ranked(engine, runId, { deviceId, threadsPerUnit: [32, lanes] });
    const limits = [{ quantity: 'threadsPerUnit', atMost: lanes }];
    const leftOut = { designs: length, runnable: able.length, limits };
    const packed = (more: object) => call(engine, 'bench.bundle', { ...BUNDLE, runId, hip: to === 'HIP', ...more });
    expect(await packed({ count: 99 })).toMatchObject({ cases: able.length, leftOut });
    expect(await packed({ count: 2 })).toMatchObject({ cases: 2, leftOut });
    expect(await packed({ choose: 'named', designs: [able[0]] })).toMatchObject({ leftOut: null });
  });
});

describe('predictions beside measurements', () => {
  it('are compared by rank, scale and residual, without wrong results', async () => {
    const engine = await engineOn();
    const axes = { threadsPerUnit: [1, 2, 4, 8], blockThreads: [64, 128, 256], blocksPerMultiprocessor: [2, 4] };
    const runId = await sweep(engine, smallStudy({ axes }));
    const [wrong] = await casesOf(engine, runId);
    fake({ wrong: [wrong], factor: 3 });
    const run = await measure(engine, runId, { choose: 'spread', count: 12 });
    const found = await call(engine, 'bench.compare', { id: run.id });
    expect(found).toMatchObject({ runId: run.id, sourceRunId: runId, deviceId: DEVICE, measuredOn: 'Fake device', basis: 'prediction' }); // prettier-ignore
    // The times are three times the predictions, the median of repeats 0.4 % more, without the time of balancing.
    expect(found.designs.length).toBeGreaterThanOrEqual(11);
    expect(found.scale).toBeGreaterThan(3);
    expect(found.scale).toBeLessThan(3.02);
    expect(found.medianError).toBeLessThan(1e-3);
    expect(found.unscaledMedianError).toBeCloseTo(1 - 1 / found.scale, 3);
    expect(found).toMatchObject({ spearman: 1, regret: { 0: { k: 1, fraction: 0 } } });
    expect(found.designs.map((one) => one.measuredRank)).toEqual(found.designs.map((_, at) => at + 1));
    for (const one of found.designs) expect(Math.abs(one.residual)).toBeLessThan(0.01);
    expect(found.designs.every((one) => `design-${one.designIndex}` !== wrong)).toBe(true);
    expect(found.warnings.join('\n')).toMatch(/only their order can be compared/);
    expect(found.axes.map(({ axis }) => axis)).toContain('blockThreads');

    await refuses(engine, 'bench.compare', { id: runId }, /Specify a measurement/);
    const { id } = await measure(engine, runId, { count: 1 });
    const few = /at least 2 designs with a time and a correct result, but .* has 0\./;
    await refuses(engine, 'bench.compare', { id }, few);
    await refuses(engine, 'bench.compare', { id: run.id, profileId: 7 }, /no calibration 7/);
  });

  it('calibrate the model, and the profile can be kept, compared and used in a study', async () => {
    const engine = await engineOn();
    const axes = { threadsPerUnit: [1, 4], blockThreads: [64, 128, 256], blocksPerMultiprocessor: [2, 4] };
    const runId = await sweep(engine, smallStudy({ axes }));
    const studyId = 1;
    fake({ factor: 3, name: 'NVIDIA GeForce RTX 4090', fingerprint: 'real' });
    const run = await measure(engine, runId, { choose: 'random', count: 12 });
    const saved = await call(engine, 'calibration.save', { id: run.id, name: 'three times' });
    const { profile: fitted } = saved;
    expect(fitted).toMatchObject({ deviceId: DEVICE, fingerprint: 'real', backend: 'webgpu', sourceRunIds: [run.id] });
    expect(fitted.before.medianError).toBeGreaterThan(0.5);
    expect(fitted.fit.medianError).toBeLessThan(0.05);
    expect(await call(engine, 'calibration.list', {})).toEqual([saved]);
    expect(await call(engine, 'calibration.list', { deviceId: 'other' })).toEqual([]);
    const compared = await call(engine, 'bench.compare', { id: run.id, profileId: saved.id });
    expect(compared.basis).toEqual({ profileId: saved.id, name: 'three times' });
    expect(compared.unscaledMedianError).toBeCloseTo(fitted.fit.medianError, 9);
    expect(compared.warnings.join('\n')).toMatch(/fitted to these measurements/);

    const use = { studyId, deviceId: DEVICE, profileId: saved.id };
    await refuses(engine, 'calibration.use', use, /fitted to the loop that stands in for a kernel/);
    // Older versions used the parameters of a stand-in for the kernel.
    const { latencyCycles, issueCycles, kneeSoftness } = fitted.parameters;
    const { study } = await call(engine, 'studies.get', { id: studyId });
    const origins = { ...study.kernel.origins, serialFraction: 'calibrated' };
    const kernel = { ...study.kernel, serialFraction: 0.77, origins };
    const pipeline = { [DEVICE]: { latencyCycles, issueCycles, kneeSoftness, origin: 'calibrated' } };
    await call(engine, 'studies.save', { id: studyId, study: { ...study, kernel, pipeline } });
    await refuses(engine, 'calibration.use', { ...use, deviceId: 'x', profileId: null }, /not in the/);
    expect((await call(engine, 'calibration.use', { ...use, profileId: null })).study).toEqual(study);
    await call(engine, 'calibration.delete', { id: saved.id });
    await refuses(engine, 'calibration.delete', { id: saved.id }, /no calibration/);
  });
});

it('a measurement can be followed by another one as soon as its end is announced', async () => {
  const engine = await engineOn(copied());
  let next: Promise<unknown> | undefined;
  const announced = heard(engine, 'run.finished', () => {
    next = engine.call('bench.start', ask(runId, { count: 1 }));
    return true;
  });
  await measure(engine, runId, { count: 1 });
  await announced;
  expect(await next).toMatchObject({ ok: true });
});

describe('a measurement that is stopped', () => {
  it('by the user keeps the saved results, and resumes with the missing ones', async () => {
    fake({ pauseMs: 60 });
    const saved = heard(engine, 'run.progress', ({ stage, done }) => stage === 'measuring' && done >= 2);
    const { runId: id } = await call(engine, 'bench.start', ask(runId, { count: 12 }));
    expect(await saved).toMatchObject({ runId: id });
    await refuses(engine, 'bench.start', ask(runId), new RegExp(`run ${id} is being measured`));
    await call(engine, 'runs.cancel', { id });
    const stopped = await call(engine, 'runs.get', { id });
    expect(stopped.state).toBe('cancelled');
    const before = await doneCases(engine, id);
    expect(before.length).toBeGreaterThanOrEqual(2);
    expect(before.length).toBeLessThan(12);
    const waiting = (await detail(engine, id)).cases.slice(before.length);
    const none = { measured: null, failure: null, values: {}, deviceId: DEVICE };
    expect(waiting).toMatchObject(Array(12 - before.length).fill(none));

    fake({});
    const resumed = await ended(engine, 'runs.resume', { id });
    expect(resumed).toMatchObject({ id, state: 'complete', valid: 12 });
    expect(resumed.elapsedMs).toBeGreaterThan(stopped.elapsedMs);
    const after = await doneCases(engine, id);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(new Set(caseIds(after)).size).toBe(12);
  });

  it.each([
    // These events fail the case that was running.
    ['crash', 1, /ended.*by the signal SIGSEGV: illegal address \(while measuring u=.*3 of 5 cases are saved/],
    ['exit', 1, /ended with exit code 7: out of memory \(while measuring.*3 of 5 cases are saved/],
    ['lost', 1, /The device was lost: the driver reset it \(while measuring.*3 of 5 cases are saved/],
    // These events are the fault of the program, so no case fails.
    ['garbage', 0, /printed "warming up …", which is not a record in one line of JSON/],
    ['long-line', 0, /a line of more than \d+ bytes/],
    ['unknown-case', 0, /the case "nobody", which is not in the plan/],
    ['leave', 0, /ended before it had finished/],
  ] as const)('by a program that ends with %s keeps its results', async (event, invalid, error) => {
    await fakeAt(2, event);
    expect(await measure(engine, runId)).toMatchObject({ state: 'failed', valid: 2, invalid, error });
  });

  it('blames the case that was running, and a resumed run skips this case', async () => {
    const [, , at, , turn] = await casesOf(engine, runId);
    fake({ at, turn, event: 'crash' });
    const crashed = await measure(engine, runId);
    expect(crashed).toMatchObject({ state: 'failed', valid: 2, invalid: 1 });
    fake({});
    expect(await ended(engine, 'runs.resume', { id: crashed.id })).toMatchObject({ state: 'complete', valid: 4, invalid: 1 }); // prettier-ignore
    const failures = (await detail(engine, crashed.id)).cases.filter(({ failure }) => failure !== null);
    expect(failures).toMatchObject([{ case: { id: turn }, failure: /SIGSEGV/ }]);
    // No case is blamed if the case that was running has already failed.
    fake({ at, event: 'failed-lost' });
    expect(await measure(engine, runId)).toMatchObject({ state: 'failed', valid: 2, invalid: 1 });
    // A program that ended because a launch hung is started again for the remaining cases.
    fake({ at, event: 'hung' });
    expect(await measure(engine, runId)).toMatchObject({ state: 'complete', valid: 4, invalid: 1 });
  });

  it('by a program that fails names its exit code and the last line that it printed', async () => {
    fake({ silent: true });
    const silent = await measure(engine, runId);
    expect(silent.error).toMatch(/ended with exit code 3: no such device.* 0 of 5 cases/);
    await detail(engine, silent.id);
    fake({ absent: true });
    const error = /^no adapter\. 0 of 5 cases/;
    expect(await measure(engine, runId)).toMatchObject({ state: 'failed', valid: 0, invalid: 0, error });
  });

  it('by a case that hangs fails that case, and measures the others', async () => {
    const at = await fakeAt(1, 'hang');
    const run = await measure(engine, runId, { count: 4, caseTimeLimitMs: 100 });
    expect(run).toMatchObject({ state: 'complete', valid: 3, invalid: 1 });
    const found = await detail(engine, run.id);
    expect(found.cases.find((one) => one.case.id === at)!.failure).toMatch(/no result within 2.1 s/);
  });

  it.runIf(process.platform === 'linux')('ends everything that its program had started', async () => {
    await fakeAt(1, 'grandchild');
    const begun = progressed(engine);
    const run = await call(engine, 'bench.start', ask(runId, { count: 3 }));
    await begun;
    await expect.poll(() => processesThatRun('sleep 601'), { timeout: 60_000 }).toHaveLength(1);
    await call(engine, 'runs.cancel', { id: run.runId });
    expect(processesThatRun('sleep 601')).toEqual([]);
  });

  it('refuses to resume with another device', async () => {
    await fakeAt(2, 'leave');
    const run = await measure(engine, runId);
    fake({ fingerprint: 'other', name: 'Other device' });
    const error = /measured on Fake device.*Other device.*results of one device only/;
    expect(await ended(engine, 'runs.resume', { id: run.id })).toMatchObject({ state: 'failed', valid: 2, error });
    fake({});
    expect(await ended(engine, 'runs.resume', { id: run.id })).toMatchObject({ state: 'complete', valid: 5 });
  });

  it('by a store that cannot save fails the run, and the engine keeps running', async () => {
    const { store } = engine.context;
    let left = 2;
    const save = store.saveMeasurements;
    const full: typeof save = (...args) =>
      left-- > 0 ? save(...args) : Promise.resolve(fail('storage', 'the disk is full'));
    Object.assign(store, { saveMeasurements: full });
    const run = await measure(engine, runId);
    expect(run).toMatchObject({ state: 'failed', error: /the disk is full/ });
    Object.assign(store, { saveMeasurements: save });
    expect(await doneCases(engine, run.id)).toHaveLength(2);
    expect(await ended(engine, 'runs.resume', { id: run.id })).toMatchObject({ state: 'complete', valid: 5 });
  });

  it('by closing the engine also ends a program that was only asked for its device', async () => {
    fake({ mute: true });
    const engine = await engineOn();
    const asking = performance.now();
    const started = engine.call('bench.start', { target: 'webgpu', suite: 'probes' });
    await pause(300);
    await engine.close();
    expect((await started).ok).toBe(false);
    // An unlimited request may take 30 s.
    expect(performance.now() - asking).toBeLessThan(30_000);
  });
});

it('a page that measures requests the plan, sends its results, and may stop and resume', async () => {
  const device = measuringDevice({ backend: 'webgpu', name: 'Page GPU', fingerprint: 'page', threadGroupWidth: 4 });
  const sample = { type: 'sample', warmUp: false, clockMhz: null } as const;
  const samples = (id: string, repeats: number): BenchRecord[] =>
    Array.from({ length: repeats }, (_, repeat) => ({ ...sample, case: id, repeat, timeNs: 1e6 + repeat }));
  const { runId: id } = await call(engine, 'bench.start', ask(runId, { target: 'webgpu-page', count: 3 }));
  const plan = await call(engine, 'bench.plan', { id });
  expect(plan).toMatchObject({ backend: 'webgpu', repeats: 7, warmUps: 3, workload: { label: 'geometric(0.05)' } });
  expect(plan.workload!.lengths).toHaveLength(100_000);
  const [first, second, third] = plan.cases.map((one) => one.id);
  const send = (records: readonly unknown[]) => call(engine, 'bench.record', { id, records });

  await refuses(engine, 'bench.record', { id, records: [{ type: 'sample', case: first }] }, /records\[0\].*repeat/);
  await send([device, ...samples(first, 7)]);
  await send([{ type: 'check', case: first, correct: true, message: '' }, ...samples(second, 3)]);
  expect(caseIds(await doneCases(engine, id))).toEqual([first]);
  await call(engine, 'runs.cancel', { id });
  expect(caseIds(await doneCases(engine, id))).toEqual([first]);
  await refuses(engine, 'bench.plan', { id }, /not being measured by a page/);

  await call(engine, 'runs.resume', { id });
  const rest = await call(engine, 'bench.plan', { id });
  expect(rest.cases.map((one) => one.id)).toEqual([second, third]);
  expect(rest.workload!.lengths).toEqual(plan.workload!.lengths);
  await send([device, ...samples(second, 7), ...samples(third, 7), { type: 'done', elapsedMs: 5 }]);
  expect(await call(engine, 'runs.get', { id })).toMatchObject({ state: 'complete', valid: 3 });
  const found = await doneCases(engine, id);
  expect(caseIds(found)).toEqual([first, second, third]);
  expect(found[0].correct).toBe(true);
});

describe('a probe before measuring', () => {
  /** Lists the folders of plans that programs of this process are measuring. */
  const plansHere = (): readonly string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith('lockstep-plan-') && name.includes(`-${process.pid}-`));
  const probe = (engine: Engine, runId: number, more: object = {}): Promise<ProbeAnswer> =>
    call(engine, 'bench.probe', ask(runId, { repeats: 15, ...more }));

  it('proposes fewer repeats and units on a slow target, which are measured and recorded', async () => {
    const engine = await engineOn(copied());
    // A launch takes 20 s, so 5 designs with 15 + 3 launches take 1800 s, far more than the start of the program.
    fake({ msPerUnit: 0.2 });
    // In 200 s, each of the 5 · (7 + 3) launches has 4 s. At least 7 repeats are kept.
    const limits = { timeLimitMs: 200_000, caseTimeLimitMs: 3_600_000 };
    const tight = ((await probe(engine, runId, limits)) as ProbeAnswer & { kind: 'done' }).proposal!;
    const { units, estimateMs, fullMs } = tight;
    expect(tight.repeats).toBe(7);
    expect(units).toBeGreaterThan(5000);
    expect(units).toBeLessThanOrEqual(20_000);
    expect(estimateMs).toBeLessThanOrEqual(200_000);

    fake({ name: 'NVIDIA GeForce RTX 4090', fingerprint: 'real' });
    const run = await measure(engine, runId, { repeats: 15, ...startOf(tight) });
    const found = await detail(engine, run.id);
    const part = { units, ofUnits: 100_000 };
    expect(found.request).toMatchObject({ repeats: 7, part, probe: { ofRepeats: 15, estimateMs, fullMs } });
    const warning = /^Measured on [\d,]+ of 100,000 units, because all would take about \d+ (s|min)\./;
    expect(found.warnings[0]).toMatch(warning);
    // The comparison uses predictions for the measured number of units, because less work takes less time.
    const compared = await call(engine, 'bench.compare', { id: run.id });
    const page = await call(engine, 'ranking.page', { runId, filter: { deviceId: DEVICE }, limit: 100 });
    const view = unwrap(await engine.context.views.open(runId));
    const { clockMhz } = view.devices.find(({ id }) => id === DEVICE) as GpuDevice;
    const loop = standInOf(view.study.study.kernel, 'webgpu');
    const all = found.cases.map(({ designIndex }) => designIndex!);
    const whole = unwrap(await designCases(engine.context, view, all, loop, null));
    for (const [at, one] of found.cases.entries()) {
      const row = page.rows.find(({ designIndex }) => designIndex === one.designIndex)!;
      expect(one.predictedMs!).toBeLessThan((whole[at].parameters as { predictedMs: number }).predictedMs);
      const other = compared.designs.find(({ designIndex }) => designIndex === one.designIndex)!;
      // The comparison is at the measured clock. No design waits for memory here, so times scale with the clock.
      const atClock = (other.predictedMs * compared.clockMhz!) / clockMhz;
      expect(atClock + (other.balancingMs ?? 0)).toBeCloseTo(one.predictedMs!, 9);
      // The ranking is for all units, so it does not show times of a part of the units.
      expect(row.measured).toBeNull();
    }
  });

  it('lets fewer designs be measured, spread over those chosen, and says so', async () => {
    fake({ timeMs: 1 });
    const ids = (await casesOf(engine, runId)).filter((_, place) => place % 2 === 0);
    const probed = { ofRepeats: 7, ofDesigns: 5, estimateMs: 7000, fullMs: 20_000 };
    const { id } = await measure(engine, runId, { spreadDesigns: 3, probe: probed });
    const { request, warnings, cases } = await detail(engine, id);
    expect(caseIds(cases)).toEqual(ids);
    expect(request).toMatchObject({ cases: 3, probe: probed });
    expect(isReduced(request)).toBe(true);
    const warning = 'Measured 3 of the 5 chosen designs (spread evenly over them), because all would take about 20 s.';
    expect(warnings[0]).toBe(warning);
    // If a part of the units is measured, the designs are spread over those with enough units for their blocks.
    const ofPart = { count: 40, units: 6000 };
    const fitting = await detail(engine, (await measure(engine, runId, ofPart)).id);
    const spread = await detail(engine, (await measure(engine, runId, { ...ofPart, spreadDesigns: 3 })).id);
    expect(fitting.request.part!.designsLeftOut).toBeGreaterThan(0);
    expect(spread.request.part).toEqual(fitting.request.part);
    expect(caseIds(spread.cases)).toEqual(spreadOver(caseIds(fitting.cases), 3));
    const all = await measure(engine, runId, { probe: probed });
    expect(isReduced((await detail(engine, all.id)).request)).toBe(false);
  });

  it('returns nothing if no design ran, and refuses a suite', async () => {
    fake({ absent: true });
    expect(await probe(await engineOn(copied()), runId)).toEqual({ kind: 'done', proposal: null });
    const suite = { target: 'webgpu', suite: 'probes' };
    const words = /^A probe is for designs of a sweep\. Measure a suite without a probe\.$/;
    await refuses(engine, 'bench.probe', suite, words);
    await refuses(engine, 'bench.start', ask(runId, { target: 'cpu', units: 10 }), /CPU/);
  });

  it('ends when its client cancels it, so that the next measurement can start', async () => {
    // The device is requested first, so that the next program to start belongs to the probe.
    await probe(engine, runId);
    fake({ pauseMs: 60_000 });
    const slow = engine.call('bench.probe', ask(runId, { client: 'page' }));
    await expect.poll(plansHere).toHaveLength(1);
    expect(await call(engine, 'bench.cancelProbe', { client: 'other page' })).toBe(false);
    expect(await call(engine, 'bench.cancelProbe', { client: 'page' })).toBe(true);
    expect(await slow).toFail('cancelled', 'The probe was cancelled, so nothing was measured.');
    expect(plansHere()).toEqual([]);
    expect(await call(engine, 'bench.cancelProbe', { client: 'page' })).toBe(false);
    fake({});
    const all = { units: 100_000, ofUnits: 100_000, repeats: 15, ofRepeats: 15 };
    expect(await probe(engine, runId)).toMatchObject({ kind: 'done', proposal: all });
  });

  it('lets a page run its rounds', async () => {
    const target = { target: 'webgpu-page', count: 4 };
    const first = (await probe(engine, runId, target)) as Extract<ProbeAnswer, { kind: 'round' }>;
    expect(first.kind).toBe('round');
    expect(first.plan).toMatchObject({ repeats: 2, warmUps: 1, backend: 'webgpu' });
    const { length: units } = first.plan.workload!.lengths;
    expect(units).toBeLessThan(100_000);
    const times = { startMs: 100, onceMs: 0, prepareMs: 10, launchMs: 60, slowestLaunchMs: 60 };
    const found = await probe(engine, runId, { ...target, rounds: [{ units, ...times }] });
    expect(found).toMatchObject({ kind: 'done', proposal: { ofUnits: 100_000 } });
  });
});

describe('a page that goes away', () => {
  const SILENCE_MS = 400;
  async function pageRun(): Promise<{ engine: Engine; id: number; ended: Promise<RunSummary> }> {
    const engine = await engineOn(copied(), { pageSilenceMs: SILENCE_MS });
    const { runId: id } = await call(engine, 'bench.start', ask(runId, { target: 'webgpu-page', count: 2 }));
    return { engine, id, ended: finished(engine, id) };
  }

  it('releases its measurement, so that another can start', async () => {
    const { engine, id, ended: end } = await pageRun();
    await refuses(engine, 'bench.start', ask(1), new RegExp(`run ${id} is being measured`));
    await call(engine, 'bench.plan', { id });
    const from = performance.now();
    const error = 'The measuring page has gone. Its measurements are saved, and a page can resume the run.';
    expect(await end).toMatchObject({ id, state: 'failed', error });
    // The page gets three requests to answer before the engine gives it up.
    expect(performance.now() - from).toBeGreaterThan(SILENCE_MS / 2);
    await call(engine, 'runs.resume', { id });
  });

  it('keeps its measurement as long as it answers, however long a launch takes', async () => {
    const { engine, id, ended: end } = await pageRun();
    let pings = 0;
    engine.subscribe((event, payload) => {
      if (event !== 'bench.ping') return;
      expect(payload).toEqual({ runId: id });
      pings += 1;
      if (pings < 12) void engine.dispatch('bench.record', { id, records: [] });
    });
    expect(await end).toMatchObject({ id, state: 'failed' });
    expect(pings).toBeGreaterThanOrEqual(12);
  });
});
