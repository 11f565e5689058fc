/**
 * Numbers of the prediction that are not derived. There are four kinds:
 *
 * - **fitted** on simulated launches: the comment names the data, the range tried and the effect of the number;
 * - **resolution** of a table or a sample: a finer one costs time and changes less than the model's own error;
 * - **limit** of the values that are kept or computed, so that a large space cannot fill the memory;
 * - **chosen** without a fit, because other values near it would do: the comment says why.
 */
import type { Phase } from '../domain/kernel.ts';

// -- Time: fitted --

/**
 * Waves count as out of phase once 2π²·waves·(σ_B/E[B])² exceeds this, where B is a block's life. Fitted on 500 random
 * designs: below 2, the step that the last wave of equal blocks makes is missed; above 3, nothing changes.
 */
export const SMEARED = 3;
/** Mean residual lives after which ages of blocks count as stationary. Fitted on 500 random designs. */
export const RESIDUAL_LIVES = 12;
export const SHORTEST_PHASE_MEMORY = 3;
/** Maximum number of waves that are followed one by one. Fitted on 500 random designs. */
export const LONGEST_PHASE_MEMORY = 48;
/**
 * No multiprocessor takes longer than one that always has the most active groups. This exponent sets how sharply the
 * influence of that bound fades. Fitted on 500 random designs.
 */
export const ALIGNMENT_POWER = 8;
/** If a larger fraction of groups ends early, multiprocessors count as never ending together. Chosen: saves time. */
export const RARELY_LONGEST = 0.5;
/** A smaller probability that all multiprocessors end together counts as 0. Chosen: this only saves time. */
export const NEVER_TIED = 1e-3;

// -- Time: resolution --

/** Cells for the bulk of each law (without its tail). */
export const BULK_CELLS = 3;
/** Cells for each factor of e in the upper tail of a block's life. */
export const TAIL_CELLS = 0.5;
/** The widest cell, as a fraction of E[B]. */
export const WIDEST_CELL_OF_BLOCK = 0.2;
/** The widest cell, as a fraction of the time since the last dispatch. */
export const WIDEST_CELL_OF_TIME = 0.5;
/** A tail with this probability no longer matters, even for the longest life of a million blocks. */
export const NEGLIGIBLE_LIFE = 1e-9;
/** Two ages of a block share a record if their shares of active groups differ by less than this. */
export const AGE_STEP = 0.1;
/** Rows of a sorted window's law for each factor of e in its tail. */
export const TAIL_EDGES = 1.5;
/** Edges of a sampled law at quantiles of its groups' depths. */
export const GROUP_EDGES = 24;
/** Edges of a sampled law at quantiles of its blocks' lives. */
export const BLOCK_EDGES = 48;
export const SAMPLE_QUANTILES = 128;
/** Minimum number of grid points per mean life of a block; more if lives vary less: one per standard deviation. */
export const POINTS_PER_BLOCK = 8;
export const MAX_POINTS_PER_BLOCK = 20;
export const SAMPLES_PER_BLOCK = 4;
/** Blocks of neighbouring ages are added as one if a slot has at most this number of them on average. */
export const LUMP_ACTIVITY = 0.25;
/** Maximum difference of the ages that are added as one, as a fraction of the oldest age. */
export const LUMP_SPAN = 0.4;
/** If −ln P(no block of the device is active) is above this, some block counts as certainly active. */
export const IMPOSSIBLE_LOG = 25;
/** An event is taken as certain if the logarithm of its odds is at least this (a probability of 1 − 1e-9). */
export const ALL_BUT_CERTAIN = 20.7;
/** Below this probability that any block of the device is active, two blocks are assumed never to be active at once. */
export const AT_MOST_ONE_ACTIVE = 1e-2;
/** If issue has a smaller share in the cycles of one more group, schedulers are assumed to have no effect. */
export const LEAST_ISSUE_SHARE = 0.05;
/**
 * A setup that is a smaller part of the iterations until the next setup is rounded as finely as this part, so that
 * launches share laws.
 */
export const SMALL_SETUP = 1 / 8;
/** In a wave of known blocks, the time of this many schedulers is computed in full: the slowest by an estimate. */
export const SLOWEST_CANDIDATES = 6;

// -- Depth: resolution --

