import { createScratch } from '../../numeric/scratch.ts';
import { SLOWEST_CANDIDATES } from '../constants.ts';
import type { KnownBlocks, PlacedBlocks } from '../dealing/blocks.ts';
import type { CycleTable } from './cycles.ts';

const slowest = {
  multiprocessor: new Int32Array(SLOWEST_CANDIDATES),
  estimate: new Float64Array(SLOWEST_CANDIDATES),
};
const getOwn = createScratch();

/** Time of a launch of at most one wave whose blocks are known, cycles; see `computeSlowestCycles`. */
export function computePlacedCycles(
  blocks: PlacedBlocks,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
): number {
  const M = Math.min(multiprocessors, blocks.order.length);
  return computeSlowestCycles(blocks, blocks.order, null, M, cyclesPerIteration);
}

/**
 * Time in which multiprocessors finish the blocks that they hold, cycles. The k-th held block is on multiprocessor k
 * mod M, and each multiprocessor takes ∫ t(w(v)) dv. This integral is computed in full only for the multiprocessors
 * that are the slowest by an estimate.
 * @param held indices of the held blocks, at least one
 * @param elapsed iterations that each held block has already run; `null` if all blocks start now
 * @param multiprocessors M
 * @param clocks cycles that each multiprocessor has already run; `null` for 0
 */
export function computeSlowestCycles(
  { means, lives, groupsPerBlock: W, depths }: KnownBlocks,
  held: Int32Array,
  elapsed: Float64Array | null,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
  clocks: Float64Array | null = null,
): number {
  const G = held.length;
  const M = multiprocessors;
  const { multiprocessor, estimate } = slowest;
  estimate.fill(-1);
  const own = getOwn(Math.ceil(G / M) * W);
  for (let s = 0; s < M; s++) {
    // The estimate gives all groups of a block its mean depth, except the deepest group of all.
    let count = 0;
    let longest = 0;
    for (let b = s; b < G; b += M) {
      const block = held[b];
      const before = elapsed === null ? 0 : elapsed[b];
      longest = Math.max(longest, lives[block] - before);
      const mean = Math.max(0, means[block] - before);
      let i = count++;
      for (; i > 0 && own[i - 1] < mean; i--) own[i] = own[i - 1];
      own[i] = mean;
    }
    let time = clocks === null ? 0 : clocks[s];
    if (count > 0) time += (longest - own[0]) * cyclesPerIteration[1];
    for (let i = 0; i < count; i++)
      time += (own[i] - (i + 1 < count ? own[i + 1] : 0)) * cyclesPerIteration[(i + 1) * W];
    if (time <= estimate[SLOWEST_CANDIDATES - 1]) continue;
    let i = SLOWEST_CANDIDATES - 1;
    for (; i > 0 && estimate[i - 1] < time; i--) {
      estimate[i] = estimate[i - 1];
      multiprocessor[i] = multiprocessor[i - 1];
    }
    estimate[i] = time;
    multiprocessor[i] = s;
  }
  let launch = 0;
  for (let i = 0; i < SLOWEST_CANDIDATES && estimate[i] >= 0; i++) {
    let count = 0;
    for (let b = multiprocessor[i]; b < G; b += M) {
      const before = elapsed === null ? 0 : elapsed[b];
      for (let at = held[b] * W; at < (held[b] + 1) * W; at++)
        if (depths[at] > before) own[count++] = depths[at] - before;
    }
    const ends = own.subarray(0, count).sort();
    let time = clocks === null ? 0 : clocks[multiprocessor[i]];
    let before = 0;
    for (let k = 0; k < count; k++) {
      time += (ends[k] - before) * cyclesPerIteration[count - k];
      before = ends[k];
    }
    launch = Math.max(launch, time);
  }
  return launch;
}
