import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../src-main/contract/api.ts';
import type * as measuring from '../../src-main/contract/measuring.ts';
import { procedures } from '../../src-main/contract/procedures.ts';
import { limitText } from '../../src-main/contract/runnable.ts';
import { readAddress, writeAddress } from '../../src-renderer/state/location.svelte.ts';
import { designList, measureAddress } from '../../src-renderer/views/measure/address.ts';
import { figureRows, parameterRows, shownProfile, verdict } from '../../src-renderer/views/measure/calibration.ts';
import { flagsOf, measuredPoints } from '../../src-renderer/views/measure/points.ts';
import { launches, launchRange } from '../../src-renderer/views/measure/repeats.ts';
import { residualAxes, residualPercent, residualScale } from '../../src-renderer/views/measure/residuals.ts';
import * as table from '../../src-renderer/views/measure/rows.ts';
import { scatterPlane } from '../../src-renderer/views/measure/scatter-chart.ts';
import * as scatter from '../../src-renderer/views/measure/scatter.ts';
import * as setup from '../../src-renderer/views/measure/setup.ts';
import { comparisonStats, comparisonVerdict } from '../../src-renderer/views/measure/statistics.ts';
import { predictedHead } from '../../src-renderer/views/measure/words.ts';
import { CALIBRATION_PARAMETERS, type CalibrationProfile } from '../../src-workers/domain/calibration.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { median, ordinalRanks } from '../../src-workers/numeric/statistics.ts';
import { forAll, real, whole } from '../for-all.ts';
import { measuringDevice } from '../measuring.ts';
import { sampleCase, sampleDesign, sampleTime } from './measure-samples.ts';

/** Makes designs whose times differ from the prediction by an effect of the threads per unit. Design 17 has failed. */
function sampleCases(count = 40): readonly measuring.MeasuredCase[] {
  const uniform = mersenneTwister(7);
  return Array.from({ length: count }, (_, i) => {
    const threadsPerUnit = 2 ** (i % 4);
    const design = sampleDesign({
      threadsPerUnit,
      blockThreads: 64 * 2 ** (Math.floor(i / 4) % 4),
      gridBlocks: 432 * (1 + (i % 7)),
      registerCap: i % 3 === 0 ? 56 : 64,
    });
    const predictedMs = 4.1 * (1 + 0.03 * i) * (1 + 0.02 * uniform());
    const medianMs = 1.32 * predictedMs * (1 + 0.06 * Math.log2(threadsPerUnit)) * (1 + 0.05 * (uniform() - 0.5));
    const failed = { correct: null, failure: 'too many resources requested for launch' };
    return sampleCase(i, { design, predictedMs, ...(i === 17 ? failed : { measured: sampleTime(medianMs) }) });
  });
}

const DEVICE = measuringDevice({ name: 'NVIDIA A100-SXM4-40GB', fingerprint: 'sample', clockMhz: 1410 });
const REQUEST: measuring.MeasuringRequest = {
  target: 'cuda:0',
  backend: 'cuda',
  suite: 'designs',
  sourceRunId: 1,
  deviceId: 'nvidia-a100-sxm4-40gb',
  repeats: 15,
  warmUps: 3,
  cases: 40,
};
const RUN = { runId: 12, request: REQUEST, device: DEVICE, warnings: [] };
const detailOf = (cases: readonly measuring.MeasuredCase[]): measuring.MeasuringDetail => ({ ...RUN, cases });
const DETAIL = detailOf(sampleCases());

