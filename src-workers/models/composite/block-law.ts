import type { GroupDepth } from '../../domain/depth.ts';
import { depthTable, rowSurvivalInto } from './depth-table.ts';

/**
 * How many of a set of identical block slots, and of their groups, are still active as virtual time passes, when ended
 * blocks are not replaced. Struct of arrays over cells of virtual time; every probability is the mean over its cell.
 */
export interface ActivityProfile {
  /** Widths of the cells, iterations. */
  readonly width: Float64Array;
  /** P(a slot's block is active): some group of it has iterations left. */
  readonly block: Float64Array;
  /** E[active groups] / W_b of a slot. */
  readonly group: Float64Array;
  /** P(two given groups of a block are both active). */
  readonly pair: Float64Array;
  /** ln P(none of a slot's blocks is active), each block taken to have started for certain; at least `LOG_CERTAIN`. */
  readonly logIdle: Float64Array;
  /** Mean, variance and standard deviation of the active groups of a slot. */
  readonly active: Float64Array;
  readonly variance: Float64Array;
  readonly deviation: Float64Array;
  /** variance / P(a group has ended) per active group: 1 where groups are independent, 0 where none has ended. */
  readonly clump: Float64Array;
  /** The same of a slot whose block is active. */
  readonly own: Float64Array;
  readonly ownVariance: Float64Array;
}

/** Stands for ln 0. */
export const LOG_CERTAIN = -50;

/** ln(1 − p), at least `LOG_CERTAIN`. */
export function logNone(p: number): number {
  return p < 1 ? Math.max(LOG_CERTAIN, Math.log1p(-p)) : LOG_CERTAIN;
}

/** ∫₀^y of the three activity probabilities of a block that starts at 0; `y` in iterations, ≥ 0. */
export interface ActivityIntegrals {
  /** Writes block, group and pair integrals to `out[0..2]`. */
  at(y: number, out: Float64Array): void;
  /** Mean residual life at time `y` > 0 of a slot whose block has any age up to y alike, iterations. */
  meanResidualAt(y: number): number;
  /** P(B > y). */
  blockSurvival(y: number): number;
}

/**
 * Law of a block's life in virtual time (iterations).
 * Depends on (workload, work-group width, balancing, W_b) alone.
 */
export interface BlockLaw {
  readonly groupsPerBlock: number;
  /** Activity of a block from its start. */
  readonly fresh: ActivityProfile;
  readonly integrals: ActivityIntegrals;
  /** Edges of the cells on which activity after the last dispatch is tabulated, iterations, from 0. */
  readonly drainEdges: Float64Array;
  /** E[D], iterations. */
  readonly meanGroup: number;
  /** E[B], iterations. */
  readonly meanBlock: number;
  /** Mean over a block's life of P(two given groups are both active), times E[B], iterations. */
  readonly meanPair: number;
  /** E[B²] / 2E[B]: mean residual life of a slot that has been busy forever, iterations. */
  readonly meanResidual: number;
  /** Standard deviation of B, iterations. */
  readonly blockDeviation: number;
  /** 0…1: how much the groups of a block end together beyond its life; 0 where they are independent, 1 where all are alike. */
  readonly clumping: number;
  /** The longest life, iterations. */
  readonly longest: number;
  /** Every step of the laws is at a whole number of iterations. */
  readonly lattice: boolean;
}

/** Cells spent on the bulk of each law, and per factor of e in the block's upper tail. */
const BULK_CELLS = 8;
const TAIL_CELLS = 1;
/** Tail beyond which a block's life no longer matters, even as the longest of a million. */
const NEGLIGIBLE_TAIL = 1e-9;
/** Widest cells of the drain: this fraction of E[B], or of the time since the last dispatch. */
const DRAIN_FRACTION_OF_BLOCK = 0.2;
const DRAIN_FRACTION_OF_TIME = 0.5;

/**
 * Tabulates the life of a block of `groupsPerBlock` consecutive work groups.
 * @param depth law of the work groups
 * @param groupsPerBlock W_b, integer ≥ 1
 */
