import type { EChartsOption } from '../../charts/echarts.ts';
import { plane, planeAxes, axisTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { count, plain } from '../../format/numbers.ts';

export interface PipelineInput {
  /** The cycles per iteration by active thread groups, from 0. */
  readonly derived: Float64Array;
  readonly shown: Float64Array;
  readonly measured: boolean;
  readonly groupWord: string;
}

export function pipelineChart(
  { derived, shown, measured, groupWord }: PipelineInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const groups = shown.length - 1;
  const top = Math.max(derived[groups], shown[groups]);
  const area = plane(
    size,
    { left: 44, right: 6, top: 20, bottom: 18 },
    { low: 0, high: groups },
    { low: 0, high: top },
  );
  const line = (table: Float64Array) => Array.from(table.subarray(1), (cycles, i) => [i + 1, cycles]);
  const series = (table: Float64Array, colour: string, dash: readonly number[] | null) => ({
    type: 'line' as const,
    data: line(table),
    showSymbol: false,
    symbol: 'circle',
    itemStyle: { color: colour },
    lineStyle: { color: colour, width: 1.5, ...(dash && { type: [...dash] }) },
    emphasis: { lineStyle: { width: 1.5 } },
  });
  return {
    ...planeAxes(theme, area, {
      x: { ticks: [], format: String },
      y: { ticks: [0, top], format: (cycles) => count(Math.round(cycles)), marks: false },
    }),
    tooltip: axisTip(theme, 'snap', ({ value }) => {
      const w = value[0];
      return tooltipBody(`${w} active`, 'cycles', [
        { label: 'in use', value: plain(shown[w], 4) },
        ...(measured ? [{ label: 'derived', value: plain(derived[w], 4) }] : []),
      ]);
    }),
    series: [
      series(shown, theme.colour.accent, null),
      ...(measured ? [series(derived, theme.colour['text-3'], [3, 3])] : []),
    ],
    graphic: [
      words(theme, 0, 6, 'cycles per iteration'),
      words(theme, area.x(1), area.bottom + 11, '1'),
      words(theme, area.right, area.bottom + 11, `${groups} active ${groupWord}`, { align: 'right' }),
    ] as never,
  };
}
