import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { AskedTimes, Recommendation } from '../../src-main/contract/advice.ts';
import type { ExportDocument } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { recommendOfRun } from '../../src-main/services/advice/of-run.ts';
import { expectedTimes } from '../../src-main/services/evidence/time-errors.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { call, ended } from '../unit/engine-calls.ts';
import {
  agreesWithAll,
  agreesWithRanking,
  agreesWithSweep,
  engine,
  example,
  examples,
  folder,
  recommend,
  small,
  useEngine,
} from './advice-agreement.ts';
import { gpu } from '../catalogue.ts';

useEngine();
const dispatch = (name: 'recommend' | 'code' | 'uncertainty', input: object) =>
  engine.dispatch(`advice.${name}`, { folder: examples, ...input });

describe('the recommendation', () => {
  it.each(['acts', 'software', 'spmv-cpu'])(
    'is the first design of the full ranking of %s while ten fields change',
    (name) => agreesWithRanking(name, 5),
  );

  it('is coarse if this is requested, and then also examines the design that was best before', async () => {
    const study = example('acts');
    const deviceId = study.devices[1];
    const edited: StudyFile = { ...study, kernel: { ...study.kernel, serialFraction: 0.06 } };
    const first = await recommend(edited, { deviceId, look: 'coarse' });
    expect(first.predicted).toBeLessThan(first.of / 10);
    const exact = await recommend(study, { deviceId });
    const second = await recommend(edited, { deviceId, look: 'coarse' });
    expect(second.predicted).toBeGreaterThan(first.predicted);
    const best = ({ devices }: Recommendation) => devices[1].bestMs!;
    expect(best(second)).toBeLessThanOrEqual(best(first));
    expect(exact.predicted).toBe(exact.of);
    expect(exact.devices.map(({ bestMs }) => bestMs === null)).toEqual([true, false, true, true, true]);
    const quick = await recommend(edited, { deviceId, look: 'fastest' });
    expect(quick).toMatchObject({ ties: { count: null, designs: [] }, landscape: { maps: null } });
    expect(quick.time.ms).toBeLessThanOrEqual(second.time.ms);
    expect(quick.predicted).toBe(quick.of);
  });

  it('examines only the designs that an edit of the axes adds, unless the edit removes the fastest', async () => {
    const { axes: _, ...study } = small(example('spmv-skewed'), 2 ** 14);
    const run = vi.spyOn(engine.context.pool, 'run');
    let axes: StudyFile['axes'] = {
      threadsPerUnit: [1, 4, 8],
      loop: ['nested', 'flattened'],
      balancing: ['none', 'full-sort', 'dynamic-fetch'],
      blockThreads: [64, 128, 256],
      unitsPerThread: [1, 2],
    };
    const countExamined = async (edit: Partial<StudyFile['axes']>): Promise<number> => {
      axes = { ...axes, ...edit };
      const edited = { ...study, axes, devices: study.devices.slice(0, 1) };
      run.mockClear();
      await recommend(edited, { look: 'fastest' });
      const parts = run.mock.calls.map(([, input]) => (input as { part?: Uint32Array }).part?.length ?? 0);
      await agreesWithAll(edited);
      return parts.reduce((sum, count) => sum + count, 0);
    };
    const edits: readonly Partial<StudyFile['axes']>[] = [
      {},
      { blockThreads: [64, 256] },
      { blockThreads: [64, 96, 256] },
      { balancing: ['merge-path', 'none', 'dynamic-fetch'] },
      { loop: ['flattened', 'nested'] },
      { threadsPerUnit: [1, 8] },
      // The fastest design has one unit per thread.
      { unitsPerThread: [2] },
      // All designs except those with three units were in an earlier space.
      { unitsPerThread: [1, 2, 3] },
    ];
    const counts: number[] = [];
    for (const edit of edits) counts.push(await countExamined(edit));
    run.mockRestore();
    expect(counts).toEqual([108, 0, 36, 36, 0, 0, 36, 36]);
  });

  it('follows an edit that moves the block size for which a CPU design is valid', async () => {
    const study = small(example('spmv-cpu'), 2 ** 14);
    for (const blockThreads of [[64], [32, 64]])
      await agreesWithAll({ ...study, axes: { balancing: ['row-split'], cores: [4], blockThreads } });
  });

  it('finds the fastest designs where one loop moves data', async () => {
    const { kernel, devices, ...rest } = small(example('collatz'), 2 ** 15);
    const moving = { ...rest, devices: devices.slice(0, 1), kernel: { ...kernel, bytesPerIteration: 8 } };
    const coarse = await recommend(moving, { look: 'coarse' });
    const quick = await recommend(moving, { look: 'fastest' });
    expect(quick.predicted).toBe(quick.of);
    expect(quick.time.ms).toBeLessThanOrEqual(coarse.time.ms * 1.015);
  });

  /** Asks for a recommendation of a study with other units, as the client `card`. */
  const askFor = (study: StudyFile, units: number, more: object) =>
    dispatch('recommend', { study: { ...study, workload: { ...study.workload, units } }, client: 'card', ...more });

  it('is cancelled for a newer call of the same client, except that it may be weighed beside another call', async () => {
    const study = example('spmv-skewed');
    const older = askFor(study, 500_001, { deviceId: study.devices[0] });
    expect(await dispatch('recommend', { study: example('software'), client: 'card' })).toMatchObject({ ok: true });
    expect(await older).toFail('cancelled');
    const ask = (units: number, more: object) => askFor(example('software'), units, more);
    const beside = await Promise.all([ask(30_001, {}), ask(30_001, { robust: true })]);
    expect(beside).toMatchObject([{ ok: true }, { ok: true }]);
    const edited = [ask(30_002, {}), ask(30_002, { robust: true }), ask(30_003, { look: 'coarse' })];
    const cancelled = { ok: false, error: { code: 'cancelled' } };
    expect(await Promise.all(edited)).toMatchObject([cancelled, cancelled, { ok: true }]);
  });

  it('predicts designs by their parameters, on the axes of the study or off them', async () => {
    const { implementations: _, ...whole } = small(example('acts'), 2 ** 12);
    const axes = { ...whole.axes, threadsPerUnit: [1, 4], unitsPerThread: [2], balancing: ['none'] };
    const study = { ...whole, axes };
    const deviceId = study.devices[0];
    const wide = { ...study, axes: { ...study.axes, unitsPerThread: [2, 3], blockThreads: [64, 96, 256, 1024] } };
    const ask = (designs: readonly object[], more: object = {}) =>
      engine.dispatch('advice.predict', { study, folder: examples, deviceId, designs, ...more });
    const answer = async (...asked: Parameters<typeof ask>) => unwrap((await ask(...asked)) as Result<AskedTimes>);
    const named = { loop: 'nested', register_cap: 0, threads_per_unit: 4 };
    const designs = [
      { ...named, BX: 96, units_per_thread: 3 },
      { ...named, BX: 64, units_per_thread: 2, threads: 3 },
      { ...named, BX: 4096, units_per_thread: 2 },
      { ...named, BX: 64, units_per_thread: 2.5 },
      { ...named, BX: 64, units_per_thread: 2, grid_blocks: 7 },
    ];
    const parameters = { BX: 'block_threads', threads: null };
    const times = await answer(designs, { parameters });
    expect(times.reasons).toEqual([
      null,
      null,
      'more threads per block than the device allows',
      'units_per_thread=2.5 is not a whole number',
      '2 units per thread and 7 blocks contradict each other: set one of the two numbers to 0',
    ]);
    // In the study `wide`, the values of these designs are on the axes, which must not change the times.
    expect(await answer(designs, { study: wide, parameters })).toEqual(times);
    expect(times.timesMs[0]).toBeGreaterThan(0);
    expect(times.timesMs.slice(2)).toEqual([null, null, null]);
    const { row } = await recommend(study, { deviceId });
    expect((await answer([row.design])).timesMs).toEqual([row.predictedMs]);
    const missing = /designs\[0\]: block_size_x is missing, and the study has several values for it: 64, /;
    expect(await ask([{ ...named, units_per_thread: 2 }])).toFail(null, missing);
    expect(await ask(designs, { deviceId: undefined })).toFail('bad-input');
  });

  it('compares with the requested baseline, on any device', async () => {
    const study = small(example('acts'));
    const plain = await recommend(study, { deviceId: study.devices[0] });
    expect(plain.baseline).toMatchObject({ chosen: false });
    const size = plain.of;
    const asked = plain.ties.designs[0];
    const same = await recommend(study, { deviceId: study.devices[1], baseline: asked });
    expect(same.baseline).toMatchObject({ chosen: true, designIndex: asked + size });
    expect(await dispatch('recommend', { study, baseline: 10 * size })).toFail('not-found');
  });

  it('names the measurements that its range covers, and the estimated values of the device that it uses unchanged', async () => {
    const study = small(example('acts'));
    let estimates = 0;
    const measured: boolean[] = [];
    for (const deviceId of ['nvidia-v100-sxm2-16gb', 'software-swiftshader', 'nvidia-rtx-4090']) {
      const { device, time, inputs, row } = await recommend({ ...study, devices: [deviceId] });
      const assumed = inputs.filter(({ field, origin }) => field.startsWith('device.') && origin === 'assumed');
      const labels = assumed.map(({ label }) => label);
      estimates += labels.length;
      expect(time.basis.includes('estimated values')).toBe(labels.length > 0);
      for (const label of labels) expect(time.basis).toContain(label);
      expect(time.basis).toMatch(/, without a measured run\.$/);
      const evidence = device.evidence?.agreement.map(({ p90Error }) => p90Error) ?? [];
      expect(time.basis.includes('No public measurements')).toBe(evidence.length === 0);
      const held = expectedTimes(gpu(deviceId), row.kind);
      expect(time.basis).toContain(held.text);
      const [below, above] = held.error;
      expect(Math.log(time.highMs / (time.ms + held.startMs))).toBeGreaterThanOrEqual(above - 1e-12);
      expect(Math.log(time.lowMs / time.ms)).toBeLessThanOrEqual(below + 1e-12);
      measured.push(evidence.length > 0);
    }
    expect(estimates).toBeGreaterThan(0);
    expect(measured).toEqual([true, true, false]);
  });

  it('reads a file of lengths again when it has changed', async () => {
    const file = join(folder, 'lengths.csv');
    writeFileSync(file, '10\n10\n10\n');
    const study: StudyFile = { ...small(example('software')), workload: { lengths: 'file:lengths.csv', units: 4096 } };
    const before = await recommend(study, { folder });
    writeFileSync(file, '10\n10\n1000\n');
    expect((await recommend(study, { folder })).time.ms).toBeGreaterThan(10 * before.time.ms);
  });

  it('is written as code, with its assumptions and the rule that picked it', async () => {
    const study = small(example('acts'), 2 ** 13);
    const deviceId = study.devices[0];
    const quick = () => recommend(study, { deviceId, look: 'fastest' });
    const { designIndex } = await quick();
    const code = (more: object) => dispatch('code', { study, deviceId, designIndex, format: 'cuda', ...more });
    const written = async (more: object) => unwrap((await code(more)) as Result<ExportDocument>);
    await written({});
    // The code has not waited for the map, which predicts all designs.
    expect(await quick()).toMatchObject({ designIndex, ties: { count: null } });
    const { ties } = await recommend(study, { deviceId });
    const { fileName, text } = await written({});
    expect(fileName).toBe('acts-propagation.cuh');
    expect(text).toContain(`without a run, design ${designIndex}.`);
    const rule = `^// ${ties.count} designs of this device are tied for the best: .*Picks the simplest design within 1.5 % of the fastest`;
    expect(text).toMatch(new RegExp(rule, 'm'));
    expect(text).toMatch(/^\/\/ Assumed: Spill cost = 2 instructions per register\.$/m);
    expect(text).not.toMatch(/^\/\/ Assumed: Serial fraction/m);
    const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
    const saved = await call(engine, 'export.render', { runId, deviceId, format: 'cuda' });
    expect(text).toBe(saved.text.replace(`run ${runId}`, 'without a run'));
    expect((await written({ format: 'wgsl' })).fileName).toBe('acts-propagation.wgsl');
    expect((await written({ format: 'python' })).fileName).toBe('acts-propagation.py');
    expect(await code({ deviceId: study.devices[1] })).toFail('conflict');
    const cpu = small(example('spmv-cpu'));
    const cores = await recommend(cpu, { deviceId: cpu.devices[0] });
    expect(await code({ study: cpu, deviceId: cpu.devices[0], designIndex: cores.designIndex })).toFail('unsupported');
  });

  it('says on which devices no design is valid, and why', async () => {
    const study = small(example('acts'));
    const none: StudyFile = { ...study, constraints: [{ quantity: 'blockThreads', atLeast: 5000 }] };
    const words = /^No design is valid on .*: removed by a constraint of the study .* Change constraints\.$/;
    expect(await dispatch('recommend', { study: none })).toFail('conflict', words);
  });

  it.each<[NonNullable<StudyFile['constraints']>, string]>([
    [
      [{ quantity: 'occupancyFraction', atLeast: 50 }],
      'constraints[0].atLeast must be a fraction from 0 to 1 (50 % is 0.5), not 50.',
    ],
    [
      [{ quantity: 'blockThreads', atLeast: 256, atMost: 128 }],
      'constraints[0].atLeast is 256, but constraints[0].atMost is 128, so no value of blockThreads meets both. Change one of them.',
    ],
    [
      [
        { quantity: 'waves', atMost: 4 },
        { quantity: 'blockThreads', atMost: 128 },
        { quantity: 'waves', atLeast: 4.5 },
      ],
      'constraints[2].atLeast is 4.5, but constraints[0].atMost is 4, so no value of waves meets both. Change one of them.',
    ],
  ])('refuses bounds that no design can meet: %j', async (constraints, words) => {
    const study: StudyFile = { ...small(example('acts')), constraints };
    for (const refused of [await dispatch('recommend', { study }), await engine.dispatch('runs.start', { study })])
      expect(refused).toFail('bad-input', words);
  });
});

