import type { EvenShareBalancing } from '../../domain/design.ts';
import { compactNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { createOwnedCache } from '../../numeric/budget.ts';
import { ORDER_BYTES, ORDER_MS } from '../constants.ts';
import { threadBudget } from '../memory.ts';
import { firstIndex } from '../../numeric/search.ts';
import type { Dealing } from './deal.ts';
import { sumRepeated } from './given.ts';

/**
 * Even shares. A launch of S slots cuts its items into shares of ⌈items / S⌉ items. In a non-zero split, items are the
 * iterations of all units. In a merge path, the end of each unit is an item too (Merrill and Garland 2016,
 * doi:10.1109/SC.2016.57).
 */

/** The prediction derives the shares from the mean length, the simulator from the sum of lengths. */
export interface EvenShares {
  /** Items of every working slot except the last, integer ≥ 1. */
  readonly itemsPerSlot: number;
  readonly workingSlots: number;
}

export function computeEvenShares(items: number, slots: number): EvenShares {
  const atLeastOne = Math.max(1, items);
  const itemsPerSlot = Math.ceil(atLeastOne / slots - 1e-9);
  return { itemsPerSlot, workingSlots: Math.ceil(atLeastOne / itemsPerSlot - 1e-9) };
}

function countEndsPerUnit({ kind }: EvenShareBalancing): number {
  return kind === 'merge-path' ? 1 : 0;
}

export function computeMeanItems(balancing: EvenShareBalancing, units: number, meanLength: number): number {
  return units * (meanLength + countEndsPerUnit(balancing));
}

export function countSearchSteps(units: number): number {
  return Math.ceil(Math.log2(units + 1));
}

export interface SharedUnits {
  /** Items of each of the first units. The other units repeat them. */
  readonly each: CompactNumbers;
  readonly ends: CompactNumbers;
  readonly items: number;
  readonly id: number;
}

let nextId = 0;

export function indexSharedUnits(balancing: EvenShareBalancing, lengths: CompactNumbers, units: number): SharedUnits {
  const own = lengths.subarray(0, units);
  const more = countEndsPerUnit(balancing);
  const each = more > 0 ? compactNumbers(new Float64Array(own).map((length) => length + more)) : own;
  const ends = new Float64Array(each.length);
  for (let unit = 0, end = 0; unit < ends.length; unit++) ends[unit] = end += each[unit];
  return { each, ends: compactNumbers(ends), items: sumRepeated(each, units), id: nextId++ };
}

const getIndexedUnits = createOwnedCache<CompactNumbers, string, SharedUnits>(
  threadBudget,
  ORDER_MS,
  ({ each, ends }) => ORDER_BYTES + each.byteLength + ends.byteLength,
);

export function getSharedUnits(balancing: EvenShareBalancing, lengths: CompactNumbers, units: number): SharedUnits {
  const key = `${units} ${balancing.kind}`;
  return getIndexedUnits(lengths, key, () => indexSharedUnits(balancing, lengths, units));
}

/** Maximum number of items of a share that have a mark each (64 MB). In a longer share, several items have one mark. */
const MAX_MARKS = 2 ** 26;

export function createShareScratch(itemsPerSlot: number): Uint8Array {
  return new Uint8Array(2 ** Math.ceil(Math.log2(Math.min(itemsPerSlot, MAX_MARKS))));
}

export function computeShareDepth(
  shared: SharedUnits,
  dealing: Dealing,
  itemsPerSlot: number,
  overheadIterations: number,
  block: number,
  group: number,
  scratch: Uint8Array,
): number {
  const { setupIterations } = dealing;
  const starts = setupIterations > 0 ? countGroupStarts(shared, dealing, itemsPerSlot, block, group, scratch) : 0;
  return computeDepthOfStarts(shared, dealing, itemsPerSlot, overheadIterations, block, group, starts);
}

export function computeDepthOfStarts(
  { items }: SharedUnits,
  { unitsPerGroup: n, slotsPerBlock, setupIterations }: Dealing,
  itemsPerSlot: number,
  overheadIterations: number,
  block: number,
  group: number,
  starts: number,
): number {
  const from = (block * slotsPerBlock + group * n) * itemsPerSlot;
  return from >= items ? 0 : Math.min(itemsPerSlot, items - from) + setupIterations * starts + overheadIterations;
}

/** Counts the items of a share at which any lane of a group starts a unit; 0 for a group without items. */
export function countGroupStarts(
  { each, ends, items }: SharedUnits,
  { unitsPerGroup: n, slotsPerBlock }: Dealing,
  itemsPerSlot: number,
  block: number,
  group: number,
  scratch: Uint8Array,
): number {
  const filled = Math.min(n, slotsPerBlock - group * n);
  let from = (block * slotsPerBlock + group * n) * itemsPerSlot;
  if (from >= items) return 0;
  const last = each.length - 1;
  const inPeriod = from % ends[last];
  let unit = firstIndex(0, last, (at) => ends[at] > inPeriod);
  let left = ends[unit] - inPeriod;
  // Counting marks without a branch takes a third of the time of counting in a hash table.
  const mask = scratch.length - 1;
  scratch.fill(0);
  scratch[0] = 1;
  let starts = 1;
  for (let lane = 0; lane < filled && from < items; lane++, from += itemsPerSlot) {
    const own = Math.min(itemsPerSlot, items - from);
    let done = left;
    while (done < own) {
      unit = unit === last ? 0 : unit + 1;
      if (each[unit] === 0) continue;
      const at = done & mask;
      starts += 1 - scratch[at];
      scratch[at] = 1;
      done += each[unit];
    }
    left = done - own;
    while (left === 0 && from + own < items) left = each[(unit = unit === last ? 0 : unit + 1)];
  }
  return starts;
}
