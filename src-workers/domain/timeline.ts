export interface DrawnTimeline {
  /** Time of all launches, without balancing. The times below count from the start of the first launch. */
  readonly kernelMs: number;
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  /** Blocks of all launches. Their numbers continue from one launch to the next. */
  readonly gridBlocks: number;
  /** A mixed design has one launch per class; they follow one another. */
  readonly launchStartMs: Float64Array;
  /** All multiprocessors, or evenly spaced ones if there are too many. */
  readonly shownMultiprocessors: Float64Array;
  /**
   * The blocks of the shown multiprocessors, sorted by multiprocessor and start, without blocks that found no unit. A
   * bar shows `blockCount` consecutive blocks of one block slot, from `blockIndex` on: more than 1 if a multiprocessor
   * has too many. `blockRow`: position in `shownMultiprocessors`; `blockLane`: block slot, 0 … residentBlocks − 1.
   */
  readonly blockIndex: Float64Array;
  readonly blockCount: Float64Array;
  readonly blockRow: Float64Array;
  readonly blockLane: Float64Array;
  readonly blockStartMs: Float64Array;
  readonly blockEndMs: Float64Array;
  /** Width of the equal time bins in which active thread groups of a multiprocessor are counted. */
  readonly binMs: number;
  readonly activeMean: Float64Array;
  readonly activeMin: Float64Array;
  readonly activeMax: Float64Array;
  /** Row-major (row, bin). */
  readonly activePerRow: Float64Array;
}

/** A simulated launch: its first replication block by block, and the times of all replications, cycles. */
export interface PlayedLaunch {
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  readonly replicationCycles: Float64Array;
  readonly meanLowCycles: number;
  readonly meanHighCycles: number;
  readonly lastDispatchCycles: number;
  /** In the order of dispatch. `blockSlot`: 0 … resident blocks − 1. */
  readonly blockMultiprocessor: Float64Array;
  readonly blockSlot: Float64Array;
  readonly blockStartCycles: Float64Array;
  readonly blockEndCycles: Float64Array;
  /** Changes of the number of active thread groups, sorted by multiprocessor, then by time. */
  readonly stepMultiprocessor: Float64Array;
  readonly stepCycles: Float64Array;
  readonly stepActiveGroups: Float64Array;
}