function compare({ runId, cases }: measuring.MeasuringDetail, factor = 1): measuring.MeasuringComparison {
  const measured = cases.filter((each) => each.measured !== null);
  const predictedMs = measured.map((each) => factor * each.predictedMs!);
  const mediansMs = measured.map((each) => each.measured!.medianMs);
  const scale = median(Float64Array.from(mediansMs, (ms, i) => ms / predictedMs[i]));
  const [predictedRanks, measuredRanks] = [predictedMs, mediansMs].map(ordinalRanks);
  const designs = measured.map(({ designIndex, design }, i) => ({
    designIndex: designIndex!,
    design: design!,
    predictedRank: predictedRanks[i],
    measuredRank: measuredRanks[i],
    predictedMs: predictedMs[i],
    medianMs: mediansMs[i],
    residual: Math.log(mediansMs[i] / (scale * predictedMs[i])),
  }));
  const axis = (name: 'threadsPerUnit' | 'blockThreads' | 'registerCap', explained: number) => {
    const byValue = Map.groupBy(designs, ({ design }) => String(design[name]));
    const values = [...byValue].map(([value, group]) => {
      const residuals = Float64Array.from(group, ({ residual }) => residual).sort();
      const [lowResidual, highResidual] = [residuals[0], residuals.at(-1)!];
      return { value, medianResidual: median(residuals), lowResidual, highResidual, count: group.length };
    });
    return { axis: name, explained, values };
  };
  const figures = { scale, medianError: 0.03, p95Error: 0.08, unscaledMedianError: 0.3, spearman: 0.98, kendall: 0.9 };
  return {
    runId,
    ...figures,
    designs,
    intervals: { scale: null, medianError: null, spearman: null },
    regret: [1, 5, 10].map((k) => ({ k, fraction: 0.01 / k })),
    randomEquivalent: [22, 37, 39].map((measurements, i) => ({ k: [1, 5, 10][i], measurements })),
    axes: [axis('registerCap', 0.02), axis('threadsPerUnit', 0.8), axis('blockThreads', 0.1)],
  } as unknown as measuring.MeasuringComparison;
}

const WEBGPU: measuring.MeasuringTarget = {
  id: 'webgpu',
  backend: 'webgpu',
  available: true,
  label: 'SwiftShader',
  device: null,
  advice: '',
};
const CPU_TARGET = { ...WEBGPU, id: 'cpu', backend: 'cpu', label: 'CPU with 2 cores' } as const;
const NO_CUDA = { ...WEBGPU, id: 'cuda', backend: 'cuda', label: 'No CUDA device', available: false } as const;
const PAGE = { ...WEBGPU, id: setup.PAGE_TARGET, label: 'page' };

const timesMs = real(1e-3, 1e4);
const times = fc.array(fc.record({ predictedMs: timesMs, medianMs: timesMs }), { minLength: 1, maxLength: 40 });

it('address restores the state from which it was written, and leaves out usual values', () => {
  const params = new URLSearchParams();
  const written = { measured: 12, design: 17, profile: 3, tab: 'calibrate', suite: 'probes' } as const;
  writeAddress(measureAddress, written, params);
  expect(params.toString()).toBe('measured=12&design=17&profile=3&tab=calibrate&suite=probes');
  expect(readAddress(measureAddress, params)).toMatchObject({ ...written, count: 20 });
  expect(['17,4,17,x,-3,1e3,2.5,', ''].map(designList)).toEqual([[17, 4], []]);
});

describe('points', () => {
  it('belong to the cases that have both times, and are ranked among themselves', () => {
    const { points, scale } = measuredPoints(DETAIL, null);
    expect(points).toHaveLength(39);
    const ranks = points.map(({ measuredRank }) => measuredRank).sort((a, b) => a - b);
    expect(ranks).toEqual(points.map((_, i) => i + 1));
    const residuals = points.map(({ residual }) => residual).sort((a, b) => a - b);
    // The scale is the median of the ratios, so half of the points are on each side of the line.
    expect(residuals[19]).toBeCloseTo(0, 12);
    expect(scale).toBeGreaterThan(1.3);
  });

  it('leave out a design whose result is wrong, or that has no time yet', () => {
    const wrong = sampleCase(0, { measured: sampleTime(5), correct: false });
    for (const each of [wrong, sampleCase(0)])
      expect(measuredPoints(detailOf([each]), null)).toEqual({ points: [], scale: NaN });
    expect(flagsOf(wrong)).toEqual(['wrong']);
  });

  it('have the predictions and ranks of a comparison if there is one for their run', () => {
    const comparison = compare(DETAIL, 2);
    const { points, scale } = measuredPoints(DETAIL, comparison);
    expect(scale).toBe(comparison.scale);
    expect(points[0].predictedMs).toBe(comparison.designs[0].predictedMs);
    expect(points[0].measured.designIndex).toBe(points[0].designIndex);
    const other = measuredPoints({ ...DETAIL, runId: 99 }, comparison);
    expect(other.points[0].predictedMs).toBe(DETAIL.cases[0].predictedMs);
  });
});

