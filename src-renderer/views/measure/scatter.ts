import { logTicks, multiples } from '../../../src-workers/numeric/ticks.ts';
import type { MeasuredPoint, MeasuredPoints } from './points.ts';

/**
 * The ranges of predicted (x) and measured (y) times, ms. Both span the same ratio, so that designs with the same
 * factor of error lie on a line parallel to the diagonal.
 */
export interface ScatterFrame {
  readonly xLowMs: number;
  readonly xHighMs: number;
  readonly yLowMs: number;
  readonly yHighMs: number;
  readonly xTicksMs: readonly number[];
  readonly yTicksMs: readonly number[];
}

const MARGIN = 0.07;
/** The smallest ratio of highest to lowest time in a frame. In a smaller frame, noise would look like an effect. */
const MIN_RATIO = 1.06;

/** Returns the frame around points; null if there are none. Without its margins, its ratio is at least `leastRatio`. */
export function scatterFrame(
  points: readonly Pick<MeasuredPoint, 'predictedMs' | 'medianMs'>[],
  leastRatio = MIN_RATIO,
): ScatterFrame | null {
  if (points.length === 0) return null;
  let [xLow, xHigh, yLow, yHigh] = [Infinity, 0, Infinity, 0];
  // One wide interval would press all points together, so only medians set the frame.
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

/** Predictions before and after a calibration share a frame only if their scales differ by less than this factor. */
const SHARED_SCALE = 4;

/**
 * Returns the frames of two plots of the same designs: one shared frame, which shows how far the predictions moved, or
 * two frames of the same ratio, in which spreads can be compared.
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

/** Returns the ticks of a logarithmic axis or, if it has fewer than three, evenly spaced round numbers. */
export function fineTicks(low: number, high: number): readonly number[] {
  const ticks = logTicks(low, high, { max: 5 });
  if (ticks.length >= 3) return ticks;
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => each >= rough * 0.8) ?? 10 * size;
  return multiples(low, high, step);
}

/** Returns the ends of the line measured = scale · predicted inside the frame, ms; `null` if the line is outside. */
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

/** Offsets from a point to the middle of the lower edge of its label, px, in order of preference. */
const BESIDE = [[0, 15], [0, -8], [13, 4], [-13, 4], [13, 15], [-13, 15], [13, -8], [-13, -8]] as const; // prettier-ignore
const LINE_PX = 13;

export function labelPlaces(
  points: readonly { readonly x: number; readonly y: number }[],
  apart: number,
): readonly { readonly x: number; readonly y: number }[] {
  const taken: { readonly x: number; readonly y: number }[] = [];
  const isFree = (place: { readonly x: number; readonly y: number }) =>
    taken.every(({ x, y }) => Math.abs(x - place.x) > apart || Math.abs(y - place.y) > apart);
  for (const [i, { x, y }] of points.entries()) {
    // Points with consecutive ranks are often close, so every second label tries the position above first.
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
