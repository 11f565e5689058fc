import type { ContentionFindings } from '../../../src-main/contract/measuring.ts';
import { multiples, niceStep } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  plane,
  planeAxes,
  stroke,
  axisTip,
  tooltipBody,
  words,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, count, counted, fixed, plain } from '../../format/numbers.ts';

const MAX_TICKS = 16;

/** Draws bandwidth by cores. The line is one core's bandwidth times the cores, up to the bandwidth of all cores. */
export function bandwidthChart(findings: ContentionFindings, theme: ChartTheme, size: ChartSize): EChartsOption {
  const { bandwidthGbS, lowGbS, highGbS, fullGbS, singleCoreGbS, kneeCores } = findings;
  const most = Math.max(fullGbS, ...bandwidthGbS, ...highGbS.map((high) => high ?? 0)) * 1.08;
  const cores = Math.max(1, ...findings.cores);
  const area = plane(
    size,
    { left: 48, right: 96, top: 16, bottom: 40 },
    { low: 0, high: cores },
    { low: 0, high: most },
  );
  const every = findings.cores.length <= MAX_TICKS ? 1 : Math.ceil(findings.cores.length / 12);
  const ticks = findings.cores.filter((_, i) => i % every === 0 || i === findings.cores.length - 1);
  const knee = Math.min(cores, fullGbS / singleCoreGbS);
  const blue = theme.series[0];
  return {
    ...planeAxes(theme, area, {
      x: { ticks, format: count, bold: new Set([kneeCores]) },
      y: { ticks: multiples(0, most, niceStep(most, 4)), format: (gbS) => plain(gbS) },
    }),
    tooltip: axisTip(theme, 'none', ({ dataIndex: i }) => {
      const [low, high] = [lowGbS[i], highGbS[i]];
      return tooltipBody(counted(findings.cores[i], 'core'), '', [
        { label: 'Measured', value: `${fixed(bandwidthGbS[i], 2)}${NBSP}GB/s` },
        ...(low !== null && high !== null
          ? [{ label: '95 % interval', value: `${fixed(low, 2)} – ${fixed(high, 2)}` }]
          : []),
        { label: 'per core', value: `${fixed(bandwidthGbS[i] / findings.cores[i], 2)}${NBSP}GB/s` },
      ]);
    }),
    series: [
      {
        type: 'scatter',
        data: findings.cores.map((n, i) => [n, bandwidthGbS[i]]),
        symbolSize: 7,
        itemStyle: { color: theme.colour.bg, borderColor: blue, borderWidth: 1.75, opacity: 1 },
      },
    ],
    graphic: [
      ...axisTitles(theme, area, { x: 'cores' }),
      words(theme, area.left, 6, 'GB/s'),
      stroke(
        [area.x(0), area.y(0), area.x(knee), area.y(knee * singleCoreGbS), area.right, area.y(knee * singleCoreGbS)],
        theme.colour.base,
        { dash: [4, 3] },
      ),
      words(theme, area.right + 8, area.y(fullGbS), `ρ ${fixed(fullGbS, 1)}`, { colour: 'text' }),
      ...(kneeCores <= cores
        ? [
            stroke([area.x(kneeCores), area.top, area.x(kneeCores), area.bottom], theme.colour['text-2'], {
              dash: [1, 3],
            }),
            words(theme, area.x(kneeCores) + 5, area.bottom - 12, `K = ${kneeCores}`, { colour: 'text' }),
          ]
        : []),
      ...findings.cores.flatMap((n, i) => {
        const [low, high, x] = [lowGbS[i], highGbS[i], area.x(n)];
        if (typeof low !== 'number' || typeof high !== 'number') return [];
        return [
          stroke([x, area.y(low), x, area.y(high)], blue, { width: 1.25 }),
          ...[low, high].map((end) => stroke([x - 3, area.y(end), x + 3, area.y(end)], blue, { width: 1.25 })),
        ];
      }),
    ] as never,
  };
}
