import { SLAB_LENGTH, SWEEP_LIMITS, type CacheLimits } from './constants.ts';
import type { KnownLaunch } from './time/known-launch.ts';
import { getDepthTable } from './depth/depth-table.ts';
import type { GroupDepth } from '../domain/depth.ts';
import { clearArena, createArena } from './time/arena.ts';
import { makeBlockLaw } from './time/block-law.ts';
import type { CycleTable } from './time/cycles.ts';
import { makeResidency, type Residency } from './time/residency.ts';
import type { Caches, DepthLaws, LawKey } from './tables.ts';
import { createGenerations, keptSized } from '../numeric/kept.ts';

/**
 * The laws that a worker keeps after other files have computed them. A value depends on its key and on the parts of the
 * plan that are the same for all designs (law, units, setup, loops, balancings).
 */

export function createCaches(limits: CacheLimits = SWEEP_LIMITS): Caches {
  return {
    limits,
    depths: createGenerations(),
    launches: createGenerations(),
    meanRounds: new Map(),
    arena: createArena(SLAB_LENGTH),
    shared: null,
    dealt: new Map(),
    tiled: new Map(),
  };
}

/** Returns the limits of each of several caches, so that together they keep about as much as one cache. */
export function divideLimits({ depthLaws, slabs, launchNumbers }: CacheLimits, caches: number): CacheLimits {
  return {
    depthLaws: Math.ceil(depthLaws / caches),
    // A design needs some block laws at once.
    slabs: Math.max(Math.min(slabs, SWEEP_LIMITS.slabs), Math.ceil(slabs / caches)),
    launchNumbers: Math.ceil(launchNumbers / caches),
  };
}

/** The depth law of a key. `make` computes it if it is not cached. */
export function getCachedDepth(caches: Caches, key: LawKey, make: () => GroupDepth): DepthLaws {
  const makeLaws = (): DepthLaws => {
    const depth = make();
    return {
      means: depth,
      get table() {
        return getDepthTable(depth);
      },
      blocks: [],
    };
  };
  return caches.depths.newer.get(key) ?? keptSized(caches.depths, caches.limits.depthLaws, key, makeLaws, () => 1);
}

/**
 * The block law of a depth law at a residency, with the cycles of an iteration at this residency.
 * @param at number that identifies a device and a register cap
 */
export function getCachedResidency(
  caches: Caches,
  laws: DepthLaws,
  groupsPerBlock: number,
  lastFilled: number,
  at: number,
  residentBlocks: number,
  cyclesPerIteration: CycleTable,
): Residency {
  let known = laws.blocks[groupsPerBlock];
  if (known?.law.lastFilled !== lastFilled) {
    known = { law: makeBlockLaw(laws.table, groupsPerBlock, caches.arena, lastFilled), residencies: [] };
    laws.blocks[groupsPerBlock] = known;
  }
  // Another predictor that shares the caches may have other devices, so the residency must match.
  const last = known.residencies[at];
  if (last?.residentBlocks === residentBlocks && last.cyclesPerIteration === cyclesPerIteration) return last;
  return (known.residencies[at] = makeResidency(known.law, residentBlocks, cyclesPerIteration));
}

/** The launch of known units of a key. `make` computes it if it is not cached. */
export function getCachedLaunch(caches: Caches, key: LawKey, make: () => KnownLaunch): KnownLaunch {
  return keptSized(caches.launches, caches.limits.launchNumbers, key, make, ({ size }) => size);
}

/** Makes room for other block laws if little is left, by reusing the memory of the current ones. */
export function makeRoom(caches: Caches): void {
  if (caches.arena.at < caches.limits.slabs) return;
  for (const depths of [caches.depths.newer, caches.depths.older]) for (const laws of depths.values()) laws.blocks = [];
  for (const launches of [caches.launches.newer, caches.launches.older])
    for (const launch of launches.values()) launch.law = null;
  clearArena(caches.arena);
}
