import { drainCycles } from './drain.ts';
import type { BlockLaw } from './law.ts';
import { predictCycles, type Residency } from './predict.ts';
import { CELL_FIELDS, GROUP, LOG_CERTAIN, LOG_IDLE, WIDTH } from './profile.ts';

/**
 * Expected time, cycles, of a launch whose grid does not divide the units: its first blocks have one unit per slot more than
 * the rest. From the times of launches of either kind of block alone, as if the others were not there or were of that kind.
 * @param more,fewer the two kinds of block, at one R and rate
 * @param fuller blocks with more, 1 … gridBlocks − 1; below one, the part of one block's slots that have more
 * @param nested rounds are waited for: the loop over units is outside
 */
export function unevenCycles(
  more: Residency,
  fewer: Residency,
  fuller: number,
  gridBlocks: number,
  multiprocessors: number,
  nested: boolean,
): number {
  if (fuller < 1) {
    const none = predictCycles(fewer, gridBlocks, multiprocessors);
    const one =
      gridBlocks === 1
        ? predictCycles(more, 1, multiprocessors)
        : unevenCycles(more, fewer, 1, gridBlocks, multiprocessors, nested);
    return none + prolonged(more, fewer, fuller, nested) * Math.max(0, one - none);
  }
  const slots = more.residentBlocks * multiprocessors;
  if (fewer.block.meanBlock === 0) return predictCycles(more, fuller, multiprocessors);
  if (gridBlocks <= slots) {
    return Math.max(
      waveOfFuller(more, fewer, fuller, gridBlocks, multiprocessors),
      predictCycles(fewer, gridBlocks, multiprocessors),
    );
  }
  const least = predictCycles(more, fuller, multiprocessors);
  const allMore = predictCycles(more, gridBlocks, multiprocessors);
  const allFewer = predictCycles(fewer, gridBlocks, multiprocessors);
  const part = fuller / gridBlocks;
  const mixed = Math.max(least, part * allMore + (1 - part) * allFewer);
  const few = (FEW_WAVES * slots) / gridBlocks;
  if (few < 0.1) return mixed;
  // Of few waves it matters which blocks are in the last one. A fuller block takes the place of `ratio` others.
  const ratio = allMore / allFewer;
  const rest = gridBlocks - fuller;
  const shortLast = Math.min(1, rest / slots);
  let ordered = shortLast * predictCycles(fewer, Math.round(ratio * fuller + rest), multiprocessors);
  if (shortLast < 1)
    ordered += (1 - shortLast) * predictCycles(more, Math.round(fuller + rest / ratio), multiprocessors);
  const sooner = Math.max(0, mixed - Math.max(least, ordered));
  return mixed - Math.min(1, few * few) * sooner;
}

/** Waves beyond which blocks of two kinds are as good as mixed, by simulation. */
const FEW_WAVES = 3;

/**
 * One wave: the slowest of the fuller blocks, held up by the others beside them as much as a multiprocessor is on average.
 * Blocks are dealt in turn, so the first multiprocessors hold one more: of all, and of the fuller ones.
 */
function waveOfFuller(
  more: Residency,
  fewer: Residency,
  fuller: number,
  gridBlocks: number,
  multiprocessors: number,
): number {
  const most = Math.ceil(gridBlocks / multiprocessors);
  const mostFuller = Math.ceil(fuller / multiprocessors);
  const withMost = gridBlocks - (most - 1) * multiprocessors;
  const withMostFuller = fuller - (mostFuller - 1) * multiprocessors;
  const alone = aloneCycles(fewer, mostFuller);
  const slowest = predictCycles(more, fuller, multiprocessors) - alone;
  if (withMostFuller <= withMost) return slowest + aloneCycles(fewer, most);
  return Math.max(
    slowest + aloneCycles(fewer, most - 1),
    predictCycles(more, withMost * mostFuller, withMost) - alone + aloneCycles(fewer, most),
  );
}

/**
 * How much of what a whole block with more adds to the life of one with fewer a part of its slots adds: as many of those lives
 * are the longest. All of it where they are all alike. Where rounds are waited for, less than one group adds the longest of as
 * many units to its own.
 */
function prolonged({ block: more }: Residency, { block: fewer }: Residency, part: number, nested: boolean): number {
  const longer = more.meanBlock - fewer.meanBlock;
  if (longer <= 0) return 1;
  const groups = part * more.groupsPerBlock;
  let life = 0;
  if (groups >= 1) {
    for (let c = 0, { cells, data } = more.fresh; c < cells * CELL_FIELDS; c += CELL_FIELDS) {
      const logIdle = data[c + LOG_IDLE];
      life += data[c + WIDTH] * (logIdle > LOG_CERTAIN ? -Math.expm1(part * logIdle) : 1);
    }
  } else life = nested ? more.meanGroup : longestOf(groups, more);
  const added = Math.min(1, Math.max(0, (life - fewer.meanBlock) / longer));
  return nested && groups < 1 ? added * Math.min(1, longestOf(groups, fewer) / fewer.meanGroup) : added;
}

/** Mean life of the longest lane of a part of a group, iterations. */
function longestOf(groups: number, { fresh: { cells, data } }: BlockLaw): number {
  let life = 0;
  for (let c = 0; c < cells * CELL_FIELDS; c += CELL_FIELDS)
    life += data[c + WIDTH] * (1 - (1 - data[c + GROUP]) ** groups);
  return life;
}

/** Mean time of one multiprocessor with that many blocks, cycles. */
function aloneCycles({ block, rate }: Residency, blocks: number): number {
  return drainCycles(block.fresh, blocks, 1, rate, blocks * block.groupsPerBlock);
}
