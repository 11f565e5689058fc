import { goldenTurn, greatestCommonDivisor } from '../../numeric/lattice.ts';
import { MAX_LAW_GROUPS } from '../constants.ts';
import type { GivenLoss } from '../../domain/loss.ts';
import { copyCompactly, type CompactNumbers } from '../../numeric/compact.ts';
import { createScratch } from '../../numeric/scratch.ts';
import type { DepthMeans } from '../depth/means.ts';
import { listBlocks, sortRow, type ListedBlocks } from './blocks.ts';
import { countBoundGroups, createStartCounter, findSureTotal, type Dealing } from './deal.ts';
import { computeDepthOfStarts, countGroupStarts, createShareScratch, type SharedUnits } from './even-share.ts';
import {
  rankLongestGroups,
  getLongestOfGroups,
  getLossOfGroups,
  readGiven,
  type GivenOrder,
  type GivenReader,
  type PlainLaunch,
} from './given.ts';
import { createRecentLaunches, createRecentStarts } from './recent.ts';

/** A launch in a given order with up to this many groups is computed whole. A larger launch is sampled. */
const MAX_GIVEN_GROUPS = 2 ** 17;
/** At most about this many lengths (or longest lengths of n units) are read for a launch in a given order. */
const MAX_GIVEN_LOOKUPS = 2 ** 22;
const MIN_GIVEN_ROUNDS = 64;
/** Lengths that are read to count the setups of lanes out of step in a launch that is played in full. */
const GIVEN_SETUP_LOOKUPS = 2 ** 16;
/** Lengths that are read to count the setups of lanes out of step if a launch is only sampled. */
const SAMPLED_SETUP_LOOKUPS = 2 ** 12;
const MAX_SHARE_LOOKUPS = 2 ** 20;
/** Lanes that are summed side by side. The number affects only the speed. */
const LANES_AT_ONCE = 2 ** 11;
const MIN_GIVEN_BLOCKS = 48;
/** Lengths, or longest lengths of n units, that are read for a law of sampled blocks. */
const LAW_LOOKUPS = 2 ** 13;
/** Adding up a round of a flattened group takes about this many times as long as finding the longest of n units. */
const LANES_OF_LOOKUP = 8;
/** An order has one running sum for each stretch of this many units. Shorter stretches would take more memory. */
const SUMMED_UNITS = 32;
/** Parts of a launch that are compared with each other if it has more than `PLAYED_GROUPS` groups. */
const TREND_PARTS = 16;
/** A launch with more than `PLAYED_GROUPS` groups is played only if its parts deviate from their mean by this share. */
const TREND = 0.1;

/** Arrays that every launch uses again. Caches keep compact copies of launches. */
const getDepths = createScratch();
const getWork = createScratch();
const getLanes = createScratch();
const getSampledDepths = createScratch();

export interface GivenLaunch {
  /** Depth of each group, iterations, block by block. With `isSample`, the next sampled launch may overwrite it. */
  readonly depths: Float64Array;
  /** Number of blocks of the launch that each sampled block represents; `null` if all weights are equal. */
  readonly weights: Float64Array | null;
  /** Means over all work of a group if it has even shares, otherwise over one unit per slot. */
  readonly means: DepthMeans;
}

/** Deals units in a given order to all blocks of a launch or, if they are too many or a sample is enough, to some. */
export function computeGivenLaunch(
  order: GivenOrder,
  dealing: Dealing,
  meanLength: number,
  isSample = false,
): GivenLaunch {
  const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  // With a single round or a single lane, a nested and a flattened loop take the same time.
  const isNested = dealing.loop === 'nested' || units <= slotsPerBlock * G || n === 1;
  const loop = isNested ? 'nested' : 'flattened';
  const plain = getKeptLaunch(order, `${isSample ? 'some' : 'all'} ${loop} ${n} ${slotsPerBlock} ${G}`, () =>
    computePlainLaunch(order, { ...dealing, loop }, meanLength, isSample),
  );
  const depths = isSample ? getSampledDepths(plain.depths.length) : new Float64Array(plain.depths.length);
  depths.set(plain.depths);
  if (setupIterations > 0) {
    const starts = (plain.starts ??= copyCompactly(computeStarts(order, { ...dealing, loop }, plain, isSample)));
    for (let at = 0; at < depths.length; at++) depths[at] += setupIterations * starts[at];
  }
  const { aggregateLoss, meanLoss } = plain.loss;
  return {
    depths,
    weights: plain.weights,
    means: {
      meanDepth: meanLength * aggregateLoss + setupIterations,
      meanWork: meanLength + setupIterations,
      aggregateLoss,
      meanLoss,
    },
  };
}

