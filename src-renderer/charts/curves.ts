import {
  logTicks,
  multiples,
  niceStep,
  powersOfTwo,
  spreadLabels,
  stepDecimals,
} from '../../src-workers/numeric/ticks.ts';
import { timeUnit, fixed, plain } from '../format/numbers.ts';
import type { EChartsOption } from './echarts.ts';
import { CHARACTER_PX } from './labels.ts';
import {
  axisTitles,
  plane,
  planeAxes,
  spot,
  stroke,
  axisTip,
  tooltipBody,
  words,
  type ChartSize,
  type Plane,
} from './parts.ts';
import type { ChartTheme } from './theme.svelte.ts';

export interface Curve {
  readonly name: string;
  /** The points in ascending x; a y of NaN leaves a gap. */
  readonly points: readonly (readonly [x: number, y: number])[];
  /** The number of the series' colour, 1–5. */
  readonly series: number;
  readonly dashed?: boolean;
  readonly dots?: boolean;
  readonly steps?: boolean;
}

export interface CurvesInput {
  readonly curves: readonly Curve[];
  readonly xTitle: string;
  readonly yTitle: string;
  readonly log2?: boolean;
  readonly logY?: boolean;
  readonly yFrom?: number;
  readonly yTo?: number;
  readonly xStep?: number;
  readonly at?: number | null;
  readonly mark?: { readonly x: number; readonly text: string } | null;
}

export function timedCurves(curves: readonly Curve[]): { readonly curves: readonly Curve[]; readonly unit: string } {
  const times = curves.flatMap(({ points }) => points.map(([, ms]) => ms)).filter(Number.isFinite);
  const { name, perMs } = timeUnit(times.reduce((most, ms) => Math.max(most, ms), 0));
  const scaled = curves.map((curve) => ({ ...curve, points: curve.points.map(([x, ms]) => [x, ms * perMs] as const) }));
  return { curves: scaled, unit: name };
}

const write = (value: number) => plain(Number(value.toPrecision(6)), 4);

function nearest(points: Curve['points'], x: number): readonly [number, number] | null {
  let found: readonly [number, number] | null = null;
  for (const point of points)
    if (Number.isFinite(point[1]) && (found === null || Math.abs(point[0] - x) < Math.abs(found[0] - x))) found = point;
  return found;
}

export function curvesChart(
  { curves, xTitle, yTitle, log2 = false, logY = false, yFrom, yTo, xStep, at = null, mark = null }: CurvesInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const finite = curves.flatMap(({ points }) => points.filter(([, y]) => Number.isFinite(y)));
  const xs = finite.map(([x]) => x);
  const ys = finite.map(([, y]) => y);
  const xLow = Math.min(...xs);
  const xHigh = Math.max(...xs);
  const most = Math.max(...ys);
  const yLow = yFrom ?? (logY ? Math.min(...ys) / 1.05 : 0);
  const yHigh = yTo ?? Math.max(most, yLow + 1e-9) * (logY ? 1.05 : 1) + (logY ? 0 : 0.04 * (most - yLow));
  const step = niceStep((yTo ?? most) - yLow || 1, 4);
  const round = logY ? logTicks(yLow, yHigh, { max: 5 }) : multiples(yLow, yHigh, step);
  // The start of a linear axis has a label too, if there is room below the first round value.
  const yTicks = !logY && round[0] - yLow > step / 2 ? [yLow, ...round] : round;
  const yText = (tick: number) => (logY ? write(tick) : tick === 0 ? '0' : fixed(tick, stepDecimals(step)));
  const yTextPx = Math.max(...yTicks.map((tick) => yText(tick).length)) * CHARACTER_PX;
  const area = plane(
    size,
    { left: Math.max(46, yTextPx + 14), right: 100, top: 24, bottom: 40 },
    { low: xLow, high: xHigh, log: log2 },
    { low: yLow, high: yHigh, log: logY },
  );

  const xTicks = log2 ? powersOfTwo(xLow, xHigh) : multiples(xLow, xHigh, xStep ?? niceStep(xHigh - xLow, 5));

  const shown = curves.map((curve) => ({
    ...curve,
    colour: theme.series[curve.series - 1],
    drawn: curve.points.filter(([, y]) => Number.isFinite(y)),
  }));
  const ends = spreadLabels(
    shown.map(({ drawn }) => (drawn.length ? area.y(drawn[drawn.length - 1][1]) : NaN)),
    26,
  );
  const chosen = at === null ? null : Math.min(xHigh, Math.max(xLow, at));
  const marked = mark && mark.x >= xLow && mark.x <= xHigh ? mark : null;

  return {
    ...planeAxes(theme, area, {
      x: { ticks: xTicks, format: write, bold: new Set(at === null ? [] : [at]) },
      y: { ticks: yTicks, format: yText },
    }),
    tooltip: axisTip(theme, 'free', ({ axisValue: x }) =>
      tooltipBody(
        `${write(x)} ${xTitle}`,
        '',
        shown.flatMap(({ name, drawn }) => {
          const here = nearest(drawn, x);
          return here ? [{ label: name, value: write(here[1]) }] : [];
        }),
      ),
    ),
    series: shown.flatMap((curve) => {
      const { drawn, colour, dots } = curve;
      const here = chosen === null || dots ? null : nearest(drawn, chosen);
      return [
        dots ? drawDots(curve, theme) : drawLine(curve, theme),
        ...(here ? [spot(here, 6, { color: colour, borderColor: theme.colour.bg, borderWidth: 1 })] : []),
      ];
    }),
    graphic: [
      ...axisTitles(theme, area, { x: xTitle, y: yTitle }),
      ...(marked
        ? [
            stroke([area.x(marked.x), area.top - 4, area.x(marked.x), area.bottom], theme.colour['text-2']),
            words(theme, area.x(marked.x) + 4, area.top, marked.text, { colour: 'text' }),
          ]
        : []),
      ...(chosen === null
        ? []
        : [stroke([area.x(chosen), area.top, area.x(chosen), area.bottom], theme.colour.control, { dash: [2, 3] })]),
      ...shown.flatMap((curve, i) => endOf(curve, ends[i] - 3, chosen, theme, area)),
    ] as never,
  };
}

