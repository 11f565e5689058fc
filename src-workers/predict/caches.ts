import { createSizedCache } from '../numeric/budget.ts';
import { DEPTH_LAW_BYTES, DEPTH_LAW_MS, LAUNCH_BYTES, LAUNCH_MS, MAX_SLABS } from './constants.ts';
import { getDepthTable } from './depth/depth-table.ts';
import type { GroupDepth } from '../domain/depth.ts';
import { threadArena, threadBudget } from './memory.ts';
import { clearArena } from './time/arena.ts';
import { makeBlockLaw } from './time/block-law.ts';
import type { CycleTable, Schedulers } from './time/cycles.ts';
import { makeResidency, type Residency } from './time/residency.ts';
import type { Caches, DepthLaws, LawKey } from './tables.ts';

/**
 * The laws that a worker keeps after other files have computed them. A value depends on its key and on the parts of the
 * plan that are the same for all designs (law, units, setup, loops, balancings).
 */

/** @param budget memory for the laws; other caches may share it */
export function createCaches(budget = threadBudget): Caches {
  return {
    budget,
    depths: createSizedCache(budget, DEPTH_LAW_MS, () => DEPTH_LAW_BYTES),
    launches: createSizedCache(budget, LAUNCH_MS, ({ size }) => LAUNCH_BYTES + size * Float64Array.BYTES_PER_ELEMENT),
    meanRounds: new Map(),
    arena: threadArena,
    shared: null,
    dealt: new Map(),
    tiled: new Map(),
    classes: new Map(),
  };
}

/** The depth law of a key. `make` computes it if it is not cached. */
export function getCachedDepth(caches: Caches, key: LawKey, make: () => GroupDepth): DepthLaws {
  return caches.depths(key, () => ({ means: make(), blocks: [] }));
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
  schedulers: Schedulers,
): Residency {
  let known = laws.blocks[groupsPerBlock];
  if (known?.law.lastFilled !== lastFilled) {
    if (laws.blocks.length === 0) caches.arena.forget.push(() => void (laws.blocks = []));
    known = { law: makeBlockLaw(getDepthTable(laws.means), groupsPerBlock, caches.arena, lastFilled), residencies: [] };
    laws.blocks[groupsPerBlock] = known;
  }
  // Another predictor that shares the caches may have other devices, so the residency must match.
  const last = known.residencies[at];
  if (
    last?.residentBlocks === residentBlocks &&
    last.cyclesPerIteration === cyclesPerIteration &&
    last.schedulers === schedulers
  )
    return last;
  return (known.residencies[at] = makeResidency(known.law, residentBlocks, cyclesPerIteration, schedulers));
}

/** Makes room for other block laws if little is left, by reusing the memory of the current ones. */
export function makeRoom({ arena }: Caches): void {
  if (arena.at >= MAX_SLABS) clearArena(arena);
}
