import type { LoopForm } from '../../domain/kernel.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { arbitraryOrder } from '../../numeric/random.ts';
import { normalQuantile } from '../workload/normal.ts';
import { orbitSum, type RankTable } from './ranks.ts';
import { addAlikeStarts, addStarts, equalPart, noStarts, startsOf, startsWithin } from './starts.ts';

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
  /** Rows of a number for each of `counts`, one of every block, shortest first. */
  readonly depths: Float64Array;
  /** Groups of a block that each number of a row stands for, with their mean; the last, the longest, for itself. */
  readonly counts: Int32Array;
  /** Of every block, in any unit; `null` where these are all blocks of the launch, as they stand, and not a sample. */
  readonly weights: Float64Array | null;
}

/** Groups of a launch, and lengths looked up for them, that are followed one by one; of larger ones a sample is. */
const MOST_GROUPS = 10_240;
const MOST_LOOKUPS = 2 ** 16;
/** Groups of a sample, and blocks at least and at most. */
const SAMPLED_GROUPS = 640;
const LEAST_SAMPLED = 56;
const MOST_SAMPLED = 256;
/** So much of that is enough of many rounds, whose blocks are more alike. */
const MANY_ROUNDS = 0.6;
/** Numbers kept of a block of a sample. */
const MOST_FOLLOWED = 12;
/** Rounds of a sample whose windows are looked up one by one; of more, sums have a mean and a deviation. */
const FEW_ROUNDS = 12;
/** Slots that a sample aims at: where there are more, rounds make up for one another. */
const AIMED_SLOTS = 8;
/** Its multiples fall in step with no window. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** Whether a group's units are always of one window. */
function isWithinWindows(window: number, { unitsPerGroup, slotsPerBlock }: Dealing): boolean {
  return window % unitsPerGroup === 0 && slotsPerBlock % unitsPerGroup === 0;
}

/** Whether a flattened loop takes as long as a nested one: no group crosses the end of a window, and nothing is set up. */
export function isLoopAlike(window: number, dealing: Dealing): boolean {
  return dealing.setupIterations === 0 && isWithinWindows(window, dealing);
}

/** Whether there are few enough groups for each to be known, and each has to be. */
export function hasFewGroups({ groupsPerBlock, gridBlocks, everyBlock }: Dealing): boolean {
  return everyBlock && gridBlocks * groupsPerBlock <= MOST_GROUPS;
}

/** Whether lanes of a group wait for one another's setup. */
export function isWaiting({ loop, setupIterations, unitsPerGroup }: Dealing): boolean {
  return loop === 'flattened' && setupIterations > 0 && unitsPerGroup > 1;
}

/**
 * Depths of the work groups of a launch whose units are sorted window by window (or all together: one window), by the place
 * in its window that a group has in every round. Where the distance between a slot's units is a multiple of the window a
 * slot keeps its place; else it wanders. Which stratum of the table a window is drawn from is arbitrary.
 *
 * @param draw 0, 1, …: one arbitrary choice of the strata, the odd ones mirrored
 */
export function dealtDepths(table: RankTable, dealing: Dealing, draw: number): DealtDepths {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks: G } = dealing;
  const { units: M } = table;
  const slots = slotsPerBlock * G;
  const rounds = Math.ceil(units / slots);
  const usual = M >= n && table.ranks === M;
  const followed = hasFewGroups(dealing) && units <= MOST_LOOKUPS * n;
  const few = rounds <= FEW_ROUNDS;
  const wanted = Math.min(MOST_SAMPLED, Math.max(LEAST_SAMPLED, Math.ceil(SAMPLED_GROUPS / W)));
  const blocks = followed ? G : Math.min(G, few ? wanted : Math.ceil(MANY_ROUNDS * wanted));
  const sums: RowSums = { groups: 0, block: 0 };
  const tellRow = !usual
    ? crossingRow(table, dealing, table.strataOf(draw))
    : followed || few
      ? lookedUpRow(table, dealing, followed ? table.strataOf(draw) : null, blocks, sums)
      : summedRow(table, dealing, blocks, sums);
  if (followed) {
    const depths = new Float64Array(G * W);
    for (let b = 0; b < G; b++) {
      tellRow(depths, b * W, b, b);
      sortRow(depths, b * W, W);
    }
    return { depths, counts: new Int32Array(W).fill(1), weights: null };
  }
  const counts = groupCounts(W, MOST_FOLLOWED);
  const depths = new Float64Array(blocks * counts.length);
  const { block, weights } = sampledBlocks(dealing, M, rounds, blocks);
  const groupSums = new Float64Array(blocks);
  const blockSums = new Float64Array(blocks);
  const row = new Float64Array(W);
  for (let i = 0; i < blocks; i++) {
    row.fill(0);
    tellRow(row, 0, block[i], i);
    groupSums[i] = sums.groups;
    blockSums[i] = sums.block;
    sortRow(row, 0, W);
    keepRow(depths, i * counts.length, counts, row);
  }
  if (usual) {
    const groupSum = (meanGroups(table, dealing, few || dealing.loop === 'nested') * units) / slots;
    const blockSum = (meanBlock(table, dealing) * units) / slots;
    // One after the other: what one changes of the other is little.
    for (let pass = 0; pass < CALIBRATIONS; pass++) {
      if (few) calibrate(weights, blockSums, blockSum);
      calibrate(weights, groupSums, groupSum);
    }
  }
  return { depths, counts, weights };
}

