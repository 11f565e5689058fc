/**
 * Every number of the prediction that is not derived. Three kinds:
 *
 * - **fitted** on simulated launches: says on what, within which range, and what it changes;
 * - **resolution** of a table or a sample: finer costs time and changes less than the model's own error;
 * - **limit** of what is kept or computed, so that a large space cannot fill the memory.
 */
import type { Phase } from '../domain/kernel.ts';

// -- Time: fitted ------------------------------------------------------------------------------------------------------

/**
 * Waves are out of phase once 2π²·waves·(σ_B/E[B])² exceeds this. Fitted on 500 random designs (0.5 to 10 tried): below 2,
 * launches of even blocks lose the step of their last wave (up to 20 % of the time); above 3 nothing changes.
 */
export const SMEARED = 3;
/** Mean residual lives after which the ages of blocks are stationary. Fitted on 500 random designs (3 to 24 tried). */
export const RESIDUAL_LIVES = 12;
/**
 * Fewest and most waves followed one by one. Fitted on the same designs: with at most 3 instead of 48, the 95th percentile of the difference from the
 * simulation is 5.3 % instead of 3.5 %.
 */
export const SHORTEST_PHASE_MEMORY = 3;
export const LONGEST_PHASE_MEMORY = 48;
/**
 * How sharply the bound of the slowest multiprocessor fades as the ranking of the multiprocessors changes over time. Fitted on
 * 500 random designs (2 to 16 tried): without the bound, launches with a few very long units are up to 30 % early.
 */
export const ALIGNMENT_POWER = 8;
/**
 * Share of groups below the longest life from which on multiprocessors never end in step, and probability of a tie below
 * which it is not computed. Chosen, not fitted: they only save time.
 */
export const RARELY_LONGEST = 0.5;
export const NEVER_TIED = 1e-3;

// -- Time: resolution --------------------------------------------------------------------------------------------------

/** Cells spent on the bulk of each law, and per factor of e of the upper tail of a block's life. */
export const BULK_CELLS = 3;
export const TAIL_CELLS = 0.5;
/** Widest cells: this fraction of E[B], or of the time since the last dispatch. */
export const WIDEST_CELL_OF_BLOCK = 0.2;
export const WIDEST_CELL_OF_TIME = 0.5;
/** Probability of a life that no longer matters, even as the longest of a million blocks. */
export const NEGLIGIBLE_LIFE = 1e-9;
/** Ages are one record while their shares of active groups differ by less than this. */
export const AGE_STEP = 0.1;
/** Rows of the law of a sorted window per factor of e of its tail. */
export const TAIL_EDGES = 1.5;
/** Edges of a sampled law, for its groups and its blocks, and group depths that the former are picked from. */
export const GROUP_EDGES = 24;
export const BLOCK_EDGES = 48;
export const SAMPLE_QUANTILES = 128;
/** Points of the renewal grid per E[B]; in between, one per standard deviation of B. */
export const POINTS_PER_BLOCK = 8;
export const MAX_POINTS_PER_BLOCK = 20;
/** Looks at the activity of the slots per E[B]. */
export const SAMPLES_PER_BLOCK = 4;
/** Share of a slot's activity that ages are taken together up to, and widest relative span of such ages. */
export const LUMP_ACTIVITY = 0.25;
export const LUMP_SPAN = 0.4;
/** exp(−this) counts as 0. */
export const IMPOSSIBLE_LOG = 25;
/** Odds, as a logarithm, from which on something is certain. */
export const ALL_BUT_CERTAIN = 20.7;
/** Probability that any block of the device is active below which no two are. */
export const AT_MOST_ONE_ACTIVE = 1e-2;
/** Multiprocessors of a wave of known blocks that are computed in full. */
export const SLOWEST_CANDIDATES = 6;

// -- Depth: resolution -------------------------------------------------------------------------------------------------

/** A depth law of no more rows than this is kept as it is. */
export const DEPTH_ROWS = 48;
/** Groups of the largest block whose law steers where the rows are fine. */
export const LARGE_BLOCK = 32;
/** Tail beyond which a depth no longer matters, even as the longest of a million. */
export const NEGLIGIBLE_DEPTH = 1e-10;
/** Bounds of ln(−ln P(ended)) in a table. Chosen: beyond them a block has some group left, or none, almost surely. */
export const HIGHEST_LOG = 4;
export const LOWEST_LOG = -60;
/** Atoms kept of a law. Chosen: a mean depth moves by less than 1e-3 of itself. */
export const MAX_POINTS = 512;

