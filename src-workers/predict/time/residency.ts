import type { BlockLaw } from './law.ts';
import { ONE_SCHEDULER, type CycleTable, type Schedulers } from './cycles.ts';

/** A launch without its grid: a block law on multiprocessors that hold R blocks each. */
export interface Residency {
  readonly block: BlockLaw;
  readonly residentBlocks: number;
  readonly cyclesPerIteration: CycleTable;
  readonly schedulers: Schedulers;
  /** Cycles by which a block's life is longer because it ends with the last of its schedulers; NaN until needed. */
  joinCycles: number;
  /** Mean cycles of an iteration on a multiprocessor after a very long time; NaN until needed. */
  stationaryCyclesPerIteration: number;
  /** Cycles that `stationaryMultiprocessors` multiprocessors take to drain after a very long time; NaN until needed. */
  stationaryDrain: number;
  stationaryMultiprocessors: number;
}

/** @param cyclesPerIteration by number of active groups, up to at least the groups of `residentBlocks` blocks */
export function makeResidency(
  block: BlockLaw,
  residentBlocks: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers = ONE_SCHEDULER,
): Residency {
  return {
    block,
    residentBlocks,
    cyclesPerIteration,
    schedulers,
    joinCycles: NaN,
    stationaryCyclesPerIteration: NaN,
    stationaryDrain: NaN,
    stationaryMultiprocessors: 0,
  };
}

export function makeResidencyOnDemand(
  blockLaw: () => BlockLaw,
  residentBlocks: number,
  cyclesPerIteration: CycleTable,
  schedulers: Schedulers,
): Residency {
  return {
    get block() {
      return blockLaw();
    },
    residentBlocks,
    cyclesPerIteration,
    schedulers,
    joinCycles: NaN,
    stationaryCyclesPerIteration: NaN,
    stationaryDrain: NaN,
    stationaryMultiprocessors: 0,
  };
}