describe('scatter', () => {
  it('shows every point, with the same ratio along both axes, and draws lines only within the frame, at their slope', () => {
    forAll(times, timesMs, (points, scale) => {
      const frame = scatter.scatterFrame(points)!;
      for (const { predictedMs, medianMs } of points) {
        expect(predictedMs).toBeBetween(frame.xLowMs, frame.xHighMs);
        expect(medianMs).toBeBetween(frame.yLowMs, frame.yHighMs);
      }
      // The tolerance covers two exponentials of the same span. Each is rounded a few times.
      expect(frame.xHighMs / frame.xLowMs).toBeNear(frame.yHighMs / frame.yLowMs, 1e-12);
      for (const [x, y] of scatter.lineInFrame(frame, scale) ?? []) {
        expect(y / x).toBeCloseTo(scale, 6 - Math.ceil(Math.log10(scale)));
        expect(x).toBeGreaterThanOrEqual(frame.xLowMs * (1 - 1e-12));
        expect(y).toBeLessThanOrEqual(frame.yHighMs * (1 + 1e-12));
      }
    });
    expect(scatter.scatterFrame([])).toBeNull();
    const wide = scatter.scatterFrame([{ predictedMs: 0.5, medianMs: 1500 }])!;
    expect(scatterPlane(wide, { width: 600, height: 300 }).left).toBeGreaterThan(6 * '1,500,000'.length);
  });

  it('has at least two ticks, however short the axis', () =>
    forAll(timesMs, real(1.06, 1e4), (low, ratio) => {
      const ticks = scatter.fineTicks(low, low * ratio);
      expect(ticks.length).toBeWithin(2, 7);
      for (const tick of ticks) expect(tick).toBeWithin(low * (1 - 1e-5), low * ratio * (1 + 1e-5));
    }));

  it('shares a frame between two predictions only if this shows something', () => {
    const points = (factor: number) => measuredPoints(DETAIL, compare(DETAIL, factor));
    const near = scatter.framesOf(points(1), points(1.4));
    expect(near.after).toBe(near.before);
    const far = scatter.framesOf(points(1), points(500));
    expect(far.after).not.toBe(far.before);
    // Both spans are equal, apart from rounding. Each is computed by exponentials around its own centre.
    const [before, after] = [far.before!, far.after!].map(({ xLowMs, xHighMs }) => xHighMs / xLowMs);
    expect(before).toBeNear(after, 1e-12);
    expect(scatter.framesOf(points(1), null).after).toBeUndefined();
  });

  it('labels every point, no two on top of each other, and finds the point under the pointer', () => {
    forAll(fc.array(fc.record({ x: whole(0, 30), y: whole(0, 30) }), { maxLength: 12 }), (crowd) => {
      const places = scatter.labelPlaces(crowd, 10);
      expect(places).toHaveLength(crowd.length);
      for (const [i, a] of places.entries())
        for (const b of places.slice(i + 1))
          expect(Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y))).toBeGreaterThan(10);
    });
    const at = (x: number, y: number) => ({ x, y });
    expect(scatter.labelPlaces([at(0, 0), at(50, 0)], 10)).toEqual([at(0, 15), at(50, -8)]);
    expect([14, 40].map((x) => scatter.nearestPoint([at(10, 10), at(16, 10)], x, 10, 12))).toEqual([1, -1]);
  });
});

it('residuals are listed by axis, with the axis that explains most first, and every design is in each axis once', () => {
  const axes = residualAxes(compare(DETAIL));
  expect(axes.map(({ axis }) => axis)).toEqual(['threadsPerUnit', 'blockThreads', 'registerCap']);
  const { reach, ticks } = residualScale(axes);
  for (const { rows } of axes) {
    expect(rows.reduce((sum, { dots }) => sum + dots.length, 0)).toBe(39);
    for (const { low, high } of rows) expect(Math.max(-low, high)).toBeLessThan(reach);
  }
  expect(ticks.map(({ percent }) => percent)).toEqual([-10, 0, 10]);
  for (const { at, percent } of ticks) expect(residualPercent(at)).toBeCloseTo(percent, 9);
  // Axes with one value are left out.
  const only = sampleCases(12).map((each) => ({ ...each, design: sampleDesign() }));
  expect(residualAxes(compare(detailOf(only)))).toEqual([]);
});

it('residuals have a scale for any spread', () =>
  forAll(real(0, 8), (most) => {
    const row = { value: '1', median: 0, low: -most, high: most, count: 1, dots: [] };
    const { reach, ticks } = residualScale([{ axis: 'u', explained: 0, rows: [row] }]);
    expect(reach).toBeGreaterThan(most);
    for (const { at } of ticks) expect(Math.abs(at)).toBeLessThanOrEqual(reach);
  }));

