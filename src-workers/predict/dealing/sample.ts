import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { quickGenerator } from '../../numeric/random.ts';
import {
  computeGroupDepth,
  countBoundGroups,
  createStartCounter,
  findSureTotal,
  getDealingScratch,
  hasDivergentSetup,
  type Dealing,
} from './deal.ts';
import { sortRow } from './blocks.ts';
import { createRecentLaunches, createRecentStarts } from './recent.ts';
import { keepsLanes, type PlainSample, type SortedReader } from './order.ts';

/** All blocks of a launch with sorted or bucketed units are computed only up to this many groups. */
const KNOWN_GROUPS = 10_240;
/** All blocks of a launch with sorted or bucketed units are computed only up to this many group rounds (units / n). */
const KNOWN_LOOKUPS = 2 ** 16;
/** Lengths that are read for a sample: its number of groups times the number of rounds. */
const SAMPLED_LOOKUPS = 4096;
const MIN_SAMPLED_GROUPS = 160;
const MAX_SAMPLED_GROUPS = 480;
const MIN_SAMPLED_BLOCKS = 48;
const MAX_SAMPLED_BLOCKS = 256;
const SAMPLE_CANDIDATES = 256;
const LONGEST_SAMPLED_BLOCKS = 16;
/** Step between sampled blocks of fully sorted units, divided by the number of blocks longer than the sampled one. */
const LONGEST_SPACING = 0.25;
/** Bounds of candidate blocks are rounded to this many steps per iteration. Chosen: closer bounds are equally good. */
const BOUND_STEPS = 16;
/** Steps from the first to the last computed group of a block, if depths rise steadily from group to group. */
const STEADY_GROUPS = 4;

export interface SampledBlocks {
  readonly groupsPerBlock: number;
  /** For each block, a row of `groupsPerBlock` depths, ascending. */
  readonly depths: Float64Array;
  /** Number of blocks of the launch that each row represents; `null` if the rows are all blocks, in their order. */
  readonly weights: Float64Array | null;
}

export function canListBlocks({ units, unitsPerGroup, groupsPerBlock, gridBlocks }: Dealing): boolean {
  return gridBlocks * groupsPerBlock <= KNOWN_GROUPS && units <= KNOWN_LOOKUPS * unitsPerGroup;
}

export function computeAllBlocks(order: SortedReader, dealing: Dealing): SampledBlocks {
  return addSetup(order, dealing, samplePlainly(order, dealing, 'all', chooseEveryBlock));
}

function chooseEveryBlock(_order: SortedReader, { gridBlocks }: Dealing): ChosenBlocks {
  return { blocks: Int32Array.from({ length: gridBlocks }, (_, block) => block), weights: null };
}

type ChosenBlocks = Pick<PlainSample, 'blocks' | 'weights'>;

/**
 * Samples the blocks of a launch. The sample contains the blocks with the longest unit of a window, if they are few.
 * For candidates among the others, the longest units give an upper bound on the life that is quick to compute. The
 * candidates with the highest bounds are all kept; the others are sampled in even steps.
 */
export function sampleBlocks(order: SortedReader, dealing: Dealing): SampledBlocks {
  return addSetup(order, dealing, samplePlainly(order, dealing, 'some', chooseBlocks));
}

function chooseBlocks(order: SortedReader, dealing: Dealing): ChosenBlocks {
  const { units, slotsPerBlock, groupsPerBlock: W, gridBlocks: G } = dealing;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  // Blocks with many rounds differ less from each other, so a smaller sample is enough.
  const groups = Math.max(MIN_SAMPLED_GROUPS, Math.min(MAX_SAMPLED_GROUPS, SAMPLED_LOOKUPS / rounds));
  const wanted = Math.min(MAX_SAMPLED_BLOCKS, Math.max(MIN_SAMPLED_BLOCKS, Math.ceil(groups / W)));
  if (wanted >= G) return chooseEveryBlock(order, dealing);
  if (order.steady) return chooseSteadyBlocks(dealing, wanted);
  const ends = findEndBlocks(order.window, dealing);
  const even = chooseEvenBlocks(order.window, dealing, Math.min(G, Math.max(2 * wanted, SAMPLE_CANDIDATES)));
  const candidates = even.filter((block) => !ends.includes(block));
  const count = candidates.length;
  // The high digits of a key hold the bound, and the low digits hold the number of the candidate.
  const keys = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const bound = order.longestSum(candidates[i] * slotsPerBlock, slotsPerBlock, slots);
    keys[i] = Math.round(bound * BOUND_STEPS) * count + i;
  }
  keys.sort();
  const longest = Math.min(LONGEST_SAMPLED_BLOCKS, count);
  const rest = count - longest;
  const steps = Math.min(wanted - longest, rest);
  const blocks = new Int32Array(steps + longest + ends.length);
  const weights = new Float64Array(blocks.length);
  for (let i = 0; i < steps + longest; i++) {
    const from = i < steps ? Math.floor((i * rest) / steps) : rest + i - steps;
    const to = i < steps ? Math.floor(((i + 1) * rest) / steps) : from + 1;
    blocks[i] = candidates[keys[(from + to) >> 1] % count];
    weights[i] = ((to - from) * (G - ends.length)) / count;
  }
  blocks.set(ends, steps + longest);
  weights.fill(1, steps + longest);
  return { blocks, weights };
}

