import type { GroupDepth, StepLaw } from '../../domain/depth.ts';
import { HIGHEST_LOG, notAll } from '../../numeric/exponential.ts';
import { keptWith } from '../../numeric/kept.ts';

/** Maximum number of steps of a depth law in a table. A law with more steps is reduced. */
const DEPTH_ROWS = 48;
/** The steps of a reduced depth law are chosen for a single group and for a block of this many groups. */
const LARGE_BLOCK = 32;
/** A tail with this probability no longer matters, even for the longest of a million depths. */
const NEGLIGIBLE_DEPTH = 1e-10;
/** The lowest ln(−ln P(ended)) in a table. Chosen: below it, almost surely no group of a block is active. */
const LOWEST_LOG = -60;

/**
 * Depth laws of blocks of any size, in a microsecond each. Survival is 1 before `edges[0]` and 0 after the last edge.
 */
export interface DepthTable {
  readonly edges: Float64Array;
  /** Entry j: P(longest of 2ʲ groups > v), as means over each step. Entries beyond `LARGE_BLOCK` are made on demand. */
  readonly doublings: Float64Array[];
  /** ln(−ln(1 − P)) of each P in `doublings`, computed on demand. */
  readonly logs: (Float64Array | undefined)[];
  readonly valueAt: Int32Array;
  readonly lattice: boolean;
  readonly source: StepLaw;
}

/** Laws that differ in their setup share a table, because a setup only moves its edges. */
export const getDepthTable = keptWith((depth: GroupDepth): DepthTable => {
  const { withoutSetup } = depth;
  if (!withoutSetup) return getPlainTable(depth);
  const plain = getPlainTable(withoutSetup.law);
  const edges = plain.edges.map((edge) => edge + withoutSetup.setupDepth);
  return { ...plain, edges, lattice: isLattice(edges) };
});

const getPlainTable = keptWith(makeTable);

export const isLattice = (edges: Float64Array): boolean => edges.every((edge) => Number.isInteger(edge));

const survivals: Float64Array[] = [];

function makeTable(source: StepLaw): DepthTable {
  const { values } = source;
  const n = values.length;
  for (let j = 0; 2 ** j <= LARGE_BLOCK; j++) {
    if (survivals[j]?.length !== n) survivals[j] = new Float64Array(n);
    source.survivalInto(survivals[j], 2 ** j);
  }
  const valueAt = n - 1 > DEPTH_ROWS ? pickValues(values) : Int32Array.from(values, (_, i) => i);
  const edges = Float64Array.from(valueAt, (at) => values[at]);
  const doublings = survivals.map((survival) => computeRowMeans(values, valueAt, survival));
  return { edges, doublings, logs: [], valueAt, lattice: isLattice(edges), source };
}

/** Picks values at equal steps of a sum: P(ended) of one and of many groups, ln P(active), and half the position. */
function pickValues(values: Float64Array): Int32Array {
  const n = values.length;
  const one = survivals[0];
  const many = survivals[survivals.length - 1];
  const perTail = 1 / Math.log(NEGLIGIBLE_DEPTH);
  const first = values[0];
  const perRange = 0.5 / (values[n - 1] - first);
  const monitor = (i: number): number =>
    2 -
    one[i] -
    many[i] +
    (many[i] < 1 ? Math.log(Math.max(many[i], NEGLIGIBLE_DEPTH)) * perTail : 0) +
    perRange * (values[i] - first);
  const start = monitor(0);
  const step = (monitor(n - 1) - start) / (DEPTH_ROWS - 1);
  const picked = new Int32Array(DEPTH_ROWS + 1);
  let count = 1;
  let next = start + step;
  for (let i = 1; i < n - 1; i++) {
    const here = monitor(i);
    if (here < next) continue;
    picked[count++] = i;
    next = here + step;
  }
  picked[count++] = n - 1;
  return picked.slice(0, count);
}

function computeRowMeans(values: Float64Array, valueAt: Int32Array, survival: Float64Array): Float64Array {
  const rows = new Float64Array(valueAt.length - 1);
  for (let row = 0; row < rows.length; row++) {
    const from = valueAt[row];
    const to = valueAt[row + 1];
    let sum = 0;
    for (let i = from; i < to; i++) sum += (values[i + 1] - values[i]) * survival[i];
    rows[row] = Math.min(1, Math.max(0, sum / (values[to] - values[from])));
  }
  return rows;
}

export function getDoubling(table: DepthTable, j: number): Float64Array {
  return (table.doublings[j] ??= computeDoubling(table, j));
}

function computeDoubling({ source, valueAt }: DepthTable, j: number): Float64Array {
  const survival = new Float64Array(source.values.length);
  source.survivalInto(survival, 2 ** j);
  return computeRowMeans(source.values, valueAt, survival);
}

function getLogs(table: DepthTable, j: number): Float64Array {
  return (table.logs[j] ??= getDoubling(table, j).map((p) =>
    p <= 0 ? LOWEST_LOG : p >= 1 ? HIGHEST_LOG : Math.min(HIGHEST_LOG, Math.log(-Math.log1p(-p))),
  ));
}

/**
 * Returns P(longest of `groups` consecutive groups > v) in every step, exact for powers of two. For other numbers of
 * groups, the logarithm of −ln P(all ended) is interpolated, which is exact if groups are independent.
 * @param groups ≥ 1; a fraction if the last group is partly empty
 * @param scratch receives the result unless the table already has it
 */
export function computeRowSurvival(table: DepthTable, groups: number, scratch: Float64Array): Float64Array {
  const below = 31 - Math.clz32(groups);
  if (groups === 1 << below) return getDoubling(table, below);
  const low = getLogs(table, below);
  const high = getLogs(table, below + 1);
  const part = Math.log2(groups) - below;
  for (let i = 0; i < low.length; i++) scratch[i] = notAll(low[i] + part * (high[i] - low[i]));
  return scratch;
}

/** Probabilities in each step: that a block, a group, and at least one of two groups is active. */
export interface StepLaws {
  readonly steps: Float64Array;
  readonly block: Float64Array;
  readonly group: Float64Array;
  readonly either: Float64Array;
  readonly lattice: boolean;
  /** Described in `BlockLaw` (time/law.ts). */
  readonly isExact?: boolean;
}
