import { agedProfile, meanResidualAt } from './block-law.ts';
import type { BlockLaw } from './law.ts';
import { drainCycles, drainParts, lastBlockCycles } from './drain.ts';
import { clumpedRate, meanRate, type SmoothedRate } from './rate.ts';
import { refilledDrain, stepShare } from './refill.ts';
import { dispatchAt, extendRenewal, PHASE_FIELDS, renewalOf, wavesUntilStationary } from './renewal.ts';
import { turnOf, turnsCycles, turnShare, type Turn } from './turns.ts';

/** Everything about a design but its grid. */
export interface Residency {
  readonly block: BlockLaw;
  readonly residentBlocks: number;
  readonly givenRate: SmoothedRate;
  /** As blocks see it whose groups end together: see `clumpedRate`. */
  readonly rate: SmoothedRate;
  /** E[t(w)] of a multiprocessor that has been busy forever, cycles per iteration; NaN until asked for. */
  stationaryRate: number;
  /** Its excess over that of a normal w, per variance of a slot's active fraction between ages. */
  ageExcess: number;
  /** Correlation of the refills of one multiprocessor's slots; NaN until asked for. */
  likeness: number;
  /** Of one resident block, once asked for: see `turnOf`. */
  turn: Turn | null;
  /** Time of the drain of so many multiprocessors that have been busy forever, cycles; NaN until asked for. */
  stationaryDrain: number;
  stationaryMultiprocessors: number;
}

/**
 * Prepares a block law for one residency; what costs anything is computed when a grid asks for it.
 * @param residentBlocks R, integer ≥ 1
 * @param rate rates for 0 … at least R·W_b groups
 */
export function prepareResidency(block: BlockLaw, residentBlocks: number, rate: SmoothedRate): Residency {
  const { clumping, groupsPerBlock, arena } = block;
  const groups = residentBlocks * groupsPerBlock;
  return {
    block,
    residentBlocks,
    givenRate: rate,
    rate: clumping > CLUMPED ? clumpedRate(rate, groupsPerBlock, clumping, groups, arena) : rate,
    stationaryRate: NaN,
    ageExcess: 0,
    likeness: NaN,
    turn: null,
    stationaryDrain: NaN,
    stationaryMultiprocessors: 0,
  };
}

/** Clumping below which it is not worth a table. */
const CLUMPED = 0.05;

/**
 * Predicted time of a launch, cycles, on the device that `simulate` plays event by event.
 * @param gridBlocks G, integer ≥ 0
 * @param multiprocessors M, integer ≥ 1
 */
export function predictCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks: R, rate } = residency;
  const W = block.groupsPerBlock;
  if (gridBlocks === 0 || block.meanBlock === 0) return 0;
  if (isConstant(block)) return synchronousCycles(residency, gridBlocks, multiprocessors);
  const slots = multiprocessors * R;
  if (gridBlocks <= slots) return waveCycles(residency, gridBlocks, multiprocessors);
  const tied = tiedShare(residency, gridBlocks, multiprocessors);
  let cycles = untiedCycles(residency, gridBlocks, multiprocessors);
  if (tied > 0) {
    const before = Math.ceil(gridBlocks / slots) - 1;
    const last = waveCycles(residency, gridBlocks - before * slots, multiprocessors);
    const together = before * block.top * rate.cycles[R * W] + last;
    cycles += tied * (together - cycles);
  }
  if (cycles >= block.longest * rate.cycles[R * W]) return cycles;
  // A launch with more blocks than one wave is not over sooner.
  return Math.max(cycles, drainCycles(block.fresh, R, multiprocessors, rate, R * W));
}

/**
 * The same where groups take their units from one counter: those on multiprocessors with fewer blocks are faster and take more of
 * the units, so that all run out together, after the iterations of a group at the mean speed of all. All but the first units of a
 * slot are up for that.
 * @param unitsPerSlot mean number of units that a lane takes, ≥ 1
 */
