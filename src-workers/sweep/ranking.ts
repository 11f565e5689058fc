import type { PredictionColumns } from '../domain/columns.ts';
import type { Device } from '../domain/device.ts';
import { AXIS, axisCounts, type AxisName, type SpaceAxes, axisStrides, productOf } from '../domain/space.ts';
import { getOrMake, kept } from '../numeric/kept.ts';
import { firstIndex } from '../numeric/search.ts';
import { reverseKeepingTies, sortByKey, sortByValue, type SortValues } from './sort.ts';

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
  | 'implementation'
  | 'threadsPerUnit'
  | 'loop'
  | 'balancing'
  | 'registerCap'
  | 'blockThreads';

/** `positions` has the positions of allowed values, by the number of their axis. Ranges include both ends. */
export interface RankingFilter {
  readonly positions: Readonly<Partial<Record<number, ReadonlySet<number>>>>;
  readonly ranges: readonly {
    readonly column: 'timeMs' | 'occupancyFraction' | 'gridBlocks';
    readonly from: number;
    readonly to: number;
  }[];
  readonly validity: 'valid' | 'invalid' | 'all';
  readonly invalidReason?: number | undefined;
}

/**
 * The predictions of a run, with the permutations that were computed so far. A design is identified by its number in
 * the space. The columns have an entry per design or, if a run keeps only the best, per kept design (`entryOf`).
 */
export interface Ranking {
  readonly axes: SpaceAxes;
  readonly columns: PredictionColumns;
  /** Ascending; null if entry n is design n. */
  readonly designs: Uint32Array | null;
  readonly strides: readonly number[];
  readonly counts: readonly number[];
  readonly waves: Float64Array;
  readonly sorted: Map<string, Uint32Array>;
  readonly lists: Map<string, Uint32Array>;
  /** For each filter, by its key, a mask that is 1 for the entries that pass its positions and ranges. */
  readonly masks: Map<string, Uint8Array>;
  /** For each entry, the first entry that is equal to it (`firstEquals` in equal.ts); null until it is computed. */
  firstEquals: Uint32Array | null;
}

/** Maximum numbers of cached lists and masks. A list takes up to 4 MB per million designs, a mask 1 MB. */
const MAX_LISTS = 12;
const MAX_MASKS = 6;

export function createRanking(
  axes: SpaceAxes,
  columns: PredictionColumns,
  designs: Uint32Array | null = null,
): Ranking {
  const counts = axisCounts(axes);
  const strides = axisStrides(counts);
  const waves = new Float64Array(columns.timeMs.length);
  for (const [at, device] of axes.devices.entries()) {
    const first = at * strides[AXIS.device];
    const end = firstEntry(designs, waves.length, first + strides[AXIS.device]);
    for (let entry = firstEntry(designs, waves.length, first); entry < end; entry += 1) {
      waves[entry] = wavesOn(device, columns.gridBlocks[entry], columns.residentBlocks[entry]);
    }
  }
  return {
    axes,
    columns,
    designs,
    strides,
    counts,
    waves,
    sorted: new Map(),
    lists: new Map(),
    masks: new Map(),
    firstEquals: null,
  };
}

function firstEntry(designs: Uint32Array | null, entries: number, design: number): number {
  return designs ? firstIndex(0, entries, (entry) => designs[entry] >= design) : Math.min(design, entries);
}

/** Returns the position of a design in the columns; −1 if the ranking does not contain the design. */
export function entryOf({ designs, columns: { timeMs } }: Ranking, design: number): number {
  if (!designs) return design < timeMs.length ? design : -1;
  const entry = firstEntry(designs, designs.length, design);
  return designs[entry] === design ? entry : -1;
}

export function designAt({ designs }: Ranking, entry: number): number {
  return designs ? designs[entry] : entry;
}

/** The predicted time of a design, ms; NaN if it is invalid or the ranking does not contain it. */
export function timeOf(ranking: Ranking, design: number): number {
  const { designs, columns } = ranking;
  if (!designs) return columns.timeMs[design];
  const entry = entryOf(ranking, design);
  return entry < 0 ? NaN : columns.timeMs[entry];
}

/** The number of designs of the space, even if the ranking contains only the best of them. */
export function sizeOf({ counts }: Ranking): number {
  return productOf(counts);
}

