import { arbitraryOrder } from '../../numeric/random.ts';
import { normalQuantile } from '../workload/normal.ts';
import { isWaiting, isWithinWindows, type Dealing } from './dealt.ts';
import { orbitSum, type RankTable } from './ranks.ts';
import { addAlikeStarts, addStarts, equalPart, noStarts, startsOf, startsWithin } from './starts.ts';

/** Writes the depths of the groups of a block to `out` from `at` on, which are 0 before; it is the i-th that is asked for. */
type RowTeller = (out: Float64Array, at: number, block: number, i: number) => void;

/** Of the block that was told last, sums over all rounds whose means over the blocks of a launch are known. */
export interface RowSums {
  /** Over its groups, of the longest length, or in a flattened loop of many rounds the last one. */
  groups: number;
  /** Of few rounds, of the longest unit of the first window that it is in. */
  block: number;
}

/**
 * Where every window is looked up, and a group is of one window or crosses into the next.
 * @param strata of the windows; `null` for a sample of so many blocks, whose windows are an even sample of the strata
 */
export function lookedUpRow(
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
export function summedRow(table: RankTable, dealing: Dealing, blocks: number, sums: RowSums): RowTeller {
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
    const independent = orbitSum(orbit, orbit.variances, place, played);
    const variance = independent + together * alike;
    if (variance < 1e-9) return depth;
    const third = orbitSum(orbit, orbit.thirds, place, played);
    // Cornish and Fisher's first term; what all slots have in common is left out of the third moment, too.
    const skewness = third / Math.max(independent, variance) ** 1.5;
    const spread = Math.sqrt(variance);
    return depth + spread * (deviation + ((deviation * deviation - 1) * skewness) / 6);
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
export function crossingRow(table: RankTable, dealing: Dealing, strata: Uint8Array): RowTeller {
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
