import type { SpaceAxes } from '../domain/space.ts';

/** Number of values per axis, in AXIS_ORDER. */
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

/** The width of the blocks at a position of the axis; `null` where the threads of a block form one row. */
export function blockWidthAt({ blockWidth }: SpaceAxes, position: number): number | null {
  return blockWidth?.[position] ?? null;
}

/**
 * The position on the axis of widths at which a block is one row, or the first position if there is none. Where the
 * width of a block has no meaning, this position stands for all of them.
 */
export function rowPosition({ blockWidth }: SpaceAxes): number {
  return Math.max(0, blockWidth?.indexOf(null) ?? 0);
}

export function spaceSize(axes: SpaceAxes): number {
  return axisCounts(axes).reduce((product, count) => product * count, 1);
}

/** Writes the position on each axis (AXIS_ORDER) of the design with this index. */
export function decodeInto(out: Int32Array, counts: readonly number[], index: number): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    const count = counts[axis];
    const rest = Math.floor(index / count);
    out[axis] = index - rest * count;
    index = rest;
  }
}

/** The index of the design at these positions; the inverse of `decodeInto`. */
export function encode(counts: readonly number[], positions: ArrayLike<number>): number {
  let index = 0;
  for (let axis = 0; axis < counts.length; axis += 1) index = index * counts[axis] + positions[axis];
  return index;
}