/** Designs that differ only in their setup share the result. */
function computePlainLaunch(order: GivenOrder, dealing: Dealing, meanLength: number, isSample: boolean): PlainLaunch {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, loop } = dealing;
  const { blocks, weights } = chooseBlocks(order, dealing, isSample);
  // A sampling error must not favour a design. So the depths of a sample are scaled to a known mean: the mean depth of
  // nested groups, or the mean work of the lanes of a flattened loop.
  const isScaled = isSample && blocks.length < G;
  const unitsPerSlot = units / (slotsPerBlock * G);
  if (loop === 'nested') {
    const loss = getLossOfGroups(order, n);
    const depths = computeNestedDepths(order, dealing, blocks);
    if (isScaled && slotsPerBlock % n === 0)
      scaleBy(depths, (unitsPerSlot * meanLength * loss.aggregateLoss) / computeWeightedMean(depths, weights, W));
    return { blocks, weights, depths, starts: null, loss };
  }
  const chosen = chooseLanes(dealing, blocks);
  const { depths, work, loss } = computeLongestLanes(readGiven(order, dealing), dealing, chosen);
  const padding = order.work === order.lengths ? 1 : addUp(order.lengths) / addUp(order.work);
  if (isScaled) {
    const spread = spreadOver(work, 1, chosen.blocks.length, blocks.length);
    scaleBy(depths, (unitsPerSlot * padding * meanLength * slotsPerBlock) / computeWeightedMean(spread, weights, 1));
  }
  return {
    blocks,
    weights,
    depths: spreadOver(depths, W, chosen.blocks.length, blocks.length),
    starts: null,
    loss: { aggregateLoss: padding * loss.aggregateLoss, meanLoss: padding * loss.meanLoss },
  };
}

function computeStarts(
  order: GivenOrder,
  dealing: Dealing,
  { blocks, weights }: ChosenBlocks,
  isSample: boolean,
): Float64Array {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, loop } = dealing;
  if (loop === 'flattened') {
    const chosen = chooseLanes(dealing, blocks);
    const starts = countShareStarts(readGiven(order, dealing), dealing, chosen, isSample);
    return spreadOver(starts, W, chosen.blocks.length, blocks.length);
  }
  const slots = slotsPerBlock * G;
  const rounds = getDepths(blocks.length * W);
  for (let i = 0, at = 0; i < blocks.length; i++)
    for (let g = 0; g < W; g++, at++)
      rounds[at] = Math.max(0, Math.ceil((units - blocks[i] * slotsPerBlock - g * n) / slots));
  if (isSample && blocks.length < G && slotsPerBlock % n === 0)
    scaleBy(rounds, units / slots / computeWeightedMean(rounds, weights, W));
  return rounds;
}

/** @param each number of values per block; they share its weight */
function computeWeightedMean(values: Float64Array, weights: Float64Array | null, each: number): number {
  if (!weights) return addUp(values) / values.length;
  let sum = 0;
  for (let row = 0, at = 0; at < values.length; row++)
    for (const end = at + each; at < end; at++) sum += weights[row] * values[at];
  return sum / (each * addUp(weights));
}

interface ChosenBlocks {
  readonly blocks: Int32Array;
  readonly weights: Float64Array | null;
}

/**
 * Chooses all blocks if they are few, otherwise evenly spread blocks. A sample is spread separately over the blocks
 * with one more round and over the others, within one repetition of the lengths, so that each length is equally
 * frequent. The blocks with the longest units are added if they are few.
 */
