import { ACTIVE_GROUPS, ORDER_BINS } from '../constants.ts';
import { goldenTurn } from '../../numeric/lattice.ts';
import { indexedQueue } from '../../numeric/queue.ts';
import { meanCycles, type CycleTable } from './cycles.ts';
import { slowestCycles, sortRow, type KnownBlocks } from './placed.ts';

/** Blocks of a launch in the order of their start: all of them, or some that stand for all. */
export interface OrderedBlocks extends KnownBlocks {
  /** Number of blocks known. */
  readonly count: number;
  /** Mean life of the blocks of the launch over that of the known ones; 1 where all are known. */
  readonly lifeRatio: number;
  /** How the device played last starts them: designs often differ in what an iteration costs alone. */
  started: StartedBlocks | null;
}

/** Blocks on the slots of a device, in iterations, whatever these cost. */
interface StartedBlocks {
  readonly multiprocessors: number;
  readonly residentBlocks: number;
  /** Multiprocessors that are played. */
  readonly played: number;
  /** Up to the last dispatch: iterations of a stretch, and the mean and deviation of the active groups of a multiprocessor in each. */
  readonly step: number;
  readonly means: Float64Array | null;
  readonly deviations: Float64Array | null;
  /** Blocks that the slots hold then, and iterations that each has run; `null` where all start at once. */
  readonly held: Int32Array;
  readonly elapsed: Float64Array | null;
}

/**
 * Time of a launch whose blocks are known and start in their order, cycles.
 *
 * All multiprocessors are taken to count the same iterations up to the last dispatch: then each slot takes the next block the
 * moment its own ends, whatever the rates, and the time is ∫ E[t(w)] over these iterations, w by the mean and the variance
 * over the slots. After that each multiprocessor is on its own, and the slowest decides.
 *
 * Where only some of the blocks are known they are played on as small a part of the device.
 */
export function inOrderCycles(
  blocks: OrderedBlocks,
  gridBlocks: number,
  residentBlocks: number,
  multiprocessors: number,
  cyclesPerIteration: CycleTable,
): number {
  let { started } = blocks;
  if (started?.multiprocessors !== multiprocessors || started.residentBlocks !== residentBlocks)
    started = blocks.started = startBlocks(blocks, gridBlocks, residentBlocks, multiprocessors);
  const { means, deviations, step, held, elapsed, played } = started;
  const cap = residentBlocks * blocks.groupsPerBlock;
  let cycles = 0;
  if (means && deviations)
    for (let i = 0; i < means.length; i++)
      cycles += step * meanCycles(cyclesPerIteration, means[i], deviations[i], cap);
  return cycles + slowestCycles(blocks, held, elapsed, Math.min(played, held.length), cyclesPerIteration);
}

/** Starts the blocks on a device, or on a part of it where not all are known. */
function startBlocks(
  blocks: OrderedBlocks,
  gridBlocks: number,
  residentBlocks: number,
  multiprocessors: number,
): StartedBlocks {
  const { count: K, lives } = blocks;
  const isWhole = K === gridBlocks;
  const played = isWhole ? multiprocessors : Math.max(1, Math.floor((multiprocessors * K) / gridBlocks));
  // With one multiprocessor there may still be too few: then each stands for several that follow one another.
  const wanted = isWhole ? K : Math.round((gridBlocks * played) / multiprocessors);
  const G = Math.min(K, Math.max(1, wanted));
  const rowOf = (i: number): number => (G === K ? i : Math.floor(((i + 0.5) * K) / G));
  const slots = Math.min(played * residentBlocks, G);
  const held = new Int32Array(slots);
  const ends = new Float64Array(slots);
  for (let i = 0; i < slots; i++) {
    held[i] = rowOf(i);
    ends[i] = lives[held[i]];
  }
  const same = { multiprocessors, residentBlocks, played, held };
  if (G === slots) return { ...same, step: 0, means: null, deviations: null, elapsed: null };
  const queue = indexedQueue(ends);
  for (let i = 0; i < slots; i++) queue.push(i);
  const starts = new Float64Array(G);
  const rows = new Int32Array(G);
  rows.set(held);
  const startOf = new Float64Array(slots);
  let now = 0;
  for (let b = slots; b < G; b++) {
    const slot = queue.first();
    now = ends[slot];
    const row = rowOf(b);
    rows[b] = row;
    starts[b] = now;
    held[slot] = row;
    startOf[slot] = now;
    ends[slot] = now + lives[row];
    queue.settle();
  }
  return {
    ...same,
    step: (wanted / G) * blocks.lifeRatio * (now / ORDER_BINS),
    ...activeGroups(now, blocks, rows, starts, residentBlocks),
    elapsed: startOf.map((start) => now - start),
  };
}

