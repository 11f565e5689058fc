import { findLargest } from '../../numeric/compact.ts';
import { indexedQueue, TURN } from '../../numeric/queue.ts';
import { createScratch } from '../../numeric/scratch.ts';
import {
  countCompeting,
  findMostCompeting,
  interpolateCycles,
  ONE_SCHEDULER,
  type CycleTable,
  type Schedulers,
} from './cycles.ts';
import type { ListedBlocks } from '../dealing/blocks.ts';
import { computeSlowestCycles, findFirstPlace } from './placed.ts';

/** Number of bins of time that count active groups, a power of two. The longest life takes three bins less. */
const LIFE_BINS = 128;

const getState = createScratch();

/**
 * Computes the cycles of a launch whose blocks are listed and start in order, each in the first free block slot.
 *
 * Each multiprocessor counts iterations; a block lives for as many as its deepest group. Each of its schedulers has a
 * clock that takes t(w) cycles for an iteration, where w counts the groups that compete on this scheduler. A block ends
 * at the latest of these clocks. Up to the last dispatch, w is a mean over bins of time. After it, each scheduler runs
 * alone, group by group, and the slowest decides.
 * @param blocks all blocks, or a sample of them; for a sample, the time up to the last dispatch is scaled up
 */
export function computeInOrderCycles(
  blocks: ListedBlocks,
  gridBlocks: number,
  residentBlocks: number,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers = ONE_SCHEDULER,
): number {
  const { lives, depths, groupsPerBlock: W } = blocks;
  const count = lives.length;
  const M = Math.min(multiprocessors, count);
  // Block slot k belongs to multiprocessor k mod M.
  const slots = Math.min(M * residentBlocks, count);
  const held = Int32Array.from({ length: slots }, (_, slot) => slot);
  const longest = findLargest(lives);
  if (count === slots || !(longest > 0))
    return computeSlowestCycles(blocks, held, null, M, cyclesPerIteration, schedulers);

  // Iterations are counted in bins. Each multiprocessor has its time in cycles (`time`) and its iteration (`now`). Each
  // scheduler has its clock, its mean number of active groups in the current bin (`active`), and a ring with the
  // amounts by which this number falls in each of the next bins (`fewer`).
  const perIteration = (LIFE_BINS - 3) / longest;
  const binCycles = cyclesPerIteration.map((cycles) => cycles / perIteration);
  const { count: q } = schedulers;
  const cap = findMostCompeting(residentBlocks * W, schedulers, cyclesPerIteration);
  const state = getState(M * (q * (LIFE_BINS + 2) + 4) + 3 * slots);
  let cut = 0;
  const take = (length: number): Float64Array => state.subarray(cut, (cut += length));
  const time = take(M);
  const turns = take(M);
  const taken = take(M);
  const clocks = take(M * q);
  const now = take(M);
  const active = take(M * q);
  const fewer = take(M * q * LIFE_BINS);
  const starts = take(slots);
  const ends = take(slots);
  const elapsed = take(slots);
  const firstFree = Int32Array.from({ length: M }, (_, m) => m);

  const start = (slot: number, block: number, m: number): void => {
    const at = now[m];
    const bin = Math.floor(at);
    held[slot] = block;
    starts[slot] = at;
    ends[slot] = at + lives[block] * perIteration;
    const place = findFirstPlace(slot, M, W);
    for (let i = 0; i < W; i++) {
      const own = m * q + ((place + i) % q);
      const ring = own * LIFE_BINS;
      const end = at + depths[block * W + i] * perIteration;
      const last = Math.floor(end);
      let inNext = end - last;
      let more = 1;
      if (last > bin) fewer[ring + (last & (LIFE_BINS - 1))] += 1 - inNext;
      else {
        inNext = (end - at) / (bin + 1 - at);
        more -= 1 - inNext;
      }
      fewer[ring + ((last + 1) & (LIFE_BINS - 1))] += inNext;
      active[own] += more;
    }
  };

  const tick = (m: number, part: number): void => {
    const end = (m + 1) * q;
    let all = 0;
    for (let own = m * q; own < end; own++) all += active[own];
    let latest = 0;
    for (let own = m * q; own < end; own++) {
      clocks[own] += part * interpolateCycles(binCycles, countCompeting(active[own], all, schedulers), cap);
      latest = Math.max(latest, clocks[own]);
    }
    time[m] = latest;
  };

  const advance = (m: number): void => {
    let first = m;
    for (let slot = m + M; slot < slots; slot += M) if (ends[slot] < ends[first]) first = slot;
    const end = ends[first];
    let at = now[m];
    for (let bin = Math.floor(at) + 1; bin <= end; bin++) {
      tick(m, bin - at);
      at = bin;
      for (let own = m * q; own < (m + 1) * q; own++) {
        const i = own * LIFE_BINS + (bin & (LIFE_BINS - 1));
        active[own] -= fewer[i];
        fewer[i] = 0;
      }
    }
    tick(m, end - at);
    now[m] = end;
    firstFree[m] = first;
  };

  // Multiprocessors that are free at the same instant take blocks in turn: `taken` counts the blocks taken then.
  const queue = indexedQueue(turns);
  for (let slot = 0; slot < slots; slot++) start(slot, slot, slot % M);
  for (let m = 0; m < M; m++) {
    advance(m);
    turns[m] = time[m];
    queue.push(m);
  }
  let lastDispatch = 0;
  for (let block = slots; block < count; block++) {
    const m = queue.first();
    lastDispatch = time[m];
    start(firstFree[m], block, m);
    advance(m);
    taken[m] = time[m] > lastDispatch ? 0 : taken[m] + 1;
    turns[m] = time[m] * (1 + TURN * taken[m]);
    queue.settle();
  }
  for (let slot = 0; slot < slots; slot++) elapsed[slot] = (now[slot % M] - starts[slot]) / perIteration;
  let life = 0;
  for (const each of lives) life += each;
  let run = 0;
  for (const iterations of now) run += (iterations / perIteration) * residentBlocks;
  // If all dispatched blocks are empty, the last dispatch is at the start.
  const others = run > 0 ? lastDispatch * (gridBlocks / count - 1) * (life / run) : 0;
  return others + computeSlowestCycles(blocks, held, elapsed, M, cyclesPerIteration, schedulers, clocks);
}
