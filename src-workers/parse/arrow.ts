import { zstdDecompressSync } from 'node:zlib';
import type { ColumnTable, ColumnValues } from './columns.ts';
import {
  byteOf,
  listElements,
  intOf,
  longOf,
  shortOf,
  tableAt,
  readTable,
  readText,
  type FlatTable,
} from './flatbuffer.ts';
import { unpackLz4Frame } from './lz4.ts';
import { ofLibrary, refuse, shown, type FileBytes } from './source.ts';

/*
 * Arrow's IPC format, https://arrow.apache.org/docs/format/Columnar.html: a file (Feather 2) or a stream of messages,
 * each with a flatbuffer and a body of buffers. Only numbers, booleans and lists are read.
 */

const FILE = 'ARROW1\0\0';
const CONTINUES = 0xffff_ffff;
const MAX_METADATA_BYTES = 2 ** 22;
const MAX_FIELDS = 2 ** 14;
const MAX_BATCH_ROWS = 2 ** 25;
const MAX_BUFFER_BYTES = 2 ** 28;

const isFile = (head: Uint8Array): boolean => String.fromCharCode(...head.subarray(0, FILE.length)) === FILE;
/** A stream begins with the length of its schema, which is a multiple of 8. */
export const isArrow = (head: Uint8Array): boolean =>
  isFile(head) || (/^(?:255,){4}(?:\d+,){2}\d+,0$/.test(head.subarray(0, 8).join()) && head[4] % 8 === 0);

const [SCHEMA, RECORD_BATCH] = [1, 3];
const TYPE = { int: 2, float: 3, bool: 6, list: 12, union: 14, fixedList: 16, map: 17, largeList: 21, listView: 25, largeListView: 26 } as const; // prettier-ignore
/** Number of a column's own buffers, by the number of its type. NaN for unions, where it varies. */
const BUFFERS = [0, 0, 2, 2, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, NaN, 2, 1, 2, 2, 3, 3, 2, 0, 2, 2, 3, 3];
const VIEWS: readonly number[] = [23, 24];

interface Field {
  readonly name: string;
  readonly kind: number;
  readonly type: FlatTable | null;
  /** Whether the values are positions in a list of values (dictionary encoding). */
  readonly isIndexed: boolean;
  readonly children: readonly Field[];
}

interface Batch {
  readonly table: FlatTable;
  readonly rows: number;
  readonly bodyAt: number;
}

/** @param known counts the fields, since many fields of a damaged file may share the same children */
function readField(view: DataView, at: number, known: { count: number }): Field {
  const field = tableAt(view, at);
  known.count++;
  if (known.count > MAX_FIELDS) throw new Error(`more than ${MAX_FIELDS} fields`);
  return {
    name: readText(field, 0),
    kind: byteOf(field, 2),
    type: readTable(field, 3),
    isIndexed: readTable(field, 4) !== null,
    children: listElements(field, 5, 4).map((child) => readField(view, child, known)),
  };
}

const LISTS: readonly number[] = [TYPE.list, TYPE.fixedList, TYPE.map, TYPE.largeList, TYPE.listView, TYPE.largeListView]; // prettier-ignore
const isRead = ({ kind, isIndexed }: Field): boolean =>
  !isIndexed && (LISTS.includes(kind) || kind === TYPE.int || kind === TYPE.float || kind === TYPE.bool);