// -- Depth: starts of units out of step. Resolution, except where it says fitted ---------------------------------------

/** Standard deviation of lengths, iterations, below which lanes start in step. */
export const IN_STEP_DEVIATION = 0.05;
/** Deviations of a sum of lengths that are followed beyond its mean. */
export const SUM_REACH = 6;
/** Points of the transforms that count starts, and fewest rounds followed where that is too few. */
export const START_POINTS = 2 ** 14;
export const MIN_FOLLOWED_ROUNDS = 4;
/** Units per fetching lane that are followed, and fewest. */
export const FETCHED_ROUNDS = 48;
export const MIN_FETCHED_ROUNDS = 12;
/** Spectrum below which starts have settled. */
export const DAMPED_SPECTRUM = 1e-7;
/** Rounds overlap once their deviation is this part of the mean. Fitted on played groups (0.5 to 1 tried): starts within 6 %. */
export const OVERLAPPING_ROUNDS = 0.75;
/** Rounds of independent lanes that are followed. Chosen: later rounds all add what the last one followed does. */
export const FOLLOWED_ROUNDS = 32;
/** Rounds of normal lengths that are followed. */
export const MAX_FOLLOWED_ROUNDS = 64;

// -- Depth: lanes that fetch. Resolution -----------------------------------------------------------------------------------

/** Points of the lattice that the renewal equation of a lane runs on. */
export const FETCH_LATTICE_POINTS = 300;
/** Steps after which the rate of starts counts as settled, whether it is or not (nearly equal lengths). */
export const LONGEST_TRANSIENT = 4096;
/** The law of the time at which the units run out is cut into parts of at most this probability and, except in its tails, at most this many times mean and deviation of a length; each part has its own law of residual lives. */
export const PART_PROBABILITY = 1 / 6;
export const PART_WIDTH = 1 / 4;
/** Probability of a tail of that law, and standard deviations after which it is cut. */
export const TAIL_PROBABILITY = 1e-3;
export const TIME_REACH = 6.4;

/** Units of a given order that played groups fetch, and fewest such groups; and units fetched last that are looked at. */
export const PLAYED_UNITS = 2 ** 14;
export const MIN_PLAYED_GROUPS = 4;
export const LAST_LIVES = 2 ** 16;

// -- Depth: laws of sums. Resolution ---------------------------------------------------------------------------------------

/** Terms of comparable variance from which on a sum is a Pearson III law of its first three cumulants, its largest skewness, and draws from which on it is whatever the skewness. */
export const SMOOTH_TERMS = 16;
export const SMOOTH_SKEWNESS = 0.5;
export const SMOOTH_DRAWS = 256;
/** Lattice points of the transforms of other sums. */
export const TRANSFORM_POINTS = 1024;
/** Skewness beyond which the normal grid does not resolve a Pearson III law; mean and deviation are still met. */
export const LARGEST_SKEWNESS = 4;
/** Base of Wilson and Hilferty's cube below which it is 0. Chosen: the cube is far below the sum's rounding. */
export const LOWEST_CUBE_BASE = 1e-4;
/** −ln of the probability that a sum may have beyond either end of its window. Chosen: e⁻²³ is 1e-10, as for depths. */
export const WINDOW_INFORMATION = 23;
/** Part of the last window that the next must be below for the search to go on. Chosen: it only saves time. */
export const WORTHWHILE_WINDOW = 0.99;
/** Units of a window from which on it counts as a full sort: its loss is below 1.001 for any group that fits a device. */
export const LARGEST_WINDOW_UNITS = 2 ** 20;
/** Laws of flattened lanes that are kept: some hundred kilobytes each with many buckets. */
export const KEPT_LANE_LAWS = 96;
/** Numbers of the depths that are kept of a law of lengths: the geometric example has between 2**20 and 2**21. */
export const KEPT_DEPTH_NUMBERS = 2 ** 21;
/** Atoms kept of the sum of a lane for its mean loss: enough for three digits. */
export const LOSS_POINTS = 192;
/** Size of the terms that a mean loss by moments may leave out: the error was below twice that in all laws tried. */
export const LARGEST_MOMENT_TERM = 1e-4;