/** Lists the blocks with the longest unit of a window; empty if they exceed `LONGEST_SAMPLED_BLOCKS`. */
function findEndBlocks(window: number, { units, slotsPerBlock, gridBlocks }: Dealing): readonly number[] {
  const slots = slotsPerBlock * gridBlocks;
  const count = Math.min(slots / greatestCommonDivisor(window, slots), Math.floor(units / window));
  if (count > LONGEST_SAMPLED_BLOCKS) return [];
  const ends = Array.from({ length: count }, (_, i) => Math.floor((((i + 1) * window - 1) % slots) / slotsPerBlock));
  return [...new Set(ends)];
}

/**
 * Picks blocks of fully sorted units, more densely towards the longest blocks, because only the longest are active at
 * the end. Lives rise among the blocks whose slots have one additional unit, and again among the remaining ones.
 * @param wanted number of blocks of a sample in even steps
 */
function chooseSteadyBlocks({ units, slotsPerBlock, gridBlocks: G }: Dealing, wanted: number): ChosenBlocks {
  const fuller = Math.ceil((units % (slotsPerBlock * G)) / slotsPerBlock);
  const blocks: number[] = [];
  const weights: number[] = [];
  for (const [from, to] of [
    [0, fuller],
    [fuller, G],
  ])
    for (let end = to; end > from;) {
      const step = Math.min(end - from, Math.ceil(Math.min(G / wanted, (to - end + 1) * LONGEST_SPACING)));
      end -= step;
      blocks.push(end + (step >> 1));
      weights.push(step);
    }
  return { blocks: Int32Array.from(blocks), weights: Float64Array.from(weights) };
}

/**
 * Picks blocks whose first slots are at evenly spread places of their windows, because the place decides which units a
 * block gets in every round. If there are fewer blocks than places, the blocks are spread over the launch instead.
 */
function chooseEvenBlocks(window: number, { slotsPerBlock, gridBlocks: G }: Dealing, count: number): Int32Array {
  const blocks = new Int32Array(count);
  const common = greatestCommonDivisor(window, slotsPerBlock);
  const places = window / common;
  // Blocks whose numbers differ by `next` have neighbouring places in their windows.
  const next = places <= G ? computeModularInverse(slotsPerBlock / common, places) : 0;
  const uniform = quickGenerator(0);
  for (let i = 0; i < count; i++) {
    const random = uniform();
    if (count === G) blocks[i] = i;
    else if (places > G) blocks[i] = Math.floor(((i + random) * G) / count);
    else {
      const first = (Math.floor(((i + 0.5) * places) / count) * next) % places;
      blocks[i] = first + places * Math.floor(random * Math.ceil((G - first) / places));
    }
  }
  return blocks;
}

/** Finds x with a·x ≡ 1 (mod m), for a and m without a common divisor, by Euclid's algorithm. */
function computeModularInverse(a: number, m: number): number {
  let [before, now] = [0, 1];
  for (let [high, low] = [m, a % m]; low > 1;) {
    const quotient = Math.floor(high / low);
    [high, low] = [low, high - quotient * low];
    [before, now] = [now, before - quotient * now];
  }
  return ((now % m) + m) % m;
}

const recentSamples = createRecentLaunches<PlainSample>();

function samplePlainly(
  order: SortedReader,
  dealing: Dealing,
  which: 'all' | 'some',
  choose: (order: SortedReader, dealing: Dealing) => ChosenBlocks,
): PlainSample {
  const { unitsPerGroup, slotsPerBlock, gridBlocks, groupsPerBlock: W } = dealing;
  const loop = keepsLanes(order.window, dealing) ? '' : dealing.loop;
  return recentSamples(`${order.id} ${which} ${unitsPerGroup} ${slotsPerBlock} ${gridBlocks} ${loop}`, () => {
    const chosen = choose(order, dealing);
    const depths = new Float64Array(chosen.blocks.length * W);
    const plain = { ...dealing, setupIterations: 0 };
    const scratch = getDealingScratch(plain);
    const strideOf = findStrides(order, dealing);
    chosen.blocks.forEach((block, i) => {
      const stride = strideOf(block);
      for (let g = 0; g < W - 1; g += stride) depths[i * W + g] = computeGroupDepth(order, plain, block, g, scratch);
      depths[(i + 1) * W - 1] = computeGroupDepth(order, plain, block, W - 1, scratch);
    });
    return { ...chosen, depths, starts: null };
  });
}

