import type { LoopForm } from '../../domain/kernel.ts';
import type { DiscreteLaw } from './discrete-law.ts';
import { lengthAbove, type RankTable } from './ranks.ts';

/** How ordered units are dealt out: in round j slot s takes the unit at j·slots + s of the order. */
export interface Dealing {
  /** Number of units, ≥ 1. */
  readonly units: number;
  /** n: slots of a work group. */
  readonly unitsPerGroup: number;
  /** W_b */
  readonly groupsPerBlock: number;
  /** Slots of a block; where its last group is not full fewer than n·W_b. */
  readonly slotsPerBlock: number;
  readonly gridBlocks: number;
  readonly loop: LoopForm;
  readonly setupIterations: number;
  /** Whether every block has to be known: otherwise a sample is enough. */
  readonly everyBlock: boolean;
}

/** Depths of blocks of a launch, iterations. */
export interface DealtDepths {
  /** Group g of the b-th block at b·W_b + g, shortest first within a block. */
  readonly depths: Float64Array;
  /** Of every block, in any unit; `null` where these are all blocks of the launch, as they stand, and not a sample. */
  readonly weights: Float64Array | null;
}

/** Groups of a launch, and lengths looked up for them, that are followed one by one; of larger ones a sample is. */
const MOST_GROUPS = 10_240;
const MOST_LOOKUPS = 2 ** 14;
const SAMPLED_LOOKUPS = 2 ** 11;
const LEAST_SAMPLED = 64;
/** Rounds looked at in a sample; of more, every second or third and so on, and the last. */
const MOST_ROUNDS = 256;
/** Ends of windows looked at in one group. */
const MOST_ENDS = 4;
/** Slots that a sample aims at: where there are more, rounds make up for one another. */
const AIMED_SLOTS = 8;
/** Its multiples fall in step with no window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** Whether a flattened loop takes as long as a nested one: no group crosses the end of a window, and nothing is set up. */
export function isLoopAlike(window: number, { unitsPerGroup, slotsPerBlock, setupIterations }: Dealing): boolean {
  return setupIterations === 0 && window % unitsPerGroup === 0 && slotsPerBlock % unitsPerGroup === 0;
}

function hasFewGroups({ groupsPerBlock, gridBlocks, everyBlock }: Dealing): boolean {
  return everyBlock && gridBlocks * groupsPerBlock <= MOST_GROUPS;
}

/**
 * `dealtDepths` of a launch whose units are all sorted together, in time that does not grow with the units: a length of the
 * law is passed in so many rounds by all groups, and in one more by those beyond a certain place.
 *
 * @param longestUnits expected lengths of the longest units of all, the longest first
 * @returns `null` where not every block is wanted or there are too many, or where setup makes lanes wait for one another.
 */
export function sortedDepths(law: DiscreteLaw, longestUnits: Float64Array, dealing: Dealing): DealtDepths | null {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, loop, setupIterations } = dealing;
  if (!hasFewGroups(dealing) || (loop === 'flattened' && setupIterations > 0)) return null;
  const { values, survival } = law;
  const slots = slotsPerBlock * G;
  const groups = G * W;
  // Changes of depth from one group to the next.
  const depths = new Float64Array(groups);
  const groupOf = (slot: number): number => {
    const block = Math.floor(slot / slotsPerBlock);
    return block * W + Math.floor((slot - block * slotsPerBlock) / n);
  };
  const rounds = Math.ceil(units / slots);
  // Slots from here on are one round short; the round they miss is one of the longest units.
  const short = units - (rounds - 1) * slots;
  let longest = values[values.length - 1];
  let first = values[0] * rounds;
  for (let i = 0; i + 1 < values.length; i++) {
    const gap = values[i + 1] - values[i];
    const passed = units * (1 - survival[i]) - 0.5;
    if (passed < 0) {
      first += gap * rounds;
      continue;
    }
    const round = Math.floor(passed / slots);
    // In this round the slots beyond are above the step, in all later ones every slot.
    const slot = Math.floor(passed - round * slots) + 1;
    first += gap * (rounds - 1 - round);
    if (round === rounds - 1 && slot >= short) longest -= gap;
    else if (slot < slots) depths[groupOf(slot)] += gap;
  }
  // A group is as long as its last lane; one with some lanes short of the last round still runs it.
  const shortGroup = short < slots ? groupOf(short - 1) + 1 : groups;
  let depth = first;
  for (let k = 0; k < groups; k++) {
    depth += depths[k];
    if (k === shortGroup) depth -= longest;
    const played = k < shortGroup ? rounds : rounds - 1;
    depths[k] = Math.max(0, depth) + setupIterations * played;
  }
  // The very longest units are rarer than any quantile tells: their expected lengths, where the last of them are.
  for (let rank = 1; rank <= Math.min(longestUnits.length, units); rank++) {
    const slot = (units - rank) % slots;
    const block = Math.floor(slot / slotsPerBlock);
    const within = slot - block * slotsPerBlock;
    const g = Math.floor(within / n);
    const last = within === slotsPerBlock - 1 || within === (g + 1) * n - 1 || rank === 1;
    if (last) {
      depths[block * W + g] += longestUnits[rank - 1] - lengthAbove(law, (rank - 0.5) / units);
    }
  }
  for (let b = 0; b < G; b++) sortRow(depths, b * W, W);
  return { depths, weights: null };
}