describe('the sensitivity', () => {
  it('on a software device agrees with a sweep at each value, and at the ends of its ranges', () =>
    agreesWithSweep('software', 'software-swiftshader'));

  it('is about the requested design, for a saved run as for the study itself', async () => {
    const study = example('software');
    const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
    const inputs = ['kernel.serialFraction'];
    const ofStudy = await call(engine, 'advice.sensitivity', { study, folder: examples, inputs });
    const ofRun = await call(engine, 'advice.sensitivity', { runId, inputs });
    expect({ ...ofRun, elapsedMs: 0 }).toEqual({ ...ofStudy, elapsedMs: 0 });
    const other = await call(engine, 'advice.sensitivity', { runId, inputs, designIndex: 0 });
    expect(other.inputs[0].holds).toEqual([0.25, 0.25]);
    expect(await engine.dispatch('advice.sensitivity', { runId, designIndex: 100_000 })).toFail('not-found');
  });
});

describe('advice where some inputs are not known', () => {
  const little: StudyFile = {
    ...example('software'),
    kernel: { name: 'k', registersPerThread: 24, instructionsPerIteration: 17, sharing: 'deal' },
    devices: ['nvidia-a100-sxm4-40gb'],
    workload: { lengths: 'geometric(0.05)', units: 65_536 },
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      loop: ['nested', 'flattened'],
      balancing: ['none'],
      blockThreads: [64, 128, 256],
      unitsPerThread: [1, 2, 4, 8],
    },
  };
  const ask = (study: StudyFile, more: object = {}) =>
    call(engine, 'advice.uncertainty', { study, folder: examples, ...more });

  it('recommends the design with the least expected regret, and names the inputs worth knowing', async () => {
    const { robust, point, draws, designs, unknown, worthKnowing } = await ask(little);
    expect(draws).toBe(20);
    expect(unknown.map(({ input }) => input.field)).toEqual(expect.arrayContaining(['kernel.unit', 'kernel.prologue']));
    expect(designs[0]).toEqual(robust);
    for (const one of [point, ...designs]) expect(robust.expectedRegret).toBeLessThan(one.expectedRegret + 0.0151);
    expect(robust.chanceBest).toBeGreaterThan(0);
    expect(robust.lowMs).toBeLessThan(robust.highMs);
    expect(worthKnowing.length).toBeGreaterThan(0);
    expect(worthKnowing[0].gain).toBeLessThanOrEqual(robust.expectedRegret);
    expect(worthKnowing).toEqual(worthKnowing.toSorted((a, b) => b.gain - a.gain));
    expect(await recommend(little, { design: robust.designIndex })).toMatchObject({ designIndex: robust.designIndex });
  });

  it('equals the plain recommendation if every input is given, for a run as for its study', async () => {
    const kernel = { ...little.kernel, prologue: { instructions: 20 }, unit: { instructions: 18 } };
    const fields = Object.keys({ ...kernel, ...KERNEL_DEFAULTS }).filter((field) => field !== 'name');
    const origins = Object.fromEntries([...fields, 'combine', 'chainInstructions'].map((field) => [field, 'given']));
    const known: StudyFile = { ...little, kernel: { ...kernel, combine: { instructions: 3 }, origins } };
    const pipeline = { [known.devices[0]]: { latencyCycles: 100, issueCycles: 20, kneeSoftness: 6 } };
    const own = { ...known, pipeline };
    const { designIndex } = await recommend(own);
    const { draws, robust, unknown } = await ask(own);
    expect({ draws, unknown }).toEqual({ draws: 1, unknown: [] });
    expect(robust.designIndex).toBe(designIndex);
    const { id: runId } = await ended(engine, 'runs.start', { study: little, folder: examples });
    const ofRun = await call(engine, 'advice.uncertainty', { runId });
    expect({ ...ofRun, elapsedMs: 0 }).toEqual({ ...(await ask(little)), elapsedMs: 0 });
  });

  it('is one design in the study, a run, its report and its code, although another design is faster with middle values', async () => {
    const ofStudy = await recommend(little, { robust: true });
    const { robust, point } = ofStudy.uncertainty!;
    expect(robust.designIndex).not.toBe(point.designIndex);
    expect(ofStudy.designIndex).toBe(robust.designIndex);
    const { id: runId } = await ended(engine, 'runs.start', { study: little, folder: examples });
    const ofRun = await call(engine, 'advice.recommend', { runId, robust: true });
    expect(ofRun.designIndex).toBe(robust.designIndex);
    const exported = async (format: string, more: object = {}): Promise<string> =>
      (await call(engine, 'export.render', { runId, format, ...more })).text;
    const header = await exported('cuda');
    expect(header).toContain(`run ${runId}, design ${robust.designIndex}.`);
    const usual = `With the usual value of each assumed input, the choice would be ${point.text}.`;
    expect(header).toContain(usual);
    const report = await exported('markdown');
    expect(report).toContain(`\`${robust.text}\``);
    expect(report).toContain(usual);
    const text = await exported('kernel-tuner', { limit: 2 });
    expect(text).toContain('The first design is the chosen one, which is not the fastest by prediction.');
    const { timeMs } = ofRun.row;
    const [, first] = /^PREDICTED_MS = \{\n.*: (\S+),$/m.exec(text)!;
    expect(Number(first)).toBe(Number(timeMs.toPrecision(6)));
  });

  it('has a report that says when its study has changed', async () => {
    const { id: studyId } = await call(engine, 'studies.save', { study: little });
    const { id: runId } = await ended(engine, 'runs.start', { studyId });
    const report = async () => (await call(engine, 'export.render', { runId, format: 'markdown' })).text;
    expect(await report()).not.toContain('Since then');
    const edited = { ...little, kernel: { ...little.kernel, registersPerThread: 40 } };
    // Two windows that both know the first version save at the same time.
    const edits = [edited, { ...little, name: 'Renamed' }];
    await Promise.all(edits.map((study) => call(engine, 'studies.save', { id: studyId, study, known: little })));
    const words = 'Since then, 1 input of the study has changed, so the study may recommend another design now.';
    expect(await report()).toContain(words);
  });

  it('for a report ends with the engine, leaves no unhandled error, and can be requested again', async () => {
    const { id: runId } = await ended(engine, 'runs.start', { study: little, folder: examples });
    const view = unwrap(await engine.context.views.open(runId));
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const closing = { ...engine.context, closing: AbortSignal.abort() };
    await expect(recommendOfRun(closing, view, undefined)).rejects.toThrow('aborted');
    await setTimeout(0);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(await recommendOfRun(engine.context, view, undefined)).toMatchObject({ ok: true });
  });

  it('says the same about a design whatever else is requested', async () => {
    const alone = await ask(little);
    const together = await ask(little, { designs: Array.from({ length: 64 }, (_, design) => design) });
    expect({ ...together, designs: [], elapsedMs: 0 }).toEqual({ ...alone, designs: [], elapsedMs: 0 });
    const known = new Map(alone.designs.map((one) => [one.designIndex, one]));
    const alike = together.designs.filter(({ designIndex }) => known.has(designIndex));
    expect([alike.length > 5, together.designs.length > 40]).toEqual([true, true]);
    for (const one of alike) expect(one).toEqual(known.get(one.designIndex));
  });

  it('uses the laws of the study, and refuses laws for inputs that cannot have one', async () => {
    const narrow = await ask({ ...little, assumed: { 'kernel.unit': [10, 11] } });
    expect(narrow.unknown.find(({ input }) => input.field === 'kernel.unit')!.range).toEqual([10, 11]);
    const wrong = { ...little, assumed: { 'kernel.units': [10] } };
    expect(await dispatch('uncertainty', { study: wrong })).toFail('bad-input', /kernel\.units/);
  });
});