/** Cuts the groups of a block into at most `most` runs of about equal length, and the last group by itself. */
export function groupCounts(groups: number, most: number): Int32Array {
  const inner = Math.min(groups, most) - 1;
  const upTo = (v: number): number => (inner === 0 ? 0 : Math.floor((v * (groups - 1)) / inner));
  return Int32Array.from({ length: inner + 1 }, (_, v) => (v === inner ? 1 : upTo(v + 1) - upTo(v)));
}

/** Writes the depths of the groups of a block to `out` from `at` on, which are 0 before; it is the i-th that is asked for. */
type RowTeller = (out: Float64Array, at: number, block: number, i: number) => void;

/** Of the block that was told last, sums over all rounds whose means over the blocks of a launch are known. */
interface RowSums {
  /** Over its groups, of the longest length, or in a flattened loop of many rounds the last one. */
  groups: number;
  /** Of few rounds, of the longest unit of the first window that it is in. */
  block: number;
}

/** Mean over the blocks of a launch of `RowSums.block`, in a round. */
function meanBlock({ units: M, meanLengths }: RankTable, { slotsPerBlock }: Dealing): number {
  const step = greatestCommonDivisor(M, slotsPerBlock);
  let sum = 0;
  for (let place = 0; place < M; place += step) sum += meanLengths[Math.min(place + slotsPerBlock, M) - 1];
  return (sum * step) / M;
}

/**
 * Mean over the blocks of a launch of `RowSums.groups`, in a round.
 * @param waiting whether a group that crosses the end of a window counts as long as that window's longest
 */
function meanGroups({ units: M, meanLengths }: RankTable, dealing: Dealing, waiting: boolean): number {
  const { unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock } = dealing;
  // Over all places that the last lane can have, which are a step apart.
  const meanFrom = (last: number, lanes: number, step: number): number => {
    let sum = 0;
    for (let place = last % step; place < M; place += step) {
      sum += meanLengths[waiting && place < lanes - 1 ? M - 1 : place];
    }
    return (sum * step) / M;
  };
  if (slotsPerBlock % n === 0) return W * meanFrom(n - 1, n, greatestCommonDivisor(M, n));
  const step = greatestCommonDivisor(M, slotsPerBlock);
  let sum = 0;
  for (let g = 0; g < W; g++) {
    const lanes = Math.min(n, slotsPerBlock - g * n);
    sum += meanFrom(g * n + lanes - 1, lanes, step);
  }
  return sum;
}

/** How often the weights are calibrated, and how much one may change at once. */
const CALIBRATIONS = 2;
const MOST_CALIBRATION = 0.8;

/** Changes weights in proportion to how far their values are from the mean, so that this becomes what it is known to be. */
function calibrate(weights: Float64Array, values: Float64Array, known: number): void {
  let total = 0;
  let mean = 0;
  for (let i = 0; i < values.length; i++) {
    total += weights[i];
    mean += weights[i] * values[i];
  }
  mean /= total;
  let variance = 0;
  for (let i = 0; i < values.length; i++) variance += (weights[i] * (values[i] - mean) ** 2) / total;
  if (variance <= (1e-6 * mean) ** 2) return;
  const slope = (known - mean) / variance;
  for (let i = 0; i < values.length; i++) {
    weights[i] *= 1 + Math.max(-MOST_CALIBRATION, Math.min(MOST_CALIBRATION, slope * (values[i] - mean)));
  }
}

