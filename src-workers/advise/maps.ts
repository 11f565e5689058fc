import { AXIS } from '../domain/space.ts';
import type { coarseAxes } from './coarse.ts';

const MAX_LINES = 32;

/** The thumbnail maps of one device: one for each value of threads per unit, in the order of the axis. */
export interface BestMaps {
  /** Rows are launches, or groups of neighbouring launches. Columns are block sizes, or groups of them. */
  readonly rows: number;
  readonly columns: number;
  readonly maps: readonly {
    /** The best time of each cell over all other axes, ms, row by row; NaN if no design is valid. */
    readonly timeMs: Float32Array;
    /** The fastest design of the map, and its time; −1 and NaN if none is valid. */
    readonly best: number;
    readonly bestMs: number;
  }[];
}

/** The fastest design of each cell. A cell without a valid design has one of its invalid designs, with the time NaN. */
export interface CellBests {
  readonly designs: Uint32Array;
  readonly timeMs: Float64Array;
}

export function mapShape(counts: readonly number[]) {
  return {
    maps: counts[AXIS.threadsPerUnit],
    rows: Math.min(MAX_LINES, counts[AXIS.launch]),
    columns: Math.min(MAX_LINES, counts[AXIS.blockThreads]),
  };
}

const lineOf = (position: number, lines: number, count: number): number => Math.floor((position * lines) / count);

export function makeCellFinder(counts: readonly number[]): (design: number) => number {
  const { maps, rows, columns } = mapShape(counts);
  const [launches, blocks] = [counts[AXIS.launch], counts[AXIS.blockThreads]];
  const perLaunch = counts[AXIS.registerCap] * blocks;
  const perGranularity = counts[AXIS.loop] * counts[AXIS.balancing] * launches * perLaunch;
  return (design) => {
    const map = Math.floor(design / perGranularity) % maps;
    const row = lineOf(Math.floor(design / perLaunch) % launches, rows, launches);
    return (map * rows + row) * columns + lineOf(design % blocks, columns, blocks);
  };
}

export function cellBests(
  counts: readonly number[],
  timeMs: Float64Array,
  designAt: (entry: number) => number,
): CellBests {
  const { maps, rows, columns } = mapShape(counts);
  const cellOf = makeCellFinder(counts);
  const fastest = new Int32Array(maps * rows * columns).fill(-1);
  const touched: number[] = [];
  for (let at = 0; at < timeMs.length; at += 1) {
    const cell = cellOf(designAt(at));
    const known = fastest[cell];
    if (known < 0) touched.push(cell);
    if (known < 0 || timeMs[at] < timeMs[known] || Number.isNaN(timeMs[known])) fastest[cell] = at;
  }
  return {
    designs: Uint32Array.from(touched, (cell) => designAt(fastest[cell])),
    timeMs: Float64Array.from(touched, (cell) => timeMs[fastest[cell]]),
  };
}

/**
 * @param examined positions of the launches and block sizes that represent the others, or `null` if all were predicted;
 * a cell without a predicted design gets the time of the nearest examined cell
 */
export function bestMaps(
  counts: readonly number[],
  parts: readonly CellBests[],
  examined: ReturnType<typeof coarseAxes> | null,
): BestMaps {
  const { maps, rows, columns } = mapShape(counts);
  const cellOf = makeCellFinder(counts);
  const size = rows * columns;
  const NOT_PREDICTED = Infinity;
  const times = Array.from({ length: maps }, () => new Float32Array(size).fill(NOT_PREDICTED));
  const best = Array.from({ length: maps }, () => ({ best: -1, bestMs: NaN }));
  for (const { designs, timeMs } of parts)
    designs.forEach((design, at) => {
      const cell = cellOf(design);
      const map = Math.floor(cell / size);
      const known = times[map][cell % size];
      const time = timeMs[at];
      if (time < known || Number.isNaN(known) || known === NOT_PREDICTED) times[map][cell % size] = time;
      if (time < best[map].bestMs || (best[map].best < 0 && !Number.isNaN(time)))
        best[map] = { best: design, bestMs: time };
    });
  if (examined) {
    const nearestRow = nearest(
      examined.launches.map((at) => lineOf(at, rows, counts[AXIS.launch])),
      rows,
    );
    const nearestColumn = nearest(
      examined.blocks.map((at) => lineOf(at, columns, counts[AXIS.blockThreads])),
      columns,
    );
    for (const timeMs of times) {
      const known = timeMs.slice();
      for (let at = 0; at < size; at += 1)
        if (known[at] === NOT_PREDICTED)
          timeMs[at] = known[nearestRow[Math.floor(at / columns)] * columns + nearestColumn[at % columns]];
    }
  }
  return { rows, columns, maps: times.map((timeMs, map) => ({ timeMs, ...best[map] })) };
}

function nearest(chosen: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, line) =>
    chosen.reduce((one, other) => (Math.abs(other - line) < Math.abs(one - line) ? other : one)),
  );
}