describe('table', () => {
  const { points } = measuredPoints(DETAIL, compare(DETAIL));
  const rowsBy = (
    column: table.MeasuredColumn,
    descending = false,
    its = points,
    { cases }: Pick<measuring.MeasuringDetail, 'cases'> = DETAIL,
  ) => table.measuredRows(cases, its, { column, descending });

  it('sorts by every column, with missing values last in both directions', () => {
    for (const column of table.MEASURED_COLUMNS)
      for (const descending of [false, true]) {
        const rows = rowsBy(column, descending);
        expect(rows).toHaveLength(40);
        if (column !== 'predictedMs') expect(rows.at(-1)!.state).toBe('failed');
      }
    const measured = rowsBy('medianMs').slice(0, 39);
    expect(measured.map(({ point }) => point!.measuredRank)).toEqual(points.map((_, i) => i + 1));
    expect(rowsBy('medianMs', true)[0].point!.measuredRank).toBe(39);
  });

  it('separates waiting cases from failed ones, and shows the fields that differ', () => {
    const rows = rowsBy('predictedRank', false, [], detailOf([sampleCase(0), DETAIL.cases[17]]));
    expect(rows.map(({ state }) => state)).toEqual(['waiting', 'failed']);
    const usual = ['threadsPerUnit', 'blockThreads', 'gridBlocks'];
    expect(table.varyingFields(DETAIL.cases)).toEqual([...usual, 'registerCap']);
    expect(table.varyingFields([sampleCase(0)])).toEqual(usual);
  });

  it('is written to a file with every case and every number', () => {
    const [head, ...body] = table.measuredTable(rowsBy('predictedRank'));
    expect(body.map(({ length }) => length)).toEqual(Array<number>(40).fill(head.length));
    expect(head).toEqual(expect.arrayContaining([...table.DESIGN_FIELDS]));
    expect(body.at(-1)!.at(-1)).toMatch(/^too many resources/);
  });
});

it('repeats of one design are marked as warm-ups, counted repeats or outliers', () => {
  const steady = sampleTime(5);
  const timesMs = steady.timesMs.map((ms, i) => (i === 8 ? ms * 1.4 : ms));
  const kinds = launches({ ...steady, timesMs, outliers: 1 }).map(({ kind }) => kind);
  const wanted = Array.from({ length: 18 }, (_, i) => (i < 3 ? 'warm-up' : i === 3 + 8 ? 'outlier' : 'counted'));
  expect(kinds).toEqual(wanted);
});

it('the predicted time of a measured design is named for what was measured', () => {
  const head = (change: object) => predictedHead({ ...REQUEST, ...change }).head;
  expect([{}, { backend: 'external' }, { kernel: {} }].map(head)).toEqual(['Pred. loop', 'Predicted', 'Predicted']);
});

it('repeats of one design have a scale on which one launch never hides the others', () =>
  forAll(fc.array(real(0.5, 500), { minLength: 1, maxLength: 20 }), (list) => {
    const { lowMs, highMs } = launchRange(sampleTime(5, { medianMs: 5, timesMs: list, warmUpMs: [100] }));
    expect(lowMs).toBeLessThan(5);
    expect(highMs).toBeGreaterThan(5);
    expect(highMs).toBeLessThanOrEqual(11);
  }));