/** The means of the runs of a sorted row. */
export function keepRow(out: Float64Array, at: number, counts: Int32Array, row: Float64Array): void {
  for (let k = 0, g = 0; k < counts.length; k++) {
    let sum = 0;
    for (const to = g + counts[k]; g < to; g++) sum += row[g];
    out[at + k] = sum / counts[k];
  }
}

/**
 * Where every window is looked up, and a group is of one window or crosses into the next.
 * @param strata of the windows; `null` for a sample of so many blocks, whose windows are an even sample of the strata
 */
function lookedUpRow(
  table: RankTable,
  dealing: Dealing,
  strata: Uint8Array | null,
  blocks: number,
  sums: RowSums,
): RowTeller {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks, setupIterations } = dealing;
  const { units: M, lengths } = table;
  const slots = slotsPerBlock * gridBlocks;
  const rounds = Math.ceil(units / slots);
  const windows = Math.ceil(units / M);
  const perLastRank = M / (units - (windows - 1) * M);
  // Windows that a block is in, numbered as it meets them.
  const perRound = Math.ceil(slotsPerBlock / M) + 1;
  const ordered = strata ? [] : latinOrders(blocks, slots < M ? windows : perRound * rounds);
  const perStratum = table.strata / blocks;
  /** Where in the table the windows are that the block is in, by round. */
  const rows = new Int32Array(perRound * rounds);
  const waiting = isWaiting(dealing);
  const changes = waiting ? table.changes : lengths;
  const equal = waiting ? table.equalParts(n) : lengths;
  const starts = startsOf(waiting ? W : 0);
  const ends = dealing.loop === 'flattened' && !isWithinWindows(M, dealing) ? new Map<number, number[]>() : null;

  /** Rank of a place: the units of the last window stand for all ranks. */
  const rankAt = (window: number, place: number): number =>
    window < windows - 1 ? place : Math.floor((place + 0.5) * perLastRank);
  /** Adds a round of a group whose lanes are of one window, and have these ranks of it. */
  const addRound = (
    out: Float64Array,
    at: number,
    g: number,
    row: number,
    lanes: number,
    low: number,
    high: number,
  ): void => {
    out[at + g] += lengths[row + high];
    if (!waiting) return;
    const changed = changes[high] - changes[low];
    addStarts(starts, g, lanes, equalPart(lanes, changed), lengths[row + high] - lengths[row + low]);
  };
  const laneWork = (start: number, lane: number): number => {
    let sum = 0;
    for (let j = 0, position = start; j < rounds; j++, position += slots) {
      if (position + lane >= units) break;
      const first = Math.floor(position / M);
      const window = Math.floor((position + lane) / M);
      sum += lengths[rows[j * perRound + window - first] + rankAt(window, position + lane - window * M)];
    }
    return sum;
  };

  return (out, at, block, i) => {
    noStarts(starts);
    ends?.clear();
    sums.groups = 0;
    sums.block = 0;
    const start = block * slotsPerBlock;
    for (let j = 0, position = start; position < units; j++, position += slots) {
      const filled = Math.min(slotsPerBlock, units - position);
      const full = Math.floor(filled / n);
      let window = Math.floor(position / M);
      // Of the next group's first lane, in its window.
      let place = position - window * M;
      let row = 0;
      for (let g = 0, k = 0; g * n < filled; k++, window++, place -= M) {
        const stratum = strata
          ? strata[window]
          : Math.floor((ordered[slots < M ? window : j * perRound + k][i] + 0.5) * perStratum);
        const before = row;
        row = stratum * M;
        rows[j * perRound + k] = row;
        if (k === 0) sums.block += lengths[row + rankAt(window, Math.min(place + filled, M) - 1)];
        if (place < 0) {
          // The group that crosses into this window, and waits for the longest of the last.
          const last = Math.min(place + n, place + filled - g * n) - 1;
          const high = rankAt(window, last);
          const longest = Math.max(lengths[before + M - 1], lengths[row + high]);
          out[at + g] += longest;
          if (waiting) {
            const changed = changes[M - 1] - changes[M + place] + 1 + changes[high];
            const shortest = Math.min(lengths[before + M + place], lengths[row]);
            addStarts(starts, g, last - place + 1, equalPart(last - place + 1, changed), longest - shortest);
          }
          if (ends) {
            const lanes = ends.get(g);
            if (!lanes) ends.set(g, [-1 - place]);
            else if (lanes.length < MOST_LANES) lanes.push(-1 - place);
          }
          g++;
          place += n;
        }
        if (window === windows - 1) {
          for (; g * n < filled; g++, place += n) {
            const lanes = Math.min(n, filled - g * n);
            addRound(out, at, g, row, lanes, rankAt(window, place), rankAt(window, place + lanes - 1));
          }
          break;
        }
        const whole = Math.min(full, g + Math.floor((M - place) / n));
        if (waiting) {
          for (; g < whole; g++, place += n) {
            const low = row + place;
            const high = low + n - 1;
            out[at + g] += lengths[high];
            addStarts(starts, g, n, equal[place], lengths[high] - lengths[low]);
          }
        } else {
          for (let high = row + place + n - 1; g < whole; g++, high += n, place += n) out[at + g] += lengths[high];
        }
        const lanes = filled - g * n;
        if (g === full && lanes > 0 && place + lanes <= M) {
          // The last group, not full.
          addRound(out, at, g, row, lanes, place, place + lanes - 1);
          break;
        }
      }
    }
    for (let g = 0; g < W; g++) {
      let depth = out[at + g];
      sums.groups += depth;
      const lanes = ends?.get(g);
      if (lanes) {
        // One of the lanes that end a window may have the most work.
        depth = laneWork(start, Math.min((g + 1) * n, slotsPerBlock) - 1);
        for (const lane of lanes) depth = Math.max(depth, laneWork(start, g * n + lane));
      }
      const played = start + g * n + (rounds - 1) * slots < units ? rounds : rounds - 1;
      const started = waiting ? startsWithin(starts, g, played, depth, lanes !== undefined) : played;
      out[at + g] = depth + setupIterations * started;
    }
  };
}

