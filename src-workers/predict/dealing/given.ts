import {
  isEvenShare,
  type LockstepBalancing,
  type PaddedBalancing,
  type WholeUnitBalancing,
} from '../../domain/design.ts';
import type { GivenLoss } from '../../domain/loss.ts';
import { makeNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { getOrMake } from '../../numeric/kept.ts';
import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { sumLongest, type Dealing, type UnitOrder } from './deal.ts';

/** Number of groups (those with the longest units of an order) whose blocks are added to a sample. */
const LONGEST_GROUPS = 8;

/** Balancings that keep some of a given order: windows keep their set of units, buckets the order of their units. */
export type GivenBalancing =
  | Exclude<WholeUnitBalancing, { kind: 'shuffle' | 'full-sort' | 'dynamic-fetch' }>
  | PaddedBalancing;

export function keepsOrder(balancing: LockstepBalancing): balancing is GivenBalancing {
  return (
    balancing.kind !== 'shuffle' &&
    balancing.kind !== 'full-sort' &&
    balancing.kind !== 'dynamic-fetch' &&
    !isEvenShare(balancing)
  );
}

/** Whether blocks start in random order, as assumed for units that are fully sorted or in buckets. */
export function startsAtRandom({ kind }: LockstepBalancing): boolean {
  return kind === 'full-sort' || kind === 'quantile-buckets' || kind === 'best-buckets';
}

export interface GivenOrder {
  readonly units: number;
  /** Lengths of the first units, including padding. If `part` is 1, the others repeat them. */
  readonly lengths: CompactNumbers;
  readonly work: CompactNumbers;
  /** Below 1 if buckets have too many units: `lengths` then has only this fraction of the units, to represent all. */
  readonly part: number;
  /** The longest unit of every group, until the groups repeat, by group size n. */
  readonly longest: Map<number, CompactNumbers>;
  readonly longestAt: Map<number, Int32Array>;
  sums: Float64Array | null;
  readonly losses: Map<number, GivenLoss>;
  readonly id: number;
}

export interface PlainLaunch {
  readonly blocks: Int32Array;
  readonly weights: Float64Array | null;
  readonly depths: CompactNumbers;
  /** Number of setups that each group runs; `null` until a design has a setup. */
  starts: CompactNumbers | null;
  /** Loss of one round of a nested loop, or of all rounds of a flattened loop. */
  readonly loss: GivenLoss;
}

export interface GivenReader extends UnitOrder {
  readonly lengths: CompactNumbers;
  readonly part: number;
}

export function readGiven(order: GivenOrder, { unitsPerGroup: n }: Dealing): GivenReader {
  const { units, lengths, part } = order;
  const kept = lengths.length;
  const lengthAt =
    part === 1
      ? (position: number): number => lengths[position % kept]
      : (position: number): number => {
          const group = Math.floor(Math.floor(position / n) * part);
          return lengths[Math.min(kept - 1, group * n + (position % n))];
        };
  const longestOf = (position: number, count: number): number => {
    let most = 0;
    for (let i = 0; i < count; i++) {
      const length = lengthAt(position + i);
      if (length > most) most = length;
    }
    return most;
  };
  const longest = getLongestOfGroups(order, n);
  return {
    part,
    lengths,
    lengthAt,
    longestSum(first, count, stride) {
      if (count !== n || first % n !== 0 || stride % n !== 0) return sumLongest(longestOf, units, first, count, stride);
      const period = longest.length;
      let sum = 0;
      let position = first;
      if (part === 1) {
        let at = (first / n) % period;
        const step = (stride / n) % period;
        for (; position + n <= units; position += stride) {
          sum += longest[at];
          at += step;
          if (at >= period) at -= period;
        }
      } else for (; position + n <= units; position += stride) sum += longest[Math.floor((position / n) * part)];
      return position < units ? sum + longestOf(position, units - position) : sum;
    },
    ascends: (_first, count) => count === 1,
  };
}

export function sumRepeated(values: CompactNumbers, count: number): number {
  const rest = count % values.length;
  let sum = 0;
  let first = 0;
  for (let i = 0; i < values.length; i++) {
    if (i === rest) first = sum;
    sum += values[i];
  }
  return ((count - rest) / values.length) * sum + first;
}

export function getLongestOfGroups(order: GivenOrder, n: number): CompactNumbers {
  const { units, lengths, part } = order;
  if (n === 1) return lengths;
  return getOrMake(order.longest, n, () => {
    const kept = lengths.length;
    const all = part === 1 ? units : kept;
    const groups = Math.min(Math.ceil(all / n), kept / greatestCommonDivisor(kept, n));
    const longest = makeNumbers(lengths, groups);
    for (let group = 0, at = 0; group < groups; group++) {
      let most = 0;
      for (let i = 0; i < n; i++) {
        const length = lengths[at];
        if (length > most) most = length;
        if (++at === kept) at = 0;
      }
      longest[group] = most;
    }
    return longest;
  });
}

export function rankLongestGroups(order: GivenOrder, n: number): Int32Array {
  return getOrMake(order.longestAt, n, () => {
    const longest = getLongestOfGroups(order, n);
    const at = new Int32Array(Math.min(LONGEST_GROUPS, longest.length)).fill(-1);
    for (let group = 0; group < longest.length; group++) {
      let i = at.length - 1;
      if (at[i] >= 0 && longest[at[i]] >= longest[group]) continue;
      for (; i > 0 && (at[i - 1] < 0 || longest[at[i - 1]] < longest[group]); i--) at[i] = at[i - 1];
      at[i] = group;
    }
    return at;
  });
}

export function getLossOfGroups(order: GivenOrder, n: number): GivenLoss {
  const { losses, lengths, part, units, work } = order;
  return getOrMake(losses, n, () => computeLossInOrder(lengths, part === 1 ? units : lengths.length, n, work));
}

/** Computes losses of groups of n consecutive units, exact to rounding. In the last group, only filled lanes count. */
export function computeLossInOrder(lengths: CompactNumbers, units: number, n: number, unpadded = lengths): GivenLoss {
  const kept = lengths.length;
  const groups = Math.ceil(units / n);
  // The lengths repeat every `period` groups, so each group is weighted by how often it occurs.
  const period = Math.min(groups, kept / greatestCommonDivisor(kept, n));
  const tail = groups % period;
  const whole = Math.floor(groups / period);
  let lockstep = 0;
  let work = 0;
  let losses = 0;
  const count = (group: number, times: number): void => {
    const from = group * n;
    const lanes = Math.min(n, units - from);
    let at = from % kept;
    let most = 0;
    let sum = 0;
    for (let i = 0; i < lanes; i++) {
      const length = lengths[at];
      sum += unpadded[at];
      if (length > most) most = length;
      if (++at === kept) at = 0;
    }
    lockstep += times * lanes * most;
    work += times * sum;
    losses += times * (sum > 0 ? (lanes * most) / sum : 1);
  };
  // The last group may be cut short, unlike the groups with the same lengths in earlier repetitions.
  for (let group = 0; group < period; group++) {
    const times = whole + (group < tail ? 1 : 0) - (group === (groups - 1) % period ? 1 : 0);
    if (times > 0) count(group, times);
  }
  count(groups - 1, 1);
  return { aggregateLoss: work > 0 ? lockstep / work : 1, meanLoss: losses / groups };
}
