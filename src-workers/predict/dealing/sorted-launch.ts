import type { LockstepBalancing, WholeUnitBalancing } from '../../domain/design.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { BLOCK_ORDERS } from '../constants.ts';
import type { Arena } from '../time/arena.ts';
import { sampledSteps, steppedBlockLaw, type StepLaws } from '../time/block-law.ts';
import type { BlockLaw } from '../time/law.ts';
import { placedBlocks, type PlacedBlocks } from '../time/placed.ts';
import type { Dealing } from './deal.ts';
import { readSorted, type SortedOrder } from './order.ts';
import { allBlocks, canKnowBlocks, sampleBlocks } from './sample.ts';

export type SortedBalancing = Extract<WholeUnitBalancing, { kind: 'window-sort' | 'full-sort' }>;

export function isSorted(balancing: LockstepBalancing): balancing is SortedBalancing {
  return balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
}

/** M of the windows that the units are sorted in. */
export function windowUnits(balancing: SortedBalancing, units: number): number {
  return balancing.kind === 'window-sort' ? Math.min(balancing.units, units) : units;
}

/** A launch of sorted units, whatever the device. */
export interface SortedLaunch {
  readonly groupsPerBlock: number;
  /** Every block in the order of its start, for each of some such orders; empty where only a sample is known. */
  readonly placed: readonly PlacedBlocks[];
  /** Lives of the blocks. Of placed blocks made on demand, since their time does not need it. */
  steps: StepLaws | null;
  /** Law of a block's life, in the memory of an arena; made on demand by `sortedBlockLaw`. */
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
    const steps = sampledSteps(sampleBlocks(reader, dealing));
    return { groupsPerBlock, placed: [], steps, law: null, size: 4 * steps.steps.length };
  }
  const { depths } = allBlocks(reader, dealing);
  const placed =
    balancing.kind === 'window-sort'
      ? [placedBlocks(depths, groupsPerBlock, null)]
      : // Blocks of fully sorted units start in random order.
        Array.from({ length: BLOCK_ORDERS }, (_, v) => {
          const random = arbitraryOrder(gridBlocks, 0);
          return placedBlocks(depths, groupsPerBlock, v % 2 === 0 ? random : random.reverse());
        });
  return { groupsPerBlock, placed, steps: null, law: null, size: depths.length + placed.length * 2 * gridBlocks };
}

/** @param arena where the law lives; `launch.law` is void once that is cleared */
export function sortedBlockLaw(launch: SortedLaunch, arena: Arena): BlockLaw {
  launch.steps ??= sampledSteps({ ...launch.placed[0], weights: null });
  return (launch.law ??= steppedBlockLaw(launch.steps, launch.groupsPerBlock, arena));
}
