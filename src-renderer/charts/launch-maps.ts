import type { EChartsOption } from './echarts.ts';
import { markTip, tooltipBody, words, type ChartSize } from './parts.ts';
import type { ChartTheme } from './theme.svelte.ts';
import { count } from '../format/numbers.ts';
import type { LaunchSurface } from '../../src-workers/models/pipeline/hasan-surfaces.ts';
import { ramp } from '../views/landscape/colour.ts';

export interface LaunchMaps {
  readonly maps: readonly { readonly title: string; readonly surface: LaunchSurface }[];
  /** The first and last value of the scale. Values outside the scale get the colour of the nearer end. */
  readonly from: number;
  readonly to: number;
  readonly ends: readonly [from: string, to: string];
  /** Whether the colours show the difference from the middle of the scale. */
  readonly diverging?: boolean;
  readonly format: (value: number) => string;
}

const [TOP, BOTTOM, LEFT, GAP, SCALE_PX] = [20, 56, 38, 16, 120];

export function launchMapsChart(
  { maps, from, to, ends, diverging = false, format }: LaunchMaps,
  theme: ChartTheme,
  { width, height }: ChartSize,
): EChartsOption {
  const [{ surface }] = maps;
  const { blocks, threadsPerBlock } = surface;
  const [rows, columns] = [blocks.length, threadsPerBlock.length];
  const mapPx = (width - LEFT - GAP * (maps.length - 1) - 8) / maps.length;
  const bottom = height - BOTTOM;
  const leftOf = (map: number) => LEFT + map * (mapPx + GAP);
  const colours = ramp(diverging ? theme.diverging : theme.sequential).css;
  const ordered = from < to ? colours : colours.toReversed();
  const ticks = (values: readonly number[]) => [0, Math.round((values.length - 1) / 2), values.length - 1].map((i) => [i, values[i]] as const);
  const aligned = ['left', 'center', 'right'] as const;
  const scaleLeft = (width - SCALE_PX) / 2;
  const hidden = { axisLine: { show: false }, axisTick: { show: false }, axisLabel: { show: false } };
  return {
    grid: maps.map((_, i) => ({ left: leftOf(i), top: TOP, width: mapPx, height: bottom - TOP, outerBoundsMode: 'none' as const })),
    xAxis: maps.map((_, i) => ({ ...hidden, type: 'category' as const, gridIndex: i, data: blocks.map(String) })),
    yAxis: maps.map((_, i) => ({ ...hidden, type: 'category' as const, gridIndex: i, data: threadsPerBlock.map(String) })),
    visualMap: {
      show: false,
      min: Math.min(from, to),
      max: Math.max(from, to),
      seriesIndex: maps.map((_, i) => i),
      dimension: 2,
      inRange: { color: [...ordered] },
    },
    tooltip: markTip(theme, ({ dataIndex }) => {
      const launch = `${count(blocks[Math.floor(dataIndex / columns)])} × ${count(threadsPerBlock[dataIndex % columns])}`;
      return tooltipBody(launch, 'blocks × threads', maps.map(({ title, surface: { values } }) => ({ label: title, value: format(values[dataIndex]) })));
    }),
    series: maps.map(({ title, surface: { values } }, i) => ({
      type: 'heatmap',
      name: title,
      xAxisIndex: i,
      yAxisIndex: i,
      progressive: 0,
      data: Array.from(values, (value, at) => [Math.floor(at / columns), at % columns, Number.isFinite(value) ? value : '-']),
      emphasis: { itemStyle: { borderColor: theme.colour.accent, borderWidth: 2 } },
    })) as never,
    graphic: [
      ...maps.flatMap(({ title }, i) => [
        words(theme, leftOf(i), 8, title, { colour: 'text-2' }),
        ...ticks(blocks).map(([at, value], k) => words(theme, leftOf(i) + (mapPx * (at + k / 2)) / rows, bottom + 11, count(value), { align: aligned[k] })),
        words(theme, leftOf(i) + mapPx, bottom + 25, 'blocks', { align: 'right' }),
      ]),
      ...ticks(threadsPerBlock).map(([at, value]) => words(theme, LEFT - 6, bottom - ((bottom - TOP) * (at + 0.5)) / columns, count(value), { align: 'right' })),
      words(theme, LEFT, bottom + 25, 'threads per block ↑'),
      {
        type: 'rect',
        silent: true,
        shape: { x: scaleLeft, y: height - 18, width: SCALE_PX, height: 8 },
        style: { fill: { type: 'linear', x: 0, y: 0, x2: 1, y2: 0, colorStops: colours.flatMap((color, i) => (i % 15 === 0 ? [{ offset: i / 255, color }] : [])) } },
      },
      words(theme, scaleLeft - 8, height - 14, ends[0], { align: 'right' }),
      words(theme, scaleLeft + SCALE_PX + 8, height - 14, ends[1]),
    ] as never,
  };
} // prettier-ignore

export function launchMapsTable({ maps }: LaunchMaps): (string | number)[][] {
  const [{ surface }] = maps;
  const columns = surface.threadsPerBlock.length;
  return [
    ['blocks', 'threads per block', ...maps.map(({ title }) => title)],
    ...Array.from(surface.values, (_, i) => [
      surface.blocks[Math.floor(i / columns)],
      surface.threadsPerBlock[i % columns],
      ...maps.map(({ surface: { values } }) => values[i]),
    ]),
  ];
}
