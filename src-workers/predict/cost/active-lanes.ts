import { isEvenShare, isPadded, type LockstepBalancing } from '../../domain/design.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { keptWith } from '../../numeric/kept.ts';
import type { Predictor } from '../tables.ts';

export interface ActiveLanes {
  /** Mean fraction of the lanes that are still active when a lane reads, 0…1. */
  readonly ofReads: number;
  /**
   * Returns the mean fraction of the iterations in which at least one active lane of a group of n units needs something
   * (such as a load from far memory), if each active lane needs it with probability p. The fraction is ∫ 1 − (1 −
   * p·S(v))ⁿ dv divided by the same integral with p = 1, where S is the survival function of the lengths.
   */
  any(units: number, probability: number): number;
}

const ALL: ActiveLanes = { ofReads: 1, any: (units, probability) => 1 - (1 - probability) ** units };

/** Steps of the approximate survival function. The results are accurate to a few per cent at best. */
const STEPS = 48;

/**
 * @param lanes n, the units that a group runs at once
 * @param loss iterations of the group divided by the mean length, ≥ 1
 */
export function countActiveLanes(
  { plan: { law } }: Predictor,
  balancing: LockstepBalancing,
  lanes: number,
  loss: number,
): ActiveLanes {
  if (isEvenShare(balancing) || isPadded(balancing)) return ALL;
  const { kind } = balancing;
  const areIndependent = kind === 'none' || kind === 'shuffle';
  if (areIndependent || (kind === 'dynamic-fetch' && balancing.fetch === 'group')) return countActiveLanesOfLaw(law);
  return splitByLoss(lanes, loss);
}

/** Assumes similar neighbours: all lanes are active in a part of the iterations, and one lane in the others. */
function splitByLoss(lanes: number, loss: number): ActiveLanes {
  const all = lanes > 1 ? Math.max(0, Math.min(1, (lanes / loss - 1) / (lanes - 1))) : 1;
  return {
    ofReads: (all * lanes + (1 - all) / lanes) / (all * lanes + 1 - all),
    any: (units, probability) => all * ALL.any(units, probability) + (1 - all) * probability,
  };
}

const countActiveLanesOfLaw = keptWith(({ support, probability }: LengthLaw): ActiveLanes => {
  const [spans, shares] = coarsenSurvival(support, probability);
  let reads = 0;
  let squares = 0;
  spans.forEach((span, at) => {
    reads += span * shares[at];
    squares += span * shares[at] ** 2;
  });
  const anyOf = (units: number, p: number): number =>
    spans.reduce((sum, span, at) => sum + span * (1 - (1 - p * shares[at]) ** units), 0);
  return {
    ofReads: reads > 0 ? squares / reads : 1,
    any: (units, p) => {
      const all = anyOf(units, 1);
      return all > 0 ? anyOf(units, p) / all : p;
    },
  };
});

function coarsenSurvival(support: Float64Array, probability: Float64Array): readonly [number[], number[]] {
  const spans = [support[0]];
  const shares = [1];
  let survival = 1;
  let span = 0;
  let area = 0;
  for (let at = 0; at + 1 < support.length; at += 1) {
    survival = Math.max(0, survival - probability[at]);
    const step = support[at + 1] - support[at];
    span += step;
    area += step * survival;
    const isLast = at + 2 === support.length;
    const before = shares[shares.length - 1];
    if (!isLast && before - area / span < before / STEPS + 1 / (STEPS * STEPS)) continue;
    spans.push(span);
    shares.push(area / span);
    span = 0;
    area = 0;
  }
  return [spans, shares];
}