describe('set-up', () => {
  const { chosenTarget, durationText, fittingSuite, isSameDevice, listTargets, measuringInput, pageLimits } = setup;
  const SETUP: setup.MeasuringSetup = {
    target: 'webgpu',
    suite: 'designs',
    choose: 'best',
    count: 20,
    designs: [],
    deviceId: 'a',
    repeats: 15,
    warmUps: 3,
    limitS: 60,
    timeS: 120,
  };
  const expectTaken = (input: object) =>
    expect(v.safeParse(procedures['bench.start'].input, input).issues).toBeUndefined();

  it('becomes an input that the engine takes', () => {
    const named = { ...SETUP, choose: 'named', designs: [4, 17] } as const;
    const probes = { ...SETUP, suite: 'probes' } as const;
    for (const each of [SETUP, named, probes, { ...SETUP, limitS: 0.5, warmUps: 0 }])
      expectTaken({ target: each.target, ...measuringInput(each, 3) });
    expect(measuringInput(named, 3)).toMatchObject({ choose: 'named', designs: [4, 17] });
    expect(measuringInput(probes, null)).not.toHaveProperty('choose');
  });

  const PLACE = { databaseFile: '/tmp/x.db', runId: 3, deviceId: null };
  const PROGRAM = "--exec './program {threadsPerUnit} {blockThreads} {gridBlocks}'";
  it.each<[change: Partial<setup.MeasuringSetup>, place: object, options: string]>([
    [{}, {}, '--db /tmp/x.db --top 20'],
    [{ choose: 'spread', count: 5 }, { deviceId: 'gpu' }, '--db /tmp/x.db --device gpu --spread 5'],
    [{ choose: 'named', designs: [4, 7] }, {}, '--db /tmp/x.db --design 4 7'],
    [{}, { databaseFile: "/my data/it's.db" }, String.raw`--db '/my data/it'\''s.db' --top 20`],
  ])("has the command that measures the same designs with a user's program: %j", (change, place, options) => {
    const command = setup.ownProgramCommand({ ...SETUP, ...change }, { ...PLACE, ...place });
    expect(command).toBe(`lockstep bench 3 ${options} ${PROGRAM}`);
  });
  it("has the command that tunes with a user's program", () => {
    const command = setup.ownProgramCommand(SETUP, PLACE, { budget: 40, withinPercent: 3 });
    expect(command).toBe(`lockstep tune 3 --db /tmp/x.db --budget 40 --within 3 ${PROGRAM}`);
  });

  const GPU = { id: 'a', name: 'A100 SXM4 40 GB', kind: 'gpu' } as const;
  const CPU = { id: 'c', name: 'EPYC 7302P', kind: 'cpu' } as const;
  const USUAL = { target: WEBGPU, runId: 3 as number | null, devices: [GPU] as (typeof GPU | typeof CPU)[] };
  const designs = {};
  const probes = { suite: 'probes' };
  it.each<[change: object, Partial<typeof USUAL> & { runnable?: number; other?: string }, message: RegExp | null]>([
    [designs, {}, null],
    [designs, { target: CPU_TARGET }, /predicts no CPU/],
    [designs, { target: CPU_TARGET, devices: [GPU, CPU] }, null],
    [probes, { target: CPU_TARGET }, /cannot be measured with the CPU/],
    [designs, { devices: [CPU] }, /predicts no GPU/],
    [designs, { target: NO_CUDA }, /not available: No CUDA device/],
    [{ suite: 'contention' }, {}, /cannot be measured with WebGPU/],
    [designs, { runId: null }, /Predict the study first/],
    [probes, { runId: null, devices: [] }, null],
    [{ choose: 'named' }, {}, /press M/],
    [designs, { runnable: 0 }, /can run none of the designs/],
    [probes, { runnable: 0 }, null],
    [designs, { other: 'Several kernels.' }, /^Several kernels\.$/],
    [probes, { other: 'Several kernels.' }, null],
  ])('refuses designs that cannot be measured, and says why: %j %j', (change, world, message) => {
    const { target, runId, devices, runnable = null, other } = { ...USUAL, ...world };
    const said = setup.refusal({ ...SETUP, ...change }, target, runId, devices, runnable, other);
    expect(said ?? 'not refused').toMatch(message ?? /^not refused$/);
  });

  it('lists available targets first, and missing targets last, and chooses a suite that fits', () => {
    const list = listTargets([NO_CUDA, WEBGPU, CPU_TARGET, { ...PAGE, available: false }], PAGE);
    expect(list.map(({ id }) => id)).toEqual([setup.PAGE_TARGET, 'webgpu', 'cpu', 'cuda']);
    expect(list[0]).toBe(PAGE);
    expect(['cpu', 'gone'].map((id) => chosenTarget(list, id)!.id)).toEqual(['cpu', setup.PAGE_TARGET]);
    expect(chosenTarget([], null)).toBeNull();
    expect([fittingSuite('launch-grid', 'cpu'), fittingSuite('probes', 'cuda')]).toEqual(['designs', 'probes']);
  });

  it('estimates a duration only from measurements of the same kind', () => {
    const run = { id: 12, state: 'complete', elapsedMs: 36_000 } as RunSummary;
    const said = (change: object, request: object = {}, sweep = 1) => {
      const detail = { ...DETAIL, request: { ...REQUEST, target: 'webgpu', ...request } };
      return durationText({ ...SETUP, ...change }, null, { run, detail }, sweep);
    };
    expect(said({})).toMatch(/^About 18\.0\s?s, estimated from run 12\.$/);
    expect(said({ repeats: 33 })).toMatch(/^About 36\.0\s?s/);
    const part = { units: 10, ofUnits: 100, designsLeftOut: 0 };
    // Another target, another sweep (with other units), and a part of the units are of another kind.
    for (const other of [said({ target: 'cpu' }), said({}, {}, 2), said({}, { part })])
      expect(other).toMatch(/^A short probe finds how many designs, repeats and units fit into 2\s?min\.$/);
    expect(durationText({ ...SETUP, suite: 'probes' }, null, null, null)).toMatch(/stopped after 60\s?s/);
  });

  it.each([
    ['A100 SXM4 40 GB', 'NVIDIA A100-SXM4-40GB', true],
    ['H100 SXM5 80 GB', 'NVIDIA A100-SXM4-80GB', false],
    ['RTX 4090', 'NVIDIA GeForce RTX 4090', true],
    ['V100 SXM2 16 GB', 'SwiftShader Device (Subzero)', false],
  ])('knows a device of the catalogue by its model: %s, %s', (name, measured, same) =>
    expect(isSameDevice(name, measured)).toBe(same),
  );

  it('sends the engine what the page knows of its GPU, and nothing for other targets', () => {
    const known = (threadGroupWidth: number | null, properties: Readonly<Record<string, number>>) =>
      pageLimits({ ...PAGE, device: { ...DEVICE, threadGroupWidth, properties } });
    const limits = (threadsPerUnit: number | null, blockThreads: number | null = null, bestBuckets = false) => {
      return { limits: { threadsPerUnit, blockThreads, bestBuckets } };
    };
    expect(known(4, { maxComputeInvocationsPerWorkgroup: 256 })).toEqual(limits(4, 256, true));
    expect(known(null, {})).toEqual(limits(null));
    expect(known(null, { subgroupMinSize: 8 })).toEqual(limits(8));
    expect(known(null, { subgroups: 0 })).toEqual(limits(1));
    for (const target of [WEBGPU, CPU_TARGET, NO_CUDA]) expect(pageLimits(target)).toEqual({});
    for (const each of [known(4, {}), known(null, {})])
      expectTaken({ target: setup.PAGE_TARGET, ...each, ...measuringInput(SETUP, 3) });
  });

  it.each([
    ['threadsPerUnit', 4, 'up to 4 work-items per unit'],
    ['threadsPerUnit', 1, 'one work-item per unit'],
    ['blockThreads', 256, 'work-groups of up to 256'],
    ['registerCap', null, 'no register cap'],
    ['bestBuckets', null, 'no best buckets'],
    ['cores', 1, 'up to 1 core'],
  ] as const)('has limits in the words of a programming model: %s %s', (quantity, atMost, words) => {
    const terms = { thread: 'work-item', threads: 'work-items', block: 'work-group' };
    expect(limitText({ quantity, atMost }, terms)).toBe(words);
  });
});

