import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { designList, measureAddress } from '../../src-renderer/views/measure/address.ts';
import { figureRows, parameterRows, shownProfile, verdict } from '../../src-renderer/views/measure/calibration.ts';
import { flagsOf, measuredPoints } from '../../src-renderer/views/measure/points.ts';
import { launches, launchRange } from '../../src-renderer/views/measure/repeats.ts';
import { residualAxes, residualPercent, residualScale } from '../../src-renderer/views/measure/residuals.ts';
import {
  DESIGN_FIELDS,
  MEASURED_COLUMNS,
  measuredRows,
  measuredTable,
  varyingFields,
} from '../../src-renderer/views/measure/rows.ts';
import * as scatter from '../../src-renderer/views/measure/scatter.ts';
import {
  chosenTarget,
  durationText,
  fittingSuite,
  isSameDevice,
  listTargets,
  measuringInput,
  ownProgramCommand,
  PAGE_TARGET,
  pageLimits,
  refusal,
  type MeasuringSetup,
} from '../../src-renderer/views/measure/setup.ts';
import { comparisonStats, comparisonVerdict } from '../../src-renderer/views/measure/statistics.ts';
import { readAddress, writeAddress } from '../../src-renderer/state/location.svelte.ts';
import type { RunSummary } from '../../src-main/contract/api.ts';
import { procedures } from '../../src-main/contract/procedures.ts';
import { limitText } from '../../src-main/contract/runnable.ts';
import * as v from 'valibot';
import {
  SAMPLE_TARGETS,
  sampleCase,
  sampleCases,
  sampleComparison,
  sampleDesign,
  sampleDetail,
  sampleProfile,
  sampleSavedProfile,
  sampleTime,
} from './measure-samples.ts';
import { forAll } from '../for-all.ts';

