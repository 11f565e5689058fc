import { planeAxes, type Plane, type Ticks } from './parts.ts';
import type { ChartTheme } from './theme.svelte.ts';

export type Box = readonly [fromX: number, toX: number, fromY: number, toY: number];

interface BoxStyle {
  readonly fill: string | object;
  readonly opacity?: number;
}
interface BoxesInput {
  readonly name?: string;
  readonly boxes: readonly Box[];
  readonly style: (index: number) => BoxStyle;
  readonly hover: string;
  readonly gapPx?: number;
  /** Whether edges are on whole pixels, so that neighbours meet without a seam. */
  readonly crisp?: boolean;
  readonly axisIndex?: number;
}

/** Draws boxes anywhere in a plot, such as bars of a Gantt chart or uneven cells. ECharts has no series for these. */
export function boxSeries(input: BoxesInput): object {
  const { name, boxes, style, hover, gapPx = 0, crisp = false, axisIndex = 0 } = input;
  const edge = (px: number) => (crisp ? Math.round(px) : px);
  return {
    type: 'custom',
    ...(name !== undefined && { name }),
    xAxisIndex: axisIndex,
    yAxisIndex: axisIndex,
    encode: { x: [0, 1], y: [2, 3] },
    clip: true,
    data: boxes.map((box) => [...box]),
    // The legend takes the colour of its key from this style.
    ...(boxes.length > 0 && { itemStyle: { color: style(0).fill } }),
    renderItem(
      { dataIndex }: { dataIndex: number },
      { coord }: { coord: (point: readonly [number, number]) => [x: number, y: number] },
    ) {
      const [fromX, toX, fromY, toY] = boxes[dataIndex];
      const [[xa, ya], [xb, yb]] = [coord([fromX, fromY]), coord([toX, toY])];
      const left = edge(Math.min(xa, xb));
      const top = edge(Math.min(ya, yb));
      return {
        type: 'rect',
        shape: {
          x: left,
          y: top,
          width: Math.max(0.5, edge(Math.max(xa, xb)) - left - gapPx),
          height: Math.max(0.5, edge(Math.max(ya, yb)) - top - gapPx),
        },
        style: style(dataIndex),
        emphasis: { style: { fill: hover, opacity: 1 } },
      };
    },
  };
}

/** Returns the axes of two plots: rows of boxes, with row 0 at the top, and below them values (axis index 1). */
export function rowsOverValues(
  theme: ChartTheme,
  rows: Plane,
  values: Plane,
  ticks: { readonly x: Ticks; readonly y: Ticks },
) {
  const upper = planeAxes(theme, rows);
  const lower = planeAxes(theme, values, ticks);
  return {
    grid: [upper.grid, lower.grid],
    xAxis: [
      { ...upper.xAxis, axisLine: { show: false } },
      { ...lower.xAxis, gridIndex: 1 },
    ],
    yAxis: [
      { ...upper.yAxis, min: 0, max: rows.yRange.low, inverse: true },
      { ...lower.yAxis, gridIndex: 1 },
    ],
  };
}
