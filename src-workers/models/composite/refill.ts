import type { BlockLaw } from './law.ts';
import { drainCycles } from './drain.ts';
import {
  BLOCK,
  CELL_FIELDS,
  completeCells,
  GROUP,
  PAIR,
  resizeProfile,
  WIDTH,
  type ActivityProfile,
} from './profile.ts';
import type { SmoothedRate } from './rate.ts';

/**
 * The drain where waves are still in step: the last wave is a partial one, and what matters is how many of its slots a
 * multiprocessor had refilled. A multiprocessor that was ahead may have taken all the blocks that were left.
 */

/** Where in a block's life the refilled slots are told from those that end: at this fraction of E[B]; and the window around. */
const MIDDLE = 0.5;
const WINDOW = 0.15;
/**
 * Weight of counts of refilled slots up to which they are taken together, as the least of them; what is left in the end is
 * left out.
 */
const NEGLIGIBLE = 0.12;
/** σ_B/E[B] up to which waves can be in step; at twice that they never are. */
const NARROW = 0.1;
/** Blocks that end in the window, relative to the stationary state: at one in this many the waves are out of step. */
const IN_STEP = 3;

/** The cell of the drain that holds a time. */
function cellAt({ edges }: BlockLaw, time: number): number {
  let c = 0;
  while (c < edges.length - 2 && edges[c + 1] <= time) c++;
  return c;
}

/** How much the waves are in step, 0…1: 1 where no block ends around the middle of the next wave. */
export function stepShare(law: BlockLaw, profile: ActivityProfile): number {
  // With more spread than this the ends of blocks overlap, and what looks like a gap is the scarcity of giants.
  const narrow = 2 - law.blockDeviation / law.meanBlock / NARROW;
  if (!(narrow > 0)) return 0;
  const early = cellAt(law, (MIDDLE - WINDOW) * law.meanBlock);
  const late = cellAt(law, (MIDDLE + WINDOW) * law.meanBlock);
  const { edges } = law;
  const apart = (0.5 * (edges[late] + edges[late + 1] - edges[early] - edges[early + 1])) / law.meanBlock;
  if (!(apart > 0 && profile.data[late * CELL_FIELDS + BLOCK] > 0)) return 0;
  const ended = profile.data[early * CELL_FIELDS + BLOCK] - profile.data[late * CELL_FIELDS + BLOCK];
  return Math.min(1, narrow) * Math.min(1, Math.max(0, 1 - (IN_STEP * ended) / apart));
}

/**
 * Expected time of the drain, cycles, by the number of refilled slots on a multiprocessor.
 * @param profile activity of a slot after the last dispatch, some of it in the middle of a block's life
 * @param likeness 0…1: how alike the slots of one multiprocessor are in whether they were refilled
 */
export function refilledDrain(
  law: BlockLaw,
  profile: ActivityProfile,
  residentBlocks: number,
  multiprocessors: number,
  likeness: number,
  rate: SmoothedRate,
): number {
  const R = residentBlocks;
  const W = law.groupsPerBlock;
  resizeProfile(scratch, profile);
  const middle = cellAt(law, MIDDLE * law.meanBlock) * CELL_FIELDS;
  const share = profile.data[middle + BLOCK];

  // Beta-binomial counts: binomial where slots are refilled independently, all or none where they are alike.
  const alpha = share * (1 / likeness - 1);
  const beta = (1 - share) * (1 / likeness - 1);
  let probability = 1;
  for (let i = 0; i < R; i++) probability *= (alpha + i) / (alpha + beta + i);
  let sum = 0;
  let weightAbove = 0;
  let weight = 0;
  let tail = 0;
  let total = 0;
  // Who could take more than there are takes them all.
  const left = Math.round(share * R * multiprocessors);
  for (let k = R; k >= 1; k--) {
    tail += probability;
    // Most slots refilled on any multiprocessor: at least one block is somewhere.
    const reached = k === 1 ? 1 : k > left ? 0 : 1 - Math.pow(Math.max(0, 1 - tail), multiprocessors);
    weight += reached - weightAbove;
    if (weight > NEGLIGIBLE) {
      const alikes = Math.max(1, Math.min(multiprocessors, (multiprocessors * probability) / reached));
      refill(law, profile, middle, R, k);
      sum += weight * drainCycles(scratch, k, Math.round(alikes), rate, R * W);
      total += weight;
      weight = 0;
    }
    weightAbove = reached;
    probability *= (k / (R - k + 1)) * ((beta + R - k) / (alpha + k - 1));
  }
  return sum / total;
}

/** Writes the profile of k refilled slots of R to `scratch`; `middle` is the offset of the cell that tells them from the others. */
function refill(law: BlockLaw, { cells, data }: ActivityProfile, middle: number, R: number, k: number): void {
  const { data: out } = scratch;
  const share = data[middle + BLOCK];
  const fresh = law.fresh.data;
  for (let c = 0; c < cells * CELL_FIELDS; c += CELL_FIELDS) {
    out[c + WIDTH] = data[c + WIDTH];
    if (c < middle) {
      // Refilled slots as fresh ones, and what is left of the others beside them.
      const own = fresh[c + GROUP];
      const others = share < 1 ? Math.max(0, data[c + GROUP] - share * own) / (1 - share) : 0;
      const active = Math.min(1, own) + ((R - k) / k) * Math.min(1, others);
      out[c + BLOCK] = 1;
      out[c + GROUP] = active;
      out[c + PAIR] = active * active;
    } else {
      out[c + BLOCK] = Math.min(1, data[c + BLOCK] / share);
      out[c + GROUP] = Math.min(1, data[c + GROUP] / share);
      out[c + PAIR] = Math.min(1, data[c + PAIR] / share);
    }
  }
  completeCells(scratch, law.groupsPerBlock);
}

/** The profile of one number of refilled slots: scratch. */
const scratch: ActivityProfile = {
  cells: 0,
  data: new Float64Array(0),
  spread: new Float64Array(0),
  nowhere: null,
  slots: 0,
};