/** The waves of blocks that a launch takes on a device; 0 if no block fits on a multiprocessor. */
export function wavesOn(device: Device, gridBlocks: number, residentBlocks: number): number {
  // A CPU starts all blocks at once.
  const slots = device.kind === 'cpu' ? gridBlocks : device.multiprocessors * residentBlocks;
  return slots > 0 ? gridBlocks / slots : 0;
}

export function axisPosition(ranking: Ranking, axis: number, design: number): number {
  return Math.floor(design / ranking.strides[axis]) % ranking.counts[axis];
}

type AxisColumn = Extract<SortColumn, AxisName>;
const isAxis = (column: SortColumn): column is AxisColumn => Object.hasOwn(AXIS, column);

/** Ranks the positions of an axis in a reader's order: numbers by size, words by alphabet, a missing cap last. */
function axisOrder({ axes }: Ranking, axis: AxisColumn): Uint32Array {
  const values: readonly (number | string)[] =
    axis === 'device'
      ? axes.devices.map((device) => device.name)
      : axis === 'implementation'
        ? (axes.implementations?.map(({ name }) => name) ?? [''])
        : axis === 'registerCap'
          ? axes.registerCap.map((cap) => cap ?? Infinity)
          : axes[axis];
  const order = values
    .map((value, position) => ({ value, position }))
    .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : a.position - b.position));
  const ranks = new Uint32Array(values.length);
  order.forEach((entry, rank) => (ranks[entry.position] = rank));
  return ranks;
}

function axisKeys(ranking: Ranking, axis: AxisColumn): Uint16Array {
  const ranks = axisOrder(ranking, axis);
  const stride = ranking.strides[AXIS[axis]];
  const keys = new Uint16Array(ranking.columns.timeMs.length);
  if (ranking.designs) {
    ranking.designs.forEach((design, entry) => (keys[entry] = ranks[axisPosition(ranking, AXIS[axis], design)]));
    return keys;
  }
  for (let start = 0, position = 0; start < keys.length; start += stride, position += 1) {
    const rank = ranks[position % ranks.length];
    if (stride === 1) keys[start] = rank;
    else keys.fill(rank, start, start + stride);
  }
  return keys;
}

/** Lists all valid entries by time, then by design number. All other orders sort equal values in this order. */
function byTime(ranking: Ranking): Uint32Array {
  return getOrMake(ranking.sorted, 'timeMs', () => {
    const { timeMs } = ranking.columns;
    const items = new Uint32Array(timeMs.length);
    let valid = 0;
    for (let design = 0; design < timeMs.length; design += 1)
      if (!Number.isNaN(timeMs[design])) items[valid++] = design;
    return sortByValue(items.subarray(0, valid), timeMs);
  });
}

function valuesOf(ranking: Ranking, column: SortColumn): SortValues {
  if (isAxis(column)) return axisKeys(ranking, column);
  return column === 'waves' ? ranking.waves : ranking.columns[column];
}

function sortedBy(ranking: Ranking, column: SortColumn): Uint32Array {
  if (column === 'timeMs') return byTime(ranking);
  return getOrMake(ranking.sorted, column, () => {
    const base = byTime(ranking);
    const values = valuesOf(ranking, column);
    if (!(values instanceof Uint16Array)) return sortByValue(base, values);
    const keys = isAxis(column)
      ? ranking.counts[AXIS[column]]
      : values.reduce((most, value) => (value > most ? value : most), 0) + 1;
    return sortByKey(base, values, keys);
  });
}

function inDirection(ranking: Ranking, column: SortColumn, descending: boolean): Uint32Array {
  const ascending = sortedBy(ranking, column);
  if (!descending) return ascending;
  const values = valuesOf(ranking, column);
  return reverseKeepingTies(ascending, (entry) => values[entry]);
}

function invalidEntries(ranking: Ranking, reason: number | undefined): Uint32Array {
  const { invalidReason } = ranking.columns;
  const out = new Uint32Array(invalidReason.length);
  let size = 0;
  for (let design = 0; design < invalidReason.length; design += 1) {
    const code = invalidReason[design];
    out[size] = design;
    if (code !== 0 && (reason === undefined || code === reason)) size += 1;
  }
  return out.slice(0, size);
}

