import { isEvenShare, isPadded, type LockstepBalancing } from '../domain/design.ts';
import { ok, type Result, unsupported } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import {
  computeEvenShares,
  computeShareDepth,
  indexSharedUnits,
  createShareScratch,
} from '../predict/dealing/even-share.ts';
import {
  getDealingScratch,
  computeGroupDepth,
  sumLongest,
  type Dealing,
  type UnitOrder,
} from '../predict/dealing/deal.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { arrangeUnits } from '../predict/dealing/arrange.ts';
import { shuffle } from '../numeric/random.ts';
import { startsAtRandom, type GivenBalancing } from '../predict/dealing/given.ts';
import { listBucketRanges } from '../predict/depth/prepared-law.ts';
import { countSliceUnits } from '../predict/depth/padded.ts';
import type { Random } from './random.ts';
import { indexSampler, type BlockSource } from './samplers.ts';

export interface WorkloadLaunch extends Dealing {
  readonly law: LengthLaw;
  /** Lengths of the workload in its order, repeated for more units. If omitted, units are independent draws. */
  readonly given?: CompactNumbers | null;
  /** The units of `dynamic-fetch` are not dealt (see `prepareFetchingDevice`). */
  readonly balancing: Exclude<LockstepBalancing, { kind: 'dynamic-fetch' }>;
  readonly overheadIterations?: number;
}

/** This many lengths take 160 MB. */
const MAX_ORDERED_UNITS = 20_000_000;

const SAME_SHARE = 1e-9;

/**
 * Makes blocks to which units are dealt (`predict/dealing/deal.ts`): given units or draws, as the balancing orders
 * them. Blocks of fully sorted or bucketed units start in random order, as the predictions assume. Fails with
 * `unsupported` if more than `MAX_ORDERED_UNITS` units must be ordered.
 */
export function dealtUnits(launch: WorkloadLaunch): Result<BlockSource> {
  const { law, units, balancing, groupsPerBlock: W, gridBlocks, given = null } = launch;
  const areDraws = balancing.kind === 'shuffle' || (balancing.kind === 'none' && given === null);
  if (!areDraws && units > MAX_ORDERED_UNITS) {
    return unsupported(
      `The simulation can order at most ${MAX_ORDERED_UNITS} units, but this design (balancing ${balancing.kind}) has ${units}. Simulate fewer units.`,
    );
  }
  const draw = indexSampler(law.probability);
  if (isEvenShare(balancing)) {
    const slots = launch.slotsPerBlock * gridBlocks;
    const known = given && indexSharedUnits(balancing, given, units);
    return ok((random) => {
      const drawn = () => new Float64Array(units).map(() => law.support[draw(random)]);
      const own = known ?? indexSharedUnits(balancing, drawn(), units);
      const { itemsPerSlot } = computeEvenShares(own.items, slots);
      const scratch = createShareScratch(itemsPerSlot);
      let block = 0;
      return (out) => {
        for (let g = 0; g < W; g++)
          out[g] = computeShareDepth(own, launch, itemsPerSlot, launch.overheadIterations ?? 0, block, g, scratch);
        block++;
      };
    });
  }
  const scratch = getDealingScratch(launch);
  const fixed = given === null || balancing.kind === 'shuffle' ? null : givenUnits(launch, given, balancing);
  return ok((random) => {
    // Independent draws need not be stored, since a launch asks for every unit once.
    const ordered = areDraws ? null : (fixed ?? orderedUnits(launch, () => draw(random), random));
    const order = plainOrder(
      ordered ? (position) => ordered[position % ordered.length] : () => law.support[draw(random)],
      units,
    );
    const blockOrder = startsAtRandom(balancing) ? shuffledBlocks(gridBlocks, random) : null;
    let block = 0;
    return (out) => {
      const at = blockOrder ? blockOrder[block] : block;
      block++;
      for (let g = 0; g < W; g++) out[g] = computeGroupDepth(order, launch, at, g, scratch);
    };
  });
}

function givenUnits(
  { units, law, unitsPerGroup }: WorkloadLaunch,
  given: CompactNumbers,
  balancing: GivenBalancing | { readonly kind: 'full-sort' },
): Float64Array {
  // A full sort is a window sort whose window holds all units.
  const kept = balancing.kind === 'full-sort' ? ({ kind: 'window-sort', units } as const) : balancing;
  return new Float64Array(arrangeUnits(given, units, law, kept, unitsPerGroup, units).lengths);
}

function plainOrder(lengthAt: (position: number) => number, units: number): UnitOrder {
  const longestOf = (position: number, count: number): number => {
    let longest = 0;
    for (let i = 0; i < count; i++) {
      const length = lengthAt(position + i);
      if (length > longest) longest = length;
    }
    return longest;
  };
  return {
    lengthAt,
    longestSum: (first, count, stride) => sumLongest(longestOf, units, first, count, stride),
    ascends: (_first, count) => count === 1,
  };
}

function orderedUnits(launch: WorkloadLaunch, draw: () => number, random: Random): Float64Array {
  const { balancing, law, units, unitsPerGroup } = launch;
  const lengths = new Float64Array(units);
  if (balancing.kind === 'window-sort' || isPadded(balancing)) {
    for (let i = 0; i < units; i++) lengths[i] = law.support[draw()];
    const size = isPadded(balancing) ? countSliceUnits(balancing, units) : balancing.units;
    for (let from = 0; from < units; from += size) {
      const inside = lengths.subarray(from, from + size);
      if (isPadded(balancing)) inside.fill(inside.reduce((longest, length) => Math.max(longest, length), 0));
      else inside.sort();
    }
    return lengths;
  }
  // A counting sort, because the support is sorted already.
  const counts = new Float64Array(law.support.length);
  for (let i = 0; i < units; i++) counts[draw()]++;
  let at = 0;
  counts.forEach((count, i) => {
    lengths.fill(law.support[i], at, at + count);
    at += count;
  });
  if (balancing.kind === 'quantile-buckets' || balancing.kind === 'best-buckets') {
    // The cuts are at probabilities of the law, not at fractions of the drawn units. A bucket must not take units of
    // another bucket's length because more of them were drawn than expected.
    let passed = 0;
    let from = 0;
    let i = 0;
    let below = 0;
    let unitsBelow = 0;
    for (const { share } of listBucketRanges(law, unitsPerGroup, balancing)) {
      passed += share;
      for (; i < counts.length && below + law.probability[i] <= passed + SAME_SHARE; i++) {
        below += law.probability[i];
        unitsBelow += counts[i];
      }
      // Only a length at which the law itself is cut has units on both sides.
      const divided = i < counts.length && passed - below > SAME_SHARE ? counts[i] : 0;
      const to = Math.min(Math.max(Math.round(passed * units), unitsBelow), unitsBelow + divided);
      shuffle(lengths.subarray(from, to), random);
      from = to;
    }
  }
  return lengths;
}

function shuffledBlocks(blocks: number, random: Random): Float64Array {
  const order = Float64Array.from({ length: blocks }, (_, i) => i);
  shuffle(order, random);
  return order;
}
