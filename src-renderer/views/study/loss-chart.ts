import type { LossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { niceStep, spreadLabels } from '../../../src-workers/numeric/ticks.ts';
import type { WorkloadOrder } from '../../../src-main/contract/api.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  plane,
  planeAxes,
  roundTicks,
  axisTip,
  tooltipBody,
  words,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed } from '../../format/numbers.ts';
import type { Band } from './preview.svelte.ts';

export interface LossInput {
  readonly losses: readonly LossMoments[];
  readonly band: readonly Band[];
  readonly chosen: number | null;
  readonly groupWord: string;
  readonly order: WorkloadOrder | null;
}

/** Draws mean and aggregate loss over units per group on a log₂ axis, with the band of the middle 90 % of groups. */
export function lossChart(
  { losses, band, chosen, groupWord, order }: LossInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const at = (n: number) => losses.findIndex((row) => row.n === n);
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
  // A loss of 1 is no loss, so the axis starts at 1, or at 0 if its ticks are more than 1 apart.
  const yMin = step > 1 ? 0 : 1;
  const yMax = 1 + (top - 1) * 1.06;
  const area = plane(
    size,
    { left: 40, right: 66, top: 12, bottom: 36 },
    { low: 0, high: losses.length - 1 },
    { low: yMin, high: yMax },
  );
  const last = losses.at(-1)!;
  const ends = endsOfLines(last, bandAt(last.n), orderAt(last.n));
  const places = spreadLabels(
    ends.map(({ value }) => area.y(value)),
    14,
  );
  return {
    ...planeAxes(theme, area, {
      x: {
        ticks: [...losses.keys()],
        format: (i) => String(losses[i].n),
        bold: new Set(chosen === null ? [] : [at(chosen)]),
        marks: true,
      },
      y: roundTicks(area.yRange, step),
    }),
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
            line(
              'in order',
              inOrder.map(({ n, aggregateLoss }) => [at(n), aggregateLoss]),
              { symbol: 'none', lineStyle: { color: theme.series[2], width: 1.75 }, z: 3 },
            ),
          ]
        : []),
      line(
        'mean',
        losses.map(({ meanLoss }, i) => [i, meanLoss]),
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
        losses.map(({ aggregateLoss }, i) => [i, aggregateLoss]),
        { symbol: 'none', lineStyle: { color: theme.series[1], width: 1.5, type: [4, 3] }, z: 4 },
      ),
    ],
    graphic: [
      ...axisTitles(theme, area, { x: `units per ${groupWord}, n` }),
      ...ends.map(({ text, colour }, i) => words(theme, area.right + 7, places[i], text, { colour })),
    ],
  };
}

function line(name: string, data: number[][], extra: object) {
  return { type: 'line' as const, name, data, silent: true, ...extra };
}

function endsOfLines(last: LossMoments, edge: Band | undefined, inOrder: OrderLoss | undefined) {
  return [
    ...(inOrder ? [{ text: 'in order', value: inOrder.aggregateLoss, colour: 'text' as const }] : []),
    { text: 'aggregate', value: last.aggregateLoss, colour: 'text' as const },
    { text: 'mean', value: last.meanLoss, colour: 'text' as const },
    ...(edge
      ? [
          { text: 'p95', value: edge.high, colour: 'text-3' as const },
          { text: 'p5', value: edge.low, colour: 'text-3' as const },
        ]
      : []),
  ];
}

function bandLines(band: readonly Band[], at: (n: number) => number, theme: ChartTheme) {
  if (band.length < 2) return [];
  const stacked = { stack: 'band', stackStrategy: 'all', symbol: 'none', lineStyle: { opacity: 0 } };
  return [
    line(
      'p5',
      band.map(({ n, low }) => [at(n), low]),
      stacked,
    ),
    line(
      'p95',
      band.map(({ n, low, high }) => [at(n), high - low]),
      { ...stacked, areaStyle: { color: theme.series[0], opacity: theme.dark ? 0.18 : 0.13 } },
    ),
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
