import type { Device } from './device.ts';
import type { KernelProfile, LoopForm } from './kernel.ts';

/** The number of blocks determines the number of units of each slot, and the reverse. */
export type GridLaunch =
  | { readonly kind: 'units-per-thread'; readonly value: number }
  | { readonly kind: 'grid'; readonly value: number }
  | { readonly kind: 'per-multiprocessor'; readonly value: number };

export type Launch = GridLaunch | { readonly kind: 'cores'; readonly value: number };

/** One way to write the kernel. An omitted axis allows all values. */
export interface Implementation {
  readonly name: string;
  readonly kernel: KernelProfile;
  /** Fields that the implementation states itself; all other fields come from the study. */
  readonly own: readonly string[];
  readonly allows: {
    readonly threadsPerUnit?: readonly number[] | undefined;
    readonly loop?: readonly LoopForm[] | undefined;
    readonly balancing?: readonly string[] | undefined;
    readonly registerCap?: readonly (number | null)[] | undefined;
    readonly blockThreads?: readonly number[] | undefined;
  };
}

/** A design is a mixed-radix number in the product of the axes in `AXIS_ORDER`; the first digit changes slowest. */
export interface SpaceAxes {
  readonly devices: readonly Device[];
  readonly implementations?: readonly Implementation[];
  /** Widths of tiles (`Design.blockWidth`). With `null`, or without this axis, blocks take consecutive units. */
  readonly blockWidth?: readonly (number | null)[];
  readonly threadsPerUnit: readonly number[];
  readonly loop: readonly LoopForm[];
  readonly balancing: readonly string[];
  readonly launch: readonly Launch[];
  readonly registerCap: readonly (number | null)[];
  readonly blockThreads: readonly number[];
}

export const AXIS_ORDER = [
  'device',
  'implementation',
  'blockWidth',
  'threadsPerUnit',
  'loop',
  'balancing',
  'launch',
  'registerCap',
  'blockThreads',
] as const;
export type AxisName = (typeof AXIS_ORDER)[number];

export const AXIS = Object.fromEntries(AXIS_ORDER.map((name, at) => [name, at])) as Readonly<Record<AxisName, number>>;

export function axisCounts(axes: SpaceAxes): readonly number[] {
  return [
    axes.devices.length,
    axes.implementations?.length ?? 1,
    axes.blockWidth?.length ?? 1,
    axes.threadsPerUnit.length,
    axes.loop.length,
    axes.balancing.length,
    axes.launch.length,
    axes.registerCap.length,
    axes.blockThreads.length,
  ];
}

export function getBlockWidth({ blockWidth }: SpaceAxes, position: number): number | null {
  return blockWidth?.[position] ?? null;
}

/** Returns the position of "no tiles" (`null`) on the axis of tile widths; 0 if there is no axis or no `null`. */
export function rowPosition({ blockWidth }: SpaceAxes): number {
  return Math.max(0, blockWidth?.indexOf(null) ?? 0);
}

export function spaceSize(axes: SpaceAxes): number {
  return productOf(axisCounts(axes));
}

export function productOf(counts: readonly number[]): number {
  return counts.reduce((product, count) => product * count, 1);
}

/** Returns, for each axis, the difference between the indices of designs that are neighbours on this axis. */
export function axisStrides(counts: readonly number[]): readonly number[] {
  return counts.map((_, axis) => productOf(counts.slice(axis + 1)));
}

export function decodeInto(out: Int32Array, counts: readonly number[], index: number): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    const count = counts[axis];
    const rest = Math.floor(index / count);
    out[axis] = index - rest * count;
    index = rest;
  }
}

export function encode(counts: readonly number[], positions: ArrayLike<number>): number {
  let index = 0;
  for (let axis = 0; axis < counts.length; axis += 1) index = index * counts[axis] + positions[axis];
  return index;
}

export interface SpaceConstraint {
  readonly quantity:
    | 'threadsPerUnit'
    | 'unitsPerThread'
    | 'blockThreads'
    | 'gridBlocks'
    | 'registerCap'
    | 'occupancyFraction'
    | 'residentBlocks'
    | 'waves';
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
  readonly multipleOf?: number | undefined;
}
