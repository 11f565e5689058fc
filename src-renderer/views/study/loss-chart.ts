import type { LossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import type { WorkloadOrder } from '../../../src-main/contract/api.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  label,
  niceStep,
  plotArea,
  axisTip,
  tooltipBody,
  valueAxis,
  xAxis,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed } from '../../format/numbers.ts';
import type { Band } from './preview.svelte.ts';

export interface LossInput {
  readonly losses: readonly LossMoments[];
  readonly band: readonly Band[];
  /** The n of the best lane cost, whose tick is bold. */
  readonly chosen: number | null;
  readonly groupWord: string;
  readonly order: WorkloadOrder | null;
}

/** Draws mean and aggregate loss by group size on a log₂ axis, with the band of the middle 90 % of groups. */
export function lossChart(
  { losses, band, chosen, groupWord, order }: LossInput,
  theme: ChartTheme,
  { height }: ChartSize,
): EChartsOption {
  const categories = losses.map(({ n }) => String(n));
  const at = (n: number) => categories.indexOf(String(n));
  const inOrder = order?.losses.filter(({ n }) => at(n) >= 0) ?? [];
  const orderAt = (n: number) => inOrder.find((row) => row.n === n);
  const bandAt = (n: number) => band.find((row) => row.n === n);
  const top = Math.max(
    1.05,
    ...losses.map(({ aggregateLoss }) => aggregateLoss),
    ...inOrder.map(({ aggregateLoss }) => aggregateLoss),
    ...band.map(({ high }) => high),
  );
  const step = niceStep(top - 1);
  // The axis starts at 1, which means no loss, or at 0 if the ticks would be uneven otherwise.
  const yMin = step > 1 ? 0 : 1;
  const yMax = 1 + (top - 1) * 1.06;
  const last = losses.at(-1)!;
  // The labels at the ends of the lines need a distance of 14 px.
  const [above, below] = [12, 36];
  const apart = ((yMax - yMin) * 15) / Math.max(1, height - above - below);
  const ends = endLabels(last, bandAt(last.n), orderAt(last.n), apart);
  return {
    grid: plotArea(40, 66, above, below),
    xAxis: {
      ...xAxis(theme, { title: `units per ${groupWord}, n` }),
      type: 'value',
      min: 0,
      max: losses.length - 1,
      interval: 1,
      axisLabel: {
        ...label(theme),
        margin: 8,
        formatter: (v: number) => (categories[v] === String(chosen) ? `{on|${categories[v]}}` : (categories[v] ?? '')),
        rich: { on: { ...label(theme, 'text'), fontWeight: 600 } },
      },
    },
    yAxis: valueAxis(theme, { min: yMin, max: yMax, step }),
    tooltip: {
      ...axisTip(theme, 'snap', ({ value }) => {
        const row = losses[Math.round(value[0])];
        return lossTooltip(row, bandAt(row.n), orderAt(row.n));
      }),
      axisPointer: {
        type: 'line',
        snap: true,
        lineStyle: { color: theme.colour['line-2'], width: 1 },
        label: { show: false },
      },
    },
    series: [
      ...bandLines(band, at, theme),
      ...(inOrder.length > 1
        ? [
            line('in order', [], {
              data: inOrder.map(({ n, aggregateLoss }) => [at(n), aggregateLoss]),
              symbol: 'none',
              lineStyle: { color: theme.series[2], width: 1.75 },
              z: 3,
            }),
          ]
        : []),
      line(
        'mean',
        losses.map(({ meanLoss }) => meanLoss),
        {
          silent: false,
          symbol: 'circle',
          symbolSize: 6,
          showAllSymbol: true,
          lineStyle: { color: theme.series[0], width: 1.75 },
          itemStyle: { color: theme.colour.bg, borderColor: theme.series[0], borderWidth: 1.5 },
          z: 3,
        },
      ),
      line(
        'aggregate',
        losses.map(({ aggregateLoss }) => aggregateLoss),
        {
          symbol: 'none',
          lineStyle: { color: theme.series[1], width: 1.5, type: [4, 3] },
          z: 4,
          markPoint: {
            silent: true,
            symbol: 'circle',
            symbolSize: 0.1,
            animation: false,
            data: ends.map(({ text, value, strong }) => ({
              coord: [losses.length - 1, value],
              label: {
                show: true,
                position: 'right',
                distance: 7,
                ...label(theme, strong ? 'text' : 'text-3'),
                formatter: text,
              },
            })),
          },
        },
      ),
    ],
  };
}

function line(name: string, values: readonly number[], extra: object) {
  return {
    type: 'line' as const,
    name,
    data: values.map((value, i) => [i, value]),
    silent: true,
    ...extra,
  };
}

/** The names at the ends of the lines, from the top, at least `apart` from each other. */
function endLabels(
  last: LossMoments,
  edge: Band | undefined,
  inOrder: OrderLoss | undefined,
  apart: number,
): readonly { readonly text: string; readonly value: number; readonly strong: boolean }[] {
  const ends = [
    ...(inOrder ? [{ text: 'in order', value: inOrder.aggregateLoss, strong: true }] : []),
    { text: 'aggregate', value: last.aggregateLoss, strong: true },
    { text: 'mean', value: last.meanLoss, strong: true },
    ...(edge
      ? [
          { text: 'p95', value: edge.high, strong: false },
          { text: 'p5', value: edge.low, strong: false },
        ]
      : []),
  ].sort((a, b) => b.value - a.value);
  for (let i = 1; i < ends.length; i++) ends[i].value = Math.min(ends[i].value, ends[i - 1].value - apart);
  return ends;
}

/** The band of the middle 90 % of groups: an invisible line, and the area above it. */
function bandLines(band: readonly Band[], at: (n: number) => number, theme: ChartTheme) {
  if (band.length < 2) return [];
  return [
    line(
      'p5',
      band.map(({ low }) => low),
      {
        data: band.map(({ n, low }) => [at(n), low]),
        stack: 'band',
        stackStrategy: 'all',
        symbol: 'none',
        lineStyle: { opacity: 0 },
      },
    ),
    line('p95', [], {
      data: band.map(({ n, low, high }) => [at(n), high - low]),
      stack: 'band',
      stackStrategy: 'all',
      symbol: 'none',
      lineStyle: { opacity: 0 },
      areaStyle: { color: theme.series[0], opacity: theme.dark ? 0.18 : 0.13 },
    }),
  ];
}

function lossTooltip(row: LossMoments, own: Band | undefined, order: OrderLoss | undefined): HTMLElement {
  return tooltipBody(`${row.n} units in lockstep`, '', [
    { label: 'Mean loss', value: fixed(row.meanLoss, 4) },
    { label: 'Aggregate loss', value: fixed(row.aggregateLoss, 4) },
    ...orderRows(order),
    { label: 'Deviation between groups', value: fixed(row.standardDeviationLoss, 3) },
    ...(own ? [{ label: 'Middle 90 % of groups', value: `${fixed(own.low, 2)} – ${fixed(own.high, 2)}` }] : []),
  ]);
}

type OrderLoss = WorkloadOrder['losses'][number];

function orderRows(row: OrderLoss | undefined): { label: string; value: string }[] {
  if (!row) return [];
  return [
    { label: 'Aggregate loss in order', value: fixed(row.aggregateLoss, 4) },
    { label: 'Aggregate loss sorted', value: fixed(row.sortedLoss, 4) },
  ];
}
