import type { LengthLaw } from '../../domain/workload.ts';
import { lengthSampler, type UniformSource } from '../../numeric/random.ts';

export interface Estimate {
  readonly value: number;
  readonly standardError: number;
}

export interface SampledLoss {
  readonly meanLoss: Estimate;
  readonly aggregateLoss: Estimate;
  readonly standardDeviationLoss: number;
}

/**
 * Estimates the mean and the aggregate loss from sampled work groups: Algorithm 1 of Swatman et al. 2022
 * (doi:10.1109/MASCOTS56607.2022.00026). It checks the models, because it shares no formula with them. The aggregate
 * loss has the standard error of a ratio of sums (delta method).
 */
export function sampledLoss(law: LengthLaw, n: number, groups: number, uniform: UniformSource): SampledLoss {
  const draw = lengthSampler(law);
  let mean = 0;
  let spread = 0;
  let lockstep = 0;
  let work = 0;
  let lockstepSquared = 0;
  let workSquared = 0;
  let product = 0;
  for (let group = 1; group <= groups; group++) {
    let longest = 0;
    let sum = 0;
    for (let unit = 0; unit < n; unit++) {
      const length = draw(uniform);
      sum += length;
      if (length > longest) longest = length;
    }
    const cost = n * longest;
    const loss = sum === 0 ? 1 : cost / sum;
    // Welford's update avoids cancellation if the losses are almost equal.
    const step = loss - mean;
    mean += step / group;
    spread += step * (loss - mean);
    lockstep += cost;
    work += sum;
    lockstepSquared += cost * cost;
    workSquared += sum * sum;
    product += cost * sum;
  }
  const variance = groups > 1 ? spread / (groups - 1) : 0;
  const ratio = work === 0 ? 1 : lockstep / work;
  // The residuals cost − ratio·sum have mean 0.
  const residual = Math.max(0, lockstepSquared - 2 * ratio * product + ratio * ratio * workSquared);
  return {
    meanLoss: { value: mean, standardError: Math.sqrt(variance / groups) },
    aggregateLoss: { value: ratio, standardError: work === 0 ? 0 : Math.sqrt(residual) / work },
    standardDeviationLoss: Math.sqrt(variance),
  };
}
