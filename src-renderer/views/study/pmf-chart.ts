import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  label,
  MINOR_SIZE,
  niceStep,
  plate,
  plotArea,
  richLabel,
  axisTip,
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
  /** The expected longest unit of some group sizes. */
  readonly depths: readonly PmfMark[];
  /** The width of the plot, px. Bars that would be thinner than 2 px are combined. */
  readonly widthPx: number;
}

/** The tail beyond this probability is not drawn. */
const TAIL = 1e-3;
/** If the longest unit exceeds this many means, a linear axis would have one bar, so the axis is logarithmic. */
const HEAVY = 30;
/** The width of bars on a logarithmic axis, px; those at the low end are wider. */
const LOG_BAR_PX = 6;
/** The position of units without iterations on a logarithmic axis. */
const ZERO_PLACE = 0.3;

export interface PmfBins {
  readonly log: boolean;
  /** The edges of the bars, halfway between lengths; one more than there are bars. */
  readonly edges: Float64Array;
  /** The probability of the lengths from edges[i] to edges[i + 1]. */
  readonly probability: Float64Array;
  /** The largest length of the axis, and the probability beyond it. */
  readonly to: number;
  readonly beyond: number;
}

/** Returns the end of the axis, and the probability beyond it. All marks and 99.9 % of the units are visible. */
function drawnEnd({ law, depths }: PmfInput): { readonly end: number; readonly beyond: number } {
  const { support, probability } = law;
  const last = support.length - 1;
  let beyond = 0;
  let end = last;
  const shown = Math.max(0, ...depths.map(({ at }) => at)) * 1.12;
  while (end > 0 && beyond + probability[end] < TAIL && support[end] > shown) beyond += probability[end--];
  // A tail that is almost completely visible is drawn as a whole.
  return support[last] <= support[end] * 1.25 ? { end: last, beyond: 0 } : { end, beyond };
}

/** Returns bins of whole lengths: equal widths up to 99.9 % of the units, or increasing widths over all lengths. */
export function pmfBins(input: PmfInput): PmfBins {
  const { law, mean, widthPx } = input;
  const { support, probability } = law;
  const first = support[0];
  const log = support[support.length - 1] > HEAVY * mean;
  const { end, beyond } = log ? { end: support.length - 1, beyond: 0 } : drawnEnd(input);
  const to = support[end];
  const step = Math.max(1, Math.ceil((to - first + 1) / Math.max(10, widthPx / 3)));
  const low = Math.max(1, first);
  const ratio = (to / low) ** (LOG_BAR_PX / Math.max(60, widthPx));
  const edges = [first - 0.5];
  for (let at = first; at <= to;) {
    at = log ? Math.max(at + 1, Math.ceil(at * ratio)) : at + step;
    edges.push(at - 0.5);
  }
  const bins = new Float64Array(edges.length - 1);
  for (let i = 0, bin = 0; i <= end; i++) {
    while (support[i] > edges[bin + 1]) bin += 1;
    bins[bin] += probability[i];
  }
  return { log, edges: Float64Array.from(edges), probability: bins, to, beyond };
}

const LETTER_PX = 6.2;
/** The room left of a label at the left edge, where the panel's text starts. */
const TEXT_PX = 22;

/**
 * Places the labels of vertical lines, from left to right. The mean's label is left of its line, a depth's is right,
 * unless the edge is too close. A label is one row lower than the previous one if it would cross it.
 */
function placeLabels(
  marks: readonly (readonly [xPx: number, wordsPx: number])[],
  widthPx: number,
): readonly { readonly left: boolean; readonly row: number }[] {
  let row = 0;
  let end = -Infinity;
  return marks.map(([x, words], i) => {
    const left = i === 0 ? x > words + TEXT_PX : x > widthPx - words - 12;
    if (i > 0 && (left || x < end)) row += 1;
    end = left ? x : x + 6 + words;
    return { left, row };
  });
}

