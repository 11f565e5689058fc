import type { LandscapeGrid } from '../../../src-main/contract/api.ts';
import { CLIP } from './colour.ts';

/** A surface in perspective-free projection, nearest parts last: small enough to turn on a plain canvas. */

export interface View {
  /** Turn about the vertical, radians. */
  readonly azimuth: number;
  /** Height of the eye above the ground, radians: 0 from the side, π/2 from above. */
  readonly elevation: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Facet {
  readonly points: readonly [Point, Point, Point, Point];
  /** Mean time of the corners, ms; what is slower than the cut counts as the cut. */
  readonly timeMs: number;
  /** 0 turned away from the light … 1 facing it. */
  readonly light: number;
}

/** Facets beyond this are drawn from every second value, or third, …: a turn must stay smooth. */
const MAX_VALUES = 96;
/** Height of the box over its width. */
const HEIGHT = 0.55;

/** How far a picture reaches above and below the centre of the box, in widths of the box; `low` is negative. */
export interface Reach {
  readonly low: number;
  readonly high: number;
}

type Place = readonly [across: number, up: number, depth: number];

/** Places of the unit box (x right, y back, z up, each 0…1) as they are seen, about its centre, in widths of the box. */
function placer({ azimuth, elevation }: View): (x: number, y: number, z: number) => Place {
  const [ca, sa, ce, se] = [Math.cos(azimuth), Math.sin(azimuth), Math.cos(elevation), Math.sin(elevation)];
  return (x, y, z) => {
    const [u, v, w] = [x - 0.5, y - 0.5, (z - 0.5) * HEIGHT];
    const back = u * sa + v * ca;
    return [u * ca - v * sa, w * ce + back * se, back * ce - w * se];
  };
}

const FLOOR = [[0, 0], [1, 0], [1, 1], [0, 1]] as const; // prettier-ignore

/** Place of a time on the height of the box: logarithmic, the best 0, the cut 1. */
function heightOf(timeMs: number, bestMs: number, clip: number): number {
  return Math.log(Math.min(timeMs, bestMs * clip) / bestMs) / Math.log(clip);
}

/** What of the box is drawn: its floor, its post at the left, and the surface. The rest of it need not fit the screen. */
export function surfaceReach(
  { timeMs, xValues, yValues }: LandscapeGrid,
  bestMs: number,
  view: View,
  clip = CLIP,
): Reach {
  const place = placer(view);
  const floor = FLOOR.map(([x, y]) => place(x, y, 0));
  const [px, py] = FLOOR[floor.reduce((left, [across], at) => (across < floor[left][0] ? at : left), 0)];
  const low = Math.min(...floor.map(([, up]) => up));
  let high = Math.max(place(px, py, 1)[1], ...floor.map(([, up]) => up));
  const nx = xValues.length;
  const ny = yValues.length;
  for (const j of sampled(ny))
    for (const i of sampled(nx)) {
      const time = timeMs[j * nx + i];
      if (!Number.isNaN(time))
        high = Math.max(high, place(i / (nx - 1), j / (ny - 1), heightOf(time, bestMs, clip))[1]);
    }
  return { low, high };
}

/** Room for the labels, px: of the axes' ends at both sides, of the unit above, of the ends and the hint below. */
const SIDES = 96;
const ABOVE = 28;
const BELOW = 46;

/** Maps the unit box to the screen: as large as fits, its reach in the middle. The width holds the box at every turn. */
export function projector(
  view: View,
  width: number,
  height: number,
  { low, high }: Reach,
): (x: number, y: number, z: number) => Point & { readonly depth: number } {
  const place = placer(view);
  const room = height - ABOVE - BELOW;
  const size = Math.min((width - SIDES) / Math.SQRT2, room / (high - low));
  const centre = ABOVE + room / 2 + (size * (high + low)) / 2;
  return (x, y, z) => {
    const [across, up, depth] = place(x, y, z);
    return { x: width / 2 + size * across, y: centre - size * up, depth };
  };
}

/** The facets of a grid between its cells' centres, farthest first. Height is the time on a log scale, from the best to `clip` times it. */
export function surfaceFacets(
  { timeMs, xValues, yValues }: LandscapeGrid,
  bestMs: number,
  project: ReturnType<typeof projector>,
  clip = CLIP,
): readonly Facet[] {
  const nx = xValues.length;
  const ny = yValues.length;
  const columns = sampled(nx);
  const rows = sampled(ny);
  const time = (i: number, j: number) => Math.min(timeMs[j * nx + i], bestMs * clip);
  const facets: (Facet & { readonly depth: number })[] = [];
  for (let b = 0; b + 1 < rows.length; b += 1)
    for (let a = 0; a + 1 < columns.length; a += 1) {
      const [i, k] = [columns[a], columns[a + 1]];
      const [j, l] = [rows[b], rows[b + 1]];
      const times = [time(i, j), time(k, j), time(k, l), time(i, l)] as const;
      if (times.some(Number.isNaN)) continue;
      const [x0, x1, y0, y1] = [i / (nx - 1), k / (nx - 1), j / (ny - 1), l / (ny - 1)];
      const heights = times.map((ms) => heightOf(ms, bestMs, clip)) as [number, number, number, number];
      const corners = [
        project(x0, y0, heights[0]),
        project(x1, y0, heights[1]),
        project(x1, y1, heights[2]),
        project(x0, y1, heights[3]),
      ] as const;
      // Slopes of the facet; the light comes from the left and above.
      const dx = ((heights[1] + heights[2] - heights[0] - heights[3]) / 2 / (x1 - x0)) * HEIGHT;
      const dy = ((heights[2] + heights[3] - heights[0] - heights[1]) / 2 / (y1 - y0)) * HEIGHT;
      const light = (0.5 * dx + 0.3 * dy + 0.81) / Math.hypot(dx, dy, 1);
      facets.push({
        points: corners,
        timeMs: (times[0] + times[1] + times[2] + times[3]) / 4,
        light: Math.min(1, Math.max(0, light)),
        depth: (corners[0].depth + corners[1].depth + corners[2].depth + corners[3].depth) / 4,
      });
    }
  return facets.sort((a, b) => b.depth - a.depth);
}

/** Positions of an axis, thinned so that at most MAX_VALUES stay; the ends always do. */
function sampled(count: number): number[] {
  const step = Math.max(1, Math.ceil(count / MAX_VALUES));
  const out: number[] = [];
  for (let i = 0; i < count; i += step) out.push(i);
  if (out.at(-1) !== count - 1) out.push(count - 1);
  return out;
}
