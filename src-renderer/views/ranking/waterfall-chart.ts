import { BREAKDOWN_PARTS, shownParts, type Breakdown } from '../../../src-workers/domain/breakdown.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { plane, planeAxes, stroke, markTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, percent, signed, widthPx, inColumn, type TimeColumn } from '../../format/numbers.ts';

/** The height of a line, px. The chart has a line for each step, and one for each of the two designs. */
export const WATERFALL_ROW_PX = 20;
const BAR_PX = 11;
const LABEL_PX = 92;
/** The distance between the longest bar and the widest value, px. */
const VALUE_GAP_PX = 8;

/** Changes smaller than this fraction of the first design's time are left out. */
const NEGLIGIBLE = 5e-4;

/** Returns the steps from one design's time to another's: savings first, then losses, each with the largest first. */
export function waterfall(from: Breakdown, to: Breakdown) {
  const [before, after] = [shownParts(from), shownParts(to)];
  const changes = BREAKDOWN_PARTS.map(({ id, label }) => ({
    id,
    label,
    changeMs: after[id] - before[id],
  })).filter(({ changeMs }) => Math.abs(changeMs) >= NEGLIGIBLE * from.timeMs);
  changes.sort((a, b) => a.changeMs - b.changeMs);
  const faster = changes.filter(({ changeMs }) => changeMs < 0);
  const slower = changes.filter(({ changeMs }) => changeMs > 0).reverse();
  let at = from.timeMs;
  return [...faster, ...slower].map((change) => {
    const step = { ...change, fromMs: at, toMs: at + change.changeMs };
    at = step.toMs;
    return step;
  });
}

export interface WaterfallInput {
  readonly from: Breakdown;
  readonly to: Breakdown;
  readonly times: TimeColumn;
}

export function waterfallChart({ from, to, times }: WaterfallInput, theme: ChartTheme, size: ChartSize): EChartsOption {
  const { colour } = theme;
  const ideal = theme.part('idealWork');
  const steps = waterfall(from, to);
  const total = (label: string, timeMs: number, fill: string) => ({
    label,
    fromMs: 0,
    toMs: timeMs,
    value: inColumn(timeMs, times),
    fill,
    mark: null as string | null,
  });
  const bars = [
    total('Baseline', from.timeMs, colour.base),
    ...steps.map(({ id, label, fromMs, toMs, changeMs }) => ({
      label,
      fromMs,
      toMs,
      value: signed(changeMs * times.unit.perMs, times.decimals),
      fill: changeMs < 0 ? colour.faster : colour.slower,
      mark: theme.part(id),
    })),
    total('This design', to.timeMs, ideal),
  ];
  const most = Math.max(...bars.map(({ toMs }) => toMs));
  const area = plane(
    { ...size, height: bars.length * WATERFALL_ROW_PX },
    { left: LABEL_PX, right: VALUE_GAP_PX + Math.max(...bars.map(({ value }) => widthPx(value))), top: 0, bottom: 0 },
    { low: 0, high: most },
    { low: bars.length - 0.5, high: -0.5 },
  );
  const axes = planeAxes(theme, area);
  return {
    grid: axes.grid,
    xAxis: { ...axes.xAxis, axisLine: { show: false } },
    yAxis: { type: 'category', inverse: true, show: false, data: bars.map(({ label }) => label) },
    tooltip: markTip(theme, ({ dataIndex }) => {
      const bar = bars[dataIndex];
      return tooltipBody(bar.label, '', [
        ...(bar.mark
          ? [
              { label: 'Change', value: `${bar.value}${NBSP}${times.unit.name}` },
              { label: 'of the baseline', value: percent(Math.abs(bar.toMs - bar.fromMs) / from.timeMs) },
            ]
          : []),
        { label: bar.mark ? 'Time so far' : 'Time', value: `${inColumn(bar.toMs, times)}${NBSP}${times.unit.name}` },
      ]);
    }),
    series: [
      {
        type: 'bar',
        stack: 'fall',
        silent: true,
        barWidth: BAR_PX,
        data: bars.map(({ fromMs, toMs }) => Math.min(fromMs, toMs)),
        itemStyle: { color: 'transparent' },
      },
      {
        type: 'bar',
        stack: 'fall',
        barMinHeight: 1,
        barWidth: BAR_PX,
        data: bars.map(({ fromMs, toMs, fill }) => ({
          value: Math.abs(toMs - fromMs),
          itemStyle: { color: fill },
          emphasis: { itemStyle: { color: fill } },
        })),
      },
    ],
    graphic: bars.flatMap(({ label, toMs, value, mark }, i) => {
      const y = area.y(i);
      const strong = mark === null ? { colour: 'text' as const, bold: true } : { colour: 'text-2' as const };
      return [
        ...(mark ? [{ type: 'rect' as const, silent: true, shape: { x: 0, y: y - 4, width: 8, height: 8 }, style: { fill: mark } }] : []), // prettier-ignore
        words(theme, mark ? 14 : 0, y, label, strong),
        words(theme, size.width, y, value, { ...strong, align: 'right' }),
        ...(i + 1 < bars.length
          ? [stroke([area.x(toMs), y + BAR_PX / 2, area.x(toMs), y + WATERFALL_ROW_PX - BAR_PX / 2], colour['line-2'])]
          : []),
      ];
    }),
  };
}
