import { multiples, niceBounds, stepDecimals } from '../../src-workers/numeric/ticks.ts';
import { NBSP, change, fixed, inColumn, type TimeColumn } from '../format/numbers.ts';
import type { EChartsOption } from './echarts.ts';
import { CHARACTER_PX, fitTexts, freePlace, labelled, labelStride } from './labels.ts';
import { plane, planeAxes, spot, stroke, axisTip, tooltipBody, words, type ChartSize } from './parts.ts';
import type { ChartTheme } from './theme.svelte.ts';

export interface SliceInput {
  readonly values: readonly string[];
  /** Time at each value, ms; NaN leaves a gap. */
  readonly timeMs: ArrayLike<number>;
  readonly at: number;
  readonly baselineMs: number | null;
  readonly times: TimeColumn;
  readonly axisTitle: string;
  readonly labelBaseline: boolean;
}

const RIGHT = 12;
const ROW_PX = 12;
const CLIP = 3;
const MAX_DOTS = 40;

/** Whether values are words. Words have no order, so a line between two of them would mean nothing. */
function areNames(values: readonly string[]): boolean {
  return values.some((value) => value !== 'none' && Number.isNaN(Number(value.replaceAll(',', ''))));
}

export function sliceChart(
  { values, timeMs, at, baselineMs, times, axisTitle, labelBaseline }: SliceInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const all = Array.from(timeMs);
  const finite = all.filter((value) => Number.isFinite(value));
  const best = Math.min(...finite);
  const here = all[at];
  const named = areNames(values);
  // On a numeric axis, the line is clipped, as a very slow end would flatten the rest. Dots at names need no limit.
  const limit = named ? Infinity : Math.max(best * CLIP, Number.isFinite(here) ? here : 0);
  const cut = finite.filter((value) => value > limit).length;
  const baseline = baselineMs !== null && baselineMs > 0 && baselineMs < limit ? baselineMs : null;
  const bounds = niceBounds(
    Math.min(best, baseline ?? Infinity),
    Math.max(...finite.filter((value) => value <= limit), baseline ?? 0),
  );
  const tick = (ms: number): string => fixed(ms * times.unit.perMs, stepDecimals(bounds.step * times.unit.perMs));
  const ticks = multiples(bounds.low, bounds.high, bounds.step);
  // The margin fits the longest tick label. It has a minimum, so that stacked plots usually share their left edge.
  const left = Math.max(34, 10 + CHARACTER_PX * Math.max(...ticks.map((ms) => tick(ms).length)));
  // Each name is in the middle of its band, so the axis extends half a band beyond the first and the last.
  const ends = named || values.length < 2 ? [-0.5, values.length - 0.5] : [0, values.length - 1];
  const plotPx = size.width - left - RIGHT;
  const stride = named && plotPx / values.length >= 34 ? 1 : labelStride(values.length, plotPx, 46);
  const roomPx = (stride * plotPx) / values.length;
  const rows = named && fitTexts(values, roomPx).some((text, i) => text !== values[i]) ? 2 : 1;
  const bottom = 32 + (rows - 1) * ROW_PX;
  const area = plane(size, { left, right: RIGHT, top: 6, bottom }, { low: ends[0], high: ends[1] }, bounds);
  const texts = named ? fitTexts(values, rows * roomPx) : values;
  const blue = theme.series[0];
  const baseY = baseline === null ? 0 : area.y(baseline);
  const place = `baseline ${inColumn(baseline ?? 0, times)}`;
  const free = freePlace(
    all.map((ms, i) => [area.x(i), area.y(ms)]),
    baseY,
    { left: area.left, right: area.right, top: 4, widthPx: place.length * CHARACTER_PX },
  );
  const axes = planeAxes(theme, area, { y: { ticks, format: tick } });
  return {
    ...axes,
    tooltip: axisTip(theme, 'none', ({ value: [i, ms] }) =>
      tooltipBody(`${values[i]}`, axisTitle, [
        { label: 'Predicted', value: `${inColumn(ms, times)}${NBSP}${times.unit.name}` },
        { label: 'to best here', value: `${change(ms, best)}${NBSP}%` },
        ...(baselineMs !== null && baselineMs > 0
          ? [{ label: 'to baseline', value: `${change(ms, baselineMs)}${NBSP}%` }]
          : []),
      ]),
    ),
    series: [
      {
        type: 'line',
        data: all.map((ms, i) => [i, Number.isFinite(ms) ? ms : '-']),
        clip: true,
        symbol: 'circle',
        showSymbol: values.length <= MAX_DOTS,
        showAllSymbol: true,
        symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) =>
          dataIndex === at || all[dataIndex] > limit ? 0 : named ? 6 : 3.2,
        itemStyle: { color: blue },
        lineStyle: { color: blue, width: named ? 0 : 1.5, join: 'round' },
        emphasis: { scale: false, lineStyle: { width: named ? 0 : 1.5 } },
      },
      spot([at, here], 9, { color: theme.colour.accent, borderColor: theme.colour.bg, borderWidth: 1 }),
    ] as never,
    graphic: [
      ...(baseline === null
        ? []
        : [stroke([area.left, baseY, area.right, baseY], theme.colour.base, { dash: [4, 3] })]),
      ...(baseline !== null && labelBaseline
        ? [words(theme, free.x, baseY + (free.above ? -8 : 9), place, { halo: true })]
        : []),
      ...labelled(values.length, stride, at, stride * 0.75).map((i, order) =>
        words(theme, area.x(i), area.bottom + 11 + (order % rows) * ROW_PX, texts[i], {
          align: named ? 'center' : i === values.length - 1 ? 'right' : i === 0 ? 'left' : 'center',
          ...(i === at && { colour: 'text' as const, bold: true }),
        }),
      ),
      words(
        theme,
        area.right,
        area.bottom + bottom - 7,
        `${axisTitle}${cut > 0 ? `; ${cut} slower ${cut === 1 ? 'value' : 'values'} not drawn` : ''}`,
        { align: 'right' },
      ),
    ] as never,
  };
}
