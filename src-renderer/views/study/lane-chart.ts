import type { EChartsOption } from '../../charts/echarts.ts';
import { label, niceStep, plate, plotArea, tooltip, tooltipBody, valueAxis, xAxis } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed, signed } from '../../format/numbers.ts';
import type { GroupRow } from './preview.svelte.ts';

export interface LaneInput {
  /** By increasing threads per unit. */
  readonly rows: readonly GroupRow[];
  readonly before: { readonly rows: readonly GroupRow[]; readonly label: string } | null;
  readonly axisTitle: string;
}

/** Lane cost of a unit by the threads that share it; the cheapest point is filled. */
export function laneChart({ rows, before, axisTitle }: LaneInput, theme: ChartTheme): EChartsOption {
  const costs = rows.map(({ laneCost }) => laneCost);
  const best = costs.indexOf(Math.min(...costs));
  // A line far above everything would flatten what matters: the old value is clipped at the top.
  const low = Math.min(...costs);
  const high = Math.max(...costs, low * 1.02);
  const step = niceStep(high - low, 4);
  // Room below the lowest point for its label.
  const yMin = Math.max(0, Math.floor((low - 0.6 * step) / step) * step);
  const yMax = high + 0.04 * (high - yMin);
  const blue = theme.series[0]!;
  const beforeData = before?.rows.map(({ laneCost }, i) => [i, laneCost] as const).filter(([, cost]) => cost <= yMax);
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
    tooltip: {
      ...tooltip(theme),
      trigger: 'axis',
      axisPointer: { type: 'none' },
      formatter: (params: unknown) => {
        const row = rows[(params as readonly { value: readonly number[] }[])[0]!.value[0]!];
        if (!row) return '';
        return tooltipBody(`${row.threadsPerUnit} × ${row.unitsPerGroup}`, '', [
          { label: 'Lane cost', value: fixed(row.laneCost, 3) },
          { label: 'to best', value: `${signed((row.laneCost / costs[best]! - 1) * 100)} %` },
          { label: 'Mean loss', value: fixed(row.meanLoss, 3) },
          { label: 'Cost of sharing', value: fixed(row.laneCost / row.meanLoss, 3) },
        ]);
      },
    },
    series: [
      ...(beforeData && beforeData.length > 1
        ? [
            {
              type: 'line' as const,
              silent: true,
              symbol: 'none',
              data: beforeData.map((point) => [...point]),
              lineStyle: { color: theme.colour['text-3'], width: 1.5, type: [2, 3] },
              endLabel: {
                show: true,
                ...plate(theme),
                color: theme.colour['text-3'],
                formatter: before!.label,
                offset: [-64, -10],
              },
            },
          ]
        : []),
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
            // Outside the bend: below a valley, left of a climb.
            position:
              i < best || i === best
                ? ('bottom' as const)
                : i === best + 1 && laneCost < costs[best]! * 1.15
                  ? ('bottom' as const)
                  : ('left' as const),
            distance: 7,
          },
        })),
        symbol: 'circle',
        showAllSymbol: true,
        lineStyle: { color: blue, width: 1.75 },
        // Ticks as labels of the x axis at the points themselves: the range has a margin at both ends.
        markPoint: {
          silent: true,
          animation: false,
          symbol: 'circle',
          symbolSize: 0.1,
          data: rows.map(({ threadsPerUnit }, i) => ({
            name: String(threadsPerUnit),
            coord: [i, yMin],
            label: {
              show: true,
              position: 'bottom',
              distance: 7,
              ...label(theme, i === best ? 'text' : 'text-3'),
              fontWeight: i === best ? (600 as const) : (400 as const),
              formatter: String(threadsPerUnit),
            },
          })),
        },
        z: 3,
      },
    ],
  };
}
