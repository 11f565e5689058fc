import type { ActivityProfile, BlockLaw } from './block-law.ts';
import { DRAIN_RECORD, drainInto, slowestDrain } from './drain.ts';
import { meanRate, type SmoothedRate } from './rate.ts';
import { extendRenewal, prepareRenewal, profileAfter, type Renewal } from './renewal.ts';

/** Everything about a design but its grid; tables fill as grids are asked for. */
export interface Residency {
  readonly block: BlockLaw;
  readonly residentBlocks: number;
  readonly rate: SmoothedRate;
  /** Drain records of one wave with 1 … R blocks on a multiprocessor; NaN until asked for. */
  readonly waveRecords: Float64Array;
  /** E[t(w)] of a multiprocessor that has been busy forever, cycles per iteration; and its excess over a normal w. */
  readonly stationaryRate: number;
  readonly ageExcess: number;
  /** Variance of a slot's activity between ages, in the stationary state, of the active fraction. */
  readonly ageVariance: number;
  /** Cycles from the start to each grid point of the renewal. Valid below `mainKnown`. */
  mainCycles: Float64Array;
  mainKnown: number;
  /** Times where the last block starts at a grid point of the renewal, for `nodesFor` multiprocessors; 0 until known. */
  nodes: Float64Array;
  nodesFor: number;
}

/** Partial refills of the slots tabulated at one grid point, from a single block of the device to all that start there. */
const NODES_PER_POINT = 4;
/** Starts at one grid point, per slot, above which the refills in between are tabulated too. */
const LARGE_START = 0.1;

const renewals = new WeakMap<BlockLaw, Renewal>();

function renewalOf(block: BlockLaw): Renewal {
  let renewal = renewals.get(block);
  if (!renewal) renewals.set(block, (renewal = prepareRenewal(block)));
  return renewal;
}

/**
 * Prepares a block law for one residency.
 * @param residentBlocks R, integer ≥ 1
 * @param rate rates for 0 … at least R·W_b groups
 */
export function prepareResidency(block: BlockLaw, residentBlocks: number, rate: SmoothedRate): Residency {
  const R = residentBlocks;
  const W = block.groupsPerBlock;
  const { fresh, meanBlock } = block;
  let stationaryRate = 0;
  let ageExcess = 0;
  let ageVariance = 0;
  if (meanBlock > 0) {
    const fraction = block.meanGroup / meanBlock;
    const active = W * fraction;
    const slotVariance = Math.max(0, active + (W * (W - 1) * block.meanPair) / meanBlock - active * active);
    // By the age of one slot, exactly, with the others as a normal sum: one slot's activity is far from normal.
    let between = 0;
    for (let c = 0; c < fresh.width.length; c++) {
      const b = fresh.block[c];
      const g = fresh.group[c];
      const weight = (fresh.width[c] * b) / meanBlock;
      const own = (W * g) / b;
      const ownVariance = Math.max(0, (W * g + W * (W - 1) * fresh.pair[c]) / b - own * own);
      stationaryRate += weight * meanRate(rate, own + (R - 1) * active, ownVariance + (R - 1) * slotVariance, R * W);
      between += weight * (g / b) * (g / b);
    }
    ageVariance = Math.max(0, between - fraction * fraction);
    ageExcess = stationaryRate - meanRate(rate, R * active, R * slotVariance, R * W);
  }
  return {
    block,
    residentBlocks,
    rate,
    waveRecords: new Float64Array(R * DRAIN_RECORD).fill(NaN),
    stationaryRate,
    ageExcess,
    ageVariance,
    mainCycles: new Float64Array(0),
    mainKnown: 0,
    nodes: new Float64Array(0),
    nodesFor: 0,
  };
}

/**
 * Predicted time of a launch, cycles, on the device that `simulate` plays event by event.
 * @param gridBlocks G, integer ≥ 0
 * @param multiprocessors M, integer ≥ 1
 */
export function predictCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks } = residency;
  if (gridBlocks === 0 || block.meanBlock === 0) return 0;
  if (block.blockDeviation <= 1e-7 * block.meanBlock) return synchronousCycles(residency, gridBlocks, multiprocessors);
  const slots = multiprocessors * residentBlocks;
  if (gridBlocks <= slots) return waveCycles(residency, gridBlocks, multiprocessors);
  const waves = gridBlocks / slots;
  const renewal = renewalOf(block);
  if (residency.nodesFor !== multiprocessors) {
    residency.nodes = new Float64Array(0);
    residency.nodesFor = multiprocessors;
  }
  const last = extendRenewal(renewal, waves);
  const { cumulative, starts } = renewal;
  if (cumulative[last] < waves) {
    const end = nodeCycles(residency, renewal, last, NODES_PER_POINT - 1);
    return end + (waves - cumulative[last]) * block.meanBlock * residency.stationaryRate;
  }
  let low = 0;
  let point = last;
  while (point - low > 1) {
    const middle = (low + point) >> 1;
    if (cumulative[middle] < waves) low = middle;
    else point = middle;
  }
  // Between the first block that starts at this point and all that do.
  const started = (waves - cumulative[point - 1]) * slots;
  const all = starts[point] * slots;
  if (all <= 1) {
    const before = nodeCycles(residency, renewal, point - 1, NODES_PER_POINT - 1);
    const after = nodeCycles(residency, renewal, point, NODES_PER_POINT - 1);
    return before + (after - before) * (started / all);
  }
  let from = 0;
  let to = NODES_PER_POINT - 1;
  const ratio = Math.pow(all, 1 / to);
  if (starts[point] > LARGE_START) {
    from = Math.min(to - 1, Math.max(0, Math.floor(Math.log(Math.max(1, started)) / Math.log(ratio))));
    to = from + 1;
  }
  const lowStarted = Math.pow(ratio, from);
  const highStarted = Math.pow(ratio, to);
  const lowCycles = nodeCycles(residency, renewal, point, from);
  const highCycles = nodeCycles(residency, renewal, point, to);
  const part = Math.min(1, Math.max(0, (started - lowStarted) / (highStarted - lowStarted)));
  return lowCycles + (highCycles - lowCycles) * part;
}