/** Draws the probability of each length as bars, with the mean and the depths of groups. */
export function pmfChart(input: PmfInput, theme: ChartTheme): EChartsOption {
  const bins = pmfBins(input);
  const top = Math.max(...bins.probability);
  const step = niceStep(top, 5);
  const yMax = top * 1.05;
  const { edges, log } = bins;
  const bars = bins.probability.length;
  /** A logarithmic axis has no position for zero iterations. */
  const place = (edge: number) => (log ? Math.max(edge, ZERO_PLACE) : edge);
  const low = place(edges[0]);
  const high = edges[bars];
  const lengthsOf = (i: number): string => {
    const [from, to] = [edges[i] + 0.5, edges[i + 1] - 0.5];
    return from === to ? count(from) : `${count(from)} – ${count(to)}`;
  };
  const perBar = edges[1] - edges[0];
  const marks = [
    { at: input.mean, name: 'mean', value: fixed(input.mean, 1), colour: theme.colour.text },
    ...input.depths.map(({ at, label: name }) => ({ at, name, value: fixed(at, 1), colour: theme.series[1] })),
  ].filter(({ at }) => at <= high);
  return {
    grid: plotArea(48, 16, 46, 38),
    xAxis: {
      ...xAxis(theme, {
        title: log
          ? 'iterations of a unit, logarithmic'
          : `iterations of a unit${perBar === 1 ? '' : `, ${perBar} to a bar`}`,
      }),
      type: log ? 'log' : 'value',
      min: low,
      // The ends are already those of the first and the last bar.
      containShape: false,
      max: high,
      splitNumber: 6,
      axisLabel: {
        ...label(theme),
        margin: 8,
        hideOverlap: true,
        showMinLabel: false,
        showMaxLabel: false,
        // The edge would cut the last label of a logarithmic axis.
        formatter: (v: number) => (Number.isInteger(v) && !(log && v > high / 2) ? count(v) : ''),
      },
    },
    yAxis: valueAxis(theme, { min: 0, max: yMax, step }),
    tooltip: axisTip(theme, 'none', ({ dataIndex }) => {
      let below = 0;
      for (let i = 0; i <= dataIndex; i++) below += bins.probability[i];
      return tooltipBody(`${lengthsOf(dataIndex)} iterations`, '', [
        { label: 'Share of units', value: percent(bins.probability[dataIndex], 2) },
        { label: 'this long or shorter', value: percent(below, 1) },
        { label: 'longer', value: percent(Math.max(0, 1 - below), 1) },
      ]);
    }),
    series: [
      {
        type: 'custom',
        data: Array.from(bins.probability, (p, i) => [(place(edges[i]) + edges[i + 1]) / 2, p]),
        renderItem: (
          { dataIndex }: { readonly dataIndex: number },
          api: { coord(point: readonly number[]): number[] },
        ) => {
          const [x, bottom] = api.coord([place(edges[dataIndex]), 0]) as [number, number];
          const [end, y] = api.coord([edges[dataIndex + 1], bins.probability[dataIndex]]) as [number, number];
          return {
            type: 'rect',
            shape: { x, y, width: Math.max(1, end - x - 1), height: bottom - y },
            style: { fill: theme.series[0], opacity: 0.82 },
            emphasis: { style: { opacity: 1 } },
          };
        },
      },
      ...marks.map((_, i) => lineOfMark(marks, i, input.widthPx, theme)),
    ] as never,
    graphic: bins.beyond > 0 ? [beyondNote(bins, theme)] : [],
  };
}

interface Mark {
  readonly at: number;
  readonly name: string;
  readonly value: string;
  readonly colour: string;
}

/** The line of the mean or of a depth, with its name. */
function lineOfMark(marks: readonly Mark[], place: number, widthPx: number, theme: ChartTheme) {
  const mark = marks[place];
  const isMean = place === 0;
  return {
    type: 'custom' as const,
    silent: true,
    clip: false,
    z: 5,
    data: [[mark.at, 0]],
    renderItem: (_: unknown, api: { coord(point: readonly number[]): number[] }) => {
      const [x, bottom] = api.coord([mark.at, 0]) as [number, number];
      const { left, row } = placeLabels(
        marks.map(({ at, name, value }) => [api.coord([at, 0])[0], LETTER_PX * (name.length + value.length + 1)]),
        widthPx,
      )[place];
      const top = 6 + 15 * row;
      return {
        type: 'group',
        children: [
          {
            type: 'line',
            shape: { x1: x, y1: top, x2: x, y2: bottom },
            style: { stroke: mark.colour, lineWidth: isMean ? 1 : 1.5, ...(isMean && { lineDash: [3, 3] }) },
          },
          {
            type: 'text',
            x: x + (left ? -6 : 6),
            y: top,
            style: {
              text: `{b|${mark.name}} {v|${mark.value}}`,
              align: left ? 'right' : 'left',
              verticalAlign: 'top',
              rich: { b: { ...richLabel(theme, 'text'), fontWeight: 600 }, v: richLabel(theme, 'text-2') },
            },
          },
        ],
      };
    },
  };
}

/** Describes the part beyond the end of the axis. */
function beyondNote({ beyond, to }: PmfBins, theme: ChartTheme) {
  return {
    type: 'text',
    right: 16,
    bottom: 46,
    style: {
      text: `${percent(beyond, 2)} longer than ${count(to)}, not drawn`,
      fill: theme.colour['text-3'],
      font: `${MINOR_SIZE}px ${theme.font}`,
      backgroundColor: plate(theme).backgroundColor,
      padding: [1, 3],
    },
    silent: true,
  };
}
