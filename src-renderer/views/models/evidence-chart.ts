import type { EvidenceAxis, EvidencePoints } from '../../../src-workers/domain/evidence.ts';
import { sentenceCase } from '../../../src-workers/domain/terms.ts';
import { logTicks } from '../../../src-workers/numeric/ticks.ts';
import type { EChartsOption } from '../../charts/echarts.ts';
import {
  axisTitles,
  plane,
  planeAxes,
  stroke,
  markTip,
  tooltipBody,
  words,
  type ChartSize,
  type Range,
} from '../../charts/parts.ts';
import type { ChartTheme } from '../../charts/theme.svelte.ts';
import { NBSP, count, plain, signed } from '../../format/numbers.ts';

/** Larger factors between measured and predicted times are drawn at the edge. */
const REACH = 4;
const FACTORS = [1 / 4, 1 / 2, 1, 2, 4];
const POINT_PX = 4;

export interface ResidualAxis {
  readonly id: EvidenceAxis;
  readonly label: string;
  readonly title: string;
}
export const EVIDENCE_AXES: readonly ResidualAxis[] = [
  { id: 'nonzeros', label: 'Size', title: 'non-zeros' },
  { id: 'skewness', label: 'Skewness of rows', title: 'skewness of row lengths' },
  { id: 'blocks', label: 'Blocks', title: 'blocks' },
];

const withUnit = (value: number, unit: string): string => `${plain(value, 4)}${unit === '' ? '' : `${NBSP}${unit}`}`;
const inUnit = (text: string, unit: string): string => (unit === '' ? text : `${text}, ${unit}`);

const tipOf = ({ names, over, unit, measured, predicted }: EvidencePoints, theme: ChartTheme) =>
  markTip(theme, ({ dataIndex: i }) =>
    tooltipBody(names[i], '', [
      { label: 'Predicted', value: withUnit(predicted[i], unit) },
      { label: 'Measured', value: withUnit(measured[i], unit) },
      { label: 'Measured over predicted', value: `${signed((measured[i] / predicted[i] - 1) * 100)}${NBSP}%` },
      ...EVIDENCE_AXES.flatMap(({ id, title }) => {
        const value = over[id]?.[i];
        if (value === undefined) return [];
        return [{ label: sentenceCase(title), value: id === 'skewness' ? plain(value, 3) : count(value) }];
      }),
    ]),
  );

const dots = (theme: ChartTheme, data: readonly (readonly [number, number])[]) => ({
  type: 'scatter' as const,
  data: data.map(([x, y]) => [x, y]),
  symbolSize: POINT_PX,
  itemStyle: { color: theme.series[0], opacity: 0.45 },
  emphasis: { scale: 1.8, itemStyle: { opacity: 1 } },
});

const extent = (values: Float64Array): readonly [number, number] => [
  values.reduce((low, value) => Math.min(low, value), Infinity),
  values.reduce((high, value) => Math.max(high, value), -Infinity),
];

export function timesChart(points: EvidencePoints, theme: ChartTheme, size: ChartSize): EChartsOption {
  const [x, y] = [extent(points.predicted), extent(points.measured)];
  const range: Range = { low: Math.min(x[0], y[0]) / 1.2, high: Math.max(x[1], y[1]) * 1.2, log: true };
  const area = plane(size, { left: 58, right: 16, top: 24, bottom: 40 }, range, range);
  const ticks = { ticks: logTicks(range.low, range.high, { max: 6 }), format: roundNumber };
  return {
    ...planeAxes(theme, area, { x: { ...ticks, marks: true }, y: ticks }),
    tooltip: tipOf(points, theme),
    series: [dots(theme, [...points.measured].map((time, i) => [points.predicted[i], time] as const))] as never,
    graphic: [
      stroke([area.left, area.bottom, area.right, area.top], theme.colour['text-2'], { z: 5 }),
      words(theme, area.right - 6, area.top + 26, 'equal', { align: 'right', colour: 'text-2', halo: true }),
      ...axisTitles(theme, area, { x: inUnit('predicted', points.unit), y: inUnit('measured', points.unit) }),
    ] as never,
  };
} // prettier-ignore

export function residualsChart(points: EvidencePoints, { id, title }: ResidualAxis, theme: ChartTheme, size: ChartSize): EChartsOption {
  const isCount = id !== 'skewness';
  // Skewness has both signs and spans powers of ten, so the axis is an inverse hyperbolic sine.
  const place = (value: number): number => (isCount ? value : Math.asinh(value));
  const values = points.over[id]!.map(place);
  const [min, max] = extent(values);
  const across: Range = isCount ? { low: min / 1.3, high: max * 1.3, log: true } : { low: min - 0.2, high: max + 0.2 };
  const area = plane(size, { left: 58, right: 16, top: 24, bottom: 40 }, across, { low: 1 / REACH, high: REACH, log: true });
  const skews = [-100, -10, -1, 0, 1, 10, 100, 1000].filter((value) => place(value) >= across.low && place(value) <= across.high);
  const ticks = isCount ? logTicks(across.low, across.high, { max: 10 }) : skews.map(place);
  const write = (value: number): string => (isCount ? roundNumber(value) : plain(Math.round(Math.sinh(value))));
  const data = [...points.measured].map((time, i) => [values[i], Math.min(REACH, Math.max(1 / REACH, time / points.predicted[i]))] as const);
  return {
    ...planeAxes(theme, area, {
      x: { ticks, format: write, marks: true },
      y: { ticks: FACTORS, format: (factor) => (factor < 1 ? `1/${1 / factor}` : String(factor)) },
    }),
    tooltip: tipOf(points, theme),
    series: [dots(theme, data)] as never,
    graphic: [
      stroke([area.left, area.y(1), area.right, area.y(1)], theme.colour['text-2'], { z: 5 }),
      ...axisTitles(theme, area, { x: title, y: 'measured over predicted' }),
    ] as never,
  };
} // prettier-ignore

function roundNumber(value: number): string {
  if (value < 1e4) return plain(value);
  const power = Math.floor(Math.log10(value) + 1e-9);
  const factor = Math.round(value / 10 ** power);
  const superscript = String(power).replaceAll(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(Number(digit)));
  return `${factor === 1 ? '' : `${factor}·`}10${superscript}`;
}

export function pointsTable({ names, over, unit, measured, predicted }: EvidencePoints): (string | number)[][] {
  const axes = EVIDENCE_AXES.flatMap(({ id }) => (over[id] ? [{ id, values: over[id] }] : []));
  return [
    [
      over.nonzeros ? 'matrix' : 'launch',
      ...axes.map(({ id }) => id),
      inUnit('measured', unit),
      inUnit('predicted', unit),
    ],
    ...names.map((name, i) => [name, ...axes.map(({ values }) => values[i]), measured[i], predicted[i]]),
  ];
}
