import { designText } from '../../../src-workers/domain/design.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { CHARACTER_PX } from '../../charts/labels.ts';
import {
  MINOR_SIZE,
  plane,
  planeAxes,
  ring,
  stroke,
  markTip,
  tooltipBody,
  words,
  type ChartSize,
  type Plane,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, fixed, plain, signed, timeText, timeUnit } from '../../format/numbers.ts';
import type { MeasuredPoint } from './points.ts';
import { residualPercent } from './residuals.ts';
import { labelPlaces, lineInFrame, type ScatterFrame } from './scatter.ts';

export interface ScatterInput {
  readonly points: readonly MeasuredPoint[];
  readonly scale: number;
  readonly selected: number | null;
  readonly predictor: string;
  readonly frame: ScatterFrame;
}

export const MARKED = 5;

/** With more points than this, no interval is drawn. */
const MAX_BARS = 400;
const WIDE_PX = 460;

const FIT = { width: 1.5 };
const EQUAL = { dash: [4, 3] };

function tickTexts(frame: ScatterFrame) {
  const unit = timeUnit(Math.min(frame.xLowMs, frame.yLowMs));
  return { unit, tickText: (ms: number): string => plain(ms * unit.perMs, 4) };
}

export function scatterPlane(frame: ScatterFrame, size: ChartSize): Plane {
  const { tickText } = tickTexts(frame);
  const widest = Math.max(...frame.yTicksMs.map((tick) => tickText(tick).length));
  return plane(
    size,
    { left: Math.max(52, 14 + CHARACTER_PX * widest), right: 16, top: size.width > WIDE_PX ? 22 : 38, bottom: 40 },
    { low: frame.xLowMs, high: frame.xHighMs, log: true },
    { low: frame.yLowMs, high: frame.yHighMs, log: true },
  );
}

export function scatterChart(
  { points, scale, selected, predictor, frame }: ScatterInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const { colour } = theme;
  const area = scatterPlane(frame, size);
  const { unit, tickText } = tickTexts(frame);
  const isDiagonal = Math.abs(Math.log(scale)) < 0.02;
  const diagonal = lineInFrame(frame, 1);
  const fitted = lineInFrame(frame, scale);
  const line = ([a, b]: NonNullable<typeof fitted>) => [area.x(a[0]), area.y(a[1]), area.x(b[0]), area.y(b[1])];
  const chosen = points.find(({ designIndex }) => designIndex === selected) ?? null;
  const xTicks = frame.xTicksMs.filter((tick) => area.x(tick) > area.left + 10 && area.x(tick) < area.right - 8);
  const firsts = points
    .filter(({ predictedRank }) => predictedRank <= MARKED)
    .sort((a, b) => a.predictedRank - b.predictedRank);
  const places = labelPlaces(
    firsts.map((p) => ({ x: area.x(p.predictedMs), y: area.y(p.medianMs) })),
    10,
  );

  const isDiagonalShown = !isDiagonal && points.length > 0;
  const legend = drawLegend(theme, size, [
    ...(fitted
      ? [
          {
            text: isDiagonal ? `measured = ${predictor}` : `${plain(scale, 4)} × ${predictor}`,
            hue: theme.series[0],
            style: FIT,
          },
        ]
      : []),
    ...(isDiagonalShown ? [{ text: diagonal ? 'equal' : 'equal: off scale', hue: colour.base, style: EQUAL }] : []),
  ]);

  return {
    ...planeAxes(theme, area, {
      x: { ticks: xTicks, format: tickText, marks: true },
      y: { ticks: frame.yTicksMs, format: tickText },
    }),
    tooltip: {
      ...markTip(theme, ({ dataIndex }) => pointTooltip(points[dataIndex])),
      // The view shows the tooltip of the nearest point, which need not be under the pointer.
      triggerOn: 'none',
    },
    series: [
      {
        type: 'scatter',
        clip: false,
        data: points.map((p) => ({ value: [p.predictedMs, p.medianMs], itemStyle: pointStyle(p, colour) })),
        symbolSize: points.length > 200 ? 5 : 7,
        emphasis: { scale: 1.7, itemStyle: { borderColor: colour['text-2'] } },
      },
      ...(chosen ? ring(theme, [chosen.predictedMs, chosen.medianMs]) : []),
    ] as never,
    graphic: [
      words(theme, 16, 6.5, `measured, ${unit.name}`),
      words(theme, area.right, area.bottom + 28, `${predictor}, ${unit.name}`, { align: 'right' }),
      ...legend,
      ...(diagonal && !isDiagonal ? [stroke(line(diagonal), colour.base, EQUAL)] : []),
      ...(fitted ? [stroke(line(fitted), theme.series[0], FIT)] : []),
      ...(chosen
        ? [
            stroke(
              [
                area.left,
                area.y(chosen.medianMs),
                area.x(chosen.predictedMs),
                area.y(chosen.medianMs),
                area.x(chosen.predictedMs),
                area.bottom,
              ],
              colour['text-3'],
              { dash: [1, 3] },
            ),
          ]
        : []),
      ...(points.length <= MAX_BARS ? points.flatMap((p) => intervalBar(p, area, frame, colour)) : []),
      ...(points.length > MARKED
        ? firsts.map((p, i) =>
            words(theme, places[i].x, places[i].y - 4, String(p.predictedRank), {
              colour: 'text',
              bold: true,
              align: 'center',
              size: MINOR_SIZE,
              halo: true,
            }),
          )
        : []),
    ] as never,
  };
}