export function prepareBlockLaw(depth: GroupDepth, groupsPerBlock: number): BlockLaw {
  const table = depthTable(depth);
  const n = table.edges.length;
  // Row i holds the probabilities on [edge[i], edge[i+1]) and the integrals up to edge[i]; the last edge ends them.
  const edge = new Float64Array(n + 1);
  edge.set(table.edges, 1);
  const block = new Float64Array(n + 1);
  const group = new Float64Array(n + 1);
  const pair = new Float64Array(n + 1);
  rowSurvivalInto(block.subarray(1), table, groupsPerBlock);
  if (groupsPerBlock > 1) {
    rowSurvivalInto(group.subarray(1), table, 1);
    rowSurvivalInto(pair.subarray(1), table, 2);
    // P(both) = 2 P(one) − P(either).
    for (let i = 1; i < n; i++) pair[i] = Math.max(0, 2 * group[i] - pair[i]);
    pair[0] = 1;
  } else {
    group.set(block);
  }
  block[0] = 1;
  group[0] = 1;
  const sumBlock = new Float64Array(n + 1);
  const sumGroup = new Float64Array(n + 1);
  const sumPair = new Float64Array(n + 1);
  // ∫∫ of the block's survival.
  const sumSum = new Float64Array(n + 1);
  let secondMoment = 0;
  let together = 0;
  let apart = 0;
  for (let i = 0; i < n; i++) {
    const step = edge[i + 1] - edge[i];
    sumBlock[i + 1] = sumBlock[i] + step * block[i];
    sumGroup[i + 1] = sumGroup[i] + step * group[i];
    sumPair[i + 1] = sumPair[i] + step * pair[i];
    sumSum[i + 1] = sumSum[i] + step * (sumBlock[i] + 0.5 * step * block[i]);
    together += step * (pair[i] - group[i] * group[i]);
    apart += step * (group[i] - group[i] * group[i]);
    secondMoment += step * (edge[i + 1] + edge[i]) * block[i];
  }
  const meanBlock = sumBlock[n];
  const first = edge[1];
  const end = edge[n];
  const consecutive = end - first === n - 1;

  /** The row whose interval holds y. */
  function rowOf(y: number): number {
    if (y < first) return 0;
    if (y >= end) return n;
    if (consecutive) return 1 + Math.floor(y - first);
    let low = 1;
    let high = n;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edge[middle] <= y) low = middle;
      else high = middle;
    }
    return low;
  }

  const integrals: ActivityIntegrals = {
    at(y, out) {
      const i = rowOf(y);
      const rest = y - edge[i];
      out[0] = sumBlock[i] + rest * block[i];
      out[1] = sumGroup[i] + rest * group[i];
      out[2] = sumPair[i] + rest * pair[i];
    },
    meanResidualAt(y) {
      const i = rowOf(y);
      const rest = y - edge[i];
      const lived = sumBlock[i] + rest * block[i];
      const area = sumSum[i] + rest * (sumBlock[i] + 0.5 * rest * block[i]);
      return (y * meanBlock - area) / lived;
    },
    blockSurvival: (y) => block[rowOf(y)],
  };

  // A cell ends where the monitor has moved by 1: the same change of the laws, and of the tail's logarithm, in each.
  const ends: number[] = [];
  const monitor = (i: number): number =>
    BULK_CELLS * (2 - group[i] - block[i]) - TAIL_CELLS * Math.log(Math.max(block[i], NEGLIGIBLE_TAIL));
  let mark = monitor(0);
  for (let i = 1; i <= n; i++) {
    if (edge[i] === 0) continue;
    const here = monitor(i);
    if (i === n || here - mark >= 1) {
      ends.push(i);
      mark = here;
    }
  }
  const fresh = allocateProfile(ends.length);
  const drainEdges = [0];
  let from = 0;
  ends.forEach((to, c) => {
    const width = edge[to] - edge[from];
    fresh.width[c] = width;
    fresh.block[c] = (sumBlock[to] - sumBlock[from]) / width;
    fresh.logIdle[c] = logNone(fresh.block[c]);
    fresh.group[c] = (sumGroup[to] - sumGroup[from]) / width;
    fresh.pair[c] = (sumPair[to] - sumPair[from]) / width;
    from = to;
    let last = drainEdges[drainEdges.length - 1];
    while (last < edge[to]) {
      const widest = Math.max(DRAIN_FRACTION_OF_BLOCK * meanBlock, DRAIN_FRACTION_OF_TIME * last);
      const pieces = Math.ceil((edge[to] - last) / widest - 1e-9);
      last = pieces <= 1 ? edge[to] : last + Math.min(widest, (edge[to] - last) / pieces);
      drainEdges.push(last);
    }
  });
  countGroups(fresh, groupsPerBlock);
  return {
    groupsPerBlock,
    fresh,
    integrals,
    drainEdges: Float64Array.from(drainEdges),
    meanGroup: sumGroup[n],
    meanBlock,
    meanPair: sumPair[n],
    meanResidual: meanBlock > 0 ? secondMoment / (2 * meanBlock) : 0,
    blockDeviation: Math.sqrt(Math.max(0, secondMoment - meanBlock * meanBlock)),
    clumping: groupsPerBlock > 1 && apart > 0 ? Math.min(1, Math.max(0, together / apart)) : 0,
    longest: end,
    lattice: table.lattice,
  };
}

export function allocateProfile(cells: number): ActivityProfile {
  return {
    active: new Float64Array(cells),
    variance: new Float64Array(cells),
    deviation: new Float64Array(cells),
    clump: new Float64Array(cells),
    own: new Float64Array(cells),
    ownVariance: new Float64Array(cells),
    width: new Float64Array(cells),
    block: new Float64Array(cells),
    group: new Float64Array(cells),
    pair: new Float64Array(cells),
    logIdle: new Float64Array(cells),
  };
}

/** Fills the numbers of groups from the probabilities. */
export function countGroups(profile: ActivityProfile, groupsPerBlock: number): ActivityProfile {
  const W = groupsPerBlock;
  const { width, block, group, pair, active, variance, deviation, clump, own, ownVariance } = profile;
  for (let c = 0; c < width.length; c++) {
    const mean = W * group[c];
    const square = mean + W * (W - 1) * pair[c];
    active[c] = mean;
    variance[c] = Math.max(0, square - mean * mean);
    deviation[c] = Math.sqrt(variance[c]);
    clump[c] = mean > 0 && group[c] < 1 ? variance[c] / ((1 - group[c]) * mean) : 0;
    const given = block[c] > 0 ? 1 / block[c] : 0;
    own[c] = mean * given;
    ownVariance[c] = Math.max(0, square * given - own[c] * own[c]);
  }
  return profile;
}