const SETUP: MeasuringSetup = {
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
const GPU = { id: 'a', name: 'A100 SXM4 40 GB', kind: 'gpu' } as const;
const CPU = { id: 'c', name: 'EPYC 7302P', kind: 'cpu' } as const;
const webgpu = SAMPLE_TARGETS.find(({ id }) => id === 'webgpu')!;
const cpu = SAMPLE_TARGETS.find(({ id }) => id === 'cpu')!;

const timesMs = fc.double({ min: 1e-3, max: 1e4, noNaN: true });
const times = fc.array(fc.record({ predictedMs: timesMs, medianMs: timesMs }), { minLength: 1, maxLength: 40 });

it('address restores the state from which it was written, and leaves out usual values', () => {
  const params = new URLSearchParams();
  writeAddress(measureAddress, { measured: 12, design: 17, profile: 3, tab: 'calibrate', suite: 'probes' }, params);
  expect(params.toString()).toBe('measured=12&design=17&profile=3&tab=calibrate&suite=probes');
  const read = readAddress(measureAddress, params);
  expect(read).toMatchObject({ measured: 12, design: 17, profile: 3, tab: 'calibrate', suite: 'probes', count: 20 });
});

it('address keeps design numbers only', () => {
  expect(designList('17,4,17,x,-3,1e3,2.5,')).toEqual([17, 4]);
  expect(designList('')).toEqual([]);
});

describe('points', () => {
  it('belong to the cases that have both times, and are ranked among themselves', () => {
    const { points, scale } = measuredPoints(sampleDetail(), null);
    expect(points).toHaveLength(39);
    expect([...points].map(({ measuredRank }) => measuredRank).sort((a, b) => a - b)).toEqual(points.map((_, i) => i + 1));
    const residuals = points.map(({ residual }) => residual).sort((a, b) => a - b);
    // The scale is the median of the ratios, so half of the points are on each side of the line.
    expect(residuals[19]).toBeCloseTo(0, 12);
    expect(scale).toBeGreaterThan(1.3);
  }); // prettier-ignore

  it('leave out a design whose result is wrong', () => {
    const wrong = sampleCase(0, { measured: sampleTime(5), correct: false });
    expect(measuredPoints(sampleDetail([wrong]), null).points).toEqual([]);
    expect(flagsOf(wrong)).toEqual(['wrong']);
  });

  it('have the predictions and ranks of a comparison if there is one', () => {
    const detail = sampleDetail();
    const comparison = sampleComparison(detail, () => 2);
    const { points, scale } = measuredPoints(detail, comparison);
    expect(scale).toBe(comparison.scale);
    expect(points[0].predictedMs).toBe(comparison.designs[0].predictedMs);
    expect(points[0].measured.designIndex).toBe(points[0].designIndex);
    // The comparison belongs to another run, so it does not apply.
    expect(measuredPoints(sampleDetail(detail.cases, { runId: 99 }), comparison).points[0].predictedMs).toBe(
      detail.cases[0].predictedMs,
    );
  });

  it('are missing for a case without times, which is not a failure', () =>
    expect(measuredPoints(sampleDetail([sampleCase(0)]), null)).toEqual({ points: [], scale: NaN }));
});

describe('scatter', () => {
  it('shows every point, with the same ratio along both axes', () => {
    forAll(times, (points) => {
      const frame = scatter.scatterFrame(points)!;
      for (const { predictedMs, medianMs } of points) {
        expect(predictedMs).toBeBetween(frame.xLowMs, frame.xHighMs);
        expect(medianMs).toBeBetween(frame.yLowMs, frame.yHighMs);
      }
      const ratios = [frame.xHighMs / frame.xLowMs, frame.yHighMs / frame.yLowMs];
      // The tolerance covers two exponentials of the same span. Each is rounded a few times.
      expect(Math.abs(ratios[0] / ratios[1] - 1)).toBeLessThan(1e-12);
    });
    expect(scatter.scatterFrame([])).toBeNull();
  });

  it('draws lines only within the frame, at their slope', () =>
    forAll(times, timesMs, (list, scale) => {
      const frame = scatter.scatterFrame(list)!;
      const line = scatter.lineInFrame(frame, scale);
      if (!line) return;
      for (const [x, y] of line) {
        expect(y / x).toBeCloseTo(scale, 6 - Math.ceil(Math.log10(scale)));
        expect(x).toBeGreaterThanOrEqual(frame.xLowMs * (1 - 1e-12));
        expect(y).toBeLessThanOrEqual(frame.yHighMs * (1 + 1e-12));
      }
    }));

  it('has at least two ticks, however short the axis', () =>
    forAll(timesMs, fc.double({ min: 1.06, max: 1e4, noNaN: true }), (low, ratio) => {
      const ticks = scatter.fineTicks(low, low * ratio);
      expect(ticks.length).toBeWithin(2, 7);
      for (const tick of ticks) expect(tick).toBeWithin(low * (1 - 1e-5), low * ratio * (1 + 1e-5));
    }));

  it('shares a frame between two predictions only if this shows something', () => {
    const detail = sampleDetail();
    const compared = (factor: number) => sampleComparison(detail, () => factor);
    const points = (factor: number) => measuredPoints(detail, compared(factor));
    const near = scatter.framesOf(points(1), points(1.4));
    expect(near.after).toBe(near.before);
    const far = scatter.framesOf(points(1), points(500));
    expect(far.after).not.toBe(far.before);
    const span = ({ xLowMs, xHighMs }: { xLowMs: number; xHighMs: number }) => xHighMs / xLowMs;
    // Both spans are equal, apart from rounding. Each is computed by exponentials around its own centre.
    expect(Math.abs(span(far.before!) / span(far.after!) - 1)).toBeLessThan(1e-12);
    expect(scatter.framesOf(points(1), null).after).toBeUndefined();
  });

  it('labels every point, no two on top of each other', () => {
    const coordinate = fc.integer({ min: 0, max: 30 });
    const points = fc.array(fc.record({ x: coordinate, y: coordinate }), { maxLength: 12 });
    forAll(points, (crowd) => {
      const places = scatter.labelPlaces(crowd, 10);
      expect(places).toHaveLength(crowd.length);
      for (const [i, a] of places.entries())
        for (const b of places.slice(i + 1))
          expect(Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y))).toBeGreaterThan(10);
    });
    expect(scatter.labelPlaces([{ x: 0, y: 0 }, { x: 50, y: 0 }], 10)).toEqual([{ x: 0, y: 15 }, { x: 50, y: -8 }]); // prettier-ignore
  });

  it('finds the point under the pointer, and no point if all are far away', () => {
    const places = [{ x: 10, y: 10 }, { x: 16, y: 10 }]; // prettier-ignore
    expect(scatter.nearestPoint(places, 14, 10, 12)).toBe(1);
    expect(scatter.nearestPoint(places, 40, 10, 12)).toBe(-1);
  });
});

