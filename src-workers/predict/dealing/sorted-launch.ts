import type { LockstepBalancing } from '../../domain/design.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { BLOCK_ORDERS } from '../constants.ts';
import type { Arena } from '../time/arena.ts';
import { sampledBlockLaw } from '../time/block-law.ts';
import type { BlockLaw } from '../time/law.ts';
import { placedBlocks, type PlacedBlocks } from '../time/placed.ts';
import type { Dealing } from './deal.ts';
import { readSorted, type SortedOrder } from './order.ts';
import { allBlocks, canKnowBlocks, sampleBlocks, type SampledBlocks } from './sample.ts';

export type SortedBalancing = Extract<LockstepBalancing, { kind: 'window-sort' | 'full-sort' }>;

export function isSorted(balancing: LockstepBalancing): balancing is SortedBalancing {
  return balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
}

/** M of the windows that the units are sorted in. */
export function windowUnits(balancing: SortedBalancing, units: number): number {
  return balancing.kind === 'window-sort' ? Math.min(balancing.units, units) : units;
}

/** A launch of sorted units: the depths of its blocks, whatever the device. */
export interface SortedLaunch {
  readonly blocks: SampledBlocks;
  /** Every block in the order of its start, for each of some such orders; empty where only a sample is known. */
  readonly placed: readonly PlacedBlocks[];
  /** Law of a block's life; made on demand by `sortedBlockLaw`. */
  law: BlockLaw | null;
  /** Numbers that it keeps. */
  readonly size: number;
}

/**
 * Deals sorted units out to a launch.
 * @param everyBlock whether the launch fits the device at once, so that each block counts; else a sample is enough
 */
export function sortedLaunch(
  order: SortedOrder,
  balancing: SortedBalancing,
  dealing: Dealing,
  everyBlock: boolean,
): SortedLaunch {
  const { groupsPerBlock, gridBlocks } = dealing;
  const reader = readSorted(order, dealing);
  if (!everyBlock || !canKnowBlocks(dealing)) {
    const blocks = sampleBlocks(reader, dealing);
    return { blocks, placed: [], law: null, size: blocks.depths.length };
  }
  const blocks = allBlocks(reader, dealing);
  const { depths } = blocks;
  const placed =
    balancing.kind === 'window-sort'
      ? [placedBlocks(depths, groupsPerBlock, null)]
      : // Blocks of fully sorted units start in random order.
        Array.from({ length: BLOCK_ORDERS }, (_, v) => {
          const random = arbitraryOrder(gridBlocks, 0);
          return placedBlocks(depths, groupsPerBlock, v % 2 === 0 ? random : random.reverse());
        });
  return { blocks, placed, law: null, size: depths.length + placed.length * 2 * gridBlocks };
}

/** @param arena where the law lives; `launch.law` is void once that is cleared */
export function sortedBlockLaw(launch: SortedLaunch, arena: Arena): BlockLaw {
  return (launch.law ??= sampledBlockLaw(launch.blocks, arena));
}
