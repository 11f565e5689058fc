import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  parquetMetadataAsync,
  parquetSchema,
  type ColumnMetaData,
  type Compressors,
  type DecodedArray,
  type SchemaTree,
} from 'hyparquet';
import { parquetHeader, readColumn } from 'hyparquet/src/column.js';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { readVarInt } from 'hyparquet/src/thrift.js';
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
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
};

const CODECS: readonly string[] = ['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)];

export interface ParquetTable {
  readonly names: readonly string[];
  readonly rows: number;
  /**
   * The values of these columns, row group by row group: for each column, arrays that follow one another. Rows count
   * from 0.
   */
  groups(
    columns: readonly string[],
  ): AsyncGenerator<{ readonly firstRow: number; readonly columns: readonly (readonly DecodedArray[])[] }>;
}

/** Opens a Parquet file: its columns without those that hold others. Memory is bounded by the largest row group. */
export async function openParquet(file: FileBytes, label: string): Promise<ParquetTable> {
  const read = <T>(reading: () => Promise<T>): Promise<T> => ofLibrary(label, 'Parquet', reading);
  const { metadata, schema } = await read(async () => {
    const found = await parquetMetadataAsync(file);
    return { metadata: found, schema: parquetSchema(found) };
  });
  const leaves = new Map(
    schema.children
      .filter(({ children, element }) => children.length === 0 && element.repetition_type !== 'REPEATED')
      .map((leaf) => [String(leaf.element.name), leaf]),
  );
  const sizes = metadata.row_groups.map(({ num_rows }) => Number(num_rows));
  const large = sizes.find((size) => !(size >= 0 && size <= MAX_GROUP_ROWS));
  if (large !== undefined)
    refuse(label, {}, `a row group has ${large} rows; the limit is ${MAX_GROUP_ROWS}. Write smaller row groups`);
  return {
    names: [...leaves.keys()],
    rows: sizes.reduce((sum, size) => sum + size, 0),
    async *groups(names) {
      let firstRow = 0;
      for (const [group, size] of sizes.entries()) {
        const columns: (readonly DecodedArray[])[] = [];
        for (const name of size === 0 ? [] : names) {
          const chunk = metadata.row_groups[group].columns.find(
            ({ meta_data }) => meta_data?.path_in_schema[0] === name,
          );
          const codec = chunk?.meta_data?.codec;
          if (codec !== undefined && !CODECS.includes(codec))
            refuse(
              label,
              {},
              `the column ${shown(name)} is compressed by ${shown(codec)}. Write it by one of ${CODECS.join(', ')}`,
            );
          const parts = await read(() => decoded(file, [schema, leaves.get(name)!], chunk?.meta_data, size));
          columns.push(parts);
          const values = parts.reduce((sum, part) => sum + part.length, 0);
          if (values === size) continue;
          const found = `the column ${shown(name)} has ${values} values in a row group of ${size} rows`;
          refuse(label, { row: firstRow + 1 }, found);
        }
        yield { firstRow, columns };
        firstRow += size;
      }
    },
  };
}

/** The values of a column of one row group. Throws an error of any kind on a damaged file. */
async function decoded(
  file: FileBytes,
  schemaPath: SchemaTree[],
  column: ColumnMetaData | undefined,
  rows: number,
): Promise<readonly DecodedArray[]> {
  if (!column) throw new Error('a column is missing');
  const start = Number(column.dictionary_page_offset || column.data_page_offset);
  const bytes = await file.slice(start, start + Number(column.total_compressed_size));
  const decoder = {
    ...column,
    pathInSchema: column.path_in_schema,
    element: schemaPath[1].element,
    schemaPath,
    compressors: COMPRESSORS,
    parsers: DEFAULT_PARSERS,
  };
  const view = new DataView(bytes);
  checkPages(view, column, schemaPath[1].element.repetition_type !== 'REQUIRED', rows);
  const group = { groupStart: 0, groupRows: rows, selectStart: 0, selectEnd: rows };
  return readColumn({ view, offset: 0 }, group, decoder).data;
}

/**
 * Throws on pages that claim more than they can have: the library allocates and repeats as often as a page says, which
 * a few wrong bytes make two thousand million times.
 */
function checkPages(
  view: DataView<ArrayBuffer>,
  { codec, type }: ColumnMetaData,
  optional: boolean,
  rows: number,
): void {
  const reader = { view, offset: 0 };
  let values = 0;
  // As the library reads: a last byte alone is no page.
  while (reader.offset < view.byteLength - 1 && values < rows) {
    const header = parquetHeader(reader);
    const { compressed_page_size: packed, uncompressed_page_size: size } = header;
    const packedBytes = new Uint8Array(view.buffer, reader.offset, packed);
    reader.offset += packed;
    const v1 = header.data_page_header;
    const v2 = header.data_page_header_v2;
    const count = (header.dictionary_page_header ?? v1 ?? v2)?.num_values ?? -1;
    if (!(packed > 0 && size >= 0 && size <= MAX_PAGE_BYTES && count >= 0 && count <= rows))
      throw new Error(`a page of ${count} values and ${size} bytes`);
    if (header.type === 'DICTIONARY_PAGE') continue;
    values += count;
    const levels = v2 ? v2.definition_levels_byte_length + v2.repetition_levels_byte_length : 0;
    const isPacked = v2?.is_compressed !== false;
    const body = packedBytes.subarray(levels);
    const page = isPacked ? decompressPage(body, size - levels, codec, COMPRESSORS) : body;
    let at = 0;
    if (optional && v2) checkRuns(packedBytes.subarray(v2.repetition_levels_byte_length, levels), 1, count);
    if (optional && !v2) {
      at = 4 + new DataView(page.buffer, page.byteOffset, page.byteLength).getUint32(0, true);
      checkRuns(page.subarray(4, at), 1, count);
    }
    const { encoding } = (v1 ?? v2)!;
    if (type === 'BOOLEAN' && encoding === 'RLE') checkRuns(page.subarray(at + 4), 1, count);
    else if (encoding.endsWith('_DICTIONARY')) checkRuns(page.subarray(at + 1), page[at], count);
  }
}

/** Throws on a run of more values than there are, in run lengths and packed bits. */
function checkRuns(bytes: Uint8Array, bits: number, count: number): void {
  if (!(bits <= 32)) throw new Error(`values of ${bits} bits`);
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  let seen = 0;
  while (seen < count && reader.offset < bytes.length) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    const run = isPacked ? (header >>> 1) * 8 : header >>> 1;
    const runBytes = isPacked ? (run * bits) / 8 : Math.ceil(bits / 8);
    // Packed bits are in groups of eight. Writers pad the last run to a multiple, DuckDB to 256 values, all inside the
    // page.
    const isPadding = isPacked && reader.offset + runBytes <= bytes.length;
    if (run === 0 || (run > count - seen + 7 && !isPadding))
      throw new Error(`a run of ${run} values where ${count - seen} are left`);
    reader.offset += runBytes;
    seen += run;
  }
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