it('residuals are listed by axis, with the axis that explains most first, and every design is in each axis once', () => {
  const comparison = sampleComparison(sampleDetail());
  const axes = residualAxes(comparison);
  expect(axes[0].axis).toBe('threadsPerUnit');
  expect([...axes].sort((a, b) => b.explained - a.explained)).toEqual(axes);
  for (const { rows } of axes)
    expect(rows.reduce((sum, { dots }) => sum + dots.length, 0)).toBe(comparison.designs.length);
  const { reach, ticks } = residualScale(axes);
  for (const { rows } of axes) for (const { low, high } of rows) expect(Math.max(-low, high)).toBeLessThan(reach);
  expect(ticks.map(({ percent }) => percent)).toEqual([-10, 0, 10]);
  for (const { at, percent } of ticks) expect(residualPercent(at)).toBeCloseTo(percent, 9);
});

it('residuals leave out axes with one value', () => {
  const only = sampleComparison(sampleDetail(sampleCases(12).map((each) => ({ ...each, design: sampleDesign() }))));
  expect(residualAxes(only)).toEqual([]);
});

it('residuals have a scale for any spread', () =>
  forAll(fc.double({ min: 0, max: 8, noNaN: true }), (most) => {
    const { reach, ticks } = residualScale([
      { axis: 'u', explained: 0, rows: [{ value: '1', median: 0, low: -most, high: most, count: 1, dots: [] }] },
    ]);
    expect(reach).toBeGreaterThan(most);
    for (const { at } of ticks) expect(Math.abs(at)).toBeLessThanOrEqual(reach);
  }));

describe('table', () => {
  const detail = sampleDetail();
  const { points } = measuredPoints(detail, sampleComparison(detail));

  it('sorts by every column, with missing values last in both directions', () => {
    for (const column of MEASURED_COLUMNS)
      for (const descending of [false, true]) {
        const rows = measuredRows(detail.cases, points, { column, descending });
        expect(rows).toHaveLength(detail.cases.length);
        if (column !== 'predictedMs') expect(rows.at(-1)!.state).toBe('failed');
      }
    const byMeasured = measuredRows(detail.cases, points, { column: 'medianMs', descending: false });
    expect(byMeasured.slice(0, 39).map(({ point }) => point!.measuredRank)).toEqual(points.map((_, i) => i + 1));
  });

  it('separates waiting cases from failed ones', () => {
    const rows = measuredRows([sampleCase(0), detail.cases[17]], [], { column: 'predictedRank', descending: false });
    expect(rows.map(({ state }) => state)).toEqual(['waiting', 'failed']);
  });

  it('shows the fields that differ', () => {
    expect(varyingFields(detail.cases)).toEqual(['threadsPerUnit', 'blockThreads', 'gridBlocks', 'registerCap']);
    expect(varyingFields([sampleCase(0)])).toEqual(['threadsPerUnit', 'blockThreads', 'gridBlocks']);
  });

  it('is written to a file with every case and every number', () => {
    const rows = measuredRows(detail.cases, points, { column: 'predictedRank', descending: false });
    const [head, ...body] = measuredTable(rows);
    expect(body).toHaveLength(detail.cases.length);
    for (const row of body) expect(row).toHaveLength(head.length);
    for (const field of DESIGN_FIELDS) expect(head).toContain(field);
    expect(body.at(-1)!.at(-1)).toMatch(/^too many resources/);
  });
});

it('repeats of one design are marked as warm-ups, counted repeats or outliers', () => {
  const steady = sampleTime(5);
  const time = { ...steady, timesMs: steady.timesMs.map((ms, i) => (i === 8 ? ms * 1.4 : ms)), outliers: 1 };
  const all = launches(time);
  expect(all.slice(0, 3).map(({ kind }) => kind)).toEqual(['warm-up', 'warm-up', 'warm-up']);
  expect(all.filter(({ kind }) => kind === 'outlier').map(({ order }) => order)).toEqual([3 + 8]);
  expect(all).toHaveLength(18);
});

