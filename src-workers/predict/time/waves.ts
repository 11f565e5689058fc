import { firstIndex } from '../../numeric/search.ts';
import { CELL_FIELDS, computeApart, GROUP, WIDTH, type ActivityProfile } from './activity.ts';
import { AGE_FIELDS, getStationaryProfile } from './block-law.ts';
import type { BlockLaw } from './law.ts';
import { computeDrainCycles, computeLastBlockCycles, type ExactLives } from './drain.ts';
import { computeMeanCycles, countFurther, findMostCompeting } from './cycles.ts';
import { computeJoinCycles, SchedulerShares } from './join.ts';
import { computeDispatch, extendRenewal, PHASE_FIELDS, getRenewal, countWavesUntilStationary } from './renewal.ts';
import type { Residency } from './residency.ts';

/** If a larger fraction of groups has less than the longest life, multiprocessors count as never ending together. */
const RARELY_LONGEST = 0.5;
/** A lower chance that all multiprocessors end together counts as 0. This and `RARELY_LONGEST` only save time. */
const NEVER_TIED = 1e-3;

/** A grid of blocks that get work, on M multiprocessors. */
export interface Wave {
  readonly residency: Residency;
  /** G, integer ≥ 1. */
  readonly gridBlocks: number;
  /** M, integer ≥ 1. */
  readonly multiprocessors: number;
}

export function hasEqualBlocks({ residency: { block } }: Wave): boolean {
  return block.blockDeviation <= 1e-7 * block.meanBlock && block.meanGroup >= (1 - 1e-9) * block.meanBlock;
}

export function isOneWave({ residency, gridBlocks, multiprocessors }: Wave): boolean {
  return gridBlocks <= residency.residentBlocks * multiprocessors;
}

export function isFewWaves({ residency, gridBlocks, multiprocessors }: Wave): boolean {
  const { block, residentBlocks } = residency;
  const waves = gridBlocks / (multiprocessors * residentBlocks);
  if (waves > countWavesUntilStationary(block)) return false;
  const { started, last, nearly } = extendRenewalUpTo(block, waves, residentBlocks * multiprocessors);
  return started[last] >= nearly;
}

/** Cycles of an iteration on the fullest scheduler of a multiprocessor with `blocks` blocks, all groups active. */
function cyclesOfFullest({ block, cyclesPerIteration, schedulers }: Residency, blocks: number): number {
  return cyclesPerIteration[findMostCompeting(blocks * block.groupsPerBlock, schedulers, cyclesPerIteration)];
}

/** Cycles by which an iteration takes longer on the fullest scheduler than on average, with all groups active. */
function computeUnevenCycles(residency: Residency, blocks: number): number {
  const groups = blocks * residency.block.groupsPerBlock;
  if (groups % residency.schedulers.count === 0) return 0;
  return cyclesOfFullest(residency, blocks) - residency.cyclesPerIteration[groups];
}

/** Like `computeUnevenCycles` with all blocks, but 0 if a block may have no group on the fullest scheduler. */
function computeUnevenCyclesOfFull(residency: Residency): number {
  const { block, schedulers, residentBlocks } = residency;
  return block.groupsPerBlock > schedulers.count / 2 ? computeUnevenCycles(residency, residentBlocks) : 0;
}

/** Cycles by which a mean iteration takes longer because groups are unevenly spread over the schedulers. */
function computeMeanUneven(residency: Residency): number {
  const { meanPair, meanBlock } = residency.block;
  return (meanPair / meanBlock) * computeUnevenCyclesOfFull(residency);
}

function computeMeanPair({ groupsPerBlock, meanPair, fresh: { data, cells } }: BlockLaw): number {
  if (groupsPerBlock > 1) return meanPair;
  let sum = 0;
  for (let at = 0, end = cells * CELL_FIELDS; at < end; at += CELL_FIELDS)
    sum += data[at + WIDTH] * data[at + GROUP] * data[at + GROUP];
  return sum;
}

export function computeEqualBlocksCycles({ residency, gridBlocks, multiprocessors }: Wave): number {
  const { block, residentBlocks } = residency;
  const perMultiprocessor = Math.ceil(gridBlocks / multiprocessors);
  const full = Math.floor(perMultiprocessor / residentBlocks);
  const rest = perMultiprocessor - full * residentBlocks;
  const steady =
    residency.cyclesPerIteration[residentBlocks * block.groupsPerBlock] + computeUnevenCyclesOfFull(residency);
  const fullCycles = full > 0 ? (full - 1) * steady + cyclesOfFullest(residency, residentBlocks) : 0;
  return block.meanBlock * (fullCycles + (rest > 0 ? cyclesOfFullest(residency, rest) : 0));
}

function findExactLives({ fresh, isExact }: BlockLaw, gridBlocks: number): ExactLives | null {
  return isExact ? { fresh, gridBlocks } : null;
}

