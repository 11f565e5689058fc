import type { LengthLaw } from '../../domain/workload.ts';
import { lossMoments } from '../imbalance/closed-form.ts';

export interface GranularityRow {
  readonly threadsPerUnit: number;
  readonly unitsPerGroup: number;
  /** E[longest unit of a group], iterations. */
  readonly depth: number;
  readonly meanLoss: number;
  readonly aggregateLoss: number;
  /** Lane iterations per iteration of work, by mean and by aggregate loss. */
  readonly laneCostMean: number;
  readonly laneCostAggregate: number;
}

/**
 * φ(u) = (1−σ)/u + σ + κ·log₂u: the time of an iteration shared by u threads divided by the time of one thread alone
 * (Amdahl's law plus a tree of cooperation steps).
 * @param serialFraction σ, 0…1: the part of an iteration that does not get faster
 * @param cooperationCost κ ≥ 0: cost of one cooperation step, as a fraction of an iteration
 */
export function costFactor(threadsPerUnit: number, serialFraction: number, cooperationCost: number): number {
  return (1 - serialFraction) / threadsPerUnit + serialFraction + cooperationCost * Math.log2(threadsPerUnit);
}

/**
 * Computes the lane cost loss(ω/u)·u·φ(u), φ by `costFactor`, for every power of two u up to the thread-group width ω.
 * @param law iterations of one lane between two points at which lanes meet
 */
export function granularityCurve(
  law: LengthLaw,
  threadGroupWidth: number,
  serialFraction: number,
  cooperationCost: number,
): GranularityRow[] {
  if (!Number.isInteger(Math.log2(threadGroupWidth))) {
    throw new RangeError(`The width of a thread group must be a power of two, not ${threadGroupWidth}.`);
  }
  const sizes: number[] = [];
  for (let n = threadGroupWidth; n >= 1; n /= 2) sizes.push(n);
  let meanLength = 0;
  for (let i = 0; i < law.support.length; i++) meanLength += law.support[i] * law.probability[i];
  return lossMoments(law, sizes).map(({ n, meanLoss, aggregateLoss }) => {
    const threadsPerUnit = threadGroupWidth / n;
    const lanes = threadsPerUnit * costFactor(threadsPerUnit, serialFraction, cooperationCost);
    return {
      threadsPerUnit,
      unitsPerGroup: n,
      depth: aggregateLoss * meanLength,
      meanLoss,
      aggregateLoss,
      laneCostMean: meanLoss * lanes,
      laneCostAggregate: aggregateLoss * lanes,
    };
  });
}