/** Over the time up to the last dispatch: blocks, groups and their squares that are active; used again and again. */
const alive = new Float64Array(ORDER_BINS + 2);
const active = new Float64Array(ORDER_BINS + 2);
const squares = new Float64Array(ORDER_BINS + 2);
/** What of the changes within a stretch counts in the stretch itself. */
const aliveHere = new Float64Array(ORDER_BINS + 2);
const activeHere = new Float64Array(ORDER_BINS + 2);
const squaresHere = new Float64Array(ORDER_BINS + 2);

/**
 * Mean and deviation of the active groups of a multiprocessor, in each of `ORDER_BINS` equal stretches up to `end`: those of its
 * slots, each of which has a block until then. Of many blocks some are looked at.
 */
function activeGroups(
  end: number,
  { depths, groupsPerBlock: W }: KnownBlocks,
  rows: Int32Array,
  starts: Float64Array,
  residentBlocks: number,
): { readonly means: Float64Array | null; readonly deviations: Float64Array | null } {
  if (!(end > 0)) return { means: null, deviations: null };
  for (const sums of [alive, active, squares, aliveHere, activeHere, squaresHere]) sums.fill(0);
  const perIteration = ORDER_BINS / end;
  const stride = Math.max(1, Math.floor((rows.length * W) / ACTIVE_GROUPS));
  for (let i = 0; i * stride < rows.length; i++) {
    const b = i * stride + Math.floor(goldenTurn(i) * stride);
    if (b >= rows.length) break;
    const start = starts[b] * perIteration;
    let bin = Math.floor(start);
    // From its start to the end of its stretch, and in the ones after it.
    let rest = bin + 1 - start;
    aliveHere[bin] += rest;
    alive[bin + 1] += 1;
    activeHere[bin] += W * rest;
    active[bin + 1] += W;
    squaresHere[bin] += W * W * rest;
    squares[bin + 1] += W * W;
    const first = rows[b] * W;
    sortRow(depths, first, W);
    for (let g = 0; g < W; g++) {
      const ended = start + depths[first + g] * perIteration;
      if (ended >= ORDER_BINS) break;
      bin = Math.floor(ended);
      rest = bin + 1 - ended;
      const drop = 2 * (W - g) - 1;
      activeHere[bin] -= rest;
      active[bin + 1] -= 1;
      squaresHere[bin] -= drop * rest;
      squares[bin + 1] -= drop;
      if (g < W - 1) continue;
      aliveHere[bin] -= rest;
      alive[bin + 1] -= 1;
    }
  }
  const means = new Float64Array(ORDER_BINS);
  const deviations = new Float64Array(ORDER_BINS);
  let blocks = 0;
  let groups = 0;
  let square = 0;
  for (let bin = 0; bin < ORDER_BINS; bin++) {
    blocks += alive[bin];
    groups += active[bin];
    square += squares[bin];
    const slots = blocks + aliveHere[bin];
    // None of the blocks looked at may be active then: as before.
    if (!(slots > 1e-6)) {
      means[bin] = bin > 0 ? means[bin - 1] : residentBlocks * W;
      deviations[bin] = bin > 0 ? deviations[bin - 1] : 0;
      continue;
    }
    const mean = (groups + activeHere[bin]) / slots;
    const variance = Math.max(0, (square + squaresHere[bin]) / slots - mean * mean);
    means[bin] = residentBlocks * mean;
    deviations[bin] = Math.sqrt(residentBlocks * variance);
  }
  return { means, deviations };
}
