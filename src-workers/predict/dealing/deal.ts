import type { LoopForm } from '../../domain/kernel.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { findLargest } from '../../numeric/compact.ts';

/** Lengths that are read for a lower bound of the depths of flattened loops (`findSureTotal`). */
const BOUND_LOOKUPS = 2 ** 14;
const MIN_BOUND_GROUPS = 24;
const MAX_BOUND_GROUPS = 128;
/** Standard errors by which the bound of `findSureTotal` is below the mean of its sample. */
const BOUND_ERRORS = 4.5;

/**
 * The way in which a launch deals its units to its slots, for the prediction and the simulator. A slot is u threads
 * that share a unit. In round j, slot s takes the unit at position j·slots + s of the order (a grid-stride loop).
 */
export interface Dealing {
  /** ≥ 1. Slots beyond the last unit are empty. */
  readonly units: number;
  /** n: slots of a work group, which run in lockstep. */
  readonly unitsPerGroup: number;
  readonly groupsPerBlock: number;
  /** Fewer than n·groupsPerBlock if the last group of a block is not full. */
  readonly slotsPerBlock: number;
  readonly gridBlocks: number;
  readonly loop: LoopForm;
  /** Setup iterations before the first iteration of each unit, ≥ 0. The whole group runs them if any lane does. */
  readonly setupIterations: number;
}

export interface UnitOrder {
  /** Returns the length of the unit at a position, iterations. A simulation asks once for each position. */
  lengthAt(position: number): number;
  readonly lengthsInto?: (out: Float64Array, position: number, count: number) => void;
  longestSum(first: number, count: number, stride: number): number;
  /** Whether the lengths of a round's `count` units never decrease. The loop's form then matters only for setups. */
  ascends(first: number, count: number, stride: number): boolean;
}

/** Adds up the longest of the `count` units that begin at `first`, `first` + `stride`, …, before position `units`. */
export function sumLongest(
  longestOf: (position: number, count: number) => number,
  units: number,
  first: number,
  count: number,
  stride: number,
): number {
  let sum = 0;
  for (let position = first; position < units; position += stride)
    sum += longestOf(position, Math.min(count, units - position));
  return sum;
}

export interface DealingScratch {
  readonly lanes: Float64Array;
  /** Entry i: the end of the class (neighbouring lanes with the same work) that begins at lane i. */
  readonly classEnds: Int32Array;
  readonly round: Float64Array;
  /** Entry i < `SMALL_STARTS`: the number of the last group that starts a unit at iteration i. */
  readonly smallStarts: Int32Array;
  starts: Float64Array;
  /** The number of the group to which each entry of `starts` belongs. */
  startsOf: Int32Array;
  group: number;
  count: number;
}

/** Most starts are at whole iterations below this. They are marked in an array, because hashing would be slower. */
const SMALL_STARTS = 4096;
const MAX_GROUP = 2 ** 31 - 1;
/** Initial capacity of the set of starts beyond `SMALL_STARTS`. Most groups need less. */
const FIRST_STARTS = 256;

const scratches = new Map<number, DealingScratch>();

export function getDealingScratch({ unitsPerGroup }: Pick<Dealing, 'unitsPerGroup'>): DealingScratch {
  return getOrMake(scratches, unitsPerGroup, () => ({
    lanes: new Float64Array(unitsPerGroup),
    classEnds: new Int32Array(unitsPerGroup),
    round: new Float64Array(unitsPerGroup),
    smallStarts: new Int32Array(SMALL_STARTS),
    starts: new Float64Array(FIRST_STARTS),
    startsOf: new Int32Array(FIRST_STARTS),
    group: 0,
    count: 0,
  }));
}

export function beginGroup(scratch: DealingScratch): void {
  if (scratch.group === MAX_GROUP) {
    scratch.smallStarts.fill(0);
    scratch.startsOf.fill(0);
    scratch.group = 0;
  }
  scratch.group += 1;
  scratch.count = 0;
}

/** Adds an iteration to the current group's set of starts. Returns 1 if it is new, otherwise 0. */
export function addStart(scratch: DealingScratch, iteration: number): number {
  const { smallStarts, starts, startsOf, group } = scratch;
  const small = iteration | 0;
  if (small === iteration && small < SMALL_STARTS) {
    if (smallStarts[small] === group) return 0;
    smallStarts[small] = group;
    return 1;
  }
  const mask = starts.length - 1;
  // Fibonacci hashing of the whole part of the iteration. Fractional starts with the same whole part collide.
  let at = (Math.imul(iteration, 0x9e3779b1) >>> 12) & mask;
  for (; startsOf[at] === group; at = (at + 1) & mask) if (starts[at] === iteration) return 0;
  startsOf[at] = group;
  starts[at] = iteration;
  scratch.count += 1;
  // Half of the entries stay empty, since a probe ends at an empty entry.
  if (2 * scratch.count > starts.length) growStarts(scratch);
  return 1;
}

function growStarts(scratch: DealingScratch): void {
  const { starts, startsOf, group } = scratch;
  scratch.starts = new Float64Array(2 * starts.length);
  scratch.startsOf = new Int32Array(2 * starts.length);
  scratch.count = 0;
  starts.forEach((start, at) => startsOf[at] === group && addStart(scratch, start));
}