// -- Dealing: resolution -----------------------------------------------------------------------------------------------

/** Units per slot up to which slots with one unit more than others are computed apart. */
export const COUNTED_UNITS = 12;
/**
 * Laws per factor of two of the units per slot beyond that, for rounds of buckets, and for fetched units: a law stands for
 * means at most 6, 1.6 and 3 % away.
 */
export const DEALT_STEPS_PER_OCTAVE = 6;
export const BUCKET_STEPS_PER_OCTAVE = 32;
export const FETCHED_STEPS_PER_OCTAVE = 12;
/** Share of the blocks, the last ones, whose missing unit is not worth a law. */
export const NEGLIGIBLE_BLOCKS = 1 / 64;
/** Groups of a device that fetch from one counter: beyond some hundreds their number no longer matters. */
export const FETCHING_GROUPS = 1024;
/** Lengths kept of a sorted order: all of them, or evenly spaced ranks of as many windows as fit. */
export const ORDER_LENGTHS = 2 ** 18;
/** Units of a given order that a balancing puts in order for all of its repetitions; more where the workload's own lengths are more. */
export const GIVEN_UNITS = 2 ** 18;
/** Groups of a launch up to which every block is known; of larger launches a sample is. */
export const KNOWN_GROUPS = 10_240;
/** The most groups of all rounds (units / n) for which every block is computed. */
export const KNOWN_LOOKUPS = 2 ** 16;
/** Lengths looked up for a sample; over the rounds, that gives its number of groups. */
export const SAMPLED_LOOKUPS = 4096;
/** Fewest and most groups of a sample. */
export const MIN_SAMPLED_GROUPS = 160;
export const MAX_SAMPLED_GROUPS = 480;
/** Fewest and most blocks of a sample. */
export const MIN_SAMPLED_BLOCKS = 48;
export const MAX_SAMPLED_BLOCKS = 256;
/** Blocks that a sample is chosen from, and the longest of them, which are kept one by one. */
export const SAMPLE_CANDIDATES = 256;
export const LONGEST_SAMPLED_BLOCKS = 16;
/** Of units that are all sorted: blocks from one of a sample to the next, as a part of those that are longer. */
export const LONGEST_SPACING = 0.25;
/** Of a sorted order with more units than lengths are kept of: the longest, which are all kept. */
export const LONGEST_UNITS = 4096;
/** Steps per iteration in which candidates are ranked. Chosen: nearer blocks are as good as one another. */
export const BOUND_STEPS = 16;
/** Groups of a block that are computed where depths rise steadily. */
export const STEADY_GROUPS = 4;
/** Units looked at to count setups of lanes out of step, and bins of depth that groups are sorted into for that. */
export const SETUP_LOOKUPS = 2 ** 15;
export const SETUP_BINS = 12;
/** Groups of a launch in a given order of which all are known; of more, some of its blocks stand for all. */
export const MAX_GIVEN_GROUPS = 2 ** 17;
/** Lengths, or longest of n, that are looked up for it; of more some rounds or groups stand for all, the former where these remain. */
export const MAX_GIVEN_LOOKUPS = 2 ** 22;
export const MIN_GIVEN_ROUNDS = 64;
/** Lengths looked up to count the setups of lanes out of step: of a launch that is played, and of a sample. */
export const GIVEN_SETUP_LOOKUPS = 2 ** 16;
export const SAMPLED_SETUP_LOOKUPS = 2 ** 12;
/** Lengths looked up for a bound of the depths of flattened loops, fewest and most groups, and how many standard errors it is below their mean. */
export const BOUND_LOOKUPS = 2 ** 14;
export const MIN_BOUND_GROUPS = 24;
export const MAX_BOUND_GROUPS = 128;
export const BOUND_ERRORS = 4.5;
/** Depths kept of the flattened loops over an order: the Collatz example has about as many. */
export const KEPT_LANE_DEPTHS = 2 ** 22;
/** Starts of units looked up for a launch of even shares. */
export const MAX_SHARE_LOOKUPS = 2 ** 20;
/** Lanes that are added up side by side. It only saves time. */
export const LANES_AT_ONCE = 2 ** 11;
/** Groups of known blocks, and fewest blocks, from which a law is made. */
export const MAX_LAW_GROUPS = 2 ** 11;
export const MIN_GIVEN_BLOCKS = 48;
/** Lengths, or longest of n, looked up for such a law. */
export const LAW_LOOKUPS = 2 ** 13;
/** Lanes whose lengths are added up in about the time of one look-up of the longest of n. */
export const LANES_OF_LOOKUP = 8;
/** Groups with the longest units of an order, whose blocks are certain to be in a sample. */
export const LONGEST_GROUPS = 8;
/** Groups of a launch in a given order up to which it is played, block by block. */
export const PLAYED_GROUPS = 2 ** 13;
/** A larger one is played only where the mean depths of this many parts of it deviate by more than this from their mean. */
export const TREND_PARTS = 16;
export const TREND = 0.1;
/** Bins of the longest life of a block, and three more, in which active groups are counted up to the last dispatch. A power of two. */
export const LIFE_BINS = 128;
/** Orders of blocks that a wave of fully sorted units is averaged over: an order and its reverse. */
export const BLOCK_ORDERS = 2;

