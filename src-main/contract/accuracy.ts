import type { SimulatedTime } from './api.ts';

/** Measured by test/bench/composite.ts (unsorted units) and test/bench/balancing.ts (sorted, bucketed, fetched). */
export const ACCURACY_TEXT =
  'Compared with the event simulation, half of the predictions for unsorted units are within 0.4 %, and 95 % are within 4 %. ' +
  'For sorted, bucketed or fetched units, half are within 0.8 %, and 95 % are within 9 %. Errors are largest where a few units are far longer than all others.';

/** A prediction is contradicted if its distance from the simulated interval exceeds this fraction of the mean. */
const CONTRADICTION_FRACTION = 0.1;

type Simulated = Pick<SimulatedTime, 'meanMs' | 'lowMs' | 'highMs'>;

export function isContradicted(predictedMs: number, { meanMs, lowMs, highMs }: Simulated): boolean {
  const beyond = Math.max(lowMs - predictedMs, predictedMs - highMs);
  return beyond > CONTRADICTION_FRACTION * meanMs;
}

export function contradictionText(predictedMs: number, { meanMs }: Simulated): string {
  const ratio = meanMs / predictedMs;
  if (ratio >= 2) return `${ratio.toFixed(1)} times as long as predicted`;
  const change = Math.round(Math.abs(ratio - 1) * 100);
  return `${change} % ${ratio > 1 ? 'longer' : 'shorter'} than predicted`;
}
