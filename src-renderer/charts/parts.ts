import { multiples, stepDecimals } from '../../src-workers/numeric/ticks.ts';
import { fixed } from '../format/numbers.ts';
import type { ChartTheme } from './theme.svelte.ts';

const LABEL_SIZE = 11;
export const MINOR_SIZE = 10.5;

export function label(theme: ChartTheme, colour: keyof ChartTheme['colour'] = 'text-3') {
  return { color: theme.colour[colour], fontFamily: theme.font, fontSize: LABEL_SIZE, lineHeight: 14 };
}

function tooltip(theme: ChartTheme) {
  return {
    show: true,
    confine: true,
    transitionDuration: 0,
    showDelay: 0,
    hideDelay: 40,
    backgroundColor: theme.colour.raised,
    borderColor: theme.colour['line-2'],
    borderWidth: 1,
    borderRadius: 5,
    padding: [8, 10],
    textStyle: { color: theme.colour.text, fontFamily: theme.font, fontSize: LABEL_SIZE, lineHeight: 16 },
    extraCssText: 'box-shadow: var(--lift); width: 196px; white-space: normal;',
  };
}

export interface TooltipRow {
  readonly label: string;
  readonly value: string;
  readonly tone?: 'faster' | 'slower';
}

/** Writes a tooltip: title and note, then labels and values in at most five rows. Text is never markup. */
export function tooltipBody(title: string, note: string, rows: readonly TooltipRow[]): HTMLElement {
  const element = (tag: string, className: string, ...content: readonly (string | Node)[]) => {
    const made = document.createElement(tag);
    made.className = className;
    made.append(...content);
    return made;
  };
  const line = (className: string, left: string, right: string, tone = '') =>
    element('div', className, element('span', '', left), element('span', tone, right));
  return element(
    'div',
    'chart-tip',
    line('chart-tip-head', title, note),
    ...rows.slice(0, 5).map((row) => line('chart-tip-row', row.label, row.value, row.tone)),
  );
}

/** A mark whose tooltip is shown. For a tooltip of a place on the x axis, this is the first mark there. */
interface TipMark {
  readonly seriesIndex: number;
  readonly seriesName: string;
  readonly dataIndex: number;
  readonly value: readonly [number, number];
  readonly axisValue: number;
}

export function markTip(theme: ChartTheme, write: (mark: TipMark) => HTMLElement) {
  return { ...tooltip(theme), trigger: 'item' as const, formatter: (mark: unknown) => write(mark as TipMark) };
}

export function axisTip(
  theme: ChartTheme,
  line: 'free' | 'snap' | 'none',
  write: (first: TipMark) => HTMLElement | '',
) {
  const lineStyle = { color: theme.colour.control, width: 1, type: [2, 3] };
  return {
    ...tooltip(theme),
    trigger: 'axis' as const,
    axisPointer: { type: line === 'none' ? 'none' : 'line', snap: line === 'snap', lineStyle } as const,
    formatter: (marks: unknown) => {
      const [first] = marks as readonly TipMark[];
      return write({ ...first, axisValue: Number(first.axisValue) });
    },
  };
}

export function spot(at: readonly [x: number, y: number], symbolSize: number, style: object, more: object = {}) {
  return {
    type: 'scatter' as const,
    silent: true,
    tooltip: { show: false },
    data: at.every(Number.isFinite) ? [[...at]] : [],
    symbolSize,
    z: 5,
    itemStyle: { opacity: 1, ...style },
    ...more,
  };
}

export function ring(theme: ChartTheme, at: readonly [x: number, y: number], symbolSize = 12, more: object = {}) {
  const { bg, accent } = theme.colour;
  return [
    spot(at, symbolSize, { color: 'transparent', borderColor: bg, borderWidth: 5 }, { clip: false }),
    spot(at, symbolSize, { color: 'transparent', borderColor: accent, borderWidth: 2 }, { clip: false, z: 6, ...more }),
  ];
}

export interface ChartSize {
  readonly width: number;
  readonly height: number;
}

export interface Picked {
  readonly seriesIndex?: number;
  readonly dataIndex: number;
  readonly data: unknown;
  readonly value: unknown;
}

export interface Range {
  readonly low: number;
  readonly high: number;
  readonly log?: boolean;
}

export interface Plane {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly xRange: Range;
  readonly yRange: Range;
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

export function plane(
  { width, height }: ChartSize,
  margins: Pick<Plane, 'left' | 'right' | 'top' | 'bottom'>,
  xRange: Range,
  yRange: Range,
): Plane {
  const part = ({ low, high, log }: Range, value: number) =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low || 1);
  const right = Math.max(margins.left + 1, width - margins.right);
  const bottom = Math.max(margins.top + 1, height - margins.bottom);
  return {
    left: margins.left,
    top: margins.top,
    right,
    bottom,
    xRange,
    yRange,
    x: (value) => margins.left + part(xRange, value) * (right - margins.left),
    y: (value) => bottom - part(yRange, value) * (bottom - margins.top),
  };
}

export interface Ticks {
  readonly ticks: readonly number[];
  readonly format: (value: number) => string;
  readonly bold?: ReadonlySet<number>;
  /** On x, whether tick marks are shown (default: no). On y, whether gridlines are shown (default: yes). */
  readonly marks?: boolean;
}