interface DrawnCurve extends Curve {
  readonly colour: string;
  readonly drawn: Curve['points'];
}

function drawDots({ name, drawn, colour }: DrawnCurve, theme: ChartTheme) {
  return {
    type: 'scatter' as const,
    name,
    data: drawn.map(([x, y]) => [x, y]),
    symbolSize: 5,
    itemStyle: { color: theme.colour.bg, borderColor: colour, borderWidth: 1.25, opacity: 1 },
  };
}

function drawLine({ name, points, colour, steps, dashed }: DrawnCurve, theme: ChartTheme) {
  return {
    type: 'line' as const,
    name,
    data: points.map(([x, y]) => [x, Number.isFinite(y) ? y : '-']),
    symbol: 'circle',
    showSymbol: false,
    symbolSize: 6,
    ...(steps && { step: 'end' as const }),
    itemStyle: { color: colour, borderColor: theme.colour.bg, borderWidth: 1 },
    lineStyle: { color: colour, width: dashed ? 1.5 : 1.75, ...(dashed && { type: [4, 3] }) },
    emphasis: { lineStyle: { width: dashed ? 1.5 : 1.75 } },
  };
}

function endOf(
  { name, drawn, colour, dots, dashed }: DrawnCurve,
  y: number,
  chosen: number | null,
  theme: ChartTheme,
  area: Plane,
) {
  if (drawn.length === 0) return [];
  const here = (chosen === null ? null : nearest(drawn, chosen)) ?? drawn[drawn.length - 1];
  const key = dots
    ? { type: 'circle' as const, silent: true, shape: { cx: area.right + 9, cy: y, r: 3 }, style: { fill: colour } }
    : stroke([area.right + 6, y, area.right + 16, y], colour, { width: 2, ...(dashed && { dash: [4, 2] }) });
  return [
    key,
    words(theme, area.right + 20, y, name, { colour: 'text' }),
    words(theme, area.right + 20, y + 13, write(here[1])),
  ];
}

export function curvesTable(curves: readonly Curve[], xTitle: string): readonly (readonly (string | number)[])[] {
  const tables = curves.map(({ points }) => new Map(points.filter(([, y]) => Number.isFinite(y))));
  const xs = [...new Set(tables.flatMap((table) => [...table.keys()]))].sort((a, b) => a - b);
  return [
    [xTitle, ...curves.map(({ name }) => name)],
    ...xs.map((x) => [x, ...tables.map((table) => table.get(x) ?? '')]),
  ];
}
