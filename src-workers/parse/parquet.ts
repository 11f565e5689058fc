import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type Compressors,
  type DecodedArray,
  type FileMetaData,
} from 'hyparquet';
import type { Result } from '../domain/result.ts';
import { chosenColumns, columnsOf, type CsvColumns } from './csv.ts';
import { takeLengths, type ReadLengths } from './length-taker.ts';
import { ofLibrary, refuse, shown, type FileBytes } from './source.ts';

/** A row group is decoded at once, about 30 bytes per row. */
const MAX_GROUP_ROWS = 2 ** 25;
const MAX_PAGE_BYTES = 2 ** 28;

export const isParquet = (head: Uint8Array): boolean => String.fromCharCode(...head.subarray(0, 4)) === 'PAR1';

/** Snappy is the library's own. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: pageBytes(length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: pageBytes(length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: pageBytes(length) }),
};
const pageBytes = (length: number): number => Math.max(1, Math.min(length, MAX_PAGE_BYTES));

export interface ParquetTable {
  readonly names: readonly string[];
  readonly rows: number;
  /** The values of these columns, row group by row group: of each column arrays that follow one another. Rows count from 0. */
  groups(
    columns: readonly string[],
  ): AsyncGenerator<{ readonly firstRow: number; readonly columns: readonly (readonly DecodedArray[])[] }>;
}

/** Opens a Parquet file: its columns without those that hold others. Memory is bounded by the largest row group. */
export async function openParquet(file: FileBytes, label: string): Promise<ParquetTable> {
  const read = <T>(reading: () => Promise<T>): Promise<T> => ofLibrary(label, 'Parquet', reading);
  const metadata: FileMetaData = await read(() => parquetMetadataAsync(file));
  const names = await read(async () =>
    parquetSchema(metadata)
      .children.filter(({ children }) => children.length === 0)
      .map(({ element }) => element.name),
  );
  if (!names.every((name) => typeof name === 'string'))
    refuse(label, {}, 'the Parquet file is damaged: a column has no name');
  const sizes = metadata.row_groups.map(({ num_rows }) => Number(num_rows));
  const large = sizes.find((size) => !(size >= 0 && size <= MAX_GROUP_ROWS));
  if (large !== undefined)
    refuse(
      label,
      {},
      `a row group has ${large} rows; the limit is ${MAX_GROUP_ROWS}. Write the file with smaller row groups`,
    );
  return {
    names,
    rows: sizes.reduce((sum, size) => sum + size, 0),
    async *groups(columns) {
      let firstRow = 0;
      for (const size of sizes) {
        const chunks = new Map(columns.map((name) => [name, [] as DecodedArray[]]));
        const range = { rowStart: firstRow, rowEnd: firstRow + size };
        if (size > 0)
          await read(() =>
            parquetRead({
              file, metadata, columns: [...chunks.keys()], ...range, compressors: COMPRESSORS,
              onChunk: ({ columnName, columnData }) => void chunks.get(columnName)?.push(columnData),
            }),
          ); // prettier-ignore
        for (const [name, parts] of chunks) {
          const got = parts.reduce((sum, part) => sum + part.length, 0);
          if (got !== size)
            refuse(
              label,
              { row: firstRow + 1 },
              `the column ${shown(name)} has ${got} values in a row group of ${size} rows`,
            );
        }
        yield { firstRow, columns: columns.map((name) => chunks.get(name)!) };
        firstRow += size;
      }
    },
  };
}

/** Reads lengths from a column of a Parquet file, chosen as of a CSV file with a header. Fails with row and column. */
export async function readParquet(file: FileBytes, label: string, chosen?: CsvColumns): Promise<Result<ReadLengths>> {
  const table = await openParquet(file, label);
  const { names } = table;
  if (names.length === 0) refuse(label, {}, 'the Parquet file has no columns of plain values');
  const { form, length, weight } = chosen
    ? chosenColumns(names, chosen, true, label, 1)
    : columnsOf(names, label, 1, true);
  const wanted = weight < 0 ? [names[length]] : [names[length], names[weight]];
  const place = (row: number, isWeight: boolean) => ({ row, column: shown(wanted[isWeight ? 1 : 0]) });
  const taken = takeLengths(form, label, place);
  const number = (value: unknown, row: number, isWeight: boolean): number => {
    if (typeof value === 'number') return value;
    // Beyond 2^53 it is inexact, and refused as a length.
    if (typeof value === 'bigint') return Number(value);
    return refuse(label, place(row, isWeight), `${shown(String(value))} is not a number`);
  };
  for await (const { firstRow, columns } of table.groups(wanted)) {
    const weights = valuesOf(columns[1] ?? []);
    let row = firstRow;
    for (const part of columns[0])
      for (const value of part) {
        row++;
        taken.take(number(value, row, false), weight < 0 ? 1 : number(weights.next().value, row, true), row);
      }
  }
  return taken.finish({});
}

function* valuesOf(parts: readonly DecodedArray[]): Generator<unknown> {
  for (const part of parts) yield* part;
}