function chooseBlocks(order: GivenOrder, dealing: Dealing, isSample: boolean): ChosenBlocks {
  const { units, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, loop } = dealing;
  const slots = slotsPerBlock * G;
  const perGroup = Math.ceil(units / slots) * (loop === 'nested' ? 1 : LANES_OF_LOOKUP);
  const most = isSample ? Math.min(MAX_LAW_GROUPS, LAW_LOOKUPS / perGroup) : MAX_GIVEN_GROUPS;
  const wanted = Math.max(MIN_GIVEN_BLOCKS, Math.floor(most / W));
  if (G <= wanted) return { blocks: spreadBlocks(G, G), weights: null };
  if (!isSample) return { blocks: spreadBlocks(G, wanted), weights: null };
  const kept = order.lengths.length;
  const period = order.part === 1 ? Math.ceil(kept / slotsPerBlock) : G;
  const fuller = Math.ceil((units % slots) / slotsPerBlock);
  const counts = [fuller, G - fuller].map((all) => Math.min(all, Math.ceil((wanted * all) / G)));
  const even = new Int32Array(counts[0] + counts[1]);
  const weights = new Float64Array(even.length);
  const addPart = (at: number, count: number, from: number, all: number): void => {
    even.set(spreadBlocks(Math.min(all, Math.max(count, period)), count, from), at);
    weights.fill(all / count, at, at + count);
  };
  addPart(0, counts[0], 0, fuller);
  addPart(counts[0], counts[1], fuller, G - fuller);
  const certain = period > wanted ? findLongestBlocks(order, dealing).filter((block) => !even.includes(block)) : [];
  // Each of `order.lengths` recurs in `times` blocks, so a block with the longest units represents `times` blocks.
  const repeats = order.part === 1 ? units / kept : 1 / order.part;
  const times = Math.max(1, Math.min(repeats, slots / greatestCommonDivisor(slots, kept)));
  const left = 1 - (certain.length * times) / G;
  if (certain.length === 0 || left < 0.5) return { blocks: even, weights };
  const blocks = new Int32Array(even.length + certain.length);
  blocks.set(even);
  blocks.set(certain, even.length);
  const shared = new Float64Array(blocks.length).fill(times);
  for (let i = 0; i < even.length; i++) shared[i] = weights[i] * left;
  return { blocks, weights: shared };
}

function findLongestBlocks(
  order: GivenOrder,
  { unitsPerGroup: n, slotsPerBlock, gridBlocks }: Dealing,
): readonly number[] {
  const blocks = Array.from(rankLongestGroups(order, n), (group) => {
    const position = Math.floor(group / order.part) * n;
    return Math.floor((position % (slotsPerBlock * gridBlocks)) / slotsPerBlock);
  });
  return [...new Set(blocks)];
}

/**
 * Cuts units in a given order into even shares, and otherwise works like `computeGivenLaunch`.
 * @param overheadIterations iterations of a group in addition to its share and its setups
 */
