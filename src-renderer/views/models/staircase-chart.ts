import type { ContentionStep } from '../../../src-workers/models/contention/time.ts';
import { multiples, niceStep } from '../../../src-workers/numeric/ticks.ts';
import { boxSeries, rowsOverValues } from '../../charts/boxes.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { axisTitles, plane, stroke, markTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { counted, numericTimes, plain, timeRange, timeText, timeUnit } from '../../format/numbers.ts';

export interface Staircase {
  readonly steps: readonly ContentionStep[];
  readonly cores: number;
  readonly fullBandwidthGbS: number;
}

/** Draws when each core is active, the cores with the most work first. Below is the bandwidth of all cores together. */
export function staircaseChart(
  { steps, cores, fullBandwidthGbS }: Staircase,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const endMs = steps.at(-1)?.toMs ?? 1;
  const time = { low: 0, high: endMs };
  const bottom = 40;
  const gap = 34;
  const room = size.height - 22 - gap - bottom;
  const above = plane(size, { left: 46, right: 16, top: 22, bottom: bottom + gap + 0.45 * room }, time, { low: cores, high: 0 });
  const below = plane(size, { left: 46, right: 16, top: 22 + 0.55 * room + gap, bottom }, time, { low: 0, high: 1.12 * fullBandwidthGbS });
  const fewerThan = (step: number) => steps[step + 1]?.activeCores ?? 0;
  const coreNames = (step: number) => {
    const [first, last] = [fewerThan(step) + 1, steps[step].activeCores];
    return first === last ? `core ${first}` : `cores ${first} to ${last}`;
  };
  const rowPx = (above.bottom - above.top) / cores;
  const unit = timeUnit(endMs);
  const ticks = { ticks: multiples(0, endMs, niceStep(endMs, 5)), format: (ms: number) => plain(ms * unit.perMs, 4) };
  const knee = steps.find(({ bandwidthGbS }) => bandwidthGbS < fullBandwidthGbS)?.fromMs ?? 0;
  const kneeOnLeft = below.x(knee) > size.width * 0.6;
  const [coreColour, rateColour] = theme.series;
  return {
    ...rowsOverValues(theme, above, below, { x: ticks, y: { ticks: [0, fullBandwidthGbS], format: (gbS) => plain(gbS, 3) } }),
    tooltip: markTip(theme, ({ seriesIndex, dataIndex }) => {
                const { fromMs, toMs, activeCores, bandwidthGbS } = steps[dataIndex];
        const until = seriesIndex === 0 ? [{ label: 'ends after', value: timeText(toMs) }] : [];
        return tooltipBody(seriesIndex === 0 ? coreNames(dataIndex) : timeRange(fromMs, toMs), '', [
          ...until,
          { label: 'active until then', value: counted(activeCores, 'core') },
          { label: 'bandwidth', value: `${plain(bandwidthGbS, 4)} GB/s` },
        ]);
    }),
    series: [
      boxSeries({
        name: 'cores',
        boxes: steps.map(({ activeCores, toMs }, i) => [0, toMs, fewerThan(i), activeCores]),
        style: () => ({ fill: coreColour, opacity: 0.55 }),
        gapPx: rowPx > 3 ? 1 : 0,
        crisp: true,
        hover: coreColour,
      }),
      boxSeries({
        boxes: steps.map(({ fromMs, toMs, bandwidthGbS }) => [fromMs, toMs, 0, bandwidthGbS]),
        style: () => ({ fill: rateColour, opacity: 0.26 }),
        crisp: true,
        hover: rateColour,
        axisIndex: 1,
      }),
      {
        type: 'line',
        xAxisIndex: 1,
        yAxisIndex: 1,
        step: 'end',
        showSymbol: false,
        data: [[0, 0], ...steps.map(({ fromMs, bandwidthGbS }) => [fromMs, bandwidthGbS]), [endMs, steps.at(-1)?.bandwidthGbS ?? 0], [endMs, 0]],
        lineStyle: { color: rateColour, width: 1.5, join: 'round' },
        silent: true,
      },
    ] as never,
    graphic: [
      words(theme, 0, 8, 'cores, the longest first'),
      words(theme, above.left - 8, above.y(0.5), '1', { align: 'right' }),
      ...(cores > 1 ? [words(theme, above.left - 8, above.y(cores - 0.5), String(cores), { align: 'right' })] : []),
      ...axisTitles(theme, below, { x: unit.name, y: 'GB/s of all cores together' }),
      ...(knee > 0
        ? [
            stroke([below.x(knee), above.top, below.x(knee), below.bottom], theme.colour['text-2'], { z: 10 }),
            words(theme, below.x(knee) + (kneeOnLeft ? -5 : 5), below.top - 12, 'bandwidth no longer full', {
              colour: 'text',
              align: kneeOnLeft ? 'right' : 'left',
            }),
          ]
        : []),
    ] as never,
  };
} // prettier-ignore

export function staircaseTable({ steps }: Staircase): (string | number)[][] {
  const { unit, of } = numericTimes(steps.map(({ toMs }) => toMs));
  return [
    [`from, ${unit}`, `to, ${unit}`, 'active cores', 'GB/s'],
    ...steps.map(({ fromMs, toMs, activeCores, bandwidthGbS }) => [of(fromMs), of(toMs), activeCores, bandwidthGbS]),
  ];
}
