import { timeRange, timeText, timeUnit, type TimeUnit } from '../../../src-workers/domain/times.ts';
import type { EChartsOption } from 'echarts';
import { BREAKDOWN_PARTS, shownParts } from '../../../src-workers/domain/breakdown.ts';
import { logTicks, multiples, niceStep, spreadLabels } from '../../../src-workers/numeric/ticks.ts';
import type { DeviceBest, Histogram } from '../../contract/api.ts';
import { html, whole } from './text.ts';

/**
 * Draws the charts of the HTML report with ECharts, without a browser. Colours are custom properties of the report's
 * style sheet, so charts follow its light and dark modes.
 */

const WIDTH = 680;
const LEFT = 44;
const RIGHT = 12;
const FONT = { fontFamily: 'inherit', fontSize: 11 } as const;
const colour = (name: string): string => `var(--${name})`;

const SYMBOLS = [
  'rect',
  'diamond',
  'triangle',
  'path://M-4-4-3-5 0-2 3-5 4-4 1-1 4 2 3 3 0 0-3 3-4 2-1-1z',
  'circle',
] as const;

export interface ReportChart {
  readonly label: string;
  readonly height: number;
  readonly option: EChartsOption;
  readonly title?: (series: number, index: number) => string;
}

type Box = Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>;

function axes(
  { left, right, top, bottom }: Box,
  x: {
    readonly low: number;
    readonly high: number;
    readonly log: boolean;
    readonly ticks: readonly number[];
    readonly text: (at: number) => string;
  },
  y: typeof x,
) {
  const axis = ({ low, high, log, ticks, text }: typeof x) => ({
    type: log ? ('log' as const) : ('value' as const),
    min: low,
    max: high,
    axisTick: { show: true, length: 0, customValues: [...ticks] },
    axisLabel: {
      ...FONT,
      color: colour('text-3'),
      margin: 6,
      customValues: [...ticks],
      showMinLabel: true,
      showMaxLabel: true,
      hideOverlap: false,
      // ECharts gives ticks of logarithmic axes rounding errors, so the nearest exact tick is shown.
      formatter: (value: number) => text(ticks.reduce((a, b) => (Math.abs(b - value) < Math.abs(a - value) ? b : a))),
    },
  });
  return {
    grid: { left, top, width: right - left, height: bottom - top, outerBoundsMode: 'none' as const },
    xAxis: {
      ...axis(x),
      axisLine: { show: true, onZero: false, lineStyle: { color: colour('line-2') } },
      splitLine: { show: false },
    },
    yAxis: { ...axis(y), axisLine: { show: false }, splitLine: { show: true, lineStyle: { color: colour('grid') } } },
  };
}

interface WordStyle {
  readonly strong?: boolean;
  readonly align?: 'left' | 'right';
}
const words = (x: number, y: number, text: string, { strong = false, align = 'left' }: WordStyle = {}) => ({
  type: 'text' as const,
  x,
  y,
  z: 10,
  silent: true,
  style: { ...FONT, text, fill: colour(strong ? 'text' : 'text-3'), align, verticalAlign: 'middle' as const },
});
const rule = (x: number, top: number, bottom: number, name: string, style: object) => ({
  type: 'line' as const,
  z: 9,
  silent: true,
  shape: { x1: x, y1: top, x2: x, y2: bottom },
  style: { stroke: colour(name), ...style },
});

const inUnit =
  ({ perMs }: TimeUnit) =>
  (timeMs: number): string =>
    (timeMs * perMs).toLocaleString('en', { maximumSignificantDigits: 4 });

