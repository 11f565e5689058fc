import { logTicks, multiples } from '../../../src-workers/numeric/ticks.ts';
import type { MeasuredPoint, MeasuredPoints } from './points.ts';

/**
 * The ranges of predicted (x) and measured (y) times, ms. Both span the same ratio, so a constant quotient of the times
 * is a line parallel to the diagonal.
 */
export interface ScatterFrame {
  readonly xLowMs: number;
  readonly xHighMs: number;
  readonly yLowMs: number;
  readonly yHighMs: number;
  readonly xTicksMs: readonly number[];
  readonly yTicksMs: readonly number[];
}

/** The margin around the outermost points, as a fraction of the span. */
const MARGIN = 0.07;
/** The least ratio of a frame. With less, noise would fill it. */
const MIN_RATIO = 1.06;

/**
 * Returns null if there is nothing to draw.
 * @param leastRatio the frame spans at least this, before its margins
 */
export function scatterFrame(
  points: readonly Pick<MeasuredPoint, 'predictedMs' | 'medianMs'>[],
  leastRatio = MIN_RATIO,
): ScatterFrame | null {
  if (points.length === 0) return null;
  let [xLow, xHigh, yLow, yHigh] = [Infinity, 0, Infinity, 0];
  // Only medians count, because one wide interval would press all points together. Bars end at the frame.
  for (const { predictedMs, medianMs } of points) {
    xLow = Math.min(xLow, predictedMs);
    xHigh = Math.max(xHigh, predictedMs);
    yLow = Math.min(yLow, medianMs);
    yHigh = Math.max(yHigh, medianMs);
  }
  const span = Math.max(Math.log(leastRatio), Math.log(xHigh / xLow), Math.log(yHigh / yLow)) * (1 + 2 * MARGIN);
  const around = (low: number, high: number) => {
    const centre = (Math.log(low) + Math.log(high)) / 2;
    return [Math.exp(centre - span / 2), Math.exp(centre + span / 2)] as const;
  };
  const [xLowMs, xHighMs] = around(xLow, xHigh);
  const [yLowMs, yHighMs] = around(yLow, yHigh);
  return {
    xLowMs,
    xHighMs,
    yLowMs,
    yHighMs,
    xTicksMs: fineTicks(xLowMs, xHighMs),
    yTicksMs: fineTicks(yLowMs, yHighMs),
  };
}

/** If predictions differ by more than this factor (a GPU and a software device), they share no frame. */
const SHARED_SCALE = 4;

/**
 * Returns frames for the same designs predicted in two ways: one for both, so that the gain is a visible distance. If
 * they are too far apart, each has its own frame with the same ratio, so that the spread about the line is comparable.
 */
export function framesOf(
  before: MeasuredPoints,
  after: MeasuredPoints | null,
): { readonly before: ScatterFrame | undefined; readonly after: ScatterFrame | undefined } {
  if (after === null) return { before: scatterFrame(before.points) ?? undefined, after: undefined };
  if (Math.abs(Math.log(before.scale / after.scale)) < Math.log(SHARED_SCALE)) {
    const shared = scatterFrame([...before.points, ...after.points]) ?? undefined;
    return { before: shared, after: shared };
  }
  const ratio = Math.max(...[before, after].map(({ points }) => spanRatio(points)));
  return {
    before: scatterFrame(before.points, ratio) ?? undefined,
    after: scatterFrame(after.points, ratio) ?? undefined,
  };
}

function spanRatio(points: readonly Pick<MeasuredPoint, 'predictedMs' | 'medianMs'>[]): number {
  const ratio = (values: readonly number[]) => Math.max(...values) / Math.min(...values);
  return points.length === 0
    ? MIN_RATIO
    : Math.max(ratio(points.map((p) => p.predictedMs)), ratio(points.map((p) => p.medianMs)));
}

/** Returns ticks of a logarithmic axis. A short axis gets round, evenly spaced numbers. */
export function fineTicks(low: number, high: number): readonly number[] {
  const ticks = logTicks(low, high, { max: 5 });
  if (ticks.length >= 3) return ticks;
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => each >= rough * 0.8) ?? 10 * size;
  return multiples(low, high, step);
}

/** Returns the part of measured = scale · predicted inside the frame, as two points (ms), or `null`. */
export function lineInFrame(
  frame: ScatterFrame,
  scale: number,
): readonly [readonly [number, number], readonly [number, number]] | null {
  const from = Math.max(frame.xLowMs, frame.yLowMs / scale);
  const to = Math.min(frame.xHighMs, frame.yHighMs / scale);
  return from < to
    ? [
        [from, from * scale],
        [to, to * scale],
      ]
    : null;
}

/** Returns the point nearest to a position in the plot, within `reach` px, or −1. */
export function nearestPoint(
  places: readonly { readonly x: number; readonly y: number }[],
  x: number,
  y: number,
  reach: number,
): number {
  let [found, least] = [-1, reach * reach];
  for (const [i, place] of places.entries()) {
    const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
    if (distance <= least) [found, least] = [i, distance];
  }
  return found;
}

/** Possible positions of a label, px from its point to the middle of its foot: the nearest come first. */
const BESIDE = [[0, 15], [0, -8], [13, 4], [-13, 4], [13, 15], [-13, 15], [13, -8], [-13, -8]] as const; // prettier-ignore
const LINE_PX = 13;

/** Places labels at the first position that is `apart` px from all earlier labels, or else below the point. */
export function labelPlaces(
  points: readonly { readonly x: number; readonly y: number }[],
  apart: number,
): readonly { readonly x: number; readonly y: number }[] {
  const taken: { readonly x: number; readonly y: number }[] = [];
  const isFree = (place: { readonly x: number; readonly y: number }) =>
    taken.every(({ x, y }) => Math.abs(x - place.x) > apart || Math.abs(y - place.y) > apart);
  for (const [i, { x, y }] of points.entries()) {
    // Neighbours by rank are often neighbours in the plot, so every second label begins above.
    const [below, above, ...others] = BESIDE;
    const beside = [...(i % 2 === 0 ? [below, above] : [above, below]), ...others];
    let place = beside.map(([dx, dy]) => ({ x: x + dx, y: y + dy })).find(isFree);
    for (let line = 1; !place; line += 1) {
      const farther = { x, y: y + below[1] + line * LINE_PX };
      if (isFree(farther)) place = farther;
    }
    taken.push(place);
  }
  return taken;
}
