import { logTicks, multiples } from '../../../src-workers/numeric/ticks.ts';
import type { MeasuredPoint, MeasuredPoints } from './points.ts';

/** Ranges of a plot of predicted (x) against measured (y) times, ms. Both span the same ratio, so slopes are true. */
export interface ScatterFrame {
  readonly xLowMs: number;
  readonly xHighMs: number;
  readonly yLowMs: number;
  readonly yHighMs: number;
  readonly xTicksMs: readonly number[];
  readonly yTicksMs: readonly number[];
}

/** Room around the outermost points, as a part of the span. */
const MARGIN = 0.07;
/** A frame never spans less than this ratio, or noise would fill it. */
const MIN_RATIO = 1.06;

/**
 * Null where there is nothing to draw.
 * @param leastRatio the frame spans at least this, before its margins
 */
export function scatterFrame(
  points: readonly Pick<MeasuredPoint, 'predictedMs' | 'medianMs'>[],
  leastRatio = MIN_RATIO,
): ScatterFrame | null {
  if (points.length === 0) return null;
  let [xLow, xHigh, yLow, yHigh] = [Infinity, 0, Infinity, 0];
  // Medians alone: one interval from a disturbed series would press all points together. Bars end at the frame.
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

/** Predictions farther apart than this factor, such as those of a GPU and a software device, share no frame. */
const SHARED_SCALE = 4;

/**
 * Frames of the same designs predicted in two ways: one for both, so that the gain is a distance that can be seen; or
 * where they lie too far apart, each its own, over the same ratio, so that the spread about the line compares.
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

/** Ticks of a logarithmic axis; round, evenly spaced numbers where a short axis has too few powers and halves. */
export function fineTicks(low: number, high: number): readonly number[] {
  const ticks = logTicks(low, high, { max: 5 });
  if (ticks.length >= 3) return ticks;
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => each >= rough * 0.8) ?? 10 * size;
  return multiples(low, high, step);
}

/** The part of measured = scale · predicted that lies in the frame, as two points (ms); `null` where none does. */
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

/** The point nearest to a place in the plot, within `reach` px; −1 where none is. */
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

/** Where a label may stand, px from its point to the middle of its foot: below, above, at a side, and farther away. */
const BESIDE = [[0, 15], [0, -8], [13, 4], [-13, 4], [13, 15], [-13, 15], [13, -8], [-13, -8]] as const; // prettier-ignore
const LINE_PX = 13;

/** Places of labels beside their points: each the first that is `apart` px from all labels before, or below them. */
export function labelPlaces(
  points: readonly { readonly x: number; readonly y: number }[],
  apart: number,
): readonly { readonly x: number; readonly y: number }[] {
  const taken: { readonly x: number; readonly y: number }[] = [];
  const isFree = (place: { readonly x: number; readonly y: number }) =>
    taken.every(({ x, y }) => Math.abs(x - place.x) > apart || Math.abs(y - place.y) > apart);
  for (const [i, { x, y }] of points.entries()) {
    // Neighbours by rank are often neighbours in the plot: every second one begins above.
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
