import type { Term } from '../../../src-workers/domain/terms.ts';
import type { PlayedLaunch } from '../../../src-workers/domain/timeline.ts';
import { multiples, niceStep } from '../../../src-workers/numeric/ticks.ts';
import { boxSeries, rowsOverValues, type Box } from '../../charts/boxes.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { axisTitles, legend, plane, stroke, markTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import type { Zoom } from '../../charts/zoom.ts';
import { plain } from '../../format/numbers.ts';

export interface Played {
  readonly played: PlayedLaunch;
  readonly endCycles: number;
  readonly marks: readonly { readonly cycles: number; readonly text: string; readonly dashed: boolean }[];
  readonly term: Term;
}

export const PLAYED_PLOT_PX = [40, 12] as const;
const [TOP, GAP, ACTIVITY, BOTTOM] = [30, 34, 64, 62];
export const playedHeightPx = (rows: number): number =>
  TOP + Math.max(90, Math.min(300, rows * 14)) + GAP + ACTIVITY + BOTTOM;

/** Returns the corners of a step curve: active thread groups over time, as the mean of the multiprocessors. */
export function activity(played: PlayedLaunch): readonly (readonly [cycles: number, mean: number])[] {
  const { multiprocessors, stepMultiprocessor, stepCycles, stepActiveGroups } = played;
  const order = [...stepCycles.keys()].sort((a, b) => stepCycles[a] - stepCycles[b]);
  const active = new Float64Array(multiprocessors);
  let total = 0;
  const corners: [cycles: number, mean: number][] = [];
  for (const i of order) {
    const m = stepMultiprocessor[i];
    total += stepActiveGroups[i] - active[m];
    active[m] = stepActiveGroups[i];
    const last = corners[corners.length - 1];
    if (last?.[0] === stepCycles[i]) last[1] = total / multiprocessors;
    else corners.push([stepCycles[i], total / multiprocessors]);
  }
  return corners;
}

export function playedChart({ played, endCycles, marks, term }: Played, theme: ChartTheme, size: ChartSize, zoom: Zoom): EChartsOption {
  const { multiprocessors, residentBlocks, groupsPerBlock, blockStartCycles, blockEndCycles } = played;
  const rows = multiprocessors * residentBlocks;
  const [left, right] = PLAYED_PLOT_PX;
  const time = { low: (zoom[0] * endCycles) / 1e3, high: (zoom[1] * endCycles) / 1e3 };
  const above = plane(size, { left, right, top: TOP, bottom: GAP + ACTIVITY + BOTTOM }, time, { low: rows, high: 0 });
  const below = plane(size, { left, right, top: size.height - ACTIVITY - BOTTOM, bottom: BOTTOM }, time, { low: 0, high: residentBlocks * groupsPerBlock });
  const ticks = multiples(time.low, time.high, niceStep(time.high - time.low, 5));
  const kinds = [
    { name: `odd ${term('block', 'many')}`, fill: theme.series[0], opacity: 0.78 },
    { name: 'even', fill: theme.series[0], opacity: 0.58 },
    { name: 'still running after the last block has started', fill: theme.part('lastWave'), opacity: 1 },
  ];
  const bars = Array.from(blockStartCycles, (start, i) => {
    const row = played.blockMultiprocessor[i] * residentBlocks + played.blockSlot[i];
    const box: Box = [start / 1e3, blockEndCycles[i] / 1e3, row, row + 1];
    return { i, box, kind: blockEndCycles[i] > played.lastDispatchCycles ? 2 : i % 2 };
  });
  const shown = marks.filter(({ cycles }) => cycles / 1e3 >= time.low && cycles / 1e3 <= time.high);
  return {
    ...rowsOverValues(theme, above, below, { x: { ticks, format: (t) => plain(t, 5) }, y: { ticks: [0, residentBlocks * groupsPerBlock], format: String } }),
    legend: legend(theme, kinds.map(({ name, opacity }) => ({ name, itemStyle: { opacity } }))),
    tooltip: markTip(theme, ({ seriesIndex, dataIndex }) => {
                const { i, box } = bars.filter(({ kind }) => kind === seriesIndex)[dataIndex];
        return tooltipBody(`${term('block')} ${i + 1}`, `${term('multiprocessor', 'short')} ${played.blockMultiprocessor[i] + 1}`, [
          { label: 'slot', value: `${played.blockSlot[i] + 1} of ${residentBlocks}` },
          { label: 'from, thousand cycles', value: plain(box[0]) },
          { label: 'to, thousand cycles', value: plain(box[1]) },
        ]);
    }),
    series: [
      ...kinds.map(({ name, fill, opacity }, at) =>
        boxSeries({
          name,
          boxes: bars.filter(({ kind }) => kind === at).map(({ box }) => box),
          style: () => ({ fill, opacity }),
          gapPx: 1,
          hover: theme.colour.accent,
        }),
      ),
      {
        type: 'line',
        xAxisIndex: 1,
        yAxisIndex: 1,
        step: 'end',
        silent: true,
        showSymbol: false,
        data: activity(played).map(([cycles, mean]) => [cycles / 1e3, mean]),
        lineStyle: { color: theme.series[0], width: 1.25 },
        areaStyle: { color: theme.series[0], opacity: 0.22 },
      },
    ] as never,
    graphic: [
      ...Array.from({ length: multiprocessors }, (_, m) => [
        words(theme, left - 8, above.y((m + 0.5) * residentBlocks), String(m + 1), { align: 'right' }),
        stroke([left, above.y(m * residentBlocks), above.right, above.y(m * residentBlocks)], theme.colour.grid, { z: 0 }),
      ]).flat(),
      ...shown.flatMap(({ cycles, text, dashed }, i) => {
        const x = above.x(cycles / 1e3);
        const onLeft = x > left + 130;
        const crowded = i > 0 && Math.abs(x - above.x(shown[0].cycles / 1e3)) < 90;
        return [
          // Each line has a gap between the plots, where the title of the lower axis is.
          ...[[TOP - 6, above.bottom], [below.top, below.bottom]].map(([from, to]) =>
            stroke([x, from, x, to], theme.colour['text-2'], { z: 15, ...(dashed && { dash: [4, 3] }) }),
          ),
          words(theme, x + (onLeft ? -4 : 4), crowded ? 6 : 18, text, { colour: 'text', align: onLeft ? 'right' : 'left', halo: true }),
        ];
      }),
      ...axisTitles(theme, below, { x: 'thousand cycles', y: `active ${term('threadGroup', 'many')} of a ${term('multiprocessor')}, mean` }),
    ] as never,
  };
} // prettier-ignore

export function playedTable(played: PlayedLaunch): (string | number)[][] {
  return [
    ['block', 'multiprocessor', 'slot', 'start, cycles', 'end, cycles'],
    ...Array.from(played.blockStartCycles, (start, i) => [
      i, played.blockMultiprocessor[i], played.blockSlot[i], start, played.blockEndCycles[i],
    ]),
  ]; // prettier-ignore
}
