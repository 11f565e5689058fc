/**
 * Every number of the prediction that is not derived. There are three kinds:
 *
 * - **fitted** on simulated launches: the comment says on what, within which range, and what the number changes;
 * - **resolution** of a table or a sample: a finer one costs time and changes less than the model's own error;
 * - **limit** of what is kept or computed, so that a large space cannot fill the memory.
 */
import type { Phase } from '../domain/kernel.ts';

// -- Time: fitted --

/**
 * Waves are out of phase once 2π²·waves·(σ_B/E[B])² exceeds this. Fitted on 500 random designs (0.5 to 10 tried): below
 * 2, launches of even blocks lose the step of their last wave (up to 20 % of the time); above 3 nothing changes.
 */
export const SMEARED = 3;
/** The ages of blocks are stationary after this many mean residual lives. Fitted on 500 random designs (3–24 tried). */
export const RESIDUAL_LIVES = 12;
/** The fewest waves that are followed one by one. */
export const SHORTEST_PHASE_MEMORY = 3;
/**
 * The most waves that are followed one by one. Fitted on the same designs: with 3 instead of 48, the 95th percentile of
 * the difference from the simulation is 5.3 % instead of 3.5 %.
 */
export const LONGEST_PHASE_MEMORY = 48;
/**
 * How sharply the bound of the slowest multiprocessor fades as the ranking of the multiprocessors changes over time.
 * Fitted on 500 random designs (2 to 16 tried): without the bound, launches with a few very long units are up to 30 %
 * early.
 */
export const ALIGNMENT_POWER = 8;
/**
 * Multiprocessors never end in step where a larger share of their groups than this lives less than the longest life.
 * Chosen: it only saves time.
 */
export const RARELY_LONGEST = 0.5;
/** A tie below this probability is not computed. Chosen: it only saves time. */
export const NEVER_TIED = 1e-3;

// -- Time: resolution --

/** Cells for the bulk of each law. */
export const BULK_CELLS = 3;
/** Cells for each factor of e in the upper tail of a block's life. */
export const TAIL_CELLS = 0.5;
/** The widest cell, as a fraction of E[B]. */
export const WIDEST_CELL_OF_BLOCK = 0.2;
/** The widest cell, as a fraction of the time since the last dispatch. */
export const WIDEST_CELL_OF_TIME = 0.5;
/** A life with this probability no longer matters, even as the longest of a million blocks. */
export const NEGLIGIBLE_LIFE = 1e-9;
/** Ages share a record while their shares of active groups differ by less than this. */
export const AGE_STEP = 0.1;
/** Rows of a sorted window's law for each factor of e in its tail. */
export const TAIL_EDGES = 1.5;
/** Edges of a sampled law for its groups. */
export const GROUP_EDGES = 24;
/** Edges of a sampled law for its blocks. */
export const BLOCK_EDGES = 48;
/** Group depths from which the edges for groups are picked. */
export const SAMPLE_QUANTILES = 128;
/** Points of the renewal grid for each E[B], at least; there is one for each standard deviation of B. */
export const POINTS_PER_BLOCK = 8;
/** Points of the renewal grid for each E[B], at most. */
export const MAX_POINTS_PER_BLOCK = 20;
/** Samples of the activity of the slots for each E[B]. */
export const SAMPLES_PER_BLOCK = 4;
/** Ages are lumped up to this share of a slot's activity. */
export const LUMP_ACTIVITY = 0.25;
/** Ages are lumped over this relative span, at most. */
export const LUMP_SPAN = 0.4;
/** exp(−25) counts as 0. */
export const IMPOSSIBLE_LOG = 25;
/** From this logarithm of its odds on, an event is certain. */
export const ALL_BUT_CERTAIN = 20.7;
/** Two blocks are never active at once where the probability that any block of the device is active is below this. */
export const AT_MOST_ONE_ACTIVE = 1e-2;
/** Multiprocessors of a wave of known blocks whose time is computed in full. */
export const SLOWEST_CANDIDATES = 6;

// -- Depth: resolution --

