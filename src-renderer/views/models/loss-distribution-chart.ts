import { multiples, niceStep } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { axisTitles, legend, plane, planeAxes, axisTip, tooltipBody, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { plain } from '../../format/numbers.ts';

export interface ObservedLoss {
  readonly name: string;
  readonly probability: ArrayLike<number>;
}
export interface LossDistribution {
  readonly edges: Float64Array;
  readonly modelled: Float64Array;
  readonly observed: readonly ObservedLoss[];
}

const SYMBOLS = ['diamond', 'triangle', 'circle'];

export function lossDistributionChart(
  { edges, modelled, observed }: LossDistribution,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const bins = modelled.length;
  const high = 1.06 * Math.max(...modelled, ...observed.flatMap(({ probability }) => Array.from(probability)));
  const area = plane(
    size,
    { left: 46, right: 12, top: 24, bottom: 62 },
    { low: edges[0], high: edges[bins] },
    { low: 0, high },
  );
  const middle = (bin: number) => (edges[bin] + edges[bin + 1]) / 2;
  return {
    ...planeAxes(theme, area, {
      x: {
        ticks: multiples(edges[0], edges[bins], niceStep(edges[bins] - edges[0], 6)),
        format: (loss) => plain(loss, 4),
      },
      y: { ticks: multiples(0, high, niceStep(high, 4)), format: (probability) => plain(probability, 3) },
    }),
    legend: legend(theme, [{ name: 'model', icon: 'rect', itemStyle: { opacity: 0.3 } }, ...observed.map(({ name }) => name)]),
    tooltip: axisTip(theme, 'free', ({ axisValue }) => {
        const loss = axisValue;
        const bin = Math.min(bins - 1, Math.max(0, Math.floor(((loss - edges[0]) / (edges[bins] - edges[0])) * bins)));
        return tooltipBody(`loss ${plain(edges[bin], 4)} to ${plain(edges[bin + 1], 4)}`, '', [
          { label: 'model', value: plain(modelled[bin], 3) },
          ...observed.map(({ name, probability }) => ({ label: name, value: plain(probability[bin], 3) })),
        ]);
    }),
    series: [
      {
        type: 'line',
        name: 'model',
        step: 'end',
        showSymbol: false,
        symbol: 'rect',
        data: [...Array.from(modelled, (p, bin) => [edges[bin], p]), [edges[bins], modelled[bins - 1]]],
        itemStyle: { color: theme.series[0] },
        lineStyle: { color: theme.series[0], width: 1.25 },
        areaStyle: { color: theme.series[0], opacity: 0.24 },
        emphasis: { disabled: true },
      },
      ...observed.map(({ name, probability }, i) => ({
        type: 'scatter',
        name,
        symbol: SYMBOLS[i % SYMBOLS.length],
        symbolSize: i === 2 ? 5 : 6.5,
        data: Array.from(probability, (p, bin) => [middle(bin), p]).filter(([, p]) => p > 0),
        itemStyle: { color: theme.colour.bg, borderColor: theme.series[i + 1], borderWidth: 1.4, opacity: 1 },
      })),
    ] as never,
    graphic: axisTitles(theme, area, { x: 'loss of a group', y: 'probability of a bin' }),
  };
} // prettier-ignore

export function lossDistributionTable({ edges, modelled, observed }: LossDistribution): (string | number)[][] {
  return [
    ['loss from', 'to', 'model', ...observed.map(({ name }) => name)],
    ...Array.from(modelled, (p, i) => [edges[i], edges[i + 1], p, ...observed.map(({ probability }) => probability[i])]),
  ];
} // prettier-ignore
