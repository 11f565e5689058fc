import { ok, type Result } from '../domain/result.ts';
import { chosenColumns, findColumns, type CsvColumns } from './csv.ts';
import { takeLengths, type ReadLengths } from './length-taker.ts';
import { refuse, shown } from './source.ts';

/** One value for each row: a number, a missing value, or any other value, which is rejected. */
export type ColumnValues = ArrayLike<unknown> & Iterable<unknown>;

export interface ColumnTable {
  readonly names: readonly string[];
  /** Columns whose rows are lists. Their values are the sizes of the lists. */
  readonly lists: ReadonlySet<string>;
  readonly rows: number;
  /** Returns one group of rows after another, in one or more arrays per column. Rows count from 0. */
  groups(
    columns: readonly string[],
  ): AsyncGenerator<{ readonly firstRow: number; readonly columns: readonly (readonly ColumnValues[])[] }>;
}

/** The columns are chosen as in a CSV file with a header. Errors name row and column. */
export async function readColumns(
  table: ColumnTable,
  label: string,
  chosen?: CsvColumns,
): Promise<Result<ReadLengths>> {
  const { names } = table;
  if (names.length === 0) refuse(label, {}, 'the file has no columns of plain values or of lists');
  const { form, length, weight, counts } = chosen
    ? chosenColumns(names, chosen, true, label, 1)
    : findColumns(names, label, 1, true);
  const wanted = weight < 0 ? [names[length]] : [names[length], names[weight]];
  const place = (row: number, isWeight: boolean) => ({ row, column: shown(wanted[isWeight ? 1 : 0]) });
  const taken = takeLengths(form, label, place, { counts });
  const number = (value: unknown, row: number, isWeight: boolean): number => {
    if (typeof value === 'number') return value;
    // A value beyond 2^53 becomes inexact, and is then rejected as a length.
    if (typeof value === 'bigint') return Number(value);
    if (value === null || value === undefined)
      refuse(label, place(row, isWeight), 'the value is missing (null). Fill it in, or leave out the row');
    return refuse(label, place(row, isWeight), `${shown(String(value))} is not a number`);
  };
  for await (const { firstRow, columns } of table.groups(wanted)) {
    const weights = listValues(columns[1] ?? []);
    let row = firstRow;
    for (const part of columns[0])
      for (const value of part) {
        row++;
        taken.take(number(value, row, false), weight < 0 ? 1 : number(weights.next().value, row, true), row);
      }
  }
  const read = taken.finish({});
  if (!read.ok || form === 'edges' || !table.lists.has(wanted[0])) return read;
  const note = `The lengths are the sizes of the lists in the column ${shown(wanted[0])}.`;
  return ok({ ...read.value, note: [note, read.value.note].filter(Boolean).join(' ') });
}

function* listValues(parts: readonly ColumnValues[]): Generator<unknown> {
  for (const part of parts) yield* part;
}
