import { describe, expect, it } from 'vitest';
import type { Histogram } from '../../../src-main/contract/api.ts';
import { curvesChart, curvesTable, type Curve, type CurvesInput } from '../../../src-renderer/charts/curves.ts';
import { sliceChart } from '../../../src-renderer/charts/slice.ts';
import { widthPx, timeColumn } from '../../../src-renderer/format/numbers.ts';
import { granularityChart } from '../../../src-renderer/views/compare/granularity-chart.ts';
import { occupancyAt } from '../../../src-renderer/views/compare/occupancy-chart.ts';
import * as residuals from '../../../src-renderer/views/measure/residuals-chart.ts';
import { distributionChart, type DistributionInput } from '../../../src-renderer/views/ranking/distribution-chart.ts';
import { waterfallChart } from '../../../src-renderer/views/ranking/waterfall-chart.ts';
import { BREAKDOWN_PARTS, type Breakdown, type BreakdownPart } from '../../../src-workers/domain/breakdown.ts';
import { regimeInfo } from '../../../src-workers/domain/regime.ts';
import { countOf, draw, tipOf, wordsOf } from './chart-drawing.ts';

const IN_MS = { ...timeColumn(1), decimals: 2 };
const expectWords = (svg: string, ...words: readonly string[]) =>
  expect(wordsOf(svg)).toEqual(expect.arrayContaining([...words]));

describe('curves', () => {
  const curves: readonly Curve[] = [
    { name: 'model', series: 1, points: [1, 2, 4, 8].map((n) => [n, 1 + Math.log2(n) / 3] as const) },
    { name: 'measured', series: 2, dots: true, points: [[2, 1.4], [8, 2.1]] }, // prettier-ignore
  ];
  const input = { curves, xTitle: 'units', yTitle: 'loss', log2: true, yFrom: 1 };
  const drawCurve = (points: Curve['points'], change: Partial<CurvesInput> = {}) =>
    draw(curvesChart, { ...input, curves: [{ name: 'a', series: 3, points }], ...change });

  it('have names and last values at the ends of lines, titles and ticks', () =>
    expectWords(draw(curvesChart, input), 'model', 'measured', '2.1', '2', 'units', 'loss', '1', '4', '8'));
  it('have the values at the chosen place instead of the last ones, and its tick in bold', () => {
    const svg = draw(curvesChart, { ...input, at: 2 });
    expect(wordsOf(svg)).toContain('1.333');
    expect(wordsOf(svg)).not.toContain('2.1');
    expect(svg).toMatch(/<text[^>]*font-weight:600[^>]*>2<\/text>/);
  });
  it('have room for the longest number of the y axis', () => {
    const points = [[1, 20_000], [2, 210_000]] as const; // prettier-ignore
    const svg = drawCurve(points, { yFrom: 0 });
    const [, right] = /<text[^>]*text-anchor="end"[^>]*translate\(([\d.]+)[^>]*>200,000</.exec(svg)!;
    expect(Number(right)).toBeGreaterThanOrEqual('200,000'.length * 6);
  });
  it('leave gaps where a value is missing', () => {
    const points = [[1, 1], [2, NaN], [4, 2], [8, 3]] as const; // prettier-ignore
    const svg = drawCurve(points);
    expect(/<path d="([^"]*)"[^>]*stroke="series-3"[^>]*stroke-linejoin/.exec(svg)![1].match(/M/g)).toHaveLength(2);
  });
  it('become a table with a row for each place', () =>
    expect(curvesTable(curves, 'units')).toEqual([
      ['units', 'model', 'measured'],
      [1, 1, ''],
      [2, 1 + 1 / 3, 1.4],
      [4, 1 + 2 / 3, ''],
      [8, 2, 2.1],
    ]));
});

it('slices state what is cut, and where the baseline is, and draw a line over numbers, but only dots over names', () => {
  const slice = (values: readonly string[]) =>
    draw(sliceChart, {
      values,
      timeMs: [2.5, 2, 1, 40],
      at: 1,
      baselineMs: 2.4,
      times: IN_MS,
      axisTitle: 'block size',
      labelBaseline: true,
    });
  const svg = slice(['32', '64', '128', '256']);
  expectWords(svg, 'block size; 1 slower value not drawn', 'baseline 2.40');
  expect(svg).toMatch(/<text[^>]*font-weight:600[^>]*>64<\/text>/);
  expect(countOf(svg, 'accent')).toBe(1);
  const lines = [svg, slice(['none', 'sorted', 'fetch', 'all'])];
  expect(lines.map((one) => one.split('stroke="series-1" stroke-width="1.5"').length - 1)).toEqual([1, 0]);
});

