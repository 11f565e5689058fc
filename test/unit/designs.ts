import { boundsOf } from '../../src-workers/advise/bound.ts';
import { listPlayableLaunches, type PlayableDesign } from '../../src-workers/predict/designs.ts';
import type { Predictor } from '../../src-workers/predict/tables.ts';

/**
 * Returns the launch of a design that has only one.
 * @returns `null` if the design is invalid, for a CPU, or has several launches
 */
export function playableDesign(whole: Predictor, index: number): PlayableDesign | null {
  const launches = listPlayableLaunches(whole, index);
  return launches.length === 1 ? launches[0].design : null;
}

/** Returns `Bounds.shortest` for each design. */
export function shortestTimes(predictor: Predictor, designs: Uint32Array): Float64Array {
  const { shortest } = boundsOf(predictor);
  return Float64Array.from(designs, shortest);
}

/** Returns `Bounds.withLoss` for each design; NaN if the design is invalid. */
export function shortestTimesWithLoss(predictor: Predictor, designs: Uint32Array): Float64Array {
  const { shortest, withLoss } = boundsOf(predictor);
  return Float64Array.from(designs, (design) => (Number.isNaN(shortest(design)) ? NaN : withLoss(design)));
}
