import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  label,
  MINOR_SIZE,
  niceStep,
  plate,
  plotArea,
  richLabel,
  tooltip,
  tooltipBody,
  valueAxis,
  xAxis,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { count, fixed, percent } from '../../format/numbers.ts';

export interface PmfMark {
  readonly at: number;
  readonly label: string;
}

export interface PmfInput {
  readonly law: LengthLaw;
  readonly mean: number;
  /** Expected longest unit of some group sizes. */
  readonly depths: readonly PmfMark[];
  /** Width of the plot, px: bars thinner than 2 px are put together. */
  readonly widthPx: number;
}

/** Probability beyond which the tail is not drawn. */
const TAIL = 1e-3;

export interface PmfBins {
  readonly from: number;
  readonly step: number;
  /** Probability of [from + i·step, from + (i+1)·step). */
  readonly probability: Float64Array;
  /** Largest length of the axis, and the probability beyond it. */
  readonly to: number;
  readonly beyond: number;
}

/** Bins of whole lengths that give bars of at least 2 px, up to where 99.9 % of the units are (and all marks). */
export function pmfBins({ law, depths, widthPx }: PmfInput): PmfBins {
  const { support, probability } = law;
  const first = support[0];
  const last = support[support.length - 1];
  let beyond = 0;
  let end = support.length - 1;
  const shown = Math.max(0, ...depths.map(({ at }) => at)) * 1.12;
  while (end > 0 && beyond + probability[end] < TAIL && support[end] > shown) beyond += probability[end--];
  // A tail that is nearly in view anyway is drawn whole.
  const to = last <= support[end] * 1.25 ? last : support[end];
  if (to === last) {
    beyond = 0;
    end = support.length - 1;
  }
  const from = first;
  const step = Math.max(1, Math.ceil((to - from + 1) / Math.max(10, widthPx / 3)));
  const bins = new Float64Array(Math.floor((to - from) / step) + 1);
  for (let i = 0; i <= end; i++) bins[Math.floor((support[i] - from) / step)] += probability[i];
  return { from, step, probability: bins, to, beyond };
}

/** Bars of the probability of each length, with the mean and the depths of groups. */
export function pmfChart(input: PmfInput, theme: ChartTheme): EChartsOption {
  const bins = pmfBins(input);
  const top = Math.max(...bins.probability);
  const step = niceStep(top, 5);
  const yMax = top * 1.05;
  const centre = (i: number) => bins.from + (i + (bins.step - 1) / (2 * bins.step)) * bins.step;
  const low = bins.from - bins.step / 2;
  const high = bins.to + bins.step / 2;
  const span = high - low;
  const marks = [
    { at: input.mean, name: 'mean', value: fixed(input.mean, 1), colour: theme.colour.text },
    ...input.depths.map(({ at, label: name }) => ({ at, name, value: fixed(at, 1), colour: theme.series[1] })),
  ].filter(({ at }) => at <= high);
  return {
    grid: plotArea(48, 16, 46, 38),
    xAxis: {
      ...xAxis(theme, {
        title: bins.step === 1 ? 'iterations of a unit' : `iterations of a unit, ${bins.step} to a bar`,
      }),
      type: 'value',
      min: low,
      // Its ends are those of the first and the last bar already.
      containShape: false,
      max: high,
      splitNumber: 6,
      axisLabel: {
        ...label(theme),
        margin: 8,
        hideOverlap: true,
        showMinLabel: false,
        showMaxLabel: false,
        formatter: (v: number) => (Number.isInteger(v) ? count(v) : ''),
      },
    },
    yAxis: valueAxis(theme, { min: 0, max: yMax, step }),
    tooltip: {
      ...tooltip(theme),
      trigger: 'axis',
      axisPointer: { type: 'none' },
      formatter: (params: unknown) => {
        const { dataIndex } = (params as readonly { dataIndex: number }[])[0];
        const from = bins.from + dataIndex * bins.step;
        let below = 0;
        for (let i = 0; i <= dataIndex; i++) below += bins.probability[i];
        return tooltipBody(
          bins.step === 1 ? `${count(from)} iterations` : `${count(from)} – ${count(from + bins.step - 1)} iterations`,
          '',
          [
            { label: 'Share of units', value: percent(bins.probability[dataIndex], 2) },
            { label: 'this long or shorter', value: percent(below, 1) },
            { label: 'longer', value: percent(Math.max(0, 1 - below), 1) },
          ],
        );
      },
    },
    series: [
      {
        type: 'bar',
        data: Array.from(bins.probability, (p, i) => [centre(i), p]),
        barWidth: Math.max(1, ((input.widthPx - 64) * bins.step) / span - 1),
        itemStyle: { color: theme.series[0], opacity: 0.82 },
        emphasis: { itemStyle: { opacity: 1, color: theme.series[0] } },
      },
      ...marks.map((mark, i) => ({
        type: 'custom' as const,
        silent: true,
        clip: false,
        z: 5,
        data: [[mark.at, 0]],
        renderItem: (_: unknown, api: { coord(point: readonly number[]): number[] }) => {
          const [x, bottom] = api.coord([mark.at, 0]) as [number, number];
          const top = i === marks.length - 1 && i > 1 ? 25 : 8;
          // The mean stands left of its line and a depth right of it, unless the edge is too near.
          const left = i === 0 ? x > 96 : x > input.widthPx - 112;
          return {
            type: 'group',
            children: [
              {
                type: 'line',
                shape: { x1: x, y1: top, x2: x, y2: bottom },
                style: { stroke: mark.colour, lineWidth: i === 0 ? 1 : 1.5, ...(i === 0 && { lineDash: [3, 3] }) },
              },
              {
                type: 'text',
                x: x + (left ? -6 : 6),
                y: top,
                style: {
                  text: `{b|${mark.name}} {v|${mark.value}}`,
                  align: left ? 'right' : 'left',
                  verticalAlign: 'top',
                  rich: {
                    b: { ...richLabel(theme, 'text'), fontWeight: 600 },
                    v: richLabel(theme, 'text-2'),
                  },
                },
              },
            ],
          };
        },
      })),
    ] as never,
    graphic:
      bins.beyond > 0
        ? [
            {
              type: 'text',
              right: 16,
              bottom: 46,
              style: {
                text: `${percent(bins.beyond, 2)} longer than ${count(bins.to)}, not drawn`,
                fill: theme.colour['text-3'],
                font: `${MINOR_SIZE}px ${theme.font}`,
                backgroundColor: plate(theme).backgroundColor,
                padding: [1, 3],
              },
              silent: true,
            },
          ]
        : [],
  };
}
