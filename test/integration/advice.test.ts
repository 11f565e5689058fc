import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Recommendation, Sensitivity } from '../../src-main/contract/advice.ts';
import type { ExportDocument, RankPage, RankRow } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { openEngine, type OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { TAKEN_P90_ERROR, tieTableOf } from '../../src-main/services/evidence/tie-band.ts';
import { studyAxes, sweepPlan } from '../../src-main/services/studies/plan.ts';
import { planLengths, resolveLengths } from '../../src-main/services/studies/workloads.ts';
import { changedPlan, type InputChange } from '../../src-workers/advise/change.ts';
import { pickDesign } from '../../src-workers/advise/pick.ts';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { spaceSize } from '../../src-workers/space/axes.ts';
import { AGREEMENT_FRACTION, tieFraction } from '../../src-workers/sweep/ties.ts';
import { call, ended } from '../unit/engine-calls.ts';

const root = join(import.meta.dirname, '..', '..');
const examples = join(root, 'db', 'examples');

let folder: string;
let engine: Engine;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockstep-advice-'));
  const databaseFile = join(folder, 'advice.sqlite');
  engine = unwrap(await openEngine({ databaseFile, resourceFolder: root, host: 'cli', workers: 2 }));
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const example = (name: string): StudyFile =>
  JSON.parse(readFileSync(join(examples, `${name}.json`), 'utf8')) as StudyFile;

/** The study with fewer units, designs and devices, of every kind that it has: loops, balancings, launches, caps. */
function small(study: StudyFile, mostUnits = 2 ** 17): StudyFile {
  const { axes, workload } = study;
  const kinds = new Map(axes.balancing?.map((balancing) => [balancing.replace(/\(.*/, ''), balancing]));
  const some = <T>(values: T): T =>
    Array.isArray(values) && values.length > 3 ? ([values[0], values[2], values.at(-1)] as T) : values;
  return {
    ...study,
    devices: study.devices.slice(0, 2),
    workload: { ...workload, units: Math.min(workload.units, mostUnits) },
    axes: {
      ...axes,
      ...(axes.balancing && { balancing: [...kinds.values()] }),
      ...(axes.threadsPerUnit && { threadsPerUnit: some(axes.threadsPerUnit) }),
      blockThreads: Array.isArray(axes.blockThreads) ? some(axes.blockThreads) : [64, 256, 1024],
      ...(axes.unitsPerThread && { unitsPerThread: some(axes.unitsPerThread) }),
      ...(axes.blocksPerMultiprocessor && { blocksPerMultiprocessor: [1, 4, 16] }),
      ...(axes.gridBlocks && { gridBlocks: [132, 1056] }),
      ...(axes.cores && { cores: [1, 2, 4, 8, 16] }),
      ...(axes.registerCap && { registerCap: [null, 56] }),
    },
  };
}

const recommend = (study: StudyFile, more: object = {}): Promise<Recommendation> =>
  call(engine, 'advice.recommend', { study, folder: examples, ...more });

/** What the fastest designs alone tell. */
const answerOf = ({
  ties: { rule, band },
  landscape: { rows, columns, picked },
  elapsedMs: _,
  ...rest
}: Recommendation) => ({
  ...rest,
  ...{ rule, band, rows, columns, picked },
});

/** By the rule, written out: no cap before a cap, no balancing before fetching before ordering, … */
function place({ design, timeMs, designIndex }: RankRow): readonly number[] {
  const work = ['none', 'row-split'].includes(design.balancing) ? 0 : design.balancing === 'dynamic-fetch' ? 1 : 2;
  return [
    design.registerCap === null ? 0 : 1 / design.registerCap,
    work,
    design.loop === 'nested' ? 0 : 1,
    design.threadsPerUnit,
    design.gridBlocks,
    timeMs,
    designIndex,
  ];
}
const compare = (a: readonly number[], b: readonly number[]): number => {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
};

describe('the recommendation', () => {
  const edits: readonly ((study: StudyFile, random: number) => StudyFile)[] = [
    ...(
      [
        ['serialFraction', 0.5, false],
        ['cooperationCost', 0.2, false],
        ['registersPerThread', 120, true],
        ['instructionsPerIteration', 200, true],
        ['dependentLoadsPerIteration', 3, false],
        ['bytesPerIteration', 32, false],
        ['flattenedCost', 0.5, false],
        ['bytesPerUnit', 200, false],
      ] as const
    ).map(([field, most, whole]) => (study: StudyFile, random: number): StudyFile => ({
      ...study,
      kernel: { ...study.kernel, [field]: whole ? 1 + Math.floor(random * most) : random * most },
    })),
    (study, random) => ({
      ...study,
      workload: { ...study.workload, units: Math.ceil(study.workload.units * (0.25 + random)) },
    }),
  ];

  // Units of a matrix are followed one by one, with 1 to 32 threads each: fewer are as many waves.
  it.each([
    ['acts'],
    ['collatz'],
    ['geometric'],
    ['mandelbrot'],
    ['software'],
    ['spmv-cpu'],
    ['spmv-skewed', 2 ** 14],
    ['spmv-uniform', 2 ** 14],
  ])(
    'of %s is that of the full ranking while ten fields change',
    { timeout: 120_000 },
    async (name, mostUnits?: number) => {
      const uniform = mersenneTwister(11);
      let study = small(example(name), mostUnits);
      for (const edit of [null, ...edits]) {
        if (edit) study = edit(study, uniform());
        const quick = await recommend(study, { look: 'fastest' });
        const advice = await recommend(study);
        expect(answerOf(quick)).toEqual(answerOf(advice));
        const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
        const first = await call<RankPage>(engine, 'ranking.page', { runId, limit: 1 });
        const { deviceId } = first.rows[0];
        const page = await call<RankPage>(engine, 'ranking.page', { runId, filter: { deviceId }, limit: 1000 });
        const equal = page.rows.filter(({ timeMs }) => timeMs <= page.rows[0].timeMs * (1 + AGREEMENT_FRACTION));
        const expected = [...equal].sort((a, b) => compare(place(a), place(b)))[0];
        expect(advice.device.id).toBe(deviceId);
        expect(advice.predicted).toBe(advice.of);
        expect(advice.ties.count).toBe(page.ties);
        expect(advice.ties.designs).toEqual(
          page.rows
            .filter(({ tied }) => tied)
            .slice(0, 20)
            .map((row) => row.designIndex),
        );
        expect(advice.designIndex).toBe(expected.designIndex);
        expect(advice.row.design).toEqual(expected.design);
        expect(advice.row.rank).toBe(expected.rank);
        expect(advice.time.ms).toBe(expected.timeMs);
        expect(advice.time.lowMs).toBeLessThanOrEqual(advice.time.ms);
        expect(advice.time.highMs).toBeGreaterThanOrEqual(advice.time.ms);
        if (!advice.baseline) continue;
        const sum = advice.causes.reduce((total, cause) => total + cause.ms, 0);
        expect(Math.abs(sum - (advice.time.ms - advice.baseline.ms))).toBeLessThan(1e-9 * advice.baseline.ms);
        const plain = await call<{ designIndex: number | null }>(engine, 'ranking.plain', { runId, deviceId });
        expect(advice.baseline.designIndex).toBe(plain.designIndex);
      }
    },
  );

  it('is coarse where that is asked for, and then looks at what was best before', async () => {
    const study = example('acts');
    const deviceId = study.devices[1];
    const edited: StudyFile = { ...study, kernel: { ...study.kernel, serialFraction: 0.06 } };
    const first = await recommend(edited, { deviceId, look: 'coarse' });
    expect(first.predicted).toBeLessThan(first.of / 10);
    const exact = await recommend(study, { deviceId });
    const second = await recommend(edited, { deviceId, look: 'coarse' });
    expect(second.predicted).toBeGreaterThan(first.predicted);
    expect(second.time.ms).toBeLessThanOrEqual(first.time.ms);
    expect(exact.predicted).toBe(exact.of);
    expect(exact.devices.map(({ bestMs }) => bestMs === null)).toEqual([true, false, true, true, true]);
    const quick = await recommend(edited, { deviceId, look: 'fastest' });
    expect(quick).toMatchObject({ ties: { count: null, designs: [] }, landscape: { maps: null } });
    expect(quick.time.ms).toBeLessThanOrEqual(second.time.ms);
    expect(quick.predicted).toBe(quick.of);
  });

  it('gives way to a newer call of the same client', async () => {
    const study = example('spmv-skewed');
    const ask = (units: number, client: string) =>
      engine.dispatch('advice.recommend', {
        study: { ...study, workload: { ...study.workload, units } },
        folder: examples,
        deviceId: study.devices[0],
        client,
      });
    const older = ask(500_001, 'card');
    const newer = engine.dispatch('advice.recommend', { study: example('software'), folder: examples, client: 'card' });
    expect(await newer).toMatchObject({ ok: true });
    expect(await older).toMatchObject({ ok: false, error: { code: 'cancelled' } });
  });

  it('compares with the baseline asked for, of whichever device', async () => {
    const study = small(example('acts'));
    const plain = await recommend(study, { deviceId: study.devices[0] });
    expect(plain.baseline).toMatchObject({ chosen: false });
    const size = plain.of;
    const asked = plain.ties.designs[0];
    const same = await recommend(study, { deviceId: study.devices[1], baseline: asked });
    expect(same.baseline).toMatchObject({ chosen: true, designIndex: asked + size });
    const unknown = await engine.dispatch('advice.recommend', { study, folder: examples, baseline: 10 * size });
    expect(unknown).toMatchObject({ ok: false, error: { code: 'not-found' } });
  });

  it('names the measurements that its range covers, and the estimates of the device that it takes as they are', async () => {
    const study = small(example('acts'));
    let estimates = 0;
    const measured: boolean[] = [];
    for (const deviceId of ['nvidia-v100-sxm2-16gb', 'software-swiftshader', 'nvidia-rtx-4090']) {
      const { device, time, inputs } = await recommend({ ...study, devices: [deviceId] });
      const labels = inputs.flatMap(({ field, origin, label }) =>
        field.startsWith('device.') && origin === 'assumed' ? [label] : [],
      );
      estimates += labels.length;
      expect(time.basis.includes('estimates as they are')).toBe(labels.length > 0);
      for (const label of labels) expect(time.basis).toContain(label);
      expect(time.basis).toMatch(/; no measured run was used\.$/);
      const evidence = device.evidence?.agreement.map(({ p90Error }) => p90Error) ?? [];
      expect(time.basis.includes('No public measurements')).toBe(evidence.length === 0);
      // An unmeasured device is not more certain than most measured ones.
      const widest = evidence.length === 0 ? TAKEN_P90_ERROR : Math.max(...evidence);
      expect(time.highMs / time.ms).toBeGreaterThan(1 / (1 - widest));
      expect(time.ms / time.lowMs).toBeGreaterThan(1 + widest);
      measured.push(evidence.length > 0);
    }
    expect(estimates).toBeGreaterThan(0);
    expect(measured).toEqual([true, true, false]);
  });

  it('reads a file of lengths again when it has changed', async () => {
    const file = join(folder, 'lengths.csv');
    writeFileSync(file, '10\n10\n10\n');
    const study: StudyFile = { ...example('software'), workload: { lengths: 'file:lengths.csv', units: 4096 } };
    const before = await recommend(study, { folder });
    writeFileSync(file, '10\n10\n1000\n');
    const after = await recommend(study, { folder });
    expect(after.time.ms).toBeGreaterThan(10 * before.time.ms);
  });

  it('is written as code, with what it assumes and how it was picked', async () => {
    const study = small(example('acts'));
    const deviceId = study.devices[0];
    const { designIndex, ties } = await recommend(study, { deviceId });
    const code = (more: object) =>
      engine.dispatch('advice.code', { study, folder: examples, deviceId, designIndex, format: 'cuda', ...more });
    const { fileName, text } = unwrap((await code({})) as Result<ExportDocument>);
    expect(fileName).toBe('acts-propagation.cuh');
    expect(text).toContain(`study not saved, design ${designIndex}.`);
    expect(text).toMatch(
      new RegExp(
        `^// ${ties.count} designs? of this device are tied\\. Of designs within 1.5 % of the fastest the simplest`,
        'm',
      ),
    );
    expect(text).toMatch(/^\/\/ Assumed: Cooperation step kappa 0 iterations\.$/m);
    expect(text).not.toMatch(/^\/\/ Assumed: Serial fraction/m);
    const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
    const saved = await call<ExportDocument>(engine, 'export.render', { runId, deviceId, format: 'cuda' });
    expect(text).toBe(saved.text.replace(`run ${runId}`, 'study not saved'));
    expect(unwrap((await code({ format: 'wgsl' })) as Result<ExportDocument>).fileName).toBe('acts-propagation.wgsl');
    expect(unwrap((await code({ format: 'python' })) as Result<ExportDocument>).fileName).toBe('acts-propagation.py');
    expect(await code({ deviceId: study.devices[1] })).toMatchObject({ ok: false, error: { code: 'conflict' } });
    const cpu = small(example('spmv-cpu'));
    const cores = await recommend(cpu, { deviceId: cpu.devices[0] });
    expect(await code({ study: cpu, deviceId: cpu.devices[0], designIndex: cores.designIndex })).toMatchObject({
      ok: false,
      error: { code: 'unsupported' },
    });
  });

  it('says where no design is valid', async () => {
    const study = small(example('acts'));
    const none: StudyFile = { ...study, constraints: [{ quantity: 'blockThreads', atLeast: 5000 }] };
    const answer = await engine.dispatch('advice.recommend', { study: none, folder: examples });
    expect(answer).toMatchObject({ ok: false, error: { code: 'conflict', message: /No design is valid on/ } });
  });
});

describe('the sensitivity', () => {
  /** All designs of one device with an input changed. */
  async function sweepOf(study: StudyFile, deviceId: string) {
    const parsed = unwrap(parseStudy(JSON.stringify(study)));
    const devices = await call<Parameters<typeof studyAxes>[1]>(engine, 'devices.get', { ids: [deviceId] });
    const axes = unwrap(studyAxes(parsed, devices));
    const { law, order } = unwrap(await resolveLengths(engine.context, parsed.workload.lengths, examples));
    const plan = sweepPlan('all', parsed, axes, law, planLengths(parsed, axes, law, order));
    const ties = tieTableOf(axes);
    const known = new Map<string, ReturnType<typeof predicted>>();
    const predicted = (change: InputChange) => {
      const { timeMs, gridBlocks } = predictChunk(createPredictor(changedPlan(plan, change)), 0, spaceSize(axes));
      const best = timeMs.reduce((least, time) => (time < least ? time : least), Infinity);
      const fastest = timeMs.indexOf(best);
      const within = (fraction: (design: number) => number) =>
        Array.from(timeMs.keys()).filter((design) => timeMs[design] <= best * (1 + fraction(design)));
      const equal = within(() => AGREEMENT_FRACTION);
      const tied = within((design) => tieFraction(ties, fastest, design));
      const figures = { timeMs: (at: number) => timeMs[at], gridBlocks: (at: number) => gridBlocks[at] };
      return { best, tied: new Set(tied), picked: pickDesign(axes, figures, equal)!, timeMs };
    };
    return (change: InputChange) => {
      const key = `${change.input} ${change.value}`;
      const found = known.get(key) ?? predicted(change);
      known.set(key, found);
      return found;
    };
  }

  // The band of the second is the narrowest: inputs leave it.
  it.each([
    ['software', 'software-swiftshader'],
    ['collatz', 'nvidia-k20'],
  ])(
    'of %s on %s agrees with a sweep at each value, and at the ends of its ranges',
    { timeout: 180_000 },
    async (name, deviceId) => {
      const study = example(name);
      const { workload, axes } = study;
      const one: StudyFile = {
        ...study,
        devices: [deviceId],
        workload: { ...workload, units: Math.min(workload.units, 2 ** 15) },
        axes: {
          ...axes,
          ...(!Array.isArray(axes.blockThreads) && { blockThreads: { from: 256, to: 1024, step: 256 } }),
        },
      };
      const found = await call<Sensitivity>(engine, 'advice.sensitivity', { study: one, folder: examples });
      const sweepAt = await sweepOf(one, one.devices[0]);
      let ends = 0;
      for (const { input, values, bestMs, recommendedMs, designs, holds, below, above } of found.inputs) {
        const at = (value: number) => sweepAt({ input: input.field as InputChange['input'], value });
        for (const i of [0, values.length - 1]) {
          const { best, timeMs, picked } = at(values[i]);
          expect(bestMs[i], input.field).toBe(best);
          expect(recommendedMs[i], input.field).toBe(timeMs[found.designIndex]);
          expect(designs[i], input.field).toBe(picked);
        }
        for (const [end, beyond] of [
          [holds[0], below],
          [holds[1], above],
        ] as const) {
          expect(beyond === null, input.field).toBe(end === null);
          if (end === null || !beyond) continue;
          ends += 1;
          expect(at(end).tied.has(found.designIndex), `${input.field} at ${end}`).toBe(true);
          const outside = at(beyond.at);
          expect(outside.tied.has(found.designIndex), `${input.field} at ${beyond.at}`).toBe(false);
          expect(outside.picked, input.field).toBe(beyond.designIndex);
          expect(Math.abs(end / beyond.at - 1), input.field).toBeLessThan(0.05);
        }
      }
      expect(ends).toBeGreaterThan(2);
      const decides = found.inputs.map(({ sentence }) => sentence !== '');
      expect(decides.lastIndexOf(true)).toBe(decides.filter(Boolean).length - 1);
    },
  );

  it('is of the design asked for, on a saved run as on the study itself', async () => {
    const study = example('software');
    const { id: runId } = await ended(engine, 'runs.start', { study, folder: examples });
    const inputs = ['kernel.serialFraction'];
    const ofStudy = await call<Sensitivity>(engine, 'advice.sensitivity', { study, folder: examples, inputs });
    const ofRun = await call<Sensitivity>(engine, 'advice.sensitivity', { runId, inputs });
    expect({ ...ofRun, elapsedMs: 0 }).toEqual({ ...ofStudy, elapsedMs: 0 });
    const other = await call<Sensitivity>(engine, 'advice.sensitivity', { runId, inputs, designIndex: 0 });
    expect(other.inputs[0].holds).toEqual([0.25, 0.25]);
    const unknown = await engine.dispatch('advice.sensitivity', { runId, designIndex: 100_000 });
    expect(unknown).toMatchObject({ ok: false, error: { code: 'not-found' } });
  });
});
