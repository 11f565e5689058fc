/** One replication of a design, for a Gantt chart; sampled where it is too large to draw. */
export interface DrawnTimeline {
  /** Kernel time of this replication (balancing aside), ms; all times below count from the first launch. */
  readonly kernelMs: number;
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  /** Thread groups of a block. */
  readonly groupsPerBlock: number;
  /** Blocks of all launches; numbers continue from the launches before. */
  readonly gridBlocks: number;
  /** Launches follow one another: several where a mixed design has one for each class of its units. */
  readonly launchStartMs: Float64Array;
  /** Multiprocessors whose blocks are listed, evenly spaced; all of them where they are few enough. */
  readonly shownMultiprocessors: Float64Array;
  /**
   * Blocks of those, by multiprocessor and start. A bar shows `blockCount` blocks that followed each other in one slot,
   * `blockIndex` the first: 1 unless one multiprocessor alone has too many. Blocks that found no unit left are not
   * listed. `blockRow`: position in `shownMultiprocessors`; `blockLane`: slot, 0 … residentBlocks − 1.
   */
  readonly blockIndex: Float64Array;
  readonly blockCount: Float64Array;
  readonly blockRow: Float64Array;
  readonly blockLane: Float64Array;
  readonly blockStartMs: Float64Array;
  readonly blockEndMs: Float64Array;
  /**
   * Active thread groups of a multiprocessor over time, in equal bins from the launch on: mean over the device, and the
   * extremes.
   */
  readonly binMs: number;
  readonly activeMean: Float64Array;
  readonly activeMin: Float64Array;
  readonly activeMax: Float64Array;
  /** Active thread groups of each shown multiprocessor, row-major (row, bin). */
  readonly activePerRow: Float64Array;
}

/**
 * A launch on an imagined device: its first replication block by block, and the times of all replications. Times in
 * cycles.
 */
export interface PlayedLaunch {
  /** The number of multiprocessors that was asked for. */
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  readonly replicationCycles: Float64Array;
  /** 95 % confidence interval of their mean. */
  readonly meanLowCycles: number;
  readonly meanHighCycles: number;
  /** When the last block was dispatched. */
  readonly lastDispatchCycles: number;
  /** One entry per block, in the order of dispatch. `blockSlot`: 0 … resident blocks − 1. */
  readonly blockMultiprocessor: Float64Array;
  readonly blockSlot: Float64Array;
  readonly blockStartCycles: Float64Array;
  readonly blockEndCycles: Float64Array;
  /** Changes of the number of active thread groups, in order of time within each multiprocessor. */
  readonly stepMultiprocessor: Float64Array;
  readonly stepCycles: Float64Array;
  readonly stepActiveGroups: Float64Array;
}
