import type { UncertainDesign } from '../../src-main/contract/advice.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RankRow, SimulatedTime } from '../../src-main/contract/api.ts';
import { regimeInfo } from '../../src-workers/domain/regime.ts';
import { BREAKDOWN_PARTS, type Breakdown } from '../../src-workers/domain/breakdown.ts';
import { term } from '../../src-workers/domain/terms.ts';
import { pinnedOn, readBaselines } from '../../src-renderer/state/baselines.ts';
import { availableColumns, isShownAtFirst, placeColumns } from '../../src-renderer/views/ranking/columns.ts';
import { logPlace, logValue } from '../../src-renderer/views/ranking/distribution-chart.ts';
import { filterChips, passingText, rangeOf, toggled, UNBOUNDED } from '../../src-renderer/views/ranking/narrowing.ts';
import {
  clampTopPx,
  isScaled,
  lastTopPx,
  MAX_SCROLL_PX,
  revealPx,
  scrollHeightPx,
  scrollOfTopPx,
  topOfScrollPx,
  visibleRows,
  wantedPages,
} from '../../src-renderer/views/ranking/paging.ts';
import { waterfall } from '../../src-renderer/views/ranking/waterfall-chart.ts';
import { timeColumn } from '../../src-renderer/format/numbers.ts';
import { forAll } from '../for-all.ts';

const IN_MS = { ...timeColumn(1), decimals: 4 };

const geometries = fc.record({
  rowPx: fc.constantFrom(26, 30),
  count: fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 100_000, max: 64_000_000 })),
  viewPx: fc.integer({ min: 100, max: 2000 }),
});

it('pinned baselines are read as they were saved; earlier versions saved one for all devices', () => {
  expect(readBaselines({ enumerated: 90, designs: [4, 70] })).toEqual({ enumerated: 90, designs: [4, 70] });
  expect(readBaselines({ enumerated: 90, designIndex: 4 })).toEqual({ enumerated: 90, designs: [4] });
  expect([0, 1, 2].map((device) => pinnedOn({ enumerated: 90, designs: [4, 70] }, 90, 3, device))).toEqual([
    4,
    null,
    70,
  ]);
  expect(pinnedOn({ enumerated: 90, designs: [4] }, 60, 3, 0)).toBeNull();
  for (const other of [null, 7, { designs: [4] }, { enumerated: 90 }]) expect(readBaselines(other)).toBeNull();
});

