import { goldenTurn, greatestCommonDivisor } from '../../numeric/lattice.ts';
import {
  BOUND_ERRORS,
  BOUND_LOOKUPS,
  GIVEN_SETUP_LOOKUPS,
  KEPT_LANE_DEPTHS,
  LANES_AT_ONCE,
  LAW_LOOKUPS,
  MAX_BOUND_GROUPS,
  MAX_GIVEN_GROUPS,
  MAX_GIVEN_LOOKUPS,
  MAX_LAW_GROUPS,
  MAX_SHARE_LOOKUPS,
  MIN_BOUND_GROUPS,
  MIN_GIVEN_BLOCKS,
  MIN_GIVEN_ROUNDS,
  TREND,
  TREND_PARTS,
} from '../constants.ts';
import type { DepthMeans } from '../depth/means.ts';
import { knownBlocks, sortRow, type KnownBlocks } from '../time/placed.ts';
import { dealingScratch, groupDepth, type Dealing } from './deal.ts';
import { shareDepth, shareScratch, type SharedUnits } from './even-share.ts';
import {
  longestOfGroups,
  lossOfGroups,
  readGiven,
  type GivenOrder,
  type CountedStarts,
  type GivenReader,
  type LaneDepths,
} from './given.ts';

/** A launch of units in a given order. */
export interface GivenLaunch {
  readonly blocks: KnownBlocks;
  /** Of one unit per slot, as those of sorted units. */
  readonly means: DepthMeans;
}

/**
 * Deals units in a given order out to a launch: all of its blocks, or evenly spread ones where there are too many groups, or where a
 * sample is enough.
 * @param meanLength of the units, iterations
 * @param isSample whether a sample is enough
 */
export function givenLaunch(order: GivenOrder, dealing: Dealing, meanLength: number, isSample = false): GivenLaunch {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  // One round, or one lane, is the same in either loop.
  const isNested = dealing.loop === 'nested' || units <= slotsPerBlock * G || n === 1;
  const dealt: Dealing = isNested ? { ...dealing, loop: 'nested' } : dealing;
  const reader = readGiven(order, dealt);
  const perGroup = Math.ceil(units / (slotsPerBlock * G)) * (isNested ? 1 : n);
  const most = isSample ? Math.min(MAX_LAW_GROUPS, LAW_LOOKUPS / perGroup) : MAX_GIVEN_GROUPS;
  const wanted = Math.max(MIN_GIVEN_BLOCKS, Math.floor(most / W));
  const rows = G <= wanted ? null : spreadBlocks(G, wanted);
  const lanes = isNested ? null : laneDepths(order, reader, dealt, rows, isSample);
  const depths = lanes?.depths ?? (rows ? chosenDepths(reader, dealt, rows) : nestedDepths(order, reader, dealt));
  const loss = lanes?.loss ?? lossOfGroups(order, n);
  const padding = isNested || order.work === order.lengths ? 1 : totalOf(order.lengths) / totalOf(order.work);
  const aggregateLoss = padding * loss.aggregateLoss;
  return {
    blocks: knownBlocks(depths, W),
    means: {
      meanDepth: meanLength * aggregateLoss + setupIterations,
      meanWork: meanLength + setupIterations,
      aggregateLoss,
      meanLoss: padding * loss.meanLoss,
    },
  };
}

/**
 * Cuts units in a given order into even shares: as `givenLaunch`. Where there are too many starts of units to count, some blocks are
 * computed, and each stands for those next to it.
 * @param overheadIterations of a group besides its items and setups
 * @param meanLength of the units, iterations
 */
export function shareLaunch(
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
  const scratch = shareScratch(itemsPerSlot);
  const depths = new Float64Array(rows.length * W).map((_, at) =>
    shareDepth(shared, dealing, itemsPerSlot, overheadIterations, rows[Math.floor(at / W)], at % W, scratch),
  );
  const aggregateLoss = itemsPerSlot / (meanLength * unitsPerSlot);
  return {
    blocks: knownBlocks(spreadOver(depths, W, rows.length, isSample ? rows.length : Math.min(G, most)), W),
    means: {
      meanDepth: totalOf(depths) / depths.length,
      meanWork: (meanLength + setupIterations) * unitsPerSlot,
      aggregateLoss,
      meanLoss: aggregateLoss,
    },
  };
}