export function distributionPlot({ edgesMs, counts, best, median }: Histogram, chosenMs: number): ReportChart {
  const [first, last] = [edgesMs[0], edgesMs[edgesMs.length - 1]];
  const box = { left: LEFT, right: WIDTH - RIGHT, top: 26, bottom: 160 };
  const most = Math.max(1, ...counts);
  const at = (timeMs: number): number =>
    box.left + (Math.log(timeMs / first) / Math.log(last / first)) * (box.right - box.left);
  const filled = Array.from(counts, (n, i) => [i, n] as const).filter(([, n]) => n > 0);
  const unit = timeUnit(best);
  const isApart = chosenMs > best * 1.001 && chosenMs <= last;
  return {
    label: `Distribution of the predicted time of all designs; best ${timeText(best)}, median ${timeText(median)}`,
    height: 194,
    title: (_, index) => {
      const [i, n] = filled[index];
      return `${timeRange(edgesMs[i], edgesMs[i + 1])}: ${whole(n)}`;
    },
    option: {
      ...axes(
        box,
        { low: first, high: last, log: true, ticks: logTicks(first, last, { max: 8 }), text: inUnit(unit) },
        { low: 0, high: most, log: false, ticks: multiples(0, most, Math.max(1, niceStep(most, 3))), text: whole },
      ),
      series: [
        {
          type: 'custom',
          data: filled.map(([i, n]) => [edgesMs[i], n]),
          renderItem: (params: { dataIndex: number }) => {
            const [i, n] = filled[params.dataIndex];
            const [from, to] = [at(edgesMs[i]) + 0.5, at(edgesMs[i + 1]) - 0.5];
            const y = box.bottom - (n / most) * (box.bottom - box.top);
            return {
              type: 'rect',
              shape: { x: from, y, width: Math.max(0.5, to - from), height: box.bottom - y },
              style: { fill: colour('s1'), opacity: 0.75 },
            };
          },
        },
      ] as never,
      graphic: [
        words(box.right, box.bottom + 27, `predicted time, ${unit.name}, logarithmic`, { align: 'right' }),
        rule(at(median), box.top - 6, box.bottom, 'text-2', { lineDash: [3, 3] }),
        words(at(median) + 4, box.top - 4, `median ${timeText(median)}`),
        rule(at(best), box.top - 16, box.bottom, 's1', { lineWidth: 1.75 }),
        words(at(best) + 4, box.top - 14, `best ${timeText(best)}`, { strong: true }),
        ...(isApart
          ? [
              rule(at(chosenMs), box.top - 16, box.bottom, 's2', { lineWidth: 1.75 }),
              words(at(chosenMs) + 4, box.top + 8, `this design ${timeText(chosenMs)}`, { strong: true }),
            ]
          : []),
      ],
    },
  };
}

export function granularityPlot(devices: readonly DeviceBest[]): ReportChart | null {
  const curves = devices.map(({ device, byThreadsPerUnit }) => ({
    name: device.name,
    points: byThreadsPerUnit.filter(({ timeMs }) => Number.isFinite(timeMs)),
  }));
  const all = curves.flatMap(({ points }) => points);
  const sizes = [...new Set(all.map(({ threadsPerUnit }) => threadsPerUnit))].sort((a, b) => a - b);
  if (sizes.length < 2) return null;
  const box = { left: LEFT, right: WIDTH - 170, top: 26, bottom: 204 };
  const low = Math.min(...all.map(({ timeMs }) => timeMs)) / 1.06;
  const high = Math.max(...all.map(({ timeMs }) => timeMs)) * 1.06;
  const unit = timeUnit(low);
  const inset = (sizes.length - 1) * 0.02;
  const y = (timeMs: number): number =>
    box.bottom - (Math.log(timeMs / low) / Math.log(high / low)) * (box.bottom - box.top);
  const ends = spreadLabels(
    curves.map(({ points }) => (points.length ? y(points[points.length - 1].timeMs) : NaN)),
    14,
  );
  const place = ({ threadsPerUnit, timeMs }: { threadsPerUnit: number; timeMs: number }) => [
    sizes.indexOf(threadsPerUnit),
    timeMs,
  ];
  return {
    label: 'Best predicted time by threads per unit, one line per device',
    height: Math.max(238, ...ends.filter((end) => !Number.isNaN(end)).map((end) => end + 14)),
    option: {
      ...axes(
        box,
        {
          low: -inset,
          high: sizes.length - 1 + inset,
          log: false,
          ticks: [...sizes.keys()],
          text: (i) => String(sizes[i]),
        },
        { low, high, log: true, ticks: logTicks(low, high, { max: 8 }), text: inUnit(unit) },
      ),
      series: curves.flatMap(({ points }, i) => {
        if (points.length === 0) return [];
        const hue = colour(`s${(i % 5) + 1}`);
        const best = points.reduce((a, b) => (b.timeMs < a.timeMs ? b : a));
        return [
          {
            type: 'line',
            silent: true,
            clip: false,
            data: points.map(place),
            symbol: SYMBOLS[i % 5],
            symbolSize: 7,
            showAllSymbol: true,
            itemStyle: { color: colour('bg'), borderColor: hue, borderWidth: 1.5 },
            lineStyle: { color: hue, width: 1.75 },
          },
          {
            type: 'scatter',
            silent: true,
            clip: false,
            data: [place(best)],
            symbolSize: 16,
            itemStyle: { color: 'transparent', borderColor: colour('text-2'), borderWidth: 1, opacity: 1 },
          },
        ];
      }) as never,
      graphic: [
        words(box.right, box.bottom + 27, 'threads per unit', { align: 'right' }),
        words(0, box.top - 13, `predicted time, ${unit.name}`),
        // A label is at the end of its line. If lines end close together, their labels are moved apart.
        ...curves.flatMap(({ name, points }, i) =>
          points.length ? [words(box.right + 2, ends[i], name, { strong: true })] : [],
        ),
      ],
    },
  };
}

