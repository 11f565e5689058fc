import { GROUP_EDGES, NEGLIGIBLE_LIFE } from '../constants.ts';
import type { GroupDepth } from '../../domain/depth.ts';
import { findCell } from '../../numeric/search.ts';
import type { SampledBlocks } from '../dealing/sample.ts';
import {
  getDepthTable,
  getDoubling,
  computeRowSurvival,
  type DepthTable,
  type StepLaws,
} from '../depth/depth-table.ts';
import {
  ACTIVE,
  allocateProfile,
  APART,
  BLOCK,
  CELL_FIELDS,
  completeCells,
  GROUP,
  PAIR,
  VARIANCE,
  WIDTH,
  type ActivityProfile,
} from './activity.ts';
import { createArena, take, type Arena } from './arena.ts';
import type { BlockLaw } from './law.ts';

/** Number of cells for the bulk of a law, without its tail. */
const BULK_CELLS = 3;
/** Number of cells for each factor of e by which the tail of a block's life falls. */
const TAIL_CELLS = 0.5;
/** A cell is at most this fraction of the mean life wide, or `WIDEST_CELL_OF_TIME` of its start if that is more. */
const WIDEST_CELL_OF_BLOCK = 0.2;
const WIDEST_CELL_OF_TIME = 0.5;
/** Two ages of a block share a record if the active fractions of its groups differ by less than this. */
const AGE_STEP = 0.1;
/** Number of steps for the lives of blocks, in a law of sampled blocks. */
const BLOCK_EDGES = 48;
const SAMPLE_QUANTILES = 128;

/**
 * A row has seven numbers: its first time; P(block active), P(group active) and P(two groups active) up to the next
 * row; and the integrals of these three probabilities from 0 to its first time.
 */
const ROW_FIELDS = 7;

/** Finds the row whose times contain y, searching upwards from row `from`, which must not lie beyond y. */
function findRow(rows: Float64Array, from: number, y: number): number {
  let i = from;
  for (const last = rows.length - ROW_FIELDS; i < last && rows[i + ROW_FIELDS] <= y;) i += ROW_FIELDS;
  return i;
}

/**
 * Writes ∫₀^y of P(block active), P(group active) and P(two groups active) for a block that starts at 0, up to y = from
 * + edges[0], from + edges[1], …: `count` limits, three numbers for each.
 * @param edges ascending from 0
 */
export function writeIntegralsInto(
  out: Float64Array,
  { rows }: BlockLaw,
  from: number,
  edges: Float64Array,
  count: number,
): void {
  let i = 0;
  for (let e = 0, to = 0; e < count; e++, to += 3) {
    const y = from + edges[e];
    i = findRow(rows, i, y);
    const rest = y - rows[i];
    out[to] = rows[i + 4] + rest * rows[i + 1];
    out[to + 1] = rows[i + 5] + rest * rows[i + 2];
    out[to + 2] = rows[i + 6] + rest * rows[i + 3];
  }
}

export function writeBlockSurvivalInto(out: Float64Array, { rows }: BlockLaw, first: number, step: number): void {
  let row = 0;
  for (let i = 0; i < out.length; i++) {
    row = findRow(rows, row, first + i * step);
    out[i] = rows[row + 1];
  }
}

/** The record of an age: its weight, mean and variance of the active groups, and `APART` times that mean. */
export const AGE_FIELDS = 4;

let survival = new Float64Array(128);
let partly = new Float64Array(128);
let oneOfTwo = new Float64Array(128);
let ends = new Float64Array(256);
let integrals = new Float64Array(3 * 256);
let records = new Float64Array(AGE_FIELDS * 128);

/**
 * Makes the law of the life of a block of consecutive work groups.
 * @param groupsPerBlock integer ≥ 1
 * @param arena holds the law; clearing it makes the law invalid
 * @param lastFilled share of the lanes of the last group that have units, 0 < … ≤ 1
 */
