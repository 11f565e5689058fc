import type { EvenShareBalancing } from '../../domain/design.ts';
import { firstIndex } from '../../numeric/search.ts';
import type { Dealing } from './deal.ts';
import { repeatedSum } from './given.ts';

/**
 * Even shares: a launch of S slots cuts its items into shares of ⌈items / S⌉, so that every slot but the last runs equally
 * many iterations, whatever the lengths. Items are the iterations of all units (a split of the non-zeros) or these and the end
 * of each unit (merge path: Merrill and Garland 2016, doi:10.1109/SC.2016.57). A slot searches the offsets of the units for the start of its share and
 * hands on the unit that its end cuts. The kernel has the offsets, as those of a matrix in compressed rows.
 */

/** What a launch of even shares is made of; the prediction knows the mean of the lengths, the simulator their sum. */
export interface EvenShares {
  /** Items of every slot but the last, integer ≥ 1. */
  readonly itemsPerSlot: number;
  /** Slots that get any. */
  readonly workingSlots: number;
}

export function evenShares(items: number, slots: number): EvenShares {
  const atLeastOne = Math.max(1, items);
  const itemsPerSlot = Math.ceil(atLeastOne / slots - 1e-9);
  return { itemsPerSlot, workingSlots: Math.ceil(atLeastOne / itemsPerSlot - 1e-9) };
}

/** Items of a unit besides its iterations. */
function endsOfUnit({ kind }: EvenShareBalancing): number {
  return kind === 'merge-path' ? 1 : 0;
}

/** Items of units that are as long as this on average. */
export function meanItems(balancing: EvenShareBalancing, units: number, meanLength: number): number {
  return units * (meanLength + endsOfUnit(balancing));
}

/** Steps of a binary search among the offsets of the units. */
export function searchSteps(units: number): number {
  return Math.ceil(Math.log2(units + 1));
}

/** Units of known lengths, by their items. */
export interface SharedUnits {
  /** Items of the first units; they repeat. */
  readonly each: Float64Array;
  /** Sum of these up to and with each of them. */
  readonly ends: Float64Array;
  /** Of all units. */
  readonly items: number;
}

/** @param lengths of the first units; more units repeat them */
export function sharedUnits(balancing: EvenShareBalancing, lengths: Float64Array, units: number): SharedUnits {
  const own = lengths.subarray(0, units);
  const more = endsOfUnit(balancing);
  const each = more > 0 ? own.map((length) => length + more) : own;
  let sum = 0;
  const ends = each.map((items) => (sum += items));
  return { each, ends, items: repeatedSum(each, units) };
}

/** Items of a share that are told apart: 64 MB. In longer ones, which take minutes to walk, some starts are taken for others. */
const MAX_MARKS = 2 ** 26;

/** Work space of `shareDepth`: marks the items of a share at which some lane starts a unit. */
export function shareScratch(itemsPerSlot: number): Uint8Array {
  return new Uint8Array(2 ** Math.ceil(Math.log2(Math.min(itemsPerSlot, MAX_MARKS))));
}

/**
 * Depth of a group of a launch of even shares, iterations; 0 of a group that gets no item.
 * @param block,group as of `groupDepth`
 * @param overheadIterations of a group besides its items and setups: search and carry
 */
export function shareDepth(
  { each, ends, items }: SharedUnits,
  { unitsPerGroup: n, slotsPerBlock, setupIterations }: Dealing,
  itemsPerSlot: number,
  overheadIterations: number,
  block: number,
  group: number,
  scratch: Uint8Array,
): number {
  const filled = Math.min(n, slotsPerBlock - group * n);
  let from = (block * slotsPerBlock + group * n) * itemsPerSlot;
  if (from >= items) return 0;
  const depth = Math.min(itemsPerSlot, items - from);
  if (setupIterations === 0) return depth + overheadIterations;
  const last = each.length - 1;
  const inPeriod = from % ends[last];
  let unit = firstIndex(0, last, (at) => ends[at] > inPeriod);
  // Items of the present unit that are left.
  let left = ends[unit] - inPeriod;
  // Marks are counted without a branch, which takes a third of the time that a hash table does.
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
    // The next lane starts with the next unit.
    while (left === 0 && from + own < items) left = each[(unit = unit === last ? 0 : unit + 1)];
  }
  return depth + setupIterations * starts + overheadIterations;
}
