/**
 * How often groups whose lanes wait for one another's setup run it, told round by round. Lanes that were still together
 * start together; those that have come apart start one by one.
 */
export interface Starts {
  /** Starts as if none fell on the same iteration. */
  readonly count: Float64Array;
  /** Part of the neighbouring lanes that have been equally long so far. */
  readonly together: Float64Array;
  /** How far the shortest and the longest lane are apart, and its sum over the rounds but the last, iterations. */
  readonly spread: Float64Array;
  readonly overlap: Float64Array;
}

export function startsOf(groups: number): Starts {
  const numbers = (): Float64Array => new Float64Array(groups);
  return { count: numbers(), together: numbers(), spread: numbers(), overlap: numbers() };
}

/** Before the first round. */
export function noStarts({ count, together, spread, overlap }: Starts): void {
  count.fill(0);
  together.fill(1);
  spread.fill(0);
  overlap.fill(0);
}

/** Part of neighbouring lanes that are equally long, of `lanes` of which so many are longer than the one before. */
export function equalPart(lanes: number, changes: number): number {
  return lanes > 1 ? 1 - Math.min(1, changes / (lanes - 1)) : 1;
}

/**
 * @param g the group
 * @param equal see `equalPart`
 * @param spread of the lengths of this round, iterations
 */
export function addStarts(starts: Starts, g: number, lanes: number, equal: number, spread: number): void {
  const together = starts.together[g];
  starts.count[g] += 1 + (lanes - 1) * (1 - together);
  starts.together[g] = together * equal;
  const before = starts.spread[g];
  starts.overlap[g] += before;
  starts.spread[g] = before + spread;
}

/** As `addStarts`, of so many rounds that are all alike. */
export function addAlikeStarts(
  starts: Starts,
  g: number,
  lanes: number,
  equal: number,
  spread: number,
  rounds: number,
): void {
  starts.count[g] += rounds * (1 + (lanes - 1) * (1 - starts.together[g]));
  starts.together[g] *= equal ** rounds;
  starts.overlap[g] += rounds * (starts.spread[g] + ((rounds - 1) / 2) * spread);
  starts.spread[g] += rounds * spread;
}

/**
 * Starts that fall on the same iteration are one. Within a round they are apart; those of other rounds come in between as far
 * as the rounds overlap.
 * @param g the group
 * @param depth of it, without setup
 * @param crossing whether the lanes fall into some with long and some with short units, each lot close together
 */
export function startsWithin(starts: Starts, g: number, rounds: number, depth: number, crossing: boolean): number {
  const count = starts.count[g];
  const overlap = starts.overlap[g];
  if (count <= rounds || rounds === 1) return rounds;
  // All but the first round's, over the iterations before the last round.
  const room = (depth * (rounds - 1)) / rounds;
  const others = crossing ? Math.min(1, overlap / room) : Math.max(0, 1 - room / overlap);
  const shared = ((count - 1) / room) * others;
  return Math.max(rounds, 1 + (count - 1) * (shared > 1e-9 ? -Math.expm1(-shared) / shared : 1));
}