/** Lanes of a group that are looked at for the most work. */
const MOST_LANES = 4;
/** Rounds in which a lane that ends a window is looked for. */
const LANE_ROUNDS = 64;
/** Groups of a block whose starts are counted where there are many rounds, and rounds told apart for that. */
const STARTS_FOLLOWED = 4;
const MOST_STARTS = 32;

/**
 * Of many rounds: the sum of the mean lengths at a group's places, and for each window that a block is in a normal
 * deviation. What all blocks of a launch have in common is left out of that.
 */
function summedRow(table: RankTable, dealing: Dealing, blocks: number, sums: RowSums): RowTeller {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks, loop, setupIterations } = dealing;
  const { units: M } = table;
  const slots = slotsPerBlock * gridBlocks;
  const rounds = Math.ceil(units / slots);
  const within = isWithinWindows(M, dealing);
  const nested = loop === 'nested';
  const step = slots % M;
  // In a nested loop a group that crosses the end of a window waits for its longest.
  const waits = nested && !within;
  const orbits = table.orbits(step, waits ? n : 1);
  const lastLanes = slotsPerBlock - (W - 1) * n;
  const lastOrbits = waits && lastLanes < n ? table.orbits(step, lastLanes) : orbits;
  // Units of one window deviate together; and what windows have in common that all slots pass through is left out.
  const perWindow = Math.max(1, Math.min(rounds, M / slots));
  const together = perWindow * Math.max(0, 1 - (rounds / perWindow) * (M / units)) - 1;
  const deviations = new Float64Array(Math.ceil(slotsPerBlock / M) + 2);
  const startsFrom = isWaiting(dealing) ? meanStarts(table, dealing) : null;
  const counted = Math.ceil(W / STARTS_FOLLOWED);

  const laneWork = (startPlace: number, lane: number, played: number): number => {
    const offset = startPlace + lane;
    const place = offset % M;
    const orbit = lane < (W - 1) * n ? orbits : lastOrbits;
    const depth = orbitSum(orbit, orbit.means, place, played);
    const at = step === 0 ? Math.floor(offset / M) : lane / M;
    const k = Math.floor(at);
    const next = at - k;
    const deviation = Math.sqrt(1 - next) * deviations[k] + Math.sqrt(next) * deviations[k + 1];
    const alike = orbitSum(orbit, orbit.deviations, place, played) ** 2 / played;
    const variance = orbitSum(orbit, orbit.variances, place, played) + together * alike;
    if (variance < 1e-9) return depth;
    const third = orbitSum(orbit, orbit.thirds, place, played);
    // Cornish and Fisher's first term.
    return depth + deviation * Math.sqrt(variance) + ((deviation * deviation - 1) * third) / (6 * variance);
  };

  const ordered = latinOrders(blocks, deviations.length);

  return (out, at, block, i) => {
    const start = block * slotsPerBlock;
    const startPlace = start % M;
    for (let k = 0; k < deviations.length; k++) deviations[k] = normalQuantile((ordered[k][i] + 0.5) / blocks);
    let starts = 0;
    sums.groups = 0;
    for (let g = 0; g < W; g++) {
      const first = g * n;
      const last = Math.min(first + n, slotsPerBlock) - 1;
      const played = start + first + (rounds - 1) * slots < units ? rounds : rounds - 1;
      let depth = laneWork(startPlace, last, played);
      sums.groups += depth;
      if (!within && !nested) {
        // One of the lanes that end a window may have the most work.
        let place = (startPlace + first) % M;
        for (let j = 0, lanes = 0; j < Math.min(played, LANE_ROUNDS) && lanes < MOST_LANES; j++) {
          const end = M - 1 - place;
          if (end < last - first) {
            depth = Math.max(depth, laneWork(startPlace, first + end, played));
            lanes++;
          }
          place += step;
          if (place >= M) place -= M;
        }
      }
      if (startsFrom && g % counted === 0)
        starts = startsFrom((startPlace + first) % M, last - first + 1, played, depth);
      out[at + g] = Math.max(0, depth) + setupIterations * (startsFrom ? starts : played);
    }
  };
}

