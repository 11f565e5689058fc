/**
 * How often a group whose lanes wait for one another's setup runs it, told round by round. Lanes that were still together
 * start together; those that have come apart start one by one.
 */
export interface Starts {
  /** Starts as if none fell on the same iteration. */
  count: number;
  /** Part of the neighbouring lanes that have been equally long so far. */
  together: number;
  /** How far the shortest and the longest lane are apart, and its sum over the rounds but the last, iterations. */
  spread: number;
  overlap: number;
}

/** Before the first round. */
export function noStarts(starts: Starts): void {
  starts.count = 0;
  starts.together = 1;
  starts.spread = 0;
  starts.overlap = 0;
}

/**
 * @param changes expected number of lanes of this round, of `lanes`, that are longer than the one before
 * @param spread of the lengths of this round, iterations
 * @param rounds alike
 */
export function addStarts(starts: Starts, lanes: number, changes: number, spread: number, rounds = 1): void {
  starts.count += rounds * (1 + (lanes - 1) * (1 - starts.together));
  if (lanes > 1) {
    const kept = 1 - Math.min(1, changes / (lanes - 1));
    starts.together *= rounds === 1 ? kept : kept ** rounds;
  }
  starts.overlap += rounds * (starts.spread + ((rounds - 1) / 2) * spread);
  starts.spread += rounds * spread;
}

/**
 * Starts that fall on the same iteration are one. Within a round they are apart; those of other rounds come in between as far
 * as the rounds overlap.
 * @param depth of the group, without setup
 * @param crossing whether the lanes fall into some with long and some with short units, each lot close together
 */
export function startsWithin({ count, overlap }: Starts, rounds: number, depth: number, crossing: boolean): number {
  if (count <= rounds || rounds === 1) return rounds;
  // All but the first round's, over the iterations before the last round.
  const room = (depth * (rounds - 1)) / rounds;
  const others = crossing ? Math.min(1, overlap / room) : Math.max(0, 1 - room / overlap);
  const shared = ((count - 1) / room) * others;
  return Math.max(rounds, 1 + (count - 1) * (shared > 1e-9 ? -Math.expm1(-shared) / shared : 1));
}
