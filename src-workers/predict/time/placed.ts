import { SLOWEST_CANDIDATES } from '../constants.ts';
import type { CycleTable } from './cycles.ts';

/** The blocks of a launch of at most one wave, each with its depths. */
export interface PlacedBlocks {
  readonly groupsPerBlock: number;
  /** Depth of group g of block b at b·W_b + g, iterations, shortest first within a block. */
  readonly depths: Float64Array;
  /** Mean depth of the groups of every block. */
  readonly means: Float64Array;
  /** Blocks in the order of their dispatch. */
  readonly order: Int32Array;
}

/** @param order `null` where blocks are dispatched as they stand */
export function placedBlocks(depths: Float64Array, groupsPerBlock: number, order: Int32Array | null): PlacedBlocks {
  const W = groupsPerBlock;
  const means = new Float64Array(depths.length / W);
  for (let b = 0; b < means.length; b++) {
    let sum = 0;
    for (let at = b * W; at < (b + 1) * W; at++) sum += depths[at];
    means[b] = sum / W;
  }
  return { groupsPerBlock: W, depths, means, order: order ?? Int32Array.from(means, (_, b) => b) };
}

const slowest = {
  multiprocessor: new Int32Array(SLOWEST_CANDIDATES),
  estimate: new Float64Array(SLOWEST_CANDIDATES),
};
let scratch = new Float64Array(64);

function scratchOf(length: number): Float64Array {
  if (scratch.length < length) scratch = new Float64Array(2 * length);
  return scratch;
}

/**
 * Time of a launch of at most one wave whose blocks are known, cycles: the b-th block runs on multiprocessor b mod M, each
 * multiprocessor takes ∫ t(w(v)) dv, and the slowest decides. Computed in full for the few that an estimate says are slowest.
 */
export function placedCycles(
  { means, order, groupsPerBlock: W, depths }: PlacedBlocks,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
): number {
  const G = order.length;
  const M = Math.min(multiprocessors, G);
  const { multiprocessor, estimate } = slowest;
  estimate.fill(-1);
  const own = scratchOf(Math.ceil(G / M) * W);
  for (let s = 0; s < M; s++) {
    // As if all groups of a block were its mean, except for the longest of all; longest first.
    let count = 0;
    let longest = 0;
    for (let b = s; b < G; b += multiprocessors) {
      const block = order[b];
      longest = Math.max(longest, depths[block * W + W - 1]);
      const mean = means[block];
      let i = count++;
      for (; i > 0 && own[i - 1] < mean; i--) own[i] = own[i - 1];
      own[i] = mean;
    }
    let time = (longest - own[0]) * cyclesPerIteration[1];
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
    for (let b = multiprocessor[i]; b < G; b += multiprocessors) {
      for (let at = order[b] * W; at < (order[b] + 1) * W; at++) own[count++] = depths[at];
    }
    const ends = own.subarray(0, count).sort();
    let time = 0;
    let before = 0;
    for (let k = 0; k < count; k++) {
      time += (ends[k] - before) * cyclesPerIteration[count - k];
      before = ends[k];
    }
    launch = Math.max(launch, time);
  }
  return launch;
}
