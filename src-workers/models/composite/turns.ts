import { normalQuantile } from '../workload/normal.ts';
import type { BlockLaw } from './law.ts';
import { drainCycles, drainParts, normalMaximum } from './drain.ts';
import type { SmoothedRate } from './rate.ts';

/**
 * A device whose multiprocessors hold one block at a time: none shares its rate with another block, so each plays its blocks
 * one after another, and clocks differ by all that went before. Here the time of a block counts, not its iterations.
 */

/** Time of one block alone on a multiprocessor, cycles. */
export interface Turn {
  readonly mean: number;
  readonly deviation: number;
}

export function turnOf(block: BlockLaw, rate: SmoothedRate): Turn {
  const mean = drainCycles(block.fresh, 1, 1, rate, block.groupsPerBlock);
  // What its groups have to do in a life of given length, and that length, whose end one group sees.
  const ends = block.blockDeviation * rate.cycles[1];
  return { mean, deviation: Math.sqrt(drainParts.variance + ends * ends) };
}

/** Spread of the clocks, relative to a turn, up to which turns are apart; at twice that they are not. */
const APART = 0.15;

/** How much the turns of the multiprocessors are apart, 0…1: 1 where all but surely none starts its next before the last has. */
export function turnShare({ mean, deviation }: Turn, gridBlocks: number, multiprocessors: number): number {
  const before = Math.ceil(gridBlocks / multiprocessors) - 1;
  return Math.min(1, Math.max(0, 2 - (Math.sqrt(before) * deviation) / mean / APART));
}

/**
 * Expected time of more than one wave, cycles: the blocks of the last turn go to the multiprocessors that are first to be
 * free, whose clocks are the lower part of a normal law.
 */
export function turnsCycles({ mean, deviation }: Turn, gridBlocks: number, multiprocessors: number): number {
  const before = Math.ceil(gridBlocks / multiprocessors) - 1;
  const last = gridBlocks - before * multiprocessors;
  const clocks = before * mean;
  const spread = Math.sqrt(before) * deviation;
  if (last === multiprocessors) {
    return clocks + mean + normalMaximum(last) * deviation * Math.sqrt(before + 1);
  }
  // Mean and variance of a standard normal variable below the quantile z of the share.
  const z = normalQuantile(last / multiprocessors);
  const hazard = (Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI)) * (multiprocessors / last);
  const variance = Math.max(0, 1 - z * hazard - hazard * hazard);
  const early = clocks - hazard * spread;
  const busy = early + mean + normalMaximum(last) * Math.sqrt(variance * spread * spread + deviation * deviation);
  return Math.max(busy, clocks + normalMaximum(multiprocessors) * spread);
}
