import { take, type Arena } from './arena.ts';

/**
 * The rate of a multiprocessor. Depends on kernel and device alone, so a sweep makes one for all its designs.
 */
export interface SmoothedRate {
  /** t(w): cycles of one iteration of every active group, index w = 0 … groups. */
  readonly cycles: Float64Array;
  readonly groups: number;
  /** As blocks of some number of groups see it, once asked for: see `clumpedRate`. */
  readonly wholeBlocks: (Float64Array | undefined)[];
}

/** @param cyclesPerIteration t(w) for w = 0 … at least the most groups of a multiprocessor; t(0) is not used */
export function smoothRate(cyclesPerIteration: Float64Array): SmoothedRate {
  return { cycles: cyclesPerIteration, groups: cyclesPerIteration.length - 1, wholeBlocks: [] };
}

/** t between the integers, by linear interpolation; held at t(1) below one group and at t(cap) above `cap` groups. */
export function rateAt(cycles: Float64Array, groups: number, cap: number): number {
  if (groups <= 1) return cycles[1];
  if (groups >= cap) return cycles[cap];
  const below = groups | 0;
  const t = cycles[below];
  return t + (groups - below) * (cycles[below + 1] - t);
}

/**
 * E[t(w)] for a number of active groups of given mean and standard deviation, at most `cap`; cycles per iteration. By two
 * points with these moments: one deviation to either side, or unequal ones where that would pass the cap.
 */
export function meanRate(cycles: Float64Array, mean: number, deviation: number, cap: number): number {
  if (mean + deviation <= cap) {
    return 0.5 * (rateAt(cycles, mean - deviation, cap) + rateAt(cycles, mean + deviation, cap));
  }
  const room = cap - mean;
  if (!(room > 1e-9)) return cycles[cap];
  const variance = deviation * deviation;
  const below = (room * room) / (room * room + variance);
  return below * rateAt(cycles, mean - variance / room, cap) + (1 - below) * cycles[cap];
}

/**
 * The rate as blocks see it whose groups end together: only whole blocks are ever active, or one that is down to its last
 * group, so in between it is linear, and the steps of the schedulers in between do not count.
 * @param clumping 0…1: share of that view
 * @param groups most groups active at once, a whole number of blocks
 * @param arena where its rates live
 */
export function clumpedRate(
  rate: SmoothedRate,
  groupsPerBlock: number,
  clumping: number,
  groups: number,
  arena: Arena,
): SmoothedRate {
  const whole = (rate.wholeBlocks[groupsPerBlock] ??= wholeBlockRate(rate, groupsPerBlock));
  const cycles = take(arena, groups + 1);
  for (let w = 1; w <= groups; w++) cycles[w] = rate.cycles[w] + clumping * (whole[w] - rate.cycles[w]);
  return { cycles, groups, wholeBlocks: [] };
}

/** t at one group and at whole blocks, linear in between: of a block alone some groups may be left, as few as one. */
function wholeBlockRate({ cycles, groups }: SmoothedRate, groupsPerBlock: number): Float64Array {
  const whole = new Float64Array(groups + 1);
  for (let w = 1; w <= groups; w++) {
    const below = Math.max(1, w - (w % groupsPerBlock));
    const above = Math.min(groups, below === 1 ? groupsPerBlock : below + groupsPerBlock);
    const from = cycles[below];
    whole[w] = above > below ? from + ((w - below) / (above - below)) * (cycles[above] - from) : from;
  }
  return whole;
}
