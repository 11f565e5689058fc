import type { GroupDepth } from '../domain/depth.ts';
import type { GpuDevice } from '../domain/device.ts';
import { isLoopAlike, type Dealing } from '../models/balancing/dealt.ts';
import { groupDepth } from '../models/balancing/depth.ts';
import { clearArena, createArena } from '../models/composite/arena.ts';
import { blockLawOf } from '../models/composite/block-law.ts';
import { depthTable } from '../models/composite/depth-table.ts';
import { prepareResidency, type Residency } from '../models/composite/predict.ts';
import { lockstepBalancing, type Candidate } from './candidate.ts';
import { placeLaunch, windowUnits, type PlacedLaunch, type SortedBalancing } from './placed.ts';
import type { DepthLaws, Laws, Predictor } from './tables.ts';
import type { TabulatedUnits } from './units.ts';

/** What a worker keeps at once, so that a large space cannot fill the memory: depth laws, of some ten kilobytes each. */
const MAX_DEPTHS = 384;
/** And pieces of 256 KiB of block laws, of some ten kilobytes each: about what stays in a core's cache. */
const SLAB_LENGTH = 1 << 15;
const MAX_SLABS = 8;
/** And so many numbers of launches. */
const MAX_PLACED_NUMBERS = 2 ** 20;

export function createLaws(): Laws {
  return {
    depths: new Map(),
    olderDepths: new Map(),
    placed: new Map(),
    olderPlaced: new Map(),
    placedNumbers: 0,
    blocks: createArena(SLAB_LENGTH),
    capless: null,
  };
}

/** Laws of one work group; keyed by everything they depend on. */
export function lawsOf(
  predictor: Predictor,
  candidate: Candidate,
  { units, key: unitsKey }: TabulatedUnits,
): DepthLaws {
  const { balancing, plan, laws: known } = predictor;
  const { kind } = balancing[candidate.balancingAt];
  // Units in order are alike in any group; loops differ where independent lanes take more than one unit.
  const group = kind === 'full-sort' ? 0 : candidate.unitsPerGroup;
  const independent = kind === 'none' || kind === 'quantile-buckets' || kind === 'best-buckets';
  const loop = independent && units > 1 ? candidate.loopAt : 0;
  const key = ((unitsKey * 128 + group) * plan.axes.loop.length + loop) * balancing.length + candidate.balancingAt;
  let laws = known.depths.get(key);
  if (laws) return laws;
  laws = known.olderDepths.get(key);
  if (!laws) {
    const depth = wholeDepth(predictor, candidate, units);
    laws = {
      means: depth,
      get table() {
        return depthTable(depth);
      },
      blocks: [],
    };
  }
  if (known.depths.size >= MAX_DEPTHS) {
    known.olderDepths = known.depths;
    known.depths = new Map();
  }
  known.depths.set(key, laws);
  return laws;
}

/** Groups of a device that fetch from one counter: beyond some hundreds their number no longer matters. */
const FETCHING_GROUPS = 1024;

function wholeDepth(predictor: Predictor, candidate: Candidate, units: number): GroupDepth {
  const { plan } = predictor;
  return groupDepth(
    plan.law,
    candidate.unitsPerGroup,
    lockstepBalancing(predictor, candidate),
    plan.axes.loop[candidate.loopAt],
    units,
    {
      setupIterations: plan.kernel.setupIterationsPerUnit,
      poolGroups: FETCHING_GROUPS,
    },
  );
}

/** Share of the lanes of a block's last group that have units; lanes that fetch are not told apart. */
export function lastFilledOf({ plan, balancing }: Predictor, candidate: Candidate): number {
  if (balancing[candidate.balancingAt].kind === 'dynamic-fetch') return 1;
  const slotsPerBlock = plan.axes.blockThreads[candidate.blockAt] / candidate.threadsPerUnit;
  return slotsPerBlock / candidate.unitsPerGroup - (candidate.shape.groupsPerBlock - 1);
}

/** The block law of a candidate at its residency and rate. */
export function residencyOf(predictor: Predictor, candidate: Candidate, laws: DepthLaws): Residency {
  const { deviceAt, capAt, shape } = candidate;
  const { groupsPerBlock: W, residentBlocks: R } = shape;
  const filled = lastFilledOf(predictor, candidate);
  let known = laws.blocks[W];
  if (known?.law.lastFilled !== filled) {
    known = { law: blockLawOf(laws.table, W, predictor.laws.blocks, filled), residencies: [] };
    laws.blocks[W] = known;
  }
  const rates = predictor.rates[deviceAt];
  const rate = rates[capAt];
  // Laws may be shared by predictors whose devices differ.
  const at = deviceAt * rates.length + capAt;
  const last = known.residencies[at];
  if (last?.residentBlocks === R && last.givenRate === rate) return last;
  return (known.residencies[at] = prepareResidency(known.law, R, rate));
}

/** Makes room for other laws of blocks where there is little left: the memory of those known is used again. */
export function makeRoom(known: Laws): void {
  if (known.blocks.at < MAX_SLABS) return;
  for (const depths of [known.depths, known.olderDepths]) for (const laws of depths.values()) laws.blocks = [];
  for (const placed of [known.placed, known.olderPlaced]) for (const launch of placed.values()) launch.block = null;
  clearArena(known.blocks);
}

/** The launch of a candidate whose units are sorted. */
export function placedOf(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  balancing: SortedBalancing,
): PlacedLaunch {
  const { plan } = predictor;
  const { axes } = plan;
  const dealing: Dealing = {
    units: plan.units,
    unitsPerGroup: candidate.unitsPerGroup,
    groupsPerBlock: candidate.shape.groupsPerBlock,
    slotsPerBlock: axes.blockThreads[candidate.blockAt] / candidate.threadsPerUnit,
    gridBlocks: candidate.gridBlocks,
    loop: axes.loop[candidate.loopAt],
    setupIterations: plan.kernel.setupIterationsPerUnit,
    // Of more than one wave only the law of the blocks is asked for.
    everyBlock: candidate.gridBlocks <= candidate.shape.residentBlocks * device.multiprocessors,
  };
  const loopAt = isLoopAlike(windowUnits(balancing, plan.units), dealing) ? axes.loop.length : candidate.loopAt;
  // Groups per block follow from these.
  const key =
    ((((candidate.gridBlocks * 2048 + dealing.slotsPerBlock) * 128 + candidate.unitsPerGroup) * 2 +
      Number(dealing.everyBlock)) *
      (axes.loop.length + 1) +
      loopAt) *
      axes.balancing.length +
    candidate.balancingAt;
  const { laws } = predictor;
  let launch = laws.placed.get(key);
  if (launch) return launch;
  launch = laws.olderPlaced.get(key) ?? placeLaunch(plan.law, balancing, dealing);
  if (laws.placedNumbers >= MAX_PLACED_NUMBERS) {
    laws.olderPlaced = laws.placed;
    laws.placed = new Map();
    laws.placedNumbers = 0;
  }
  laws.placed.set(key, launch);
  laws.placedNumbers += launch.size;
  return launch;
}
