import { ok, type Result } from '../domain/result.ts';
import { parseMatrixMarket } from './matrix-market.ts';
import type { ByteSource } from './source.ts';

/** Row r has entries rowStarts[r] … rowStarts[r + 1] − 1, in ascending order of columns. */
export interface CsrMatrix {
  readonly rows: number;
  readonly columnCount: number;
  readonly rowStarts: Uint32Array;
  readonly columns: Uint32Array;
  readonly values: Float64Array;
}

export async function readCsr(source: ByteSource, label: string): Promise<Result<CsrMatrix>> {
  const [rowOf, columnOf, valueOf]: number[][] = [[], [], []];
  const read = await parseMatrixMarket(source, label, (row, column, value) => {
    rowOf.push(row);
    columnOf.push(column);
    valueOf.push(value);
  });
  if (!read.ok) return read;
  const { rows, columns: columnCount } = read.value;
  const byColumn = sortBy(
    Uint32Array.from(rowOf, (_, entry) => entry),
    columnOf,
    columnCount,
  );
  const { order, starts } = sortBy(byColumn.order, rowOf, rows);
  return ok({
    rows,
    columnCount,
    rowStarts: starts,
    columns: Uint32Array.from(order, (entry) => columnOf[entry]),
    values: Float64Array.from(order, (entry) => valueOf[entry]),
  });
}

/** Sorts entries by a key below `keys` (a stable counting sort), and finds where each key starts. */
function sortBy(
  entries: Uint32Array,
  keyOf: readonly number[],
  keys: number,
): { readonly order: Uint32Array; readonly starts: Uint32Array } {
  const starts = new Uint32Array(keys + 1);
  for (const entry of entries) starts[keyOf[entry] + 1]++;
  for (let key = 0; key < keys; key++) starts[key + 1] += starts[key];
  const next = starts.slice();
  const order = new Uint32Array(entries.length);
  for (const entry of entries) order[next[keyOf[entry]]++] = entry;
  return { order, starts };
}
