import type { GroupDepth } from '../../domain/depth.ts';
import { depthTable, rowSurvivalInto } from './depth-table.ts';

/**
 * How many of a set of identical block slots, and of their groups, are still active as virtual time passes, when ended
 * blocks are not replaced. One record of `CELL_FIELDS` numbers per cell of virtual time, so that a profile is one
 * allocation; every probability is the mean over its cell.
 */
export interface ActivityProfile {
  readonly cells: number;
  readonly data: Float64Array;
}

/** Numbers of a cell, in this order: */
export const CELL_FIELDS = 5;
/** Width of the cell, iterations. */
export const WIDTH = 0;
/** P(a slot's block is active): some group of it has iterations left. */
export const BLOCK = 1;
/** E[active groups] / W_b of a slot. */
export const GROUP = 2;
/** P(two given groups of a block are both active). */
export const PAIR = 3;
/** ln P(none of a slot's blocks is active), each block taken to have started for certain; at least `LOG_CERTAIN`. */
export const LOG_IDLE = 4;

/** Stands for ln 0. */
export const LOG_CERTAIN = -50;

/** ln(1 − p), at least `LOG_CERTAIN`. */
export function logNone(p: number): number {
  // Two terms of the series leave less than 1e-8 of it here.
  if (p < 1e-4) return -p * (1 + 0.5 * p);
  return p < 1 ? Math.max(LOG_CERTAIN, Math.log1p(-p)) : LOG_CERTAIN;
}

/**
 * Law of a block's life in virtual time (iterations).
 * Depends on (workload, work-group width, balancing, W_b) alone.
 */
export interface BlockLaw {
  readonly groupsPerBlock: number;
  /** Activity of a block from its start. */
  readonly fresh: ActivityProfile;
  /** Records of `ROW_FIELDS` numbers, one per step of the laws: see `integralsAt`. */
  readonly rows: Float64Array;
  /** Where its group is in its life, for a slot that has been busy forever: records of weight, E[active groups] and their variance. */
  readonly ages: Float64Array;
  /** Edges of the cells on which activity after the last dispatch is tabulated, iterations, from 0. */
  readonly drainEdges: Float64Array;
  /** E[D], iterations. */
  readonly meanGroup: number;
  /** E[B], iterations. */
  readonly meanBlock: number;
  /** Mean over a block's life of P(two given groups are both active), times E[B], iterations. */
  readonly meanPair: number;
  /** E[B²] / 2E[B]: mean residual life of a slot that has been busy forever, iterations. */
  readonly meanResidual: number;
  /** Standard deviation of B, iterations. */
  readonly blockDeviation: number;
  /** 0…1: how much the groups of a block end together beyond its life; 0 where they are independent, 1 where all are alike. */
  readonly clumping: number;
  /** The longest life, iterations. */
  readonly longest: number;
  /** Every step of the laws is at a whole number of iterations. */
  readonly lattice: boolean;
  /** Its renewal process, once asked for: see `renewalOf`. */
  renewal: Renewal | null;
}

/**
 * The renewal process of a block slot that is refilled the moment its block ends: how many blocks start at each point of
 * a grid of virtual time, per slot. Grown on demand; what is computed never depends on the order of the questions.
 */
export interface Renewal {
  /** Spacing of the grid, iterations. */
  readonly step: number;
  /** Points after which the process is as good as stationary. */
  readonly points: number;
  /** The same in blocks per slot. */
  readonly waves: number;
  /** Expected starts of a slot at each grid point; `starts[0]` ≥ 1. Valid below `known`. */
  starts: Float64Array;
  /**
   * Four numbers for each point: expected starts up to and including it; and sums over the cells before it of E[active
   * groups]/W_b, P(two given groups both active), and Σ over ages of P(age)·(E[active fraction | age])², whose excess over
   * the first squared is the variance between ages.
   */
  sums: Float64Array;
  /** Cells of nearly the same activity are one span: point after the last of each. */
  readonly spanEnds: number[];
  known: number;
  /** Activity after a point where nothing starts from that point on, once asked for: where in `profileData`, without the widths. */
  readonly profiles: Map<number, number>;
  profileData: Float64Array;
  /** Activity after `agedTime` iterations in the stationary state: the latest that was asked for. */
  aged: ActivityProfile | null;
  agedTime: number;
  readonly law: BlockLaw;
  /** P(B > i·step). */
  readonly alive: Float64Array;
  /**
   * P(B = i·step), and the means over [i·step, (i+1)·step) of P(group active), P(two groups active), and the square of the
   * first given that the block is active: four numbers each.
   */
  readonly ages: Float64Array;
  readonly firstMass: number;
  /** Activity of a block from its start, on the cells of the drain. */
  readonly freshDrain: ActivityProfile;
}