export function computeShareLaunch(
  shared: SharedUnits,
  dealing: Dealing,
  itemsPerSlot: number,
  overheadIterations: number,
  meanLength: number,
  isSample = false,
): GivenLaunch {
  const { units, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const most = Math.max(MIN_GIVEN_BLOCKS, Math.floor((isSample ? MAX_LAW_GROUPS : MAX_GIVEN_GROUPS) / W));
  const unitsPerSlot = units / (slotsPerBlock * G);
  const startsPerBlock = slotsPerBlock * (1 + unitsPerSlot);
  const counted = Math.max(MIN_GIVEN_BLOCKS, Math.ceil((isSample ? LAW_LOOKUPS : MAX_SHARE_LOOKUPS) / startsPerBlock));
  const rows = spreadBlocks(G, Math.min(G, most, counted));
  const starts = setupIterations > 0 ? keepStarts(shared, dealing, itemsPerSlot, rows) : null;
  const depths = new Float64Array(rows.length * W).map((_, at) => {
    const block = rows[Math.floor(at / W)];
    return computeDepthOfStarts(shared, dealing, itemsPerSlot, overheadIterations, block, at % W, starts?.[at] ?? 0);
  });
  const aggregateLoss = itemsPerSlot / (meanLength * unitsPerSlot);
  return {
    weights: null,
    depths: spreadOver(depths, W, rows.length, isSample ? rows.length : Math.min(G, most)),
    means: {
      meanDepth: addUp(depths) / depths.length,
      meanWork: (meanLength + setupIterations) * unitsPerSlot,
      aggregateLoss,
      meanLoss: aggregateLoss,
    },
  };
}

const recentStarts = createRecentStarts();

/** Launches that differ only in their setup share the cached result. */
function keepStarts(shared: SharedUnits, dealing: Dealing, itemsPerSlot: number, blocks: Int32Array): Float64Array {
  const { unitsPerGroup, groupsPerBlock: W, slotsPerBlock, gridBlocks } = dealing;
  const key = `${shared.id} ${unitsPerGroup} ${slotsPerBlock} ${gridBlocks} ${itemsPerSlot} ${blocks.length}`;
  return recentStarts(key, () => {
    const scratch = createShareScratch(itemsPerSlot);
    return new Float64Array(blocks.length * W).map((_, at) =>
      countGroupStarts(shared, dealing, itemsPerSlot, blocks[Math.floor(at / W)], at % W, scratch),
    );
  });
}

function spreadOver(computed: Float64Array, W: number, rows: number, blocks: number): Float64Array {
  if (rows === blocks) return computed;
  const depths = new Float64Array(blocks * W);
  for (let block = 0; block < blocks; block++) {
    const from = Math.floor((block * rows) / blocks) * W;
    depths.set(computed.subarray(from, from + W), block * W);
  }
  return depths;
}

function addUp(values: CompactNumbers): number {
  let total = 0;
  for (let at = 0; at < values.length; at++) total += values[at];
  return total;
}

/** The number of rounds that each examined round represents: above 1 if there are very many rounds. */
function countRoundsEach(rounds: number, lookups: number): number {
  return Math.max(1, Math.floor(Math.min(rounds / MIN_GIVEN_ROUNDS, lookups / MAX_GIVEN_LOOKUPS)));
}

/**
 * Computes the depths of the groups of some blocks, block by block, for nested loops without setup. Groups start at
 * multiples of a divisor d of n, usually d = n, so the longest of each d consecutive units is computed only once.
 */
function computeNestedDepths(order: GivenOrder, dealing: Dealing, blocks: Int32Array): Float64Array {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const { part } = order;
  const common = greatestCommonDivisor(n, slotsPerBlock);
  const longest = getLongestOfGroups(order, common);
  const period = longest.length;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  const each = countRoundsEach(rounds, (blocks.length * W * rounds * n) / common);
  const stride = slots * each;
  const step = (stride / common) % period;
  const depths = getDepths(blocks.length * W);
  if (part === 1 && blocks.length === G && slotsPerBlock % n === 0) {
    // All groups of a round are neighbours, so adding up round by round reads the lengths in memory order.
    addUpRounds(depths, longest, 0, stride / n, Math.floor(units / n));
    const inLast = (rounds - 1) % each === 0 ? Math.floor((units - (rounds - 1) * slots) / n) : depths.length;
    if (units % n > 0 && inLast < depths.length) depths[inLast] += findLongestUnit(order, units - (units % n), units);
  } else
    for (let to = 0; to < depths.length; to++) {
      const g = to % W;
      const first = blocks[(to - g) / W] * slotsPerBlock + g * n;
      const filled = Math.min(n, slotsPerBlock - g * n);
      const full = Math.max(0, Math.floor((units - filled - first) / stride) + 1);
      if (part === 1 && filled === common) depths[to] = addUpInSteps(longest, (first / common) % period, step, full);
      else if (filled === common && common === n) depths[to] = addUpPart(longest, first / n, stride / n, full, part);
      else
        for (let position = first; position < first + full * stride; position += stride) {
          let most = 0;
          for (let from = position; from < position + filled; from += common) {
            const inGroup = from % n;
            const at = part === 1 ? from : Math.floor(((from - inGroup) / n) * part) * n + inGroup;
            most = Math.max(most, longest[(at / common) % period]);
          }
          depths[to] += most;
        }
      // The last group may have fewer units than the same group in earlier repetitions of the lengths.
      const last = first + full * stride;
      if (last < units) depths[to] += findLongestUnit(order, last, units);
    }
  scaleBy(depths, rounds / Math.ceil(rounds / each));
  return depths;
}

function addUpInSteps(values: CompactNumbers, first: number, step: number, count: number): number {
  let sum = 0;
  for (let i = 0, at = first; i < count; i++) {
    sum += values[at];
    at += step;
    if (at >= values.length) at -= values.length;
  }
  return sum;
}

/** Like `addUpInSteps`, if `values` has only the fraction `part` of all values; `first` and `step` count all values. */
function addUpPart(values: CompactNumbers, first: number, step: number, count: number, part: number): number {
  let sum = 0;
  for (let i = 0, at = first; i < count; i++, at += step) sum += values[Math.floor(at * part)];
  return sum;
}

function findLongestUnit({ lengths, part }: GivenOrder, from: number, to: number): number {
  let most = 0;
  const kept = lengths.length;
  for (let position = from; position < to; position++)
    most = Math.max(most, lengths[part === 1 ? position % kept : kept - to + position]);
  return most;
}

/** @param factor ignored if it is not finite: a launch without any work has nothing to scale */
function scaleBy(values: Float64Array, factor: number): void {
  if (factor !== 1 && Number.isFinite(factor)) for (let i = 0; i < values.length; i++) values[i] *= factor;
}

export function hasTrend(order: GivenOrder, { units, slotsPerBlock, gridBlocks }: Dealing): boolean {
  const { lengths } = order;
  const kept = lengths.length;
  const sums = (order.sums ??= computeRunningSums(lengths));
  const total = sums[sums.length - 1];
  const before = (position: number): number => {
    const inside = position % kept;
    const stretches = Math.floor(inside / SUMMED_UNITS);
    let sum = sums[stretches];
    for (let at = stretches * SUMMED_UNITS; at < inside; at++) sum += lengths[at];
    return ((position - inside) / kept) * total + sum;
  };
  const slots = slotsPerBlock * gridBlocks;
  const rounds = Math.ceil(units / slots);
  const each = countRoundsEach(rounds, Infinity);
  const parts = new Float64Array(TREND_PARTS);
  for (let first = 0; first < units; first += slots * each)
    for (let at = 0, from = first; at < TREND_PARTS; at++) {
      const to = Math.min(units, first + Math.round(((at + 1) * gridBlocks) / TREND_PARTS) * slotsPerBlock);
      if (to > from) parts[at] += before(to) - before(from);
      from = Math.max(from, to);
    }
  return deviates(parts, 0);
}

function computeRunningSums(values: CompactNumbers): Float64Array {
  const sums = new Float64Array(Math.ceil(values.length / SUMMED_UNITS) + 1);
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i];
    sums[Math.floor(i / SUMMED_UNITS) + 1] = sum;
  }
  return sums;
}

