import { formatBalancing } from '../../domain/balancing.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { compactNumbers, findLargest, makeNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { createOwnedCache } from '../../numeric/budget.ts';
import { ORDER_BYTES, ORDER_MS } from '../constants.ts';
import { listBucketRanges } from '../depth/prepared-law.ts';
import { threadBudget } from '../memory.ts';
import { repeatUnits } from '../ordered.ts';
import type { GivenBalancing, GivenOrder } from './given.ts';

/** Maximum number of units that are arranged to represent all, unless the workload has more lengths. */
const GIVEN_UNITS = 2 ** 18;

const getKnownOrder = createOwnedCache<CompactNumbers, string, GivenOrder>(threadBudget, ORDER_MS, sizeOfOrder);

/** Returns the bytes of an order, including the longest units of groups of 2, 4, 8, …, which launches compute later. */
function sizeOfOrder({ lengths, work }: GivenOrder): number {
  return ORDER_BYTES + 2 * lengths.byteLength + (work === lengths ? 0 : work.byteLength);
}

export function arrangeKnownUnits(
  lengths: CompactNumbers,
  units: number,
  law: LengthLaw,
  balancing: GivenBalancing,
  unitsPerGroup: number,
): GivenOrder {
  const key = `${units} ${formatBalancing(balancing)} ${balancing.kind === 'best-buckets' ? unitsPerGroup : ''}`;
  return getKnownOrder(lengths, key, () => {
    const order = arrangeUnits(lengths, units, law, balancing, unitsPerGroup);
    const compact = compactNumbers(order.lengths);
    return { ...order, lengths: compact, work: order.work === order.lengths ? compact : compactNumbers(order.work) };
  });
}

let nextId = 0;

/**
 * Makes the order in which a launch takes the units of a workload under a balancing.
 * @param lengths lengths of the workload in its order; more units repeat them, and fewer units use the first ones
 * @param most maximum number of units that are sorted or put into buckets; they represent all units
 */
export function arrangeUnits(
  lengths: CompactNumbers,
  units: number,
  law: LengthLaw,
  balancing: GivenBalancing,
  unitsPerGroup: number,
  most = Math.max(GIVEN_UNITS, lengths.length),
): GivenOrder {
  const own = lengths.length > units ? lengths.subarray(0, units) : lengths;
  const order = (kept: CompactNumbers, part = 1, work = kept): GivenOrder => ({
    units,
    lengths: kept,
    work,
    part,
    longest: new Map(),
    longestAt: new Map(),
    sums: null,
    losses: new Map(),
    id: nextId++,
  });
  switch (balancing.kind) {
    case 'none':
      return order(own);
    case 'window-sort': {
      const window = Math.min(balancing.units, units, most);
      const sorted = sortInWindows(own, units, window, most).slice();
      for (let from = 0; from < sorted.length; from += window) sorted.subarray(from, from + window).sort();
      return order(sorted);
    }
    case 'padded':
      return order(new Float64Array(own.length).fill(law.support[law.support.length - 1]), 1, own);
    case 'padded-slice': {
      const slice = Math.min(balancing.units, units, most);
      const work = sortInWindows(own, units, slice, most);
      const padded = work.slice();
      for (let from = 0; from < padded.length; from += slice) {
        const inside = padded.subarray(from, from + slice);
        inside.fill(findLargest(inside));
      }
      return order(padded, 1, work);
    }
    case 'quantile-buckets':
    case 'best-buckets': {
      const kept = units <= most ? units : Math.max(1, Math.floor(most / own.length)) * own.length;
      return order(sortIntoBuckets(own, kept, law, balancing, unitsPerGroup), kept / units);
    }
  }
}

/**
 * Returns the units that are cut into windows: the lengths if they repeat in whole windows, otherwise the first units.
 * If there are more than `most` units, an odd number of windows is taken. The number of slots is often a power of two,
 * so with an even number of windows, a slot would meet the same windows every few rounds.
 */
function sortInWindows(own: CompactNumbers, units: number, window: number, most: number): CompactNumbers {
  const repeats = own.length % window === 0 && units % window === 0;
  const windows = Math.floor(most / window);
  const kept = units <= most ? units : (windows - (windows % 2 === 0 && windows > 1 ? 1 : 0)) * window;
  return repeatUnits(own, repeats ? own.length : kept);
}

/**
 * Puts units into the buckets of their lengths, the shortest first, in their given order inside each bucket. If a cut
 * falls on a length, the first units of that length go to the lower bucket.
 */
function sortIntoBuckets(
  own: CompactNumbers,
  units: number,
  law: LengthLaw,
  balancing: Extract<GivenBalancing, { kind: 'quantile-buckets' | 'best-buckets' }>,
  unitsPerGroup: number,
): CompactNumbers {
  const lengths = repeatUnits(own, units);
  const sorted = sortRepeats(own, lengths);
  const ends: number[] = [];
  let passed = 0;
  for (const { share } of listBucketRanges(law, unitsPerGroup, balancing)) {
    passed += share;
    ends.push(Math.round(passed * lengths.length));
  }
  ends[ends.length - 1] = lengths.length;
  const last = ends.map((end) => (end > 0 ? sorted[end - 1] : -1));
  const room = ends.map((end, b) => {
    let from = end;
    while (from > (b === 0 ? 0 : ends[b - 1]) && sorted[from - 1] === last[b]) from--;
    return end - from;
  });
  const next = ends.map((_, b) => (b === 0 ? 0 : ends[b - 1]));
  return placeInBuckets(lengths, next, last, room);
}

/**
 * @param next place of the next unit of each bucket
 * @param last the longest length of each bucket
 * @param room number of units of that length for which the bucket has room
 */
function placeInBuckets(
  lengths: CompactNumbers,
  next: number[],
  last: readonly number[],
  room: number[],
): CompactNumbers {
  const out = makeNumbers(lengths, lengths.length);
  for (let at = 0; at < lengths.length; at++) {
    const length = lengths[at];
    let b = 0;
    while (length > last[b] || (length === last[b] && room[b] === 0)) b++;
    if (length === last[b]) room[b]--;
    out[next[b]++] = length;
  }
  return out;
}

function sortRepeats(own: CompactNumbers, repeated: CompactNumbers): CompactNumbers {
  const repeats = repeated.length / own.length;
  if (!Number.isInteger(repeats) || repeats === 1) return repeated.slice().sort();
  const sorted = own.slice().sort();
  const all = makeNumbers(repeated, repeated.length);
  for (let at = 0; at < sorted.length; at++) all.fill(sorted[at], at * repeats, (at + 1) * repeats);
  return all;
}
