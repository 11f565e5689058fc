import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UncertainDesign } from '../../src-main/contract/advice.ts';
import type { RankRow, SimulatedTime } from '../../src-main/contract/api.ts';
import { isRecomputedApart } from '../../src-renderer/format/breakdowns.ts';
import { NBSP, timeColumn } from '../../src-renderer/format/numbers.ts';
import { pinnedOn, readBaselines } from '../../src-renderer/state/baselines.ts';
import * as table from '../../src-renderer/views/ranking/columns.ts';
import { logPlace, logValue } from '../../src-renderer/views/ranking/distribution-chart.ts';
import { filterChips, passingText, rangeOf, toggled, UNBOUNDED } from '../../src-renderer/views/ranking/narrowing.ts';
import * as paging from '../../src-renderer/views/ranking/paging.ts';
import { waterfall } from '../../src-renderer/views/ranking/waterfall-chart.ts';
import * as breakdown from '../../src-workers/domain/breakdown.ts';
import { REGIME_INFO, regimeInfo } from '../../src-workers/domain/regime.ts';
import { term, type Term } from '../../src-workers/domain/terms.ts';
import { REGIMES } from '../../src-workers/predict/time/regimes.ts';
import { forAll, real, whole } from '../for-all.ts';

const IN_MS = { ...timeColumn(1), decimals: 4 };
const plainSpaces = (text: string) => text.replaceAll(NBSP, ' ');

it('pinned baselines are read as they were saved; earlier versions saved one for all devices', () => {
  const baselines = { enumerated: 90, designs: [4, 70] };
  expect(readBaselines(baselines)).toEqual(baselines);
  expect(readBaselines({ enumerated: 90, designIndex: 4 })).toEqual({ enumerated: 90, designs: [4] });
  expect([0, 1, 2].map((device) => pinnedOn(baselines, 90, 3, device))).toEqual([4, null, 70]);
  expect(pinnedOn(baselines, 60, 3, 0)).toBeNull();
  for (const other of [null, 7, { designs: [4] }, { enumerated: 90 }]) expect(readBaselines(other)).toBeNull();
});

describe('scrolling', () => {
  const geometries = fc.record({
    rowPx: fc.constantFrom(26, 30),
    count: fc.oneof(whole(0, 500), whole(100_000, 64_000_000)),
    viewPx: whole(100, 2000),
  });
  const { lastTopPx, scrollHeightPx, topOfScrollPx, wantedPages } = paging;

  it('never makes an element taller than browsers allow, reaches the last row, and converts positions back', () => {
    forAll(geometries, real(0, 1), (geometry, part) => {
      expect(scrollHeightPx(geometry)).toBeLessThanOrEqual(paging.MAX_SCROLL_PX);
      const last = lastTopPx(geometry);
      const end = topOfScrollPx(geometry, Math.max(0, scrollHeightPx(geometry) - geometry.viewPx));
      const top = part * last;
      const back = topOfScrollPx(geometry, paging.scrollOfTopPx(geometry, top));
      // The tolerance covers the rounding of a product and a quotient.
      expect(Math.abs(end - last)).toBeLessThanOrEqual(1e-6 * Math.max(1, last));
      expect(Math.abs(back - top)).toBeLessThanOrEqual(1e-6 * Math.max(1, top));
      expect(paging.visibleRows(geometry, last).last).toBe(geometry.count);
    });
    // Positions are scaled only beyond the limit.
    const scaled = [461_538, 1_000_000].map((count) => paging.isScaled({ rowPx: 26, count, viewPx: 600 }));
    expect(scaled).toEqual([false, true]);
  });

  it('scrolls until a row is completely visible, and not if it is visible already', () => {
    forAll(geometries, fc.nat(), real(0, 1), (geometry, at, part) => {
      fc.pre(geometry.count > 0);
      const row = at % geometry.count;
      const top = paging.revealPx(geometry, paging.clampTopPx(geometry, part * lastTopPx(geometry)), row);
      expect(row * geometry.rowPx).toBeGreaterThanOrEqual(top - 1e-6);
      expect((row + 1) * geometry.rowPx).toBeLessThanOrEqual(top + geometry.viewPx + 1e-6);
      expect(paging.revealPx(geometry, top, row)).toBe(top);
    });
  });

  it('requests visible rows first, then those ahead, and none beyond the list', () => {
    expect(wantedPages(450, 470, 1000, 100, true)).toEqual([4, 5, 3]);
    expect(wantedPages(450, 470, 1000, 100, false)).toEqual([4, 3, 5]);
    expect(wantedPages(90, 130, 1000, 100, true)).toEqual([0, 1, 2]);
    expect(wantedPages(0, 30, 30, 100, true)).toEqual([0]);
    expect(wantedPages(0, 0, 0, 100, true)).toEqual([]);
  });
});