function computeLastDrain({ residency, gridBlocks, multiprocessors }: Wave, profile: ActivityProfile): number {
  const { block, residentBlocks, cyclesPerIteration, schedulers } = residency;
  const lives = findExactLives(block, gridBlocks);
  return computeDrainCycles(profile, residentBlocks, multiprocessors, cyclesPerIteration, schedulers, lives);
}

export function computeOneWaveCycles({ residency, gridBlocks, multiprocessors }: Wave): number {
  const { block, cyclesPerIteration, schedulers } = residency;
  const { fresh } = block;
  const lives = findExactLives(block, gridBlocks);
  const few = Math.floor(gridBlocks / multiprocessors);
  const fuller = gridBlocks - few * multiprocessors;
  const drain = (blocks: number, on: number): number => {
    const uneven = computeUnevenCycles(residency, blocks);
    return Math.max(
      computeDrainCycles(fresh, blocks, on, cyclesPerIteration, schedulers, lives) +
        (uneven === 0 ? 0 : computeMeanPair(block) * uneven),
      block.meanGroup * cyclesOfFullest(residency, blocks),
    );
  };
  const full = fuller > 0 ? drain(few + 1, fuller) : 0;
  return few > 0 ? Math.max(full, drain(few, multiprocessors)) : full;
}

export function computeFewWavesCycles(wave: Wave): number {
  const untied = computeUntiedCycles(wave);
  const tied = computeTiedShare(wave);
  if (tied === 0) return untied;
  const { residency, gridBlocks, multiprocessors } = wave;
  const { block, residentBlocks: R, cyclesPerIteration } = residency;
  const slots = multiprocessors * R;
  const before = Math.ceil(gridBlocks / slots) - 1;
  const last = computeOneWaveCycles({ ...wave, gridBlocks: gridBlocks - before * slots });
  const pace = cyclesPerIteration[R * block.groupsPerBlock] + computeUnevenCyclesOfFull(residency);
  const together = before * block.top * pace + last;
  return untied + tied * (together - untied);
}

function extendRenewalUpTo(block: BlockLaw, waves: number, slots: number) {
  const renewal = getRenewal(block);
  // Half a block less than all: without this margin, rounding could delay the last wave of equal blocks.
  const nearly = waves - 0.5 / slots;
  const last = extendRenewal(renewal, nearly);
  return { renewal, nearly, last, started: renewal.started };
}

function computeUntiedCycles(wave: Wave): number {
  const { residency, gridBlocks, multiprocessors } = wave;
  const { block, residentBlocks: R, cyclesPerIteration, schedulers } = residency;
  const W = block.groupsPerBlock;
  const spread = schedulers.issueShare * countFurther(schedulers);
  const cap = findMostCompeting(R * W, schedulers, cyclesPerIteration);
  const waves = gridBlocks / (multiprocessors * R);
  const { renewal, nearly, last, started } = extendRenewalUpTo(block, waves, R * multiprocessors);
  const point = firstIndex(0, last, (at) => started[at] >= nearly);
  const { profile, phases } = computeDispatch(renewal, point, waves - (point === 0 ? 0 : started[point - 1]));
  const uneven = computeMeanUneven(residency);
  let cycles = Math.max(0, waves - 1) * getJoinCycles(residency);
  for (let i = 0; i < phases.length; i += PHASE_FIELDS) {
    const deviation = Math.sqrt(R * (phases[i + 2] + spread * phases[i + 3]));
    cycles += phases[i] * (uneven + computeMeanCycles(cyclesPerIteration, R * phases[i + 1], deviation, cap));
  }
  const drain = computeLastDrain(wave, profile);
  if (drain >= block.meanBlock * cyclesPerIteration[R * W]) return cycles + drain;
  // One block certainly starts last, although any given block slot is unlikely to hold this block.
  return cycles + Math.max(drain, computeLastBlockCycles(block.fresh, profile, R, cyclesPerIteration, schedulers));
}

/**
 * Computes the probability that all multiprocessors end the waves before the last one at the same instant. They do if
 * all groups live equally long, or if the few groups with a shorter life do not change the pace. The blocks of the last
 * wave are then distributed evenly. Otherwise, the multiprocessors that are free first take as many as they can hold.
 */