it('figures are shown in one strip, and in one sentence, and those of two designs say that they mean nothing', () => {
  const comparison = compare(DETAIL);
  const stats = comparisonStats(comparison);
  const labels = 'Spearman,Kendall,median error, scaled,scale,first choice,best of 5,best of 10,random search';
  expect(stats.map(({ label }) => label).join()).toBe(labels);
  const hint = /at random, on average, to match the best of the model’s first 5$/;
  expect(stats.at(-1)).toMatchObject({ value: '37', hint });
  expect(comparisonVerdict(comparison)).toMatch(/first 5 .*about 37 measurements\.$/);
  const lucky = { ...comparison, randomEquivalent: [{ k: 1, measurements: 1.2 }] };
  expect(comparisonVerdict(lucky)).toMatch(/first choice .*about 1 measurement\.$/);
  // If three designs share the best prediction, the figures of the first choice are means over them.
  const best = Math.min(...comparison.designs.map(({ predictedMs }) => predictedMs));
  const designs = comparison.designs.map((one) => (one.predictedRank <= 3 ? { ...one, predictedMs: best } : one));
  const tied = { ...lucky, designs };
  expect(comparisonStats(tied)[4]).toMatchObject({ label: 'mean of 3 first choices', hint: /^Mean .* 3 designs/ });
  expect(comparisonStats(tied).at(-1)!.hint).toMatch(/to match one of the model’s 3 tied first choices$/);
  expect(comparisonVerdict(tied)).toMatch(/^Measuring one of the model’s 3 tied first choices /);
  const unknown = (hint: RegExp) => ['Spearman', 'Kendall'].map((label) => ({ value: '–', label, hint }));
  const equal = comparisonStats({ ...comparison, spearman: NaN, kendall: NaN }).slice(0, 2);
  expect(equal).toMatchObject(unknown(/all measured times are equal/));
  const two = compare(detailOf(sampleCases(2)));
  expect(comparisonStats(two).slice(0, 2)).toMatchObject(unknown(/at least three/));
  expect(comparisonVerdict(two)).toMatch(/^2 compared: measure at least three/);
});

