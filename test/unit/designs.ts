import { unwrap } from '../../src-workers/domain/result.ts';
import { listPlayableLaunches, type PlayableDesign } from '../../src-workers/predict/designs.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import type { Predictor } from '../../src-workers/predict/tables.ts';
import { simulateDesign, type SimulationOptions } from '../../src-workers/simulate/simulate-design.ts';

/** Returns the only launch of a design; `null` if it is invalid, for a CPU, or has several launches. */
export function playableDesign(whole: Predictor, index: number): PlayableDesign | null {
  const launches = listPlayableLaunches(whole, index);
  return launches.length === 1 ? launches[0].design : null;
}

export function predictedOverSimulated(
  predictor: Predictor,
  index: number,
  options: Omit<SimulationOptions, 'seed'> & { readonly seed?: number },
): number {
  const { meanMs } = unwrap(simulateDesign(predictor, index, { seed: 1, ...options }));
  return predictChunk(predictor, index, 1).timeMs[0] / meanMs;
}
