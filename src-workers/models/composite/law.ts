import type { Arena } from './arena.ts';
import type { Population } from './population.ts';
import type { ActivityProfile } from './profile.ts';

/**
 * Law of a block's life in virtual time (iterations).
 * Depends on (workload, work-group width, balancing, W_b) alone.
 */
export interface BlockLaw {
  readonly groupsPerBlock: number;
  /** Share of the lanes of a block's last group that have units, 0…1 without 0. */
  readonly lastFilled: number;
  /** Where its arrays live, those that are asked for later too. */
  readonly arena: Arena;
  /** Records of `ROW_FIELDS` numbers, one per step of the laws: see `integralsInto`. */
  readonly rows: Float64Array;
  /** Edges of the cells on which activity is tabulated, iterations, from 0. */
  readonly edges: Float64Array;
  /** Activity of a block from its start. */
  readonly fresh: ActivityProfile;
  /** Where its group is in its life, for a slot that has been busy forever: records of weight, E[active groups] and their variance. */
  readonly ages: Float64Array;
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
  /** The longest life that is not negligibly rare, iterations, and the probability that a group has it or one next to it. */
  readonly top: number;
  readonly topShare: number;
  /** Every step of the laws is at a whole number of iterations. */
  readonly lattice: boolean;
  /** The blocks of the launch; `null` where they are draws from this law. */
  readonly population: Population | null;
  /** Activity of a slot that has been busy forever, once asked for: see `agedProfile`. */
  stationary: ActivityProfile | null;
  /** Its renewal process, once asked for: see `renewalOf`. */
  renewal: Renewal | null;
}

/**
 * The renewal process of a block slot that is refilled the moment its block ends: how many blocks start at each point of
 * a grid of virtual time, per slot. Grown on demand; what is computed never depends on the order of the questions.
 */
export interface Renewal {
  readonly law: BlockLaw;
  /** Spacing of the grid, iterations. */
  readonly step: number;
  /** Points after which the process is as good as stationary. */
  readonly points: number;
  /** The same in blocks per slot. */
  readonly waves: number;
  /** Expected starts of a slot at each grid point; `starts[0]` ≥ 1. Valid below `known`. */
  starts: Float64Array;
  /** Expected starts up to and including each point. */
  started: Float64Array;
  known: number;
  /** P(B > i·step). */
  readonly alive: Float64Array;
  /** P(B = i·step) once lives are rounded to the grid, and the first and last i for which it is anything. */
  readonly masses: Float64Array;
  readonly firstMass: number;
  readonly lastMass: number;
  /**
   * Means over [i·step, (i+1)·step) of P(group active), P(two groups active), and the square of the first given that the
   * block is active; and the sum of the first before i: four numbers each.
   */
  readonly ages: Float64Array;
  /** Means over the slots at every so many points: `SAMPLE_FIELDS` numbers each. Valid below `sampled`. */
  samples: Float64Array;
  sampled: number;
  readonly pointsPerSample: number;
  /** Last dispatches that were asked for, by their point. */
  readonly dispatches: Map<number, Dispatch>;
}

/** The launch up to a point of the renewal, and what is left of the blocks that started before it. */
export interface Dispatch {
  /** Time spent at about the same activity: records of `PHASE_FIELDS` numbers. */
  readonly phases: Float64Array;
  /** Mean P(block, group, two groups active) of a slot in each cell after the point: three numbers each. */
  readonly left: Float64Array;
  /** With the blocks that start at the point itself, `startedThere` of a block per slot. */
  readonly profile: ActivityProfile;
  startedThere: number;
}