export function compositionPlot(devices: readonly DeviceBest[]): ReportChart {
  const shown = devices.filter((entry) => entry.best && entry.breakdown);
  const most = Math.max(...shown.map((entry) => entry.best!.timeMs));
  const left = 168;
  const row = 26;
  const parts = BREAKDOWN_PARTS.filter(({ id }) => shown.some(({ breakdown }) => breakdown!.parts[id] > 0));
  const scale = (WIDTH - left - 70) / most;
  return {
    label: "Parts of the time of each device's best design",
    height: shown.length * row + 4,
    title: (series, index) =>
      `${parts[series].label}: ${timeText(shownParts(shown[index].breakdown!)[parts[series].id])}`,
    option: {
      grid: { left, top: 0, width: WIDTH - left - 70, height: shown.length * row, outerBoundsMode: 'none' },
      xAxis: { type: 'value', min: 0, max: most, show: false },
      yAxis: { type: 'category', inverse: true, show: false, data: shown.map(({ device }) => device.name) },
      series: parts.map(({ id }) => ({
        type: 'bar' as const,
        stack: 'time',
        clip: false,
        barWidth: 13,
        data: shown.map(({ breakdown }) => shownParts(breakdown!)[id]),
        itemStyle: { color: colour(id), borderColor: colour('bg'), borderWidth: 0.5 },
      })),
      graphic: shown.flatMap((entry, i) => [
        words(0, (i + 0.5) * row, entry.device.name, { strong: true }),
        words(left + entry.breakdown!.timeMs * scale + 8, (i + 0.5) * row, timeText(entry.best!.timeMs)),
      ]),
    },
  };
}

export function compositionLegend(devices: readonly DeviceBest[]): string {
  const items = BREAKDOWN_PARTS.filter(({ id }) => devices.some(({ breakdown }) => (breakdown?.parts[id] ?? 0) > 0));
  return `<ul class="legend">${items.map(({ id, label, hint }) => `<li title="${html(hint)}"><i class="part-${id}"></i>${html(label)}</li>`).join('')}</ul>`;
}

/** The SVG element contains no id and no address. */
export type DrawChart = (chart: ReportChart) => string;

/** ECharts is loaded only when a report needs it, because loading takes longer than most commands. */
export async function chartDrawer(): Promise<DrawChart> {
  const [
    { init, use },
    { BarChart, CustomChart, LineChart, ScatterChart },
    { GraphicComponent, GridComponent },
    { SVGRenderer },
  ] = await Promise.all([
    import('echarts/core'),
    import('echarts/charts'),
    import('echarts/components'),
    import('echarts/renderers'),
  ]);
  use([BarChart, CustomChart, GraphicComponent, GridComponent, LineChart, ScatterChart, SVGRenderer]);
  return ({ label, height, option, title }) => {
    const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
    chart.setOption({ animation: false, ...option });
    const text = chart.renderToSVGString();
    chart.dispose();
    // The clip path would need an address inside the page. It is removed, because lines never leave the plot.
    const plain = text.replace(/^<svg[^>]*>|<defs[^>]*>.*?<\/defs>| clip-path="[^"]*"/gs, '');
    // The content policy of the page allows no inline styles, so styles become attributes.
    const attributed = plain.replace(/<style.*?<\/style>/gs, '').replace(/ style="([^"]*)"/g, (_, style: string) =>
      style
        .split(';')
        .map((declaration) => declaration.split(':'))
        .filter(([name, value]) => name && value)
        .map(([name, value]) => ` ${name.trim()}="${value.trim()}"`)
        .join(''),
    );
    const body = attributed.replace(/<path([^>]*)><\/path>/g, (_, attributes: string) => {
      const series = /ecmeta_series_index="(\d+)"/.exec(attributes);
      const index = /ecmeta_data_index="(\d+)"/.exec(attributes);
      const rest = attributes.replace(/ ecmeta_\w+="[^"]*"/g, '');
      return series && index && title
        ? `<path${rest}><title>${html(title(Number(series[1]), Number(index[1])))}</title></path>`
        : `<path${rest}></path>`;
    });
    return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${html(label)}">${body}`;
  };
}
