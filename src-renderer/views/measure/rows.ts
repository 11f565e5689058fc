import type { MeasuredCase } from '../../../src-main/contract/measuring.ts';
import { numericTimes } from '../../format/numbers.ts';
import { flagsOf, type Flag, type MeasuredPoint } from './points.ts';

export interface MeasuredRow {
  readonly position: number;
  readonly each: MeasuredCase;
  readonly point: MeasuredPoint | null;
  readonly flags: readonly Flag[];
  readonly state: 'compared' | 'measured' | 'failed' | 'waiting';
}

const VALUES = {
  predictedRank: ({ point }: MeasuredRow) => point?.predictedRank,
  measuredRank: ({ point }: MeasuredRow) => point?.measuredRank,
  rankChange: ({ point }: MeasuredRow) => point && point.measuredRank - point.predictedRank,
  predictedMs: ({ point, each }: MeasuredRow) => point?.predictedMs ?? each.predictedMs,
  medianMs: ({ each }: MeasuredRow) => each.measured?.medianMs,
  residual: ({ point }: MeasuredRow) => point?.residual,
  interval: ({ each }: MeasuredRow) => halfWidthFraction(each),
};
export type MeasuredColumn = keyof typeof VALUES;
export const MEASURED_COLUMNS = Object.keys(VALUES) as MeasuredColumn[];

export function halfWidthFraction({ measured }: MeasuredCase): number | null {
  if (!measured || measured.lowMs === null || measured.highMs === null) return null;
  return (measured.highMs - measured.lowMs) / 2 / measured.medianMs;
}

function rowState(each: MeasuredCase, point: MeasuredPoint | null): MeasuredRow['state'] {
  if (each.failure !== null) return 'failed';
  if (each.measured === null) return Object.keys(each.values).length > 0 ? 'measured' : 'waiting';
  return point ? 'compared' : 'measured';
}

export function measuredRows(
  cases: readonly MeasuredCase[],
  points: readonly MeasuredPoint[],
  sort: { readonly column: MeasuredColumn; readonly descending: boolean },
): readonly MeasuredRow[] {
  const byDesign = new Map(points.map((point) => [point.designIndex, point]));
  const rows = cases.map((each): MeasuredRow => {
    const point = each.designIndex === null ? null : (byDesign.get(each.designIndex) ?? null);
    return { position: each.position, each, point, flags: flagsOf(each), state: rowState(each, point) };
  });
  const sign = sort.descending ? -1 : 1;
  const valueOf = (row: MeasuredRow) => VALUES[sort.column](row) ?? NaN;
  return rows.sort((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    if (Number.isNaN(left) || Number.isNaN(right))
      return Number(Number.isNaN(left)) - Number(Number.isNaN(right)) || a.position - b.position;
    return sign * (left - right) || a.position - b.position;
  });
}

export const DESIGN_FIELDS = ['threadsPerUnit', 'unitsPerThread', 'blockThreads', 'gridBlocks', 'registerCap', 'loop', 'balancing'] as const; // prettier-ignore
export type DesignField = (typeof DESIGN_FIELDS)[number];

export function varyingFields(cases: readonly Pick<MeasuredCase, 'design'>[]): readonly DesignField[] {
  const designs = cases.flatMap(({ design }) => (design ? [design] : []));
  const varying = DESIGN_FIELDS.filter((field) => new Set(designs.map((design) => design[field])).size > 1);
  return varying.length > 0 ? varying : ['threadsPerUnit', 'blockThreads', 'gridBlocks'];
}

export function measuredTable(rows: readonly MeasuredRow[]): readonly (readonly (string | number)[])[] {
  const { unit, of } = numericTimes(rows.flatMap(({ each }) => (each.measured ? [each.measured.medianMs] : [])));
  const time = (ms: number | null | undefined): number | '' => (ms === null || ms === undefined ? '' : of(ms));
  const head = [
    'design', 'predicted rank', 'measured rank', ...DESIGN_FIELDS, `predicted, ${unit}`, `measured median, ${unit}`,
    `interval low, ${unit}`, `interval high, ${unit}`, 'residual ln', 'repeats', 'outliers', 'drift', 'correct', 'registers', 'clock, MHz', 'power, W', 'temperature, °C', 'failure',
  ]; // prettier-ignore
  return [
    head,
    ...rows.map(({ each, point }) => [
      each.designIndex ?? each.label,
      point?.predictedRank ?? '',
      point?.measuredRank ?? '',
      ...DESIGN_FIELDS.map((field) => each.design?.[field] ?? ''),
      time(point?.predictedMs ?? each.predictedMs),
      time(each.measured?.medianMs),
      time(each.measured?.lowMs),
      time(each.measured?.highMs),
      point?.residual ?? '',
      each.measured?.repeats ?? '',
      each.measured?.outliers ?? '',
      each.measured?.driftFraction ?? '',
      each.correct === null ? '' : String(each.correct),
      each.registersPerThread ?? '',
      each.measured?.clockMhz ?? '',
      each.conditions?.powerW ?? '',
      each.conditions?.temperatureC ?? '',
      each.failure ?? '',
    ]),
  ];
}
