import { crc32 } from 'node:zlib';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';

/**
 * Parameters of Kernel Tuner are numbers, since kernels get them as macros. These names say what the numbers mean, for
 * the exported script and for the cache that it measures. Files for Optuna have the same mark besides names.
 */

/** Places of the loops. Those of implementations and balancings are places on the axes of the sweep. */
export const LOOPS: readonly LoopForm[] = ['nested', 'flattened'];

/** A parameter of one value: which sweep the other numbers are of, and which of its devices. */
export const SWEEP_PARAMETER = 'lockstep_sweep';

type Value = number | string | boolean;

/**
 * The value of `SWEEP_PARAMETER`. It is the same for sweeps in which the same numbers mean the same designs.
 * @param deviceId whose designs they are; files of earlier versions do not say it
 */
export function sweepNumber({ implementations, balancing }: SpaceAxes, units: number, deviceId?: string): number {
  const names = implementations?.map(({ name }) => name);
  return crc32(JSON.stringify([names, balancing, units, ...(deviceId === undefined ? [] : [deviceId])]));
}

/** Names of the numbered parameters, the newest first. A macro with a plain name breaks kernels that use the name. */
export const NUMBERED = {
  implementation: ['lockstep_implementation', 'implementation'],
  loop: ['lockstep_loop', 'loop'],
  balancing: ['lockstep_balancing', 'balancing'],
} as const;

/**
 * A configuration that an exported script measured, with the names that its numbers stand for, its device and its
 * number of blocks; any other one as it is.
 *
 * Returns a reason where the numbers are of another sweep, or stand for nothing.
 *
 * @param isDeviceKnown the device that measured is one of the sweep: its designs are meant, whatever device the script
 *   was exported for
 */
export function withNames(
  configuration: Readonly<Record<string, Value>>,
  axes: SpaceAxes,
  units: number,
  isDeviceKnown: boolean,
): Readonly<Record<string, Value>> | string {
  const sweep = configuration[SWEEP_PARAMETER];
  if (sweep === undefined) return configuration;
  const device = axes.devices.find(({ id }) => sweepNumber(axes, units, id) === sweep);
  if (!device && sweep !== sweepNumber(axes, units))
    return `${SWEEP_PARAMETER}=${String(sweep)} says that its numbers stand for designs of another sweep. Import the file with the run that its script was exported from`;
  const lists: Readonly<Record<string, readonly string[] | undefined>> = {
    implementation: axes.implementations?.map(({ name }) => name),
    loop: LOOPS,
    balancing: axes.balancing,
  };
  const named = { ...configuration };
  delete named.device;
  if (device && !isDeviceKnown) named.device = device.id;
  for (const [name, list] of Object.entries(lists)) {
    if (!list) continue;
    const given = NUMBERED[name as keyof typeof NUMBERED].find((each) => each in configuration) ?? name;
    const number = configuration[given];
    const value = typeof number === 'string' ? number : list[Number(number)];
    if (value === undefined) return `${given}=${String(number)} is none of 0 to ${list.length - 1}`;
    named[name] = value;
  }
  const { threads_per_unit: threads, units_per_thread: rounds, balancing } = named;
  const block = named.block_size_x ?? named.block_threads;
  const blocks = Number(named.fixed_blocks ?? named.grid_blocks);
  // A mixed design is several launches, each with blocks of its own.
  const isOne = unwrap(parseBalancing(String(balancing))).kind !== 'mixed';
  if (blocks > 0 || isOne)
    named.grid_size_x = blocks || Math.ceil((units * Number(threads)) / (Number(block) * Number(rounds)));
  return named;
}
