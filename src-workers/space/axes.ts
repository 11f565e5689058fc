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

/** The width of the blocks at a position of their axis; `null`: the threads of a block are one row. */
export function blockWidthAt({ blockWidth }: SpaceAxes, position: number): number | null {
  return blockWidth?.[position] ?? null;
}

/**
 * The position of blocks of one row, which represent all widths where widths mean nothing; the first where no block is
 * one row.
 */
export function rowPosition({ blockWidth }: SpaceAxes): number {
  return Math.max(0, blockWidth?.indexOf(null) ?? 0);
}

export function spaceSize(axes: SpaceAxes): number {
  return axisCounts(axes).reduce((product, count) => product * count, 1);
}

/** Positions on each axis (AXIS_ORDER) of a design index. */
export function decodeInto(out: Int32Array, counts: readonly number[], index: number): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    const count = counts[axis];
    const rest = Math.floor(index / count);
    out[axis] = index - rest * count;
    index = rest;
  }
}

/** Design index of positions on each axis; inverse of `decodeInto`. */
export function encode(counts: readonly number[], positions: ArrayLike<number>): number {
  let index = 0;
  for (let axis = 0; axis < counts.length; axis += 1) index = index * counts[axis] + positions[axis];
  return index;
}
