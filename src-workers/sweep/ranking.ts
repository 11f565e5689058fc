import type { PredictionColumns } from '../domain/columns.ts';
import type { SpaceAxes } from '../domain/space.ts';
import { axisCounts } from '../space/axes.ts';
import { sortByKey, sortByValue } from './sort.ts';

/** Columns of a run that a ranking can be sorted by: a float column, or an axis of the design space. */
export type SortColumn =
  | 'timeMs'
  | 'meanLoss'
  | 'aggregateLoss'
  | 'occupancyFraction'
  | 'residentBlocks'
  | 'waves'
  | 'unitsPerThread'
  | 'gridBlocks'
  | 'device'
  | 'threadsPerUnit'
  | 'loop'
  | 'balancing'
  | 'registerCap'
  | 'blockThreads';

/** Which designs to keep. Positions are positions on an axis; ranges include both ends. */
export interface RankingFilter {
  readonly positions: Readonly<Partial<Record<number, ReadonlySet<number>>>>;
  readonly ranges: readonly { readonly column: 'timeMs' | 'occupancyFraction' | 'gridBlocks'; readonly from: number; readonly to: number }[];
  readonly validity: 'valid' | 'invalid' | 'all';
  /** Only designs invalid for this reason (a code); implies invalid ones. */
  readonly invalidReason?: number | undefined;
}

/** A run's predictions with the permutations that have been asked for. Designs are numbers 0 … size − 1. */
export interface Ranking {
  readonly axes: SpaceAxes;
  readonly columns: PredictionColumns;
  /** Strides of the axes in a design index (AXIS_ORDER). */
  readonly strides: readonly number[];
  readonly counts: readonly number[];
  /** Waves of blocks each design takes: gridBlocks / (multiprocessors × residentBlocks). */
  readonly waves: Float64Array;
  readonly sorted: Map<string, Uint32Array>;
  readonly lists: Map<string, Uint32Array>;
}

const MAX_LISTS = 12;

export function createRanking(axes: SpaceAxes, columns: PredictionColumns): Ranking {
  const counts = axisCounts(axes);
  const strides = counts.map((_, axis) => counts.slice(axis + 1).reduce((product, count) => product * count, 1));
  const waves = new Float64Array(columns.timeMs.length);
  for (let design = 0; design < waves.length; design += 1) {
    const multiprocessors = axes.devices[Math.floor(design / strides[0]!)]!.multiprocessors;
    const slots = multiprocessors * columns.residentBlocks[design]!;
    waves[design] = slots > 0 ? columns.gridBlocks[design]! / slots : 0;
  }
  return { axes, columns, strides, counts, waves, sorted: new Map(), lists: new Map() };
}

/** Position of a design on an axis (index into AXIS_ORDER). */
export function axisPosition(ranking: Ranking, axis: number, design: number): number {
  return Math.floor(design / ranking.strides[axis]!) % ranking.counts[axis]!;
}

const AXIS_OF: Partial<Record<SortColumn, number>> = {
  device: 0,
  threadsPerUnit: 1,
  loop: 2,
  balancing: 3,
  registerCap: 5,
  blockThreads: 6,
};

/** Rank of each position of an axis in the order a person expects: numbers by size, words by alphabet, no cap last. */
function axisOrder(ranking: Ranking, axis: number): Uint32Array {
  const { axes } = ranking;
  const values: readonly (number | string)[] =
    axis === 0
      ? axes.devices.map((device) => device.name)
      : axis === 1
        ? axes.threadsPerUnit
        : axis === 2
          ? axes.loop
          : axis === 3
            ? axes.balancing
            : axis === 5
              ? axes.registerCap.map((cap) => cap ?? Infinity)
              : axes.blockThreads;
  const order = values
    .map((value, position) => ({ value, position }))
    .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : a.position - b.position));
  const ranks = new Uint32Array(values.length);
  order.forEach((entry, rank) => (ranks[entry.position] = rank));
  return ranks;
}

function floatColumn(ranking: Ranking, column: SortColumn): Float64Array | null {
  const { columns } = ranking;
  switch (column) {
    case 'timeMs':
      return columns.timeMs;
    case 'unitsPerThread':
      return columns.unitsPerThread;
    case 'gridBlocks':
      return columns.gridBlocks;
    case 'waves':
      return ranking.waves;
    case 'meanLoss':
      return Float64Array.from(columns.meanLoss);
    case 'aggregateLoss':
      return Float64Array.from(columns.aggregateLoss);
    case 'occupancyFraction':
      return Float64Array.from(columns.occupancyFraction);
    case 'residentBlocks':
      return Float64Array.from(columns.residentBlocks);
    default:
      return null;
  }
}