interface LegendEntry {
  readonly text: string;
  readonly hue: string;
  readonly style: Parameters<typeof stroke>[2];
}

function drawLegend(theme: ChartTheme, size: ChartSize, entries: readonly LegendEntry[]): readonly unknown[] {
  const [left, middle] = size.width > WIDE_PX ? [112, 6.5] : [16, 22.5];
  let next = left;
  return entries.flatMap(({ text, hue, style }) => {
    const at = next;
    next += 40 + CHARACTER_PX * text.length;
    return [
      stroke([at, middle, at + 18, middle], hue, style),
      words(theme, at + 24, middle, text, { colour: 'text-2' }),
    ];
  });
}

function pointTooltip(p: MeasuredPoint): HTMLElement {
  return tooltipBody(designText(p.design), `rank ${p.predictedRank}`, [
    { label: 'Predicted', value: timeText(p.predictedMs) },
    { label: 'Measured', value: timeText(p.medianMs) },
    ...(p.lowMs !== null && p.highMs !== null
      ? [{ label: '95 % interval', value: `±${fixed(((p.highMs - p.lowMs) / 2 / p.medianMs) * 100, 2)}${NBSP}%` }]
      : []),
    { label: 'Deviation from the line', value: `${signed(residualPercent(p.residual))}${NBSP}%` },
  ]);
}

/** Fills the designs that the model ranks first. A dashed outline marks a doubtful time, whose repeats drift. */
function pointStyle({ predictedRank, measured }: MeasuredPoint, colour: ChartTheme['colour']) {
  const first = predictedRank <= MARKED;
  return {
    color: first ? colour.accent : colour.bg,
    borderColor: first ? colour.accent : colour.base,
    borderWidth: 1.5,
    opacity: 1,
    ...((measured.measured?.driftFraction ?? null) !== null && { borderType: [2, 1.5] }),
  };
}

function intervalBar(
  { lowMs, highMs, predictedMs, predictedRank }: MeasuredPoint,
  area: Plane,
  frame: ScatterFrame,
  colour: ChartTheme['colour'],
): readonly unknown[] {
  if (lowMs === null || highMs === null) return [];
  const x = area.x(predictedMs);
  const [low, high] = [Math.max(lowMs, frame.yLowMs), Math.min(highMs, frame.yHighMs)];
  const isFirst = predictedRank <= MARKED;
  const hue = isFirst ? colour.accent : colour.base;
  return [stroke([x, area.y(low), x, area.y(high)], hue, { width: 1.25, opacity: isFirst ? 1 : 0.7 })];
}
