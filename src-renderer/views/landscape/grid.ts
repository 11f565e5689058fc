import type { LandscapeGrid } from '../../../src-main/contract/api.ts';

/** Returns the best time of each column (x) and of each row (y); NaN if none of its cells is valid. */
export function marginals({ timeMs, xValues, yValues }: LandscapeGrid): { x: Float64Array; y: Float64Array } {
  const nx = xValues.length;
  const x = new Float64Array(nx).fill(NaN);
  const y = new Float64Array(yValues.length).fill(NaN);
  for (let j = 0, at = 0; j < y.length; j += 1)
    for (let i = 0; i < nx; i += 1, at += 1) {
      const time = timeMs[at];
      if (Number.isNaN(time)) continue;
      if (!(x[i] <= time)) x[i] = time;
      if (!(y[j] <= time)) y[j] = time;
    }
  return { x, y };
}

/** If the best time of a row or column exceeds this multiple of the best time of all, it is drawn at this multiple. */
const LEVEL_SPAN = 2;

/** Converts best times of rows or columns to levels: 0 the best time of all, 1 the slowest drawn time, or no time. */
export function lineLevels(timesMs: Float64Array, bestMs: number): Float64Array {
  let slowest = -Infinity;
  for (const time of timesMs) if (Number.isFinite(time) && time > slowest) slowest = time;
  const most = Math.min(slowest, bestMs * LEVEL_SPAN);
  return timesMs.map((time) => (Number.isFinite(time) ? (Math.min(time, most) - bestMs) / (most - bestMs || 1) : 1));
}

/** A segment of a line along the edges of cells, in cells: x to the right, y in the order of the rows. */
type Edge = Readonly<Record<'x1' | 'y1' | 'x2' | 'y2', number>>;

/** Returns the edges between cells with at most one wave of blocks (allowing for rounding) and cells with more. */
export function oneWaveBoundary({ waves, timeMs, xValues, yValues }: LandscapeGrid): Edge[] {
  const nx = xValues.length;
  const ny = yValues.length;
  const NONE = 0;
  const kind = new Uint8Array(waves.length);
  for (let at = 0; at < kind.length; at += 1) if (!Number.isNaN(timeMs[at])) kind[at] = waves[at] > 1 + 1e-9 ? 2 : 1;
  const differ = (a: number, b: number) => a !== NONE && b !== NONE && a !== b;
  const edges: Edge[] = [];
  for (let j = 0, at = 0; j < ny; j += 1)
    for (let i = 0; i < nx; i += 1, at += 1) {
      const here = kind[at];
      if (i + 1 < nx && differ(here, kind[at + 1])) edges.push({ x1: i + 1, y1: j, x2: i + 1, y2: j + 1 });
      if (j + 1 < ny && differ(here, kind[at + nx])) edges.push({ x1: i, y1: j + 1, x2: i + 1, y2: j + 1 });
    }
  return edges;
}

/** Whether many cells are slow and have at most 0.7 waves: too few thread groups to hide latency. */
export function hasStarvedRegion({ waves, timeMs, best }: LandscapeGrid): boolean {
  let count = 0;
  for (let at = 0; at < timeMs.length; at += 1) if (timeMs[at] > 1.6 * best && waves[at] <= 0.7) count += 1;
  return count >= Math.max(3, 0.03 * timeMs.length);
}
