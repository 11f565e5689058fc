import {
  CONTENTION_REGIMES,
  type ContentionRegime,
  type RegimeMap,
} from '../../../src-workers/models/contention/regimes.ts';
import { powersOfTwo } from '../../../src-workers/numeric/ticks.ts';
import { boxSeries, type Box } from '../../charts/boxes.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  legend,
  plane,
  planeAxes,
  ring,
  markTip,
  tooltipBody,
  type ChartSize,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { counted, fixed, plain } from '../../format/numbers.ts';

export interface Regimes {
  readonly map: RegimeMap;
  /** The end of the x axis; the map's last column may end before it. */
  readonly maxCores: number;
  readonly cores: number;
  readonly imbalance: number;
}

const BALANCE = 'M₁/β = ΣM/ρ';

/** For one number of cores (a column of the map), returns ranges of imbalance that share their closest model. */
function findRuns({ cores, imbalances, points }: RegimeMap, column: number) {
  const runs: { regime: ContentionRegime; cores: number; imbalances: number[]; phase2Fractions: number[] }[] = [];
  imbalances.forEach((imbalance, row) => {
    const point = points[column * imbalances.length + row];
    if (!point) return;
    const { regime, phase2Fraction } = point;
    if (runs.at(-1)?.regime !== regime)
      runs.push({ regime, cores: cores[column], imbalances: [], phase2Fractions: [] });
    runs.at(-1)!.imbalances.push(imbalance);
    runs.at(-1)!.phase2Fractions.push(phase2Fraction);
  });
  return runs;
}

const tone = (rgb: string, part: number): string =>
  rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${(0.3 + 0.45 * Math.abs(part - 0.5)).toFixed(3)})`);

const gradient = (rgb: string, parts: readonly number[]): object => ({
  type: 'linear', x: 0, y: 1, x2: 0, y2: 0,
  colorStops: parts.map((part, i) => ({ offset: (i + 0.5) / parts.length, color: tone(rgb, part) })),
}); // prettier-ignore

function ends(values: readonly number[], write: (value: number) => string): string {
  const [low, high] = [Math.min(...values), Math.max(...values)].map(write);
  return low === high ? low : `${low} to ${high}`;
}

/** Draws which simple model is closest, over cores and imbalance. A stronger colour means a clearer choice. */
export function regimesChart(
  { map, maxCores, cores, imbalance }: Regimes,
  theme: ChartTheme,
  size: ChartSize,
): EChartsOption {
  const most = map.imbalances[map.imbalances.length - 1];
  const area = plane(
    size,
    { left: 46, right: 16, top: 22, bottom: 62 },
    { low: 1, high: Math.max(2, maxCores) },
    { low: 1, high: Math.max(2, most), log: true },
  );
  const rows = map.imbalances.length;
  const halfColumn = map.cores.length > 1 ? (map.cores[1] - map.cores[0]) / 2 : 0.5;
  const halfRow = Math.sqrt(rows > 1 ? map.imbalances[1] / map.imbalances[0] : 2);
  const runs = map.cores.flatMap((_, column) => findRuns(map, column));
  const present = CONTENTION_REGIMES.flatMap((regime, i) => {
    const own = runs.filter((run) => run.regime === regime.id);
    return own.length > 0 ? [{ ...regime, own, colour: theme.series[i] }] : [];
  });
  const balance = map.cores.map((p, i) => [p, Math.max(1e-3, map.balanceLine[i])]);
  const line = { type: 'line', data: balance, showSymbol: false, silent: true, tooltip: { show: false } };
  return {
    ...planeAxes(theme, area, {
      x: { ticks: [...new Set([0, 0.25, 0.5, 0.75, 1].map((part) => Math.max(1, Math.round(part * maxCores))))], format: String },
      y: { ticks: powersOfTwo(1, most), format: String, marks: false },
    }),
    legend: legend(theme, [
      ...present.map(({ label: name, colour: color }) => ({ name, itemStyle: { color, opacity: 0.52 } })),
      { name: 'chosen', itemStyle: { borderWidth: 2 } },
      { name: BALANCE, itemStyle: { opacity: 0 } },
    ]),
    tooltip: markTip(theme, ({ seriesName, dataIndex }) => {
      const regime = present.find(({ label: name }) => name === seriesName)!;
      const run = regime.own[dataIndex];
      return tooltipBody(regime.label, counted(run.cores, 'core'), [
        { label: 'longest over mean', value: ends(run.imbalances, (value) => plain(value, 3)) },
        { label: 'below full bandwidth, % of time', value: ends(run.phase2Fractions, (part) => fixed(100 * part, 0)) },
        { label: regime.text, value: '' },
      ]);
    }),
    series: [
      ...present.map(({ label: name, own, colour }) =>
        boxSeries({
          name,
          boxes: own.map(({ cores: p, imbalances }): Box => [p - halfColumn, p + halfColumn, imbalances[0] / halfRow, imbalances[imbalances.length - 1] * halfRow]),
          style: (i) => ({ fill: gradient(colour, own[i].phase2Fractions) }),
          hover: colour,
          crisp: true,
        }),
      ),
      { ...line, lineStyle: { color: theme.colour.bg, width: 4 } },
      { ...line, name: BALANCE, lineStyle: { color: theme.colour.text, width: 1.25 } },
      ...ring(theme, [cores, Math.max(1, imbalance)], 10, { name: 'chosen' }),
    ] as never,
    graphic: axisTitles(theme, area, { x: 'cores in use', y: 'longest over mean work' }),
  };
} // prettier-ignore

export function regimesTable({ points, cores, imbalances }: RegimeMap): (string | number)[][] {
  const rows = imbalances.length;
  return [
    ['cores', 'imbalance', 'regime', 'part of the time below full bandwidth'],
    ...points.flatMap((point, i) =>
      point ? [[cores[Math.floor(i / rows)], imbalances[i % rows], point.regime, point.phase2Fraction]] : [],
    ),
  ];
}
