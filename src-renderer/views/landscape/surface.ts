import type { EChartsCoreOption } from 'echarts/core';
import type { LandscapeGrid } from '../../../src-main/contract/api.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { fixed } from '../../format/numbers.ts';
import { CLIP, type Ramp } from './colour.ts';

interface Words {
  readonly xTitle: string;
  readonly yTitle: string;
  readonly decimals: number;
}

/** The option of a surface plot of a grid: x and y are positions, z is the time, cut at twice the best. */
export function surfaceOption(grid: LandscapeGrid, { xTitle, yTitle, decimals }: Words, scale: Ramp, theme: ChartTheme): EChartsCoreOption {
  const nx = grid.xValues.length;
  const ny = grid.yValues.length;
  const most = grid.best * CLIP;
  const points: number[][] = [];
  for (let j = 0; j < ny; j += 1)
    for (let i = 0; i < nx; i += 1) {
      const time = grid.timeMs[j * nx + i]!;
      points.push([i, j, Number.isNaN(time) ? most : Math.min(time, most)]);
    }
  const text = (size: number) => ({ color: theme.colour['text-3'], fontSize: size, fontFamily: theme.font, lineHeight: 2 * size });
  const axis = (name: string, values: readonly string[]) => ({
    type: 'value',
    name,
    min: 0,
    max: Math.max(1, values.length - 1),
    splitNumber: 4,
    nameTextStyle: text(12),
    axisLabel: { textStyle: text(11), formatter: (value: number) => (values[Math.round(value)] ?? '').replace(/ per .*/, '') },
  });
  return {
    visualMap: { show: false, dimension: 2, min: grid.best, max: most, inRange: { color: Array.from({ length: 17 }, (_, i) => scale.css[i * 15]!) } },
    tooltip: {
      backgroundColor: theme.colour.raised,
      borderColor: theme.colour['line-2'],
      textStyle: { color: theme.colour.text, fontFamily: theme.font, fontSize: 11 },
      formatter: ({ value }: { value: number[] }) => `${grid.xValues[value[0]!]} × ${grid.yValues[value[1]!]}: ${fixed(value[2]!, decimals)} ms`,
    },
    xAxis3D: axis(xTitle, grid.xValues),
    yAxis3D: axis(yTitle, grid.yValues),
    zAxis3D: { type: 'value', name: 'ms', min: grid.best, max: most, nameTextStyle: text(12), axisLabel: { textStyle: text(11), formatter: (value: number) => fixed(value, Math.max(1, decimals - 2)) } },
    grid3D: {
      boxWidth: 120,
      boxDepth: 100,
      boxHeight: 60,
      axisLine: { lineStyle: { color: theme.colour['line-2'] } },
      axisPointer: { lineStyle: { color: theme.colour['text-3'] } },
      splitLine: { lineStyle: { color: theme.colour.grid } },
      environment: 'none',
      viewControl: { autoRotate: false, distance: 190, alpha: 32, beta: 36, animation: theme.animationMs > 0 },
      light: { main: { intensity: 0.6, shadow: false }, ambient: { intensity: 0.75 } },
    },
    series: [{ type: 'surface', data: points, dataShape: [ny, nx], shading: 'lambert', wireframe: { show: nx * ny <= 2500, lineStyle: { color: theme.colour.bg, opacity: 0.25, width: 0.5 } } }],
  };
} // prettier-ignore
