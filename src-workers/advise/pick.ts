import { parseBalancing } from '../domain/balancing.ts';
import type { PredictionColumns } from '../domain/columns.ts';
import { unwrap } from '../domain/result.ts';
import { AXIS, axisCounts, type AxisName, type SpaceAxes, axisStrides } from '../domain/space.ts';

/**
 * The rule that recommends one design: among designs with the same predicted time (`AGREEMENT_FRACTION`), the design
 * that is the least work to write and to run. The wider tie band plays no part, because inside this band the predicted
 * time is still the best guess. The usual block sizes come first, because people write and tune for them.
 */
export const PICK_RULE =
  'Picks the simplest design within 1.5 % of the fastest. It prefers, in this order: no register cap, no balancing, nested loops, the fewest threads per unit, blocks of one row, and blocks of 128 or 256 threads (then other powers of two, then multiples of 64). Among equally simple designs, it picks the fastest.';
export const CORES_RULE =
  'Picks the simplest design within 1.5 % of the fastest. It prefers even rows (equally many for each core), then the fewest cores. Among equally simple designs, it picks the fastest.';

export function blockOddity(blockThreads: number): number {
  if (blockThreads === 128 || blockThreads === 256) return 0;
  if (Number.isInteger(Math.log2(blockThreads))) return 1;
  return blockThreads % 64 === 0 ? 2 : 3;
}

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

export interface DesignFigures {
  timeMs(design: number): number;
  /** On a CPU, the number of cores. */
  gridBlocks(design: number): number;
}

/** Looks up the figures of designs in columns that list the designs in the same order. */
export function makeFigures(
  designs: Uint32Array,
  { timeMs, gridBlocks }: Pick<PredictionColumns, 'timeMs' | 'gridBlocks'>,
): DesignFigures {
  const at = new Map(Array.from(designs, (design, entry) => [design, entry]));
  return { timeMs: (design) => timeMs[at.get(design)!], gridBlocks: (design) => gridBlocks[at.get(design)!] };
}

export function simplerFirst(axes: SpaceAxes, { timeMs, gridBlocks }: DesignFigures): (a: number, b: number) => number {
  const counts = axisCounts(axes);
  const strides = axisStrides(counts);
  const on = (axis: AxisName, values: readonly number[]): ((design: number) => number) => {
    const [stride, count] = [strides[AXIS[axis]], counts[AXIS[axis]]];
    return (design) => values[Math.floor(design / stride) % count];
  };
  const isCpu = on(
    'device',
    axes.devices.map(({ kind }) => Number(kind === 'cpu')),
  );
  const keys = [
    // The higher of two register caps comes first, because it spills fewer registers.
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

export function pickDesign(axes: SpaceAxes, figures: DesignFigures, tied: Iterable<number>): number | undefined {
  const compare = simplerFirst(axes, figures);
  let picked: number | undefined;
  for (const design of tied) if (picked === undefined || compare(design, picked) < 0) picked = design;
  return picked;
}