/** Cells spent on the bulk of each law, and per factor of e in the block's upper tail. */
const BULK_CELLS = 8;
const TAIL_CELLS = 1;
/** Tail beyond which a block's life no longer matters, even as the longest of a million. */
const NEGLIGIBLE_TAIL = 1e-9;
/** Widest cells of the drain: this fraction of E[B], or of the time since the last dispatch. */
const DRAIN_FRACTION_OF_BLOCK = 0.2;
const DRAIN_FRACTION_OF_TIME = 0.5;

/** Numbers of a row: its first time; P(block, group, two groups active) up to the next row; their integrals up to its first time; the integral of the first of these. */
const ROW_FIELDS = 8;

/** The row whose times hold y, searched upwards from row `from`, which must not lie beyond. */
function rowFrom(rows: Float64Array, from: number, y: number): number {
  let i = from;
  for (const last = rows.length - ROW_FIELDS; i < last && rows[i + ROW_FIELDS] <= y;) i += ROW_FIELDS;
  return i;
}

/** The row whose times hold y ≥ 0, as an offset into `rows`. */
function rowOf(rows: Float64Array, y: number): number {
  let low = 0;
  let high = rows.length / ROW_FIELDS;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (rows[middle * ROW_FIELDS] <= y) low = middle;
    else high = middle;
  }
  return low * ROW_FIELDS;
}

/**
 * Writes ∫₀^y of P(block active), P(group active) and P(two groups active) of a block that starts at 0 to `out[0..2]`, for
 * y = from, from + edges[1], from + edges[2] …: three numbers each, `count` times;
 * `edges` ascend from 0.
 */
export function integralsInto(
  out: Float64Array,
  law: BlockLaw,
  from: number,
  edges: Float64Array,
  count: number,
): void {
  const { rows } = law;
  let i = rowOf(rows, from);
  for (let e = 0, to = 0; e < count; e++, to += 3) {
    const y = from + edges[e];
    i = rowFrom(rows, i, y);
    const rest = y - rows[i];
    out[to] = rows[i + 4] + rest * rows[i + 1];
    out[to + 1] = rows[i + 5] + rest * rows[i + 2];
    out[to + 2] = rows[i + 6] + rest * rows[i + 3];
  }
}

/** Mean residual life at time `y` > 0 of a slot whose block has any age up to y alike, iterations. */
export function meanResidualAt(law: BlockLaw, y: number): number {
  const { rows } = law;
  const i = rowOf(rows, y);
  const rest = y - rows[i];
  const lived = rows[i + 4] + rest * rows[i + 1];
  const area = rows[i + 7] + rest * (rows[i + 4] + 0.5 * rest * rows[i + 1]);
  return (y * law.meanBlock - area) / lived;
}

/** Writes P(B > first + i·step) to `out[i]`. */
export function blockSurvivalInto(out: Float64Array, law: BlockLaw, first: number, step: number): void {
  const { rows } = law;
  let row = 0;
  for (let i = 0; i < out.length; i++) {
    row = rowFrom(rows, row, first + i * step);
    out[i] = rows[row + 1];
  }
}

const survivals = { block: new Float64Array(0), group: new Float64Array(0), pair: new Float64Array(0) };

/**
 * Tabulates the life of a block of `groupsPerBlock` consecutive work groups.
 * @param depth law of the work groups
 * @param groupsPerBlock W_b, integer ≥ 1
 */