/** All valid designs by time: the order every other sort falls back to. Equal times keep the order of the designs. */
function byTime(ranking: Ranking): Uint32Array {
  const known = ranking.sorted.get('timeMs');
  if (known) return known;
  const { timeMs } = ranking.columns;
  let valid = 0;
  for (let design = 0; design < timeMs.length; design += 1) if (!Number.isNaN(timeMs[design]!)) valid += 1;
  const items = new Uint32Array(valid);
  for (let design = 0, at = 0; design < timeMs.length; design += 1) if (!Number.isNaN(timeMs[design]!)) items[at++] = design;
  const order = sortByValue(items, timeMs);
  ranking.sorted.set('timeMs', order);
  return order;
}

/** Valid designs in ascending order of a column; equal values by time. */
function sortedBy(ranking: Ranking, column: SortColumn): Uint32Array {
  const known = ranking.sorted.get(column);
  if (known) return known;
  const base = byTime(ranking);
  const values = floatColumn(ranking, column);
  const axis = AXIS_OF[column];
  let order = base;
  if (column !== 'timeMs' && values) order = sortByValue(base, values);
  else if (axis !== undefined) {
    const ranks = axisOrder(ranking, axis);
    order = sortByKey(base, (design) => ranks[axisPosition(ranking, axis, design)]!, ranks.length);
  }
  ranking.sorted.set(column, order);
  return order;
}

function invalidDesigns(ranking: Ranking, reason: number | undefined): Uint32Array {
  const { invalidReason } = ranking.columns;
  const out: number[] = [];
  for (let design = 0; design < invalidReason.length; design += 1) {
    const code = invalidReason[design]!;
    if (code !== 0 && (reason === undefined || code === reason)) out.push(design);
  }
  return Uint32Array.from(out);
}

function passes(ranking: Ranking, filter: RankingFilter): (design: number) => boolean {
  const axisTests = Object.entries(filter.positions).map(([axis, wanted]) => {
    const index = Number(axis);
    const allowed = new Uint8Array(ranking.counts[index]!);
    for (const position of wanted ?? []) if (position < allowed.length) allowed[position] = 1;
    return { stride: ranking.strides[index]!, count: ranking.counts[index]!, allowed };
  });
  const rangeTests = filter.ranges.map((range) => ({ ...range, values: ranking.columns[range.column] }));
  return (design) => {
    for (const { stride, count, allowed } of axisTests) if (!allowed[Math.floor(design / stride) % count]) return false;
    for (const { values, from, to } of rangeTests) {
      const value = values[design]!;
      if (!(value >= from && value <= to)) return false;
    }
    return true;
  };
}

/** A filter's identity, for caching. */
function filterKey(filter: RankingFilter): string {
  const positions = Object.entries(filter.positions).map(([axis, set]) => `${axis}:${[...(set ?? [])].sort((a, b) => a - b).join('.')}`);
  const ranges = filter.ranges.map((range) => `${range.column}:${range.from}:${range.to}`);
  return [filter.validity, filter.invalidReason ?? '', ...positions, ...ranges].join('|');
}

/**
 * Designs that pass the filter, ascending in the column (invalid ones last, in design order). The list is cached;
 * callers must not write to it. A descending page is read from its end.
 */
export function rankedDesigns(ranking: Ranking, filter: RankingFilter, column: SortColumn): Uint32Array {
  const key = `${column}|${filterKey(filter)}`;
  const known = ranking.lists.get(key);
  if (known) return known;
  const test = passes(ranking, filter);
  const parts: Uint32Array[] = [];
  if (filter.validity !== 'invalid' && filter.invalidReason === undefined) {
    const all = sortedBy(ranking, column);
    const unfiltered = filter.ranges.length === 0 && Object.keys(filter.positions).length === 0;
    parts.push(unfiltered ? all : all.filter(test));
  }
  if (filter.validity !== 'valid' || filter.invalidReason !== undefined)
    parts.push(invalidDesigns(ranking, filter.invalidReason).filter(test));
  let list = parts[0] ?? new Uint32Array(0);
  if (parts.length === 2) {
    list = new Uint32Array(parts[0]!.length + parts[1]!.length);
    list.set(parts[0]!);
    list.set(parts[1]!, parts[0]!.length);
  }
  if (ranking.lists.size >= MAX_LISTS) ranking.lists.delete(ranking.lists.keys().next().value!);
  ranking.lists.set(key, list);
  return list;
}

/** Number of leading entries of a list ascending in time that lie within `fraction` of its first. */
export function tieCount(ranking: Ranking, byTimeList: Uint32Array, fraction: number): number {
  if (byTimeList.length === 0) return 0;
  const { timeMs } = ranking.columns;
  const limit = timeMs[byTimeList[0]!]! * (1 + fraction);
  let low = 0;
  let high = byTimeList.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timeMs[byTimeList[middle]!]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