export function makeBlockLaw(table: DepthTable, groupsPerBlock: number, arena: Arena, lastFilled = 1): BlockLaw {
  const W = groupsPerBlock;
  const { edges: steps, lattice } = table;
  const n = steps.length;
  if (survival.length < n) {
    survival = new Float64Array(2 * n);
    partly = new Float64Array(2 * n);
    oneOfTwo = new Float64Array(2 * n);
  }
  const block = computeRowSurvival(table, W - 1 + lastFilled, survival);
  const group = getDoubling(table, 0);
  const either = W === 1 ? group : getDoubling(table, 1);
  if (lastFilled === 1) return makeSteppedBlockLaw({ steps, block, group, either, lattice }, W, arena);
  // The means are over the groups of a block and over their pairs. A share 2/W of the pairs contains the last group.
  const withLast = computeRowSurvival(table, 1 + lastFilled, oneOfTwo);
  for (let i = 0; i < n - 1; i++) {
    const last = 1 - Math.pow(1 - group[i], lastFilled);
    const mean = group[i] + (last - group[i]) / W;
    const pair = ((W - 2) * (2 * group[i] - either[i]) + 2 * (group[i] + last - withLast[i])) / W;
    partly[i] = mean;
    oneOfTwo[i] = 2 * mean - pair;
  }
  return makeSteppedBlockLaw({ steps, block, group: partly, either: oneOfTwo, lattice }, W, arena, lastFilled);
}

export function prepareBlockLaw(depth: GroupDepth, groupsPerBlock: number): BlockLaw {
  return makeBlockLaw(getDepthTable(depth), groupsPerBlock, createArena(1 << 10));
}

export function makeSteppedBlockLaw(laws: StepLaws, W: number, arena: Arena, lastFilled = 1): BlockLaw {
  const { steps, block, group, either, lattice } = laws;
  const n = steps.length;
  // Row i holds the probabilities on [step[i−1], step[i]). The first row starts at 0, and the last has no end.
  const rows = take(arena, (n + 1) * ROW_FIELDS);
  let sumBlock = 0;
  let sumGroup = 0;
  let sumPair = 0;
  let secondMoment = 0;
  let from = 0;
  for (let i = 0, at = 0; i <= n; i++, at += ROW_FIELDS) {
    const b = i === 0 ? 1 : i === n ? 0 : block[i - 1];
    const g = i === 0 ? 1 : i === n ? 0 : group[i - 1];
    // P(both groups active) = 2 P(one group active) − P(at least one active).
    const p = W === 1 || i === n ? 0 : i === 0 ? 1 : Math.max(0, 2 * g - either[i - 1]);
    rows[at] = from;
    rows[at + 1] = b;
    rows[at + 2] = g;
    rows[at + 3] = p;
    rows[at + 4] = sumBlock;
    rows[at + 5] = sumGroup;
    rows[at + 6] = sumPair;
    if (i === n) break;
    const to = steps[i];
    const width = to - from;
    sumBlock += width * b;
    sumGroup += width * g;
    sumPair += width * p;
    secondMoment += width * (to + from) * b;
    from = to;
  }
  // Fourier transforms leave small probabilities beyond the longest possible sum. These lives do not count.
  let top = n - 1;
  while (top > 1 && group[top - 1] < NEGLIGIBLE_LIFE) top--;
  const meanBlock = sumBlock;
  const edges = chooseCellEdges(arena, rows, meanBlock);
  const fresh = makeFreshProfile(arena, rows, edges, W);
  return {
    groupsPerBlock: W,
    lastFilled,
    isExact: laws.isExact === true,
    arena,
    rows,
    edges,
    fresh,
    ages: computeAges(arena, fresh, meanBlock),
    meanGroup: sumGroup,
    meanBlock,
    meanPair: sumPair,
    meanResidual: meanBlock > 0 ? secondMoment / (2 * meanBlock) : 0,
    blockDeviation: Math.sqrt(Math.max(0, secondMoment - meanBlock * meanBlock)),
    longest: from,
    top: steps[top],
    topShare: top > 0 ? group[top - 1] : 1,
    topBlockShare: top > 0 ? block[top - 1] : 1,
    lattice,
    stationary: null,
    renewal: null,
    shares: null,
  };
}

const MAX_EDGES = GROUP_EDGES + BLOCK_EDGES + 2;
const edgesOfSample = new Float64Array(MAX_EDGES);