/** Whether a launch is followed block by block. */
function isFollowed(dealing: Dealing): boolean {
  return hasFewGroups(dealing) && dealing.units <= MOST_LOOKUPS * dealing.unitsPerGroup;
}

/**
 * Depths of the work groups of a launch whose units are sorted window by window (or all together: one window), by the place
 * in its window that a group has in every round. Where the distance between a slot's units is a multiple of the window a
 * slot keeps its place; else it wanders. Which stratum of the table a window is drawn from is arbitrary.
 *
 * @param draw 0, 1, …: one arbitrary choice of the strata, the odd ones mirrored
 */
export function dealtDepths(table: RankTable, dealing: Dealing, draw: number): DealtDepths {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G, loop, setupIterations } = dealing;
  const { units: M, ranks, lengths } = table;
  const flattened = loop === 'flattened';
  const countStarts = flattened && setupIterations > 0;
  const changes = countStarts ? table.changes : lengths;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  const followed = isFollowed(dealing);
  const blocks = followed
    ? G
    : Math.min(G, Math.max(LEAST_SAMPLED, Math.ceil(SAMPLED_LOOKUPS / (Math.min(rounds, MOST_ROUNDS) * W))));
  const step = followed ? 1 : Math.ceil(rounds / MOST_ROUNDS);
  const stride = step * slots;
  const depths = new Float64Array(blocks * W);
  const weights = followed ? null : new Float64Array(blocks);
  const windows = Math.ceil(units / M);
  const strata = table.strataOf(draw);
  const lastUnits = units - (windows - 1) * M;
  const perRank = ranks / M;
  const perLastRank = ranks / lastUnits;

  /** Length of the unit at a position of the order. */
  const lengthAt = (position: number): number => {
    const window = Math.floor(position / M);
    const rank = (position - window * M + 0.5) * (window < windows - 1 ? perRank : perLastRank);
    return lengths[strata[window] * ranks + Math.floor(rank)];
  };
  /** Changes of length from the start of the order: one more where a window begins. */
  const changesAt = (position: number): number => {
    const window = Math.floor(position / M);
    const rank = (position - window * M + 0.5) * (window < windows - 1 ? perRank : perLastRank);
    return window * (changes[ranks - 1] + 1) + changes[Math.floor(rank)];
  };
  const laneWork = (first: number): number => {
    let sum = 0;
    for (let position = first; position < units; position += stride) sum += lengthAt(position);
    return sum;
  };

  // Slots on a ring: of a window's places, or where a window takes several rounds, of all slots.
  const span = Math.min(M, slots);
  const firstWindows = Math.max(1, Math.floor(slots / M));
  const longestAt = weights ? longestSlots(dealing, M) : [];
  /** An even sample of the ring, denser towards the slots that get a window's longest units, and of the windows. */
  const sampledBlock = (i: number): number => {
    const window = Math.floor(((i + 0.5) / blocks) * firstWindows);
    const fromEnd = 1 - (((i + 0.5) * GOLDEN_RATIO) % 1);
    const at = longestAt[i % longestAt.length] - fromEnd ** 3 * span;
    return Math.min(G - 1, Math.floor((window * span + (at < 0 ? at + span : at)) / slotsPerBlock));
  };
  /** One over how likely a block was to be drawn. */
  const sampledWeight = (block: number): number => {
    let likeliness = 0;
    for (const end of longestAt) {
      const first = (((end - block * slotsPerBlock) % span) + span) % span;
      likeliness += Math.cbrt((first + 1) / span) - Math.cbrt(Math.max(0, first + 1 - slotsPerBlock) / span);
    }
    return 1 / likeliness;
  };

  // From round to round a slot moves on by so many windows and places.
  const stepWindows = Math.floor(stride / M);
  const stepPlaces = stride - stepWindows * M;
  /** Lanes that end a window in some round: where a loop is flattened, one of them may have the most work. */
  const ends: number[] = [];
  for (let i = 0; i < blocks; i++) {
    const block = weights ? sampledBlock(i) : i;
    if (weights) weights[i] = sampledWeight(block);
    for (let g = 0; g < W; g++) {
      const filled = Math.min(n, slotsPerBlock - g * n);
      const start = block * slotsPerBlock + g * n + ((rounds - 1) % step) * slots;
      let window = Math.floor(start / M);
      let place = start - window * M;
      let depth = 0;
      let longest = 0;
      let played = 0;
      let starts = 0;
      let together = 1;
      let spread = 0;
      let overlap = 0;
      ends.length = 0;
      for (let from = start; from < units; from += stride) {
        const last = place + filled - 1;
        if (last < M && window < windows - 1) {
          longest = lengths[strata[window] * ranks + (ranks === M ? last : Math.floor((last + 0.5) * perRank))];
        } else {
          const to = Math.min(from + filled, units) - 1;
          longest = lengthAt(to);
          for (let end = from - place + M - 1; end < to; end += M) {
            longest = Math.max(longest, lengthAt(end));
            if (flattened && ends.length < MOST_ENDS) ends.push(end - from);
          }
        }
        depth += longest;
        played++;
        if (countStarts) {
          const to = Math.min(from + filled, units) - 1;
          const nextWindow = from - place + M;
          // Lanes that were still together start together.
          starts += 1 + (to - from) * (1 - together);
          if (to > from) together *= 1 - Math.min(1, (changesAt(to) - changesAt(from)) / (to - from));
          spread += longest - Math.min(lengthAt(from), nextWindow <= to ? lengthAt(nextWindow) : Infinity);
          if (from + stride < units) overlap += spread;
        }
        window += stepWindows;
        place += stepPlaces;
        if (place >= M) {
          place -= M;
          window++;
        }
      }
      if (ends.length > 0) {
        depth = laneWork(start + filled - 1);
        for (const lane of ends) depth = Math.max(depth, laneWork(start + lane));
      }
      if (setupIterations > 0) {
        depth +=
          setupIterations * (countStarts ? startsWithin(starts, played, depth, overlap, ends.length > 0) : played);
      }
      depths[i * W + g] = step === 1 ? depth : longest + ((depth - longest) * (rounds - 1)) / Math.max(1, played - 1);
    }
    sortRow(depths, i * W, W);
  }
  return { depths, weights };
}

