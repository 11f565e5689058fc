import type { MeasuredCase } from '../../../src-main/contract/measuring.ts';
import { numericTimes } from '../../format/numbers.ts';
import { flagsOf, type Flag, type MeasuredPoint } from './points.ts';

export const MEASURED_COLUMNS = [
  'predictedRank',
  'measuredRank',
  'rankChange',
  'predictedMs',
  'medianMs',
  'residual',
  'interval',
] as const;
export type MeasuredColumn = (typeof MEASURED_COLUMNS)[number];

export interface MeasuredRow {
  readonly position: number;
  readonly each: MeasuredCase;
  readonly point: MeasuredPoint | null;
  readonly flags: readonly Flag[];
  readonly state: 'compared' | 'measured' | 'failed' | 'waiting';
}

function valueOf(row: MeasuredRow, column: MeasuredColumn): number {
  const { point, each } = row;
  switch (column) {
    case 'predictedRank':
      return point?.predictedRank ?? NaN;
    case 'measuredRank':
      return point?.measuredRank ?? NaN;
    case 'rankChange':
      return point ? point.measuredRank - point.predictedRank : NaN;
    case 'predictedMs':
      return point?.predictedMs ?? each.predictedMs ?? NaN;
    case 'medianMs':
      return each.measured?.medianMs ?? NaN;
    case 'residual':
      return point?.residual ?? NaN;
    case 'interval':
      return halfWidthFraction(each) ?? NaN;
  }
}

/** Returns half the width of the 95 % interval over the median. */
export function halfWidthFraction({ measured }: MeasuredCase): number | null {
  if (!measured || measured.lowMs === null || measured.highMs === null) return null;
  return (measured.highMs - measured.lowMs) / 2 / measured.medianMs;
}

export function rowState(each: MeasuredCase, point: MeasuredPoint | null): MeasuredRow['state'] {
  if (each.failure !== null) return 'failed';
  if (each.measured === null) return Object.keys(each.values).length > 0 ? 'measured' : 'waiting';
  return point ? 'compared' : 'measured';
}

/** Returns the cases in the chosen order. Cases without a value come last, in the order of the plan. */
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
  return rows.sort((a, b) => {
    const [left, right] = [valueOf(a, sort.column), valueOf(b, sort.column)];
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

/** Returns every case with unrounded numbers, for export. */
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