/** Whether the parts of a launch deviate from their mean by more than chance and `TREND` together allow. */
function deviates(parts: Float64Array, chance: number): boolean {
  const mean = addUp(parts) / parts.length;
  return addUp(parts.map((part) => (part - mean) ** 2)) / parts.length - chance > (TREND * mean) ** 2;
}

export function areLongerInParts(depths: Float64Array, groupsPerBlock: number): boolean {
  const { means } = listBlocks(depths, groupsPerBlock);
  const each = Math.floor(means.length / TREND_PARTS);
  let within = 0;
  const parts = new Float64Array(TREND_PARTS).map((_, part) => {
    const own = means.subarray(part * each, (part + 1) * each);
    const mean = addUp(own) / each;
    within += addUp(own.map((value) => (value - mean) ** 2)) / (each * TREND_PARTS);
    return mean;
  });
  return deviates(parts, within / each);
}

/** Picks one block from each of `count` equal stretches of the G blocks that begin with block `first`. */
function spreadBlocks(G: number, count: number, first = 0): Int32Array {
  const blocks = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const from = Math.floor((i * G) / count);
    const to = Math.floor(((i + 1) * G) / count);
    blocks[i] = first + from + Math.floor(goldenTurn(i) * (to - from));
  }
  return blocks;
}