/**
 * Starts that fall on the same iteration are one. Within a round they are apart; those of other rounds come in between as far
 * as the rounds overlap.
 * @param overlap Σ over the rounds but the first of how far apart its starts are, iterations
 * @param crossing whether the lanes fall into some with long and some with short units, each lot close together
 */
function startsWithin(starts: number, rounds: number, depth: number, overlap: number, crossing: boolean): number {
  if (starts <= rounds || rounds === 1) return rounds;
  // All but the first round's, over the iterations before the last round.
  const room = (depth * (rounds - 1)) / rounds;
  const others = crossing ? Math.min(1, overlap / room) : Math.max(0, 1 - room / overlap);
  const shared = ((starts - 1) / room) * others;
  return Math.max(rounds, 1 + (starts - 1) * (shared > 1e-9 ? -Math.expm1(-shared) / shared : 1));
}

/** Slots that get the longest units of a window, in one round or another. */
function longestSlots({ units, slotsPerBlock, gridBlocks }: Dealing, window: number): number[] {
  const slots = slotsPerBlock * gridBlocks;
  const ends: number[] = [];
  if (slots >= window) {
    for (let j = 0; j * slots < units && j < AIMED_SLOTS; j++) ends.push(window - 1 - ((j * slots) % window));
  } else {
    for (let end = window; end < units + window && ends.length < AIMED_SLOTS; end += window) {
      ends.push((Math.min(end, units) - 1) % slots);
    }
  }
  return ends;
}

/** Nearly sorted rows: by insertion. */
function sortRow(values: Float64Array, from: number, count: number): void {
  for (let i = from + 1; i < from + count; i++) {
    const value = values[i];
    let j = i;
    for (; j > from && values[j - 1] > value; j--) values[j] = values[j - 1];
    values[j] = value;
  }
}
