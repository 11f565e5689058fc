import type { LockstepBalancing } from '../domain/design.ts';
import type { LoopForm } from '../domain/kernel.ts';
import { fail, ok, type Result } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { bucketRanges } from '../models/balancing/depth.ts';
import type { Random } from './random.ts';
import { aliasSampler, type BlockSource } from './samplers.ts';

/** How the units of a workload are dealt out to the slots of a launch. */
export interface UnitDealing {
  readonly law: LengthLaw;
  /** Number of work units, ≥ 1. Slots beyond the last unit are empty. */
  readonly units: number;
  /** n: units side by side in a work group, integer ≥ 1. */
  readonly unitsPerGroup: number;
  /** m: rounds, integer ≥ 1. */
  readonly unitsPerThread: number;
  readonly loop: LoopForm;
  /** Any but `dynamic-fetch`, which is not dealt out: see `prepareFetchingDevice`. */
  readonly balancing: Exclude<LockstepBalancing, { kind: 'dynamic-fetch' }>;
  readonly groupsPerBlock: number;
  /** Slots of a block where its last group is not full; n·groupsPerBlock if left out. */
  readonly slotsPerBlock?: number;
  readonly gridBlocks: number;
  /** Iterations before the first of each unit, ≥ 0; run by the whole group whenever a lane of it starts one. */
  readonly setupIterations: number;
}

/** Most units that are put in order at once: 160 MB. */
const MAX_ORDERED_UNITS = 20_000_000;

/** Cumulative shares that differ by less are the same but for rounding. */
const SAME_SHARE = 1e-9;

/**
 * Blocks whose groups get real units, dealt out round by round: in round j every slot takes the unit that stands j·slots
 * further on in the order that the balancing made. Blocks of sorted units are launched in random order, as the predictions
 * assume; windows keep theirs.
 * Fails with `unsupported` where too many units would have to be put in order.
 */
export function dealtUnits(dealing: UnitDealing): Result<BlockSource> {
  const {
    law,
    units,
    unitsPerGroup: n,
    unitsPerThread: m,
    loop,
    balancing,
    groupsPerBlock: W,
    setupIterations,
  } = dealing;
  if (balancing.kind !== 'none' && units > MAX_ORDERED_UNITS) {
    return fail('unsupported', `${balancing.kind} of ${units} units; at most ${MAX_ORDERED_UNITS} can be simulated`);
  }
  const draw = aliasSampler(law.probability);
  const slotsPerBlock = dealing.slotsPerBlock ?? n * W;
  const slots = slotsPerBlock * dealing.gridBlocks;
  const lanes = new Float64Array(n);
  const starts = new Set<number>();

  // In a flattened loop the group runs the setup whenever any of its lanes starts a unit; the others wait.
  const countStarts = loop === 'flattened' && setupIterations > 0;

  return ok((random) => {
    const ordered = balancing.kind === 'none' ? null : orderedUnits(dealing, balancing, () => draw(random), random);
    const blockOrder =
      balancing.kind === 'none' || balancing.kind === 'window-sort' ? null : shuffledBlocks(dealing.gridBlocks, random);
    let block = 0;
    return (out) => {
      const firstSlot = (blockOrder ? blockOrder[block] : block) * slotsPerBlock;
      block++;
      for (let g = 0; g < W; g++) {
        let depth = 0;
        const filled = Math.min(n, slotsPerBlock - g * n);
        lanes.fill(0);
        starts.clear();
        for (let j = 0; j < m; j++) {
          const firstUnit = j * slots + firstSlot + g * n;
          let longest = 0;
          for (let lane = 0; lane < filled && firstUnit + lane < units; lane++) {
            const length = ordered ? ordered[firstUnit + lane] : law.support[draw(random)];
            if (countStarts) starts.add(lanes[lane]);
            lanes[lane] += length;
            if (length > longest) longest = length;
          }
          depth += longest;
          if (firstUnit < units) depth += setupIterations;
        }
        if (loop === 'flattened') {
          depth = setupIterations * starts.size;
          let longest = 0;
          for (let lane = 0; lane < n; lane++) if (lanes[lane] > longest) longest = lanes[lane];
          depth += longest;
        }
        out[g] = depth;
      }
    };
  });
}

function orderedUnits(
  dealing: UnitDealing,
  balancing: Exclude<UnitDealing['balancing'], { kind: 'none' }>,
  draw: () => number,
  random: Random,
): Float64Array {
  const { law, units } = dealing;
  const lengths = new Float64Array(units);
  if (balancing.kind === 'window-sort') {
    for (let i = 0; i < units; i++) lengths[i] = law.support[draw()];
    for (let from = 0; from < units; from += balancing.units) lengths.subarray(from, from + balancing.units).sort();
    return lengths;
  }
  // Counting sort: the support is sorted already.
  const counts = new Float64Array(law.support.length);
  for (let i = 0; i < units; i++) counts[draw()]++;
  let at = 0;
  counts.forEach((count, i) => {
    lengths.fill(law.support[i], at, at + count);
    at += count;
  });
  if (balancing.kind !== 'full-sort') {
    // Shares of the units drawn, but cut between the lengths where the law is: units more than expected of one must not spill.
    let passed = 0;
    let from = 0;
    let i = 0;
    let below = 0;
    let unitsBelow = 0;
    for (const { share } of bucketRanges(law, dealing.unitsPerGroup, balancing)) {
      passed += share;
      for (; i < counts.length && below + law.probability[i] <= passed + SAME_SHARE; i++) {
        below += law.probability[i];
        unitsBelow += counts[i];
      }
      // Only a length that the law divides has units on both sides.
      const divided = i < counts.length && passed - below > SAME_SHARE ? counts[i] : 0;
      const to = Math.min(Math.max(Math.round(passed * units), unitsBelow), unitsBelow + divided);
      shuffle(lengths.subarray(from, to), random);
      from = to;
    }
  }
  return lengths;
}

function shuffledBlocks(blocks: number, random: Random): Float64Array {
  const order = new Float64Array(blocks);
  for (let i = 0; i < blocks; i++) order[i] = i;
  shuffle(order, random);
  return order;
}

/** Fisher and Yates. */
function shuffle(values: Float64Array, random: Random): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const value = values[i];
    values[i] = values[j];
    values[j] = value;
  }
}