it('repeats of one design have a scale on which one launch never hides the others', () =>
  forAll(fc.array(fc.double({ min: 0.5, max: 500, noNaN: true }), { minLength: 1, maxLength: 20 }), (list) => {
    const { lowMs, highMs } = launchRange(sampleTime(5, { medianMs: 5, timesMs: list, warmUpMs: [100] }));
    expect(lowMs).toBeLessThan(5);
    expect(highMs).toBeGreaterThan(5);
    expect(highMs).toBeLessThanOrEqual(11);
  }));

describe('set-up', () => {
  it('becomes an input that the engine takes', () => {
    for (const setup of [
      SETUP,
      { ...SETUP, choose: 'named', designs: [4, 17] } as const,
      { ...SETUP, suite: 'probes' } as const,
      { ...SETUP, limitS: 0.5, warmUps: 0 },
    ]) {
      const input = { target: setup.target, ...measuringInput(setup, 3) };
      expect(v.safeParse(procedures['bench.start'].input, input).issues).toBeUndefined();
    }
    expect(measuringInput({ ...SETUP, choose: 'named', designs: [4] }, 3)).toMatchObject({ choose: 'named', designs: [4] });
    expect(measuringInput({ ...SETUP, suite: 'probes' }, null)).not.toHaveProperty('choose');
  }); // prettier-ignore

  it("writes the command that measures the same designs with a user's program", () => {
    const program = "--exec './program {threadsPerUnit} {blockThreads} {gridBlocks}'";
    const place = { databaseFile: '/tmp/x.db', runId: 3, deviceId: null };
    const start = 'lockstep bench 3 --db /tmp/x.db';
    expect(ownProgramCommand(SETUP, place)).toBe(`${start} --top 20 ${program}`);
    expect(ownProgramCommand({ ...SETUP, choose: 'spread', count: 5 }, { ...place, deviceId: 'gpu' })).toBe(
      `${start} --device gpu --spread 5 ${program}`,
    );
    expect(ownProgramCommand({ ...SETUP, choose: 'named', designs: [4, 7] }, place)).toBe(
      `${start} --design 4 7 ${program}`,
    );
    expect(ownProgramCommand(SETUP, { ...place, databaseFile: "/my data/it's.db" })).toContain(
      String.raw`--db '/my data/it'\''s.db' `,
    );
    expect(ownProgramCommand(SETUP, place, { budget: 40, withinPercent: 3 })).toBe(
      `lockstep tune 3 --db /tmp/x.db --budget 40 --within 3 ${program}`,
    );
  });

  it('refuses designs that cannot be measured, and says why', () => {
    expect(refusal(SETUP, webgpu, 3, [GPU], null)).toBeNull();
    expect(refusal(SETUP, cpu, 3, [GPU], null)).toMatch(/predicts no CPU/);
    expect(refusal(SETUP, cpu, 3, [GPU, CPU], null)).toBeNull();
    expect(refusal({ ...SETUP, suite: 'probes' }, cpu, 3, [GPU], null)).toMatch(/cannot be measured with the CPU/);
    expect(fittingSuite('launch-grid', 'cpu')).toBe('designs');
    expect(fittingSuite('probes', 'cuda')).toBe('probes');
    expect(refusal(SETUP, webgpu, 3, [CPU], null)).toMatch(/predicts no GPU/);
    expect(refusal(SETUP, SAMPLE_TARGETS[0], 3, [GPU], null)).toMatch(/not available: No CUDA device/);
    expect(refusal({ ...SETUP, suite: 'contention' }, webgpu, 3, [GPU], null)).toMatch(
      /cannot be measured with WebGPU/,
    );
    expect(refusal(SETUP, webgpu, null, [GPU], null)).toMatch(/Predict the study first/);
    expect(refusal({ ...SETUP, suite: 'probes' }, webgpu, null, [], null)).toBeNull();
    expect(refusal({ ...SETUP, choose: 'named' }, webgpu, 3, [GPU], null)).toMatch(/press M/);
    expect(refusal(SETUP, webgpu, 3, [GPU], 0)).toMatch(/can run none of the designs/);
    expect(refusal({ ...SETUP, suite: 'probes' }, webgpu, 3, [GPU], 0)).toBeNull();
    expect(refusal(SETUP, webgpu, 3, [GPU], null, 'Several kernels.')).toBe('Several kernels.');
    expect(refusal({ ...SETUP, suite: 'probes' }, webgpu, 3, [GPU], null, 'Several kernels.')).toBeNull();
  });

  it('lists available targets first, and missing targets last', () => {
    const page = { ...webgpu, id: PAGE_TARGET, label: 'page' };
    const list = listTargets([...SAMPLE_TARGETS, { ...page, available: false }], page);
    expect(list.map(({ id }) => id)).toEqual([PAGE_TARGET, 'webgpu', 'cpu', 'cuda']);
    expect(list[0]).toBe(page);
    expect(chosenTarget(list, 'cpu')!.id).toBe('cpu');
    expect(chosenTarget(list, 'gone')!.id).toBe(PAGE_TARGET);
    expect(chosenTarget([], null)).toBeNull();
  });

  it('estimates a duration only from measurements of the same kind', () => {
    const detail = sampleDetail(sampleCases(), { request: { ...sampleDetail().request, target: 'webgpu' } });
    const run = { id: 12, state: 'complete', elapsedMs: 36_000 } as RunSummary;
    const sweep = detail.request.sourceRunId;
    expect(durationText(SETUP, null, { run, detail }, sweep)).toMatch(/^About 18\.0\s?s, estimated from run 12\.$/);
    expect(durationText({ ...SETUP, repeats: 33 }, null, { run, detail }, sweep)).toMatch(/^About 36\.0\s?s/);
    const probed = /^A short probe finds how many designs, repeats and units fit into 2\s?min\.$/;
    expect(durationText({ ...SETUP, target: 'cpu' }, null, { run, detail }, sweep)).toMatch(probed);
    // Another sweep has another number of units, and a part of the units is not all of them.
    expect(durationText(SETUP, null, { run, detail }, sweep! + 1)).toMatch(probed);
    const part = { units: 10, ofUnits: 100, designsLeftOut: 0 };
    const ofPart = { ...detail, request: { ...detail.request, part } };
    expect(durationText(SETUP, null, { run, detail: ofPart }, sweep)).toMatch(probed);
    expect(durationText({ ...SETUP, suite: 'probes' }, null, null, null)).toMatch(/stopped after 60\s?s/);
  });

  it('knows a device of the catalogue by its model', () => {
    expect(isSameDevice('A100 SXM4 40 GB', 'NVIDIA A100-SXM4-40GB')).toBe(true);
    expect(isSameDevice('H100 SXM5 80 GB', 'NVIDIA A100-SXM4-80GB')).toBe(false);
    expect(isSameDevice('RTX 4090', 'NVIDIA GeForce RTX 4090')).toBe(true);
    expect(isSameDevice('V100 SXM2 16 GB', 'SwiftShader Device (Subzero)')).toBe(false);
  });
});

