import { take, type Arena } from './arena.ts';

/**
 * Activity of identical block slots in virtual time (iterations), if no new block replaces one that has ended. The time
 * is divided into cells, with a record of `CELL_FIELDS` numbers each. Probabilities are means over the cell.
 */
export interface ActivityProfile {
  readonly groupsPerBlock: number;
  readonly cells: number;
  readonly data: Float64Array;
}

/** The constants below are the positions of the numbers in a cell's record. */
export const CELL_FIELDS = 11;
/** Width of the cell, iterations. */
export const WIDTH = 0;
/** P(a block slot is active): any group of its block has iterations left. */
export const BLOCK = 1;
/** `ACTIVE` divided by `groupsPerBlock`. */
export const GROUP = 2;
/** P(two different groups of a block are both active). */
export const PAIR = 3;
/** Mean number of active groups of a block slot. */
export const ACTIVE = 4;
export const VARIANCE = 5;
export const DEVIATION = 6;
/** ln P(a block slot is not active), at least `LOG_CERTAIN`. */
export const LOG_IDLE = 7;
/** Mean number of active groups of an active block slot. */
export const OWN = 8;
/** Variance of the number of active groups of an active block slot. */
export const OWN_VARIANCE = 9;
/**
 * P(another group of the block has ended | a group is active) = p, 0…1. For w active groups on all q schedulers, of
 * which wₛ are on one of them: Var(q·wₛ) = Var(w) + p·(q − 1)·E[w].
 */
export const APART = 10;

/** The value that represents ln 0. */
export const LOG_CERTAIN = -50;

export function allocateProfile(arena: Arena, cells: number, groupsPerBlock: number): ActivityProfile {
  return { groupsPerBlock, cells, data: take(arena, cells * CELL_FIELDS) };
}

/** Computes `APART`, 0…1. If a block has a single group, the other groups of a scheduler belong to other blocks. */
export function computeApart(W: number, group: number, pair: number): number {
  return Math.max(0, 1 - (W === 1 ? group : pair / group));
}

export function completeCells({ groupsPerBlock: W, cells, data }: ActivityProfile): void {
  for (let at = 0, end = cells * CELL_FIELDS; at < end; at += CELL_FIELDS) {
    const block = data[at + BLOCK];
    const group = data[at + GROUP];
    const pair = data[at + PAIR];
    const active = W * group;
    const square = active + W * (W - 1) * pair;
    const variance = Math.max(0, square - active * active);
    data[at + APART] = group > 0 ? computeApart(W, group, pair) : 0;
    data[at + ACTIVE] = active;
    data[at + VARIANCE] = variance;
    data[at + DEVIATION] = Math.sqrt(variance);
    // Below 1e-4, two terms of the series of ln(1 − x) are exact to 1e-8.
    data[at + LOG_IDLE] =
      block < 1e-4 ? -block * (1 + 0.5 * block) : block < 1 ? Math.max(LOG_CERTAIN, Math.log(1 - block)) : LOG_CERTAIN;
    if (block > 0) {
      const own = active / block;
      data[at + OWN] = own;
      data[at + OWN_VARIANCE] = Math.max(0, square / block - own * own);
    } else {
      data[at + OWN] = 0;
      data[at + OWN_VARIANCE] = 0;
    }
  }
}
