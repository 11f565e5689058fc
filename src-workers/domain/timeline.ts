/** One replication of a design for a Gantt chart, with fewer blocks if there are too many to draw. */
export interface DrawnTimeline {
  /** Kernel time of this replication without balancing, ms. All times below count from the first launch. */
  readonly kernelMs: number;
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  /** Blocks of all launches. Their numbers continue from one launch to the next. */
  readonly gridBlocks: number;
  /** Start of each launch. A mixed design has one launch per class; they follow one another. */
  readonly launchStartMs: Float64Array;
  /** The multiprocessors whose blocks are listed: all, or evenly spaced multiprocessors if there are too many. */
  readonly shownMultiprocessors: Float64Array;
  /**
   * The blocks of the shown multiprocessors, sorted by multiprocessor and start. A bar shows `blockCount` consecutive
   * blocks of one slot, beginning with `blockIndex`. The count is 1 unless a single multiprocessor has too many blocks.
   * Blocks that found no unit are not listed. `blockRow`: position in `shownMultiprocessors`; `blockLane`: slot, 0 …
   * residentBlocks − 1.
   */
  readonly blockIndex: Float64Array;
  readonly blockCount: Float64Array;
  readonly blockRow: Float64Array;
  readonly blockLane: Float64Array;
  readonly blockStartMs: Float64Array;
  readonly blockEndMs: Float64Array;
  /** Active thread groups of a multiprocessor, in equal bins from the launch on: mean, minimum and maximum. */
  readonly binMs: number;
  readonly activeMean: Float64Array;
  readonly activeMin: Float64Array;
  readonly activeMax: Float64Array;
  /** Active thread groups of each shown multiprocessor, row-major (row, bin). */
  readonly activePerRow: Float64Array;
}

/**
 * A simulated launch on a device with chosen parameters: its first replication block by block, and the times of all
 * replications. Times are in cycles.
 */
export interface PlayedLaunch {
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  readonly replicationCycles: Float64Array;
  /** 95 % confidence interval of the mean time. */
  readonly meanLowCycles: number;
  readonly meanHighCycles: number;
  readonly lastDispatchCycles: number;
  /** One entry per block, in the order of dispatch. `blockSlot`: 0 … resident blocks − 1. */
  readonly blockMultiprocessor: Float64Array;
  readonly blockSlot: Float64Array;
  readonly blockStartCycles: Float64Array;
  readonly blockEndCycles: Float64Array;
  /** Changes of the number of active thread groups, sorted by multiprocessor, then by time. */
  readonly stepMultiprocessor: Float64Array;
  readonly stepCycles: Float64Array;
  readonly stepActiveGroups: Float64Array;
}
