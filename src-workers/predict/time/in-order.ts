import { indexedQueue } from '../../numeric/queue.ts';
import { createScratch } from '../../numeric/scratch.ts';
import { LIFE_BINS } from '../constants.ts';
import { interpolateCycles, type CycleTable } from './cycles.ts';
import type { KnownBlocks } from '../dealing/blocks.ts';
import { computeSlowestCycles } from './placed.ts';

const getState = createScratch();

/**
 * Computes the time of a launch whose blocks are known and start in their order, cycles. Each block goes to the block
 * slot that is free first.
 *
 * As in the event simulation, each multiprocessor counts iterations, in which a block lives as long as its deepest
 * group, and its clock runs at t(w). Up to the last dispatch, w is a mean over bins, `LIFE_BINS` for the longest life.
 * A group that ends inside a bin counts there in part, so that no iteration is lost. After the last dispatch, each
 * multiprocessor runs alone, group by group, and the slowest decides.
 *
 * @param blocks all blocks, or some that represent all; then the time up to the last dispatch is scaled by the lives
 * @param gridBlocks G
 * @param residentBlocks R
 * @param multiprocessors M
 */
export function computeInOrderCycles(
  blocks: KnownBlocks,
  gridBlocks: number,
  residentBlocks: number,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
): number {
  const { lives, depths, groupsPerBlock: W } = blocks;
  const count = lives.length;
  const M = Math.min(multiprocessors, count);
  // Slot k belongs to multiprocessor k mod M.
  const slots = Math.min(M * residentBlocks, count);
  const held = Int32Array.from({ length: slots }, (_, slot) => slot);
  const longest = lives.reduce((most, life) => Math.max(most, life), 0);
  if (count === slots || !(longest > 0)) return computeSlowestCycles(blocks, held, null, M, cyclesPerIteration);

  // Iterations are counted in bins. Each multiprocessor has its time in cycles (`time`), its iteration (`now`), its
  // mean active groups in the current bin (`active`), and by how many these decrease in each of the next bins (`fewer`,
  // a ring).
  const perIteration = (LIFE_BINS - 3) / longest;
  const binCycles = cyclesPerIteration.map((cycles) => cycles / perIteration);
  const cap = residentBlocks * W;
  const state = getState(M * (LIFE_BINS + 3) + 3 * slots);
  let cut = 0;
  const take = (length: number): Float64Array => state.subarray(cut, (cut += length));
  const time = take(M);
  const now = take(M);
  const active = take(M);
  const fewer = take(M * LIFE_BINS);
  const starts = take(slots);
  const ends = take(slots);
  const elapsed = take(slots);
  const firstFree = Int32Array.from({ length: M }, (_, m) => m);

  const start = (slot: number, block: number, m: number): void => {
    const at = now[m];
    const bin = Math.floor(at);
    const ring = m * LIFE_BINS;
    held[slot] = block;
    starts[slot] = at;
    ends[slot] = at + lives[block] * perIteration;
    let more = W;
    for (let group = block * W; group < (block + 1) * W; group++) {
      const end = at + depths[group] * perIteration;
      const last = Math.floor(end);
      let inNext = end - last;
      if (last > bin) fewer[ring + (last & (LIFE_BINS - 1))] += 1 - inNext;
      else {
        inNext = (end - at) / (bin + 1 - at);
        more -= 1 - inNext;
      }
      fewer[ring + ((last + 1) & (LIFE_BINS - 1))] += inNext;
    }
    active[m] += more;
  };

  /** Runs a multiprocessor until the first of its blocks ends. */
  const advance = (m: number): void => {
    let first = m;
    for (let slot = m + M; slot < slots; slot += M) if (ends[slot] < ends[first]) first = slot;
    const end = ends[first];
    const ring = m * LIFE_BINS;
    let at = now[m];
    let groups = active[m];
    let cycles = time[m];
    for (let bin = Math.floor(at) + 1; bin <= end; bin++) {
      cycles += (bin - at) * interpolateCycles(binCycles, groups, cap);
      at = bin;
      const i = ring + (bin & (LIFE_BINS - 1));
      groups -= fewer[i];
      fewer[i] = 0;
    }
    time[m] = cycles + (end - at) * interpolateCycles(binCycles, groups, cap);
    now[m] = end;
    active[m] = groups;
    firstFree[m] = first;
  };

  const queue = indexedQueue(time);
  for (let slot = 0; slot < slots; slot++) start(slot, slot, slot % M);
  for (let m = 0; m < M; m++) {
    advance(m);
    queue.push(m);
  }
  let lastDispatch = 0;
  for (let block = slots; block < count; block++) {
    const m = queue.first();
    lastDispatch = time[m];
    start(firstFree[m], block, m);
    advance(m);
    queue.settle();
  }
  for (let slot = 0; slot < slots; slot++) elapsed[slot] = (now[slot % M] - starts[slot]) / perIteration;
  let life = 0;
  for (const each of lives) life += each;
  let run = 0;
  for (const iterations of now) run += (iterations / perIteration) * residentBlocks;
  const others = lastDispatch * (gridBlocks / count - 1) * (life / run);
  return others + computeSlowestCycles(blocks, held, elapsed, M, cyclesPerIteration, time);
}
