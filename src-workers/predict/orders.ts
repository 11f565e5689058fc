import type { LengthLaw } from '../domain/workload.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { getOrMake } from '../numeric/kept.ts';
import { arrangeKnownUnits } from './dealing/arrange.ts';
import type { GivenBalancing, GivenOrder } from './dealing/given.ts';
import { makeSortedOrder, type SortedOrder } from './dealing/order.ts';
import { makePaddedLaw } from './depth/padded.ts';
import type { GpuCandidate } from './design/candidate.ts';
import type { SweepPlan } from './plan.ts';
import type { Predictor } from './tables.ts';
import { countWindowUnits, type SortedBalancing } from './time/dealt-launch.ts';

/** Whether the units of a candidate have the order of the workload, or one that a balancing derives from it. */
export function isInGivenOrder({ predictor, balancing }: GpuCandidate): boolean {
  return predictor.plan.ordered?.given === true && balancing.kind !== 'shuffle';
}

export function getOrder(
  { predictor: { plan }, unitsPerGroup }: GpuCandidate,
  balancing: GivenBalancing,
  given: CompactNumbers,
): GivenOrder {
  return arrangeKnownUnits(given, plan.units, plan.law, balancing, unitsPerGroup);
}

export function getSortedOrder({ law, units }: SweepPlan, balancing: SortedBalancing): SortedOrder {
  return makeSortedOrder(law, units, countWindowUnits(balancing, units));
}

export function getPaddedLaw({ plan, paddedLaws, longestLength }: Predictor, slice: number): LengthLaw {
  return getOrMake(paddedLaws, slice, () => makePaddedLaw(plan.law, slice, plan.units, longestLength));
}