/** A depth law with at most this many rows is kept as it is. */
export const DEPTH_ROWS = 48;
/** Groups of the largest block whose law decides where the rows are fine. */
export const LARGE_BLOCK = 32;
/** A tail with this probability no longer matters, even for the longest of a million depths. */
export const NEGLIGIBLE_DEPTH = 1e-10;
/** The highest ln(−ln P(ended)) in a table. Chosen: above it a block almost surely has some group left. */
export const HIGHEST_LOG = 4;
/** The lowest ln(−ln P(ended)) in a table. Chosen: below it a block almost surely has none left. */
export const LOWEST_LOG = -60;
/** Atoms that are kept of a law. Chosen: more of them change a mean depth by less than 1e-3 of itself. */
export const MAX_POINTS = 512;

// -- Depth: starts of units out of step. Resolution, except where it says fitted --

/** Lanes start in step where the standard deviation of lengths, in iterations, is below this. */
export const IN_STEP_DEVIATION = 0.05;
/** A sum of lengths is followed up to this many deviations beyond its mean. */
export const SUM_REACH = 6;
/** Points of the transforms that count starts. */
export const START_POINTS = 2 ** 14;
/** The fewest rounds that are followed where the points are too few for all. */
export const MIN_FOLLOWED_ROUNDS = 4;
/** Units for each fetching lane that are followed. */
export const FETCHED_ROUNDS = 48;
/** The fewest units for each fetching lane that are followed. */
export const MIN_FETCHED_ROUNDS = 12;
/** Starts have settled where the spectrum is damped to this. */
export const DAMPED_SPECTRUM = 1e-7;
/** Rounds of independent lanes that are followed. Chosen: each later round adds as much as the last one followed. */
export const FOLLOWED_ROUNDS = 32;

// -- Depth: lanes that fetch. Resolution --

/** Points of the lattice that the renewal equation of a lane runs on. */
export const FETCH_LATTICE_POINTS = 300;
/** The rate of starts counts as settled after this many steps. Nearly equal lengths may not have settled by then. */
export const LONGEST_TRANSIENT = 4096;
/**
 * The law of the time when the units run out is cut into parts of at most this probability. Each part has its own law
 * of residual lives.
 */
export const PART_PROBABILITY = 1 / 6;
/** Width of such a part, except in the tails, over the mean plus the deviation of a length. */
export const PART_WIDTH = 1 / 4;
/** Probability that a part in a tail may have, however wide it is. */
export const TAIL_PROBABILITY = 1e-3;
/** Standard deviations after which that law is cut. */
export const TIME_REACH = 6.4;

/** Units of a given order that the played groups fetch. */
export const PLAYED_UNITS = 2 ** 14;
/** The fewest groups that are played. */
export const MIN_PLAYED_GROUPS = 4;
/** Fetches under way at the end of the units that are looked at. */
export const LAST_LIVES = 2 ** 16;

// -- Depth: laws of sums. Resolution --

/** A sum of this many terms of comparable variance is a Pearson III law of its first three cumulants. */
export const SMOOTH_TERMS = 16;
/** The largest skewness of such a sum. */
export const SMOOTH_SKEWNESS = 0.5;
/** A sum of this many draws is a Pearson III law whatever its skewness. */
export const SMOOTH_DRAWS = 256;
/** Lattice points of the transforms of all other sums. */
export const TRANSFORM_POINTS = 1024;
/** The normal grid does not resolve a Pearson III law beyond this skewness. Its mean and deviation are still right. */
export const LARGEST_SKEWNESS = 4;
/** The base of Wilson and Hilferty's cube counts as 0 below this. Chosen: the cube is far below the sum's rounding. */
export const LOWEST_CUBE_BASE = 1e-4;
/** −ln of the probability that a sum may have beyond either end of its window. Chosen: e⁻²³ is 1e-10, as for depths. */
export const WINDOW_INFORMATION = 23;
/** The search goes on while the next window is below this share of the last. Chosen: it only saves time. */
export const WORTHWHILE_WINDOW = 0.99;
/** A window with this many units counts as a full sort. Its loss is below 1.001 for any group that fits a device. */
export const LARGEST_WINDOW_UNITS = 2 ** 20;
/** Laws of flattened lanes that are kept. With many buckets, each takes some hundred kilobytes. */
export const KEPT_LANE_LAWS = 96;
/** Numbers that are kept of the depths of a law. The geometric example has between 2**20 and 2**21. */
export const KEPT_DEPTH_NUMBERS = 2 ** 21;
/** Atoms that are kept of a lane's sum for its mean loss: enough for three digits. */
export const LOSS_POINTS = 192;
/** A mean loss by moments may leave out terms of this size. The error was below twice that in all laws tried. */
export const LARGEST_MOMENT_TERM = 1e-4;