it('figures are shown in one strip, and in one sentence', () => {
  const randomEquivalent = [{ k: 1, measurements: 22 }, { k: 5, measurements: 37 }, { k: 10, measurements: 39 }]; // prettier-ignore
  const comparison = { ...sampleComparison(sampleDetail()), randomEquivalent };
  const stats = comparisonStats(comparison);
  expect(stats.map(({ label }) => label)).toEqual([
      'Spearman', 'Kendall', 'median error', 'scale', 'first choice', 'best of 5', 'best of 10', 'random search',
    ]); // prettier-ignore
  expect(stats.at(-1)!.value).toBe('37');
  expect(comparisonVerdict(comparison)).toMatch(/first 5 .*about 37 measurements\.$/);
});

it('figures of two designs say that they mean nothing', () => {
  const comparison = {
    ...sampleComparison(sampleDetail(sampleCases(2))),
    spearman: NaN,
    kendall: NaN,
    randomEquivalent: [],
  };
  for (const { value, hint } of comparisonStats(comparison).slice(0, 2))
    expect({ value, hint }).toEqual({ value: '–', hint: expect.stringContaining('all measured times are equal') });
  expect(comparisonVerdict(comparison)).toMatch(/^2 compared: measure at least three/);
});

it('calibration says how each parameter is known', () => {
    const rows = parameterRows(sampleProfile());
    const states = Object.fromEntries(rows.map(({ parameter, state }) => [parameter, state]));
    expect(states).toMatchObject({ latencyCycles: 'fitted', cooperationCost: 'held', divergentBranchCycles: 'unknown' });
    expect(rows.find(({ parameter }) => parameter === 'divergentBranchCycles')!.value).toBe('–');
    expect(rows.find(({ parameter }) => parameter === 'cooperationCost')!.error).toBe('');
  }); // prettier-ignore

