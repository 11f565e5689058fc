import type { ActivityProfile } from './activity.ts';
import type { Arena } from './arena.ts';
import type { SchedulerShares } from './join.ts';

/**
 * Law of a block's life B in virtual time (iterations): the time for which the block occupies its block slot, and the
 * number of its active groups. Launches with different paces can share this law.
 */
export interface BlockLaw {
  readonly groupsPerBlock: number;
  /** Share of the lanes of a block's last group that have units, 0 < … ≤ 1. */
  readonly lastFilled: number;
  /** Whether the blocks of a launch have exactly the frequencies of the law; otherwise they are draws. */
  readonly isExact: boolean;
  readonly arena: Arena;
  /** Records of `ROW_FIELDS` numbers, one for each step of the law; see `writeIntegralsInto`. */
  readonly rows: Float64Array;
  /** Edges of the cells on which activity is tabulated, iterations, from 0. */
  readonly edges: Float64Array;
  /** Activity of a block from its start. */
  readonly fresh: ActivityProfile;
  /** Ages that the block of a block slot may have after a very long time: records of `AGE_FIELDS` numbers. */
  readonly ages: Float64Array;
  /** Mean depth of a group, iterations. */
  readonly meanGroup: number;
  /** Mean life of a block, iterations. */
  readonly meanBlock: number;
  /** ∫ P(two different groups of a block are both active) dv, iterations. */
  readonly meanPair: number;
  /** E[B²] / 2E[B]: mean residual life in a block slot that has always been busy, iterations. */
  readonly meanResidual: number;
  readonly blockDeviation: number;
  readonly longest: number;
  /** The longest life whose probability is not negligible, iterations. */
  readonly top: number;
  /** P(a group lives as long as `top`). */
  readonly topShare: number;
  /** P(a block lives as long as `top`). */
  readonly topBlockShare: number;
  /** Whether every step of the law is at a whole number of iterations. */
  readonly lattice: boolean;
  /** Activity of a block slot that has always been busy; made on demand by `getStationaryProfile`. */
  stationary: ActivityProfile | null;
  renewal: Renewal | null;
  shares: SchedulerShares | null;
}

/** A block slot that is refilled whenever its block ends. The grid of virtual time grows on demand. */
export interface Renewal {
  readonly law: BlockLaw;
  /** Spacing of the grid, iterations. */
  readonly step: number;
  /** After this many points, the process is assumed to be stationary. */
  readonly points: number;
  /** Expected number of blocks that start in a block slot at each grid point; `starts[0]` ≥ 1. Valid below `known`. */
  starts: Float64Array;
  started: Float64Array;
  known: number;
  /** P(a block lives longer than i·step). */
  readonly alive: Float64Array;
  /** P(a block lives for i·step), with lives rounded to the grid. */
  readonly masses: Float64Array;
  /** The first i > 0 at which a life can end. */
  readonly firstMass: number;
  readonly lastMass: number;
  /**
   * For each cell: means of P(group active) and P(two groups active), then the sum of P(group active) before the cell.
   */
  readonly ages: Float64Array;
  /** Means of P(group active) and of P(two groups active) at each `pointsPerSample`-th point. Valid below `sampled`. */
  samples: Float64Array;
  sampled: number;
  readonly pointsPerSample: number;
  readonly dispatches: Map<number, Dispatch>;
}

/** The launch up to its last dispatch, and the blocks that still run at that time. */
export interface Dispatch {
  /** Phases of the time up to the dispatch: `PHASE_FIELDS` numbers each. */
  readonly phases: Float64Array;
  /**
   * For each later cell: P(block active), P(group active), P(two groups active), summed over a slot's earlier blocks.
   */
  readonly left: Float64Array;
  /** Profile of `left` plus the blocks that start at the dispatch itself (`startedThere` per block slot). */
  readonly profile: ActivityProfile;
  startedThere: number;
}