// -- Dealing: resolution --

/** Up to this many units per slot, slots with one unit more than others are computed apart. */
export const COUNTED_UNITS = 12;
/** Laws for each factor of two in the units per slot beyond that. A law stands for means at most 6 % away. */
export const DEALT_STEPS_PER_OCTAVE = 6;
/** Laws for each factor of two in the rounds of buckets. A law stands for means at most 1.6 % away. */
export const BUCKET_STEPS_PER_OCTAVE = 32;
/** Laws for each factor of two in the fetched units per slot. A law stands for means at most 3 % away. */
export const FETCHED_STEPS_PER_OCTAVE = 12;
/** The last blocks may lack a unit. Where they are at most this share of all blocks, they get no law for it. */
export const NEGLIGIBLE_BLOCKS = 1 / 64;
/** Groups of a device that fetch from one counter, at most: beyond some hundreds their number no longer matters. */
export const FETCHING_GROUPS = 1024;
/** Lengths that are kept of a sorted order: all of them, or evenly spaced ranks of as many windows as fit. */
export const ORDER_LENGTHS = 2 ** 18;
/**
 * Units of a given order that a balancing arranges for all repetitions, or all lengths of the workload where these are
 * more.
 */
export const GIVEN_UNITS = 2 ** 18;
/** Every block of a launch is known up to this many groups. A larger launch has a sample of blocks. */
export const KNOWN_GROUPS = 10_240;
/** Every block is computed up to this many groups in all rounds (units / n). */
export const KNOWN_LOOKUPS = 2 ** 16;
/** Lengths that are looked up for a sample. Divided by the rounds, they give its number of groups. */
export const SAMPLED_LOOKUPS = 4096;
/** The fewest groups of a sample. */
export const MIN_SAMPLED_GROUPS = 160;
/** The most groups of a sample. */
export const MAX_SAMPLED_GROUPS = 480;
/** The fewest blocks of a sample. */
export const MIN_SAMPLED_BLOCKS = 48;
/** The most blocks of a sample. */
export const MAX_SAMPLED_BLOCKS = 256;
/** Blocks that a sample is chosen from. */
export const SAMPLE_CANDIDATES = 256;
/** The longest of these blocks, which are kept one by one. */
export const LONGEST_SAMPLED_BLOCKS = 16;
/** Step between sampled blocks of fully sorted units, as a share of the blocks that are longer. */
export const LONGEST_SPACING = 0.25;
/** The longest units of a sorted order that are all kept where not every length is. */
export const LONGEST_UNITS = 4096;
/** Steps of an iteration in which candidates are ranked. Chosen: closer blocks are as good as one another. */
export const BOUND_STEPS = 16;
/** Groups of a block that are computed where depths rise steadily. */
export const STEADY_GROUPS = 4;
/** All groups of a launch in a given order are known up to this many. In a larger launch some blocks stand for all. */
export const MAX_GIVEN_GROUPS = 2 ** 17;
/** Lengths, or longest of n, that are looked up for such a launch. Beyond them some rounds or groups stand for all. */
export const MAX_GIVEN_LOOKUPS = 2 ** 22;
/** The fewest rounds that remain where some stand for all. */
export const MIN_GIVEN_ROUNDS = 64;
/** Lengths that are looked up to count the setups of lanes out of step in a played launch. */
export const GIVEN_SETUP_LOOKUPS = 2 ** 16;
/** The same for a sample of a launch. */
export const SAMPLED_SETUP_LOOKUPS = 2 ** 12;
/** Lengths that are looked up for a lower limit of the depths of flattened loops. */
export const BOUND_LOOKUPS = 2 ** 14;
/** The fewest groups of that sample. */
export const MIN_BOUND_GROUPS = 24;
/** The most groups of that sample. */
export const MAX_BOUND_GROUPS = 128;
/** Standard errors of the limit below the mean of the sample. */
export const BOUND_ERRORS = 4.5;
/** Depths that are kept of the flattened loops over an order. The Collatz example has about as many. */
export const KEPT_LANE_DEPTHS = 2 ** 22;
/** Starts of units that are looked up for a launch of even shares. */
export const MAX_SHARE_LOOKUPS = 2 ** 20;
/** Lanes that are added up side by side, which only saves time. */
export const LANES_AT_ONCE = 2 ** 11;
/** Groups of known blocks from which a law is made. */
export const MAX_LAW_GROUPS = 2 ** 11;
/** The fewest blocks from which a law is made. */
export const MIN_GIVEN_BLOCKS = 48;
/** Lengths, or longest of n, that are looked up for such a law. */
export const LAW_LOOKUPS = 2 ** 13;
/** Lanes whose lengths are added up in about the time of one look-up of the longest of n. */
export const LANES_OF_LOOKUP = 8;
/** Groups with the longest units of an order, whose blocks are certain to be in a sample. */
export const LONGEST_GROUPS = 8;
/** A launch in a given order is played, block by block, up to this many groups. */
export const PLAYED_GROUPS = 2 ** 13;
/** Parts of a larger launch whose mean depths are compared. */
export const TREND_PARTS = 16;
/** A larger launch is played only where these means deviate from their mean by more than this share of it. */
export const TREND = 0.1;
/**
 * Bins that the longest life of a block takes, plus three, a power of two. They count active groups up to the last
 * dispatch.
 */
