import type { EvenShareBalancing } from '../../domain/design.ts';
import { addStart, startsScratch, type Dealing } from './deal.ts';

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

/** @param iterations sum of the lengths of all units */
export function evenShares({ kind }: EvenShareBalancing, units: number, iterations: number, slots: number): EvenShares {
  const items = Math.max(1, kind === 'merge-path' ? iterations + units : iterations);
  const itemsPerSlot = Math.ceil(items / slots - 1e-9);
  return { itemsPerSlot, workingSlots: Math.ceil(items / itemsPerSlot - 1e-9) };
}

/** Steps of a binary search among the offsets of the units. */
export function searchSteps(units: number): number {
  return Math.ceil(Math.log2(units + 1));
}

/**
 * Depths of the groups of a launch of even shares over units of known lengths, one after another: every item is passed once.
 * @param lengthOf unit 0, 1, …, units − 1, each asked for once and in that order
 * @param iterations sum of the lengths
 * @param overheadIterations of a group besides its items and setups: search and carry
 * @returns the depth of the next group, iterations; 0 of groups that get no item
 */
export function shareDepths(
  balancing: EvenShareBalancing,
  dealing: Dealing,
  lengthOf: (unit: number) => number,
  iterations: number,
  overheadIterations: number,
): () => number {
  const { units, unitsPerGroup: n, groupsPerBlock, slotsPerBlock, gridBlocks, setupIterations } = dealing;
  const { itemsPerSlot } = evenShares(balancing, units, iterations, slotsPerBlock * gridBlocks);
  const ends = balancing.kind === 'merge-path' ? 1 : 0;
  const scratch = startsScratch(n, setupIterations > 0 ? n * Math.min(itemsPerSlot, units + 1) : 0);
  let unit = 0;
  // Items of the present unit that are left.
  let left = 0;
  let isNew = false;
  const next = (): void => {
    for (left = 0; left === 0 && unit < units; unit++) left = lengthOf(unit) + ends;
    isNew = true;
  };
  next();
  let group = 0;
  return () => {
    const filled = Math.min(n, slotsPerBlock - (group++ % groupsPerBlock) * n);
    scratch.group += 1;
    let depth = 0;
    let starts = 0;
    for (let lane = 0; lane < filled && left > 0; lane++) {
      let at = 0;
      while (at < itemsPerSlot && left > 0) {
        if (setupIterations > 0 && (at === 0 || isNew)) starts += addStart(scratch, at);
        const taken = Math.min(left, itemsPerSlot - at);
        at += taken;
        left -= taken;
        isNew = false;
        if (left === 0) next();
      }
      if (at > depth) depth = at;
    }
    return depth === 0 ? 0 : depth + setupIterations * starts + overheadIterations;
  };
}
