import { cellOf } from '../../numeric/search.ts';
import { groupCounts, hasFewGroups, isWaiting, keepRow, sortRow, type DealtDepths, type Dealing } from './dealt.ts';
import type { DiscreteLaw } from './discrete-law.ts';
import { lengthAbove, type RankTable } from './ranks.ts';
import { addAlikeStarts, equalPart, noStarts, startsOf, startsWithin } from './starts.ts';

/** Runs of blocks, and of the groups of a block, that are told apart. */
interface Parts {
  /** The first of each run, and the number of all. */
  readonly blocks: Int32Array;
  readonly groups: Int32Array;
  /** Groups of each run. */
  readonly counts: Int32Array;
  readonly sampled: boolean;
}

/** Runs of blocks of a sample, shorter and shorter towards the longest, and at least in either part of a launch. */
const BLOCK_RUNS = 40;
const LEAST_RUNS = 10;
/** Runs of groups of a sample. */
const GROUP_RUNS = 6;

/**
 * Depths of a launch whose units are all sorted together, in time that does not grow with the units: a length of the law is
 * passed in so many rounds by all slots, and in one more by those from a certain one on.
 *
 * @param longestUnits expected lengths of the longest units of all, the longest first
 * @param table of one window of all units: asked for only where lanes wait for one another's setup
 */
export function sortedDepths(
  law: DiscreteLaw,
  longestUnits: Float64Array,
  dealing: Dealing,
  table: () => RankTable,
): DealtDepths {
  const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks: G, setupIterations } = dealing;
  const { values, survival } = law;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  // Slots from here on are one round short; the round they miss is one of the longest units.
  const short = units - (rounds - 1) * slots;
  const parts = partsOf(dealing, short);
  const { blocks, groups, counts, sampled } = parts;
  const rows = blocks.length - 1;
  const width = groups.length - 1;
  const rowOf = (block: number): number => (sampled ? cellOf(blocks, block) : block);
  const runOfGroup = new Int32Array(dealing.groupsPerBlock);
  for (let v = 0; v < width; v++) runOfGroup.fill(v, groups[v], groups[v + 1]);
  // Changes from one mean depth to the next.
  const depths = new Float64Array(rows * width + 2);

  // The groups of the block in which slots are one round short: the longest need not be the last.
  const shortBlock = Math.floor((short - 1) / slotsPerBlock);
  const shortRow = new Float64Array(dealing.groupsPerBlock + 1);

  /** Adds to the depths of all slots from one on, with the rest of its group. */
  const addFrom = (slot: number, gap: number): void => {
    const block = Math.floor(slot / slotsPerBlock);
    const row = rowOf(block);
    const group = Math.floor((slot - block * slotsPerBlock) / n);
    if (block <= shortBlock) shortRow[block < shortBlock ? 0 : group] += gap;
    const at = row * width;
    const perBlock = gap / (blocks[row + 1] - blocks[row]);
    const later = perBlock * (blocks[row + 1] - 1 - block);
    const run = runOfGroup[group];
    const inRun = (perBlock * (groups[run + 1] - group)) / (groups[run + 1] - groups[run]);
    depths[at] += later;
    depths[at + run] += inRun;
    depths[at + run + 1] += perBlock - inRun;
    depths[at + width] += gap - later - perBlock;
  };

  let longest = values[values.length - 1];
  let base = values[0] * rounds;
  for (let i = 0; i + 1 < values.length; i++) {
    const gap = values[i + 1] - values[i];
    const passed = units * (1 - survival[i]) - 0.5;
    if (passed < 0) {
      base += gap * rounds;
      continue;
    }
    const round = Math.floor(passed / slots);
    // In this round the slots beyond are above the step, in all later ones every slot.
    const slot = Math.floor(passed - round * slots) + 1;
    base += gap * (rounds - 1 - round);
    if (round === rounds - 1 && slot >= short) longest -= gap;
    else if (slot < slots) addFrom(slot, gap);
  }
  // A group is as long as its last lane; one with some lanes short of the last round still runs it.
  const shortSlot = Math.min(
    (shortBlock + 1) * slotsPerBlock,
    shortBlock * slotsPerBlock + (Math.floor((short - 1 - shortBlock * slotsPerBlock) / n) + 1) * n,
  );
  const waiting = isWaiting(dealing);
  if (shortSlot < slots) addFrom(shortSlot, -longest);
  if (setupIterations > 0 && !waiting) {
    base += setupIterations * rounds;
    if (shortSlot < slots) addFrom(shortSlot, -setupIterations);
  }
  // The very longest units are rarer than any quantile tells: their expected lengths, where the last of them are.
  for (let rank = 1; rank <= Math.min(longestUnits.length, units); rank++) {
    const slot = (units - rank) % slots;
    const block = Math.floor(slot / slotsPerBlock);
    const within = slot - block * slotsPerBlock;
    const g = Math.floor(within / n);
    if (within !== slotsPerBlock - 1 && within !== (g + 1) * n - 1 && rank > 1) continue;
    const row = rowOf(block);
    const run = runOfGroup[g];
    const share = 1 / ((blocks[row + 1] - blocks[row]) * (groups[run + 1] - groups[run]));
    const change = share * (longestUnits[rank - 1] - lengthAbove(law, (rank - 0.5) / units));
    depths[row * width + run] += change;
    depths[row * width + run + 1] -= change;
    if (block === shortBlock) {
      shortRow[g] += change / share;
      shortRow[g + 1] -= change / share;
    }
  }
  for (let at = 0, depth = base; at < rows * width; at++) {
    depth += depths[at];
    depths[at] = Math.max(0, depth);
  }
  if (waiting) addSetup(depths, parts, dealing, table(), shortSlot);
  if (sampled && shortSlot < slots) {
    shortRow[0] += base;
    for (let g = 0, depth = 0; g < dealing.groupsPerBlock; g++) {
      depth += shortRow[g];
      shortRow[g] = Math.max(0, depth);
    }
    const row = shortRow.subarray(0, dealing.groupsPerBlock);
    sortRow(row, 0, row.length);
    keepRow(depths, rowOf(shortBlock) * width, counts, row);
  }
  for (let row = 0; row < rows; row++) sortRow(depths, row * width, width);
  return {
    depths: depths.subarray(0, rows * width),
    counts,
    weights: sampled ? Float64Array.from({ length: rows }, (_, row) => blocks[row + 1] - blocks[row]) : null,
  };
}

