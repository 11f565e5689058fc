import type { LengthLaw } from '../../domain/workload.ts';
import { compactNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { getOrMake, kept, keptFor } from '../../numeric/kept.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { sumLongest, type Dealing, type UnitOrder } from './deal.ts';

const ORDER_LENGTHS = 2 ** 18;
/** If a full sort has too many units to list them all, this many of the longest ones are listed one by one. */
const LONGEST_UNITS = 4096;

/**
 * Units sorted by length, the shortest first, within windows of M consecutive units. The lengths are an even sample of
 * the law: the k-th of N units has the (k + ½)/N quantile. If there are too many units to keep, as many windows as fit
 * stand for all windows. In a single window that is too large, evenly spaced units stand for all.
 */
export interface SortedOrder {
  readonly law: LengthLaw;
  /** M, the number of units of a window. */
  readonly window: number;
  readonly units: number;
  /** Number of units of a window that `lengths` has, ≤ M. */
  readonly ranks: number;
  /** Lengths of units, iterations, from the shortest of each window on. Window w begins at w·`ranks`. */
  readonly lengths: CompactNumbers;
  /** The longest units one by one, if one window has all units and `lengths` does not; otherwise empty. */
  readonly longest: Float64Array;
  readonly longestMeans: Map<number, number>;
  readonly id: number;
}

export interface PlainSample {
  readonly blocks: Int32Array;
  /** Number of blocks of the launch that each of `blocks` represents; `null` if `blocks` has all of them, in order. */
  readonly weights: Float64Array | null;
  /** Iterations of each group without setup, block by block. Groups that are not computed have 0. */
  readonly depths: Float64Array;
  /** Number of iterations in which any lane of each group starts a unit; `null` until a design has a setup. */
  starts: Float64Array | null;
}

export interface SortedReader extends UnitOrder {
  readonly window: number;
  /** Mean depth of the launch's groups, with one setup per round; NaN if it is not known. */
  meanDepth(dealing: Dealing): number;
  /** Whether one window contains all units. Depths then rise steadily from slot to slot. */
  readonly steady: boolean;
  readonly id: number;
}

const sortedBefore = new WeakMap<LengthLaw, Map<string, SortedOrder>>();
/** Number of cached orders: enough for all windows of a study at a few numbers of units. */
const MAX_ORDERS = 8;

let nextId = 0;

export function makeSortedOrder(law: LengthLaw, units: number, window: number): SortedOrder {
  return keptFor(sortedBefore, law, MAX_ORDERS, `${units} ${window}`, (orders) => {
    const ranks = Math.min(window, ORDER_LENGTHS);
    const windows = Math.min(Math.ceil(units / window), Math.max(1, Math.floor(ORDER_LENGTHS / ranks)));
    const count = Math.min(ranks * windows, units);
    const alike = [...orders.values()].find((one) => one.ranks === ranks && one.lengths.length === count);
    return {
      law,
      window,
      units,
      ranks,
      lengths: alike?.lengths ?? compactNumbers(makeSortedLengths(law, count, ranks)),
      longest: sampleEvenly(law, units, ranks < window && window === units ? units - LONGEST_UNITS : units),
      longestMeans: alike?.longestMeans ?? new Map(),
      id: nextId++,
    };
  });
}

function makeSortedLengths(law: LengthLaw, count: number, ranks: number): Float64Array {
  const sample = sampleEvenly(law, count);
  if (ranks >= count) return sample;
  const lengths = new Float64Array(count);
  const filled = new Uint32Array(Math.ceil(count / ranks));
  // The sample ascends, so the lengths that each window takes from it ascend too.
  listWindows(count, ranks).forEach((window, at) => {
    lengths[window * ranks + filled[window]] = sample[at];
    filled[window] += 1;
  });
  return lengths;
}

const windowsBefore = new Map<string, Uint32Array>();
const MAX_WINDOWS = 4;

/** Assigns each of `count` units to a window. The assignment is arbitrary, but the same in every call. */
function listWindows(count: number, ranks: number): Uint32Array {
  return kept(windowsBefore, MAX_WINDOWS, `${count} ${ranks}`, () => {
    const windows = new Uint32Array(count);
    const order = arbitraryOrder(count, 1);
    for (let to = 0; to < count; to += 1) windows[order[to]] = Math.floor(to / ranks);
    return windows;
  });
}

/** Returns the (k + ½)/count quantiles of a law from k = `first` on, ascending. */
function sampleEvenly({ support, probability }: LengthLaw, count: number, first = 0): Float64Array {
  const sample = new Float64Array(count - first);
  let below = 0;
  let from = 0;
  for (let i = 0; i < support.length; i++) {
    below += probability[i];
    const to = i === support.length - 1 ? count : Math.min(count, Math.max(from, Math.ceil(below * count - 0.5)));
    if (to > first) sample.fill(support[i], Math.max(0, from - first), to - first);
    from = to;
  }
  return sample;
}

/** Whether no group crosses the end of a window: the last lane then has the longest unit in every round. */
export function keepsLanes(window: number, { units, unitsPerGroup, slotsPerBlock }: Dealing): boolean {
  return (
    window === units ||
    window % slotsPerBlock === 0 ||
    (window % unitsPerGroup === 0 && slotsPerBlock % unitsPerGroup === 0)
  );
}

export function readSorted(order: SortedOrder, dealing: Dealing): SortedReader {
  const { window: M, units, ranks, lengths, longest } = order;
  // The windows in `lengths` repeat. A window with fewer `ranks` than units is the only window.
  const period = ranks === M ? lengths.length : M;
  const perUnit = ranks / M;
  const steady = M === units;
  const shorter = units - longest.length;
  const lengthAt = (position: number): number =>
    position < shorter ? lengths[Math.floor((position % period) * perUnit)] : longest[position - shorter];
  const longestOf = (position: number, count: number): number => {
    // The last unit of a window is its longest. A group may extend into later windows.
    const last = position + count - 1;
    let most = lengthAt(last);
    for (let end = position - (position % M) + M - 1; end < last; end += M) most = Math.max(most, lengthAt(end));
    return most;
  };
  /** Whether windows end only where a run of `count` units ends. */
  const isAligned = (first: number, count: number, stride: number): boolean =>
    steady || (M % count === 0 && first % count === 0 && stride % count === 0);
  return {
    window: M,
    meanDepth({ slotsPerBlock, unitsPerGroup, gridBlocks, setupIterations }) {
      if (slotsPerBlock % unitsPerGroup !== 0 || !keepsLanes(M, dealing)) return NaN;
      return (units / (slotsPerBlock * gridBlocks)) * (getMeanLongest(order, unitsPerGroup) + setupIterations);
    },
    steady,
    id: order.id,
    lengthAt,
    lengthsInto(out, position, count) {
      const at = position % period;
      if (ranks === M && at + count <= period && position + count <= shorter)
        for (let i = 0; i < count; i++) out[i] = lengths[at + i];
      else for (let i = 0; i < count; i++) out[i] = lengthAt(position + i);
    },
    longestSum(first, count, stride) {
      if (!isAligned(first, count, stride)) return sumLongest(longestOf, units, first, count, stride);
      let sum = 0;
      let position = first;
      let at = (first + count - 1) % period;
      const step = stride % period;
      for (; position + count <= shorter; position += stride) {
        sum += lengths[Math.floor(at * perUnit)];
        at += step;
        if (at >= period) at -= period;
      }
      for (; position + count <= units; position += stride) sum += longest[position + count - 1 - shorter];
      return position < units ? sum + longestOf(position, units - position) : sum;
    },
    ascends(first, count, stride) {
      if (isAligned(first, count, stride)) return true;
      let at = first % M;
      const step = stride % M;
      for (let position = first; position < units; position += stride) {
        if (at + count > M) return false;
        at += step;
        if (at >= M) at -= M;
      }
      return true;
    },
  };
}

/** Returns a lower bound of the mean longest unit of a group: units of a last window that is not full count as 0. */
export function findSureLongest(order: SortedOrder, dealing: Dealing): number {
  const { window, units } = order;
  const { unitsPerGroup, slotsPerBlock } = dealing;
  if (slotsPerBlock % unitsPerGroup !== 0 || !keepsLanes(window, dealing)) return 0;
  return (getMeanLongest(order, unitsPerGroup) * Math.floor(units / window) * window) / units;
}

function getMeanLongest({ lengths, longestMeans }: SortedOrder, n: number): number {
  return getOrMake(longestMeans, n, () => {
    let sum = 0;
    let count = 0;
    for (let last = n - 1; last < lengths.length; last += n, count++) sum += lengths[last];
    return count > 0 ? sum / count : lengths[lengths.length - 1];
  });
}