export function fetchingCycles(
  residency: Residency,
  unitsPerSlot: number,
  gridBlocks: number,
  multiprocessors: number,
): number {
  const { block, residentBlocks, rate } = residency;
  const few = Math.floor(gridBlocks / multiprocessors);
  const fuller = gridBlocks - few * multiprocessors;
  const cycles = predictCycles(residency, gridBlocks, multiprocessors);
  const apart = 1 / unitsPerSlot;
  if (few === 0 || fuller === 0 || few >= residentBlocks || apart >= 1) return cycles;
  const fast = rate.cycles[few * block.groupsPerBlock];
  const slow = rate.cycles[(few + 1) * block.groupsPerBlock];
  const mean = gridBlocks / ((fuller * (few + 1)) / slow + ((multiprocessors - fuller) * few) / fast);
  const least = predictCycles(residency, few * multiprocessors, multiprocessors);
  if (!(slow > fast)) return least;
  const most = predictCycles(residency, (few + 1) * multiprocessors, multiprocessors);
  const together = least + ((mean - fast) / (slow - fast)) * (most - least);
  return together + apart * (cycles - together);
}

/** Share of groups of the longest life, and probability of a tie, below which ties are as good as impossible. */
const RARELY_LONGEST = 0.5;
const NEVER_TIED = 1e-3;

/**
 * Probability that all multiprocessors end the waves before the last one at the same instant: all their groups have the
 * longest life there is, but for as many as make no difference to the rate. Then the blocks of the last wave are dealt out
 * evenly; else whoever is ahead takes all it can hold. No more often than no block ends before the others: its slot is filled
 * again at once, whatever the rate.
 */
function tiedShare(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks: R, givenRate } = residency;
  const { groupsPerBlock: W, clumping } = block;
  const shorter = 1 - block.topShare;
  if (shorter > RARELY_LONGEST) return 0;
  const groups = R * W;
  const { cycles } = givenRate;
  // Binomial: none shorter, one, and so on.
  let term = Math.pow(block.topShare, groups);
  let even = term;
  for (let i = 1; i < groups && cycles[groups] - cycles[groups - i] <= 1e-9 * cycles[groups]; i++) {
    term *= ((groups - i + 1) / i) * (shorter / block.topShare);
    even += term;
  }
  const waves = Math.ceil(gridBlocks / (multiprocessors * R)) - 1;
  // Groups that end together are as good as one.
  const shorterBlock = Math.pow(shorter, 1 + (W - 1) * (1 - clumping));
  const share = Math.pow(Math.min(even, Math.pow(1 - shorterBlock, R)), multiprocessors * waves);
  return share < NEVER_TIED ? 0 : Math.min(1, share);
}

/** More than one wave, of blocks whose ends are not all tied. */
function untiedCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks: R, rate } = residency;
  const slots = multiprocessors * R;
  const W = block.groupsPerBlock;
  let apart = 0;
  let turns = 0;
  if (R === 1 && W > 1 && gridBlocks / slots <= wavesUntilStationary(block)) {
    const turn = (residency.turn ??= turnOf(block, rate));
    apart = turnShare(turn, gridBlocks, multiprocessors);
    if (apart > 0) turns = apart * turnsCycles(turn, gridBlocks, multiprocessors);
  }
  return apart < 1 ? turns + (1 - apart) * wavesCycles(residency, gridBlocks, multiprocessors) : turns;
}

