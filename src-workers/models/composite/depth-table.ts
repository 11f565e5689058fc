import type { GroupDepth } from '../../domain/depth.ts';

/**
 * A depth law on few enough steps that every block size can be tabulated in microseconds.
 * Row i covers virtual times `edges[i]` to `edges[i+1]`; survival is 1 before `edges[0]` and 0 after the last edge.
 */
export interface DepthTable {
  readonly edges: Float64Array;
  /** Rows of P(longest of 2ʲ consecutive groups > v), each the mean over its row's times; filled on demand. */
  readonly doublings: (Float64Array | undefined)[];
  /** Index into the depth's values of every edge. */
  readonly valueAt: Int32Array;
  /** Every edge is a whole number of iterations. */
  readonly lattice: boolean;
  readonly depth: GroupDepth;
}

/** A law of no more rows than this is kept as it is. */
const MOST_ROWS = 96;
/** Largest block whose law steers where the rows are fine. */
const LARGE_BLOCK = 32;
/** Tail beyond which a depth no longer matters, even as the longest of a million. */
const NEGLIGIBLE_TAIL = 1e-10;

const tables = new WeakMap<GroupDepth, DepthTable>();

/** The table of a depth law; made once. */
export function depthTable(depth: GroupDepth): DepthTable {
  let table = tables.get(depth);
  if (!table) tables.set(depth, (table = makeTable(depth)));
  return table;
}

function makeTable(depth: GroupDepth): DepthTable {
  const { values } = depth;
  const n = values.length;
  let valueAt = Int32Array.from(values, (_, i) => i);
  if (n - 1 > MOST_ROWS) {
    const one = new Float64Array(n);
    const many = new Float64Array(n);
    depth.survivalInto(one, 1);
    depth.survivalInto(many, LARGE_BLOCK);
    // Rows of equal change in the two laws, in the logarithm of the tail, and a little in the value itself.
    const tail = -Math.log(NEGLIGIBLE_TAIL);
    const range = values[n - 1] - values[0];
    const monitor = (i: number): number =>
      2 -
      one[i] -
      many[i] -
      Math.log(Math.max(many[i], NEGLIGIBLE_TAIL)) / tail +
      (0.5 * (values[i] - values[0])) / range;
    const first = monitor(0);
    const step = (monitor(n - 1) - first) / (MOST_ROWS - 1);
    const picked = [0];
    let next = first + step;
    for (let i = 1; i < n - 1; i++) {
      const here = monitor(i);
      if (here < next) continue;
      picked.push(i);
      next = here + step;
    }
    picked.push(n - 1);
    valueAt = Int32Array.from(picked);
  }
  const edges = Float64Array.from(valueAt, (i) => values[i]);
  return { edges, doublings: [], valueAt, lattice: edges.every((edge) => Number.isInteger(edge)), depth };
}

function doubling(table: DepthTable, j: number): Float64Array {
  let rows = table.doublings[j];
  if (rows) return rows;
  const { depth, valueAt } = table;
  const { values } = depth;
  const survival = new Float64Array(values.length);
  depth.survivalInto(survival, 2 ** j);
  rows = new Float64Array(valueAt.length - 1);
  for (let row = 0; row < rows.length; row++) {
    let sum = 0;
    for (let i = valueAt[row]; i < valueAt[row + 1]; i++) sum += (values[i + 1] - values[i]) * survival[i];
    rows[row] = Math.min(1, Math.max(0, sum / (values[valueAt[row + 1]] - values[valueAt[row]])));
  }
  table.doublings[j] = rows;
  return rows;
}

/**
 * Writes P(longest of `groups` consecutive groups > v) of every row to `out`. Exact for powers of two; in between the
 * logarithm of P(all ended) is interpolated, which is exact for independent groups.
 */
export function rowSurvivalInto(out: Float64Array, table: DepthTable, groups: number): void {
  const below = Math.floor(Math.log2(groups) + 1e-12);
  const low = doubling(table, below);
  if (groups === 2 ** below) {
    out.set(low);
    return;
  }
  const high = doubling(table, below + 1);
  const part = Math.log2(groups) - below;
  for (let i = 0; i < low.length; i++) {
    const a = low[i];
    const b = high[i];
    if (b <= 0 || a >= 1) out[i] = a;
    else if (a <= 0 || b >= 1) out[i] = a + (b - a) * part;
    else {
      const less = -Math.log1p(-a);
      const more = -Math.log1p(-b);
      out[i] = -Math.expm1(-less * Math.pow(more / less, part));
    }
  }
}