function tickedAxis(theme: ChartTheme, { low, high, log }: Range, { ticks, format, bold }: Ticks) {
  return {
    type: log ? ('log' as const) : ('value' as const),
    min: low,
    max: high,
    axisLabel: {
      ...label(theme),
      margin: 8,
      customValues: [...ticks],
      showMinLabel: true,
      showMaxLabel: true,
      hideOverlap: false,
      formatter: (value: number) => {
        // ECharts returns ticks of logarithmic axes with rounding errors, so the nearest given tick is used.
        const tick = ticks.reduce(
          (a, b) => (Math.abs(b - value) < Math.abs(a - value) ? b : a),
          value === 0 ? 0 : Infinity,
        );
        return bold?.has(tick) ? `{on|${format(tick)}}` : format(tick);
      },
      rich: { on: { ...label(theme, 'text'), fontWeight: 600 as const } },
    },
  };
}

const NO_TICKS: Ticks = { ticks: [], format: String, marks: false };

export function planeAxes(
  theme: ChartTheme,
  area: Plane,
  { x = NO_TICKS, y = NO_TICKS }: { readonly x?: Ticks; readonly y?: Ticks } = {},
) {
  const rule = { color: theme.colour['line-2'], width: 1 };
  const across = tickedAxis(theme, area.xRange, x);
  const up = tickedAxis(theme, area.yRange, y);
  return {
    grid: {
      left: area.left,
      top: area.top,
      width: area.right - area.left,
      height: area.bottom - area.top,
      outerBoundsMode: 'none' as const,
    },
    xAxis: {
      ...across,
      axisLabel: { ...across.axisLabel, margin: 6 },
      axisLine: { show: true, onZero: false, lineStyle: rule },
      axisTick: { show: x.marks ?? false, length: 4, customValues: [...x.ticks], lineStyle: rule },
      splitLine: { show: false },
    },
    yAxis: {
      ...up,
      axisLine: { show: false },
      // ECharts draws gridlines at the ticks. The ticks themselves have length 0, so only the gridlines show.
      axisTick: { show: true, length: 0, customValues: [...y.ticks] },
      splitLine: { show: y.marks ?? true, lineStyle: { color: theme.colour.grid, width: 1 } },
    },
  };
}

interface WordStyle {
  readonly colour?: keyof ChartTheme['colour'];
  readonly bold?: boolean;
  readonly align?: 'left' | 'center' | 'right';
  readonly size?: number;
  readonly halo?: boolean;
}

/** Writes words at a position of the drawing; `y` is the middle of the line. */
export function words(
  theme: ChartTheme,
  x: number,
  y: number,
  text: string,
  { colour = 'text-3', bold = false, align = 'left', size = LABEL_SIZE, halo = false }: WordStyle = {},
) {
  return {
    type: 'text' as const,
    x,
    y,
    z: 20,
    silent: true,
    style: {
      text,
      fill: theme.colour[colour],
      fontFamily: theme.font,
      fontSize: size,
      fontWeight: bold ? (600 as const) : (400 as const),
      align,
      verticalAlign: 'middle' as const,
      ...(halo && { stroke: theme.colour.bg, lineWidth: 3 }),
    },
  };
}

export function markWords(theme: ChartTheme, x: number, y: number, bold: string, rest: string, flip: boolean) {
  const plain = words(theme, x + (flip ? -6 : 6), y, `{b|${bold}} ${rest}`, {
    colour: 'text-2',
    align: flip ? 'right' : 'left',
    halo: true,
  });
  const { fontFamily, fontSize, stroke: halo, lineWidth } = plain.style;
  const strong = { fill: theme.colour.text, fontFamily, fontSize, fontWeight: 600 as const, stroke: halo, lineWidth };
  return { ...plain, style: { ...plain.style, rich: { b: strong } } };
}

export function roundTicks({ low, high }: Range, step: number): Ticks {
  const decimals = stepDecimals(step);
  return { ticks: multiples(low, high, step), format: (value) => (value === 0 ? '0' : fixed(value, decimals)) };
}

interface StrokeStyle {
  readonly width?: number;
  readonly dash?: readonly number[];
  readonly z?: number;
  readonly opacity?: number;
}

/** Draws a line through positions (x and y of each corner in turn), below the series unless `z` changes this. */
export function stroke(
  positions: readonly number[],
  colour: string,
  { width = 1, dash, z = 1, opacity = 1 }: StrokeStyle = {},
) {
  return {
    type: 'polyline' as const,
    z,
    silent: true,
    shape: { points: positions.flatMap((x, i) => (i % 2 === 0 ? [[x, positions[i + 1]]] : [])) },
    style: { stroke: colour, fill: 'none', lineWidth: width, opacity, ...(dash && { lineDash: [...dash] }) },
  };
}

export function legend(theme: ChartTheme, entries: readonly (string | object)[]) {
  return {
    data: entries.map((entry) => (typeof entry === 'string' ? { name: entry } : entry)) as never,
    left: 0,
    bottom: 8,
    padding: 0,
    itemWidth: 9,
    itemHeight: 8,
    itemGap: 14,
    selectedMode: false,
    textStyle: label(theme),
  };
}

export function axisTitles(theme: ChartTheme, area: Plane, { x, y }: { readonly x?: string; readonly y?: string }) {
  return [
    ...(y ? [words(theme, 0, Math.max(8, area.top - 16), y, { halo: true })] : []),
    ...(x ? [words(theme, area.right, area.bottom + 27, x, { align: 'right' })] : []),
  ];
}