/**
 * Picks one block from each stretch of the launch, and returns the depths of its groups as a row, the shortest first.
 * The picked rank by life varies evenly between stretches, so that long blocks are as frequent as in the launch.
 * @param mostGroups approximate maximum number of groups
 */
export function spreadRows({ depths, lives, groupsPerBlock: W }: ListedBlocks, mostGroups: number): Float64Array {
  const count = Math.min(lives.length, Math.max(MIN_GIVEN_BLOCKS, Math.ceil(mostGroups / W)));
  const rows = new Float64Array(count * W);
  for (let i = 0; i < count; i++) {
    const from = Math.floor((i * lives.length) / count);
    const to = Math.floor(((i + 1) * lives.length) / count);
    const ranked = Int32Array.from({ length: to - from }, (_, k) => from + k).sort((a, b) => lives[a] - lives[b]);
    const block = ranked[Math.floor(goldenTurn(i) * ranked.length)];
    rows.set(depths.subarray(block * W, (block + 1) * W), i * W);
    sortRow(rows, i * W, W);
  }
  return rows;
}

const recentLaunches = createRecentLaunches<PlainLaunch>();

function getKeptLaunch({ id }: GivenOrder, key: string, make: () => PlainLaunch): PlainLaunch {
  return recentLaunches(`${id} ${key}`, () => {
    const launch = make();
    return { ...launch, depths: copyCompactly(launch.depths) };
  });
}

interface ChosenLanes {
  readonly blocks: Int32Array;
  readonly rounds: number;
  readonly each: number;
}

/** Chooses fewer blocks if there are too many units. Each chosen block represents its neighbours. */
function chooseLanes({ units, slotsPerBlock, gridBlocks: G }: Dealing, blocks: Int32Array): ChosenLanes {
  const rounds = Math.ceil(units / (slotsPerBlock * G));
  const count = blocks.length;
  const lookups = slotsPerBlock * rounds;
  const each = countRoundsEach(rounds, count * lookups);
  const wanted = Math.min(count, Math.ceil((MAX_GIVEN_LOOKUPS * each) / lookups));
  return { blocks: wanted < count ? spreadBlocks(count, wanted).map((at) => blocks[at]) : blocks, rounds, each };
}

function computeLongestLanes(
  reader: GivenReader,
  dealing: Dealing,
  { blocks, rounds, each }: ChosenLanes,
): { readonly depths: Float64Array; readonly work: Float64Array; readonly loss: GivenLoss } {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const depths = getDepths(blocks.length * W);
  const workOf = getWork(blocks.length);
  let lockstep = 0;
  let work = 0;
  let losses = 0;
  let groups = 0;
  const blocksEach = blocks.length === G ? Math.ceil(LANES_AT_ONCE / slotsPerBlock) : 1;
  const lanes = getLanes(blocksEach * slotsPerBlock);
  for (let i = 0, at = 0; i < blocks.length; i++) {
    const first = blocks[i] * slotsPerBlock;
    const from = (i % blocksEach) * slotsPerBlock;
    if (from === 0) computeLaneWork(reader, dealing, first, slotsPerBlock * G * each, lanes);
    for (let g = 0; g < W; g++, at++) {
      const end = Math.min((g + 1) * n, slotsPerBlock);
      let sum = 0;
      let longest = 0;
      for (let lane = g * n; lane < end; lane++) {
        const own = lanes[from + lane];
        sum += own;
        if (own > longest) longest = own;
      }
      depths[at] = longest;
      workOf[i] += sum;
      const filled = end - g * n;
      if (first + g * n >= units || filled === 1) continue;
      lockstep += filled * longest;
      work += sum;
      losses += sum > 0 ? (filled * longest) / sum : 1;
      groups++;
    }
  }
  scaleBy(depths, rounds / Math.ceil(rounds / each));
  scaleBy(workOf, rounds / Math.ceil(rounds / each));
  const loss = { aggregateLoss: work > 0 ? lockstep / work : 1, meanLoss: groups > 0 ? losses / groups : 1 };
  return { depths, work: workOf, loss };
}

