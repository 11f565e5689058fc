import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { ColumnMetaData, Compressors, Encoding, SchemaTree } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { readVarInt } from 'hyparquet/src/thrift.js';
import { unpackLz4Block, unpackLz4Hadoop } from './lz4.ts';

const MAX_PAGE_BYTES = 2 ** 28;
/** A page of lists may have more values than rows. */
const MAX_PAGE_VALUES = 2 ** 25;

/** The library unpacks Snappy itself. */
export const COMPRESSORS: Compressors = {
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  LZ4_RAW: unpackLz4Block,
  LZ4: unpackLz4Hadoop,
};

export interface ColumnChunk {
  readonly view: DataView<ArrayBuffer>;
  readonly column: ColumnMetaData;
  readonly path: SchemaTree[];
}

interface DataPage {
  readonly count: number;
  readonly encoding: Encoding;
  /** Levels tell where a list begins, and whether a value is present. They are run-length encoded. */
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
  readonly values: Uint8Array;
}

const bitsOf = (largest: number): number => 32 - Math.clz32(largest);

/** Yields pages with checked levels. No page may claim too many values, since the library allocates memory for them. */
function* dataPages({ view, column: { codec }, path }: ColumnChunk, values: number, most: number): Generator<DataPage> {
  const isList = getMaxRepetitionLevel(path) > 0;
  const isOptional = getMaxDefinitionLevel(path) > 0;
  const reader = { view, offset: 0 };
  let seen = 0;
  // A single last byte is ignored, as in the library.
  while (reader.offset < view.byteLength - 1 && seen < values) {
    const header = parquetHeader(reader);
    const { compressed_page_size: packed, uncompressed_page_size: size } = header;
    const bytes = new Uint8Array(view.buffer, reader.offset, packed);
    reader.offset += packed;
    const v1 = header.data_page_header;
    const v2 = header.data_page_header_v2;
    const count = (header.dictionary_page_header ?? v1 ?? v2)?.num_values ?? -1;
    if (!(packed > 0 && size >= 0 && size <= MAX_PAGE_BYTES && count >= 0 && count <= most))
      throw new Error(`a page claims ${count} values in ${size} bytes`);
    if (header.type === 'DICTIONARY_PAGE') continue;
    seen += count;
    const ofLists = v2?.repetition_levels_byte_length ?? 0;
    const levels = ofLists + (v2?.definition_levels_byte_length ?? 0);
    const body = bytes.subarray(levels);
    const page = v2?.is_compressed === false ? body : decompressPage(body, size - levels, codec, COMPRESSORS);
    const { encoding } = (v1 ?? v2)!;
    let repetition: Uint8Array = bytes.subarray(0, ofLists);
    let definition: Uint8Array = bytes.subarray(ofLists, levels);
    let at = 0;
    if (!v2) {
      // Pages of version 1 compress levels and values together. Before each array of levels is its length.
      const next = (): Uint8Array => {
        const end = at + 4 + new DataView(page.buffer, page.byteOffset, page.byteLength).getUint32(at, true);
        const level = page.subarray(at + 4, end);
        at = end;
        return level;
      };
      if (isList) repetition = next();
      if (isOptional) definition = next();
    }
    if (isList) checkRuns(repetition, bitsOf(getMaxRepetitionLevel(path)), count);
    if (isOptional) checkRuns(definition, bitsOf(getMaxDefinitionLevel(path)), count);
    yield { count, encoding, repetition, definition, values: page.subarray(at) };
  }
}

/** Throws on pages of a column without lists that the library would read wrongly. */
export function checkPages(chunk: ColumnChunk, rows: number): void {
  for (const { count, encoding, values } of dataPages(chunk, rows, rows))
    if (chunk.column.type === 'BOOLEAN' && encoding === 'RLE') checkRuns(values.subarray(4), 1, count);
    else if (encoding.endsWith('_DICTIONARY')) checkRuns(values.subarray(1), values[0], count);
}

function checkRuns(bytes: Uint8Array, bits: number, count: number): void {
  if (!(bits <= 32)) throw new Error(`a page claims values of ${bits} bits`);
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
  let seen = 0;
  while (seen < count && reader.offset < bytes.length) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    const run = isPacked ? (header >>> 1) * 8 : header >>> 1;
    const runBytes = isPacked ? (run * bits) / 8 : Math.ceil(bits / 8);
    // Packed bits come in groups of eight, so writers pad the last run within the page; DuckDB pads it to 256 values.
    const isPadding = isPacked && reader.offset + runBytes <= bytes.length;
    if (run === 0 || (run > count - seen + 7 && !isPadding))
      throw new Error(`a run of ${run} values, although ${count - seen} are left`);
    reader.offset += runBytes;
    seen += run;
  }
}

function readLevels(bytes: Uint8Array, largest: number, count: number): Uint8Array {
  const levels = new Uint8Array(count);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (largest > 0) readRleBitPackedHybrid({ view, offset: 0 }, bitsOf(largest), levels, bytes.length);
  return levels;
}

/**
 * Returns the size of each list of a column; `null` for a missing list. An element of the outer list begins wherever
 * the repetition level is at most 1, and its definition level tells whether it is present.
 */
export function listSizes(chunk: ColumnChunk): readonly (number | null)[] {
  const { column, path } = chunk;
  const repeated = path.findIndex(({ element }) => element.repetition_type === 'REPEATED');
  const there = getMaxDefinitionLevel(path.slice(0, repeated + 1));
  const sizes: (number | null)[] = [];
  for (const { count, repetition, definition } of dataPages(chunk, Number(column.num_values), MAX_PAGE_VALUES)) {
    const starts = readLevels(repetition, getMaxRepetitionLevel(path), count);
    const depths = readLevels(definition, getMaxDefinitionLevel(path), count);
    for (let at = 0; at < count; at++) {
      if (starts[at] === 0) sizes.push(depths[at] < there - 1 ? null : 0);
      if (starts[at] > 1 || depths[at] < there) continue;
      const size = sizes.at(-1);
      if (typeof size !== 'number') throw new Error('an element outside of any list');
      sizes[sizes.length - 1] = size + 1;
    }
  }
  return sizes;
}
