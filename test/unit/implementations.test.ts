/* Tests studies with several implementations, each with its own kernel and its own allowed values of the axes. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { DeviceBest } from '../../src-main/contract/api.ts';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { implementationChoice } from '../../src-main/services/ranking/compare.ts';
import { changedPlan } from '../../src-workers/advise/change.ts';
import { predictTimes } from '../../src-workers/advise/survey.ts';
import { INVALID_REASONS } from '../../src-workers/domain/design.ts';
import { AXIS, axisCounts, decodeInto, spaceSize } from '../../src-workers/domain/space.ts';
import { classifyDesigns, describeDesign } from '../../src-workers/predict/designs.ts';
import { playableDesign, predictedOverSimulated } from './designs.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import type { Predictor } from '../../src-workers/predict/tables.ts';
import { NOTHING_ELSE } from './export-runs.ts';
import { oneDesign, predicted } from './sweep-plans.ts';
import { useBench } from '../workplace.ts';

const BASE: StudyFile['kernel'] = {
  name: 'rows',
  registersPerThread: 40,
  instructionsPerIteration: 20,
  serialFraction: 0.05,
  lengthsKnownBeforeLaunch: true,
};
const DEVICES = ['nvidia-a100-sxm4-40gb', 'nvidia-v100-sxm2-16gb'];
const AXES: StudyFile['axes'] = {
  threadsPerUnit: [1, 32],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'padded-slice(32)', 'merge-path'],
  blockThreads: [64, 256],
  unitsPerThread: [1, 4],
  registerCap: [null, 32],
};
const PADDED = { balancing: ['padded-slice(32)'], loop: ['nested' as const] };
const MERGED = { balancing: ['merge-path'], blockThreads: [256], registerCap: [null] };
const IMPLEMENTATIONS: NonNullable<StudyFile['implementations']> = [
  { name: 'scalar', kernel: {}, axes: { threadsPerUnit: [1], balancing: ['none'] } },
  { name: 'ell', kernel: { registersPerThread: 24, unit: { instructions: 0 } }, axes: PADDED },
  { name: 'merge', kernel: { unit: { instructions: 70 }, instructionsPerIteration: 35 }, axes: MERGED },
];
const study = (change: Partial<StudyFile> = {}): StudyFile =>
  oneDesign({
    workload: { lengths: 'geometric(0.05)', units: 60_000 },
    kernel: BASE,
    devices: DEVICES,
    axes: AXES,
    implementations: IMPLEMENTATIONS,
    ...change,
  });

const firstOf = (name: string, predictor: Predictor, timeMs: Float64Array) =>
  timeMs.findIndex((time, at) => time > 0 && describeDesign(predictor, at).design.implementation === name);

it('the predictor predicts each implementation like a study of its kernel, and marks values that it does not allow', async () => {
  const { plan, predictor, columns } = await predicted(study());
  const size = spaceSize(plan.axes);
  const counts = axisCounts(plan.axes);
  const perImplementation = size / (DEVICES.length * IMPLEMENTATIONS.length);
  const positions = new Int32Array(counts.length);
  const studies = IMPLEMENTATIONS.map(({ kernel }) => {
    return study({ kernel: { ...BASE, ...kernel } as StudyFile['kernel'], implementations: undefined });
  });
  const alone = await Promise.all(studies.map(async (one) => (await predicted(one)).columns));
  let valid = 0;
  for (let design = 0; design < size; design += 1) {
    decodeInto(positions, counts, design);
    const at = positions[AXIS.implementation];
    const { design: described } = describeDesign(predictor, design);
    expect(described.implementation).toBe(IMPLEMENTATIONS[at].name);
    const same = positions[AXIS.device] * perImplementation + (design % perImplementation);
    const { axes: allowed = {} } = IMPLEMENTATIONS[at];
    const isAllowed = Object.entries(allowed).every(([axis, values]) =>
      (values as readonly unknown[]).includes(described[axis as keyof typeof described]),
    );
    if (isAllowed) {
      expect(columns.timeMs[design]).toBe(alone[at].timeMs[same]);
      expect(columns.occupancyFraction[design]).toBe(alone[at].occupancyFraction[same]);
      if (!Number.isNaN(columns.timeMs[design])) valid += 1;
    } else expect(INVALID_REASONS[columns.invalidReason[design]].code).toBe('implementation');
  }
  expect(valid).toBeGreaterThan(20);
  expect(classifyDesigns(predictor, 0, size)[0]).toBe(valid);
});

it('the predictor explains and simulates with the kernel of the implementation', async () => {
  const { predictor, columns } = await predicted(study());
  for (const { name } of IMPLEMENTATIONS) {
    const design = firstOf(name, predictor, columns.timeMs);
    expect(explainDesign(predictor, design)!.timeMs).toBe(columns.timeMs[design]);
    expect(playableDesign(predictor, design)!.setupIterations).toBe(name === 'merge' ? 2 : 0);
    expect(predictedOverSimulated(predictor, design, { halfWidth: 0.01, maxReplications: 30 })).toBeNear(1, 0.03);
  }
});

it('the predictor does not change studies without implementations', async () => {
  const { predictor } = await predicted(study({ implementations: undefined }));
  expect(describeDesign(predictor, 3).design).not.toHaveProperty('implementation');
});

describe('a run of several implementations', () => {
  const { call, engine, run } = useBench();
  let runId: number;
  beforeAll(async () => void (runId = await run(study())));

  it('ranks all of them, and names the best of each', async () => {
    const { ofImplementations, rows } = await call('ranking.best', { runId, limit: 500 });
    expect(ofImplementations.map(({ design }) => design.implementation).sort()).toEqual(['ell', 'merge', 'scalar']);
    for (const one of ofImplementations) {
      const own = rows.filter(({ design }) => design.implementation === one.design.implementation);
      expect(one.timeMs).toBe(Math.min(...own.map(({ timeMs }) => timeMs)));
    }
    expect(ofImplementations[0].designIndex).toBe(rows[0].designIndex);
  });

  it('is filtered and sorted by implementation, and exported with its name', async () => {
    const sort = { column: 'implementation', descending: false };
    const namesOf = async (filter: object) => {
      const valid = { validity: 'valid', ...filter } as const;
      const { rows } = await call('ranking.page', { runId, filter: valid, sort, limit: 500 });
      return rows.map(({ design }) => design.implementation!);
    };
    const names = await namesOf({});
    expect(names).toEqual(names.toSorted());
    expect(await namesOf({ implementation: ['merge'] })).toEqual(names.filter((name) => name === 'merge'));
    expect(await engine.call('ranking.page', { runId, filter: { implementation: ['none such'] } })).toFail('bad-input');
    const { recommended } = await call('ranking.best', { runId, limit: 1 });
    const name = recommended!.row.design.implementation!;
    for (const [format, text] of [
      ['csv', /^rank,device,implementation,threads_per_unit,/],
      ['json', /scalar|ell|merge/],
      ['markdown', /scalar|ell|merge/],
      ['html', '<h2>Implementations</h2>'],
      ['cuda', `constexpr const char* implementation = "${name}";`],
      ['cuda', `namespace lockstep_rows_${name} {`],
      ['python', `"implementation": "${name}",`],
    ] as const)
      expect((await call('export.render', { runId, format, limit: 5 })).text).toMatch(text);
  });

  it('compares the implementations on each device, and says which to write', async () => {
    const { devices, choice } = await call('compare.devices', { runId });
    for (const { device, best, byImplementation } of devices) {
      const times = byImplementation.map(({ timeMs }) => timeMs);
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(new Set(byImplementation.map(({ design }) => design.implementation)).size).toBe(IMPLEMENTATIONS.length);
      expect(byImplementation[0].timeMs).toBe(best!.timeMs);
      for (const row of byImplementation) expect(row.deviceId).toBe(device.id);
      expect(choice[0]).toContain(byImplementation[0].design.implementation);
    }
    // A report of a slower design compares the best designs too.
    const [{ timeMs, design }, next] = devices[0].byImplementation;
    const filter = { validity: 'valid', deviceId: DEVICES[0], implementation: [design.implementation!] } as const;
    const { rows } = await call('ranking.page', { runId, filter });
    const report = await call('export.render', { runId, format: 'markdown', designIndex: rows.at(-1)!.designIndex });
    const slower = (100 * (next.timeMs / timeMs - 1)).toFixed(1);
    expect(report.text).toMatch(new RegExp(`as ${next.design.implementation} is ${slower}\\s% slower than the best`));
  });

  it('has the announced number of designs, even if their lengths leave some blocks idle', async () => {
    const { unitsPerThread: _, ...axes } = AXES;
    const few = study({ workload: { lengths: 'constant(20)', units: 1000 }, axes: { ...axes, gridBlocks: [4, 64] } });
    const size = await call('space.size', { study: few });
    const { valid } = await call('runs.get', { id: await run(few) });
    expect(size.valid).toBe(valid);
  });

  it('lists the inputs of the recommended implementation, and marks its own values with its name', async () => {
    const { recommended, inputs } = await call('ranking.best', { runId, limit: 1 });
    const name = recommended!.row.design.implementation!;
    for (const other of IMPLEMENTATIONS)
      if (other.name !== name)
        expect(recommended!.inputs.filter(({ label }) => label.endsWith(` of ${other.name}`))).toEqual([]);
    const inputOf = (wanted: string) => inputs[DEVICES[0]].find(({ field }) => field === wanted);
    const merge = { label: 'Instructions per iteration of merge', value: 35, origin: 'given' };
    expect(inputOf('implementations[2].kernel.instructionsPerIteration')).toMatchObject(merge);
    // ell has its own value, so the value of the study is listed for the other implementations only.
    expect(inputOf('kernel.registersPerThread')!.value).toBe(40);
  });

  it("varies only an implementation's own value", async () => {
    const kernel = { ...BASE, origins: NOTHING_ELSE };
    const only = study({ kernel, devices: [DEVICES[0]], implementations: [IMPLEMENTATIONS[0], IMPLEMENTATIONS[2]] });
    const { plan, predictor, columns } = await predicted(only);
    const merge = firstOf('merge', predictor, columns.timeMs);
    const { inputs } = await call('advice.sensitivity', { study: only, designIndex: merge });
    const both = ['implementations[1].kernel.instructionsPerIteration', 'kernel.instructionsPerIteration'];
    expect(inputs.map(({ input }) => input.field)).toEqual(expect.arrayContaining(both));
    for (const { input, values, recommendedMs } of inputs) {
      const changed = changedPlan(plan, { input: input.field as 'kernel.serialFraction', value: values[0] });
      const [expected] = predictTimes(createPredictor(changed), Uint32Array.of(merge));
      expect(recommendedMs[0]).toBeCloseTo(expected, 12);
      // `merge` has its own value. Only the other implementation uses the study's value, so `merge` keeps its time.
      if (input.field === 'kernel.instructionsPerIteration') expect(new Set(recommendedMs).size).toBe(1);
      if (input.field.startsWith('implementations[1].kernel.instr'))
        expect(new Set(recommendedMs).size).toBeGreaterThan(1);
    }
  });

  it('recommends the same implementation as the ranking', async () => {
    const advice = await call('advice.recommend', { study: study(), deviceId: DEVICES[0] });
    const best = await call('ranking.best', { runId, limit: 1, deviceId: DEVICES[0] });
    expect(advice.row.design.implementation).toBeDefined();
    expect(advice.row.timeMs / best.rows[0].timeMs).toBeLessThan(1.0151);
  });

  it('says if several implementations are too close to choose', () => {
    const row = (implementation: string, timeMs: number, tied: boolean) => {
      return { design: { implementation }, timeMs, tied };
    };
    const on = (name: string, ...byImplementation: ReturnType<typeof row>[]) =>
      ({ device: { name }, byImplementation }) as unknown as DeviceBest;
    const close = [
      on('A', row('x', 1, true), row('y', 1.02, true), row('z', 2, false)),
      on('B', row('y', 1, true), row('x', 1.1, true)),
    ];
    expect(implementationChoice(close)).toEqual([
      'Fastest: x on A; y on B.',
      'Too close to the fastest to be ruled out by predicted times: y on A; x on B.',
    ]);
    const clear = ['A', 'B', 'C'].map((name) => on(name, row('x', 1, true), row('y', 2, false)));
    expect(implementationChoice(clear)).toEqual(['Fastest: x on all 3 devices.']);
    expect(implementationChoice([on('A')])).toEqual([]);
  });

  it('is not measured by a stand-in loop, which has only one kernel', async () =>
    expect(await engine.call('bench.bundle', { runId, deviceId: DEVICES[0] })).toFail(
      'unsupported',
      /3 implementations.* cannot replace ell and merge\. The loop can replace .*: scalar\./,
    ));

  it.each([
    [['a', 'a'].map((name) => ({ name, kernel: {} })), 'implementations[1].name'],
    [[{ name: 'a', kernel: {}, axes: { balancing: ['full-sort'] } }], 'implementations[0].axes.balancing'],
    [[{ name: 'a', kernel: {}, axes: { balancing: ['sorted'] } }], 'implementations[0].axes.balancing[0]'],
    [[{ name: 'a', kernel: { integerShare: 0.6, fp64Share: 0.5 } }], 'implementations[0].kernel.integerShare'],
  ])('names the wrong field: %j', async (implementations, field) =>
    expect(await engine.call('space.size', { study: study({ implementations }) })).toMatchObject({
      ok: false,
      error: { code: 'bad-input', context: { field } },
    }),
  );
});
