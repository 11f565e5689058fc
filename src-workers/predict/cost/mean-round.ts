import { isEvenShare, isPadded } from '../../domain/design.ts';
import type { LoopForm } from '../../domain/kernel.ts';
import { FETCHING_GROUPS } from '../constants.ts';
import { getLossOfGroups, keepsOrder } from '../dealing/given.ts';
import { tabulateFetches } from '../dealing/units-per-slot.ts';
import { makeGroupDepthLaw } from '../depth/group-depth.ts';
import { countSliceUnits } from '../depth/padded.ts';
import type { GpuCandidate } from '../design/candidate.ts';
import { isInGivenOrder, getOrder, getPaddedLaw } from '../orders.ts';
import { getGivenOrder } from '../plan.ts';
import type { MeanRound } from '../tables.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { moments } from '../../models/workload/laws.ts';

/** More rounds (units per slot) count as this many: a phase that runs once per thread then has little weight. */
export const MOST_ROUNDS = 64;
/** Maximum number of steps of `countRounds` between two powers of two. */
export const ROUND_STEPS = 16;
/** With fewer units per slot, the loss of a single loop falls fast with each further unit. */
const FEW_ROUNDS = 8;

/**
 * Returns the mean units per slot, rounded so that launches share laws and tables. If slots fetch their units, the
 * result is the mean for which their depth law is made. In a single loop, the loss depends on this mean, so steps are
 * finer.
 */
export function countRounds(candidate: GpuCandidate): number {
  const { balancing, meanUnitsPerThread } = candidate;
  if (isEvenShare(balancing) || !(meanUnitsPerThread > 1)) return 1;
  if (meanUnitsPerThread >= MOST_ROUNDS) return MOST_ROUNDS;
  if (balancing.kind === 'dynamic-fetch') return Math.min(MOST_ROUNDS, tabulateFetches(meanUnitsPerThread).units);
  const octave = 2 ** Math.floor(Math.log2(meanUnitsPerThread));
  const isFine = meanUnitsPerThread < FEW_ROUNDS && isOneLoop(candidate);
  const step = isFine ? octave / ROUND_STEPS : Math.max(1, octave / 4);
  return Math.round(meanUnitsPerThread / step) * step;
}

/**
 * Returns the `MeanRound` of a candidate, from which the phases get their weights. In a flattened loop, units in a
 * given order count as independent.
 */
export function getMeanRound(candidate: GpuCandidate, rounds: number): MeanRound {
  const { predictor, balancing, unitsPerGroup: n, balancingAt } = candidate;
  if (isEvenShare(balancing)) {
    // An even share counts as one round. A family has no launch, so each of its slots counts as having one unit.
    const { itemsPerSlot, meanUnitsPerThread } = candidate;
    const [items, units] = itemsPerSlot > 0 ? [itemsPerSlot, meanUnitsPerThread] : [predictor.meanLength, 1];
    // P(a lane starts a unit at a given item, see `even-share.ts`). A group starts a unit if any of its lanes does.
    const each = Math.min(1, 1 / Math.max(1, predictor.meanLength));
    return { iterations: items, starts: Math.max(1e-9, items * (1 - (1 - each) ** n)), units };
  }
  const { meanRounds } = predictor.laws[balancingAt];
  const loop = isOneLoop(candidate) ? 'flattened' : 'nested';
  const each = loop === 'nested' ? 1 : rounds;
  const key = (Number(loop === 'flattened') * 128 + n) * 128 + each;
  return getOrMake(meanRounds, key, () => {
    const { iterations, starts } = makeRound(candidate, loop, each);
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
  const poolGroups = balancing.kind === 'dynamic-fetch' ? FETCHING_GROUPS : 1;
  const makeOf = (each: number): Omit<MeanRound, 'units'> => {
    const depth = makeGroupDepthLaw(plan.law, n, balancing, loop, each, { setupIterations: 0, poolGroups });
    const plain = depth.meanDepth / each;
    if (loop === 'nested') return { iterations: plain, starts: 1 };
    const withStarts = makeGroupDepthLaw(plan.law, n, balancing, loop, each, { setupIterations: 1, poolGroups });
    return { iterations: plain, starts: Math.max(1, (withStarts.meanDepth - depth.meanDepth) / each) };
  };
  if (isOrdered) return makeOf(1);
  const fewer = Math.floor(rounds);
  if (fewer === rounds || balancing.kind === 'dynamic-fetch') return makeOf(rounds);
  // Some groups have one unit more per slot. `share` is their share of all units.
  const [low, high] = [makeOf(fewer), makeOf(fewer + 1)];
  const share = ((rounds - fewer) * (fewer + 1)) / rounds;
  const mix = (a: number, b: number): number => (1 - share) * a + share * b;
  return { iterations: mix(low.iterations, high.iterations), starts: mix(low.starts, high.starts) };
}

/** Whether a lane runs one loop over the iterations of all its units. */
export function isOneLoop({ predictor, balancing, loopAt }: GpuCandidate): boolean {
  // Units that a group fetches together also end together, whatever loop the design states.
  if (balancing.kind === 'dynamic-fetch') return balancing.fetch !== 'group';
  return predictor.plan.axes.loop[loopAt] === 'flattened' || isEvenShare(balancing);
}