/** `startsWithin` of rounds that are all as long as the mean window. */
function meanStarts(
  { units: M, meanLengths, changes }: RankTable,
  { units, slotsPerBlock, gridBlocks }: Dealing,
): (place: number, lanes: number, rounds: number, depth: number) => number {
  const slots = slotsPerBlock * gridBlocks;
  const alike = Math.ceil(units / slots / MOST_STARTS);
  const stride = (alike * slots) % M;
  const starts = startsOf(1);
  return (place, lanes, rounds, depth) => {
    noStarts(starts);
    let crossing = false;
    for (let j = 0; j < rounds; j += alike) {
      const last = place + lanes - 1;
      let changed: number;
      let spread: number;
      if (last < M) {
        changed = changes[last] - changes[place];
        spread = meanLengths[last] - meanLengths[place];
      } else {
        crossing = true;
        changed = changes[M - 1] - changes[place] + 1 + changes[last - M];
        spread = meanLengths[M - 1] - meanLengths[0];
      }
      addAlikeStarts(starts, 0, lanes, equalPart(lanes, changed), spread, Math.min(alike, rounds - j));
      place += stride;
      if (place >= M) place -= M;
    }
    return startsWithin(starts, 0, rounds, depth, crossing);
  };
}

/** Where the lanes of a group are of several windows: in a flattened loop each has work of its own. */
function crossingRow(table: RankTable, dealing: Dealing, strata: Uint8Array): RowTeller {
  const { units, unitsPerGroup: n, groupsPerBlock: W, slotsPerBlock, gridBlocks, loop, setupIterations } = dealing;
  const { units: M, ranks, lengths } = table;
  const flattened = loop === 'flattened';
  const waiting = isWaiting(dealing);
  const changes = waiting ? table.changes : lengths;
  const slots = slotsPerBlock * gridBlocks;
  const windows = Math.ceil(units / M);
  const lastUnits = units - (windows - 1) * M;
  const perRank = ranks / M;
  const perLastRank = ranks / lastUnits;

  const rankAt = (window: number, position: number): number =>
    Math.floor((position - window * M + 0.5) * (window < windows - 1 ? perRank : perLastRank));
  /** Length of the unit at a position of the order. */
  const lengthAt = (position: number): number => {
    const window = Math.floor(position / M);
    return lengths[strata[window] * ranks + rankAt(window, position)];
  };
  /** Changes of length from the start of the order: one more where a window begins. */
  const changesAt = (position: number): number => {
    const window = Math.floor(position / M);
    return window * (changes[ranks - 1] + 1) + changes[rankAt(window, position)];
  };
  const laneWork = (first: number): number => {
    let sum = 0;
    for (let position = first; position < units; position += slots) sum += lengthAt(position);
    return sum;
  };
  /** Lanes that end a window in some round: where a loop is flattened, one of them may have the most work. */
  const ends: number[] = [];
  const starts = startsOf(1);

  return (out, at, block) => {
    for (let g = 0; g < W; g++) {
      const filled = Math.min(n, slotsPerBlock - g * n);
      const start = block * slotsPerBlock + g * n;
      let depth = 0;
      let played = 0;
      ends.length = 0;
      noStarts(starts);
      for (let from = start; from < units; from += slots) {
        const to = Math.min(from + filled, units) - 1;
        const nextWindow = (Math.floor(from / M) + 1) * M;
        let longest = lengthAt(to);
        for (let end = nextWindow - 1; end < to; end += M) {
          longest = Math.max(longest, lengthAt(end));
          if (flattened && ends.length < MOST_LANES) ends.push(end - from);
        }
        depth += longest;
        played++;
        if (waiting) {
          const shortest = Math.min(lengthAt(from), nextWindow <= to ? lengthAt(nextWindow) : Infinity);
          const lanes = to - from + 1;
          addStarts(starts, 0, lanes, equalPart(lanes, changesAt(to) - changesAt(from)), longest - shortest);
        }
      }
      if (ends.length > 0) {
        depth = laneWork(start + filled - 1);
        for (const lane of ends) depth = Math.max(depth, laneWork(start + lane));
      }
      const started = waiting ? startsWithin(starts, 0, played, depth, ends.length > 0) : played;
      out[at + g] = depth + setupIterations * started;
    }
  };
}

