import type { LockstepBalancing } from '../domain/design.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { DealtDepths, Dealing } from '../models/balancing/dealt.ts';
import { sortedLaunch } from '../models/balancing/depth.ts';
import { createArena, type Arena } from '../models/composite/arena.ts';
import { sampledBlockLaw } from '../models/composite/block-law.ts';
import type { BlockLaw } from '../models/composite/law.ts';
import { placedBlocks, placedCycles, type PlacedBlocks } from '../models/composite/placed.ts';
import { predictCycles, prepareResidency } from '../models/composite/predict.ts';
import type { SmoothedRate } from '../models/composite/rate.ts';
import { blockSequence, sequenceCycles, type BlockSequence } from '../models/composite/sequence.ts';
import { arbitraryOrder } from '../numeric/random.ts';

/** A launch of sorted units: the depths of its blocks, whatever the device. */
export interface PlacedLaunch {
  /** Depths of its blocks, or of a sample of them. */
  readonly sample: DealtDepths;
  readonly dealing: Dealing;
  /** Units of a window. */
  readonly window: number;
  readonly groupsPerBlock: number;
  readonly gridBlocks: number;
  /** Law of a block's life, once asked for: see `placedBlockLaw`. */
  block: BlockLaw | null;
  /** Equally likely versions of the whole launch, block by block; none of a launch too large for that. */
  readonly versions: readonly PlacedBlocks[];
  /** Depths of every block of such a version, where their order tells more than their law and they are few enough; else `null`. */
  readonly depthsOf: ((draw: number) => Float64Array) | null;
  /** Such versions of more than one wave, of the number of slots asked for last. */
  sequences: { readonly slots: number; readonly versions: readonly BlockSequence[] } | null;
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
/** Most groups, lookups and waves of a launch whose blocks are followed one after another, and most windows of a wave. */
const SEQUENCE_GROUPS = 2 ** 13;
const SEQUENCE_LOOKUPS = 2 ** 15;
const SEQUENCE_WAVES = 8;
const SEQUENCE_WINDOWS = 8;
/** Numbers kept of a sequence, and of the memory that its law is cut from. */
const SEQUENCE_NUMBERS = 2 ** 12;

export function placeLaunch(lengths: LengthLaw, balancing: SortedBalancing, dealing: Dealing): PlacedLaunch {
  const { groupsPerBlock: W, gridBlocks } = dealing;
  const window = windowUnits(balancing, dealing.units);
  const sample = sortedLaunch(lengths, window, dealing, 0);
  const shuffled = balancing.kind === 'full-sort';
  const lookups = lookupsOf(dealing);
  const launch = {
    sample,
    dealing,
    window,
    groupsPerBlock: W,
    gridBlocks,
    block: null,
    shuffled,
    depthsOf: null,
    sequences: null,
  };
  if (!dealing.everyBlock && !shuffled && gridBlocks * W <= SEQUENCE_GROUPS && lookups <= SEQUENCE_LOOKUPS) {
    const all = { ...dealing, everyBlock: true };
    const depthsOf = (draw: number): Float64Array => sortedLaunch(lengths, window, all, draw).depths;
    return {
      ...launch,
      versions: [],
      depthsOf,
      size: 2 * sample.depths.length + versionCount(lookups) * SEQUENCE_NUMBERS,
    };
  }
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
    const count = versionCount(lookups);
    for (let v = 0; v < count; v++) {
      const { depths } = v === 0 ? sample : sortedLaunch(lengths, window, dealing, v);
      versions.push(placedBlocks(depths, W, null));
    }
  }
  return { ...launch, versions, size: versions.length * gridBlocks * (W + 2) };
}

function lookupsOf({ units, unitsPerGroup, groupsPerBlock, gridBlocks }: Dealing): number {
  return Math.max(gridBlocks * groupsPerBlock, units / unitsPerGroup);
}

function versionCount(lookups: number): number {
  return Math.min(MOST_VERSIONS, Math.max(1, Math.round(VERSION_GROUPS / lookups)));
}

/** @param arena where the law lives; with it `block` is to be forgotten */
export function placedBlockLaw(launch: PlacedLaunch, arena: Arena): BlockLaw {
  return (launch.block ??= sampledBlockLaw(launch.sample, launch.groupsPerBlock, arena, launch.gridBlocks));
}

/** The blocks of a launch one after another; `null` where it is too large, or its order tells hardly more than their law. */
function sequencesOf(launch: PlacedLaunch, slots: number): readonly BlockSequence[] | null {
  const { depthsOf, dealing, window, gridBlocks, groupsPerBlock: W } = launch;
  if (depthsOf === null || gridBlocks <= slots || gridBlocks > SEQUENCE_WAVES * slots) return null;
  if (slots * dealing.slotsPerBlock > SEQUENCE_WINDOWS * window) return null;
  if (launch.sequences?.slots !== slots) {
    const count = versionCount(lookupsOf(dealing));
    const versions = Array.from({ length: count }, (_, draw) =>
      blockSequence(depthsOf(draw), W, slots, createArena(SEQUENCE_NUMBERS)),
    );
    launch.sequences = { slots, versions };
  }
  return launch.sequences.versions;
}

/**
 * Expected time of a launch, cycles. Of one wave block by block, and of a few waves of windows one block after another, where it
 * is small enough; else by the law of its blocks, since which follows which on a multiprocessor is a matter of chance.
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
  const sequences = sequencesOf(launch, residentBlocks * multiprocessors);
  if (sequences !== null) {
    let sum = 0;
    for (const sequence of sequences) sum += sequenceCycles(sequence, residentBlocks, multiprocessors, rate);
    return sum / sequences.length;
  }
  if (versions.length === 0 || gridBlocks > residentBlocks * multiprocessors) {
    const block = placedBlockLaw(launch, arena);
    return predictCycles(prepareResidency(block, residentBlocks, rate), gridBlocks, multiprocessors);
  }
  // Without a second block on any multiprocessor their order is all the same.
  const count = launch.shuffled && gridBlocks <= multiprocessors ? 1 : versions.length;
  let cycles = 0;
  for (let v = 0; v < count; v += 1) cycles += placedCycles(versions[v], multiprocessors, rate);
  return cycles / count;
}