/** Whether lanes of a group may start units at different iterations, so that it runs several setups per round. */
export function hasDivergentSetup({ loop, setupIterations, unitsPerGroup }: Dealing): boolean {
  return loop === 'flattened' && setupIterations > 0 && unitsPerGroup > 1;
}

/**
 * Computes the depth of one work group, iterations, including setup. A nested loop adds up the longest unit of each
 * round. A flattened loop takes as long as the lane with the most work, and the group runs the setup at every iteration
 * at which any lane starts a unit.
 */
export function computeGroupDepth(
  order: UnitOrder,
  dealing: Dealing,
  block: number,
  group: number,
  scratch: DealingScratch,
): number {
  const { units, unitsPerGroup: n, slotsPerBlock, gridBlocks, loop, setupIterations } = dealing;
  const slots = slotsPerBlock * gridBlocks;
  const first = block * slotsPerBlock + group * n;
  const filled = Math.min(n, slotsPerBlock - group * n);
  const countStarts = hasDivergentSetup(dealing);
  if (loop === 'nested' || (!countStarts && order.ascends(first, filled, slots))) {
    const rounds = Math.max(0, Math.ceil((units - first) / slots));
    return order.longestSum(first, filled, slots) + setupIterations * rounds;
  }
  const { lanes } = scratch;
  lanes.fill(0);
  beginGroup(scratch);
  if (countStarts && order.ascends(first, filled, slots))
    return computeAscendingDepth(order, dealing, first, filled, scratch);
  let rounds = 0;
  let starts = 0;
  for (let position = first; position < units; position += slots, rounds++) {
    for (let lane = 0; lane < filled && position + lane < units; lane++) {
      if (countStarts) starts += addStart(scratch, lanes[lane]);
      lanes[lane] += order.lengthAt(position + lane);
    }
  }
  let depth = 0;
  for (let lane = 0; lane < filled; lane++) if (lanes[lane] > depth) depth = lanes[lane];
  return depth + setupIterations * (countStarts ? starts : rounds);
}

/**
 * Computes the depth of a flattened loop as `computeGroupDepth` does, if lengths never decrease from lane to lane.
 * Neighbouring lanes with the same work form a class, which is followed as one lane until their next lengths differ.
 */
function computeAscendingDepth(
  order: UnitOrder,
  { units, slotsPerBlock, gridBlocks, setupIterations }: Dealing,
  first: number,
  filled: number,
  scratch: DealingScratch,
): number {
  // The first lane of a class stores the work of the class and its end.
  const { lanes, classEnds, round } = scratch;
  classEnds[0] = filled;
  let starts = 0;
  for (let position = first; position < units; position += slotsPerBlock * gridBlocks) {
    const end = Math.min(filled, units - position);
    if (order.lengthsInto) order.lengthsInto(round, position, end);
    else for (let lane = 0; lane < end; lane++) round[lane] = order.lengthAt(position + lane);
    for (let from = 0, to: number; from < end; from = to) {
      const work = lanes[from];
      to = Math.min(end, classEnds[from]);
      starts += addStart(scratch, work);
      if (to < classEnds[from]) {
        // The other lanes of the class have no unit in the last round.
        lanes[to] = work;
        classEnds[to] = classEnds[from];
      }
      classEnds[from] = to;
      let length = round[from];
      lanes[from] = work + length;
      if (round[to - 1] === length) continue;
      for (let lane = from + 1, start = from; lane < to; lane++) {
        const own = round[lane];
        if (own === length) continue;
        classEnds[start] = lane;
        start = lane;
        length = own;
        lanes[lane] = work + own;
        classEnds[lane] = to;
      }
    }
  }
  let depth = 0;
  for (let from = 0; from < filled; from = classEnds[from]) depth = Math.max(depth, lanes[from]);
  return depth + setupIterations * starts;
}

/** Makes a counter of the iterations in which any lane of a group starts a unit. `depth` is without setups. */
export function createStartCounter(
  order: UnitOrder,
  dealing: Dealing,
): (block: number, group: number) => { readonly depth: number; readonly starts: number } {
  const counting: Dealing = { ...dealing, setupIterations: 1 };
  const scratch = getDealingScratch(counting);
  return (block, group) => {
    const withStarts = computeGroupDepth(order, counting, block, group, scratch);
    const depth = findLargest(scratch.lanes);
    return { depth, starts: withStarts - depth };
  };
}

export function countBoundGroups({ units, unitsPerGroup, groupsPerBlock, slotsPerBlock, gridBlocks }: Dealing): number {
  const lookups = unitsPerGroup * Math.ceil(units / (slotsPerBlock * gridBlocks));
  const wanted = Math.min(MAX_BOUND_GROUPS, Math.max(MIN_BOUND_GROUPS, Math.floor(BOUND_LOOKUPS / lookups)));
  return Math.min(gridBlocks * groupsPerBlock, wanted);
}

/** Returns an almost certain lower bound of the total over all groups, from the values of some or all groups. */
export function findSureTotal(sample: Float64Array, groups: number): number {
  let sum = 0;
  for (const value of sample) sum += value;
  if (sample.length === groups) return sum;
  const mean = sum / sample.length;
  let squares = 0;
  for (const value of sample) squares += (value - mean) ** 2;
  const error = Math.sqrt(squares / (sample.length - 1) / sample.length);
  return groups * Math.max(0, mean - BOUND_ERRORS * error);
}
