import type { BlockLaw } from './law.ts';
import type { RateTable } from './rate.ts';

/** A block law on multiprocessors that hold R blocks and run at a rate: everything about a launch but its grid. */
export interface Residency {
  readonly block: BlockLaw;
  /** R */
  readonly residentBlocks: number;
  readonly rate: RateTable;
  /** E[t(w)] of a multiprocessor that has been busy for ever, cycles per iteration; NaN until asked for. */
  stationaryRate: number;
  /** Time of the drain of so many multiprocessors that have been busy for ever, cycles; NaN until asked for. */
  stationaryDrain: number;
  stationaryMultiprocessors: number;
}

/**
 * @param residentBlocks R, integer ≥ 1
 * @param rate for 0 … at least R·W_b groups
 */
export function residencyOf(block: BlockLaw, residentBlocks: number, rate: RateTable): Residency {
  return {
    block,
    residentBlocks,
    rate,
    stationaryRate: NaN,
    stationaryDrain: NaN,
    stationaryMultiprocessors: 0,
  };
}

/** The same of a block law that is made when it is asked for. */
export function residencyOnDemand(blockLaw: () => BlockLaw, residentBlocks: number, rate: RateTable): Residency {
  return {
    get block() {
      return blockLaw();
    },
    residentBlocks,
    rate,
    stationaryRate: NaN,
    stationaryDrain: NaN,
    stationaryMultiprocessors: 0,
  };
}