/** Memory use depends on the largest batch of records, not on the whole file. */
export async function openArrow(file: FileBytes, label: string): Promise<ColumnTable> {
  const read = <T>(reading: () => Promise<T>): Promise<T> => ofLibrary(label, 'Arrow', reading);
  const { fields, batches } = await read(async () => readMessages(file, label));
  const known = new Map(fields.filter(isRead).map((field) => [field.name, field]));
  return {
    names: [...known.keys()],
    lists: new Set([...known.values()].filter(({ kind }) => LISTS.includes(kind)).map(({ name }) => name)),
    rows: batches.reduce((sum, { rows }) => sum + rows, 0),
    async *groups(names) {
      let firstRow = 0;
      for (const batch of batches) {
        const columns: (readonly ColumnValues[])[] = [];
        for (const name of names) {
          const values = await read(() => readValues(file, fields, known.get(name)!, batch));
          if (values.length !== batch.rows)
            refuse(label, { row: firstRow + 1 }, `the column ${shown(name)} has ${values.length} values in ${batch.rows} rows`); // prettier-ignore
          columns.push([values]);
        }
        yield { firstRow, columns };
        firstRow += batch.rows;
      }
    },
  };
}

async function readMessages(file: FileBytes, label: string): Promise<{ fields: readonly Field[]; batches: Batch[] }> {
  const ofFile = isFile(new Uint8Array(await file.slice(0, FILE.length)));
  // Some writers put the schema only in the footer of a file.
  let schema = ofFile ? await footerSchema(file) : null;
  const batches: Batch[] = [];
  for (let at = ofFile ? FILE.length : 0; ;) {
    const start = new DataView(await file.slice(at, at + 8));
    if (start.byteLength < 8 || start.getUint32(0, true) !== CONTINUES || start.getUint32(4, true) === 0) break;
    const bodyAt = at + 8 + start.getUint32(4, true);
    const message = await rootTable(file, at + 8, bodyAt);
    const [kind, table, bodyBytes] = [byteOf(message, 1), readTable(message, 2), longOf(message, 3)];
    if (!(bodyBytes >= 0 && bodyAt + bodyBytes <= file.byteLength))
      throw new Error(`a message claims a body of ${bodyBytes} bytes`);
    if (kind === SCHEMA) schema ??= table;
    if (table && kind === RECORD_BATCH) {
      const rows = longOf(table, 0);
      if (!(rows >= 0 && rows <= MAX_BATCH_ROWS))
        refuse(label, {}, `a batch has ${rows} rows; the limit is ${MAX_BATCH_ROWS}. Write smaller batches`);
      batches.push({ table, rows, bodyAt });
    }
    at = bodyAt + bodyBytes;
  }
  if (!schema) throw new Error('there is no schema');
  if (shortOf(schema, 0) !== 0) refuse(label, {}, 'the numbers are big-endian. Write them little-endian');
  const [{ view }, known] = [schema, { count: 0 }];
  return { fields: listElements(schema, 1, 4).map((field) => readField(view, field, known)), batches };
}

async function rootTable(file: FileBytes, start: number, end: number): Promise<FlatTable> {
  if (end - start > MAX_METADATA_BYTES) throw new Error(`a message claims ${end - start} bytes`);
  return tableAt(new DataView(await file.slice(start, end)), 0);
}

/** A file ends with its footer, the footer's length, and the same magic bytes with which it begins. */
async function footerSchema(file: FileBytes): Promise<FlatTable | null> {
  const end = Math.max(0, file.byteLength - 10);
  const bytes = new DataView(await file.slice(end, end + 4)).getUint32(0, true);
  return readTable(await rootTable(file, Math.max(0, end - bytes), end), 1);
}

