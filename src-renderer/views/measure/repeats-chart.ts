import type { MeasuredTime } from '../../../src-main/contract/measuring.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { CHARACTER_PX } from '../../charts/labels.ts';
import { plane, planeAxes, stroke, markTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, change, count, timeText } from '../../format/numbers.ts';
import { launchRange, launches } from './repeats.ts';

export function repeatsChart(time: MeasuredTime, theme: ChartTheme, size: ChartSize): EChartsOption {
  const { colour } = theme;
  const all = launches(time);
  const range = launchRange(time);
  const [medianText, lowText, highText] = [time.medianMs, range.lowMs, range.highMs].map((ms) => timeText(ms));
  const longest = Math.max(medianText.length, lowText.length, highText.length);
  const clamp = (ms: number) => Math.max(range.lowMs, Math.min(range.highMs, ms));
  const area = plane(
    size,
    { left: Math.max(52, 16 + CHARACTER_PX * longest), right: 14, top: 8, bottom: 34 },
    { low: -0.5, high: Math.max(1, all.length) - 0.5 },
    { low: range.lowMs, high: range.highMs },
  );
  const first = area.x(time.warmUpMs.length - 0.5);
  const median = area.y(time.medianMs);
  const [low, high] = [area.y(clamp(time.lowMs ?? time.medianMs)), area.y(clamp(time.highMs ?? time.medianMs))];
  const dot = all.length > 60 ? 3.2 : 5;
  const style = {
    counted: { color: theme.series[0], opacity: 1 },
    'warm-up': { color: colour.base, opacity: 0.45 },
    outlier: { color: colour.bg, borderColor: colour.warn, borderWidth: 1.5, opacity: 1 },
  };
  const across = (y: number, words: Parameters<typeof stroke>[1]) => stroke([first, y, area.right, y], words);
  const drift = time.driftFraction;
  return {
    ...planeAxes(theme, area),
    tooltip: markTip(theme, ({ dataIndex }) => {
      const each = all[dataIndex];
      const warmUps = time.warmUpMs.length;
      const title = each.order < warmUps ? `Warm-up ${each.order + 1}` : `Repeat ${each.order - warmUps + 1}`;
      return tooltipBody(title, each.kind === 'outlier' ? 'outlier' : '', [
        { label: 'Time', value: timeText(each.timeMs) },
        { label: 'to median', value: `${change(each.timeMs, time.medianMs)}${NBSP}%` },
      ]);
    }),
    series: [
      {
        type: 'scatter',
        clip: false,
        data: all.map(({ order, timeMs, kind }) => {
          const beyond = timeMs !== clamp(timeMs);
          return {
            value: [order, clamp(timeMs)],
            itemStyle: style[kind],
            ...(beyond
              ? { symbol: 'triangle', symbolSize: [6, 5], symbolRotate: timeMs > range.highMs ? 0 : 180 }
              : { symbol: 'circle', symbolSize: dot }),
          };
        }),
      },
    ],
    graphic: [
      ...(time.lowMs === null
        ? []
        : [
            {
              type: 'rect',
              silent: true,
              shape: { x: first, y: high, width: area.right - first, height: Math.max(1, low - high) },
              style: { fill: colour.accent, opacity: 0.14 },
            },
          ]),
      across(median, colour.text),
      ...(drift === null
        ? []
        : [
            stroke(
              [first, area.y(time.medianMs * (1 - drift / 2)), area.right, area.y(time.medianMs * (1 + drift / 2))],
              colour.warn,
              { dash: [4, 3] },
            ),
          ]),
      ...(time.warmUpMs.length > 0
        ? [
            stroke([first, area.top, first, area.bottom], colour['line-2'], { dash: [1, 3] }),
            words(theme, area.left, area.bottom + 10, 'warm-up'),
          ]
        : []),
      words(theme, area.left - 8, median, medianText, { colour: 'text', bold: true, align: 'right' }),
      ...(area.bottom - median > 18 ? [words(theme, area.left - 8, area.bottom - 4, lowText, { align: 'right' })] : []),
      ...(median - area.top > 18 ? [words(theme, area.left - 8, area.top + 4, highText, { align: 'right' })] : []),
      words(theme, Math.max(first, area.left + 52), area.bottom + 10, '1'),
      words(theme, area.right, area.bottom + 10, count(time.repeats), { align: 'right' }),
      words(theme, area.right, area.bottom + 24, 'repeat', { align: 'right' }),
    ] as never,
  };
}
