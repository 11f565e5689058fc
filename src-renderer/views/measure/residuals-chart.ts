import type { EChartsOption } from '../../charts/echarts.ts';
import { plane, planeAxes, stroke, markTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, count, counted, percent, plain, signed } from '../../format/numbers.ts';
import { residualPercent, residualScale, type ResidualAxis } from './residuals.ts';

export interface ResidualsInput {
  readonly axes: readonly ResidualAxis[];
  readonly name: (axis: string) => string;
  readonly selected: number | null;
  readonly rowPx: number;
}

const HEAD = 26;
const RIGHT = 40;
const BOTTOM = 8;
/** The height of the scale, px. The scale is at the top, because the list may be longer than the panel. */
const TOP = 16;
const [MIN_ROW, MAX_ROW] = [18, 26];
const LETTER_PX = 6.4;

const lineCount = (axes: readonly ResidualAxis[]) => axes.reduce((sum, { rows }) => sum + rows.length, 0);

export function residualRowPx(axes: readonly ResidualAxis[], roomPx: number): number {
  const fit = Math.floor((roomPx - TOP - BOTTOM - axes.length * HEAD) / Math.max(1, lineCount(axes)));
  return Math.max(MIN_ROW, Math.min(MAX_ROW, fit));
}
export function residualsHeightPx(axes: readonly ResidualAxis[], rowPx: number): number {
  return TOP + axes.length * HEAD + lineCount(axes) * rowPx + BOTTOM;
}

function valueText(text: string): string {
  const number = Number(text);
  return text !== '' && Number.isFinite(number) ? plain(number, 6) : text;
}
function explainedText(share: number): string {
  if (Number.isNaN(share)) return 'too few designs';
  return share < 0.005 ? 'explains nothing' : `explains ${percent(share, 0)} of the variance`;
}

export function residualsChart(
  { axes, name, selected, rowPx }: ResidualsInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const { colour } = theme;
  const scale = residualScale(axes);
  const values = axes.flatMap(({ rows }) => rows.map(({ value }) => valueText(value)));
  const left = Math.max(104, ...values.map((value) => 28 + LETTER_PX * Math.min(22, value.length)));
  const area = plane(
    size,
    { left, right: RIGHT, top: 0, bottom: 0 },
    { low: -scale.reach, high: scale.reach },
    { low: 0, high: size.height },
  );
  const graphic: unknown[] = scale.ticks.flatMap(({ at, percent: value }) => [
    stroke([area.x(at), TOP + HEAD - 4, area.x(at), size.height - BOTTOM], at === 0 ? colour['line-2'] : colour.grid, {
      z: 0,
    }),
    words(
      theme,
      area.x(at),
      7,
      at === 0 ? '0' : `${signed(value, Math.abs(value - Math.round(value)) > 0.05 ? 1 : 0)}${NBSP}%`,
      { align: 'center' },
    ),
  ]);
  const dots: {
    readonly designIndex: number;
    readonly residual: number;
    readonly y: number;
    readonly value: string;
  }[] = [];
  let top = TOP;
  for (const axis of axes) {
    graphic.push(
      words(theme, 16, top + 13, name(axis.axis), { colour: 'text', bold: true }),
      words(theme, size.width - 12, top + 13, explainedText(axis.explained), { align: 'right' }),
    );
    axis.rows.forEach((row, r) => {
      const y = top + HEAD + (r + 0.5) * rowPx;
      const across = (from: number, to: number) => [from, y, to, y];
      graphic.push(
        words(theme, left - 12, y, valueText(row.value), { colour: 'text-2', align: 'right' }),
        stroke(across(area.left, area.right), colour.grid),
        stroke(across(area.x(row.low), area.x(row.high)), colour.base, { width: 5, opacity: 0.22 }),
        stroke([area.x(row.median), y - 5, area.x(row.median), y + 5], colour.text, { width: 2, z: 8 }),
        words(theme, size.width - 12, y, count(row.count), { align: 'right' }),
      );
      for (const dot of row.dots) dots.push({ ...dot, y, value: `${name(axis.axis)}: ${valueText(row.value)}` });
    });
    top += HEAD + axis.rows.length * rowPx;
  }
  dots.sort((a, b) => Number(a.designIndex === selected) - Number(b.designIndex === selected));
  const axesOption = planeAxes(theme, area);
  return {
    ...axesOption,
    xAxis: { ...axesOption.xAxis, axisLine: { show: false } },
    tooltip: markTip(theme, ({ dataIndex }) => {
      const dot = dots[dataIndex];
      return tooltipBody(dot.value, '', [
        { label: 'Design', value: String(dot.designIndex) },
        { label: 'Deviation from the line', value: `${signed(residualPercent(dot.residual))}${NBSP}%` },
      ]);
    }),
    series: [
      {
        type: 'scatter',
        clip: false,
        data: dots.map(({ designIndex, residual, y }) => {
          const isSelected = designIndex === selected;
          return {
            name: String(designIndex),
            value: [residual, size.height - y],
            symbolSize: isSelected ? 8 : 4.6,
            itemStyle: isSelected
              ? { color: colour.accent, borderColor: colour.bg, borderWidth: 1.5, opacity: 1 }
              : { color: colour.base, opacity: 0.75 },
          };
        }),
      },
    ],
    graphic: graphic as never,
  };
}

export function residualsText({ axis, explained, rows }: ResidualAxis, name: (axis: string) => string): string {
  const each = rows.map(
    (row) =>
      `${row.value}: median deviation ${signed(residualPercent(row.median))} %, ${counted(row.count, 'design')}.`,
  );
  return `${name(axis)} ${Number.isNaN(explained) ? 'has too few designs to judge its influence' : `explains ${percent(explained, 0)} of the variance`}. ${each.join(' ')}`;
}
