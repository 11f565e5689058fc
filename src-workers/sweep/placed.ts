import type { LockstepBalancing } from '../domain/design.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { DealtDepths, Dealing } from '../models/balancing/dealt.ts';
import { sortedLaunch } from '../models/balancing/depth.ts';
import type { Arena } from '../models/composite/arena.ts';
import { sampledBlockLaw } from '../models/composite/block-law.ts';
import type { BlockLaw } from '../models/composite/law.ts';
import { placedBlocks, placedCycles, type PlacedBlocks } from '../models/composite/placed.ts';
import { predictCycles, prepareResidency } from '../models/composite/predict.ts';
import type { SmoothedRate } from '../models/composite/rate.ts';
import { arbitraryOrder } from '../numeric/random.ts';

/** A launch of sorted units: the depths of its blocks, whatever the device. */
export interface PlacedLaunch {
  /** Depths of its blocks, or of a sample of them. */
  readonly sample: DealtDepths;
  readonly groupsPerBlock: number;
  /** Law of a block's life, once asked for: see `placedBlockLaw`. */
  block: BlockLaw | null;
  /** Equally likely versions of the whole launch, block by block; none of a launch too large for that. */
  readonly versions: readonly PlacedBlocks[];
  /** Whether blocks start in random order. */
  readonly shuffled: boolean;
  /** Numbers it keeps. */
  readonly size: number;
}

export type SortedBalancing = Extract<LockstepBalancing, { kind: 'window-sort' | 'full-sort' }>;

/** M of the windows that the units are sorted in. */
export function windowUnits(balancing: SortedBalancing, units: number): number {
  return balancing.kind === 'window-sort' ? Math.min(balancing.units, units) : units;
}

/** Depths are drawn and orders shuffled so often, where the launch is small enough for that. */
const MOST_VERSIONS = 4;
const LEAST_ORDERS = 2;
const VERSION_GROUPS = 2 ** 13;
const ORDER_GROUPS = 2 ** 12;

export function placeLaunch(lengths: LengthLaw, balancing: SortedBalancing, dealing: Dealing): PlacedLaunch {
  const { units, unitsPerGroup, groupsPerBlock: W, gridBlocks } = dealing;
  const window = windowUnits(balancing, units);
  const sample = sortedLaunch(lengths, window, dealing, 0);
  const shuffled = balancing.kind === 'full-sort';
  const launch = { sample, groupsPerBlock: W, block: null, shuffled };
  if (sample.weights) return { ...launch, versions: [], size: 2 * sample.depths.length };
  const versions: PlacedBlocks[] = [];
  if (shuffled) {
    // Blocks of sorted units start in random order; an order and its reverse are early and late alike.
    const count = Math.min(MOST_VERSIONS, Math.max(LEAST_ORDERS, Math.floor(ORDER_GROUPS / (gridBlocks * W))));
    for (let v = 0; v < count; v++) {
      const order = arbitraryOrder(gridBlocks, v >> 1);
      versions.push(placedBlocks(sample.depths, W, v % 2 === 1 ? order.reverse() : order));
    }
  } else {
    const lookups = Math.max(gridBlocks * W, units / unitsPerGroup);
    const count = Math.min(MOST_VERSIONS, Math.max(1, Math.round(VERSION_GROUPS / lookups)));
    for (let v = 0; v < count; v++) {
      const { depths } = v === 0 ? sample : sortedLaunch(lengths, window, dealing, v);
      versions.push(placedBlocks(depths, W, null));
    }
  }
  return { ...launch, versions, size: versions.length * gridBlocks * (W + 2) };
}

/** @param arena where the law lives; with it `block` is to be forgotten */
export function placedBlockLaw(launch: PlacedLaunch, arena: Arena): BlockLaw {
  return (launch.block ??= sampledBlockLaw(launch.sample, launch.groupsPerBlock, arena));
}

/**
 * Expected time of a launch, cycles: of one wave block by block, where it is small enough; of more by the law of its blocks,
 * since which block follows which on a multiprocessor is a matter of chance.
 * @param arena as for `placedBlockLaw`
 */
export function placedLaunchCycles(
  launch: PlacedLaunch,
  gridBlocks: number,
  residentBlocks: number,
  multiprocessors: number,
  rate: SmoothedRate,
  arena: Arena,
): number {
  const { versions } = launch;
  if (versions.length === 0 || gridBlocks > residentBlocks * multiprocessors) {
    const block = placedBlockLaw(launch, arena);
    return predictCycles(prepareResidency(block, residentBlocks, rate), gridBlocks, multiprocessors);
  }
  // Without a second block on any multiprocessor their order is all the same.
  const count = launch.shuffled && gridBlocks <= multiprocessors ? 1 : versions.length;
  let cycles = 0;
  for (let v = 0; v < count; v += 1) cycles += placedCycles(versions[v]!, multiprocessors, rate);
  return cycles / count;
}
