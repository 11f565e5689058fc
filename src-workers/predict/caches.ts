import { createSizedCache } from '../numeric/budget.ts';
import { getOrMake } from '../numeric/kept.ts';
import { LAUNCH_BYTES } from './constants.ts';
import { getDepthTable } from './depth/depth-table.ts';
import type { GroupDepth } from '../domain/depth.ts';
import { threadArena, threadBudget } from './memory.ts';
import { clearArena } from './time/arena.ts';
import { makeBlockLaw } from './time/block-law.ts';
import type { CycleTable, Schedulers } from './time/cycles.ts';
import { makeResidency, type Residency } from './time/residency.ts';
import type { Caches, DepthLaws, LawCaches, LawKey } from './tables.ts';

/** Block laws are dropped when they fill this many slabs of memory, because more would not fit in a core's cache. */
const MAX_SLABS = 8;
const DEPTH_LAW_BYTES = 16 * 2 ** 10;
/** Usual times to make a depth law and a launch. A full cache first drops values that are quick to make. */
const DEPTH_LAW_MS = 2;
const LAUNCH_MS = 0.3;

export function createCaches(budget = threadBudget): Caches {
  return {
    budget,
    laws: new Map(),
    arena: threadArena,
    shared: null,
    dealt: new Map(),
    tiled: new Map(),
    classes: new Map(),
  };
}

export function getLawCaches({ budget, laws }: Caches, balancing: string): LawCaches {
  return getOrMake(laws, balancing, () => ({
    depths: createSizedCache(budget, DEPTH_LAW_MS, () => DEPTH_LAW_BYTES),
    launches: createSizedCache(budget, LAUNCH_MS, ({ size }) => LAUNCH_BYTES + size * Float64Array.BYTES_PER_ELEMENT),
    meanRounds: new Map(),
  }));
}

export function getCachedDepth({ depths }: LawCaches, key: LawKey, make: () => GroupDepth): DepthLaws {
  return depths(key, () => ({ means: make(), blocks: [] }));
}

interface ResidencyKey {
  readonly groupsPerBlock: number;
  readonly lastFilled: number;
  readonly at: number;
  readonly residentBlocks: number;
  readonly cyclesPerIteration: CycleTable;
  readonly schedulers: Schedulers;
}

export function getCachedResidency({ arena }: Caches, laws: DepthLaws, key: ResidencyKey): Residency {
  const { groupsPerBlock, lastFilled, at, residentBlocks, cyclesPerIteration, schedulers } = key;
  let known = laws.blocks[groupsPerBlock];
  if (known?.law.lastFilled !== lastFilled) {
    if (laws.blocks.length === 0) arena.forget.push(() => void (laws.blocks = []));
    known = { law: makeBlockLaw(getDepthTable(laws.means), groupsPerBlock, arena, lastFilled), residencies: [] };
    laws.blocks[groupsPerBlock] = known;
  }
  // Predictors that share the caches may have different devices, so the cached residency is checked.
  const last = known.residencies[at];
  if (
    last?.residentBlocks === residentBlocks &&
    last.cyclesPerIteration === cyclesPerIteration &&
    last.schedulers === schedulers
  )
    return last;
  return (known.residencies[at] = makeResidency(known.law, residentBlocks, cyclesPerIteration, schedulers));
}

export function makeRoom({ arena }: Caches): void {
  if (arena.at >= MAX_SLABS) clearArena(arena);
}