/** Context of the columns in a list for a GPU, if no design has been simulated or measured. */
const WORLD = {
  term: ((key, form) => term(key, 'cuda', form)) satisfies Term,
  validity: 'valid' as const,
  replications: null,
  measured: false,
  varies: new Set<string>(),
};
const CONTEXT = { baseline: null, times: IN_MS, simulated: new Map(), stripScale: null };
type World = Parameters<typeof table.availableColumns>[0];
const varying = (...varies: readonly string[]) => ({ varies: new Set(varies) });

describe('columns', () => {
  const available = (world: Partial<World> = {}) => table.availableColumns({ ...WORLD, ...world });
  const idsOf = (world: Partial<World>) => available(world).map(({ id }) => id);
  const find = (columns: ReturnType<typeof available>, id: string) => columns.find((each) => each.id === id)!;
  const everyAxis = varying('device', 'balancing', 'registerCap', 'blockThreads');
  type Context = Parameters<ReturnType<typeof available>[number]['text']>[1];

  it('leave out axes that do not vary, and figures that nobody computed', () => {
    const ids = idsOf(varying('blockThreads'));
    expect(ids).toContain('alongBlock');
    for (const id of ['device', 'registerCap', 'simulatedMs', 'measuredMs', 'regret']) expect(ids).not.toContain(id);
  });

  it('fill their width, and never overflow it while a column can be dropped', () => {
    const all = available(everyAxis);
    const widthOf = (columns: typeof all) => columns.reduce((sum, { width }) => sum + width, 0);
    forAll(whole(500, 2400), (px) => {
      const placed = table.placeColumns(all, 'both', px, 'timeMs');
      const sum = placed.reduce((total, { widthPx }) => total + widthPx, 0);
      expect(sum).toBeLessThanOrEqual(Math.max(px, widthOf(all.filter(({ drop }) => drop === 0))));
      expect(sum).toBeGreaterThan(Math.min(px, 900) - 140);
    });
    // The sparkline is dropped first.
    const block = available(varying('blockThreads'));
    const gone = (px: number) => {
      const kept = new Set(table.placeColumns(block, 'both', px, 'timeMs').map(({ column }) => column.id));
      return block.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
    };
    expect([gone(widthOf(block)), gone(widthOf(block) - 1)]).toEqual([[], ['alongBlock']]);
  });

  it('with simulated times replace only the sparkline', () => {
    const placed = (replications: string | null, px: number) => {
      const size = { ranked: 21_542, units: 1_048_576 };
      const all = available({ ...varying('blockThreads', 'registerCap'), replications, ...size });
      const shown = all.filter(({ id }) => table.isShownAtFirst(id));
      return table.placeColumns(shown, 'both', px, 'timeMs').map(({ column }) => column.id);
    };
    for (let px = 500; px <= 1600; px += 10) {
      const others = placed(null, px).filter((id) => id !== 'alongBlock');
      expect(placed('9 seeds', px)).toEqual(expect.arrayContaining(others));
    }
    const both = [...placed(null, 936), 'simulatedMs', 'replications'];
    expect(placed('9 seeds', 936)).toEqual(expect.arrayContaining(both));
  });

  it('show either values or differences, but never both for one figure', () => {
    const has = (mode: 'values' | 'differences') => {
      const ids = table.placeColumns(available(), mode, 5000, 'timeMs').map(({ column }) => column.id);
      return ids.filter((id) => id === 'timeMs' || id === 'timeChange');
    };
    expect([has('values'), has('differences')]).toEqual([['timeMs'], ['timeChange']]);
  });

  it('stay visible while a table of any width is sorted by them', () => {
    const all = available({ ...everyAxis, replications: '9 seeds', measured: true });
    const has = (sorted: 'timeMs' | 'measuredMs') =>
      table.placeColumns(all, 'both', 620, sorted).some(({ column }) => column.id === 'measuredMs');
    expect([has('timeMs'), has('measuredMs')]).toEqual([false, true]);
  });

  it('show the cores and the partition of a design for a CPU, and no blocks or threads', () => {
    const columns = available({ ...varying('balancing'), cores: true });
    const design = { threadsPerUnit: 1, unitsPerThread: 20, blockThreads: 1, gridBlocks: 42 };
    const texts = (balancing: string) =>
      ['threadsPerUnit', 'unitsPerThread', 'balancing', 'blockThreads', 'gridBlocks'].map((id) =>
        find(columns, id).text({ design: { ...design, balancing }, invalid: null } as RankRow, CONTEXT),
      );
    expect(texts('row-split')).toEqual(['–', '–', 'row-split', '–', '42 cores']);
    expect(texts('none')).toEqual(['1', '20', 'none', '1', '42']);
  });

  it('show the expected regret of a weighed design, and times with the decimals of their list', () => {
    const all = available({ uncertain: true });
    const known = { expectedRegret: Math.log(1.04), chanceBest: 0.8 } as UncertainDesign;
    const context = { ...CONTEXT, uncertain: new Map([[7, known]]) };
    const row = (designIndex: number) => ({ designIndex, timeMs: 11, predictedMs: 12.5, invalid: null }) as RankRow;
    const written = (at: number) => ['regret', 'chance', 'timeMs'].map((id) => find(all, id).text(row(at), context));
    expect(written(7)).toEqual(['4.0', '80', '12.5000']);
    expect(written(8)).toEqual(['–', '–', '12.5000']);
    const decimals = [0.8334, 4.118, 41.2, 412, 9999].map((ms) => [timeColumn(ms).unit.name, timeColumn(ms).decimals]);
    expect(decimals.join(' ')).toBe('µs,1 ms,3 ms,2 ms,1 s,3');
  });

  it('show simulated and measured times beside predictions, with their difference to the baseline, once there are any', () => {
    const columns = available({ replications: '9 seeds', measured: true });
    expect(find(columns, 'replications').head).toBe('9 seeds');
    const texts = (kind: 'simulated' | 'measured', row: RankRow, context: Context) =>
      [`${kind}Ms`, `${kind}Change`].map((id) => find(columns, id).text(row, context));
    const row = (designIndex: number, medianMs: number | null = null) =>
      ({ designIndex, predictedMs: 12.5, invalid: null, measured: medianMs === null ? null : { medianMs } }) as RankRow;
    const times = new Map([1, 2].map((design) => [design, { meanMs: 10 * design } as SimulatedTime]));
    const context = { ...CONTEXT, baseline: row(2, 8), times: { ...IN_MS, decimals: 1 }, simulated: times };
    expect(texts('simulated', row(1), context)).toEqual(['10.0', '−50.0']);
    expect(texts('simulated', row(3), context)).toEqual(['', '']);
    expect(texts('measured', row(1, 6), context)).toEqual(['6.0', '−25.0']);
    expect(texts('measured', row(1), context)).toEqual(['', '']);
    // If the baseline has no such time, there is nothing to compare with.
    const unknown = { ...context, baseline: row(3) };
    expect(texts('simulated', row(1), unknown)).toEqual(['10.0', '–']);
    expect(texts('measured', row(1, 6), unknown)).toEqual(['6.0', '–']);
  });
});