/** A depth law with at most this many rows is not reduced. */
export const DEPTH_ROWS = 48;
/** The rows of a depth law are chosen for a single group and for a block of this many groups. */
export const LARGE_BLOCK = 32;
/** A tail with this probability no longer matters, even for the longest of a million depths. */
export const NEGLIGIBLE_DEPTH = 1e-10;
/** The highest ln(−ln P(ended)) in a table. Chosen: above it, some group of a block is almost surely active. */
export const HIGHEST_LOG = 4;
/** The lowest ln(−ln P(ended)) in a table. Chosen: below it, almost surely no group of a block is active. */
export const LOWEST_LOG = -60;
/** Maximum number of atoms of a law. Chosen: more atoms change a mean depth by less than 0.1 %. */
export const MAX_POINTS = 512;

// -- Depth: starts of units out of step. Resolution, unless a comment says that a number is fitted or chosen --

/** Lanes start in step if the standard deviation of lengths, in iterations, is below this. */
export const IN_STEP_DEVIATION = 0.05;
/** A sum of lengths is computed up to this number of standard deviations above its mean. */
export const SUM_REACH = 6;
export const START_POINTS = 2 ** 14;
/** Minimum number of rounds that are followed one by one, even if `START_POINTS` are too few for their lengths. */
export const MIN_FOLLOWED_ROUNDS = 4;
/** Units of a fetching lane that are followed one by one. */
export const FETCHED_ROUNDS = 48;
/** Units of a fetching lane that are followed even if lengths must be rounded to fit `START_POINTS`. */
export const MIN_FETCHED_ROUNDS = 12;
/** Damping of the last point of a transform of starts, beyond which the rate of starts counts as settled. */
export const DAMPED_SPECTRUM = 1e-7;
/** Rounds of independent lanes that are followed. Chosen: later rounds count as much as the last of them. */
export const FOLLOWED_ROUNDS = 32;

// -- Depth: lanes that fetch. Resolution --

export const FETCH_LATTICE_POINTS = 300;
/** The rate of starts counts as settled after this many steps. For nearly equal lengths it may settle later. */
export const LONGEST_TRANSIENT = 4096;
/** Maximum probability of a part of the law of T, the time when units run out. A part has one law of residual lives. */
export const PART_PROBABILITY = 1 / 6;
/** Maximum width of a part of T's law outside its tails, divided by mean plus standard deviation of a length. */
export const PART_WIDTH = 1 / 4;
/** Maximum probability of a part in the tails of T's law, which may be wider than `PART_WIDTH`. */
export const TAIL_PROBABILITY = 1e-3;
/** The law of the time at which the units run out is cut off at this number of standard deviations. */
export const TIME_REACH = 6.4;

/** Number of units of a given order that the simulated ("played") groups fetch. */
export const PLAYED_UNITS = 2 ** 14;
export const MIN_PLAYED_GROUPS = 4;
/** Maximum number of unfinished fetches that are examined when the units have run out. */
export const LAST_LIVES = 2 ** 16;

// -- Depth: laws of sums. Resolution --

/** Sums of at least this many terms of comparable variance are computed as Pearson III laws with the same cumulants. */
export const SMOOTH_TERMS = 16;
export const SMOOTH_SKEWNESS = 0.5;
/** Sums of more draws than this are computed as Pearson III laws, whatever their skewness is. */
export const SMOOTH_DRAWS = 256;
export const TRANSFORM_POINTS = 1024;
/** A larger skewness of a Pearson III law is reduced to this, because the grid of normal quantiles is too coarse. */
export const LARGEST_SKEWNESS = 4;
/** Below this base of Wilson and Hilferty's cube, the cube counts as 0, far below the rounding error of a sum. */
export const LOWEST_CUBE_BASE = 1e-4;
/** −ln of the probability that a sum lies beyond one end of its window. Chosen: e⁻²³ is 1e-10, as for depths. */
export const WINDOW_INFORMATION = 23;
/** The search for a window ends once a step leaves more than this fraction of its width. Chosen: this saves time. */
export const WORTHWHILE_WINDOW = 0.99;
/** A larger window counts as a full sort. Its loss is below 1.001 for any group that fits a device. */
export const LARGEST_WINDOW_UNITS = 2 ** 20;
/** Maximum number of cached laws of flattened lanes. With many buckets, each takes some hundred kilobytes. */
export const KEPT_LANE_LAWS = 96;
/** Maximum number of values in the cached depths of a law. The geometric example needs between 2**20 and 2**21. */
export const KEPT_DEPTH_NUMBERS = 2 ** 21;
/** Atoms to which a lane's sum is reduced for its mean loss, which then has three correct digits. */
export const LOSS_POINTS = 192;
/** Maximum size of the terms left out of a mean loss by moments. Errors were below twice this in all laws tried. */
export const LARGEST_MOMENT_TERM = 1e-4;

