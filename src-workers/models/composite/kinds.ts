import type { Arena } from './arena.ts';
import { tabulated } from './block-law.ts';
import { doubling, kindTables, rowSurvival, type DepthTable, type KindTable } from './depth-table.ts';
import type { BlockLaw } from './law.ts';
import type { Population } from './population.ts';

/** Blocks of a kind that are as good as draws from a law, and how much longer than all others few have to be to tell. */
const MANY_BLOCKS = 24;
const LONGER = 1.25;

/** Whether a launch of so many blocks has few of some kind, of which each is known to be there and decides when it ends. */
export function hasFewBlocks(table: DepthTable, gridBlocks: number): boolean {
  const { source, fewBelow } = table;
  if (gridBlocks >= fewBelow || !source.kinds?.some(({ share }) => share * gridBlocks < MANY_BLOCKS)) return false;
  if (fewBelow === Infinity) table.fewBelow = fewBelowOf(kindTables(table));
  return gridBlocks < table.fewBelow;
}

function fewBelowOf(kinds: readonly KindTable[]): number {
  if (kinds.length < 2) return 0;
  const means = kinds.map(({ table }) => {
    const { edges } = table;
    const survival = doubling(table, 0);
    let mean = edges[0];
    for (let i = 0; i < survival.length; i++) mean += (edges[i + 1] - edges[i]) * survival[i];
    return mean;
  });
  let below = 0;
  kinds.forEach(({ share }, k) => {
    // Of rarer kinds there are few as well.
    const longestOther = Math.max(0, ...means.filter((_, other) => kinds[other].share > share));
    if (means[k] > LONGER * longestOther) below = Math.max(below, MANY_BLOCKS / share);
  });
  return below;
}

/**
 * The law of the blocks of one launch that has few of some kind: exactly as many as there are, and those in which kinds meet.
 * @param arena where the law lives; it is void once that is cleared
 * @param lastFilled as of `blockLawOf`
 */
export function fewBlocksLaw(
  table: DepthTable,
  groupsPerBlock: number,
  arena: Arena,
  lastFilled: number,
  gridBlocks: number,
): BlockLaw {
  const W = groupsPerBlock;
  const tables = kindTables(table);
  const rows = table.edges.length - 1;
  const kinds = kindsOf(tables, 0, 1, gridBlocks, W - 1 + lastFilled);
  const block = new Float64Array(rows);
  const group = new Float64Array(rows);
  const either = new Float64Array(rows);
  const one = new Float64Array(rows);
  const two = new Float64Array(rows);
  for (const pieces of kinds) {
    groupsOf(pieces);
    const share = pieces.blocks / gridBlocks;
    for (let i = 0; i < rows; i++) {
      const own = one[i];
      const last = 1 - (1 - own) ** lastFilled;
      const mean = own + (last - own) / W;
      // Two in W of the pairs are with the last group.
      const pair = ((W - 2) * two[i] + 2 * own * last) / W;
      block[i] -= share * Math.expm1(pieces.logEnded[i]);
      group[i] += share * mean;
      either[i] += share * (2 * mean - (lastFilled < 1 ? pair : two[i]));
    }
  }
  const population = populationOf(table, kinds, gridBlocks);
  return tabulated(table.edges, block, group, either, W, lastFilled, table.lattice, arena, population);

  /** Writes P(active) of a group of such a block, and of two. */
  function groupsOf({ first, kind, logEnded }: BlockKind): void {
    if (kind !== null) {
      const alone = doubling(kind.table, 0);
      const any = doubling(kind.table, 1);
      for (let i = 0; i < rows; i++) {
        one[i] = alone[i];
        two[i] = Math.max(0, 2 * alone[i] - any[i]);
      }
      return;
    }
    if (W === 1) {
      for (let i = 0; i < rows; i++) one[i] = -Math.expm1(logEnded[i]);
      return;
    }
    one.fill(0);
    two.fill(0);
    for (const part of kindsOf(tables, first / gridBlocks, (first + 1) / gridBlocks, W, 1)) {
      for (let i = 0; i < rows; i++) {
        const active = -Math.expm1(part.logEnded[i]);
        one[i] += part.blocks * active;
        two[i] -= part.blocks * active * active;
      }
    }
    for (let i = 0; i < rows; i++) {
      two[i] = Math.max(0, (two[i] + one[i] * one[i]) / (W * (W - 1)));
      one[i] /= W;
    }
  }
}

/** Least probability of a life that is told from that of none. */
const LEAST_MASS = 1e-12;