/** No imbalance at all: whole waves in step, exactly. */
function synchronousCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const { block, residentBlocks, rate } = residency;
  const perMultiprocessor = Math.ceil(gridBlocks / multiprocessors);
  const full = Math.floor(perMultiprocessor / residentBlocks);
  const rest = perMultiprocessor - full * residentBlocks;
  const W = block.groupsPerBlock;
  const last = rest > 0 ? rate.cycles[rest * W] : 0;
  return block.meanBlock * (full > 0 ? full * rate.cycles[residentBlocks * W] + last : last);
}

/** At most one wave: some multiprocessors hold one block more than the others. */
function waveCycles(residency: Residency, gridBlocks: number, multiprocessors: number): number {
  const few = Math.floor(gridBlocks / multiprocessors);
  const fuller = gridBlocks - few * multiprocessors;
  if (fuller === 0) return slowestDrain(residency.waveRecords, waveRecord(residency, few), multiprocessors);
  const full = slowestDrain(residency.waveRecords, waveRecord(residency, few + 1), fuller);
  if (few === 0) return full;
  const offset = waveRecord(residency, few);
  const rest = slowestDrain(residency.waveRecords, offset, multiprocessors - fuller);
  // The larger of two maxima, as of two Gumbel variables: consistent however a set of equals is split in two.
  const scale = (rest - residency.waveRecords[offset]) / (0.58 + Math.log(multiprocessors - fuller));
  if (!(scale > 1e-12 * full)) return Math.max(full, rest);
  const high = Math.max(full, rest);
  return high + scale * Math.log1p(Math.exp((Math.min(full, rest) - high) / scale));
}

/** Offset of the record of one wave with `blocks` on a multiprocessor. */
function waveRecord(residency: Residency, blocks: number): number {
  const offset = (blocks - 1) * DRAIN_RECORD;
  const { waveRecords, block, rate } = residency;
  if (Number.isNaN(waveRecords[offset])) {
    drainInto(waveRecords, offset, block.fresh, undefined, 0, blocks, block.groupsPerBlock, rate);
  }
  return offset;
}

const record = new Float64Array(DRAIN_RECORD);

/** Time of a launch whose last blocks start at a grid point, cycles; `node` says how many start there. */
function nodeCycles(residency: Residency, renewal: Renewal, point: number, node: number): number {
  const index = point * NODES_PER_POINT + node;
  if (index >= residency.nodes.length) {
    const grown = new Float64Array(Math.min(renewal.points * NODES_PER_POINT, Math.max(256, 2 * index + 2)));
    grown.set(residency.nodes);
    residency.nodes = grown;
  }
  let cycles = residency.nodes[index];
  if (cycles > 0) return cycles;
  const { residentBlocks: R, block, rate, nodesFor: M } = residency;
  const slots = M * R;
  const all = renewal.starts[point] * slots;
  const started = node === NODES_PER_POINT - 1 ? all : Math.pow(all, node / (NODES_PER_POINT - 1));
  const before: ActivityProfile = profileAfter(renewal, point);
  drainInto(record, 0, before, renewal.freshDrain, started / slots, R, block.groupsPerBlock, rate);
  cycles = mainCyclesTo(residency, renewal, point) + slowestDrain(record, 0, M);
  residency.nodes[index] = cycles;
  return cycles;
}

/** Cycles from the start to a grid point of the renewal with every slot refilled at once. */
function mainCyclesTo(residency: Residency, renewal: Renewal, point: number): number {
  if (residency.mainKnown === 0 || residency.mainCycles.length <= point) {
    const grown = new Float64Array(Math.min(renewal.points, Math.max(64, 2 * point + 1)));
    grown.set(residency.mainCycles);
    residency.mainCycles = grown;
    residency.mainKnown = Math.max(1, residency.mainKnown);
  }
  const { mainCycles, residentBlocks: R, rate, ageExcess, ageVariance } = residency;
  const W = renewal.law.groupsPerBlock;
  while (residency.mainKnown <= point) {
    const k = residency.mainKnown - 1;
    const group = Math.min(1, renewal.group[k]);
    const active = W * group;
    const slotVariance = Math.max(0, active + W * (W - 1) * renewal.pair[k] - active * active);
    const between = Math.max(0, renewal.between[k] - group * group);
    const excess = ageVariance > 0 ? (ageExcess * between) / ageVariance : 0;
    const t = meanRate(rate, R * active, R * slotVariance, R * W) + excess;
    mainCycles[k + 1] = mainCycles[k] + renewal.step * t;
    residency.mainKnown++;
  }
  return mainCycles[point];
}
