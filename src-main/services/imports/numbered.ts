import { crc32 } from 'node:zlib';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';

/**
 * Parameters of Kernel Tuner are numbers, since they are defined as macros. These are what the numbers stand for, for the script that
 * is exported and for the cache that it measures.
 */

/** Places of the loops. Those of implementations and balancings are places on the axes of the sweep. */
export const LOOPS: readonly LoopForm[] = ['nested', 'flattened'];

/** A parameter of one value: which sweep the other numbers are of. */
export const SWEEP_PARAMETER = 'lockstep_sweep';

type Value = number | string | boolean;

/** The value of `SWEEP_PARAMETER`: the same for sweeps in which the same numbers stand for the same designs. */
export function sweepNumber({ implementations, balancing }: SpaceAxes, units: number): number {
  return crc32(JSON.stringify([implementations?.map(({ name }) => name), balancing, units]));
}

/**
 * A configuration that an exported script measured, with the names that its numbers stand for and its number of blocks; any other one
 * as it is.
 *
 * Returns a reason where the numbers are of another sweep, or stand for nothing.
 */
export function withNames(
  configuration: Readonly<Record<string, Value>>,
  axes: SpaceAxes,
  units: number,
): Readonly<Record<string, Value>> | string {
  const sweep = configuration[SWEEP_PARAMETER];
  if (sweep === undefined) return configuration;
  if (sweep !== sweepNumber(axes, units))
    return `${SWEEP_PARAMETER}=${String(sweep)} says that its numbers stand for designs of another sweep. Import the file with the run that its script was exported from`;
  const lists: Readonly<Record<string, readonly string[] | undefined>> = {
    implementation: axes.implementations?.map(({ name }) => name),
    loop: LOOPS,
    balancing: axes.balancing,
  };
  const named = { ...configuration };
  for (const [name, list] of Object.entries(lists)) {
    if (!list) continue;
    const value = list[Number(configuration[name])];
    if (value === undefined) return `${name}=${String(configuration[name])} is none of 0 to ${list.length - 1}`;
    named[name] = value;
  }
  const { threads_per_unit: threads, units_per_thread: rounds, block_size_x: block, fixed_blocks: blocks } = named;
  named.grid_size_x = Number(blocks) || Math.ceil((units * Number(threads)) / (Number(block) * Number(rounds)));
  return named;
}