/**
 * An even sample of the slots of a ring, denser towards those that get a window's longest units, and of the windows. The
 * ring is of a window's places, or where a window takes several rounds, of all slots.
 * @returns blocks, and one over how likely each was to be drawn
 */
function sampledBlocks(
  dealing: Dealing,
  window: number,
  rounds: number,
  count: number,
): { readonly block: Int32Array; readonly weights: Float64Array } {
  const { slotsPerBlock, gridBlocks: G } = dealing;
  const slots = slotsPerBlock * G;
  const span = Math.min(window, slots);
  const windows = Math.ceil(slots / span);
  const ends = longestSlots(dealing, window);
  const block = new Int32Array(count);
  const weights = new Float64Array(count).fill(1);
  // Where a slot has had many places, or a block all of them, there is nothing to aim at.
  const all = count === G;
  const aimed = !all && slotsPerBlock < span && (rounds <= FEW_ROUNDS || ends.length < AIMED_SLOTS);
  for (let i = 0; i < count; i++) {
    const part = ((i + 0.5) * GOLDEN_RATIO) % 1;
    if (!aimed) {
      block[i] = all ? i : Math.floor(part * G);
      continue;
    }
    const at = ends[i % ends.length] - part * part * span;
    let slot = Math.floor(((i + 0.5) / count) * windows) * span + (at < 0 ? at + span : at);
    if (slot >= slots) slot -= span;
    const b = Math.floor(slot / slotsPerBlock);
    let likeliness = 0;
    for (const end of ends) {
      // From the block's first slot to the end, and slots of the block beyond it: the next window's.
      const first = ((((end - b * slotsPerBlock) % span) + span) % span) + 1;
      const beyond = slotsPerBlock - first;
      likeliness += Math.sqrt(first / span);
      if (beyond > 0) likeliness += 1 - Math.sqrt(1 - beyond / span);
      else likeliness -= Math.sqrt(-beyond / span);
    }
    block[i] = b;
    weights[i] = 1 / likeliness;
  }
  return { block, weights };
}

/** Slots that get the longest units of a window, in one round or another: each once, and so many at most. */
function longestSlots({ units, slotsPerBlock, gridBlocks }: Dealing, window: number): number[] {
  const slots = slotsPerBlock * gridBlocks;
  const ends = new Set<number>();
  if (slots >= window) {
    for (let j = 0; j * slots < units && j < AIMED_SLOTS; j++) ends.add(window - 1 - ((j * slots) % window));
  } else {
    for (let j = 1; (j - 1) * window < units && j <= AIMED_SLOTS; j++)
      ends.add((Math.min(j * window, units) - 1) % slots);
  }
  return [...ends];
}

/** By number of items. */
const latin = new Map<number, Int32Array[]>();
/** Numbers of items for which they are kept. */
const MOST_LATIN = 64;

/** Orders of 0 … count − 1: the first ascends, the others are without pattern. A Latin hypercube: each is an even sample. */
function latinOrders(count: number, orders: number): readonly Int32Array[] {
  let known = latin.get(count);
  if (!known) {
    if (latin.size >= MOST_LATIN) latin.clear();
    known = [Int32Array.from({ length: count }, (_, i) => i)];
    latin.set(count, known);
  }
  while (known.length < orders) known.push(arbitraryOrder(count, known.length));
  return known;
}

/** Nearly sorted rows: by insertion. */
export function sortRow(values: Float64Array, from: number, count: number): void {
  for (let i = from + 1; i < from + count; i++) {
    const value = values[i];
    let j = i;
    for (; j > from && values[j - 1] > value; j--) values[j] = values[j - 1];
    values[j] = value;
  }
}
