import { crc32 } from 'node:zlib';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';

/**
 * Kernel Tuner passes parameters to kernels as macros, so exported scripts and their caches have numbers, which this
 * module converts to names. Files for Optuna have the names, and the parameter that identifies the sweep.
 */

/** The loops by their numbers in a file. Implementations and balancings have their positions on the sweep's axes. */
export const LOOPS: readonly LoopForm[] = ['nested', 'flattened'];

/** A parameter with only one value, which identifies the sweep and the device that the other numbers belong to. */
export const SWEEP_PARAMETER = 'lockstep_sweep';

type Value = number | string | boolean;

export function sweepNumber({ implementations, balancing }: SpaceAxes, units: number, deviceId?: string): number {
  const names = implementations?.map(({ name }) => name);
  return crc32(JSON.stringify([names, balancing, units, ...(deviceId === undefined ? [] : [deviceId])]));
}

/** The names of numbered parameters, newest first. The newest have a prefix, because a macro `loop` breaks kernels. */
export const NUMBERED = {
  implementation: ['lockstep_implementation', 'implementation'],
  loop: ['lockstep_loop', 'loop'],
  balancing: ['lockstep_balancing', 'balancing'],
} as const;

/**
 * Converts a configuration that an exported script has measured: numbers become names, and the device and the number of
 * blocks are added. Other configurations stay. Returns a reason if the numbers are invalid or of another sweep.
 * @param isDeviceKnown whether the sweep has the device that measured; it then replaces the device of the script
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
    return `${SWEEP_PARAMETER}=${String(sweep)} shows that the numbers of this configuration belong to another sweep. Import the file with the run of the exported script`;
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
    if (value === undefined) return `${given}=${String(number)} is not a number from 0 to ${list.length - 1}`;
    named[name] = value;
  }
  const { threads_per_unit: threads, units_per_thread: rounds, balancing } = named;
  const block = named.block_size_x ?? named.block_threads;
  const blocks = Number(named.fixed_blocks ?? named.grid_blocks);
  // A mixed design has several launches, each with its own blocks.
  const isOne = unwrap(parseBalancing(String(balancing))).kind !== 'mixed';
  if (blocks > 0 || isOne)
    named.grid_size_x = blocks || Math.ceil((units * Number(threads)) / (Number(block) * Number(rounds)));
  return named;
}