// -- Dealing: resolution --

/** Up to this many units per slot, slots with one additional unit are computed separately. */
export const COUNTED_UNITS = 12;
/** Laws per factor of two in the units per slot beyond `COUNTED_UNITS`. Each represents means up to 6 % away. */
export const DEALT_STEPS_PER_OCTAVE = 6;
/** Laws per factor of two in the rounds of buckets. Each represents means up to 3 % below its own. */
export const BUCKET_STEPS_PER_OCTAVE = 32;
/** Laws per factor of two in the fetched units per slot. Each represents means up to 3 % away. */
export const FETCHED_STEPS_PER_OCTAVE = 12;
/** Blocks with one unit less (the last ones) get no separate law if they are at most this fraction of all blocks. */
export const NEGLIGIBLE_BLOCKS = 1 / 64;
/** Groups that are assumed to fetch from one counter. Beyond some hundreds, their number has no effect. */
export const FETCHING_GROUPS = 1024;
/** Lengths that are kept of a sorted order: all, or evenly spaced ranks of as many windows as fit. */
export const ORDER_LENGTHS = 2 ** 18;
/** Units of a given order that are arranged to represent all of them, or the number of lengths if that is larger. */
export const GIVEN_UNITS = 2 ** 18;
/** All blocks of a launch with sorted or bucketed units are computed only up to this many groups. */
export const KNOWN_GROUPS = 10_240;
/** All blocks of a launch with sorted or bucketed units are computed only up to this many group rounds (units / n). */
export const KNOWN_LOOKUPS = 2 ** 16;
/** Lengths that are read for a sample: its number of groups times the number of rounds. */
export const SAMPLED_LOOKUPS = 4096;
export const MIN_SAMPLED_GROUPS = 160;
export const MAX_SAMPLED_GROUPS = 480;
export const MIN_SAMPLED_BLOCKS = 48;
export const MAX_SAMPLED_BLOCKS = 256;
export const SAMPLE_CANDIDATES = 256;
export const LONGEST_SAMPLED_BLOCKS = 16;
/** Step between sampled blocks of fully sorted units, as a fraction of the number of blocks that are longer. */
export const LONGEST_SPACING = 0.25;
/** The longest units that are kept if not every length of a sorted order is kept. */
export const LONGEST_UNITS = 4096;
/** Steps per iteration to which the bounds of candidates are rounded. Chosen: closer candidates are equally good. */
export const BOUND_STEPS = 16;
/** Groups of a block that are computed if depths rise steadily from group to group. */
export const STEADY_GROUPS = 4;
/** Maximum number of groups of a launch in a given order that are all computed. A larger launch is sampled. */
export const MAX_GIVEN_GROUPS = 2 ** 17;
/** Lengths, or longest lengths of n units, that are read for a launch in a given order. Beyond this, it is sampled. */
export const MAX_GIVEN_LOOKUPS = 2 ** 22;
/** Minimum number of rounds that are added up to represent all rounds. */
export const MIN_GIVEN_ROUNDS = 64;
/** Lengths that are read to count the setups of lanes out of step in a launch that is played in full. */
export const GIVEN_SETUP_LOOKUPS = 2 ** 16;
/** Lengths that are read to count the setups of lanes out of step if a launch is only sampled. */
export const SAMPLED_SETUP_LOOKUPS = 2 ** 12;
/** Lengths that are read for a lower limit of the depths of flattened loops (`findSureTotal`). */
export const BOUND_LOOKUPS = 2 ** 14;
export const MIN_BOUND_GROUPS = 24;
export const MAX_BOUND_GROUPS = 128;
/** Standard errors by which the limit of `findSureTotal` is below the mean of its sample. */
export const BOUND_ERRORS = 4.5;
export const MAX_SHARE_LOOKUPS = 2 ** 20;
/** Lanes that are summed side by side. Chosen: this only saves time. */
export const LANES_AT_ONCE = 2 ** 11;
export const MAX_LAW_GROUPS = 2 ** 11;
export const MIN_GIVEN_BLOCKS = 48;
/** Lengths, or longest lengths of n units, that are read for a law of known blocks. */
export const LAW_LOOKUPS = 2 ** 13;
/** A round of a flattened group takes about as long to add up as this many look-ups of the longest of n units. */
export const LANES_OF_LOOKUP = 8;
/** Number of groups with the longest units of an order. Their blocks are always in a sample. */
export const LONGEST_GROUPS = 8;
/** Maximum number of groups of a launch in a given order that is played block by block. */
export const PLAYED_GROUPS = 2 ** 13;
/** An order has one running sum for each stretch of this many units. Shorter stretches would take more memory. */
export const SUMMED_UNITS = 32;
/** Parts of a launch that are compared with each other if it has more than `PLAYED_GROUPS` groups. */
export const TREND_PARTS = 16;
/** A launch with more than `PLAYED_GROUPS` groups is played only if its parts deviate from their mean by this share. */
export const TREND = 0.1;
/** Bins of time in which active groups are counted; a power of two. The longest life takes three bins less. */
export const LIFE_BINS = 128;
/** Block orders over which a wave of sorted or bucketed units is averaged: an order and its reverse. */
export const BLOCK_ORDERS = 2;