/** Counting starts takes longer than adding up lanes, so of each stretch of groups only one is counted. */
function countShareStarts(
  reader: GivenReader,
  dealing: Dealing,
  { blocks, rounds }: ChosenLanes,
  isSample: boolean,
): Float64Array {
  const { unitsPerGroup: n, groupsPerBlock: W } = dealing;
  const groups = blocks.length * W;
  const stretch = Math.ceil((groups * n * rounds) / (isSample ? SAMPLED_SETUP_LOOKUPS : GIVEN_SETUP_LOOKUPS));
  const countStarts = createStartCounter(reader, dealing);
  const starts = getDepths(groups);
  for (let i = 0, from = 0; from < groups; i++, from += stretch) {
    const at = from + Math.floor(goldenTurn(i) * Math.min(stretch, groups - from));
    starts.fill(countStarts(blocks[Math.floor(at / W)], at % W).starts, from, from + stretch);
  }
  return starts;
}

/** Returns a number of iterations that all groups together almost certainly exceed, estimated on a sample of groups. */
export function findFewestLaneIterations(order: GivenOrder, dealing: Dealing): number {
  const { unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const groups = G * W;
  const { depths, starts } = getKeptLaunch(order, `bound ${n} ${slotsPerBlock} ${G}`, () => {
    const countStarts = createStartCounter(readGiven(order, dealing), dealing);
    const blocks = spreadBlocks(groups, countBoundGroups(dealing));
    const counted = Array.from(blocks, (group) => countStarts(Math.floor(group / W), group % W));
    return {
      blocks,
      weights: null,
      depths: Float64Array.from(counted, ({ depth }) => depth),
      starts: Float64Array.from(counted, (one) => one.starts),
      loss: { aggregateLoss: NaN, meanLoss: NaN },
    };
  });
  return findSureTotal(
    Float64Array.from(depths, (depth, at) => depth + setupIterations * starts![at]),
    groups,
  );
}

function computeLaneWork(
  { lengths, part }: GivenReader,
  { units, unitsPerGroup: n }: Dealing,
  first: number,
  stride: number,
  lanes: Float64Array,
): void {
  lanes.fill(0);
  if (part === 1) return addUpRounds(lanes, lengths, first, stride, units);
  const kept = lengths.length;
  for (let position = first; position < units; position += stride) {
    const count = Math.min(lanes.length, units - position);
    for (let lane = 0; lane < count;) {
      const inGroup = (position + lane) % n;
      const run = Math.min(n - inGroup, count - lane);
      const from = Math.floor(((position + lane - inGroup) / n) * part) * n + inGroup;
      for (let i = 0; i < run; i++, lane++) lanes[lane] += lengths[Math.min(kept - 1, from + i)];
    }
  }
}

/** Adds the values at `first`, `first` + stride … before `end` to the first sum, the next values to the next sum. */
function addUpRounds(sums: Float64Array, values: CompactNumbers, first: number, stride: number, end: number): void {
  const period = values.length;
  let position = first;
  // Four rounds at once save reads and writes of the sums. No round may cross the end of a repetition of the values.
  const fits = (from: number): boolean => from % period <= period - sums.length;
  for (; position + 3 * stride <= end - sums.length; position += 4 * stride) {
    const [a, b, c, d] = [position, position + stride, position + 2 * stride, position + 3 * stride];
    if (fits(a) && fits(b) && fits(c) && fits(d))
      addRounds(sums, values, a % period, b % period, c % period, d % period);
    else for (const from of [a, b, c, d]) addRound(sums, values, from, sums.length);
  }
  for (; position < end; position += stride) addRound(sums, values, position, Math.min(sums.length, end - position));
}

function addRounds(lanes: Float64Array, lengths: CompactNumbers, a: number, b: number, c: number, d: number): void {
  for (let lane = 0; lane < lanes.length; lane++)
    lanes[lane] += lengths[a + lane] + lengths[b + lane] + (lengths[c + lane] + lengths[d + lane]);
}

function addRound(lanes: Float64Array, lengths: CompactNumbers, position: number, count: number): void {
  const kept = lengths.length;
  for (let lane = 0, from = position % kept; lane < count; from = 0) {
    const end = Math.min(count, lane + kept - from);
    for (; lane < end; lane++, from++) lanes[lane] += lengths[from];
  }
}
