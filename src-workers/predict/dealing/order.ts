import type { LengthLaw } from '../../domain/workload.ts';
import { kept } from '../../numeric/kept.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { LONGEST_UNITS, ORDER_LENGTHS } from '../constants.ts';
import { sumOfLongest, type Dealing, type UnitOrder } from './deal.ts';

/**
 * Units sorted by length, the shortest first, within windows of M consecutive units. The lengths are an even sample of
 * the law: the k-th of N is its (k + ½)/N quantile. Where there are more units than are kept, as many windows as fit
 * stand for all; in a window with more units, evenly spaced ranks stand for all.
 */
export interface SortedOrder {
  readonly law: LengthLaw;
  /** M */
  readonly window: number;
  readonly units: number;
  /** Ranks that are kept of a window: M or fewer. */
  readonly ranks: number;
  /** Length of rank r of window w at w·ranks + r. */
  readonly lengths: Float64Array;
  /** Lengths of the longest units one by one, where one window holds all units and not all are kept; else empty. */
  readonly longest: Float64Array;
  /** `meanLongest` by units per group. */
  readonly longestMeans: Map<number, number>;
  readonly samples: KeptSamples;
}

/** Samples of the last launches; see `dealing/sample.ts`. */
export interface KeptSamples {
  readonly known: Map<string, PlainSample>;
  /** How many depths are kept. */
  depths: number;
}

/** Blocks of a launch, without setup. */
export interface PlainSample {
  readonly blocks: Int32Array;
  /** Blocks of the launch that each block stands for; `null` if these are all blocks, in their order. */
  readonly weights: Float64Array | null;
  /** Depth without setup by block, then group, iterations; 0 for groups that are not computed. */
  readonly depths: Float64Array;
  /** In how many iterations any lane of each group starts a unit; `null` until a setup needs it. */
  starts: Float64Array | null;
}

/** A sorted order as a launch with a certain dealing reads it. */
export interface SortedReader extends UnitOrder {
  /** M */
  readonly window: number;
  /**
   * Mean depth of the groups of the launch, iterations, with one setup a round; NaN if groups cross the ends of
   * windows, since it is not known then.
   */
  meanDepth(dealing: Dealing): number;
  /** Whether one window holds all units. Then depths rise steadily from slot to slot. */
  readonly steady: boolean;
  readonly samples: KeptSamples;
}

/** Orders by law, then by units and window. Devices, kernels and setups do not change them. */
const sortedBefore = new WeakMap<LengthLaw, Map<string, SortedOrder>>();
/** Orders kept of a law: those of the windows of a study, for the last edits of its units. */
const MAX_ORDERS = 8;

/** @param window M, from 1 to all units */
export function sortedOrder(law: LengthLaw, units: number, window: number): SortedOrder {
  const orders = sortedBefore.get(law) ?? new Map<string, SortedOrder>();
  sortedBefore.set(law, orders);
  return kept(orders, MAX_ORDERS, `${units} ${window}`, () => {
    const ranks = Math.min(window, ORDER_LENGTHS);
    const windows = Math.min(Math.ceil(units / window), Math.max(1, Math.floor(ORDER_LENGTHS / ranks)));
    const count = Math.min(ranks * windows, units);
    const alike = [...orders.values()].find((one) => one.ranks === ranks && one.lengths.length === count);
    return {
      law,
      window,
      units,
      ranks,
      lengths: alike?.lengths ?? sortedLengths(law, count, ranks),
      longest: evenSample(law, units, ranks < window && window === units ? units - LONGEST_UNITS : units),
      longestMeans: alike?.longestMeans ?? new Map(),
      samples: { known: new Map(), depths: 0 },
    };
  });
}

/** `count` lengths of a law, ascending within each `ranks` of them. */
function sortedLengths(law: LengthLaw, count: number, ranks: number): Float64Array {
  const sample = evenSample(law, count);
  if (ranks >= count) return sample;
  const lengths = new Float64Array(count);
  const filled = new Uint32Array(Math.ceil(count / ranks));
  // The sample ascends, and so do the lengths that each window takes from it.
  windowsOf(count, ranks).forEach((window, at) => {
    lengths[window * ranks + filled[window]] = sample[at];
    filled[window] += 1;
  });
  return lengths;
}

const windowsBefore = new Map<string, Uint32Array>();
const MAX_WINDOWS = 4;

/** The window of each of `count` units. The choice is arbitrary, and always the same. */
function windowsOf(count: number, ranks: number): Uint32Array {
  return kept(windowsBefore, MAX_WINDOWS, `${count} ${ranks}`, () => {
    const windows = new Uint32Array(count);
    const order = arbitraryOrder(count, 1);
    for (let to = 0; to < count; to += 1) windows[order[to]] = Math.floor(to / ranks);
    return windows;
  });
}

/** The (k + ½)/count quantiles of a law from k = `first` on, ascending. */
function evenSample({ support, probability }: LengthLaw, count: number, first = 0): Float64Array {
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

/** Whether no group crosses the end of a window. Then its last lane has the longest unit in every round. */
export function keepsLanes(window: number, { units, unitsPerGroup, slotsPerBlock }: Dealing): boolean {
  return (
    window === units ||
    window % slotsPerBlock === 0 ||
    (window % unitsPerGroup === 0 && slotsPerBlock % unitsPerGroup === 0)
  );
}

/** Reads a sorted order as a launch with this dealing does. */
export function readSorted(order: SortedOrder, dealing: Dealing): SortedReader {
  const { window: M, units, ranks, lengths, longest } = order;
  // Lengths repeat after the kept windows. Where a window has fewer ranks than units, only one window is kept.
  const period = ranks === M ? lengths.length : M;
  const perUnit = ranks / M;
  const steady = M === units;
  const shorter = units - longest.length;
  const lengthAt = (position: number): number =>
    position < shorter ? lengths[Math.floor((position % period) * perUnit)] : longest[position - shorter];
  const longestOf = (position: number, count: number): number => {
    // The last unit of a window is its longest. A group may continue in the next windows.
    const last = position + count - 1;
    let most = lengthAt(last);
    for (let end = position - (position % M) + M - 1; end < last; end += M) most = Math.max(most, lengthAt(end));
    return most;
  };
  /** Whether windows end only where a stretch of `count` units ends. */
  const isAligned = (first: number, count: number, stride: number): boolean =>
    steady || (M % count === 0 && first % count === 0 && stride % count === 0);
  return {
    window: M,
    meanDepth({ slotsPerBlock, unitsPerGroup, gridBlocks, setupIterations }) {
      if (slotsPerBlock % unitsPerGroup !== 0 || !keepsLanes(M, dealing)) return NaN;
      return (units / (slotsPerBlock * gridBlocks)) * (meanLongest(order, unitsPerGroup) + setupIterations);
    },
    steady,
    samples: order.samples,
    lengthAt,
    longestSum(first, count, stride) {
      if (!isAligned(first, count, stride)) return sumOfLongest(longestOf, units, first, count, stride);
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
    isLastLongest(first, count, stride) {
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

/** Mean over all groups of n consecutive units of their longest unit, iterations. */
function meanLongest({ lengths, longestMeans }: SortedOrder, n: number): number {
  let mean = longestMeans.get(n);
  if (mean === undefined) {
    let sum = 0;
    let count = 0;
    for (let last = n - 1; last < lengths.length; last += n, count++) sum += lengths[last];
    mean = count > 0 ? sum / count : lengths[lengths.length - 1];
    longestMeans.set(n, mean);
  }
  return mean;
}
