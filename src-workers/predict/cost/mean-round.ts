import { isEvenShare, isPadded } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import { getLossOfGroups, keepsOrder } from '../dealing/given.ts';
import { makeGroupDepthLaw } from '../depth/group-depth.ts';
import { countSliceUnits } from '../depth/padded.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { isInGivenOrder, getOrder, getPaddedLaw } from '../orders.ts';
import { getGivenOrder } from '../plan.ts';
import type { MeanRound } from '../tables.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { moments } from '../../models/workload/laws.ts';

/**
 * Returns the mean round of a candidate, from which the phases get their weights. In a flattened loop, units in a given
 * order count as independent.
 */
export function getMeanRound(candidate: GpuCandidate, rounds: number): MeanRound {
  const { predictor, balancing, unitsPerGroup: n, balancingAt } = candidate;
  if (isEvenShare(balancing)) {
    // An even share counts as one round. A family has no launch, so its mean round is a single unit.
    const { itemsPerSlot, meanUnitsPerThread } = candidate;
    const [items, units] = itemsPerSlot > 0 ? [itemsPerSlot, meanUnitsPerThread] : [predictor.meanLength, 1];
    // The probability that a lane starts a unit at an item. A group starts a unit whenever any of its lanes does.
    const each = Math.min(1, 1 / Math.max(1, predictor.meanLength));
    return { iterations: items, starts: Math.max(1e-9, items * (1 - (1 - each) ** n)), units };
  }
  const { meanRounds } = predictor.laws[balancingAt];
  const loop = isOneLoop(candidate) ? 'flattened' : 'nested';
  const whole = loop === 'nested' ? 1 : Math.max(1, Math.round(rounds));
  const key = (Number(loop === 'flattened') * 128 + n) * 128 + whole;
  return getOrMake(meanRounds, key, () => {
    const { iterations, starts } = makeRound(candidate, loop, whole);
    return { iterations: Math.max(iterations, 1e-9), starts, units: 1 };
  });
}

function makeRound(candidate: GpuCandidate, loop: LoopForm, rounds: number): Omit<MeanRound, 'units'> {
  const { predictor, balancing, unitsPerGroup: n } = candidate;
  const { plan, meanLength } = predictor;
  const given = getGivenOrder(plan);
  if (loop === 'nested' && given && isInGivenOrder(candidate) && keepsOrder(balancing)) {
    const order = getOrder(candidate, balancing, given);
    return { iterations: meanLength * getLossOfGroups(order, n).aggregateLoss, starts: 1 };
  }
  if (isEvenShare(balancing)) throw new TypeError('The mean round of even shares is computed separately.');
  if (isPadded(balancing)) {
    const law = getPaddedLaw(predictor, countSliceUnits(balancing, plan.units));
    return { iterations: moments(law).mean, starts: 1 };
  }
  const isOrdered = balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
  const each = isOrdered ? 1 : rounds;
  const depth = makeGroupDepthLaw(plan.law, n, balancing, loop, each, { setupIterations: 0 });
  const plain = depth.meanDepth / each;
  if (loop === 'nested') return { iterations: plain, starts: 1 };
  const withStarts = makeGroupDepthLaw(plan.law, n, balancing, loop, each, { setupIterations: 1 });
  return { iterations: plain, starts: Math.max(1, (withStarts.meanDepth - depth.meanDepth) / each) };
}

/** Whether a lane runs one loop over the iterations of all its units. */
export function isOneLoop({ predictor, balancing, loopAt }: GpuCandidate): boolean {
  // Units that a group fetches together also end together, whatever loop the design states.
  if (balancing.kind === 'dynamic-fetch') return balancing.fetch !== 'group';
  return predictor.plan.axes.loop[loopAt] === 'flattened' || isEvenShare(balancing);
}
