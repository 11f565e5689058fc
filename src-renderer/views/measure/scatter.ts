import { logTicks } from '../compare/scales.ts';
import type { MeasuredPoint } from './points.ts';

/** The ranges of a plot of predicted (x) against measured (y) times, ms. Both span the same ratio, so that slope 1 is slope 1. */
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
const LEAST_RATIO = 1.06;

/** Null where there is nothing to draw. */
export function scatterFrame(points: readonly Pick<MeasuredPoint, 'predictedMs' | 'medianMs'>[]): ScatterFrame | null {
  if (points.length === 0) return null;
  let [xLow, xHigh, yLow, yHigh] = [Infinity, 0, Infinity, 0];
  // Medians alone: one interval from a disturbed series would press all points together. Bars end at the frame.
  for (const { predictedMs, medianMs } of points) {
    xLow = Math.min(xLow, predictedMs);
    xHigh = Math.max(xHigh, predictedMs);
    yLow = Math.min(yLow, medianMs);
    yHigh = Math.max(yHigh, medianMs);
  }
  const span = Math.max(Math.log(LEAST_RATIO), Math.log(xHigh / xLow), Math.log(yHigh / yLow)) * (1 + 2 * MARGIN);
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

/** Ticks of a logarithmic axis; of a short one, evenly spaced round numbers, where powers and halves would be too few. */
export function fineTicks(low: number, high: number): readonly number[] {
  const ticks = logTicks(low, high, 5);
  if (ticks.length >= 3) return ticks;
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((each) => each >= rough * 0.8) ?? 10 * size;
  const out: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) out.push(Number((i * step).toPrecision(6)));
  return out;
}

/** The part of the line measured = scale · predicted that lies in the frame, as two points (ms); null where none does. */
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

/** Which of the places get their label: in order, those that stand `apart` px from every one labelled before. */
export function labelled(
  places: readonly { readonly x: number; readonly y: number }[],
  apart: number,
): readonly boolean[] {
  const taken: { readonly x: number; readonly y: number }[] = [];
  return places.map((place) => {
    const free = taken.every(({ x, y }) => Math.abs(x - place.x) > apart || Math.abs(y - place.y) > apart);
    if (free) taken.push(place);
    return free;
  });
}