function computeTiedShare({ residency, gridBlocks, multiprocessors }: Wave): number {
  const { block, residentBlocks: R, cyclesPerIteration, schedulers } = residency;
  const { groupsPerBlock: W, topShare, topBlockShare } = block;
  const shorter = 1 - topShare;
  if (shorter > RARELY_LONGEST) return 0;
  const q = schedulers.count;
  const groups = R * W;
  const own = Math.max(1, Math.floor(groups / q));
  // A binomial sum over the groups of a scheduler: no shorter group, one shorter group, and so on.
  let term = Math.pow(topShare, own);
  let evenOwn = term;
  const slowest = cyclesPerIteration[groups];
  for (let i = 1; i < own && slowest - cyclesPerIteration[groups - q * i] <= 1e-9 * slowest; i++) {
    term *= ((own - i + 1) / i) * (shorter / topShare);
    evenOwn += term;
  }
  // For a tie, one scheduler at the slowest pace is enough on each multiprocessor, because all blocks wait for it.
  const even = 1 - Math.pow(1 - Math.min(1, evenOwn), q);
  const waves = Math.ceil(gridBlocks / (multiprocessors * R)) - 1;
  const share = Math.pow(Math.min(even, Math.pow(topBlockShare, R)), multiprocessors * waves);
  return share < NEVER_TIED ? 0 : Math.min(1, share);
}

/** The launch is stationary until the last dispatch. By Wald's identity, the blocks of a block slot take waves·E[B]. */
export function computeManyWavesCycles(wave: Wave): number {
  const { residency, gridBlocks, multiprocessors } = wave;
  const { block, residentBlocks: R } = residency;
  if (Number.isNaN(residency.stationaryCyclesPerIteration))
    residency.stationaryCyclesPerIteration = computeStationaryCycles(residency);
  if (residency.stationaryMultiprocessors !== multiprocessors) {
    residency.stationaryMultiprocessors = multiprocessors;
    residency.stationaryDrain = computeLastDrain(wave, getStationaryProfile(block));
  }
  const waves = gridBlocks / (multiprocessors * R);
  const iterations = Math.max(0, waves * block.meanBlock - block.meanResidual);
  const waiting = Math.max(0, waves - 1) * getJoinCycles(residency);
  return iterations * residency.stationaryCyclesPerIteration + waiting + residency.stationaryDrain;
}

/** Mean and variance of a block slot's active groups after a very long time, with the variance between schedulers. */
function computeSlotActivity({ block, schedulers }: Residency): { active: number; variance: number } {
  const { meanBlock, meanGroup, meanPair, groupsPerBlock: W } = block;
  const active = (W * meanGroup) / meanBlock;
  const variance =
    Math.max(0, active + (W * (W - 1) * meanPair) / meanBlock - active * active) +
    schedulers.issueShare *
      countFurther(schedulers) *
      active *
      computeApart(W, meanGroup / meanBlock, meanPair / meanBlock);
  return { active, variance };
}

/**
 * Returns the cycles for which a block waits for the scheduler with most of its work. The wait for the fullest
 * scheduler is counted separately (`computeMeanUneven`).
 */
function getJoinCycles(residency: Residency): number {
  if (!Number.isNaN(residency.joinCycles)) return residency.joinCycles;
  const { block, residentBlocks: R, cyclesPerIteration, schedulers } = residency;
  const { count: q, issueShare } = schedulers;
  let join = 0;
  if (q > 1 && issueShare > 0 && block.groupsPerBlock > 1) {
    const cap = findMostCompeting(R * block.groupsPerBlock, schedulers, cyclesPerIteration);
    const { active, variance } = computeSlotActivity(residency);
    const deviation = Math.sqrt(R * variance);
    const below = Math.max(0.5, R * active - 0.5);
    const above = Math.min(cap, R * active + 0.5);
    const fast = computeMeanCycles(cyclesPerIteration, below, deviation, cap);
    const slow = computeMeanCycles(cyclesPerIteration, above, deviation, cap);
    const slope = (q * issueShare * Math.max(0, slow - fast)) / (above - below);
    const used = Math.min(q, block.groupsPerBlock);
    if (block.shares?.schedulers !== used) block.shares = new SchedulerShares(block.fresh, used);
    join = computeJoinCycles(block.shares, active / used, 0.5 * (fast + slow), slope);
  }
  const uneven = block.meanPair * computeUnevenCyclesOfFull(residency);
  residency.joinCycles = Math.hypot(uneven, join) - uneven;
  return residency.joinCycles;
}

/** For one block of a multiprocessor, the exact law of its age is used; for its other blocks, mean and variance. */
function computeStationaryCycles(residency: Residency): number {
  const { block, residentBlocks: R, cyclesPerIteration, schedulers } = residency;
  const { ages } = block;
  const spread = schedulers.issueShare * countFurther(schedulers);
  const cap = findMostCompeting(R * block.groupsPerBlock, schedulers, cyclesPerIteration);
  const { active, variance } = computeSlotActivity(residency);
  let mean = computeMeanUneven(residency);
  for (let i = 0; i < ages.length; i += AGE_FIELDS) {
    const deviation = Math.sqrt(ages[i + 2] + spread * ages[i + 3] + (R - 1) * variance);
    mean += ages[i] * computeMeanCycles(cyclesPerIteration, ages[i + 1] + (R - 1) * active, deviation, cap);
  }
  return mean;
}