/** More than one wave. */
function wavesCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks: R, rate } = residency;
  const W = block.groupsPerBlock;
  const slots = multiprocessors * R;
  const waves = gridBlocks / slots;
  if (waves <= wavesUntilStationary(block)) {
    const renewal = renewalOf(block);
    // The last block starts when all but half a block have: whole waves of even blocks must not wait for rounding.
    const nearly = (gridBlocks - 0.5) / slots;
    const last = extendRenewal(renewal, nearly);
    const { started } = renewal;
    if (started[last] >= nearly) {
      let low = -1;
      let point = last;
      while (point - low > 1) {
        const middle = (low + point) >> 1;
        if (started[middle] < nearly) low = middle;
        else point = middle;
      }
      const { profile, phases } = dispatchAt(renewal, point, waves - (point === 0 ? 0 : started[point - 1]));
      let drain = drainCycles(profile, R, multiprocessors, rate, R * W);
      const longest = drainParts.longestCycles;
      const inStep = R > 1 ? stepShare(block, profile) : 0;
      if (inStep > 0) {
        const refilled = refilledDrain(block, profile, R, multiprocessors, likeness(residency), rate);
        // Whatever was refilled, somebody holds the longest block of all.
        drain += inStep * (Math.max(refilled, longest) - drain);
      }
      // The last block takes its time, even where hardly any of the slots were refilled.
      if (drain < block.meanBlock * rate.cycles[R * W]) {
        drain = Math.max(drain, lastBlockCycles(block.fresh, profile, R, rate, R * W));
      }
      return phasesCycles(residency, phases) + drain;
    }
  }
  // By Wald's identity the blocks of a slot take waves·E[B] iterations, the residual life at the last dispatch included.
  makeStationary(residency);
  const total = waves * block.meanBlock;
  let time = total - block.meanResidual;
  if (time < block.longest) {
    for (let i = 0; i < RESIDUAL_STEPS; i++) {
      time = total - meanResidualAt(block, Math.max(time, 0.1 * total));
    }
    time = Math.max(time, 0.1 * total);
  }
  return time * residency.stationaryRate + agedDrain(residency, time, multiprocessors);
}

/** Drain of slots that have been refilled for so many iterations: see `agedProfile`. */
function agedDrain(residency: Residency, time: number, multiprocessors: number): number {
  const { block, residentBlocks: R, rate } = residency;
  const profile = agedProfile(block, time, R * multiprocessors);
  const cap = R * block.groupsPerBlock;
  if (profile !== block.stationary || profile.nowhere !== null)
    return drainCycles(profile, R, multiprocessors, rate, cap);
  if (residency.stationaryMultiprocessors !== multiprocessors) {
    residency.stationaryMultiprocessors = multiprocessors;
    residency.stationaryDrain = drainCycles(profile, R, multiprocessors, rate, cap);
  }
  return residency.stationaryDrain;
}

/** Steps of the fixed point of the last dispatch's time; each gains about the share of lives longer than the run. */
const RESIDUAL_STEPS = 6;

/**
 * Correlation, between the slots of one multiprocessor, of whether a slot is refilled in the last wave: how far the
 * multiprocessors' clocks differ, against how far the ends of blocks on one of them do.
 */
function likeness(residency: Residency): number {
  if (Number.isNaN(residency.likeness)) {
    const { block, residentBlocks: R, rate } = residency;
    const wave = drainCycles(block.fresh, R, 1, rate, R * block.groupsPerBlock);
    const perIteration = wave / block.meanBlock;
    const clocks = drainParts.variance / (perIteration * perIteration);
    const differences = clocks + block.blockDeviation * block.blockDeviation;
    // Below this both are rounding.
    const known = differences > 1e-12 * block.meanBlock * block.meanBlock;
    const correlation = known ? (REFILL_CORRELATION * clocks) / differences : 0;
    residency.likeness = Math.max(LEAST_LIKENESS, correlation);
  }
  return residency.likeness;
}

/** Keeps the beta law of the counts finite; as good as independent. */
const LEAST_LIKENESS = 1e-6;
/** Correlation of the refills for one of the times of the ends: smaller, as only an order is left of the times. */
const REFILL_CORRELATION = 0.5;

function isConstant(block: BlockLaw): boolean {
  // All groups end with their block, and all blocks at the same time.
  return block.blockDeviation <= 1e-7 * block.meanBlock && block.meanGroup >= (1 - 1e-9) * block.meanBlock;
}

