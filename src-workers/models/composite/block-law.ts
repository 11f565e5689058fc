import type { GroupDepth } from '../../domain/depth.ts';
import { cellOf } from '../../numeric/search.ts';
import { createArena, take, type Arena } from './arena.ts';
import { depthTable, doubling, rowSurvival, type DepthTable } from './depth-table.ts';
import type { BlockLaw } from './law.ts';
import { nowhereInto, sampledPopulation, type Population, type SampledBlocks } from './population.ts';
import {
  ACTIVE,
  allocateProfile,
  BLOCK,
  CELL_FIELDS,
  completeCells,
  GROUP,
  PAIR,
  resizeProfile,
  VARIANCE,
  WIDTH,
  type ActivityProfile,
} from './profile.ts';

/** Cells spent on the bulk of each law, and per factor of e in the block's upper tail. */
const BULK_CELLS = 3;
const TAIL_CELLS = 0.5;
/** Tail beyond which a block's life no longer matters, even as the longest of a million. */
const NEGLIGIBLE_TAIL = 1e-9;
/** Widest cells: this fraction of E[B], or of the time since the last dispatch. */
const WIDEST_OF_BLOCK = 0.2;
const WIDEST_OF_TIME = 0.5;

/** Numbers of a row: its first time; P(block, group, two groups active) up to the next row; their integrals up to its first time; the integral of the first of these. */
export const ROW_FIELDS = 8;

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
  const last = rows.length - ROW_FIELDS;
  let i = rowOf(rows, from);
  for (let e = 0, to = 0; e < count; e++, to += 3) {
    const y = from + edges[e];
    while (i < last && rows[i + ROW_FIELDS] <= y) i += ROW_FIELDS;
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

/** Scratch: survival of the blocks by row, and where a group is partly empty that of a group and of one or the other of two; ends of cells; integrals at edges. */
let survival = new Float64Array(128);
let partly = new Float64Array(128);
let oneOfTwo = new Float64Array(128);
let ends = new Float64Array(256);
let integrals = new Float64Array(3 * 256);

/**
 * Tabulates the life of a block of `groupsPerBlock` consecutive work groups.
 * @param depth law of the work groups
 * @param groupsPerBlock W_b, integer ≥ 1
 */
export function prepareBlockLaw(depth: GroupDepth, groupsPerBlock: number): BlockLaw {
  return blockLawOf(depthTable(depth), groupsPerBlock, createArena(ALONE));
}

/** Numbers of a law that is made for itself. */
const ALONE = 1 << 10;

/**
 * As `prepareBlockLaw`, of a law already tabulated.
 * @param arena where the law lives; it is void once that is cleared
 * @param lastFilled share of the lanes of a block's last group that have units, 0…1 without 0; 1 where a block is one group
 */
export function blockLawOf(table: DepthTable, groupsPerBlock: number, arena: Arena, lastFilled = 1): BlockLaw {
  const W = groupsPerBlock;
  const { edges: steps } = table;
  const n = steps.length;
  if (survival.length < n) {
    survival = new Float64Array(2 * n);
    partly = new Float64Array(2 * n);
    oneOfTwo = new Float64Array(2 * n);
  }
  const block = rowSurvival(table, W - 1 + lastFilled, survival);
  const group = doubling(table, 0);
  // P(both) = 2 P(one) − P(either).
  const either = W === 1 ? group : doubling(table, 1);
  if (lastFilled === 1) return tabulated(steps, block, group, either, W, 1, table.lattice, arena);
  // Means over the groups of a block and over their pairs: two in W of these are with the last.
  const withLast = rowSurvival(table, 1 + lastFilled, oneOfTwo);
  for (let i = 0; i < n - 1; i++) {
    const last = 1 - Math.pow(1 - group[i], lastFilled);
    const mean = group[i] + (last - group[i]) / W;
    const pair = ((W - 2) * (2 * group[i] - either[i]) + 2 * (group[i] + last - withLast[i])) / W;
    partly[i] = mean;
    oneOfTwo[i] = 2 * mean - pair;
  }
  return tabulated(steps, block, partly, oneOfTwo, W, lastFilled, table.lattice, arena);
}

/**
 * The law with these steps and, from each to the next, these probabilities: a block is active, a group is, one or the other
 * of two groups is.
 * @param population of the launch that the law is of; `null` where its blocks are draws from it
 */
export function tabulated(
  steps: Float64Array,
  block: Float64Array,
  group: Float64Array,
  either: Float64Array,
  W: number,
  lastFilled: number,
  lattice: boolean,
  arena: Arena,
  population: Population | null = null,
): BlockLaw {
  const n = steps.length;
  // Row i holds the probabilities on [step[i−1], step[i]); the first starts at 0, the last has no end.
  const rows = take(arena, (n + 1) * ROW_FIELDS);
  let sumBlock = 0;
  let sumGroup = 0;
  let sumPair = 0;
  let sumSum = 0;
  let secondMoment = 0;
  let together = 0;
  let apart = 0;
  let from = 0;
  for (let i = 0, at = 0; i < n; i++, at += ROW_FIELDS) {
    const b = i === 0 ? 1 : block[i - 1];
    const g = i === 0 ? 1 : group[i - 1];
    const p = W === 1 ? 0 : i === 0 ? 1 : Math.max(0, 2 * g - either[i - 1]);
    const to = steps[i];
    const width = to - from;
    rows[at] = from;
    rows[at + 1] = b;
    rows[at + 2] = g;
    rows[at + 3] = p;
    rows[at + 4] = sumBlock;
    rows[at + 5] = sumGroup;
    rows[at + 6] = sumPair;
    rows[at + 7] = sumSum;
    sumSum += width * (sumBlock + 0.5 * width * b);
    sumBlock += width * b;
    sumGroup += width * g;
    sumPair += width * p;
    together += width * (p - g * g);
    apart += width * (g - g * g);
    secondMoment += width * (to + from) * b;
    from = to;
  }
  const last = n * ROW_FIELDS;
  rows[last] = from;
  rows[last + 1] = 0;
  rows[last + 2] = 0;
  rows[last + 3] = 0;
  rows[last + 4] = sumBlock;
  rows[last + 5] = sumGroup;
  rows[last + 6] = sumPair;
  rows[last + 7] = sumSum;
  const meanBlock = sumBlock;
  // What transforms leave of a sum's law lies beyond it.
  let top = n - 1;
  while (top > 1 && group[top - 1] < NEGLIGIBLE_TAIL) top--;
  const law: BlockLaw = {
    groupsPerBlock: W,
    lastFilled,
    arena,
    rows,
    edges: cellEdges(arena, rows, meanBlock),
    fresh: NO_PROFILE,
    ages: NO_AGES,
    meanGroup: sumGroup,
    meanBlock,
    meanPair: sumPair,
    meanResidual: meanBlock > 0 ? secondMoment / (2 * meanBlock) : 0,
    blockDeviation: Math.sqrt(Math.max(0, secondMoment - meanBlock * meanBlock)),
    clumping: W > 1 && apart > 0 ? Math.min(1, Math.max(0, together / apart)) : 0,
    longest: from,
    top: steps[top],
    topShare: top > 0 ? group[top - 1] : 1,
    lattice,
    population,
    stationary: null,
    renewal: null,
  };
  const fresh = freshProfile(law);
  if (population !== null) {
    fresh.slots = population.blocks;
    fresh.nowhere = take(arena, fresh.cells);
    nowhereInto(fresh.nowhere, population, fresh, allAtOnce);
  }
  return Object.assign(law, { fresh, ages: agesOf(arena, fresh, meanBlock) });
}

/** Edges spent on the law of a group and on that of a block, and depths of either kind that they are picked from. */
const GROUP_EDGES = 24;
const BLOCK_EDGES = 64;
const EDGE_POOL = 128;

const MOST_EDGES = GROUP_EDGES + BLOCK_EDGES + 2;

/** Scratch: edges, the probabilities between them, and pools that edges are picked from. */
const steps = {
  edges: new Float64Array(MOST_EDGES),
  block: new Float64Array(MOST_EDGES),
  group: new Float64Array(MOST_EDGES),
  either: new Float64Array(MOST_EDGES),
  groups: new Float64Array(EDGE_POOL),
  longest: new Float64Array(EDGE_POOL),
};

/**
 * Tabulates the life of the blocks of a sample: exact whatever their groups have in common, where all are followed.
 * @param groupsPerBlock W_b, integer ≥ 1
 * @param arena where the law lives; it is void once that is cleared
 */
export function sampledBlockLaw(
  sample: SampledBlocks,
  groupsPerBlock: number,
  arena: Arena,
  gridBlocks = sample.depths.length / sample.counts.length,
): BlockLaw {
  const W = groupsPerBlock;
  const { depths, counts, weights } = sample;
  const V = counts.length;
  const n = sampledEdges(sample);
  const edges = steps.edges.subarray(0, n);
  const block = steps.block.subarray(0, n).fill(0);
  const group = steps.group.subarray(0, n).fill(0);
  const pair = steps.either.subarray(0, n).fill(0);
  // What of the groups, and of their pairs, ends with each depth of a row.
  const shares = new Float64Array(V);
  const pairs = new Float64Array(V);
  for (let i = 0, active = W; i < V; i++) {
    const count = counts[i];
    shares[i] = count / W;
    pairs[i] = W > 1 ? (count * (2 * active - count - 1)) / (W * (W - 1)) : 0;
    active -= count;
  }
  let total = 0;
  for (let b = 0, at = 0; at < depths.length; b++) {
    const weight = weights ? weights[b] : 1;
    total += weight;
    let row = n > 1 ? cellOf(edges, depths[at]) : 0;
    let from = edges[row];
    let perIteration = n > 1 ? weight / (edges[row + 1] - from) : 0;
    for (let i = 0; i < V; i++, at++) {
      const depth = depths[at];
      if (row < n - 2 && edges[row + 1] <= depth) {
        do row++;
        while (row < n - 2 && edges[row + 1] <= depth);
        from = edges[row];
        perIteration = weight / (edges[row + 1] - from);
      }
      // The part of its last row that the group lives: rows before that are added up below.
      const part = (depth - from) * perIteration;
      group[row] += part * shares[i];
      pair[row] += part * pairs[i];
      if (i === V - 1) block[row] += part;
      if (row === 0) continue;
      group[row - 1] += (weight - part) * shares[i];
      pair[row - 1] += (weight - part) * pairs[i];
      if (i === V - 1) block[row - 1] += weight - part;
    }
  }
  for (let row = n - 3; row >= 0; row--) {
    group[row] += group[row + 1];
    pair[row] += pair[row + 1];
    block[row] += block[row + 1];
  }
  for (let row = 0; row < n - 1; row++) {
    group[row] /= total;
    block[row] /= total;
    // P(either) = 2 P(one) − P(both).
    pair[row] = 2 * group[row] - pair[row] / total;
  }
  const lattice = edges.every((edge) => Number.isInteger(edge));
  return tabulated(edges, block, group, pair, W, 1, lattice, arena, sampledPopulation(sample, gridBlocks));
}

/**
 * Writes quantiles of the depths of a sample's groups and blocks to `steps.edges`, from the shortest to the longest; those
 * of the blocks are closer and closer together, as few long ones decide when a launch ends.
 * @returns how many
 */
function sampledEdges({ depths, counts }: SampledBlocks): number {
  const V = counts.length;
  const blocks = depths.length / V;
  let least = depths[0];
  let most = 0;
  for (let at = 0; at < depths.length; at += V) {
    least = Math.min(least, depths[at]);
    most = Math.max(most, depths[at + V - 1]);
  }
  const groups = steps.groups.subarray(0, Math.min(depths.length, EDGE_POOL));
  for (let i = 0; i < groups.length; i++) {
    groups[i] = depths[Math.floor(((i + 0.5) * depths.length) / groups.length)];
  }
  groups.sort();
  const longest = steps.longest.subarray(0, Math.min(blocks, EDGE_POOL));
  for (let i = 0; i < longest.length; i++) {
    longest[i] = depths[Math.floor(((i + 0.5) * blocks) / longest.length) * V + V - 1];
  }
  longest.sort();
  const { edges } = steps;
  const apart = 1e-9 * most;
  const groupEdge = (g: number): number =>
    g < GROUP_EDGES ? groups[Math.floor(((g + 0.5) / GROUP_EDGES) * groups.length)] : Infinity;
  const blockEdge = (b: number): number =>
    b < BLOCK_EDGES ? longest[Math.floor((1 - (1 - (b + 0.5) / BLOCK_EDGES) ** 2) * longest.length)] : Infinity;
  edges[0] = least;
  let count = 1;
  for (let g = 0, b = 0, edge = least; edge < Infinity;) {
    if (edge > edges[count - 1] + apart) edges[count++] = edge;
    const ofGroup = groupEdge(g);
    const ofBlock = blockEdge(b);
    edge = Math.min(ofGroup, ofBlock);
    if (ofGroup <= ofBlock) g++;
    else b++;
  }
  if (most > edges[count - 1] + apart) edges[count++] = most;
  return count;
}

/** Share of the blocks of one wave that start in the time before a drain, however short. */
const allAtOnce = (): number => 1;

const NO_PROFILE: ActivityProfile = {
  cells: 0,
  data: new Float64Array(0),
  spread: new Float64Array(0),
  nowhere: null,
  slots: 0,
};
const NO_AGES = new Float64Array(0);

/** A cell ends where the monitor has moved by 1: the same change of the laws, and of the tail's logarithm, in each. */
function cellEdges(arena: Arena, rows: Float64Array, meanBlock: number): Float64Array {
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
      BULK_CELLS * (2 - rows[at + 2] - b) - (b < 0.5 ? TAIL_CELLS * Math.log(2 * Math.max(b, NEGLIGIBLE_TAIL)) : 0);
    if (at < lastRow && here - mark < 1) continue;
    mark = here;
    while (last < to) {
      const widest = Math.max(WIDEST_OF_BLOCK * meanBlock, WIDEST_OF_TIME * last);
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

/** Integrals at the first `count` edges of the cells of a block of some age: scratch, valid until the next call. */
export function integralsFrom(law: BlockLaw, age: number, count: number): Float64Array {
  if (integrals.length < 3 * count) integrals = new Float64Array(6 * count);
  integralsInto(integrals, law, age, law.edges, count);
  return integrals;
}

function freshProfile(law: BlockLaw): ActivityProfile {
  const { edges, groupsPerBlock: W } = law;
  const lived = integralsFrom(law, 0, edges.length);
  const profile = allocateProfile(law.arena, edges.length - 1, take(law.arena, edges.length - 1));
  const { data } = profile;
  for (let c = 0, i = 0; c < profile.cells; c++, i += 3) {
    const at = c * CELL_FIELDS;
    const width = edges[c + 1] - edges[c];
    data[at + WIDTH] = width;
    data[at + BLOCK] = (lived[i + 3] - lived[i]) / width;
    data[at + GROUP] = (lived[i + 4] - lived[i + 1]) / width;
    data[at + PAIR] = (lived[i + 5] - lived[i + 2]) / width;
  }
  completeCells(profile, W);
  spreadOf(profile);
  return profile;
}

/** P(block active) above which a cell is of the bulk, where the probability changes little within it. */
const BULK = 0.5;

/**
 * Tells how much P(block active) changes within the cells of its tail, as if it fell exponentially, by its means in the cells
 * to either side: as little as to the nearer of them, since between two lengths it does not fall at all. What is rare is then
 * known to be rarer than its mean over a wide cell says.
 */
function spreadOf({ cells, data, spread }: ActivityProfile): void {
  spread.fill(0);
  let before = Infinity;
  for (let c = 0, at = 0; c < cells - 1; c++, at += CELL_FIELDS) {
    const b = data[at + BLOCK];
    const next = data[at + CELL_FIELDS + BLOCK];
    if (!(next > NEGLIGIBLE_TAIL)) return;
    if (next > BULK) continue;
    const width = data[at + WIDTH];
    const after = next < b ? Math.log(b / next) / (width + data[at + CELL_FIELDS + WIDTH]) : 0;
    // Half the logarithm that it falls by in the cell.
    const half = b > BULK ? 0 : width * Math.min(before, after);
    // E[b²]/E[b]² − 1 of an exponential: (r/2) coth(r/2) − 1.
    if (half > 1e-3) spread[c] = half / Math.tanh(half) - 1;
    before = after;
  }
}

/** Ages are told apart where the share of active groups differs by more than this. */
const AGE_STEP = 0.1;

let records = new Float64Array(3 * 128);

function agesOf(arena: Arena, { cells, data }: ActivityProfile, meanBlock: number): Float64Array {
  if (records.length < 3 * cells) records = new Float64Array(6 * cells);
  let count = 0;
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
      const active = data[at + ACTIVE];
      weight += lived * b;
      sum += lived * active;
      squares += lived * (data[at + VARIANCE] + active * active);
    }
    if (weight === 0) break;
    const mean = sum / weight;
    records[count] = weight;
    records[count + 1] = mean;
    records[count + 2] = Math.max(0, squares / weight - mean * mean);
    count += 3;
  }
  const ages = take(arena, count);
  for (let i = 0; i < count; i++) ages[i] = records[i];
  return ages;
}

let middles = new Float64Array(128);
let later = new Float64Array(3 * 128);

/** The longest life as a part of the time up to which the blocks that are left are as good as draws. */
export const SELDOM = 0.25;

/**
 * The activity from now on of a slot that has been refilled for `time` iterations, with all ages up to that alike, if its
 * block is not replaced. What is older than the run cannot be there yet: with heavy tails that matters for long.
 * Valid until the next call.
 * @param slots of the device
 */
export function agedProfile(law: BlockLaw, time: number, slots: number): ActivityProfile {
  const { edges, population } = law;
  const cells = edges.length - 1;
  // Beyond the longest life nothing changes any more.
  let profile: ActivityProfile;
  if (time >= edges[cells]) {
    profile = law.stationary ??= writeAged(allocateProfile(law.arena, cells, law.fresh.spread), law, edges[cells]);
  } else {
    resizeProfile(aged, law.fresh);
    profile = writeAged(aged, law, time);
  }
  if (population !== null && law.longest > SELDOM * time) {
    if (nowhere.length < cells) nowhere = new Float64Array(2 * cells);
    profile.nowhere = nowhere;
    profile.slots = slots;
    nowhereInto(nowhere, population, profile, (iterations) => Math.min(1, iterations / time));
  } else profile.nowhere = null;
  return profile;
}

let nowhere = new Float64Array(128);

const aged = { ...NO_PROFILE };

function writeAged(profile: ActivityProfile, law: BlockLaw, age: number): ActivityProfile {
  const { edges, groupsPerBlock: W } = law;
  const { cells, data } = profile;
  if (middles.length <= cells) {
    middles = new Float64Array(2 * cells);
    later = new Float64Array(6 * cells);
  }
  // In the middles of the cells, after a first time that is 0 itself.
  for (let c = 1; c <= cells; c++) middles[c] = 0.5 * (edges[c - 1] + edges[c]);
  if (integrals.length < 3 * cells + 3) integrals = new Float64Array(6 * cells + 6);
  const now = integrals;
  integralsInto(now, law, 0, middles, cells + 1);
  integralsInto(later, law, age, middles, cells + 1);
  const scale = 1 / later[0];
  for (let c = 0, at = 0, i = 3; c < cells; c++, at += CELL_FIELDS, i += 3) {
    data[at + WIDTH] = edges[c + 1] - edges[c];
    data[at + BLOCK] = (later[i] - now[i]) * scale;
    data[at + GROUP] = (later[i + 1] - now[i + 1]) * scale;
    data[at + PAIR] = (later[i + 2] - now[i + 2]) * scale;
  }
  completeCells(profile, W);
  return profile;
}