function findPassing(ranking: Ranking, filter: RankingFilter): Uint8Array {
  const mask = new Uint8Array(ranking.columns.timeMs.length).fill(1);
  for (const [axis, wanted] of Object.entries(filter.positions)) {
    const count = ranking.counts[Number(axis)];
    const stride = ranking.strides[Number(axis)];
    if (ranking.designs) {
      ranking.designs.forEach((design, entry) => {
        if (!wanted?.has(axisPosition(ranking, Number(axis), design))) mask[entry] = 0;
      });
      continue;
    }
    for (let start = 0, position = 0; start < mask.length; start += stride, position += 1) {
      if (position === count) position = 0;
      if (wanted?.has(position)) continue;
      if (stride === 1) mask[start] = 0;
      else mask.fill(0, start, start + stride);
    }
  }
  for (const { column, from, to } of filter.ranges) {
    const values = ranking.columns[column];
    // A Float32 column holds the nearest float32 of each value, so the bounds are rounded in the same way.
    const low = values instanceof Float32Array ? Math.fround(from) : from;
    const high = values instanceof Float32Array ? Math.fround(to) : to;
    for (let design = 0; design < mask.length; design += 1) {
      const value = values[design];
      if (!(value >= low && value <= high)) mask[design] = 0;
    }
  }
  return mask;
}

/** 1 for each entry, valid or not, that passes the positions and ranges; null without a filter. */
export function passingDesigns(ranking: Ranking, { positions, ranges }: RankingFilter): Uint8Array | null {
  if (ranges.length === 0 && Object.keys(positions).length === 0) return null;
  const filter = { positions, ranges, validity: 'all' } as const;
  const key = filterKey(filter);
  return kept(ranking.masks, MAX_MASKS, key, () => findPassing(ranking, filter));
}

function masked(list: Uint32Array, mask: Uint8Array): Uint32Array {
  const out = new Uint32Array(list.length);
  let size = 0;
  for (let i = 0; i < list.length; i += 1) {
    const design = list[i];
    out[size] = design;
    size += mask[design];
  }
  return out.slice(0, size);
}

function filterKey(filter: RankingFilter): string {
  const positions = Object.entries(filter.positions).map(
    ([axis, set]) => `${axis}:${[...(set ?? [])].sort((a, b) => a - b).join('.')}`,
  );
  const ranges = filter.ranges.map((range) => `${range.column}:${range.from}:${range.to}`);
  return [filter.validity, filter.invalidReason ?? '', ...positions, ...ranges].join('|');
}

/**
 * Returns designs in the order of a column, then invalid ones by number. In both directions, equal values are in the
 * order of `byTime`. Callers must not write to the returned list, which is cached.
 */
export function rankedDesigns(
  ranking: Ranking,
  filter: RankingFilter,
  column: SortColumn,
  descending = false,
): Uint32Array {
  const key = `${column}|${descending}|${filterKey(filter)}`;
  return kept(ranking.lists, MAX_LISTS, key, () => rank(ranking, filter, column, descending));
}

function rank(ranking: Ranking, filter: RankingFilter, column: SortColumn, descending: boolean): Uint32Array {
  const mask = passingDesigns(ranking, filter);
  const narrowed = (list: Uint32Array): Uint32Array => (mask ? masked(list, mask) : list);
  const parts: Uint32Array[] = [];
  if (filter.validity !== 'invalid' && filter.invalidReason === undefined)
    parts.push(narrowed(inDirection(ranking, column, descending)));
  if (filter.validity !== 'valid' || filter.invalidReason !== undefined)
    parts.push(narrowed(invalidEntries(ranking, filter.invalidReason)));
  let list = parts[0] ?? new Uint32Array(0);
  if (parts.length === 2) {
    list = new Uint32Array(parts[0].length + parts[1].length);
    list.set(parts[0]);
    list.set(parts[1], parts[0].length);
  }
  const { designs } = ranking;
  return designs ? list.map((entry) => designs[entry]) : list;
}

/** Counts the entries at the start of a list that are within `fraction` of the first. The list ascends in time. */
export function tieCount(ranking: Ranking, byTimeList: Uint32Array, fraction: number): number {
  if (byTimeList.length === 0) return 0;
  const limit = timeOf(ranking, byTimeList[0]) * (1 + fraction);
  return firstIndex(0, byTimeList.length, (i) => !(timeOf(ranking, byTimeList[i]) <= limit));
}