/** Every group where each has to be known; else runs that end where slots are one round short, and there a run of one block. */
function partsOf(dealing: Dealing, short: number): Parts {
  const { groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const sampled = !hasFewGroups(dealing);
  const counts = groupCounts(W, sampled ? GROUP_RUNS : W);
  const groups = new Int32Array(counts.length + 1);
  counts.forEach((count, v) => (groups[v + 1] = groups[v] + count));
  if (!sampled) return { blocks: Int32Array.from({ length: G + 1 }, (_, b) => b), groups, counts, sampled };
  const shortBlock = Math.floor(short / slotsPerBlock);
  const beyond = Math.min(G, Math.ceil(short / slotsPerBlock));
  const count = Math.round((BLOCK_RUNS * shortBlock) / G);
  const blocks: number[] = [];
  addRuns(blocks, 0, shortBlock, Math.max(LEAST_RUNS, count));
  if (beyond > shortBlock) blocks.push(shortBlock);
  addRuns(blocks, beyond, G, Math.max(LEAST_RUNS, BLOCK_RUNS - count));
  blocks.push(G);
  return { blocks: Int32Array.from(blocks), groups, counts, sampled };
}

/** Adds the firsts of at most `count` runs of the items from one to another: of one item each, or ever fewer towards the end. */
function addRuns(firsts: number[], from: number, to: number, count: number): void {
  const items = to - from;
  const runs = Math.min(items, count);
  for (let i = 0; i < runs; i++) {
    const left = 1 - i / runs;
    firsts.push(items === runs ? from + i : to - Math.max(runs - i, Math.round(items * left * left * left)));
  }
}

/** Rounds told apart where starts are counted. */
const MOST_ROUNDS = 32;
/** Groups in which they are counted: the distance of the next as a part of that to the longest group. */
const NEXT_GROUP = 1 / 16;

/** Adds the setup of lanes that wait for one another's: counted in some groups, in a line between them. */
function addSetup(
  depths: Float64Array,
  { blocks, groups }: Parts,
  dealing: Dealing,
  table: RankTable,
  short: number,
): void {
  const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks, setupIterations } = dealing;
  const { ranks, lengths, changes } = table;
  const slots = slotsPerBlock * gridBlocks;
  const perRank = ranks / units;
  const width = groups.length - 1;
  const starts = startsOf(1);

  /** First slot of the middle one of those that a depth stands for. */
  const slotOf = (at: number): number => {
    const row = Math.floor(at / width);
    const run = at - row * width;
    const block = (blocks[row] + blocks[row + 1] - 1) >> 1;
    return block * slotsPerBlock + ((groups[run] + groups[run + 1] - 1) >> 1) * n;
  };
  const setupOf = (at: number): number => {
    const slot = slotOf(at);
    const lanes = Math.min(n, slotsPerBlock - (slot % slotsPerBlock));
    const rounds = Math.ceil((units - slot) / slots);
    const alike = Math.ceil(rounds / MOST_ROUNDS);
    noStarts(starts);
    for (let j = 0; j < rounds; j += alike) {
      const from = slot + j * slots;
      const to = Math.min(from + lanes, units) - 1;
      const low = Math.floor((from + 0.5) * perRank);
      const high = Math.floor((to + 0.5) * perRank);
      const equal = equalPart(to - from + 1, changes[high] - changes[low]);
      addAlikeStarts(starts, 0, to - from + 1, equal, lengths[high] - lengths[low], Math.min(alike, rounds - j));
    }
    return setupIterations * startsWithin(starts, 0, rounds, depths[at], false);
  };

  const last = (blocks.length - 1) * width;
  let boundary = 0;
  while (boundary < last && slotOf(boundary) < short) boundary++;
  for (const [from, to] of [
    [0, boundary],
    [boundary, last],
  ]) {
    if (from === to) continue;
    let at = from;
    let setup = setupOf(at);
    while (at < to) {
      const next = Math.min(to - 1, at + Math.max(1, Math.floor(NEXT_GROUP * (to - at))));
      const nextSetup = next > at ? setupOf(next) : setup;
      const slope = next > at ? (nextSetup - setup) / (next - at) : 0;
      // `setupOf` reads depths that nothing was added to.
      for (let i = at; i < Math.max(next, at + 1); i++) depths[i] += setup + slope * (i - at);
      at = Math.max(next, at + 1);
      setup = nextSetup;
    }
  }
}
