import type { GroupDepth } from '../../domain/depth.ts';

/**
 * How many of a set of identical block slots, and of their groups, are still active as virtual time passes.
 * Struct of arrays over the cells of a `BlockLaw`; every entry is the mean over its cell.
 */
export interface ActivityProfile {
  /** P(a slot's block is active): some group of it has iterations left. */
  readonly block: Float64Array;
  /** E[active groups] / W_b of a slot. */
  readonly group: Float64Array;
  /** P(two given groups of a block are both active). */
  readonly pair: Float64Array;
}

/**
 * Law of a block's life in virtual time (iterations), on cells of virtual time fine enough for any number of slots.
 * Depends on (workload, work-group width, balancing, W_b) alone.
 */
export interface BlockLaw {
  readonly groupsPerBlock: number;
  /** Widths of the cells, iterations. */
  readonly width: Float64Array;
  /** Activity since the start of a block that starts now. */
  readonly fresh: ActivityProfile;
  /** Activity from now on of a slot that has been busy forever; its blocks are not replaced. */
  readonly stationary: ActivityProfile;
  /** E[D], iterations. */
  readonly meanGroup: number;
  /** E[B], iterations. */
  readonly meanBlock: number;
  /** E[B²] / 2E[B]: mean residual life of a stationary slot, iterations. */
  readonly meanResidual: number;
  /** Standard deviation of B, iterations. */
  readonly blockDeviation: number;
}

/** Cells spent on the bulk of each law, and per factor of e in the block's upper tail. */
const BULK_CELLS = 14;
const TAIL_CELLS = 1.2;
/** Tail beyond which a block's life no longer matters, even as the longest of a million. */
const NEGLIGIBLE_TAIL = 1e-9;

/**
 * Tabulates the life of a block of `groupsPerBlock` consecutive work groups.
 * @param depth law of the work groups
 * @param groupsPerBlock W_b, integer ≥ 1
 */
export function prepareBlockLaw(depth: GroupDepth, groupsPerBlock: number): BlockLaw {
  const { values } = depth;
  const n = values.length;
  const group = new Float64Array(n);
  const block = new Float64Array(n);
  const either = new Float64Array(n);
  depth.survivalInto(group, 1);
  depth.survivalInto(block, groupsPerBlock);
  if (groupsPerBlock > 1) depth.survivalInto(either, 2);

  // Breakpoints where the monitor has moved by one cell; steps only happen at values, so cells end there.
  const ends: number[] = [];
  if (values[0] > 0) ends.push(-1);
  const monitor = (i: number): number =>
    BULK_CELLS * (2 - group[i] - block[i]) - TAIL_CELLS * Math.log(Math.max(block[i], NEGLIGIBLE_TAIL));
  let mark = 0;
  for (let i = 0; i + 1 < n; i++) {
    const next = monitor(i + 1);
    if (i + 2 === n || next - mark >= 1) {
      ends.push(i);
      mark = next;
    }
  }
  const cells = ends.length;
  const width = new Float64Array(cells);
  const fresh = allocateProfile(cells);
  const stationary = allocateProfile(cells);
  let meanGroup = 0;
  let meanBlock = 0;
  let secondMoment = 0;
  // Backwards, so that the integrals from a cell to infinity are at hand.
  let tailBlock = 0;
  let tailGroup = 0;
  let tailPair = 0;
  for (let c = cells - 1; c >= 0; c--) {
    const first = c === 0 ? -1 : ends[c - 1] + 1;
    let cellWidth = 0;
    let sumBlock = 0;
    let sumGroup = 0;
    let sumPair = 0;
    let areaBlock = 0;
    let areaGroup = 0;
    let areaPair = 0;
    for (let i = ends[c]; i >= first; i--) {
      if (i < 0 && values[0] === 0) continue;
      const from = i < 0 ? 0 : values[i];
      const step = values[i + 1] - from;
      const b = i < 0 ? 1 : block[i];
      const g = i < 0 ? 1 : group[i];
      const p = i < 0 ? 1 : groupsPerBlock > 1 ? Math.max(0, 2 * g - either[i]) : 0;
      // ∫ over this step of the integral from v to infinity.
      areaBlock += step * (tailBlock + 0.5 * step * b);
      areaGroup += step * (tailGroup + 0.5 * step * g);
      areaPair += step * (tailPair + 0.5 * step * p);
      tailBlock += step * b;
      tailGroup += step * g;
      tailPair += step * p;
      secondMoment += 2 * step * (0.5 * step + from) * b;
      cellWidth += step;
      sumBlock += step * b;
      sumGroup += step * g;
      sumPair += step * p;
    }
    width[c] = cellWidth;
    fresh.block[c] = sumBlock / cellWidth;
    fresh.group[c] = sumGroup / cellWidth;
    fresh.pair[c] = sumPair / cellWidth;
    stationary.block[c] = areaBlock / cellWidth;
    stationary.group[c] = areaGroup / cellWidth;
    stationary.pair[c] = areaPair / cellWidth;
  }
  meanBlock = tailBlock;
  meanGroup = tailGroup;
  for (let c = 0; c < cells && meanBlock > 0; c++) {
    stationary.block[c] /= meanBlock;
    stationary.group[c] /= meanBlock;
    stationary.pair[c] /= meanBlock;
  }
  return {
    groupsPerBlock,
    width,
    fresh,
    stationary,
    meanGroup,
    meanBlock,
    meanResidual: meanBlock > 0 ? secondMoment / (2 * meanBlock) : 0,
    blockDeviation: Math.sqrt(Math.max(0, secondMoment - meanBlock * meanBlock)),
  };
}

function allocateProfile(cells: number): ActivityProfile {
  return { block: new Float64Array(cells), group: new Float64Array(cells), pair: new Float64Array(cells) };
}