describe('parts of a time', () => {
  const { BREAKDOWN_PARTS } = breakdown;
  const NO_BYTES = { bandwidthGbS: null, bandwidthFraction: null };
  const achieved: breakdown.Achieved = { issueFraction: 0.6, ...NO_BYTES, limit: 'issue' };
  const made = (timeMs: number, parts: object): breakdown.Breakdown =>
    ({ regime: regimeInfo('one-wave'), achieved, timeMs, parts }) as breakdown.Breakdown;

  it('are marked if they were computed by another model than the time they explain: their sum differs by more than 0.5 %', () => {
    const marked = [1.006, 0.994, 1.004, 0.996, null].map((timeMs) =>
      isRecomputedApart({ predictedMs: 1, breakdown: timeMs === null ? null : made(timeMs, {}) }),
    );
    expect(marked).toEqual([true, true, false, false, false]);
  });

  it('are shown without a negative part, and add up to the time', () => {
    const none = Object.fromEntries(BREAKDOWN_PARTS.map(({ id }) => [id, 0]));
    const shown = breakdown.shownParts(made(2, { ...none, idealWork: 3, imbalance: 1, lastWave: -2 }));
    expect(shown).toEqual({ ...none, idealWork: 1.5, imbalance: 0.5 });
    const usual = made(3, { ...none, idealWork: 2, imbalance: 1 });
    expect(breakdown.shownParts(usual)).toBe(usual.parts);
  });

  it('lead from one time to another in a waterfall, with faster parts before slower ones', () => {
    const breakdowns = fc.tuple(...BREAKDOWN_PARTS.map(() => real(0, 5))).map((values) => {
      const parts = Object.fromEntries(BREAKDOWN_PARTS.map(({ id }, i) => [id, values[i] + (i === 0 ? 0.1 : 0)]));
      return made(0.1 + values.reduce((sum, value) => sum + value, 0), parts);
    });
    forAll(breakdowns, breakdowns, (from, to) => {
      const steps = waterfall(from, to);
      const end = steps.at(-1)?.toMs ?? from.timeMs;
      // Steps below 0.05 % of the baseline are left out. There are seven parts.
      expect(Math.abs(end - to.timeMs)).toBeLessThanOrEqual(7 * 5e-4 * from.timeMs + 1e-9);
      const signs = steps.map(({ changeMs }) => Math.sign(changeMs));
      expect(signs).toEqual([...signs].sort((a, b) => a - b));
      steps.forEach((step, i) => expect(step.fromMs).toBe(i === 0 ? from.timeMs : steps[i - 1].toMs));
    });
  });

  it.each<[Partial<breakdown.Achieved>, string]>([
    [{}, '60 % of peak instruction issue, which limits the launch'],
    [
      { bandwidthGbS: 1234.5, bandwidthFraction: 0.8, limit: 'bandwidth' },
      '60 % of peak instruction issue; 1,230 GB/s, 80 % of peak bandwidth, which limits the launch',
    ],
    [
      { issueFraction: 0.041, bandwidthGbS: 3, bandwidthFraction: 0.02, limit: null },
      '4.1 % of peak instruction issue; 3 GB/s, 2.0 % of peak bandwidth; neither limits the launch',
    ],
    [{ issueFraction: null, bandwidthGbS: 90, bandwidthFraction: 0.9, limit: null }, '90 GB/s, 90 % of peak bandwidth'],
  ])('have the fractions of the peaks that are reached, and the peak that limits: %j', (change, said) =>
    expect(plainSpaces(breakdown.achievedText({ ...achieved, ...change }))).toBe(said),
  );

  it.each([
    [0.00512, 0.0531, 1775, '0.5 % in the median, 5.3 % at the 95th percentile (1,775 designs)'],
    [0.0004, 0.0006, 20, 'less than 0.1 % in the median, 0.1 % at the 95th percentile (20 designs)'],
    // Both figures are written alike, so only one is shown.
    [0, 0, 206, 'less than 0.1 % (206 designs)'],
  ])('have a regime with its accuracy: %f, %f of %i designs', (median, p95, designs, said) => {
    const text = breakdown.regimeText({ label: 'A few waves', accuracy: { median, p95, designs } });
    expect(plainSpaces(text)).toBe(`Predicted as: A few waves. Such predictions differ from simulation by ${said}.`);
  });

  it('have a regime without an accuracy if none is known, and regimes are listed as they are tried', () => {
    const text = breakdown.regimeText({ label: 'A few waves', accuracy: null });
    expect(plainSpaces(text)).toBe('Predicted as: A few waves.');
    expect(REGIME_INFO.map(({ id }) => id).slice(0, REGIMES.length)).toEqual(REGIMES.map(({ id }) => id));
  });
});

