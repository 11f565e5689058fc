import type { LoopForm } from '../../domain/kernel.ts';

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

/** Groups of a launch that are followed one by one; of more a sample is. */
const MOST_GROUPS = 10_240;

/** Whether a group's units are always of one window. */
export function isWithinWindows(window: number, { unitsPerGroup, slotsPerBlock }: Dealing): boolean {
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

/** Cuts the groups of a block into at most `most` runs of about equal length, and the last group by itself. */
export function groupCounts(groups: number, most: number): Int32Array {
  const inner = Math.min(groups, most) - 1;
  const upTo = (v: number): number => (inner === 0 ? 0 : Math.floor((v * (groups - 1)) / inner));
  return Int32Array.from({ length: inner + 1 }, (_, v) => (v === inner ? 1 : upTo(v + 1) - upTo(v)));
}

/** The means of the runs of a sorted row. */
export function keepRow(out: Float64Array, at: number, counts: Int32Array, row: Float64Array): void {
  for (let k = 0, g = 0; k < counts.length; k++) {
    let sum = 0;
    for (const to = g + counts[k]; g < to; g++) sum += row[g];
    out[at + k] = sum / counts[k];
  }
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