describe('calibration', () => {
  function profileOf(change: Partial<CalibrationProfile> = {}): CalibrationProfile {
    const held = ['cooperationCost', 'divergentBranchCycles'];
    const parameters = {
      latencyCycles: 6120,
      issueCycles: 291,
      kneeSoftness: 5.8,
      schedulers: 4,
      serialFraction: 0.083,
      cooperationCost: 0,
      setupIterationsPerUnit: 2.9,
      divergentBranchCycles: null,
      launchOverheadMs: 0.0061,
    };
    const known = CALIBRATION_PARAMETERS.map((name) => [name, { standardError: 0.1, held: held.includes(name) }]);
    return {
      deviceId: 'nvidia-a100-sxm4-40gb',
      parameters,
      identified: Object.fromEntries(known) as CalibrationProfile['identified'],
      fit: { designs: 39, medianError: 0.011, p95Error: 0.031, spearman: 0.991 },
      heldOut: { folds: 5, medianError: 0.014, p95Error: 0.041, spearman: 0.987 },
      before: { designs: 39, medianError: 0.052, p95Error: 0.121, spearman: 0.93 },
      sourceRunIds: [12],
      ...change,
    } as CalibrationProfile;
  }

  it('says how each parameter is known', () => {
    const rows = Object.fromEntries(parameterRows(profileOf()).map((row) => [row.parameter, row]));
    expect(rows).toMatchObject({
      latencyCycles: { state: 'fitted', value: '6,120', error: '±\u00a00.1' },
      cooperationCost: { state: 'held', error: '' },
      divergentBranchCycles: { state: 'unknown', value: '–' },
    });
  });

  it('is judged by designs that were left out of the fit, or says that there are none', () => {
    const words = /left out of the fit.*falls from 5\.2.* to 1\.4.*cooperation step, so it keeps its value/;
    expect(verdict(profileOf())).toMatch(words);
    const few = /because there are too few to leave any out.*In a study.* error of the measured designs is 1\.1/;
    expect(verdict(profileOf({ heldOut: null, fitInStudy: profileOf().fit }))).toMatch(few);
    const heldOut = { folds: 5, medianError: 0.06, p95Error: 0.2, spearman: 0.9 };
    const worse = profileOf({ heldOut });
    expect(verdict(worse)).toMatch(/^No gain .*6\.0.*5\.2/);
    const taken = {
      unchanged: /^Nothing was calibrated/,
      factor: /^One factor for all times: 1\.15\./,
      parameters: /^On/,
    };
    for (const [name, words] of Object.entries(taken)) {
      const errors = { unchanged: heldOut, factor: { ...heldOut, medianError: 0.01 }, parameters: null };
      const text = verdict(profileOf({ choice: { taken: name as never, factor: 1.15, heldOut: errors } }));
      expect(text).toMatch(words);
      expect(text).toMatch(/6\.0.* without a calibration, 1\.0.* with one factor for all times, and unknown/);
    }
    expect(figureRows(profileOf({ heldOut: null })).map(({ heldOut }) => heldOut)).toEqual(['–', '–', '–']);
  });

  it('shows the requested profile, or else the newest of the run', () => {
    const saved = (id: number, runId: number) =>
      ({ id, profile: profileOf({ sourceRunIds: [runId] }) }) as unknown as measuring.SavedProfile;
    const list = [saved(3, 9), saved(2, 12), saved(1, 12)];
    const shown = (wanted: number | null, runId: number) => shownProfile(list, wanted, runId)?.id;
    expect([shown(1, 12), shown(null, 12), shown(null, 99)]).toEqual([1, 2, undefined]);
  });
});
