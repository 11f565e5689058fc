import type { Arena } from './arena.ts';
import { sampledBlockLaw } from './block-law.ts';
import { drainCycles, drainParts } from './drain.ts';
import type { BlockLaw } from './law.ts';
import { prepareResidency } from './predict.ts';
import { meanRate, type SmoothedRate } from './rate.ts';

/**
 * A launch of a few waves whose blocks' depths and order are known: they start one after another as slots of the device become
 * free, on the clock that all slots share but for how far multiprocessors are apart. Nothing of it depends on the rate.
 */
export interface BlockSequence {
  /** Up to the last dispatch: records of iterations, and mean and variance of the active groups of a slot. */
  readonly phases: Float64Array;
  /** What is left of the blocks of all slots after that. */
  readonly left: BlockLaw;
}

/** Cells of the time up to the last dispatch. */
const CELLS = 48;
const PHASE_FIELDS = 3;

/**
 * @param depths of group g of block b at b·W + g, shortest first within a block, in the order of dispatch
 * @param slots of the device, fewer than there are blocks
 */
export function blockSequence(
  depths: Float64Array,
  groupsPerBlock: number,
  slots: number,
  arena: Arena,
): BlockSequence {
  const W = groupsPerBlock;
  const G = depths.length / W;
  const longest = (b: number): number => depths[b * W + W - 1];
  const start = new Float64Array(G);
  const running = new Int32Array(slots);
  const ends = new Float64Array(slots);
  /** Puts a block at the top of the heap of those that run. */
  const settle = (size: number, at: number, block: number, end: number): void => {
    let i = at;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && ends[child + 1] < ends[child]) child++;
      if (ends[child] >= end) break;
      ends[i] = ends[child];
      running[i] = running[child];
      i = child;
    }
    ends[i] = end;
    running[i] = block;
  };
  for (let b = 0; b < slots; b++) {
    running[b] = b;
    ends[b] = longest(b);
  }
  for (let i = (slots >> 1) - 1; i >= 0; i--) settle(slots, i, running[i], ends[i]);
  let now = 0;
  for (let b = slots; b < G; b++) {
    now = ends[0];
    start[b] = now;
    settle(slots, 0, b, now + longest(b));
  }

  const width = now / CELLS;
  const sums = new Float64Array(CELLS);
  const squares = new Float64Array(CELLS);
  let total = 0;
  for (let b = 0; b < G; b++) {
    const at = b * W;
    const from = start[b];
    const room = now - from;
    if (room <= 0) continue;
    for (let g = at; g < at + W; g++) total += Math.min(room, depths[g]);
    const end = Math.min(now, from + longest(b));
    let g = at;
    for (let c = Math.max(0, Math.ceil(from / width - 0.5)); c < CELLS; c++) {
      const time = (c + 0.5) * width;
      if (time >= end) break;
      while (depths[g] <= time - from) g++;
      const active = at + W - g;
      sums[c] += active;
      squares[c] += active * active;
    }
  }
  let counted = 0;
  for (const sum of sums) counted += sum * width;
  const scale = counted > 0 ? total / counted : 1;
  const phases = new Float64Array(CELLS * PHASE_FIELDS);
  for (let c = 0; c < CELLS; c++) {
    const mean = Math.min(W, (sums[c] / slots) * scale);
    phases[c * PHASE_FIELDS] = width;
    phases[c * PHASE_FIELDS + 1] = mean;
    phases[c * PHASE_FIELDS + 2] = Math.max(0, squares[c] / slots - (sums[c] / slots) ** 2);
  }

  const rows = new Float64Array(slots * W);
  for (let i = 0; i < slots; i++) {
    const from = running[i] * W;
    const lived = now - start[running[i]];
    for (let g = 0; g < W; g++) rows[i * W + g] = Math.max(0, depths[from + g] - lived);
  }
  const counts = new Int32Array(W).fill(1);
  return { phases, left: sampledBlockLaw({ depths: rows, counts, weights: null }, W, arena) };
}

/** Expected time of such a launch, cycles. */
export function sequenceCycles(
  { phases, left }: BlockSequence,
  residentBlocks: number,
  multiprocessors: number,
  given: SmoothedRate,
): number {
  const R = residentBlocks;
  const W = left.groupsPerBlock;
  const { rate } = prepareResidency(left, R, given);
  let cycles = 0;
  const slots = R * multiprocessors;
  const apart = slots > 1 ? (slots - R) / (slots - 1) : 0;
  for (let i = 0; i < phases.length; i += PHASE_FIELDS) {
    cycles += phases[i] * meanRate(rate.cycles, R * phases[i + 1], Math.sqrt(R * apart * phases[i + 2]), R * W);
  }
  const drain = drainCycles(left.fresh, R, multiprocessors, rate, R * W);
  // A single multiprocessor holds all of the blocks for certain.
  return cycles + (multiprocessors > 1 ? drain : drainParts.longestCycles);
}