/** Rows of depths of more blocks than are computed: each stands for those next to it. */
function spreadOver(computed: Float64Array, W: number, rows: number, blocks: number): Float64Array {
  if (rows === blocks) return computed;
  const depths = new Float64Array(blocks * W);
  for (let block = 0; block < blocks; block++) {
    const from = Math.floor((block * rows) / blocks) * W;
    depths.set(computed.subarray(from, from + W), block * W);
  }
  return depths;
}

function totalOf(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

/** How many rounds each of those that are looked up stands for: more than one of very many. */
function roundsEach(rounds: number, lookups: number): number {
  return Math.max(1, Math.floor(Math.min(rounds / MIN_GIVEN_ROUNDS, lookups / MAX_GIVEN_LOOKUPS)));
}

/**
 * Depths of all groups, block by block, of nested loops. Groups begin at multiples of a divisor of n, mostly of n itself: the
 * longest of so many units are looked up.
 */
function nestedDepths(order: GivenOrder, { longestSum }: GivenReader, dealing: Dealing): Float64Array {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const { part } = order;
  const common = greatestCommonDivisor(n, slotsPerBlock);
  const longest = longestOfGroups(order, common);
  const period = longest.length;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  const each = roundsEach(rounds, units / common);
  const depths = new Float64Array(G * W);
  for (let round = 0; round < rounds; round += each) {
    if (common === n && part === 1) {
      const first = round * depths.length;
      const full = Math.min(depths.length, Math.floor(units / n) - first);
      for (let to = 0, at = first % period; to < full; to++) {
        depths[to] += longest[at] + setupIterations;
        if (++at === period) at = 0;
      }
      continue;
    }
    for (let to = 0; to < depths.length; to++) {
      const g = to % W;
      const first = round * slots + ((to - g) / W) * slotsPerBlock + g * n;
      const end = first + Math.min(n, slotsPerBlock - g * n);
      if (end > units) break;
      let most = 0;
      for (let position = first; position < end; position += common) {
        const inGroup = position % n;
        const at = part === 1 ? position : Math.floor(((position - inGroup) / n) * part) * n + inGroup;
        most = Math.max(most, longest[(at / common) % period]);
      }
      depths[to] += most + setupIterations;
    }
  }
  // The last group may have fewer units than it has in other repetitions.
  const last = lastGroup(dealing);
  if (each === 1 && last.lanes < last.filled)
    depths[last.at] += longestSum(units - last.lanes, last.lanes, units) + setupIterations;
  scaleBy(depths, rounds / Math.ceil(rounds / each));
  return depths;
}

/** The group that takes the last unit: where its depth is, how many lanes it has and how many of these have one in that round. */
function lastGroup({ units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G }: Dealing): {
  readonly at: number;
  readonly filled: number;
  readonly lanes: number;
} {
  const slot = (units - 1) % (slotsPerBlock * G);
  const block = Math.floor(slot / slotsPerBlock);
  const g = Math.floor((slot % slotsPerBlock) / n);
  const first = g * n;
  const lanes = (slot % slotsPerBlock) + 1 - first;
  return { at: block * W + g, filled: Math.min(n, slotsPerBlock - first), lanes };
}

function scaleBy(values: Float64Array, factor: number): void {
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] *= factor;
}

/** Depths of the groups of chosen blocks, of nested loops. */
function chosenDepths(reader: GivenReader, dealing: Dealing, rows: Int32Array): Float64Array {
  const { groupsPerBlock: W } = dealing;
  const scratch = dealingScratch(dealing);
  const depthAt = (_: number, at: number): number =>
    groupDepth(reader, dealing, rows[Math.floor(at / W)], at % W, scratch);
  return new Float64Array(rows.length * W).map(depthAt);
}

/** Whether the blocks of a launch are longer in some parts of it than chance makes them. */
export function hasTrend({ means }: KnownBlocks): boolean {
  const each = Math.floor(means.length / TREND_PARTS);
  const overall = totalOf(means) / means.length;
  let between = 0;
  let within = 0;
  for (let part = 0; part < TREND_PARTS; part++) {
    const own = means.subarray(part * each, (part + 1) * each);
    const mean = totalOf(own) / each;
    between += (mean - overall) ** 2 / TREND_PARTS;
    within += own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (each * TREND_PARTS);
  }
  return between - within / each > (TREND * overall) ** 2;
}

