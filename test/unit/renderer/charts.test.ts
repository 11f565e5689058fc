import { describe, expect, it } from 'vitest';
import { curvesChart, curvesTable, type Curve } from '../../../src-renderer/charts/curves.ts';
import { sliceChart } from '../../../src-renderer/charts/slice.ts';
import { drawn, countOf, wordsOf } from './chart-drawing.ts';

const SIZE = { width: 480, height: 250 };

describe('curves', () => {
  const curves: readonly Curve[] = [
    { name: 'model', series: 1, points: [1, 2, 4, 8].map((n) => [n, 1 + Math.log2(n) / 3] as const) },
    { name: 'measured', series: 2, dots: true, points: [[2, 1.4], [8, 2.1]] }, // prettier-ignore
  ];
  const input = { curves, xTitle: 'units', yTitle: 'loss', log2: true, yFrom: 1 };

  it('have their names and last values at their ends, titles and ticks', () => {
    const words = wordsOf(drawn((theme, size) => curvesChart(input, theme, size), SIZE));
    for (const word of ['model', 'measured', '2.1', '2', 'units', 'loss', '1', '4', '8']) expect(words).toContain(word);
  });
  it('have the values at the chosen place instead of the last ones, and its tick in bold', () => {
    const svg = drawn((theme, size) => curvesChart({ ...input, at: 2 }, theme, size), SIZE);
    expect(wordsOf(svg)).toContain('1.333');
    expect(wordsOf(svg)).not.toContain('2.1');
    expect(svg).toMatch(/<text[^>]*font-weight:600[^>]*>2<\/text>/);
  });
  it('leave gaps where a value is missing', () => {
    const points = [[1, 1], [2, NaN], [4, 2], [8, 3]] as const; // prettier-ignore
    const svg = drawn((theme, size) => curvesChart({ ...input, curves: [{ name: 'a', series: 3, points }] }, theme, size), SIZE); // prettier-ignore
    const line = /<path d="([^"]*)"[^>]*stroke="series-3"[^>]*stroke-linejoin/.exec(svg)![1];
    expect(line.match(/M/g)).toHaveLength(2);
  });
  it('become a table with a row for each place', () => {
    expect(curvesTable(curves, 'units')).toEqual([
      ['units', 'model', 'measured'],
      [1, 1, ''],
      [2, 1 + 1 / 3, 1.4],
      [4, 1 + 2 / 3, ''],
      [8, 2, 2.1],
    ]);
  });
});

describe('slices', () => {
  const input = {
    values: ['32', '64', '128', '256'],
    timeMs: [4, 2, 1, 40],
    at: 1,
    baselineMs: 3,
    decimals: 2,
    axisTitle: 'block size',
    clip: 6,
    labelBaseline: true,
  };
  const draw = (change: Partial<typeof input> = {}) => drawn((theme, size) => sliceChart({ ...input, ...change }, theme, size), SIZE); // prettier-ignore

  it('say what is cut, and where the baseline lies', () => {
    const words = wordsOf(draw());
    expect(words).toContain('block size; 1 slower not drawn');
    expect(words).toContain('baseline 3.00');
    expect(draw()).toMatch(/<text[^>]*font-weight:600[^>]*>64<\/text>/);
    expect(countOf(draw(), 'accent')).toBe(1);
  });
  it('draw a line over numbers, and only dots over names', () => {
    const lines = (svg: string) => svg.match(/stroke="series-1" stroke-width="1.5"/g) ?? [];
    expect(lines(draw())).toHaveLength(1);
    expect(lines(draw({ values: ['none', 'sorted', 'fetch', 'all'] }))).toHaveLength(0);
  });
});
