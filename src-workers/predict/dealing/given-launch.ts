import {
  GIVEN_LOOKUPS,
  MIN_GROUP_LOOKUPS,
  MAX_GIVEN_BLOCKS,
  MAX_NESTED_LOOKUPS,
  MIN_GIVEN_BLOCKS,
} from '../constants.ts';
import { goldenTurn } from '../../numeric/lattice.ts';
import type { DepthMeans } from '../depth/means.ts';
import type { OrderedBlocks } from '../time/in-order.ts';
import { knownBlocks } from '../time/placed.ts';
import { dealingScratch, groupDepth, type Dealing, type DealingScratch } from './deal.ts';
import { lossOfGroups, readGiven, type GivenOrder, type GivenReader } from './given.ts';

/** A launch of units in a given order. */
export interface GivenLaunch {
  readonly blocks: OrderedBlocks;
  /** Of one unit per slot, as those of sorted units. */
  readonly means: DepthMeans;
}

/**
 * Deals units in a given order out to a launch: all of its blocks where they are few, else some that stand for all.
 * @param meanLength of the units, iterations
 * @param mostBlocks that are wanted
 */
export function givenLaunch(
  order: GivenOrder,
  dealing: Dealing,
  meanLength: number,
  mostBlocks = MAX_GIVEN_BLOCKS,
): GivenLaunch {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const rounds = Math.ceil(units / (slotsPerBlock * G));
  // One round, or one lane, is the same in either loop.
  const dealt: Dealing = rounds === 1 || n === 1 ? { ...dealing, loop: 'nested' } : dealing;
  const reader = readGiven(order, dealt);
  const nested = units <= MAX_NESTED_LOOKUPS * n && reader.longest !== null ? nestedDepths(reader, dealt) : null;
  const known = Math.min(mostBlocks, nested && dealt.loop === 'nested' ? G : knownCount(dealt, rounds));
  const all = nested && knownBlocks(nested, W);
  const rows = known === G ? null : spreadBlocks(all && all.lives, G, known);
  const loop = dealt.loop === 'flattened' ? flattenedDepths(reader, dealt, rows) : null;
  const blocks = !loop && !rows && all ? all : knownBlocks(loop?.depths ?? rowsOf(reader, dealt, nested, rows), W);
  const exact = lossOfGroups(order, n);
  const padding = order.work === order.lengths ? 1 : sumOf(order.lengths) / sumOf(order.work);
  const aggregateLoss = loop ? padding * loop.aggregateLoss : exact.aggregateLoss;
  return {
    blocks: { ...blocks, started: null, count: known, lifeRatio: rows && all ? lifeRatio(all.lives, rows) : 1 },
    means: {
      meanDepth: meanLength * aggregateLoss + setupIterations,
      meanWork: meanLength + setupIterations,
      aggregateLoss,
      meanLoss: loop ? padding * loop.meanLoss : exact.meanLoss,
    },
  };
}