/** Some blocks of a launch that stand for it, spread evenly. */
function spreadBlocks(G: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * G) / count);
    const to = Math.floor(((i + 1) * G) / count);
    return from + Math.floor(goldenTurn(i) * (to - from));
  });
}

/**
 * Some rows of depths that stand for all blocks, shortest depth first: one of each stretch of the launch, by turns a short and
 * a long one of it, so that long ones are as frequent as in the launch.
 * @param mostGroups of these rows
 */
export function spreadRows({ depths, lives, groupsPerBlock: W }: KnownBlocks, mostGroups: number): Float64Array {
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

/**
 * Depths of the groups of a launch, and the losses of all rounds together: of flattened loops. They are kept without setup, and how often
 * groups start units beside them: another setup finds them.
 * @param rows the chosen blocks, which follow from the dealing and from whether they are a sample; `null` for all
 */
function laneDepths(
  order: GivenOrder,
  reader: GivenReader,
  dealing: Dealing,
  rows: Int32Array | null,
  isSample: boolean,
): Pick<LaneDepths, 'depths' | 'loss'> {
  const { unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const chosen = chosenLanes(dealing, rows);
  const lanes = keptLanes(order, `${isSample ? 'some' : 'all'} ${n} ${slotsPerBlock} ${G}`, () =>
    longestLanes(reader, dealing, chosen),
  );
  let { depths } = lanes;
  if (setupIterations > 0) {
    const { counts, stretch } = (lanes.starts ??= countedStarts(reader, dealing, chosen));
    depths = depths.map((depth, at) => depth + setupIterations * counts[Math.floor(at / stretch)]);
  }
  return { depths: spreadOver(depths, W, chosen.blocks.length, rows?.length ?? G), loss: lanes.loss };
}

function keptLanes({ lanes }: GivenOrder, key: string, make: () => LaneDepths): LaneDepths {
  let known = lanes.known.get(key);
  if (!known) {
    if (lanes.depths > KEPT_LANE_DEPTHS) {
      lanes.known.clear();
      lanes.depths = 0;
    }
    lanes.known.set(key, (known = make()));
    lanes.depths += known.depths.length;
  }
  return known;
}

/** Blocks that are computed, and how many rounds each of those that are added up stands for. */
interface ChosenLanes {
  readonly blocks: Int32Array;
  readonly rounds: number;
  readonly each: number;
}

/** Where units are too many some blocks are computed, and each stands for those next to it. */
function chosenLanes({ units, slotsPerBlock, gridBlocks: G }: Dealing, rows: Int32Array | null): ChosenLanes {
  const rounds = Math.ceil(units / (slotsPerBlock * G));
  const count = rows?.length ?? G;
  const lookups = slotsPerBlock * rounds;
  const each = roundsEach(rounds, count * lookups);
  const chosen = spreadBlocks(count, Math.min(count, Math.ceil((MAX_GIVEN_LOOKUPS * each) / lookups)));
  return { blocks: rows ? chosen.map((at) => rows[at]) : chosen, rounds, each };
}

/** The lane with the most work of each group of some blocks. */
function longestLanes(reader: GivenReader, dealing: Dealing, { blocks, rounds, each }: ChosenLanes): LaneDepths {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const depths = new Float64Array(blocks.length * W);
  let lockstep = 0;
  let work = 0;
  let losses = 0;
  let groups = 0;
  const blocksEach = blocks.length === G ? Math.ceil(LANES_AT_ONCE / slotsPerBlock) : 1;
  const lanes = new Float64Array(blocksEach * slotsPerBlock);
  for (let i = 0, at = 0; i < blocks.length; i++) {
    const first = blocks[i] * slotsPerBlock;
    const from = (i % blocksEach) * slotsPerBlock;
    if (from === 0) laneWork(reader, dealing, first, slotsPerBlock * G * each, lanes);
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
      const filled = end - g * n;
      if (first + g * n >= units || filled === 1) continue;
      lockstep += filled * longest;
      work += sum;
      losses += sum > 0 ? (filled * longest) / sum : 1;
      groups++;
    }
  }
  scaleBy(depths, rounds / Math.ceil(rounds / each));
  const loss = { aggregateLoss: work > 0 ? lockstep / work : 1, meanLoss: groups > 0 ? losses / groups : 1 };
  return { depths, starts: null, loss };
}

/** Lanes that are out of step start units at many iterations, which take longer to count: one group of each stretch of the blocks. */
function countedStarts(reader: GivenReader, dealing: Dealing, { blocks, rounds }: ChosenLanes): CountedStarts {
  const { unitsPerGroup: n, groupsPerBlock: W } = dealing;
  const groups = blocks.length * W;
  const stretch = Math.ceil((groups * n * rounds) / GIVEN_SETUP_LOOKUPS);
  const startsOf = startCounter(reader, dealing);
  const counts = new Float64Array(Math.ceil(groups / stretch)).map((_, i) => {
    const at = i * stretch + Math.floor(goldenTurn(i) * Math.min(stretch, groups - i * stretch));
    return startsOf(blocks[Math.floor(at / W)], at % W).starts;
  });
  return { counts, stretch };
}

/** Of a group of a flattened loop: its depth without setup, and at how many iterations some lane starts a unit. */
function startCounter(
  reader: GivenReader,
  dealing: Dealing,
): (block: number, group: number) => { readonly depth: number; readonly starts: number } {
  const counting: Dealing = { ...dealing, setupIterations: 1 };
  const scratch = dealingScratch(counting);
  return (block, group) => {
    const withStarts = groupDepth(reader, counting, block, group, scratch);
    const depth = scratch.lanes.reduce((longest, own) => Math.max(longest, own), 0);
    return { depth, starts: withStarts - depth };
  };
}

/**
 * Iterations of all work groups of a flattened loop together that are almost surely fewer than they are: the mean of a sample of groups,
 * less its error.
 */
export function fewestLaneIterations(order: GivenOrder, dealing: Dealing): number {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const groups = G * W;
  const { depths, starts } = keptLanes(order, `bound ${n} ${slotsPerBlock} ${G}`, () => {
    const lookups = n * Math.ceil(units / (slotsPerBlock * G));
    const wanted = Math.min(MAX_BOUND_GROUPS, Math.max(MIN_BOUND_GROUPS, Math.floor(BOUND_LOOKUPS / lookups)));
    const startsOf = startCounter(readGiven(order, dealing), dealing);
    const chosen = spreadBlocks(groups, Math.min(groups, wanted));
    const counted = Array.from(chosen, (group) => startsOf(Math.floor(group / W), group % W));
    return {
      depths: Float64Array.from(counted, ({ depth }) => depth),
      starts: { counts: Float64Array.from(counted, (one) => one.starts), stretch: 1 },
      loss: { aggregateLoss: NaN, meanLoss: NaN },
    };
  });
  const all = depths.map((depth, at) => depth + setupIterations * starts!.counts[at]);
  const mean = totalOf(all) / all.length;
  const deviation =
    all.length === groups ? 0 : Math.sqrt(totalOf(all.map((own) => (own - mean) ** 2)) / (all.length - 1));
  return groups * Math.max(0, mean - (BOUND_ERRORS * deviation) / Math.sqrt(all.length));
}

/** The work of each of some consecutive lanes: its units at first, first + stride, …, iterations. */
function laneWork(
  { lengths, part }: GivenReader,
  { units, unitsPerGroup: n }: Dealing,
  first: number,
  stride: number,
  lanes: Float64Array,
): void {
  const kept = lengths.length;
  lanes.fill(0);
  for (let position = first; position < units; position += stride) {
    const count = Math.min(lanes.length, units - position);
    if (part < 1) {
      for (let lane = 0; lane < count;) {
        const inGroup = (position + lane) % n;
        const run = Math.min(n - inGroup, count - lane);
        const from = Math.floor(((position + lane - inGroup) / n) * part) * n + inGroup;
        for (let i = 0; i < run; i++, lane++) lanes[lane] += lengths[Math.min(kept - 1, from + i)];
      }
      continue;
    }
    for (let lane = 0, from = position % kept; lane < count; from = 0) {
      const end = Math.min(count, lane + kept - from);
      for (; lane < end; lane++, from++) lanes[lane] += lengths[from];
    }
  }
}