export function prepareBlockLaw(depth: GroupDepth, groupsPerBlock: number): BlockLaw {
  const W = groupsPerBlock;
  const table = depthTable(depth);
  const { edges } = table;
  const n = edges.length;
  if (survivals.block.length < n) {
    survivals.block = new Float64Array(n);
    survivals.group = new Float64Array(n);
    survivals.pair = new Float64Array(n);
  }
  const { block, group, pair } = survivals;
  rowSurvivalInto(block, table, W);
  if (W > 1) {
    rowSurvivalInto(group, table, 1);
    rowSurvivalInto(pair, table, 2);
  }
  // Row i holds the probabilities on [edge[i−1], edge[i]); the first starts at 0, the last has no end.
  const rows = new Float64Array((n + 1) * ROW_FIELDS);
  let sumBlock = 0;
  let sumGroup = 0;
  let sumPair = 0;
  let sumSum = 0;
  let secondMoment = 0;
  let together = 0;
  let apart = 0;
  for (let i = 0, from = 0; i <= n; i++) {
    const b = i === 0 ? 1 : i === n ? 0 : block[i - 1];
    const g = i === 0 || W === 1 ? b : i === n ? 0 : group[i - 1];
    // P(both) = 2 P(one) − P(either).
    const p = W === 1 ? 0 : i === 0 ? 1 : i === n ? 0 : Math.max(0, 2 * g - pair[i - 1]);
    const at = i * ROW_FIELDS;
    rows[at] = from;
    rows[at + 1] = b;
    rows[at + 2] = g;
    rows[at + 3] = p;
    rows[at + 4] = sumBlock;
    rows[at + 5] = sumGroup;
    rows[at + 6] = sumPair;
    rows[at + 7] = sumSum;
    if (i === n) break;
    const to = edges[i];
    const step = to - from;
    sumSum += step * (sumBlock + 0.5 * step * b);
    sumBlock += step * b;
    sumGroup += step * g;
    sumPair += step * p;
    together += step * (p - g * g);
    apart += step * (g - g * g);
    secondMoment += step * (to + from) * b;
    from = to;
  }
  const meanBlock = sumBlock;
  const end = edges[n - 1];
  // A cell ends where the monitor has moved by 1: the same change of the laws, and of the tail's logarithm, in each.
  cells.length = 0;
  drainEnds.length = 0;
  let mark = 0;
  let start = 0;
  let last = 0;
  for (let i = 1; i <= n; i++) {
    const at = i * ROW_FIELDS;
    const to = rows[at];
    if (to === 0) continue;
    const b = rows[at + 1];
    const here =
      BULK_CELLS * (2 - rows[at + 2] - b) - (b < 0.5 ? TAIL_CELLS * Math.log(2 * Math.max(b, NEGLIGIBLE_TAIL)) : 0);
    if (i < n && here - mark < 1) continue;
    mark = here;
    const width = to - rows[start];
    const active = (rows[at + 4] - rows[start + 4]) / width;
    cells.push(
      width,
      active,
      (rows[at + 5] - rows[start + 5]) / width,
      (rows[at + 6] - rows[start + 6]) / width,
      logNone(active),
    );
    start = at;
    while (last < to) {
      const widest = Math.max(DRAIN_FRACTION_OF_BLOCK * meanBlock, DRAIN_FRACTION_OF_TIME * last);
      const pieces = Math.ceil((to - last) / widest - 1e-9);
      last = pieces <= 1 ? to : last + Math.min(widest, (to - last) / pieces);
      drainEnds.push(last);
    }
  }
  const drainEdges = new Float64Array(drainEnds.length + 1);
  drainEdges.set(drainEnds, 1);
  const fresh = { cells: cells.length / CELL_FIELDS, data: Float64Array.from(cells) };
  return {
    groupsPerBlock,
    fresh,
    rows,
    ages: agesOf(fresh, W, meanBlock),
    drainEdges,
    meanGroup: sumGroup,
    meanBlock,
    meanPair: sumPair,
    meanResidual: meanBlock > 0 ? secondMoment / (2 * meanBlock) : 0,
    blockDeviation: Math.sqrt(Math.max(0, secondMoment - meanBlock * meanBlock)),
    clumping: W > 1 && apart > 0 ? Math.min(1, Math.max(0, together / apart)) : 0,
    longest: end,
    lattice: table.lattice,
    renewal: null,
  };
}

const cells: number[] = [];
const drainEnds: number[] = [];

/** Ages are told apart where the share of active groups differs by more than this. */
const AGE_STEP = 0.015;

function agesOf({ cells, data }: ActivityProfile, W: number, meanBlock: number): Float64Array {
  const ages: number[] = [];
  for (let c = 0; c < cells;) {
    let weight = 0;
    let sum = 0;
    let squares = 0;
    let first = 0;
    for (; c < cells; c++) {
      const at = c * CELL_FIELDS;
      const b = data[at + BLOCK];
      if (b <= 0) continue;
      const share = data[at + GROUP] / b;
      if (weight === 0) first = share;
      else if (Math.abs(share - first) > AGE_STEP) break;
      const lived = data[at + WIDTH] / meanBlock;
      weight += lived * b;
      sum += lived * W * data[at + GROUP];
      squares += lived * W * (data[at + GROUP] + (W - 1) * data[at + PAIR]);
    }
    if (weight === 0) break;
    const mean = sum / weight;
    ages.push(weight, mean, Math.max(0, squares / weight - mean * mean));
  }
  return Float64Array.from(ages);
}

export function allocateProfile(cells: number): ActivityProfile {
  return { cells, data: new Float64Array(cells * CELL_FIELDS) };
}
