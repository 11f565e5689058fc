import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { crossingRow, lookedUpRow, summedRow, type RowSums } from './dealt-rows.ts';
import { groupCounts, hasFewGroups, keepRow, sortRow, type DealtDepths, type Dealing } from './dealt.ts';
import type { RankTable } from './ranks.ts';

/** Lengths looked up for the groups of a launch that are followed one by one; of more a sample is. */
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
const AIMED_SLOTS = 64;
/**
 * Its multiples are spread evenly over the places of a window. Not over blocks: in a grid of 8 · 377 of them, 377 a Fibonacci
 * number, they keep in step, and may miss every block that gets long units.
 */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

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
    const blockSum = few ? (meanBlock(table, dealing) * units) / slots : null;
    // One after the other: what one changes of the other is little.
    for (let pass = 0; pass < CALIBRATIONS; pass++) {
      if (blockSum !== null) calibrate(weights, blockSums, blockSum);
      calibrate(weights, groupSums, groupSum);
    }
  }
  return { depths, counts, weights };
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

/**
 * An even sample of the slots of a ring, denser towards those that get a window's longest units, and of the windows. The
 * ring is of a window's places, or of as many as are left once slots that pass through the same places are one; where a
 * window takes several rounds, it is of all slots.
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
  const few = rounds <= FEW_ROUNDS;
  const common = greatestCommonDivisor(window, slots);
  const ring = slots >= window && rounds * common >= window ? common : window;
  const span = Math.min(ring, slots);
  const windows = Math.ceil(slots / span);
  const ends = longestSlots(dealing, ring);
  if (!few) ends.sort((a, b) => a - b);
  // Slots from one end to the next. Of few rounds all around the ring: a block has the longest units of one of them only.
  const gaps = ends.map((end, e) => (few ? span : e > 0 ? end - ends[e - 1] : end - ends[ends.length - 1] + span));
  // Of the sample: half to all ends alike, half by the slots before them.
  const around = gaps.reduce((sum, gap) => sum + gap, 0);
  const shares = gaps.map((gap) => (1 / ends.length + gap / around) / 2);
  const block = new Int32Array(count);
  const weights = new Float64Array(count).fill(1);
  // Where a slot has had many places, or a block all of them, there is nothing to aim at.
  const all = count === G;
  const aimed = !all && slotsPerBlock < span && (few || ends.length < AIMED_SLOTS);
  for (let i = 0; i < count; i++) {
    if (all) {
      block[i] = i;
      continue;
    }
    const part = ((i + 0.5) * GOLDEN_RATIO) % 1;
    const e = few ? i % ends.length : cellAt(shares, ((i + 0.5) * Math.SQRT2) % 1);
    const at = aimed ? ends[e] - part * part * gaps[e] : part * span;
    let slot = Math.floor(((i + 0.5) / count) * windows) * span + (at < 0 ? at + span : at);
    if (slot >= slots) slot -= span;
    const b = Math.floor(slot / slotsPerBlock);
    block[i] = b;
    if (!aimed) continue;
    let likeliness = 0;
    for (let k = 0; k < ends.length; k++) {
      // From the block's first slot to the end, and slots of the block beyond it: a ring away.
      const first = ((((ends[k] - b * slotsPerBlock) % span) + span) % span) + 1;
      const beyond = slotsPerBlock - first;
      const gap = gaps[k];
      let within = nearer(first, gap) - nearer(Math.max(0, -beyond), gap);
      if (beyond > 0) within += 1 - nearer(span - beyond, gap);
      likeliness += shares[k] * within;
    }
    weights[i] = 1 / likeliness;
  }
  return { block, weights };
}

/** Which of shares that add up to 1 a number from 0 to 1 falls into. */
function cellAt(shares: readonly number[], at: number): number {
  let cell = 0;
  for (let left = at; cell < shares.length - 1 && left >= shares[cell]; cell++) left -= shares[cell];
  return cell;
}

/** Of the slots that are aimed at an end, the part that is nearer to it than this: few slots of a large gap are enough. */
function nearer(distance: number, gap: number): number {
  return distance < gap ? Math.sqrt(distance / gap) : 1;
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
