import { logTicks, multiples, niceStep } from '../../../src-workers/numeric/ticks.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  markWords,
  plane,
  planeAxes,
  roundTicks,
  stroke,
  axisTip,
  tooltipBody,
  type ChartSize,
  type Plane,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { count, fixed, percent } from '../../format/numbers.ts';
import type { GroupRow } from './preview.svelte.ts';

export interface PmfMark {
  readonly at: number;
  readonly label: string;
}

export interface PmfInput {
  readonly law: LengthLaw;
  readonly mean: number;
  readonly depths: readonly PmfMark[];
  /** The width of the chart, px. A linear axis has at most a bar per 3 px. */
  readonly widthPx: number;
}

/**
 * Returns the group sizes whose depths are marked: the largest size, and the size of the recommended design or, without
 * such a design, of the mapping with the least lane cost. Only mappings of the design space count.
 */
export function markedGroups(
  rows: readonly Pick<GroupRow, 'unitsPerGroup' | 'threadsPerUnit' | 'laneCost'>[],
  threadsPerUnit: readonly number[],
  recommended: number | null,
): readonly number[] {
  const inSpace = rows.filter((row) => threadsPerUnit.includes(row.threadsPerUnit));
  if (inSpace.length === 0) return [];
  const cheapest = inSpace.reduce((a, b) => (a.laneCost <= b.laneCost ? a : b));
  const chosen = inSpace.find((row) => row.threadsPerUnit === recommended) ?? cheapest;
  const largest = Math.max(...inSpace.map(({ unitsPerGroup }) => unitsPerGroup));
  return [...new Set([chosen.unitsPerGroup, largest])].filter((units) => units > 1);
}

/** On a linear axis, a tail of less than this probability may be left out. */
const TAIL = 1e-3;
/** The axis is logarithmic if the longest unit exceeds this multiple of the mean. */
const HEAVY = 30;
/** The width of bars on a logarithmic axis, px. Lengths are whole, so bars of short lengths are wider. */
const LOG_BAR_PX = 6;
const ZERO_PLACE = 0.3;

export interface PmfBins {
  readonly log: boolean;
  /** The edges of the bars, halfway between lengths; one more than there are bars. */
  readonly edges: Float64Array;
  readonly probability: Float64Array;
  readonly to: number;
  readonly beyond: number;
}

function drawnEnd({ law, depths }: PmfInput): { readonly end: number; readonly beyond: number } {
  const { support, probability } = law;
  const last = support.length - 1;
  let beyond = 0;
  let end = last;
  const shown = Math.max(0, ...depths.map(({ at }) => at)) * 1.12;
  while (end > 0 && beyond + probability[end] < TAIL && support[end] > shown) beyond += probability[end--];
  // If the tail would make the axis at most 25 % longer, all of it is drawn.
  return support[last] <= support[end] * 1.25 ? { end: last, beyond: 0 } : { end, beyond };
}

/** Returns the bars. On a linear axis they have equal widths and omit a far tail; on a log axis they widen. */
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
const TITLE_LETTER_PX = 5.4;
/** How far labels stay from the left edge, where the text of the panel starts, px. */
const TEXT_PX = 22;

/**
 * Places the label of the mean left of its line if there is room, then the labels of depths right of their lines,
 * unless the right edge is too close. A label that could overlap the previous one is a row lower.
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

export function pmfChart(drawn: Omit<PmfInput, 'widthPx'>, theme: ChartTheme, size: ChartSize): EChartsOption {
  const input = { ...drawn, widthPx: size.width };
  const bins = pmfBins(input);
  const top = Math.max(...bins.probability);
  const step = niceStep(top, 5);
  const yMax = top * 1.05;
  const { edges, log } = bins;
  const bars = bins.probability.length;
  /** A logarithmic axis has no zero, so zero iterations get a position of their own. */
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
  const area = plane(size, { left: 48, right: 16, top: 46, bottom: 38 }, { low, high, log }, { low: 0, high: yMax });
  // A logarithmic axis has no label near its end, because the edge of the plot would cut the label off.
  const lengths = log
    ? logTicks(low, high, { max: 6 }).filter((length) => Number.isInteger(length) && length <= high / 2)
    : multiples(low, high, niceStep(high - low, 7)).filter(Number.isInteger);
  return {
    ...planeAxes(theme, area, {
      x: { ticks: lengths, format: count, marks: true },
      y: roundTicks(area.yRange, step),
    }),
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
        renderItem: ({ dataIndex: i }: { readonly dataIndex: number }) => {
          const [x, y] = [area.x(place(edges[i])), area.y(bins.probability[i])];
          return {
            type: 'rect',
            shape: { x, y, width: Math.max(1, area.x(edges[i + 1]) - x - 1), height: area.bottom - y },
            style: { fill: theme.series[0], opacity: 0.82 },
            emphasis: { style: { opacity: 1 } },
          };
        },
      },
    ] as never,
    graphic: [
      ...axisTitles(theme, area, { x: lengthsTitle(bins, perBar, size.width) }),
      ...linesOfMarks(marks, size.width, area, theme),
    ],
  };
}

/** Says below the axis what is not drawn, because lines of marks cross all of the plot. */
function lengthsTitle({ log, beyond, to }: PmfBins, perBar: number, widthPx: number): string {
  const title = log ? 'iterations of a unit, logarithmic' : 'iterations of a unit';
  const bars = perBar === 1 || log ? '' : `, ${perBar} to a bar`;
  const notDrawn = beyond > 0 ? `; ${percent(beyond, 2)} exceed ${count(to)}` : '';
  const whole = `${title}${bars}${notDrawn}`;
  return whole.length * TITLE_LETTER_PX < widthPx ? whole : `${title}${notDrawn}`;
}

interface Mark {
  readonly at: number;
  readonly name: string;
  readonly value: string;
  readonly colour: string;
}

function linesOfMarks(marks: readonly Mark[], widthPx: number, area: Plane, theme: ChartTheme) {
  const places = placeLabels(
    marks.map(({ at, name, value }) => [area.x(at), LETTER_PX * (name.length + value.length + 1)]),
    widthPx,
  );
  return marks.flatMap(({ at, name, value, colour }, i) => {
    const { left, row } = places[i];
    const [x, top] = [area.x(at), 6 + 15 * row];
    const line = i === 0 ? { dash: [3, 3] } : { width: 1.5 };
    const label = markWords(theme, x, top + 6, name, value, left);
    // The line of another mark may run behind the words.
    const style = { ...label.style, backgroundColor: theme.colour.bg };
    return [stroke([x, top, x, area.bottom], colour, { z: 5, ...line }), { ...label, style }];
  });
}