/** Lists the steps in the survival functions of sampled blocks, whose groups may depend on each other in any way. */
export function makeSampledSteps({ depths, weights, groupsPerBlock: W }: SampledBlocks): StepLaws {
  const n = chooseSampledEdges(edgesOfSample, depths, W);
  const kept = new Float64Array(4 * n);
  const edges = kept.subarray(0, n);
  const block = kept.subarray(n, 2 * n);
  const group = kept.subarray(2 * n, 3 * n);
  const pair = kept.subarray(3 * n);
  edges.set(edgesOfSample.subarray(0, n));
  const perPair = W > 1 ? 2 / (W - 1) : 0;
  let blocks = 0;
  for (let b = 0, at = 0; at < depths.length; b++, at += W) {
    const weight = weights ? weights[b] : 1;
    blocks += weight;
    let row = n > 1 ? findCell(edges, depths[at]) : 0;
    let from = edges[row];
    let perIteration = n > 1 ? weight / (edges[row + 1] - from) : 0;
    for (let i = 0; i < W; i++) {
      const depth = depths[at + i];
      if (row < n - 2 && edges[row + 1] <= depth) {
        do row++;
        while (row < n - 2 && edges[row + 1] <= depth);
        from = edges[row];
        perIteration = weight / (edges[row + 1] - from);
      }
      // The part of the last row during which the group lives. The earlier rows are added up below.
      const part = (depth - from) * perIteration;
      // The pairs that end with this group: one pair with each group that lives longer.
      const pairs = (W - 1 - i) * perPair;
      group[row] += part;
      pair[row] += part * pairs;
      if (i === W - 1) block[row] += part;
      if (row === 0) continue;
      group[row - 1] += weight - part;
      pair[row - 1] += (weight - part) * pairs;
      if (i === W - 1) block[row - 1] += weight - part;
    }
  }
  for (let row = n - 3; row >= 0; row--) {
    group[row] += group[row + 1];
    pair[row] += pair[row + 1];
    block[row] += block[row + 1];
  }
  const either = pair;
  for (let row = 0; row < n - 1; row++) {
    group[row] /= blocks * W;
    block[row] /= blocks;
    either[row] = 2 * group[row] - pair[row] / (blocks * W);
  }
  const lattice = edges.every((edge) => Number.isInteger(edge));
  return { steps: edges, block, group, either, lattice };
}

/**
 * Writes quantiles of the depths of a sample's groups and blocks, and returns their number. The quantiles of blocks get
 * closer towards the end, because a few long blocks decide when a launch ends.
 */
function chooseSampledEdges(edges: Float64Array, depths: Float64Array, W: number): number {
  const blocks = depths.length / W;
  const lives = new Float64Array(blocks);
  let least = depths[0];
  for (let b = 0; b < blocks; b++) {
    lives[b] = depths[b * W + W - 1];
    least = Math.min(least, depths[b * W]);
  }
  lives.sort();
  const most = lives[blocks - 1];
  const groups = new Float64Array(Math.min(depths.length, SAMPLE_QUANTILES));
  for (let i = 0; i < groups.length; i++) groups[i] = depths[Math.floor(((i + 0.5) * depths.length) / groups.length)];
  groups.sort();
  edges[0] = least;
  let count = 1;
  for (let g = 0, b = 0; g < GROUP_EDGES || b < BLOCK_EDGES;) {
    const group = g < GROUP_EDGES ? groups[Math.floor(((g + 0.5) / GROUP_EDGES) * groups.length)] : Infinity;
    const block = b < BLOCK_EDGES ? lives[Math.floor((1 - (1 - (b + 0.5) / BLOCK_EDGES) ** 2) * blocks)] : Infinity;
    const edge = Math.min(group, block);
    if (group <= block) g++;
    else b++;
    if (edge > edges[count - 1] + 1e-9 * most) edges[count++] = edge;
  }
  if (most > edges[count - 1] + 1e-9 * most) edges[count++] = most;
  return count;
}

function chooseCellEdges(arena: Arena, rows: Float64Array, meanBlock: number): Float64Array {
  const lastRow = rows.length - ROW_FIELDS;
  let count = 1;
  let mark = 0;
  let last = 0;
  ends[0] = 0;
  for (let at = ROW_FIELDS; at <= lastRow; at += ROW_FIELDS) {
    const to = rows[at];
    if (to === 0) continue;
    const b = rows[at + 1];
    const here =
      BULK_CELLS * (2 - rows[at + 2] - b) - (b < 0.5 ? TAIL_CELLS * Math.log(2 * Math.max(b, NEGLIGIBLE_LIFE)) : 0);
    if (at < lastRow && here - mark < 1) continue;
    mark = here;
    while (last < to) {
      const widest = Math.max(WIDEST_CELL_OF_BLOCK * meanBlock, WIDEST_CELL_OF_TIME * last);
      const pieces = Math.ceil((to - last) / widest - 1e-9);
      last = pieces <= 1 ? to : last + Math.min(widest, (to - last) / pieces);
      if (count === ends.length) {
        const more = new Float64Array(2 * count);
        more.set(ends);
        ends = more;
      }
      ends[count++] = last;
    }
  }
  const edges = take(arena, count);
  for (let i = 0; i < count; i++) edges[i] = ends[i];
  return edges;
}