// -- Design: resolution --

export const CLASS_POINTS = 192;
export const CLASS_CUTS = 24;
/** The block size that the search for the best classes assumes if a whole block shares a unit. */
export const NOMINAL_BLOCK = 256;

// -- Design: chosen --

/** Shared memory of a thread group for its part of a shared unit, bytes: one value in double precision. */
export const REDUCTION_BYTES = 8;

/**
 * The work that combines the results of the thread groups that share a unit: a store to shared memory, a barrier, a
 * load and a second barrier, with the addresses. Counted by hand, and assumed for every kernel.
 */
export const WIDE_COMBINE: Phase = { instructions: 15, dependentExchanges: 4 };

/**
 * The shortest time of a kernel on a device whose launches were not measured, ms. Assumed: an empty kernel takes 2 to 3
 * µs on current devices.
 */
export const LAUNCH_FLOOR_MS = 0.0025;

/**
 * Cycles between the starts of two blocks on an NVIDIA device that was not measured. Assumed, as measured on an H100
 * (test/data/measured/README.md).
 */
export const BLOCK_START_CYCLES = 1.2;

/**
 * Achieved bandwidth divided by the bandwidth of the data sheet, for a device without a measured value. Assumed: the
 * median of 41 fits to the SpMV times of `db/evidence`.
 */
export const ACHIEVED_BANDWIDTH = 0.67;

// -- Limits --

/** Values in a slab, a piece of memory for block laws. */
export const SLAB_LENGTH = 1 << 15;
/** When this many slabs are in use, block laws of other designs are dropped. So the slabs fit in a core's cache. */
export const MAX_SLABS = 8;
/** Memory of a worker for depth laws, launches, paces and orders of units, bytes. More of it saves no time. */
export const KEPT_BYTES = 32 * 2 ** 20;
/** Additional memory for each length of a workload in a given order, bytes: eight orders of two bytes per length. */
export const KEPT_BYTES_PER_LENGTH = 16;
/** Memory for depth laws and launches that only one task needs, bytes. */
export const TASK_BYTES = 16 * 2 ** 20;
/** Size of a depth law with its table, bytes. */
export const DEPTH_LAW_BYTES = 16 * 2 ** 10;
export const LAUNCH_BYTES = 2 ** 10;
/** Size of a pace with its table of cycles, bytes: an upper bound, because most paces never make the table. */
export const PACE_BYTES = 1536;
export const ORDER_BYTES = 2 ** 10;
/** Usual time to make a depth law. The times in `_MS` decide which values a full cache drops. */
export const DEPTH_LAW_MS = 2;
export const LAUNCH_MS = 0.3;
export const PLAIN_LAUNCH_MS = 0.5;
export const PACE_MS = 0.005;
/** Time to order units, and to compute all launches of the order again. Chosen: only the magnitude matters. */
export const ORDER_MS = 50;
/** Maximum number of entries in the ordered lengths of a CPU. Partitions read all of them for every number of cores. */
export const MAX_ENTRIES = 2 ** 20;

// -- Shown to users. Chosen --

/** A breakdown names the longest unit as the cause if it takes at least this fraction of a launch's time. */
export const LONGEST_SHARE = 0.5;
/**
 * The longest unit counts as certainly below, or above, a gap between two lengths if the other case is less probable.
 */
export const OPEN_PROBABILITY = 1e-3;
