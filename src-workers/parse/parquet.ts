import { isDeepStrictEqual } from 'node:util';
import {
  parquetMetadataAsync,
  parquetSchema,
  type ColumnMetaData,
  type DecodedArray,
  type SchemaTree,
} from 'hyparquet';
import { readColumn } from 'hyparquet/src/column.js';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import type { ColumnTable } from './columns.ts';
import { checkPages, COMPRESSORS, listSizes } from './parquet-pages.ts';
import { ofLibrary, refuse, shown, type FileBytes } from './source.ts';

/** A row group is decoded as a whole and takes about 30 bytes per row. */
const MAX_GROUP_ROWS = 2 ** 25;

export const isParquet = (head: Uint8Array): boolean => String.fromCharCode(...head.subarray(0, 4)) === 'PAR1';

const CODECS: readonly string[] = ['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)];

/** Whether each row holds several values: as a list or a map, or as a repeated value (an older form of a list). */
const isList = ({ element, children }: SchemaTree): boolean =>
  element.repetition_type === 'REPEATED' ||
  (children.length === 1 && children[0].element.repetition_type === 'REPEATED');

const firstPath = (column: SchemaTree): SchemaTree[] =>
  column.children.length === 0 ? [column] : [column, ...firstPath(column.children[0])];

/** Columns of structures are skipped. Memory grows with the largest row group. */
export async function openParquet(file: FileBytes, label: string): Promise<ColumnTable> {
  const read = <T>(reading: () => Promise<T>): Promise<T> => ofLibrary(label, 'Parquet', reading);
  const { metadata, schema } = await read(async () => {
    const found = await parquetMetadataAsync(file);
    return { metadata: found, schema: parquetSchema(found) };
  });
  const known = schema.children.filter((column) => column.children.length === 0 || isList(column));
  const paths = new Map(known.map((column) => [String(column.element.name), [schema, ...firstPath(column)]]));
  const sizes = metadata.row_groups.map(({ num_rows }) => Number(num_rows));
  const large = sizes.find((size) => !(size >= 0 && size <= MAX_GROUP_ROWS));
  if (large !== undefined)
    refuse(label, {}, `a row group has ${large} rows; the limit is ${MAX_GROUP_ROWS}. Write smaller row groups`);
  return {
    names: [...paths.keys()],
    lists: new Set(known.filter(isList).map(({ element }) => String(element.name))),
    rows: sizes.reduce((sum, size) => sum + size, 0),
    async *groups(names) {
      let firstRow = 0;
      for (const [group, size] of sizes.entries()) {
        const columns: (readonly DecodedArray[])[] = [];
        for (const name of size === 0 ? [] : names) {
          const path = paths.get(name)!;
          const chunk = metadata.row_groups[group].columns.find(({ meta_data }) =>
            isDeepStrictEqual(meta_data?.path_in_schema, path.at(-1)!.path),
          );
          const codec = chunk?.meta_data?.codec;
          if (codec !== undefined && !CODECS.includes(codec))
            refuse(
              label,
              {},
              `the column ${shown(name)} is compressed by ${shown(codec)}. Write it by one of ${CODECS.join(', ')}`,
            );
          const parts = await read(() => decoded(file, path, chunk?.meta_data, size));
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

/** Throws an error of any kind if the file is damaged. */
async function decoded(
  file: FileBytes,
  path: SchemaTree[],
  column: ColumnMetaData | undefined,
  rows: number,
): Promise<readonly DecodedArray[]> {
  if (!column) throw new Error('a column is missing');
  const start = Number(column.dictionary_page_offset || column.data_page_offset);
  const bytes = await file.slice(start, start + Number(column.total_compressed_size));
  const chunk = { view: new DataView(bytes), column, path };
  if (isList(path[1])) return [[...listSizes(chunk)]];
  checkPages(chunk, rows);
  const decoder = {
    ...column,
    pathInSchema: column.path_in_schema,
    element: path[1].element,
    schemaPath: path,
    compressors: COMPRESSORS,
    parsers: DEFAULT_PARSERS,
  };
  const group = { groupStart: 0, groupRows: rows, selectStart: 0, selectEnd: rows };
  const { data } = readColumn({ view: chunk.view, offset: 0 }, group, decoder);
  if (column.type !== 'BOOLEAN') return data;
  return data.map((part) => Array.from(part, (value: unknown) => (typeof value === 'boolean' ? Number(value) : value)));
}