function sumOf(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Blocks that are computed: as many as looking their units up and playing them allow. */
function knownCount({ unitsPerGroup, groupsPerBlock, gridBlocks, loop }: Dealing, rounds: number): number {
  // Few rounds are not worth more groups.
  const lookups = groupsPerBlock * Math.max(MIN_GROUP_LOOKUPS, rounds * (loop === 'flattened' ? unitsPerGroup : 1));
  return Math.min(gridBlocks, Math.max(MIN_GIVEN_BLOCKS, Math.ceil(GIVEN_LOOKUPS / lookups)));
}

/** Depths of all groups, block by block, of nested loops whose groups begin at multiples of n. */
function nestedDepths(reader: GivenReader, dealing: Dealing): Float64Array {
  const { units, unitsPerGroup: n, groupsPerBlock: W, gridBlocks: G, setupIterations } = dealing;
  const longest = reader.longest!;
  const period = longest.length;
  const groups = G * W;
  const depths = new Float64Array(groups);
  const full = Math.floor(units / n);
  const { part } = reader;
  for (let group = 0, to = 0, at = 0; group < full; group++) {
    depths[to] += (part === 1 ? longest[at] : longest[Math.floor(group * part)]) + setupIterations;
    if (++to === groups) to = 0;
    if (++at === period) at = 0;
  }
  if (units > full * n) depths[full % groups] += reader.longestSum(full * n, n, units) + setupIterations;
  return depths;
}

/**
 * Blocks spread over the launch, one of each stretch: by turns a short and a long one of it, so that long ones are as frequent as
 * in the launch.
 * @param lives by which blocks of a stretch are short or long; `null` where that is not known
 */
function spreadBlocks(lives: Float64Array | null, G: number, count: number): Int32Array {
  const chosen = new Int32Array(count);
  const ranked = new Float64Array(Math.ceil(G / count) + 1);
  for (let i = 0; i < count; i++) {
    const from = Math.floor((i * G) / count);
    const to = Math.floor(((i + 1) * G) / count);
    const place = Math.floor(goldenTurn(i) * (to - from));
    chosen[i] = from + place;
    if (!lives) continue;
    for (let block = from; block < to; block++) {
      let k = block - from;
      for (; k > 0 && ranked[k - 1] > lives[block]; k--) ranked[k] = ranked[k - 1];
      ranked[k] = lives[block];
    }
    let block = from;
    while (lives[block] !== ranked[place]) block++;
    chosen[i] = block;
  }
  return chosen;
}

/** Mean life of all blocks over that of the chosen ones. */
function lifeRatio(lives: Float64Array, rows: Int32Array): number {
  let all = 0;
  for (const life of lives) all += life;
  let some = 0;
  for (const block of rows) some += lives[block];
  return some > 0 ? all / lives.length / (some / rows.length) : 1;
}

/** Depths of the groups of the chosen blocks, or of all; nested loops. */
function rowsOf(
  reader: GivenReader,
  dealing: Dealing,
  nested: Float64Array | null,
  rows: Int32Array | null,
): Float64Array {
  const { groupsPerBlock: W, gridBlocks: G } = dealing;
  const count = rows?.length ?? G;
  const depths = new Float64Array(count * W);
  const scratch = dealingScratch(dealing);
  for (let i = 0; i < count; i++) {
    const block = rows ? rows[i] : i;
    if (nested) depths.set(nested.subarray(block * W, (block + 1) * W), i * W);
    else for (let g = 0; g < W; g++) depths[i * W + g] = groupDepth(reader, dealing, block, g, scratch);
  }
  return depths;
}

/** `groupDepth` of a flattened loop over a given order: the same without a call for each unit, where that is possible. */
function lanesDepth(
  reader: GivenReader,
  dealing: Dealing,
  block: number,
  group: number,
  scratch: DealingScratch,
): number {
  const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks, setupIterations } = dealing;
  if (setupIterations > 0 || reader.part < 1) return groupDepth(reader, dealing, block, group, scratch);
  const { lengths } = reader;
  const { lanes } = scratch;
  const slots = slotsPerBlock * gridBlocks;
  const filled = Math.min(n, slotsPerBlock - group * n);
  lanes.fill(0);
  for (let position = block * slotsPerBlock + group * n; position < units; position += slots) {
    const count = Math.min(filled, units - position);
    let at = position % lengths.length;
    for (let lane = 0; lane < count; lane++) {
      lanes[lane] += lengths[at];
      if (++at === lengths.length) at = 0;
    }
  }
  let depth = 0;
  for (let lane = 0; lane < filled; lane++) if (lanes[lane] > depth) depth = lanes[lane];
  return depth;
}

/** Depths and losses of flattened loops. */
function flattenedDepths(
  reader: GivenReader,
  dealing: Dealing,
  rows: Int32Array | null,
): { readonly depths: Float64Array; readonly aggregateLoss: number; readonly meanLoss: number } {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const count = rows?.length ?? G;
  const depths = new Float64Array(count * W);
  const scratch = dealingScratch(dealing);
  const { lanes } = scratch;
  let lockstep = 0;
  let work = 0;
  let losses = 0;
  let groups = 0;
  for (let i = 0, at = 0; i < count; i++) {
    const block = rows ? rows[i] : i;
    for (let g = 0; g < W; g++, at++) {
      depths[at] = lanesDepth(reader, dealing, block, g, scratch);
      const filled = Math.min(n, slotsPerBlock - g * n);
      if (block * slotsPerBlock + g * n >= units || filled === 1) continue;
      let sum = 0;
      let longest = 0;
      for (let lane = 0; lane < filled; lane++) {
        sum += lanes[lane];
        if (lanes[lane] > longest) longest = lanes[lane];
      }
      lockstep += filled * longest;
      work += sum;
      losses += sum > 0 ? (filled * longest) / sum : 1;
      groups++;
    }
  }
  return {
    depths,
    aggregateLoss: work > 0 ? lockstep / work : 1,
    meanLoss: groups > 0 ? losses / groups : 1,
  };
}