export const LIFE_BINS = 128;
/** A wave of fully sorted units is averaged over this many orders of blocks: an order and its reverse. */
export const BLOCK_ORDERS = 2;

// -- Design: resolution --

/** Lengths of the law on which classes are chosen. */
export const CLASS_POINTS = 192;
/** Lengths at which the classes may be cut. */
export const CLASS_CUTS = 24;
/** Threads of the block that shares a unit while the best classes are sought. */
export const NOMINAL_BLOCK = 256;

// -- Design: chosen --

/** Shared memory of a thread group for its part of a shared unit, bytes: one value in double precision. */
export const REDUCTION_BYTES = 8;

/**
 * What it takes to combine the results of thread groups that share a unit, once a unit: a store to shared memory, a
 * barrier, a load and a second barrier, with the addresses. Counted by hand, and assumed for every kernel.
 */
export const WIDE_COMBINE: Phase = { instructions: 15, dependentExchanges: 4 };

/**
 * The shortest time of a kernel, ms, on a device that was not measured. Assumed: an empty kernel takes 2 to 3 µs on
 * current devices, and the products of `db/evidence` take 2 µs and more, however small the matrix.
 */
export const LAUNCH_FLOOR_MS = 0.0025;

/**
 * Bandwidth that a kernel achieves, over that of the data sheet, on a device whose own was not measured. Assumed: the
 * median of 41 fits to the SpMV times of `db/evidence`, over kernels and GPUs; four of five are from 0.38 to 0.90.
 */
export const ACHIEVED_BANDWIDTH = 0.67;

// -- Limits --

/** Numbers in a piece of memory for block laws. */
export const SLAB_LENGTH = 1 << 15;
/** What a worker keeps of its laws. */
export interface CacheLimits {
  /** Depth laws; each takes some ten kilobytes. */
  readonly depthLaws: number;
  /** Pieces of memory for block laws. */
  readonly slabs: number;
  /** Numbers of the launches of known units. */
  readonly launchNumbers: number;
}
/** A sweep passes every design once, so a few block laws that stay in a core's cache are enough. */
export const SWEEP_LIMITS: CacheLimits = { depthLaws: 384, slabs: 8, launchNumbers: 2 ** 21 };
/**
 * Advice predicts the same designs after every edit, and most edits leave the laws as they are. These limits hold all
 * laws of any example study in one worker: 240 MB for the largest, which several workers share.
 */
export const ADVICE_LIMITS: CacheLimits = { depthLaws: 4096, slabs: 1024, launchNumbers: 2 ** 23 };
/** Entries that are kept of a CPU's ordered lengths. Partitions read all of them for every number of cores. */
export const MAX_ENTRIES = 2 ** 20;

// -- What people are shown. Chosen --

/** From this share of a launch's time on, a breakdown names the longest unit as its reason. */
export const LONGEST_SHARE = 0.5;
/**
 * A probability that a few replications cannot tell from 0, nor its complement from 1. Then the longest unit is
 * settled.
 */
export const OPEN_PROBABILITY = 1e-3;