// -- Design: resolution ----------------------------------------------------------------------------------------------------

/** Lengths of the law that classes are chosen on, those at which they may be cut, and the block whose threads share a unit where the best classes are looked for. */
export const CLASS_POINTS = 192;
export const CLASS_CUTS = 24;
export const NOMINAL_BLOCK = 256;

// -- Design: chosen ----------------------------------------------------------------------------------------------------

/** Shared memory of a thread group for its part of a unit that several share, bytes: one value in double precision. */
export const REDUCTION_BYTES = 8;

/**
 * Combining the results of thread groups that share a unit, once a unit: a store to shared memory, a barrier, a load and a second barrier, with
 * the addresses. Counted by hand, assumed for every kernel.
 */
export const WIDE_COMBINE: Phase = { instructions: 15, dependentExchanges: 4 };

/**
 * The shortest time of a kernel on a device of which it is not measured, ms. Assumed: an empty kernel takes 2 to 3 µs on current devices; the
 * products of `db/evidence` take 2 µs and more, however small the matrix.
 */
export const LAUNCH_FLOOR_MS = 0.0025;

/**
 * Bandwidth that a kernel achieves over that of the data sheet. Assumed for devices whose own nobody measured: the
 * median of 41 fits to the SpMV times of `db/evidence`, over kernels and GPUs; four of five are from 0.38 to 0.90.
 */
export const ACHIEVED_BANDWIDTH = 0.67;

// -- Limits ------------------------------------------------------------------------------------------------------------

/** Numbers of a piece of memory for block laws. */
export const SLAB_LENGTH = 1 << 15;
/** What a worker keeps of its laws. */
export interface CacheLimits {
  /** Some ten kilobytes each. */
  readonly depthLaws: number;
  /** Pieces of memory for block laws. */
  readonly slabs: number;
  /** Numbers of sorted launches. */
  readonly launchNumbers: number;
}
/** A sweep passes every design once: block laws stay in a core's cache. */
export const SWEEP_LIMITS: CacheLimits = { depthLaws: 384, slabs: 8, launchNumbers: 2 ** 21 };
/**
 * Advice predicts the same designs after every edit, most of which leave the laws as they are. Enough for all laws of any example study
 * in one worker: 240 MB for the largest, of which each of several workers has a part.
 */
export const ADVICE_LIMITS: CacheLimits = { depthLaws: 4096, slabs: 1024, launchNumbers: 2 ** 23 };
/** Entries kept of a CPU's ordered lengths: partitions read all of them for every number of cores. */
export const MAX_ENTRIES = 2 ** 20;

// -- What people are shown. Chosen -----------------------------------------------------------------------------------------

/** Share of a launch's time from which on a breakdown names the longest unit as the reason for it. */
export const LONGEST_SHARE = 0.5;
/** Probability, and its complement, that a few replications cannot distinguish from 0: then the longest unit is settled. */
export const OPEN_PROBABILITY = 1e-3;