function countStarts(order: SortedReader, dealing: Dealing, blocks: Int32Array): Float64Array {
  const { groupsPerBlock: W } = dealing;
  const counts = new Float64Array(blocks.length * W);
  const countOf = createStartCounter(order, dealing);
  const strideOf = findStrides(order, dealing);
  blocks.forEach((block, i) => {
    const stride = strideOf(block);
    for (let g = 0; g < W; g = g < W - 1 ? Math.min(W - 1, g + stride) : W)
      counts[i * W + g] = countOf(block, g).starts;
    if (stride > 1) fillBetween(counts, i * W, W, stride);
  });
  return counts;
}

const recentStarts = createRecentStarts();

/** Returns a number of unit starts that lanes out of step almost certainly exceed, estimated on a sample of groups. */
export function findFewestStarts(order: SortedReader, dealing: Dealing): number {
  const { unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const groups = G * W;
  const starts = recentStarts(`${order.id} ${n} ${slotsPerBlock} ${G}`, () => {
    const count = countBoundGroups(dealing);
    const countOf = createStartCounter(order, dealing);
    const uniform = quickGenerator(0);
    return new Float64Array(count).map((_, at) => {
      // Each stretch of groups is sampled at a random group, as even steps could meet the same place of every window.
      const group = count === groups ? at : Math.floor(((at + uniform()) * groups) / count);
      return countOf(Math.floor(group / W), group % W).starts;
    });
  });
  return findSureTotal(starts, groups);
}

/** Returns the step between computed groups. In a steady order, it is above 1 except in the block of the last round. */
function findStrides(
  { steady }: SortedReader,
  { units, slotsPerBlock, gridBlocks, groupsPerBlock: W }: Dealing,
): (block: number) => number {
  const stride = steady ? Math.max(1, Math.ceil((W - 1) / STEADY_GROUPS)) : 1;
  const last = Math.floor((units % (slotsPerBlock * gridBlocks)) / slotsPerBlock);
  return (block) => (block === last ? 1 : stride);
}

function addSetup(order: SortedReader, dealing: Dealing, sample: PlainSample): SampledBlocks {
  const { blocks, weights } = sample;
  const { groupsPerBlock: W, units, unitsPerGroup, slotsPerBlock, gridBlocks, setupIterations } = dealing;
  const slots = slotsPerBlock * gridBlocks;
  const depths = sample.depths.slice();
  const isSetupApart = hasDivergentSetup(dealing);
  const perRound = isSetupApart ? 0 : setupIterations;
  const strideOf = findStrides(order, dealing);
  let sum = 0;
  let total = 0;
  for (let i = 0, at = 0; i < blocks.length; i++, at += W) {
    const stride = strideOf(blocks[i]);
    const left = units - blocks[i] * slotsPerBlock;
    if (perRound > 0 && left > 0) {
      const rounds = Math.ceil(left / slots);
      // The later groups of the block in which the last round ends have one round less.
      const fuller = Math.ceil((left - (rounds - 1) * slots) / unitsPerGroup);
      for (let g = 0; g < W; g = g < W - 1 ? Math.min(W - 1, g + stride) : W)
        depths[at + g] += perRound * (g < fuller ? rounds : rounds - 1);
    }
    if (stride > 1) fillBetween(depths, at, W, stride);
    const weight = weights ? weights[i] : 1;
    total += weight * W;
    for (let g = 0; g < W; g++) sum += weight * depths[at + g];
  }
  // If the mean over all groups is known, the sample is scaled to it, so that a sampling error favours no design.
  const known = weights ? order.meanDepth({ ...dealing, setupIterations: perRound }) : NaN;
  const scale = known > 0 && sum > 0 ? (known * total) / sum : 1;
  const starts = isSetupApart ? (sample.starts ??= countStarts(order, dealing, blocks)) : null;
  for (let at = 0; at < depths.length; at++)
    depths[at] = scale * depths[at] + (starts ? setupIterations * starts[at] : 0);
  for (let at = 0; at < depths.length; at += W) sortRow(depths, at, W);
  return { groupsPerBlock: W, depths, weights };
}

function fillBetween(values: Float64Array, from: number, count: number, stride: number): void {
  for (let g = 0; g < count - 1; g += stride) {
    const to = Math.min(g + stride, count - 1);
    const slope = (values[from + to] - values[from + g]) / (to - g);
    for (let k = g + 1; k < to; k++) values[from + k] = values[from + g] + slope * (k - g);
  }
}