describe('the distribution of all designs', () => {
  const histogram: Histogram = {
    edgesMs: Float64Array.from({ length: 5 }, (_, i) => 2 ** i),
    counts: Int32Array.of(3, 0, 40, 7),
    best: 1,
    median: 4.5,
    beyond: 10,
  } as never;
  const baseline = { timeMs: 3, rank: 12 };
  const distribution = (change: Partial<DistributionInput> = {}) => {
    const input = { histogram, baseline, brush: null, times: IN_MS, narrowed: false, ...change };
    return draw(distributionChart, input, { width: 800, height: 96 });
  };
  const bars = (svg: string) =>
    [...svg.matchAll(/fill="series-1"( fill-opacity="0.45")?/g)].map(([, pale]) => Boolean(pale));

  it('has a bar for each range with designs, which is pale if it is slower than the baseline', () => {
    expect(bars(distribution())).toEqual([false, true, true]);
    expect(bars(distribution({ baseline: null }))).toEqual([false, false, false]);
  });
  it('names the best, the baseline and the median, and shows the selected designs', () => {
    expectWords(distribution(), 'best', ' 1.00', 'baseline', ' 3.00, rank 12', 'median', ' 4.50');
    expect(countOf(distribution(), 'accent')).toBe(1);
    const svg = distribution({ brush: { from: 0, to: 0.5 } });
    expect(countOf(svg, 'accent')).toBe(3);
    // The mark is behind the bars and the words.
    const mark = svg.lastIndexOf('fill-opacity="0.22"');
    expect(mark).toBeLessThan(Math.min(svg.indexOf('series-1'), svg.indexOf('>best<')));
  });
});

it('the waterfall leads from the baseline to the design, faster parts first, and ends its bars before their values', () => {
  const parts = Object.fromEntries(BREAKDOWN_PARTS.map(({ id }) => [id, 0])) as Record<BreakdownPart, number>;
  const from: Breakdown = {
    regime: regimeInfo('one-wave'),
    achieved: { issueFraction: 0.6, bandwidthGbS: null, bandwidthFraction: null, limit: 'issue' },
    timeMs: 10,
    parts: { ...parts, idealWork: 6, imbalance: 4 },
  };
  const to: Breakdown = { ...from, timeMs: 8, parts: { ...parts, idealWork: 5, latency: 2, imbalance: 1 } };
  const size = { width: 260, height: 100 };
  const waterfall = (decimals: number) => draw(waterfallChart, { from, to, times: { ...IN_MS, decimals } }, size);

  const svg = waterfall(1);
  const words = 'Baseline 10.0 Imbalance −3.0 Ideal work −1.0 Latency +2.0 This design 8.0';
  expect(wordsOf(svg).join(' ')).toBe(words);
  expect([countOf(svg, 'faster'), countOf(svg, 'slower'), countOf(svg, 'base')]).toEqual([2, 1, 1]);
  for (const decimals of [1, 4, 6]) {
    const [, x, barWidth] = /<path d="M([\d.]+) [\d.]+l([\d.]+) [^"]*" fill="base"/.exec(waterfall(decimals))!;
    expect(Number(x) + Number(barWidth)).toBeLessThanOrEqual(size.width - 8 - widthPx(`−3.${'0'.repeat(decimals)}`));
  }
  const tip = tipOf(waterfallChart, { from, to, times: timeColumn(0.02) }, { dataIndex: 1 });
  expect(tip).toContain('−3,000.00\u00a0µs');
});

it('the occupancy is read by the drawn steps of its curve, and is unknown beyond the end', () => {
  const points = [1, 2, 3, 4].map((x) => ({ x: 32 * x, y: 1 - x / 8 }));
  expect([64, 500].map((threads) => occupancyAt(points as never, threads))).toEqual([0.75, NaN]);
});

it('the granularity has a ring at the fastest point of each device, and its name at the end of its line', () => {
  const curve = (short: string, series: number, times: readonly number[]) => {
    const points = times.map((timeMs, i) => ({ threadsPerUnit: 2 ** i, timeMs }));
    return { name: `${short} long`, short, series, points };
  };
  const curves = [curve('A100', 0, [5, 3, 4]), curve('V100', 1, [9, NaN, 8])];
  const svg = draw(granularityChart, { curves, axisTitle: 'threads per unit' });
  expect(countOf(svg, 'text')).toBeGreaterThanOrEqual(4); // There are two names and two rings.
  expect(svg.match(/stroke="text"/g)).toHaveLength(2);
  expectWords(svg, 'A100', 'V100', '1', '2', '4', 'threads per unit');
});

it('residuals by axis have a dot for each design, with the selected one on top, and state how much each axis explains', () => {
  const row = (value: string, [low, median, high]: readonly [number, number, number]) => {
    const dots = [low, median, high].map((residual, i) => ({ designIndex: 10 * value.length + i, residual }));
    return { value, low, median, high, count: 3, dots };
  };
  const rows = [row('none', [-0.2, 0, 0.1]), row('flattened', [0, 0.1, 0.3])];
  const axes = [{ axis: 'loop', explained: 0.31, rows }];
  const rowPx = residuals.residualRowPx(axes, 400);
  const size = { width: 500, height: residuals.residualsHeightPx(axes, rowPx) };
  const input = { axes, name: (axis: string) => `Axis ${axis}`, selected: 41, rowPx };
  const svg = draw(residuals.residualsChart, input, size);
  expect(svg.match(/<path[^>]*fill="base"[^>]*fill-opacity="0.75"/g)).toHaveLength(5);
  expect(svg.match(/<path[^>]*fill="accent"/g)).toHaveLength(1);
  expect(svg.lastIndexOf('fill="accent"')).toBeGreaterThan(svg.lastIndexOf('fill="base"'));
  expectWords(svg, 'Axis loop', 'explains 31\u00a0% of the variance', 'none', 'flattened', '3');
});
