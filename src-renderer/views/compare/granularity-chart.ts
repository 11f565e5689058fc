import { logTicks, spreadLabels } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import { CHARACTER_PX, fitTexts } from '../../charts/labels.ts';
import { axisTitles, plane, planeAxes, spot, axisTip, tooltipBody, words, type ChartSize } from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { plain, timeText, timeUnit } from '../../format/numbers.ts';
import { seriesOf } from './series.ts';

export interface GranularityCurve {
  readonly name: string;
  readonly short: string;
  readonly series: number;
  readonly points: readonly { readonly threadsPerUnit: number; readonly timeMs: number }[];
}

const RIGHT = 96;

export function granularityChart(
  { curves, axisTitle }: { readonly curves: readonly GranularityCurve[]; readonly axisTitle: string },
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const drawn = curves.map((curve) => {
    const points = curve.points.filter(({ timeMs }) => Number.isFinite(timeMs));
    const { index, path } = seriesOf(curve.series);
    return {
      ...curve,
      points,
      colour: theme.series[index],
      path,
      fastest: points.length ? points.reduce((a, b) => (b.timeMs < a.timeMs ? b : a)) : null,
    };
  });
  const sizes = [...new Set(drawn.flatMap(({ points }) => points.map(({ threadsPerUnit }) => threadsPerUnit)))];
  sizes.sort((a, b) => a - b);
  const times = drawn.flatMap(({ points }) => points.map(({ timeMs }) => timeMs));
  const [low, high] = [Math.min(...times) / 1.05, Math.max(...times) * 1.05];
  const unit = timeUnit(Math.sqrt(low * high));
  const place = (threadsPerUnit: number) => (sizes.length === 1 ? 1 : sizes.indexOf(threadsPerUnit));
  const area = plane(
    size,
    { left: 40, right: RIGHT, top: 24, bottom: 44 },
    { low: 0, high: Math.max(1, sizes.length - 1) },
    { low, high, log: true },
  );
  const ends = spreadLabels(
    drawn.map(({ points }) => (points.length ? area.y(points[points.length - 1].timeMs) : NaN)),
    13,
  );
  const chosen = new Set(drawn.flatMap(({ fastest }) => (fastest ? [place(fastest.threadsPerUnit)] : [])));
  const circle = { color: 'transparent', borderColor: theme.colour.text, borderWidth: 1 };
  return {
    ...planeAxes(theme, area, {
      x: { ticks: sizes.map(place), format: (at) => String(sizes.length === 1 ? sizes[0] : sizes[at]), bold: chosen },
      y: { ticks: logTicks(low, high, { max: 5 }), format: (ms) => plain(ms * unit.perMs, 3) },
    }),
    tooltip: axisTip(theme, 'snap', ({ value }) => {
      const at = value[0];
      const threadsPerUnit = sizes.find((each) => place(each) === at);
      return tooltipBody(
        `${threadsPerUnit} ${axisTitle}`,
        '',
        drawn.flatMap(({ short, points }) => {
          const here = points.find((point) => point.threadsPerUnit === threadsPerUnit);
          return here ? [{ label: short, value: timeText(here.timeMs) }] : [];
        }),
      );
    }),
    series: drawn.flatMap(({ name, points, colour, path, fastest }) => [
      {
        type: 'line',
        name,
        data: points.map(({ threadsPerUnit, timeMs }) => [place(threadsPerUnit), timeMs]),
        symbol: `path://${path}`,
        symbolSize: 6,
        showAllSymbol: true,
        itemStyle: { color: colour, opacity: 1 },
        lineStyle: { color: colour, width: 1.5 },
        emphasis: { lineStyle: { width: 1.5 } },
      },
      ...(fastest ? [spot([place(fastest.threadsPerUnit), fastest.timeMs], 14, circle)] : []),
    ]) as never,
    graphic: [
      words(theme, 16, 8, unit.name),
      ...axisTitles(theme, area, { x: axisTitle }),
      ...drawn.flatMap(({ short, points }, i) =>
        points.length
          ? [words(theme, area.right + 10, ends[i], fitTexts([short], RIGHT - CHARACTER_PX)[0], { colour: 'text' })]
          : [],
      ),
    ] as never,
  };
}
