import type { Roofline } from '../../../src-main/contract/api.ts';
import { logTicks } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  plane,
  planeAxes,
  ring,
  stroke,
  markTip,
  tooltipBody,
  words,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, percent, plain, timeText } from '../../format/numbers.ts';
import { timeStep, type Ramp } from './colour.ts';

export interface RooflineInput {
  readonly roofline: Roofline;
  readonly selected: number | null;
  readonly scale: Ramp;
}

const ridge = ({ peakIssueGips, peakBandwidthGbS }: Roofline): number => peakIssueGips / peakBandwidthGbS;

export function rooflineChart(
  { roofline, selected, scale }: RooflineInput,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const { peakIssueGips, peakBandwidthGbS, designIndex, issueGips, bandwidthGbS, timeMs } = roofline;
  const bestMs = Math.min(...timeMs);
  const intensity = issueGips.map((gips, at) => gips / bandwidthGbS[at]);
  const low = Math.min(ridge(roofline), ...intensity) / 2;
  const high = Math.max(ridge(roofline), ...intensity) * 2;
  const roof = (perByte: number): number => Math.min(peakIssueGips, perByte * peakBandwidthGbS);
  const least = Math.min(roof(low), ...issueGips) / 1.5;
  const area = plane(
    size,
    { left: 60, right: 20, top: 30, bottom: 44 },
    { low, high, log: true },
    { low: least, high: peakIssueGips * 1.6, log: true },
  );
  // The fastest designs are drawn last, on top of the other designs.
  const order = [...designIndex.keys()].sort((a, b) => timeMs[b] - timeMs[a]);
  const chosen = selected === null ? -1 : designIndex.indexOf(selected);
  const corners = [low, Math.min(high, Math.max(low, ridge(roofline))), high];
  const middle = Math.sqrt(low * corners[1]);
  return {
    ...planeAxes(theme, area, {
      x: { ticks: logTicks(low, high, { max: 8 }), format: (value) => plain(value, 3), marks: true },
      y: { ticks: logTicks(least, peakIssueGips * 1.6, { max: 6 }), format: (value) => plain(value, 3) },
    }),
    tooltip: markTip(theme, ({ dataIndex }) => {
      const at = order[dataIndex];
      return tooltipBody(`Design ${designIndex[at]}`, '', [
        { label: 'Predicted', value: timeText(timeMs[at]) },
        { label: 'Of peak issue', value: percent(issueGips[at] / peakIssueGips) },
        { label: 'Of peak bandwidth', value: percent(bandwidthGbS[at] / peakBandwidthGbS) },
        { label: 'Bandwidth', value: `${plain(bandwidthGbS[at], 3)}${NBSP}GB/s` },
      ]);
    }),
    series: [
      {
        type: 'scatter',
        clip: false,
        symbolSize: 6,
        data: order.map((at) => ({
          value: [intensity[at], issueGips[at]],
          design: designIndex[at],
          itemStyle: { color: scale.css[timeStep(timeMs[at], bestMs)], opacity: 1 },
        })),
      },
      ...(chosen < 0 ? [] : ring(theme, [intensity[chosen], issueGips[chosen]])),
    ] as never,
    graphic: [
      stroke(
        corners.flatMap((perByte) => [area.x(perByte), area.y(Math.max(least, roof(perByte)))]),
        theme.colour['text-2'],
        { width: 1.5 },
      ),
      words(theme, 16, 10, 'thread instructions, 10⁹/s'),
      words(theme, area.right, area.y(peakIssueGips) - 9, `peak issue, ${plain(peakIssueGips, 4)}`, {
        align: 'right',
        colour: 'text-2',
      }),
      words(
        theme,
        area.x(middle) - 6,
        area.y(Math.max(least, roof(middle))) - 6,
        `${plain(peakBandwidthGbS, 4)} GB/s`,
        { align: 'right', colour: 'text-2' },
      ),
      ...axisTitles(theme, area, { x: 'thread instructions per byte' }),
    ] as never,
  };
}
