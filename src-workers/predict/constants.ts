/**
 * Numbers of the prediction that several files use; any other number is in the file that uses it. The comment of a
 * fitted or assumed number says so. Every other number is a limit of time or memory, or the resolution of a table or a
 * sample. A finer resolution changes a prediction by less than the model's own error.
 */

/** A tail with this probability no longer matters, even for the longest-lived of a million blocks. */
export const NEGLIGIBLE_LIFE = 1e-9;
/** Number of steps for the depths of groups, in a law of sampled blocks or of a sorted window. */
export const GROUP_EDGES = 24;
/** Maximum number of values of a law. More values change a mean depth by less than 0.1 %. */
export const MAX_POINTS = 512;
/** Rounds (one unit per lane) whose starts are computed. A later round counts as many starts as the last of these. */
export const FOLLOWED_ROUNDS = 32;
/** A larger window counts as a full sort: its loss is below 1.001 for any group that fits a device. */
export const LARGEST_WINDOW_UNITS = 2 ** 20;
export const MAX_LAW_GROUPS = 2 ** 11;
/** Groups that are assumed to fetch from one counter. Beyond some hundreds, their number has no effect. */
export const FETCHING_GROUPS = 1024;

/** Shortest kernel time on a device without measured launches, ms. Assumed: an empty kernel takes 2 to 3 µs. */
export const LAUNCH_FLOOR_MS = 0.0025;

/** Memory for depth laws and launches that only one task needs, bytes. */
export const TASK_BYTES = 16 * 2 ** 20;
export const LAUNCH_BYTES = 2 ** 10;
export const PACE_BYTES = 768;
/** Upper bound of the size of a `RoundCost` with its cycle tables, bytes. Most tables are never made. */
export const ROUND_COST_BYTES = 2048;
export const ORDER_BYTES = 2 ** 10;
/** Time to order units again and to compute the launches of this order, ms. Only the magnitude matters. */
export const ORDER_MS = 50;
/** Maximum number of lengths in a CPU's list. Each partition over cores reads the whole list. */
export const MAX_ENTRIES = 2 ** 20;