describe('scrolling', () => {
  it('never makes an element taller than browsers allow, and reaches the last row', () => {
    forAll(geometries, (geometry) => {
      expect(scrollHeightPx(geometry)).toBeLessThanOrEqual(MAX_SCROLL_PX);
      const end = topOfScrollPx(geometry, Math.max(0, scrollHeightPx(geometry) - geometry.viewPx));
      // The tolerance covers the rounding of a product and a quotient.
      expect(Math.abs(end - lastTopPx(geometry))).toBeLessThanOrEqual(1e-6 * Math.max(1, lastTopPx(geometry)));
      expect(visibleRows(geometry, lastTopPx(geometry)).last).toBe(geometry.count);
    });
  });

  it('converts rows to positions of the scrollbar and back', () => {
    forAll(geometries, fc.double({ min: 0, max: 1, noNaN: true }), (geometry, part) => {
      const top = part * lastTopPx(geometry);
      const back = topOfScrollPx(geometry, scrollOfTopPx(geometry, top));
      expect(Math.abs(back - top)).toBeLessThanOrEqual(1e-6 * Math.max(1, top));
    });
  });

  it('scales positions only beyond the limit', () => {
    expect(isScaled({ rowPx: 26, count: 461_538, viewPx: 600 })).toBe(false);
    expect(isScaled({ rowPx: 26, count: 1_000_000, viewPx: 600 })).toBe(true);
  });

  it('scrolls until a row is completely visible, and not if it is visible already', () => {
    forAll(geometries, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (geometry, at, part) => {
      fc.pre(geometry.count > 0);
      const row = at % geometry.count;
      const top = revealPx(geometry, clampTopPx(geometry, part * lastTopPx(geometry)), row);
      expect(row * geometry.rowPx).toBeGreaterThanOrEqual(top - 1e-6);
      expect((row + 1) * geometry.rowPx).toBeLessThanOrEqual(top + geometry.viewPx + 1e-6);
      expect(revealPx(geometry, top, row)).toBe(top);
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
  term: (key: Parameters<typeof term>[0], form?: Parameters<typeof term>[2]) => term(key, 'cuda', form),
  validity: 'valid' as const,
  replications: null,
  measured: false,
  varies: new Set<string>(),
};
/** Context that a column needs to write its cells. */
const CONTEXT = { baseline: null, times: IN_MS, simulated: new Map(), stripScale: null };

describe('columns', () => {
  it('leave out axes that do not vary', () => {
    const ids = availableColumns({ ...WORLD, varies: new Set(['blockThreads']) }).map(({ id }) => id);
    expect(ids).not.toContain('device');
    expect(ids).not.toContain('registerCap');
    expect(ids).toContain('alongBlock');
  });

  it('fill their width, and never overflow it while a column can be dropped', () => {
    const all = availableColumns({ ...WORLD, varies: new Set(['device', 'balancing', 'registerCap', 'blockThreads']) });
    forAll(fc.integer({ min: 500, max: 2400 }), (px) => {
      const placed = placeColumns(all, 'both', px, 'timeMs');
      const sum = placed.reduce((total, { widthPx }) => total + widthPx, 0);
      const essential = all.filter(({ drop }) => drop === 0).reduce((total, { width }) => total + width, 0);
      expect(sum).toBeLessThanOrEqual(Math.max(px, essential));
      expect(sum).toBeGreaterThan(Math.min(px, 900) - 140);
    });
  });

  it('drop the sparkline first, then the occupancy difference, then occupancy', () => {
    const all = availableColumns({ ...WORLD, varies: new Set(['blockThreads']) });
    const gone = (px: number) => {
      const kept = new Set(placeColumns(all, 'both', px, 'timeMs').map(({ column }) => column.id));
      return all.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
    };
    const full = all.reduce((sum, { width }) => sum + width, 0);
    expect(gone(full)).toEqual([]);
    expect(gone(full - 1)).toEqual(['alongBlock']);
  });

  it('with simulated times replace only the sparkline', () => {
    const varies = new Set(['blockThreads', 'registerCap']);
    const placed = (replications: string | null, px: number) => {
      const all = availableColumns({ ...WORLD, varies, replications, ranked: 21_542, units: 1_048_576 });
      const shown = all.filter(({ id }) => isShownAtFirst(id));
      return placeColumns(shown, 'both', px, 'timeMs').map(({ column }) => column.id);
    };
    for (let px = 500; px <= 1600; px += 10)
      expect(placed('9 seeds', px)).toEqual(
        expect.arrayContaining(placed(null, px).filter((id) => id !== 'alongBlock')),
      );
    expect(placed('9 seeds', 936)).toEqual(
      expect.arrayContaining([...placed(null, 936), 'simulatedMs', 'replications']),
    );
  });

  it('show either values or differences, but never both for one figure', () => {
    const all = availableColumns(WORLD);
    const ids = (mode: 'values' | 'differences') =>
      placeColumns(all, mode, 5000, 'timeMs').map(({ column }) => column.id);
    expect(ids('values')).not.toContain('timeChange');
    expect(ids('differences')).not.toContain('timeMs');
    expect(ids('differences')).toContain('timeChange');
  });

  it('show the cores and the partition of a design for a CPU, and no blocks or threads', () => {
    const design = { threadsPerUnit: 1, unitsPerThread: 20, blockThreads: 1, gridBlocks: 42, balancing: 'row-split' };
    const texts = (balancing: string) =>
      Object.fromEntries(
        availableColumns({ ...WORLD, varies: new Set(['balancing']), cores: true })
          .filter(({ id }) =>
            ['threadsPerUnit', 'unitsPerThread', 'balancing', 'blockThreads', 'gridBlocks'].includes(id),
          )
          .map(({ id, text }) => [id, text({ design: { ...design, balancing }, invalid: null } as RankRow, CONTEXT)]),
      );
    expect(texts('row-split')).toEqual({ threadsPerUnit: '–', unitsPerThread: '–', balancing: 'row-split', blockThreads: '–', gridBlocks: '42 cores' }); // prettier-ignore
    expect(texts('none')).toEqual({ threadsPerUnit: '1', unitsPerThread: '20', balancing: 'none', blockThreads: '1', gridBlocks: '42' }); // prettier-ignore
  });

  it('show the expected loss of a weighed design', () => {
    const all = availableColumns({ ...WORLD, uncertain: true });
    const known = { expectedRegret: Math.log(1.04), chanceBest: 0.8 } as UncertainDesign;
    const context = { ...CONTEXT, uncertain: new Map([[7, known]]) };
    const written = (designIndex: number) =>
      ['regret', 'chance'].map((id) => all.find((each) => each.id === id)!.text({ designIndex } as RankRow, context));
    expect(written(7)).toEqual(['4.0', '80']);
    expect(written(8)).toEqual(['–', '–']);
    expect(availableColumns(WORLD).some(({ id }) => id === 'regret')).toBe(false);
  });

  it('write times of one list with the same decimals', () => {
    expect([0.8334, 4.118, 41.2, 412, 9999].map((ms) => [timeColumn(ms).unit.name, timeColumn(ms).decimals])).toEqual([
      ['µs', 1], ['ms', 3], ['ms', 2], ['ms', 1], ['s', 3],
    ]); // prettier-ignore
    const time = availableColumns(WORLD).find(({ id }) => id === 'timeMs')!;
    const row = { designIndex: 3, timeMs: 11, predictedMs: 12.5, invalid: null } as RankRow;
    expect(time.text(row, CONTEXT)).toBe('12.5000');
  });

  it('show simulated times beside predictions once there are any', () => {
    const columns = availableColumns({ ...WORLD, replications: '9 seeds' });
    const [simulated, difference] = (['simulatedMs', 'simulatedChange'] as const).map((id) =>
      columns.find((column) => column.id === id)!,
    );
    expect(availableColumns(WORLD).map(({ id }) => id)).not.toContain('simulatedMs');
    expect(columns.find(({ id }) => id === 'replications')?.head).toBe('9 seeds');
    const row = (designIndex: number) => ({ designIndex, predictedMs: 12.5, invalid: null }) as RankRow;
    const times = new Map([1, 2].map((design) => [design, { meanMs: 10 * design } as SimulatedTime]));
    const context = { ...CONTEXT, baseline: row(2), times: { ...IN_MS, decimals: 1 }, simulated: times };
    expect(simulated.text(row(1), context)).toBe('10.0');
    expect(difference.text(row(1), context)).toBe('−50.0');
    expect(simulated.text(row(3), context)).toBe('');
    expect(difference.text(row(3), context)).toBe('');
    // Without a simulated baseline, there is nothing to compare with.
    expect(difference.text(row(1), { ...context, baseline: row(3) })).toBe('–');
  });
});

describe('measured times', () => {
  const world = {
    ...WORLD,
    replications: '9 seeds',
    measured: true,
    varies: new Set(['device', 'balancing', 'registerCap', 'blockThreads']),
  };
  const row = (designIndex: number, medianMs: number | null) =>
    ({ designIndex, invalid: null, measured: medianMs === null ? null : { medianMs } }) as RankRow;

  it('have a separate column once there are any, with the difference to the baseline', () => {
    const all = availableColumns(world);
    expect(availableColumns({ ...world, measured: false }).map(({ id }) => id)).not.toContain('measuredMs');
    const [value, difference] = (['measuredMs', 'measuredChange'] as const).map((id) =>
      all.find((column) => column.id === id)!,
    );
    const context = { ...CONTEXT, baseline: row(1, 8), times: { ...IN_MS, decimals: 2 } };
    expect([value.text(row(2, 6), context), difference.text(row(2, 6), context)]).toEqual(['6.00', '−25.0']);
    expect([value.text(row(3, null), context), difference.text(row(3, null), context)]).toEqual(['', '']);
    expect(difference.text(row(2, 6), { ...context, baseline: row(1, null) })).toBe('–');
  });

  it('stay visible while a table of any width is sorted by them', () => {
    const all = availableColumns(world);
    const has = (sorted: 'timeMs' | 'measuredMs') =>
      placeColumns(all, 'both', 620, sorted).some(({ column }) => column.id === 'measuredMs');
    expect(has('timeMs')).toBe(false);
    expect(has('measuredMs')).toBe(true);
  });
});

describe('waterfall', () => {
  const breakdowns = fc
    .tuple(...BREAKDOWN_PARTS.map(() => fc.double({ min: 0, max: 5, noNaN: true })))
    .map((values): Breakdown => ({
      regime: regimeInfo('one-wave'),
      achieved: { issueFraction: 0.6, bandwidthGbS: null, bandwidthFraction: null, limit: 'issue' },
      timeMs: 0.1 + values.reduce((sum, value) => sum + value, 0),
      parts: Object.fromEntries(
        BREAKDOWN_PARTS.map(({ id }, i) => [id, values[i] + (i === 0 ? 0.1 : 0)]),
      ) as Breakdown['parts'],
    }));

  it('leads from one time to the other, with faster parts before slower ones', () => {
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
});

describe('filters', () => {
  it('are described part by part', () => {
    const words = { block: 'block', thread: 'thread' };
    const chips = filterChips(
      {
        threadsPerUnit: [2, 4],
        timeMs: { from: 0, to: 4.53 },
        gridBlocks: { from: 1000, to: UNBOUNDED },
        registerCap: [null, 64],
      },
      words,
    );
    expect(chips.map(({ label, value }) => `${label} ${value}`)).toEqual([
      'threads per unit 2, 4',
      'cap none, 64',
      'grid ≥ 1,000',
      'time ≤ 4.530\u00a0ms',
    ]);
    expect(filterChips({}, words)).toEqual([]);
  });

  it('drop a list that contains all of its values or none', () => {
    expect(toggled(undefined, [1, 2, 4], 4)).toEqual([4]);
    expect(toggled([4], [1, 2, 4], 4)).toBeUndefined();
    expect(toggled([2, 4], [1, 2, 4], 1)).toBeUndefined();
    expect(toggled([4], [1, 2, 4], 1)).toEqual([1, 4]);
  });

  it('leave an end of a range open', () => {
    expect(rangeOf(null, null)).toBeNull();
    expect(rangeOf(null, 50, 0.01)).toEqual({ from: 0, to: 0.5 });
    expect(rangeOf(3, null)).toEqual({ from: 3, to: UNBOUNDED });
  });
});

it('the logarithmic axis converts values to positions and back', () => {
  // The value passes through a logarithm and a power.
  expect(logValue(2, 16, logPlace(2, 16, 5))).toBeCloseTo(5, 12);
});

describe('the number of designs that pass a filter', () => {
  const run = { total: 122_880, valid: 112_808, bestOf: null, devices: 5 };
  it('is shown with the number of all valid designs, or of all designs including those that cannot run', () => {
    expect(passingText(1204, undefined, run)).toBe('1,204 of 112,808 valid designs of 5 devices');
    expect(passingText(9, 'all', run)).toBe('9 of 122,880 designs of 5 devices; 10,072 of all designs cannot run');
    expect(passingText(1, 'valid', { ...run, valid: 1, devices: 1 })).toBe('1 of 1 valid design');
    expect(passingText(7, undefined, { ...run, total: 10_000, valid: 10_000, bestOf: 2e9 })).toBe(
      '7 of the best 10,000 of 2,000,000,000 designs of 5 devices',
    );
  });
});
