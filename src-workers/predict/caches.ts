import type { LengthLaw } from '../domain/workload.ts';
import { KEPT_DEPTH_LAWS, KEPT_LAUNCH_NUMBERS, KEPT_SLABS, SLAB_LENGTH } from './constants.ts';
import type { Dealing } from './dealing/deal.ts';
import { sortedOrder, type SortedOrder } from './dealing/order.ts';
import { sortedLaunch, windowUnits, type SortedBalancing, type SortedLaunch } from './dealing/sorted-launch.ts';
import { depthTable, type DepthTable } from './depth/depth-table.ts';
import type { DepthMeans } from './depth/means.ts';
import type { GroupDepth } from '../domain/depth.ts';
import { clearArena, createArena, type Arena } from './time/arena.ts';
import { blockLawOf, type BlockLaw } from './time/block-law.ts';
import type { RateTable } from './time/rate.ts';
import { residencyOf, type Residency } from './time/residency.ts';
import type { SharedByCaps } from './pipeline.ts';

/*
 * What a worker keeps of the laws that it has computed. Nothing here computes anything: a value depends on its key and on
 * what is the same for the whole plan (law, units, setup, loops, balancings).
 */

export interface Caches {
  /** Depth laws in use, and the ones in use before these became too many; the older generation is dropped. */
  depths: Map<number, DepthLaws>;
  olderDepths: Map<number, DepthLaws>;
  /** Launches of sorted units, in the same way; and the numbers kept by those in use. */
  launches: Map<number, SortedLaunch>;
  olderLaunches: Map<number, SortedLaunch>;
  launchNumbers: number;
  /** Sorted orders by window. */
  readonly orders: Map<number, SortedOrder>;
  /** Where block laws live. */
  readonly arena: Arena;
  /** What the design predicted last shares with others that differ in their register cap only. */
  shared: SharedByCaps | null;
}

/** A depth law and the laws of its blocks. */
export interface DepthLaws {
  readonly means: DepthMeans;
  /** Made on demand: the times of sorted launches do not come from it. */
  readonly table: DepthTable;
  /** By W_b: of blocks whose last group is as full as in the design asked for last. */
  blocks: (KnownBlock | undefined)[];
}

interface KnownBlock {
  readonly law: BlockLaw;
  /** By device and register cap. */
  readonly residencies: (Residency | undefined)[];
}

export function createCaches(): Caches {
  return {
    depths: new Map(),
    olderDepths: new Map(),
    launches: new Map(),
    olderLaunches: new Map(),
    launchNumbers: 0,
    orders: new Map(),
    arena: createArena(SLAB_LENGTH),
    shared: null,
  };
}

/** The depth law under a key. */
export function cachedDepth(caches: Caches, key: number, make: () => GroupDepth): DepthLaws {
  const known = caches.depths.get(key);
  if (known) return known;
  let laws = caches.olderDepths.get(key);
  if (!laws) {
    const depth = make();
    laws = {
      means: depth,
      get table() {
        return depthTable(depth);
      },
      blocks: [],
    };
  }
  if (caches.depths.size >= KEPT_DEPTH_LAWS) {
    caches.olderDepths = caches.depths;
    caches.depths = new Map();
  }
  caches.depths.set(key, laws);
  return laws;
}

/**
 * The block law of a depth law at a residency and rate.
 * @param at device and register cap, as one number
 */
export function cachedResidency(
  caches: Caches,
  laws: DepthLaws,
  groupsPerBlock: number,
  lastFilled: number,
  at: number,
  residentBlocks: number,
  rate: RateTable,
): Residency {
  let known = laws.blocks[groupsPerBlock];
  if (known?.law.lastFilled !== lastFilled) {
    known = { law: blockLawOf(laws.table, groupsPerBlock, caches.arena, lastFilled), residencies: [] };
    laws.blocks[groupsPerBlock] = known;
  }
  // Predictors that share caches may have other devices.
  const last = known.residencies[at];
  if (last?.residentBlocks === residentBlocks && last.rate === rate) return last;
  return (known.residencies[at] = residencyOf(known.law, residentBlocks, rate));
}

/** The launch of sorted units under a key. */
export function cachedLaunch(
  caches: Caches,
  key: number,
  law: LengthLaw,
  balancing: SortedBalancing,
  dealing: Dealing,
  everyBlock: boolean,
): SortedLaunch {
  const known = caches.launches.get(key);
  if (known) return known;
  let launch = caches.olderLaunches.get(key);
  if (!launch) {
    const window = windowUnits(balancing, dealing.units);
    let order = caches.orders.get(window);
    if (!order) caches.orders.set(window, (order = sortedOrder(law, dealing.units, window)));
    launch = sortedLaunch(order, balancing, dealing, everyBlock);
  }
  if (caches.launchNumbers >= KEPT_LAUNCH_NUMBERS) {
    caches.olderLaunches = caches.launches;
    caches.launches = new Map();
    caches.launchNumbers = 0;
  }
  caches.launches.set(key, launch);
  caches.launchNumbers += launch.size;
  return launch;
}

/** Makes room for other block laws where there is little left: the memory of those known is used again. */
export function makeRoom(caches: Caches): void {
  if (caches.arena.at < KEPT_SLABS) return;
  for (const depths of [caches.depths, caches.olderDepths]) for (const laws of depths.values()) laws.blocks = [];
  for (const launches of [caches.launches, caches.olderLaunches])
    for (const launch of launches.values()) launch.law = null;
  clearArena(caches.arena);
}