it('calibration is judged by designs that were left out of the fit, or says that there are none', () => {
  expect(verdict(sampleProfile())).toMatch(
    /left out of the fit.*falls from 5\.2.* to 1\.4.*cooperation step, so (it keeps its value|they keep their values)/,
  );
  expect(verdict(sampleProfile({ heldOut: null }))).toMatch(/because there are too few to leave any out/);
  const worse = sampleProfile({ heldOut: { folds: 5, medianError: 0.06, p95Error: 0.2, spearman: 0.9 } });
  expect(verdict(worse)).toMatch(/^No gain .*6\.0.*5\.2/);
  expect(figureRows(sampleProfile({ heldOut: null })).map(({ heldOut }) => heldOut)).toEqual(['–', '–', '–']);
});

it('calibration shows the requested profile, or else the newest of the run', () => {
  const list = [sampleSavedProfile(3, { profile: sampleProfile({ sourceRunIds: [9] }) }), sampleSavedProfile(2), sampleSavedProfile(1)]; // prettier-ignore
  expect(shownProfile(list, 1, 12)!.id).toBe(1);
  expect(shownProfile(list, null, 12)!.id).toBe(2);
  expect(shownProfile(list, null, 99)).toBeNull();
});

describe('what the page knows of its GPU', () => {
  const page = { ...webgpu, id: PAGE_TARGET };
  const known = (threadGroupWidth: number | null, properties: Readonly<Record<string, number>>) =>
    pageLimits({ ...page, device: { ...sampleDetail().device!, threadGroupWidth, properties } });

  it('is sent to the engine, which chooses by it, and is not sent for other targets', () => {
    expect(known(4, { maxComputeInvocationsPerWorkgroup: 256 })).toEqual({ limits: { threadsPerUnit: 4, blockThreads: 256, bestBuckets: true } }); // prettier-ignore
    expect(known(null, {})).toEqual({ limits: { threadsPerUnit: null, blockThreads: null, bestBuckets: false } });
    expect(known(null, { subgroupMinSize: 8 }).limits).toMatchObject({ threadsPerUnit: 8, bestBuckets: false });
    expect(known(null, { subgroups: 0 }).limits).toEqual({ threadsPerUnit: 1, blockThreads: null, bestBuckets: false });
    for (const target of SAMPLE_TARGETS) expect(pageLimits(target)).toEqual({});
    for (const limits of [known(4, {}), known(null, {})])
      expect(v.safeParse(procedures['bench.start'].input, { target: PAGE_TARGET, ...limits, ...measuringInput(SETUP, 3) }).issues).toBeUndefined(); // prettier-ignore
  });

  it('is written in the words of a programming model', () => {
    const terms = { thread: 'work-item', threads: 'work-items', block: 'work-group' };
    for (const [quantity, atMost, words] of [
      ['threadsPerUnit', 4, 'up to 4 work-items per unit'],
      ['threadsPerUnit', 1, 'one work-item per unit'],
      ['blockThreads', 256, 'work-groups of up to 256'],
      ['registerCap', null, 'no register cap'],
      ['bestBuckets', null, 'no best buckets'],
      ['cores', 1, 'up to 1 core'],
    ] as const)
      expect(limitText({ quantity, atMost }, terms)).toBe(words);
  });
});
