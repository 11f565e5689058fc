import { parseBalancing } from '../domain/balancing.ts';
import { unwrap } from '../domain/result.ts';
import { AXIS, type AxisName, type SpaceAxes } from '../domain/space.ts';
import { axisCounts } from '../space/axes.ts';

/**
 * The rule by which one design is recommended: among those that the model gives the same time (`AGREEMENT_FRACTION`),
 * the one that is the least work to write and to run. A tie band is wider: measurements may order two such designs
 * either way. But the predicted time is still the best guess, and giving up 20 % of it for a simpler design would cost
 * time on average. People write and tune for the usual block sizes, which also divide the threads of a multiprocessor
 * evenly. The number of blocks is left to the time.
 */
export const PICK_RULE =
  'Picks the simplest design within 1.5 % of the fastest: without a register cap, without balancing, nested loops, the fewest threads per unit, blocks of one row, then blocks of 128 or 256 threads, other powers of two, multiples of 64; the fastest among equals.';
/** The same on a CPU. */
export const CORES_RULE =
  'Picks the simplest design within 1.5 % of the fastest: even rows, then the fewest cores; the fastest among equals.';

/** How usual a block size is: 0 for 128 and 256, 1 for other powers of two, 2 for multiples of 64, 3 for the others. */
export function blockOddity(blockThreads: number): number {
  if (blockThreads === 128 || blockThreads === 256) return 0;
  if (Number.isInteger(Math.log2(blockThreads))) return 1;
  return blockThreads % 64 === 0 ? 2 : 3;
}

/** 0 if units stay as they are; 1 if lanes fetch, without a pass before the launch; 2 if units are ordered. */
function balancingWork(text: string): number {
  switch (unwrap(parseBalancing(text)).kind) {
    case 'none':
    case 'row-split':
      return 0;
    case 'dynamic-fetch':
      return 1;
    default:
      return 2;
  }
}

/** What the rule asks of a design beyond its place in the space. */
export interface DesignFigures {
  timeMs(design: number): number;
  /** On a CPU: cores. */
  gridBlocks(design: number): number;
}

/** Compares two designs by the rule, then by time and index; below 0 if `a` comes first. */
export function simplerFirst(axes: SpaceAxes, { timeMs, gridBlocks }: DesignFigures): (a: number, b: number) => number {
  const counts = axisCounts(axes);
  const strides = counts.map((_, axis) => counts.slice(axis + 1).reduce((product, count) => product * count, 1));
  const on = (axis: AxisName, values: readonly number[]): ((design: number) => number) => {
    const [stride, count] = [strides[AXIS[axis]], counts[AXIS[axis]]];
    return (design) => values[Math.floor(design / stride) % count];
  };
  const isCpu = on(
    'device',
    axes.devices.map(({ kind }) => Number(kind === 'cpu')),
  );
  const keys = [
    // The looser of two caps wins: it spills less.
    on(
      'registerCap',
      axes.registerCap.map((value) => (value === null ? 0 : 1 / value)),
    ),
    on('balancing', axes.balancing.map(balancingWork)),
    on(
      'loop',
      axes.loop.map((form) => (form === 'nested' ? 0 : 1)),
    ),
    on('threadsPerUnit', axes.threadsPerUnit),
    // A block of one row is simpler than a tile. Two tile widths are equally simple.
    on('blockWidth', axes.blockWidth?.map((width) => (width === null ? 0 : 1)) ?? [0]),
    on('blockThreads', axes.blockThreads.map(blockOddity)),
    (design: number) => (isCpu(design) ? gridBlocks(design) : 0),
    timeMs,
  ];
  return (a, b) => {
    for (const key of keys) {
      const difference = key(a) - key(b);
      if (difference !== 0) return difference;
    }
    return a - b;
  };
}

/** The design of several tied ones that comes first by the rule. */
export function pickDesign(axes: SpaceAxes, figures: DesignFigures, tied: Iterable<number>): number | undefined {
  const compare = simplerFirst(axes, figures);
  let picked: number | undefined;
  for (const design of tied) if (picked === undefined || compare(design, picked) < 0) picked = design;
  return picked;
}
