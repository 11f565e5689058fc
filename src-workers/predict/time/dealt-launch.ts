import type { LockstepBalancing, WholeUnitBalancing } from '../../domain/design.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { MAX_LAW_GROUPS } from '../constants.ts';
import type { Arena } from './arena.ts';
import type { StepLaws } from '../depth/depth-table.ts';
import { makeSampledSteps, makeSteppedBlockLaw } from './block-law.ts';
import type { DepthMeans } from '../depth/means.ts';
import type { BlockLaw } from './law.ts';
import { listBlocks, placeBlocks, sortRow, type ListedBlocks, type PlacedBlocks } from '../dealing/blocks.ts';
import type { Dealing } from '../dealing/deal.ts';
import { spreadRows, type GivenLaunch } from '../dealing/given-launch.ts';
import { prepareLaw } from '../depth/prepared-law.ts';
import { computeWindowSteps } from '../depth/window.ts';
import { readSorted, type SortedOrder } from '../dealing/order.ts';
import { computeAllBlocks, canListBlocks, sampleBlocks } from '../dealing/sample.ts';

/** Maximum number of groups of a launch in a given order that is always played (half if flattened). */
const PLAYED_GROUPS = 2 ** 13;
/** Block orders over which a wave of fully sorted or bucketed units is averaged: one order and its reverse. */
const BLOCK_ORDERS = 2;

export type SortedBalancing = Extract<WholeUnitBalancing, { kind: 'window-sort' | 'full-sort' }>;

export function isSorted(balancing: LockstepBalancing): balancing is SortedBalancing {
  return balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
}

export function countWindowUnits(balancing: SortedBalancing, units: number): number {
  return balancing.kind === 'window-sort' ? Math.min(balancing.units, units) : units;
}

/** A launch with listed units: all its blocks, or their law. The device has no influence except on this choice. */
export interface DealtLaunch {
  readonly groupsPerBlock: number;
  /** All blocks in one or two equally likely orders of their starts; empty if there is a law or `inOrder`. */
  readonly placed: readonly PlacedBlocks[];
  /** Listed blocks that start in a given order; otherwise `null`. */
  readonly inOrder: ListedBlocks | null;
  /** As in `GivenLaunch`; `null` from `computeSortedLaunch`. */
  readonly means: DepthMeans | null;
  /** Survival functions of the blocks' lives; `null` until `makeDealtBlockLaw` makes them for listed blocks. */
  steps: StepLaws | null;
  /** In the memory of an arena; made on demand by `makeDealtBlockLaw`. */
  law: BlockLaw | null;
  readonly size: number;
}

/** @param everyBlock whether the launch fits the device at once, so that each block matters */
export function computeSortedLaunch(
  order: SortedOrder,
  balancing: SortedBalancing,
  dealing: Dealing,
  everyBlock: boolean,
): DealtLaunch {
  const { groupsPerBlock, gridBlocks } = dealing;
  const reader = readSorted(order, dealing);
  if (!everyBlock || !canListBlocks(dealing)) {
    const steps = hasWindowLaw(order, dealing)
      ? computeWindowSteps(
          prepareLaw(order.law).law,
          { units: order.window, n: dealing.unitsPerGroup },
          groupsPerBlock,
          dealing.setupIterations,
        )
      : { ...makeSampledSteps(sampleBlocks(reader, dealing)), isExact: true };
    return { ...UNORDERED, groupsPerBlock, placed: [], steps, size: 4 * steps.steps.length };
  }
  const { depths } = computeAllBlocks(reader, dealing);
  const placed =
    balancing.kind === 'window-sort'
      ? [placeBlocks(depths, groupsPerBlock, null)]
      : placeRandomly(depths, groupsPerBlock, gridBlocks);
  return { ...UNORDERED, groupsPerBlock, placed, size: depths.length + placed.length * 2 * gridBlocks };
}

/** Whether each slot has at most one unit, and no group crosses a window's end. */
function hasWindowLaw(
  { window, units }: SortedOrder,
  { unitsPerGroup: n, slotsPerBlock, gridBlocks }: Dealing,
): boolean {
  return window < units && units <= slotsPerBlock * gridBlocks && window % n === 0 && slotsPerBlock % n === 0;
}

const UNORDERED = { inOrder: null, means: null, steps: null, law: null };

function placeRandomly(depths: Float64Array, groupsPerBlock: number, gridBlocks: number): readonly PlacedBlocks[] {
  const blocks = listBlocks(depths, groupsPerBlock);
  return Array.from({ length: BLOCK_ORDERS }, (_, v) => {
    const random = arbitraryOrder(gridBlocks, 0);
    return { ...blocks, order: v % 2 === 0 ? random : random.reverse() };
  });
}

/**
 * @param launchOf makes the blocks of the launch, or a sample of them
 * @param startsInOrder whether the blocks start in their order; otherwise they start in random order
 * @param hasTrend whether blocks live longer in some parts of the launch than in others
 */
export function computeOrderedLaunch(
  launchOf: (isSample: boolean) => GivenLaunch,
  startsInOrder: boolean,
  hasTrend: () => boolean,
  dealing: Dealing,
  everyBlock: boolean,
): DealtLaunch {
  const { groupsPerBlock, gridBlocks } = dealing;
  const isPlaced = !startsInOrder && everyBlock && canListBlocks(dealing);
  // A law represents blocks that start in random order, unless each block matters. It also represents blocks that start
  // in order if they are many and no part has longer ones. The last block does not count, because it may be partly
  // empty. A flattened loop is played less often, because adding up its lanes takes longer.
  const played = dealing.loop === 'nested' ? PLAYED_GROUPS : PLAYED_GROUPS / 2;
  if (!isPlaced && (!startsInOrder || (gridBlocks - 1) * groupsPerBlock >= played)) {
    if (!startsInOrder || !hasTrend()) {
      const { depths, means, weights } = launchOf(true);
      const steps = makeSampledSteps({ depths: sortRows(depths, groupsPerBlock), groupsPerBlock, weights });
      return { ...UNORDERED, groupsPerBlock, means, placed: [], steps, size: 4 * steps.steps.length };
    }
  }
  const { depths, means } = launchOf(false);
  const launch = { ...UNORDERED, groupsPerBlock, means };
  if (startsInOrder) {
    const inOrder = listBlocks(depths, groupsPerBlock);
    return { ...launch, placed: [], inOrder, size: depths.length + 2 * inOrder.lives.length };
  }
  const placed = placeRandomly(depths, groupsPerBlock, gridBlocks);
  return { ...launch, placed, size: (1 + placed.length) * depths.length };
}

function sortRows(depths: Float64Array, W: number): Float64Array {
  for (let at = 0; at < depths.length; at += W) sortRow(depths, at, W);
  return depths;
}

export function makeDealtBlockLaw(launch: DealtLaunch, arena: Arena): BlockLaw {
  if (!launch.steps) {
    const blocks = launch.inOrder ?? launch.placed[0];
    const depths = spreadRows(blocks, launch.inOrder ? MAX_LAW_GROUPS : Infinity);
    launch.steps = makeSampledSteps({ depths, groupsPerBlock: blocks.groupsPerBlock, weights: null });
  }
  if (launch.law === null) {
    launch.law = makeSteppedBlockLaw(launch.steps, launch.groupsPerBlock, arena);
    arena.forget.push(() => void (launch.law = null));
  }
  return launch.law;
}