async function readValues(
  file: FileBytes,
  fields: readonly Field[],
  wanted: Field,
  batch: Batch,
): Promise<ColumnValues> {
  const { table, bodyAt } = batch;
  const { view } = table;
  const nodes = listElements(table, 1, 16);
  const buffers = listElements(table, 2, 16);
  const viewed = [...listElements(table, 4, 8)];
  /** Reads a number at a place in the description of the batch. The place is unknown after a column of unknown type. */
  const long = (at: number): number => {
    if (!(at >= 0)) throw new Error('a column has no values');
    return Number(view.getBigInt64(at, true));
  };
  let [node, buffer] = [0, 0];
  const skip = ({ kind, type, isIndexed, children }: Field): void => {
    node++;
    if (isIndexed) {
      buffer += 2;
      return;
    }
    const ofUnion = type && shortOf(type, 0) === 1 ? 2 : 1;
    buffer += kind === TYPE.union ? ofUnion : BUFFERS[kind];
    if (VIEWS.includes(kind)) buffer += long(viewed.shift()!);
    children.forEach(skip);
  };
  for (const field of fields) {
    if (field === wanted) break;
    skip(field);
  }
  const compression = readTable(table, 3);
  const bytesOf = async (place: number): Promise<ArrayBuffer> => {
    const at = buffers[buffer + place];
    const [start, length] = [bodyAt + long(at), long(at + 8)];
    if (!(length >= 0 && length <= MAX_BUFFER_BYTES)) throw new Error(`a buffer claims ${length} bytes`);
    const bytes = await file.slice(start, start + length);
    return compression && length > 0 ? unpacked(bytes, byteOf(compression, 0)) : bytes;
  };
  const rows = long(nodes[node]);
  const [validity, values] = [long(nodes[node] + 8) !== 0 ? new Uint8Array(await bytesOf(0)) : null, await plain()];
  if (!validity) return values;
  return Array.from(values as ArrayLike<number>, (value, row) => (((validity[row >> 3] >> (row & 7)) & 1) === 1 ? value : null)); // prettier-ignore

  async function plain(): Promise<ColumnValues> {
    const { kind, type } = wanted;
    const sizesBetween = (offsets: ArrayLike<number | bigint>): number[] =>
      Array.from({ length: rows }, (_, row) => Number(offsets[row + 1]) - Number(offsets[row]));
    if (rows === 0) return [];
    if (!(rows > 0 && rows <= MAX_BATCH_ROWS)) throw new Error(`a column claims ${rows} values`);
    switch (kind) {
      case TYPE.list:
      case TYPE.map:
        return sizesBetween(new Int32Array(await bytesOf(1), 0, rows + 1));
      case TYPE.largeList:
        return sizesBetween(new BigInt64Array(await bytesOf(1), 0, rows + 1));
      case TYPE.listView:
        return new Int32Array(await bytesOf(2), 0, rows);
      case TYPE.largeListView:
        return new BigInt64Array(await bytesOf(2), 0, rows);
      case TYPE.fixedList:
        return new Array<number>(rows).fill(type ? intOf(type, 0) : 0);
      case TYPE.bool: {
        const bits = new Uint8Array(await bytesOf(1), 0, Math.ceil(rows / 8));
        return Array.from({ length: rows }, (_, row) => (bits[row >> 3] >> (row & 7)) & 1);
      }
      default: {
        const width = type ? (kind === TYPE.int ? intOf(type, 0) : 16 << shortOf(type, 0)) : 0;
        const name = `${kind === TYPE.float ? 'float' : byteOf(type!, 1) ? 'int' : 'uint'}${width}`;
        if (!Object.hasOwn(NUMBERS, name)) throw new Error(`numbers of the type ${name}`);
        return new NUMBERS[name](await bytesOf(1), 0, rows);
      }
    }
  }
}

const NUMBERS: Readonly<Record<string, new (bytes: ArrayBuffer, at: number, length: number) => ColumnValues>> = {
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array,
}; // prettier-ignore

/** A buffer begins with its unpacked length, or with −1 if it is stored uncompressed. */
function unpacked(bytes: ArrayBuffer, codec: number): ArrayBuffer {
  const length = Number(new DataView(bytes).getBigInt64(0, true));
  if (length === -1) return bytes.slice(8);
  if (!(length >= 0 && length <= MAX_BUFFER_BYTES)) throw new Error(`a buffer claims ${length} unpacked bytes`);
  const packed = new Uint8Array(bytes, 8);
  if (codec === 0) return unpackLz4Frame(packed, length).buffer;
  return new Uint8Array(zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) })).buffer;
}
