import type { EChartsOption } from '../../charts/echarts.ts';
import {
  label,
  niceStep,
  plate,
  plotArea,
  axisTip,
  tooltipBody,
  valueAxis,
  xAxis,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed, signed } from '../../format/numbers.ts';
import type { GroupRow } from './preview.svelte.ts';

export interface LaneInput {
  /** The rows by increasing threads per unit. */
  readonly rows: readonly GroupRow[];
  readonly before: { readonly rows: readonly GroupRow[]; readonly label: string } | null;
  readonly axisTitle: string;
}

/** Draws the lane cost of a unit by the threads that share it; the cheapest point is filled. */
export function laneChart(
  { rows, before, axisTitle }: LaneInput,
  theme: ChartTheme,
  { height }: ChartSize,
): EChartsOption {
  const costs = rows.map(({ laneCost }) => laneCost);
  const best = costs.indexOf(Math.min(...costs));
  const low = Math.min(...costs, ...(before?.rows.map(({ laneCost }) => laneCost) ?? []));
  const high = Math.max(...costs, low * 1.02);
  const step = niceStep(high - low, 4);
  // The old curve may leave the plot, because a far point would flatten it. Its label needs room at the bottom.
  const room = Math.max(0.6 * step, ((high - low) * 26) / Math.max(1, height - 86));
  const yMin = Math.max(0, Math.floor((low - room) / step) * step);
  const yMax = high + 0.04 * (high - yMin);
  const blue = theme.series[0];
  const beforeShown = before?.rows.findLastIndex(({ laneCost }) => laneCost <= yMax) ?? -1;
  // The label is outside the bend, beside a steep part or below a flat one, so that no number is on the line.
  const steep = (from: number, to: number) => Math.abs(costs[to] - costs[from]) > 0.14 * (yMax - yMin);
  const labelSide = (i: number) => {
    if (i < best && steep(i, i + 1)) return 'right' as const;
    if (i > best && steep(i - 1, i)) return 'left' as const;
    // A label below would be too close to the axis.
    return ((costs[i] - yMin) / (yMax - yMin)) * (height - 60) < 24 ? ('top' as const) : ('bottom' as const);
  };
  return {
    grid: plotArea(40, 22, 22, 38),
    xAxis: {
      ...xAxis(theme, { title: axisTitle }),
      type: 'value',
      min: -0.4,
      max: rows.length - 0.75,
      interval: 1,
      axisTick: { show: false },
      axisLabel: { show: false },
    },
    yAxis: valueAxis(theme, { min: yMin, max: yMax, step }),
    tooltip: axisTip(theme, 'none', ({ value }) => {
      const row = rows[value[0]];
      if (!row) return '';
      return tooltipBody(`${row.threadsPerUnit} × ${row.unitsPerGroup}`, '', [
        { label: 'Lane cost', value: fixed(row.laneCost, 3) },
        { label: 'to cheapest', value: `${signed((row.laneCost / costs[best] - 1) * 100)} %` },
        { label: 'Aggregate loss', value: fixed(row.aggregateLoss, 3) },
        { label: 'Cost of sharing', value: fixed(row.laneCost / row.aggregateLoss, 3) },
      ]);
    }),
    series: [
      ...(before ? [lineBefore(before, beforeShown, theme)] : []),
      {
        type: 'line' as const,
        data: rows.map(({ laneCost }, i) => ({
          value: [i, laneCost],
          symbolSize: i === best ? 10 : 6,
          itemStyle:
            i === best
              ? { color: blue, borderColor: blue }
              : { color: theme.colour.bg, borderColor: blue, borderWidth: 1.5 },
          label: {
            show: true,
            ...label(theme, i === best ? 'text' : 'text-2'),
            fontWeight: i === best ? (600 as const) : (400 as const),
            formatter: fixed(laneCost, 3),
            position: labelSide(i),
            distance: 7,
          },
        })),
        symbol: 'circle',
        showAllSymbol: true,
        lineStyle: { color: blue, width: 1.75 },
        markPoint: tickLabels(rows, best, yMin, theme),
        z: 3,
      },
    ],
  };
}

/** The curve before the last change, with its name at its last point in the plot. */
function lineBefore(before: NonNullable<LaneInput['before']>, shown: number, theme: ChartTheme) {
  return {
    type: 'line' as const,
    silent: true,
    symbol: 'none',
    data: before.rows.map(({ laneCost }, i) => [i, laneCost]),
    lineStyle: { color: theme.colour['text-3'], width: 1.5, type: [2, 3] as [number, number] },
    markPoint: {
      silent: true,
      animation: false,
      symbol: 'circle',
      symbolSize: 0.1,
      data:
        shown < 0
          ? []
          : [
              {
                name: before.label,
                coord: [shown, before.rows[shown].laneCost],
                label: {
                  show: true,
                  ...plate(theme),
                  color: theme.colour['text-3'],
                  formatter: before.label,
                  // If the old curve starts at the left edge, there is room only on the right.
                  position: shown < 2 ? ('right' as const) : ('left' as const),
                  distance: 10,
                  offset: [0, shown < 2 ? 12 : -10] as [number, number],
                },
              },
            ],
    },
  };
}

/** Labels of the points are the ticks of the x axis, whose range has a margin at both ends. */
function tickLabels(rows: readonly GroupRow[], best: number, yMin: number, theme: ChartTheme) {
  return {
    silent: true,
    animation: false,
    symbol: 'circle',
    symbolSize: 0.1,
    data: rows.map(({ threadsPerUnit }, i) => ({
      name: String(threadsPerUnit),
      coord: [i, yMin],
      label: {
        show: true,
        position: 'bottom' as const,
        distance: 7,
        ...label(theme, i === best ? 'text' : 'text-3'),
        fontWeight: i === best ? (600 as const) : (400 as const),
        formatter: String(threadsPerUnit),
      },
    })),
  };
}