describe('filters', () => {
  it('are described part by part', () => {
    const words = { block: 'block', thread: 'thread' };
    const filter = {
      threadsPerUnit: [2, 4],
      timeMs: { from: 0, to: 4.53 },
      gridBlocks: { from: 1000, to: UNBOUNDED },
      registerCap: [null, 64],
    };
    const chips = filterChips(filter, words);
    const said = chips.map(({ label, value }) => plainSpaces(`${label} ${value}`));
    expect(said).toEqual(['threads per unit 2, 4', 'cap none, 64', 'grid ≥ 1,000', 'time ≤ 4.530 ms']);
    expect(filterChips({}, words)).toEqual([]);
  });

  it('drop a list that contains all of its values or none, and leave an end of a range open', () => {
    expect(toggled(undefined, [1, 2, 4], 4)).toEqual([4]);
    expect(toggled([4], [1, 2, 4], 4)).toBeUndefined();
    expect(toggled([2, 4], [1, 2, 4], 1)).toBeUndefined();
    expect(toggled([4], [1, 2, 4], 1)).toEqual([1, 4]);
    expect(rangeOf(null, null)).toBeNull();
    expect(rangeOf(null, 50, 0.01)).toEqual({ from: 0, to: 0.5 });
    expect(rangeOf(3, null)).toEqual({ from: 3, to: UNBOUNDED });
    // On the logarithmic axis, a value passes through a logarithm and a power.
    expect(logValue(2, 16, logPlace(2, 16, 5))).toBeCloseTo(5, 12);
  });

  it('are shown with the number of all valid designs, or of all designs including those that cannot run', () => {
    const run = { total: 122_880, valid: 112_808, bestOf: null, devices: 5 };
    const best = { ...run, total: 10_000, valid: 10_000, bestOf: 2e9 };
    expect(passingText(1204, undefined, run)).toBe('1,204 of 112,808 valid designs of 5 devices');
    expect(passingText(9, 'all', run)).toBe('9 of 122,880 designs of 5 devices; 10,072 of all designs cannot run');
    expect(passingText(1, 'valid', { ...run, valid: 1, devices: 1 })).toBe('1 of 1 valid design');
    expect(passingText(7, undefined, best)).toBe('7 of the best 10,000 of 2,000,000,000 designs of 5 devices');
  });
});
