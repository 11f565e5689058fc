import type { GroupDepth } from '../../domain/depth.ts';
import type { PaddedBalancing } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { moments } from '../../models/workload/laws.ts';
import { listAtoms, fromMasses, takeMaximum } from './discrete-law.ts';
import { makeGroupDepthLaw } from './group-depth.ts';

export function countSliceUnits(balancing: PaddedBalancing, units: number): number {
  return balancing.kind === 'padded' ? units : Math.min(balancing.units, units);
}

/**
 * Makes the law of a padded unit, which is as long as the longest unit of its slice of `slice` units. If the slice
 * contains all units, all blocks share one draw, which is represented by its mean.
 * @param longest E[longest of all units], iterations
 */
export function makePaddedLaw(law: LengthLaw, slice: number, units: number, longest: number): LengthLaw {
  const label = `${law.label} in slices of ${slice}`;
  if (slice >= units) return { ...law, label, support: Float64Array.of(longest), probability: Float64Array.of(1) };
  return { ...law, label, ...listAtoms(takeMaximum(fromMasses(law.support, law.probability), slice)) };
}

/**
 * Computes the depth law of work groups of `n` units that are padded to their slices. A group takes as long as the
 * longest slice that it overlaps. The law is exact if slices, groups and blocks are multiples of one another.
 * @param padded `makePaddedLaw` of `law` and `slice`
 */
export function computePaddedDepth(
  law: LengthLaw,
  padded: LengthLaw,
  slice: number,
  n: number,
  loop: LoopForm,
  unitsPerThread: number,
  setupIterations: number,
): GroupDepth {
  const slices = Math.max(1, Math.ceil(n / slice));
  const depth = makeGroupDepthLaw(padded, slices, { kind: 'none' }, loop, unitsPerThread, { setupIterations });
  const work = moments(law).mean * unitsPerThread;
  const paddedWork = moments(padded).mean * unitsPerThread;
  // Iterations on padding do not count as work.
  const loss = work > 0 ? paddedWork / work : 1;
  return {
    values: depth.values,
    meanDepth: depth.meanDepth,
    meanWork: work + setupIterations * unitsPerThread,
    aggregateLoss: depth.aggregateLoss * loss,
    meanLoss: depth.aggregateLoss * loss,
    survivalInto: (out, groups) => depth.survivalInto(out, Math.max(1, (groups * n) / Math.max(n, slice))),
  };
}
