import { createScratch } from '../../numeric/scratch.ts';
import type { ListedBlocks, PlacedBlocks } from '../dealing/blocks.ts';
import { countCompeting, interpolateCycles, ONE_SCHEDULER, type CycleTable, type Schedulers } from './cycles.ts';

/** Number of schedulers whose time is computed in full in a wave of known blocks: those with the longest estimates. */
const SLOWEST_CANDIDATES = 6;

const slowest = { scheduler: new Int32Array(SLOWEST_CANDIDATES), estimate: new Float64Array(SLOWEST_CANDIDATES) };
const getFirst = createScratch();
const getSecond = createScratch();

/** The place of a slot's first group among the groups of its multiprocessor. Of q schedulers, group i has i mod q. */
export const findFirstPlace = (slot: number, multiprocessors: number, groupsPerBlock: number): number =>
  Math.floor(slot / multiprocessors) * groupsPerBlock;

export function computePlacedCycles(
  blocks: PlacedBlocks,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers = ONE_SCHEDULER,
): number {
  const M = Math.min(multiprocessors, blocks.order.length);
  return computeSlowestCycles(blocks, blocks.order, null, M, cyclesPerIteration, schedulers);
}

/**
 * Computes the time in cycles in which the slowest scheduler finishes the blocks that its multiprocessor holds. The
 * k-th held block is on multiprocessor k mod `multiprocessors`. Only the schedulers with the longest estimates are
 * computed in full.
 * @param held indices of the held blocks, at least one
 * @param elapsed iterations that each held block has already run; `null` if all blocks start now
 * @param clocks cycles that each scheduler has already run, multiprocessor by multiprocessor; `null` for 0
 */
export function computeSlowestCycles(
  blocks: ListedBlocks,
  held: Int32Array,
  elapsed: Float64Array | null,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
  clocks: Float64Array | null = null,
): number {
  const { count: q } = schedulers;
  const M = multiprocessors;
  const { scheduler, estimate } = slowest;
  estimate.fill(-1);
  const most = Math.ceil(held.length / M) * blocks.groupsPerBlock;
  const waiting = { ...blocks, held, elapsed, M, first: getFirst(most), second: getSecond(most) };
  for (let s = 0; s < M * q; s++) {
    const time = (clocks === null ? 0 : clocks[s]) + estimateCycles(waiting, s, q, cyclesPerIteration);
    if (time <= estimate[SLOWEST_CANDIDATES - 1]) continue;
    let i = SLOWEST_CANDIDATES - 1;
    for (; i > 0 && estimate[i - 1] < time; i--) {
      estimate[i] = estimate[i - 1];
      scheduler[i] = scheduler[i - 1];
    }
    estimate[i] = time;
    scheduler[i] = s;
  }
  let launch = 0;
  for (let i = 0; i < SLOWEST_CANDIDATES && estimate[i] >= 0; i++) {
    const s = scheduler[i];
    const before = clocks === null ? 0 : clocks[s];
    launch = Math.max(launch, before + computeCycles(waiting, s, schedulers, cyclesPerIteration));
  }
  return launch;
}

interface HeldBlocks extends ListedBlocks {
  readonly held: Int32Array;
  readonly elapsed: Float64Array | null;
  readonly M: number;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

/** The deepest group counts with its own depth, every other group with the mean depth of its block. */
function estimateCycles(
  { means, lives, depths, groupsPerBlock: W, held, elapsed, M, first: ends, second: groupsOf }: HeldBlocks,
  s: number,
  q: number,
  cyclesPerIteration: CycleTable,
): number {
  const m = Math.floor(s / q);
  const last = cyclesPerIteration.length - 1;
  let count = 0;
  let longest = 0;
  for (let b = m; b < held.length; b += M) {
    const block = held[b];
    const before = elapsed === null ? 0 : elapsed[b];
    let mean = means[block];
    let groups = W;
    let life = lives[block];
    if (q > 1) {
      const first = (s - m * q + q - (findFirstPlace(b, M, W) % q)) % q;
      mean = life = groups = 0;
      for (let g = first; g < W; g += q) {
        const depth = depths[block * W + g];
        mean += depth;
        if (depth > life) life = depth;
        groups++;
      }
      if (groups === 0) continue;
      mean /= groups;
    }
    longest = Math.max(longest, life - before);
    mean = Math.max(0, mean - before);
    let i = count++;
    for (; i > 0 && ends[i - 1] < mean; i--) {
      ends[i] = ends[i - 1];
      groupsOf[i] = groupsOf[i - 1];
    }
    ends[i] = mean;
    groupsOf[i] = groups;
  }
  if (count === 0) return 0;
  let time = Math.max(0, longest - ends[0]) * cyclesPerIteration[1];
  let groups = 0;
  for (let i = 0; i < count; i++) {
    groups += groupsOf[i];
    time += (ends[i] - (i + 1 < count ? ends[i + 1] : 0)) * cyclesPerIteration[Math.min(last, q * groups)];
  }
  return time;
}

function computeCycles(
  { depths, groupsPerBlock: W, held, elapsed, M, first, second }: HeldBlocks,
  s: number,
  schedulers: Schedulers,
  cyclesPerIteration: CycleTable,
): number {
  const { count: q } = schedulers;
  const m = Math.floor(s / q);
  const cap = cyclesPerIteration.length - 1;
  // `first` has the ends of the scheduler's own groups, `second` those of the other groups of its multiprocessor.
  let own = 0;
  let others = 0;
  for (let b = m; b < held.length; b += M) {
    const before = elapsed === null ? 0 : elapsed[b];
    const place = findFirstPlace(b, M, W);
    for (let g = 0; g < W; g++) {
      const left = depths[held[b] * W + g] - before;
      if (left <= 0) continue;
      if (m * q + ((place + g) % q) === s) first[own++] = left;
      else second[others++] = left;
    }
  }
  const ends = first.subarray(0, own).sort();
  const otherEnds = second.subarray(0, others).sort();
  let time = 0;
  let at = 0;
  for (let k = 0, other = 0; k < own;) {
    const isOther = other < others && otherEnds[other] < ends[k];
    const end = isOther ? otherEnds[other] : ends[k];
    const groups = countCompeting(own - k, own - k + others - other, schedulers);
    time += (end - at) * interpolateCycles(cyclesPerIteration, groups, cap);
    at = end;
    if (isOther) other++;
    else k++;
  }
  return time;
}
