import type { SimulatedTime } from './api.ts';

/**
 * Differences between predictions and the event simulation, as a text for users. Measured by `node
 * test/bench/composite.ts` (random designs, unsorted units) and `node test/bench/balancing.ts` (sorted and bucketed
 * units).
 */
export const ACCURACY_TEXT =
  'Against the event simulation, half of the predictions of unsorted units are within 0.4 % and 95 % within 4 %; of sorted, bucketed or ' +
  'fetched units, half are within 0.8 % and 95 % within 9 %. Errors are largest where a few units are far longer than all others.';

/** Relative distance of a prediction from a simulation's interval beyond which the simulation contradicts it. */
export const CONTRADICTION_FRACTION = 0.1;

type Simulated = Pick<SimulatedTime, 'meanMs' | 'lowMs' | 'highMs'>;

/**
 * Whether a simulation contradicts the prediction. It does if the prediction lies outside the interval of the mean by
 * more than 10 % of the mean.
 */
export function isContradicted(predictedMs: number, { meanMs, lowMs, highMs }: Simulated): boolean {
  const beyond = Math.max(lowMs - predictedMs, predictedMs - highMs);
  return beyond > CONTRADICTION_FRACTION * meanMs;
}

/**
 * What a simulation says of the prediction that it contradicts: `14.4 times as long as predicted`, `23 % shorter than
 * predicted`.
 */
export function contradictionText(predictedMs: number, { meanMs }: Simulated): string {
  const ratio = meanMs / predictedMs;
  if (ratio >= 2) return `${ratio.toFixed(1)} times as long as predicted`;
  const change = Math.round(Math.abs(ratio - 1) * 100);
  return `${change} % ${ratio > 1 ? 'longer' : 'shorter'} than predicted`;
}
