import type { Histogram } from '../../../src-main/contract/api.ts';
import { logTicks } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  plane,
  planeAxes,
  markWords,
  stroke,
  markTip,
  tooltipBody,
  type ChartSize,
  type Plane,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, count, percent, plain, inColumn, type TimeColumn } from '../../format/numbers.ts';

export interface DistributionInput {
  readonly histogram: Histogram;
  /** The baseline's predicted time, ms, and rank (0 without a rank). */
  readonly baseline: { readonly timeMs: number; readonly rank: number } | null;
  readonly brush: { readonly from: number; readonly to: number } | null;
  readonly times: TimeColumn;
  readonly narrowed: boolean;
}

/** The side margins, px. The pointer's position is converted to a time with them. */
export const DISTRIBUTION_LEFT = 56;
export const DISTRIBUTION_RIGHT = 16;
/** The top of each line of labels above the bars, px. */
const LINES = [8, 23, 38] as const;
/** Labels closer than this are on different lines, px. */
const LABEL_PX = 100;

const MEDIAN_PX = 130;

function countStep(most: number): number {
  const size = 10 ** Math.floor(Math.log10(most / 2));
  const whole = [1, 2, 2.5, 5, 10].map((factor) => factor * size).filter(Number.isInteger);
  return whole.find((step) => step * 2.2 >= most) ?? most;
}

export function distributionChart(
  { histogram, baseline, brush, times, narrowed }: DistributionInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const { colour } = theme;
  const { edgesMs, counts, passing, best, median } = histogram;
  const [low, high] = [edgesMs[0], edgesMs[edgesMs.length - 1]];
  const total = counts.reduce((sum, n) => sum + n, 0) + histogram.beyond;
  const most = Math.max(1, ...counts);
  const area = plane(
    size,
    { left: DISTRIBUTION_LEFT, right: DISTRIBUTION_RIGHT, top: 22, bottom: 20 },
    { low, high, log: true },
    { low: 0, high: most },
  );
  const widthPx = area.right - area.left;
  const step = countStep(most);
  const isSlower = (i: number) => baseline !== null && Math.sqrt(edgesMs[i] * edgesMs[i + 1]) > baseline.timeMs;

  const bestX = area.x(low);
  const baseX = baseline && baseline.timeMs >= low && baseline.timeMs <= high ? area.x(baseline.timeMs) : null;
  const baseLine = baseX !== null && baseX - bestX < LABEL_PX ? LINES[1] : LINES[0];
  const medianX = area.x(median);
  const isBeforeBase = baseX !== null && medianX < baseX && medianX > baseX - MEDIAN_PX;
  const isBehindBase = baseX !== null && medianX >= baseX && medianX < baseX + 190;
  const medianLine =
    LINES.find(
      (line) =>
        !(line === LINES[0] && medianX - bestX < LABEL_PX) &&
        !(isBehindBase && line <= baseLine) &&
        !(isBeforeBase && line === baseLine),
    ) ?? LINES[2];
  const isMedianLeft = medianX > size.width - 120 || (isBeforeBase && medianX - bestX > 2 * LABEL_PX);
  // The median has no time beside it if the time would touch the line of the baseline.
  const isMedianCrowded = isBeforeBase && !isMedianLeft && baseX - medianX < LABEL_PX;
  return {
    ...planeAxes(theme, area, {
      x: { ticks: logTicks(low, high, { apartFraction: 42 / widthPx }), format: (ms) => plain(ms * times.unit.perMs) },
      y: { ticks: [0, step, 2 * step].filter((n) => n <= most * 1.02), format: count },
    }),
    tooltip: markTip(theme, ({ dataIndex: i }) => {
      let below = 0;
      for (let k = 0; k <= i; k += 1) below += counts[k];
      return tooltipBody(`${plain(edgesMs[i])} – ${plain(edgesMs[i + 1])}${NBSP}ms`, '', [
        { label: 'Designs', value: count(counts[i]) },
        ...(narrowed ? [{ label: 'that pass the filter', value: count(passing[i]) }] : []),
        { label: 'share of all', value: percent(counts[i] / total) },
        { label: 'this fast or faster', value: percent(below / total) },
      ]);
    }),
    series: [
      {
        type: 'custom',
        data: Array.from(counts, (n, i) => [edgesMs[i], n]),
        renderItem: (_: unknown, api: { value(dimension: number): number }) => {
          const i = edgesMs.indexOf(api.value(0));
          const x = area.left + (i * widthPx) / counts.length;
          const bar = (many: number, opacity: number) =>
            drawBar(area, { x, width: widthPx / counts.length - 1, many }, theme.series[0], opacity);
          if (!narrowed) return bar(counts[i], isSlower(i) ? 0.45 : 1);
          return { type: 'group', children: [bar(counts[i], 0.22), bar(passing[i], 1)] };
        },
      },
    ] as never,
    graphic: [
      stroke([bestX + 0.5, 4, bestX + 0.5, area.bottom], colour.accent, { width: 2, z: 5 }),
      markWords(theme, bestX, LINES[0], 'best', inColumn(best, times), false),
      ...(baseX !== null && baseline
        ? [
            stroke([baseX, 4, baseX, area.bottom], colour['text-2'], { z: 5 }),
            markWords(
              theme,
              baseX,
              baseLine,
              'baseline',
              `${inColumn(baseline.timeMs, times)}${baseline.rank > 0 ? `, rank ${count(baseline.rank)}` : ''}`,
              baseX > size.width - 190,
            ),
          ]
        : []),
      ...(medianX > area.left + 8
        ? [
            stroke([medianX, medianLine - 4, medianX, area.bottom], colour['text-2'], { z: 5, dash: [2, 2] }),
            markWords(
              theme,
              medianX,
              medianLine,
              'median',
              isMedianCrowded ? '' : inColumn(median, times),
              isMedianLeft,
            ),
          ]
        : []),
      ...(brush ? [brushed(brush, area, widthPx, colour.accent)] : []),
    ] as never,
  };
}

function drawBar(
  area: Plane,
  { x, width, many }: { readonly x: number; readonly width: number; readonly many: number },
  fill: string,
  opacity: number,
) {
  const top = Math.min(area.y(many), area.bottom - 0.75);
  return {
    type: 'rect',
    ignore: many === 0,
    shape: { x, y: top, width: Math.max(0.5, width), height: area.bottom - top },
    style: { fill, opacity },
  };
}

function brushed(brush: NonNullable<DistributionInput['brush']>, area: Plane, widthPx: number, hue: string) {
  return {
    type: 'rect',
    silent: true,
    z: 1,
    shape: {
      x: area.left + brush.from * widthPx,
      y: 0,
      width: Math.max(1, (brush.to - brush.from) * widthPx),
      height: area.bottom,
    },
    style: { fill: hue, fillOpacity: 0.22, stroke: hue, lineWidth: 1 },
  };
}

export function logPlace(low: number, high: number, value: number): number {
  return Math.log(value / low) / Math.log(high / low);
}

export function logValue(low: number, high: number, place: number): number {
  return low * (high / low) ** place;
}
