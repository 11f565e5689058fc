import type { OccupancyPoint } from '../../../src-workers/models/occupancy/resident.ts';
import { multiples } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { axisTitles, plane, planeAxes, spot, axisTip, tooltipBody, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { count, percent } from '../../format/numbers.ts';
import { seriesOf } from './series.ts';

export interface OccupancyCurve {
  readonly name: string;
  readonly series: number;
  readonly points: readonly OccupancyPoint[];
  readonly at: number;
  readonly main: boolean;
}

export interface OccupancyInput {
  readonly curves: readonly OccupancyCurve[];
  readonly axisTitle: string;
  readonly inKib: boolean;
}

export function occupancyTick(x: number, inKib: boolean): string {
  return count(inKib ? x / 1024 : x);
}

export function occupancyAt(points: readonly OccupancyPoint[], x: number): number {
  const step = points.length > 1 ? points[1].x - points[0].x : 1;
  const at = Math.ceil((x - points[0].x) / step - 1e-9);
  return at < points.length ? points[Math.max(0, at)].y : NaN;
}

export function occupancyChart(
  { curves, axisTitle, inKib }: OccupancyInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const xs = curves.flatMap(({ points }) => points.map(({ x }) => x));
  const [xMin, xMax] = [Math.min(...xs), Math.max(...xs)];
  const area = plane(size, { left: 44, right: 24, top: 10, bottom: 40 }, { low: 0, high: xMax }, { low: 0, high: 1 });
  const scale = inKib ? 1024 : 1;
  const span = xMax / scale;
  const step = [8, 16, 32, 64, 128, 256].find((each) => span / each <= 5) ?? span / 4;
  const ticks = multiples(0, xMax, step * scale).filter((tick) => tick >= xMin || tick === 0);
  const order = [...curves].sort((a, b) => Number(a.main) - Number(b.main));
  return {
    ...planeAxes(theme, area, {
      x: { ticks, format: (x) => occupancyTick(x, inKib), marks: true },
      y: { ticks: [0, 0.25, 0.5, 0.75, 1], format: (level) => String(level * 100) },
    }),
    tooltip: axisTip(theme, 'free', ({ axisValue }) => {
      const x = Math.max(xMin, Math.round(axisValue));
      return tooltipBody(
        `${occupancyTick(x, inKib)}${inKib ? ' KiB' : ''}`,
        'occupancy',
        curves.map(({ name, points }) => ({ label: name, value: percent(occupancyAt(points, x), 0) })),
      );
    }),
    series: order.flatMap(({ name, series, points, at, main }) => {
      const { index, path } = seriesOf(series);
      const colour = theme.series[index];
      const here = occupancyAt(points, at);
      return [
        {
          type: 'line',
          name,
          step: 'end',
          data: points.map(({ x, y }) => [x, y]),
          showSymbol: false,
          symbol: 'none',
          lineStyle: { color: colour, width: main ? 1.75 : 1.25, opacity: main ? 1 : 0.6, join: 'miter' },
          emphasis: { lineStyle: { width: main ? 1.75 : 1.25 } },
        },
        spot(
          [at, here],
          8,
          { color: colour, borderColor: theme.colour.bg, borderWidth: 0.75 },
          { symbol: `path://${path}` },
        ),
      ];
    }) as never,
    graphic: axisTitles(theme, area, { x: axisTitle }),
  };
}
