import type { LengthLaw } from '../../domain/workload.ts';
import { affordableLossDistribution } from './binned.ts';
import { lossHistogram } from './distribution.ts';

export interface LossComparison {
  /** bins + 1 edges, from 1. The first and the last bin also hold the losses beyond the edges. */
  readonly edges: Float64Array;
  readonly modelled: Float64Array;
  readonly observed: readonly Float64Array[];
}

/** @param samples sets of losses per group, none of them empty; noise may put measured losses below 1 */
export function lossComparison(
  law: LengthLaw,
  n: number,
  samples: readonly Float64Array[],
  bins: number,
): LossComparison {
  const { edges, probability } = lossHistogram(affordableLossDistribution(law, n), bins);
  const width = (edges[bins] - 1) / bins;
  const observed = samples.map((losses) => {
    const parts = new Float64Array(bins);
    for (const loss of losses)
      parts[Math.max(0, Math.min(bins - 1, Math.floor((loss - 1) / width)))] += 1 / losses.length;
    return parts;
  });
  return { edges, modelled: probability, observed };
}
