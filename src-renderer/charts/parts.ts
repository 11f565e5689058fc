import { fixed } from '../format/numbers.ts';
import type { ChartTheme } from './theme.svelte.ts';

/** Pieces of options that every chart shares: quiet axes, one kind of tooltip, labels in the right sizes. */

export const LABEL_SIZE = 11;
export const MINOR_SIZE = 10.5;

export function label(theme: ChartTheme, colour: keyof ChartTheme['colour'] = 'text-3') {
  return { color: theme.colour[colour], fontFamily: theme.font, fontSize: LABEL_SIZE, lineHeight: 14 };
}

/** The same for text that is drawn (custom series, graphics), where the colour is a fill. */
export function richLabel(theme: ChartTheme, colour: keyof ChartTheme['colour'] = 'text-3') {
  return { fill: theme.colour[colour], fontFamily: theme.font, fontSize: LABEL_SIZE, lineHeight: 14 };
}

/** Text of an annotation: readable over anything beneath it. */
export function plate(theme: ChartTheme) {
  return { ...label(theme, 'text-2'), backgroundColor: theme.colour.plate, padding: [1, 3], borderRadius: 3 };
}

interface AxisParts {
  /** With its unit; stands at the end of the axis, right-aligned under the ticks. */
  readonly title?: string;
}

export function xAxis(theme: ChartTheme, { title }: AxisParts = {}) {
  return {
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.colour['line-2'], width: 1 } },
    axisTick: { show: true, length: 4, lineStyle: { color: theme.colour['line-2'] } },
    axisLabel: { ...label(theme), margin: 8, hideOverlap: true },
    splitLine: { show: false },
    ...(title && {
      name: title,
      nameLocation: 'end' as const,
      nameGap: 0,
      nameMoveOverlap: false,
      nameTextStyle: {
        ...label(theme),
        align: 'right' as const,
        verticalAlign: 'top' as const,
        padding: [22, 0, 0, 0],
      },
    }),
  };
}

export function yAxis(theme: ChartTheme) {
  return {
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { ...label(theme), margin: 8 },
    splitLine: { show: true, lineStyle: { color: theme.colour.grid, width: 1 } },
    splitNumber: 4,
  };
}

export function tooltip(theme: ChartTheme) {
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

/** A tooltip's inside: title and note, then label left and value right, at most five rows. Built from nodes, so text stays text. */
export function tooltipBody(title: string, note: string, rows: readonly TooltipRow[]): HTMLElement {
  const body = document.createElement('div');
  body.className = 'chart-tip';
  const line = (left: string, right: string, className: string, tone?: string) => {
    const row = document.createElement('div');
    row.className = className;
    const a = document.createElement('span');
    a.textContent = left;
    const b = document.createElement('span');
    b.textContent = right;
    if (tone) b.className = tone;
    row.append(a, b);
    body.append(row);
  };
  line(title, note, 'chart-tip-head');
  for (const row of rows.slice(0, 5)) line(row.label, row.value, 'chart-tip-row', row.tone);
  return body;
}

/** Room around the plot, px. ECharts would otherwise shrink the plot to make room for axis names. */
export function plotArea(left: number, right: number, top: number, bottom: number) {
  return { left, right, top, bottom, outerBoundsMode: 'none' as const };
}

/** A round step that gives about `target` gridlines over a span. */
export function niceStep(span: number, target = 4): number {
  const rough = span / target;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 4, 5, 10].find((factor) => factor * size >= rough * 0.999) ?? 10;
  return Number((step * size).toPrecision(3));
}

/** Decimals that all multiples of a step need: one number of them for the whole axis. */
export function stepDecimals(step: number): number {
  let decimals = 0;
  while (
    decimals < 12 &&
    Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-9 * 10 ** decimals * step
  )
    decimals++;
  return decimals;
}

/**
 * A linear value axis from round step to round step; `max` may end between two gridlines, so that no height is wasted
 * above the data.
 */
export function valueAxis(
  theme: ChartTheme,
  { min, max, step }: { readonly min: number; readonly max: number; readonly step: number },
) {
  const decimals = stepDecimals(step);
  const whole = Math.abs(max / step - Math.round(max / step)) < 1e-9;
  const axis = yAxis(theme);
  return {
    ...axis,
    type: 'value' as const,
    min,
    max,
    interval: step,
    axisLabel: {
      ...axis.axisLabel,
      showMaxLabel: whole,
      formatter: (v: number) => (v === 0 ? '0' : fixed(v, decimals)),
    },
    splitLine: { ...axis.splitLine, showMaxLine: whole },
  };
}