/** No imbalance at all: whole waves in step, exactly. */
function synchronousCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks, rate } = residency;
  const perMultiprocessor = Math.ceil(gridBlocks / multiprocessors);
  const full = Math.floor(perMultiprocessor / residentBlocks);
  const rest = perMultiprocessor - full * residentBlocks;
  const W = block.groupsPerBlock;
  const fullCycles = full > 0 ? full * rate.cycles[residentBlocks * W] : 0;
  return block.meanBlock * (fullCycles + (rest > 0 ? rate.cycles[rest * W] : 0));
}

/**
 * At most one wave: some multiprocessors hold one block more than the others. The later of the two kinds, as of two Gumbel
 * variables: consistent however a set of equals is split in two.
 */
function waveCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, rate } = residency;
  const { fresh, groupsPerBlock: W } = block;
  const few = Math.floor(gridBlocks / multiprocessors);
  const fuller = gridBlocks - few * multiprocessors;
  const full = fuller > 0 ? drainCycles(fresh, few + 1, fuller, rate, (few + 1) * W) : 0;
  if (few === 0) return full;
  const rest = drainCycles(fresh, few, multiprocessors, rate, few * W);
  if (fuller === 0) return rest;
  // Euler's constant is the mean of a Gumbel variable.
  const scale = (rest - drainParts.meanCycles) / (0.5772 + Math.log(multiprocessors));
  if (!(scale > 1e-12 * rest)) return Math.max(full, rest);
  const others = rest + scale * Math.log1p(-fuller / multiprocessors);
  const high = Math.max(full, others);
  const later = high + scale * Math.log1p(Math.exp((Math.min(full, others) - high) / scale));
  // Lives end somewhere, unlike a Gumbel variable: it takes no longer than if all held one more, nor less than if none did.
  return Math.max(rest, Math.min(later, drainCycles(fresh, few + 1, multiprocessors, rate, (few + 1) * W)));
}

/** Mean rate of a multiprocessor whose slots are of all ages. */
function makeStationary(residency: Residency): void {
  if (!Number.isNaN(residency.stationaryRate)) return;
  const { block, residentBlocks: R, rate } = residency;
  const { ages, meanBlock, groupsPerBlock: W } = block;
  const fraction = block.meanGroup / meanBlock;
  const active = W * fraction;
  const slotVariance = Math.max(0, active + (W * (W - 1) * block.meanPair) / meanBlock - active * active);
  // By the age of one slot, exactly, with the others as a normal sum: one slot's activity is far from normal.
  let mean = 0;
  let between = 0;
  for (let i = 0; i < ages.length; i += 3) {
    const own = ages[i + 1];
    const deviation = Math.sqrt(ages[i + 2] + (R - 1) * slotVariance);
    mean += ages[i] * meanRate(rate.cycles, own + (R - 1) * active, deviation, R * W);
    between += ages[i] * (own / W) * (own / W);
  }
  residency.stationaryRate = mean;
  const ageVariance = between - fraction * fraction;
  // Below this the quotient is rounding.
  if (ageVariance > 1e-6)
    residency.ageExcess = (mean - meanRate(rate.cycles, R * active, Math.sqrt(R * slotVariance), R * W)) / ageVariance;
}

/** Cycles from the start to the last dispatch of a few waves. */
function phasesCycles(residency: Residency, phases: Float64Array): number {
  makeStationary(residency);
  const { residentBlocks: R, rate, ageExcess, block } = residency;
  const cap = R * block.groupsPerBlock;
  let cycles = 0;
  for (let i = 0; i < phases.length; i += PHASE_FIELDS) {
    const t = meanRate(rate.cycles, R * phases[i + 1], Math.sqrt(R * phases[i + 2]), cap);
    cycles += phases[i] * (t + ageExcess * phases[i + 3]);
  }
  return cycles;
}