function populationOf({ edges }: DepthTable, kinds: readonly BlockKind[], gridBlocks: number): Population {
  const rows = edges.length - 1;
  const listed = kinds.map(({ blocks, logEnded }) => {
    const lives: number[] = [];
    const masses: number[] = [];
    for (let i = rows; i >= 0; i--) {
      const active = i === rows ? 0 : -Math.expm1(logEnded[i]);
      const mass = (i === 0 ? 1 : -Math.expm1(logEnded[i - 1])) - active;
      if (mass <= LEAST_MASS) continue;
      lives.push(edges[i]);
      masses.push(mass);
    }
    return { blocks, lives, masses };
  });
  listed.sort((a, b) => b.lives[0] - a.lives[0]);
  const from = new Int32Array(listed.length + 1);
  listed.forEach(({ lives }, kind) => (from[kind + 1] = from[kind] + lives.length));
  return {
    blocks: gridBlocks,
    counts: Float64Array.from(listed, ({ blocks }) => blocks),
    from,
    lives: Float64Array.from(listed.flatMap(({ lives }) => lives)),
    masses: Float64Array.from(listed.flatMap(({ masses }) => masses)),
  };
}

/** Pieces of a launch, blocks or groups, that are alike. */
interface BlockKind {
  /** The first of them in their stretch. */
  readonly first: number;
  readonly blocks: number;
  /** Of its groups; `null` where several meet in it. */
  readonly kind: KindTable | null;
  /** ln P(ended) of a piece in every row of the table. */
  readonly logEnded: Float64Array;
}

/** Least logarithm that is told from that of nothing. */
const LEAST_LOG = -700;

/**
 * The kinds of `pieces` equal consecutive pieces of the stretch from one fraction of a launch to another, each of so many groups:
 * whole pieces of one kind of group together, and pieces that several kinds meet in by themselves.
 */
function kindsOf(
  kinds: readonly KindTable[],
  from: number,
  to: number,
  pieces: number,
  groupsPerPiece: number,
): readonly BlockKind[] {
  const rows = kinds[0].table.edges.length - 1;
  const found: BlockKind[] = [];
  const perPiece = (to - from) / pieces;
  let mixed: BlockKind | null = null;
  /** Pieces from the start of the stretch up to which all is told. */
  let told = 0;
  let start = 0;
  for (const kind of kinds) {
    const end = start + kind.share;
    const upTo = Math.min(pieces, (Math.min(end, to) - from) / perPiece);
    start = end;
    if (upTo <= told + ROUNDING) continue;
    // What is left of a piece that was begun.
    let at = told;
    const next = Math.min(upTo, mixed ? Math.ceil(told - ROUNDING) : told);
    if (mixed && next > at) {
      addPart(mixed.logEnded, kind, (next - at) * groupsPerPiece);
      at = next;
    }
    const whole = Math.floor(upTo + ROUNDING) - at;
    if (whole >= 1 - ROUNDING) {
      const logEnded = new Float64Array(rows);
      addWhole(logEnded, kind, groupsPerPiece);
      found.push({ first: at, blocks: Math.round(whole), kind, logEnded });
      at += Math.round(whole);
      mixed = null;
    }
    if (upTo > at + ROUNDING) {
      mixed = { first: at, blocks: 1, kind: null, logEnded: new Float64Array(rows) };
      addPart(mixed.logEnded, kind, (upTo - at) * groupsPerPiece);
      found.push(mixed);
    }
    told = upTo;
  }
  return found;
}

/** Parts of a piece that are nothing but rounding. */
const ROUNDING = 1e-6;

let scratch = new Float64Array(64);

function addWhole(logEnded: Float64Array, { table }: KindTable, groups: number): void {
  const survival = rowSurvival(table, groups, scratchOf(logEnded.length));
  for (let i = 0; i < logEnded.length; i++) logEnded[i] = Math.max(LEAST_LOG, logOf(1 - survival[i]));
}

/** Units of one kind in a part of a piece: where buckets end varies with the lengths drawn, so their number is Poisson's. */
function addPart(logEnded: Float64Array, { table, unitsPerGroup }: KindTable, groups: number): void {
  const units = groups * unitsPerGroup;
  const survival = doubling(table, 0);
  for (let i = 0; i < logEnded.length; i++) {
    logEnded[i] = Math.max(LEAST_LOG, logEnded[i] + units * Math.expm1(logOf(1 - survival[i]) / unitsPerGroup));
  }
}

function scratchOf(length: number): Float64Array {
  if (scratch.length < length) scratch = new Float64Array(2 * length);
  return scratch;
}

const logOf = (probability: number): number => (probability > 0 ? Math.log(probability) : LEAST_LOG);
