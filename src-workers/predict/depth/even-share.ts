import type { GroupDepth } from '../../domain/depth.ts';
import type { EvenShareBalancing } from '../../domain/design.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { moments } from '../../models/workload/laws.ts';
import { fromMasses, takeMaximumInto, shiftLaw, makeSmoothLaw } from './discrete-law.ts';
import { prepareRenewals } from './dynamic-fetch.ts';

/**
 * Starts of units on the lanes of a group with even shares of items (`dealing/even-share.ts`). A share starts anywhere
 * in a unit, so a lane is a stationary renewal process. An item is the first of a unit with probability ρ, and then the
 * k-th item after it is one too with probability u(k). None of n independent lanes starts a unit at a given item with
 * probability (1 − ρ)ⁿ, and at either of two items with (1 − 2ρ + ρ·u(k))ⁿ. So the mean and the variance of the number
 * of items with a start are exact. The law of this number is taken as normal.
 */
export interface ShareStarts {
  /** ρ, the probability that an item is the first of a unit. */
  readonly rate: number;
  /** u(k) at multiples of `step` items, k ≥ 1. Beyond the last entry, u(k) is ρ. */
  readonly step: number;
  readonly again: Float64Array;
  readonly sums: Map<number, CovarianceSums>;
}

/** Entry i: sums over pairs of items 1, 2, …, i steps apart, of their covariance and of covariance times distance. */
interface CovarianceSums {
  readonly plain: Float64Array;
  readonly weighted: Float64Array;
}

/** A non-zero split skips empty units. On a merge path, the end of a unit is also an item. */
export function computeShareStarts(law: LengthLaw, { kind }: EvenShareBalancing): ShareStarts {
  const whole = fromMasses(law.support, law.probability);
  const renewals = prepareRenewals(kind === 'merge-path' ? shiftLaw(whole, 1) : whole);
  if (!renewals) return { rate: 0, step: 1, again: new Float64Array(0), sums: new Map() };
  const { step, mean, starts } = renewals;
  return { rate: 1 / (mean * step), step, again: starts.slice(1).map((rate) => rate / step), sums: new Map() };
}

function computeCovarianceSums({ rate, step, again }: ShareStarts, n: number): CovarianceSums {
  const plain = new Float64Array(again.length + 1);
  const weighted = new Float64Array(again.length + 1);
  const apart = (1 - rate) ** (2 * n);
  again.forEach((next, i) => {
    const covariance = step * ((1 - 2 * rate + rate * next) ** n - apart);
    plain[i + 1] = plain[i] + covariance;
    weighted[i + 1] = weighted[i] + covariance * (i + 1) * step;
  });
  return { plain, weighted };
}

/** Mean and deviation of the number of items, after the first one, at which any of n lanes starts a unit. */
function computeStartMoments(starts: ShareStarts, items: number, n: number): { mean: number; deviation: number } {
  const { rate, step, again, sums } = starts;
  const later = items - 1;
  const none = (1 - rate) ** n;
  const known = getOrMake(sums, n, () => computeCovarianceSums(starts, n));
  const reach = Math.min(again.length, Math.floor(later / step));
  const pairs = later * known.plain[reach] - known.weighted[reach];
  const variance = later * none * (1 - none) + 2 * pairs;
  return { mean: later * (1 - none), deviation: Math.sqrt(Math.max(0, variance)) };
}

export function computeEvenShareDepth(
  law: LengthLaw,
  starts: ShareStarts,
  shares: { readonly items: number; readonly unitsPerGroup: number; readonly unitsPerSlot: number },
  setupIterations: number,
  overhead: number,
): GroupDepth {
  const { items, unitsPerGroup, unitsPerSlot } = shares;
  const base = items + overhead + setupIterations;
  const work = moments(law).mean * unitsPerSlot;
  const loss = work > 0 ? items / work : 1;
  const means = { meanWork: work + setupIterations * unitsPerSlot, aggregateLoss: loss, meanLoss: loss };
  const { mean, deviation } = computeStartMoments(starts, items, unitsPerGroup);
  const depthOf = (count: number): number => base + setupIterations * count;
  if (setupIterations === 0 || deviation < 1e-6)
    return {
      ...means,
      values: Float64Array.of(depthOf(mean)),
      meanDepth: depthOf(mean),
      survivalInto: (out) => out.fill(0),
    };
  const { values, survival } = makeSmoothLaw(mean, deviation, 0);
  // The number of starts lies between 0 and the number of items.
  const kept = values.findIndex((value) => value > 0);
  const counts = values.subarray(kept).filter((value) => value < items - 1);
  const above = survival.slice(kept, kept + counts.length);
  above[above.length - 1] = 0;
  return {
    ...means,
    values: counts.map(depthOf),
    meanDepth: depthOf(mean),
    survivalInto: (out, groups) => takeMaximumInto(out, above, groups),
  };
}