/** Returns the integrals of `writeIntegralsInto` up to the first `count` cell edges, in memory that all calls share. */
export function computeIntegrals(law: BlockLaw, age: number, count: number): Float64Array {
  if (integrals.length < 3 * count) integrals = new Float64Array(6 * count);
  writeIntegralsInto(integrals, law, age, law.edges, count);
  return integrals;
}

function makeFreshProfile(arena: Arena, rows: Float64Array, edges: Float64Array, W: number): ActivityProfile {
  const profile = allocateProfile(arena, edges.length - 1, W);
  const { cells, data } = profile;
  const lived = computeIntegrals({ rows, edges } as BlockLaw, 0, edges.length);
  for (let c = 0, at = 0, i = 0; c < cells; c++, at += CELL_FIELDS, i += 3) {
    const width = edges[c + 1] - edges[c];
    data[at + WIDTH] = width;
    data[at + BLOCK] = (lived[i + 3] - lived[i]) / width;
    data[at + GROUP] = (lived[i + 4] - lived[i + 1]) / width;
    data[at + PAIR] = (lived[i + 5] - lived[i + 2]) / width;
  }
  completeCells(profile);
  return profile;
}

function computeAges(
  arena: Arena,
  { groupsPerBlock: W, cells, data }: ActivityProfile,
  meanBlock: number,
): Float64Array {
  if (records.length < AGE_FIELDS * cells) records = new Float64Array(2 * AGE_FIELDS * cells);
  let count = 0;
  for (let c = 0; c < cells;) {
    let weight = 0;
    let sum = 0;
    let squares = 0;
    let spread = 0;
    let first = 0;
    for (; c < cells; c++) {
      const at = c * CELL_FIELDS;
      const b = data[at + BLOCK];
      if (b <= 0) continue;
      const share = data[at + GROUP] / b;
      if (weight === 0) first = share;
      else if (Math.abs(share - first) > AGE_STEP) break;
      const lived = data[at + WIDTH] / meanBlock;
      const active = data[at + ACTIVE];
      weight += lived * b;
      sum += lived * active;
      squares += lived * (data[at + VARIANCE] + active * active);
      // If a block has a single group, that group is active whenever its block is, so it adds no variance.
      if (W > 1) spread += lived * active * data[at + APART];
    }
    if (weight === 0) break;
    const mean = sum / weight;
    records[count] = weight;
    records[count + 1] = mean;
    records[count + 2] = Math.max(0, squares / weight - mean * mean);
    records[count + 3] = spread / weight;
    count += AGE_FIELDS;
  }
  const ages = take(arena, count);
  for (let i = 0; i < count; i++) ages[i] = records[i];
  return ages;
}

/** Returns the future activity of a block slot whose block has a random age, if no other block follows it. */
export function getStationaryProfile(law: BlockLaw): ActivityProfile {
  return (law.stationary ??= makeStationaryProfile(law));
}

function makeStationaryProfile(law: BlockLaw): ActivityProfile {
  const { edges, arena, groupsPerBlock: W, meanBlock, meanGroup, meanPair } = law;
  const profile = allocateProfile(arena, edges.length - 1, W);
  const { cells, data } = profile;
  // A block of random age with the life B is active at v with probability ∫_v^∞ P(B > x) dx / E[B], here at mid-cell.
  const middles = new Float64Array(cells);
  for (let c = 0; c < cells; c++) middles[c] = 0.5 * (edges[c] + edges[c + 1]);
  const lived = new Float64Array(3 * cells);
  writeIntegralsInto(lived, law, 0, middles, cells);
  for (let c = 0, at = 0, i = 0; c < cells; c++, at += CELL_FIELDS, i += 3) {
    data[at + WIDTH] = edges[c + 1] - edges[c];
    data[at + BLOCK] = (meanBlock - lived[i]) / meanBlock;
    data[at + GROUP] = (meanGroup - lived[i + 1]) / meanBlock;
    data[at + PAIR] = Math.max(0, (meanPair - lived[i + 2]) / meanBlock);
  }
  completeCells(profile);
  return profile;
}
