import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inspectLengths, readLengths } from '../../src-workers/parse/length-file.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { findTool, lacks } from '../tools.mjs';
import { testFolder } from '../workplace.ts';

// Tests Parquet and Arrow files that were written by the usual programs. They cover each codec, each encoding that
// these programs choose, columns of every type that may contain lengths, and lists, whose sizes are lengths.

const writtenIn = (bytes: Uint8Array): readonly string[] =>
  parquetMetadata(new Uint8Array(bytes).buffer).row_groups.flatMap(({ columns }) =>
    columns.flatMap(({ meta_data }) => [meta_data!.codec, ...meta_data!.encodings]),
  );

const load = (tool: 'duckdb' | 'arrow' | 'polars', name: string): unknown =>
  createRequire(join(findTool(tool)!, 'package.json'))(name);

async function lengthsOf(bytes: Uint8Array, column: string): Promise<readonly number[] | string> {
  const read = await readLengths(bytesSource(bytes), 'x', { length: column });
  return read.ok ? [...read.value.lengths!] : read.error.message;
}

interface DuckDb {
  readonly DuckDBInstance: { create(path: string): Promise<{ connect(): Promise<DuckDbConnection> }> };
}
interface DuckDbConnection {
  run(sql: string): Promise<unknown>;
  runAndReadAll(sql: string): Promise<{ getRowsJS(): readonly (readonly unknown[])[] }>;
  closeSync(): void;
}

const ROWS = 9000;
/** Columns that DuckDB writes, and the lengths that DuckDB computes for them. */
const DUCKDB_COLUMNS: Readonly<Record<string, readonly [written: string, lengths: string]>> = {
  few: ['(20 + 10 * sin(range))::int', 'round(20 + 10 * sin(range))'],
  bytes: ['(range % 7)::utinyint', 'range % 7'],
  shorts: ['(range % 60000)::usmallint', 'range % 60000'],
  unsigned: ['(range * 7919 % 100003)::uinteger', 'range * 7919 % 100003'],
  many: ['(range * 7919 % 100003)::bigint', 'range * 7919 % 100003'],
  large: ['(9007199254740000 + range % 900)::ubigint', '9007199254740000 + range % 900'],
  huge: ['(range % 77)::hugeint', 'range % 77'],
  doubles: ['(range * 7919 % 1009)::double', 'range * 7919 % 1009'],
  floats: ['(range * 7919 % 1009)::float', 'range * 7919 % 1009'],
  decimals: ['(range % 50)::decimal(9, 0)', 'range % 50'],
  booleans: ['range % 3 = 0', '(range % 3 = 0)::int'],
  numbers: ['[one for one in range(range % 9)]', 'range % 9'],
  gaps: ['[if(one = 1, null, one) for one in range(range % 5)]', 'range % 5'],
  words: ["[['a', 'bc'] for one in range(range % 4)]", 'range % 4'],
  pairs: ['map(range(range % 5), range(range % 5))', 'range % 5'],
  records: ["[{'a': one, 'b': [1, 2]} for one in range(range % 6)]", 'range % 6'],
};

describe.skipIf(lacks('duckdb'))('DuckDB itself', () => {
  const folder = testFolder();

  it('writes lengths and lists in each codec and encoding, and we read the values that DuckDB has', async () => {
    const { DuckDBInstance } = load('duckdb', '@duckdb/node-api') as DuckDb;
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJS();
    const names = Object.keys(DUCKDB_COLUMNS);
    const wanted = new Map<string, readonly number[]>();
    for (const name of names) {
      const found = await rows(`select (${DUCKDB_COLUMNS[name][1]})::double from range(${ROWS})`);
      const values = Array.from(found, ([one]) => Number(one));
      wanted.set(name, values);
    }
    const columns = names.map((name) => `${DUCKDB_COLUMNS[name][0]} as ${name}`).join(', ');
    const nulls = 'if(range % 5 = 4, null, range % 13) as holes, if(range = 2, null, [range]) as missing';
    const written = new Set<string>();
    // A reader unpacks a page before it decodes the page, so each codec needs only one of the two versions of encodings.
    for (const [at, codec] of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4', 'lz4_raw'].entries()) {
      const file = join(folder, `${codec}.parquet`);
      const options = `format parquet, codec '${codec}', parquet_version V${1 + (at % 2)}, row_group_size 4096`;
      await connection.run(`copy (select ${columns}, ${nulls} from range(${ROWS})) to '${file}' (${options})`);
      const bytes = new Uint8Array(readFileSync(file));
      for (const one of writtenIn(bytes)) written.add(one);
      for (const name of names) expect(await lengthsOf(bytes, name), `${file} ${name}`).toEqual(wanted.get(name));
      for (const [name, row] of Object.entries({ holes: 5, missing: 3 }))
        expect(await lengthsOf(bytes, name)).toBe(
          `x, row ${row}, column "${name}": the value is missing (null). Fill it in, or leave out the row`,
        );
    }
    connection.closeSync();
    const codecs =
      'UNCOMPRESSED SNAPPY GZIP ZSTD BROTLI LZ4_RAW PLAIN PLAIN_DICTIONARY RLE_DICTIONARY DELTA_BINARY_PACKED BYTE_STREAM_SPLIT';
    expect(written).toEqual(new Set(codecs.split(' ')));
  });
});

interface Arrow {
  readonly [type: string]: new (...of: readonly unknown[]) => unknown;
}
interface ArrowTables {
  tableFromArrays(columns: Readonly<Record<string, unknown>>): unknown;
  vectorFromArray(values: readonly unknown[], type: unknown): unknown;
  tableToIPC(table: unknown, kind: 'file' | 'stream'): Uint8Array;
}
interface Builder {
  setCompression(codec: number): Builder;
  setWriterVersion(version: number): Builder;
  setDictionaryEnabled(enabled: boolean): Builder;
  setColumnEncoding(column: string, encoding: number): Builder;
  setMaxRowGroupSize(rows: number): Builder;
  setDataPageSizeLimit(bytes: number): Builder;
  build(): unknown;
}
interface ParquetWasm {
  readonly Compression: Readonly<Record<string, number>>;
  readonly Encoding: Readonly<Record<string, number>>;
  readonly WriterPropertiesBuilder: new () => Builder;
  readonly Table: { fromIPCStream(bytes: Uint8Array): unknown };
  writeParquet(table: unknown, properties: unknown): Uint8Array;
}

/** Lengths in the tables that Arrow writes. Lists have only a fraction of these lengths, so that files stay small. */
const LENGTHS = Array.from({ length: 1500 }, (_, at) => (at * 7919) % 211);
interface Column {
  readonly type: unknown;
  /** Returns the value in a row, given its number in `LENGTHS`. */
  value(one: number): unknown;
  /** Returns the length that Lockstep reads; by default, it is the number itself. */
  length?(one: number): number;
}
/** Returns columns of all types. Awkward Array writes records as a column of lists for each field. */
function columnsOf(arrow: Arrow): Readonly<Record<string, Column>> {
  const whole = new arrow.Int32();
  const field = (type: unknown, name = 'item') => new arrow.Field(name, type, true);
  const list = (type: unknown) => new arrow.List(field(type));
  const same = (one: number): number => one;
  const many = (one: number): number => one % 7;
  return {
    int8: { type: new arrow.Int8(), value: (one) => one % 100, length: (one) => one % 100 },
    uint16: { type: new arrow.Uint16(), value: same },
    int32: { type: whole, value: same },
    uint32: { type: new arrow.Uint32(), value: same },
    int64: { type: new arrow.Int64(), value: BigInt },
    uint64: { type: new arrow.Uint64(), value: BigInt },
    float: { type: new arrow.Float32(), value: same },
    double: { type: new arrow.Float64(), value: same },
    boolean: { type: new arrow.Bool(), value: (one) => one % 2 === 1, length: (one) => one % 2 },
    ragged: { type: list(new arrow.Float64()), value: (one) => Array(many(one)).fill(1), length: many },
    deep: { type: list(list(whole)), value: (one) => Array(many(one)).fill([1, 2]), length: many },
    points: {
      type: list(new arrow.Struct([field(whole, 'x'), field(list(whole), 'y')])),
      length: many,
      value: (one) => Array.from({ length: many(one) }, (_, x) => ({ x, y: [x] })),
    },
  };
}
const lengthsIn = ({ length = (one) => one }: Column): readonly number[] => LENGTHS.map(length);

describe.skipIf(lacks('arrow'))('Arrow and the Rust library of Parquet', () => {
  const arrow = lacks('arrow') ? null! : (load('arrow', 'apache-arrow') as Arrow & ArrowTables);
  const wasm = lacks('arrow') ? null! : (load('arrow', 'parquet-wasm/node') as ParquetWasm);
  const vector = ({ type, value }: Column) => arrow.vectorFromArray(LENGTHS.map(value), type);
  const vectors = (columns: Readonly<Record<string, Column>>) =>
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, vector(column)]));

  it('writes lengths and ragged arrays in each codec and encoding, and we read the same values', async () => {
    const columns = columnsOf(arrow);
    const table = arrow.tableToIPC(arrow.tableFromArrays(vectors(columns)), 'stream');
    const { Compression, Encoding } = wasm;
    /** Encodings, and the columns that can have them. All other columns have the default encoding. */
    const encodings: readonly (readonly [encoding: number, suits: RegExp])[] = [
      [Encoding.PLAIN, /^$/],
      [Encoding.RLE_DICTIONARY, /^$/],
      [Encoding.DELTA_BINARY_PACKED, /^u?int/],
      [Encoding.BYTE_STREAM_SPLIT, /^(u?int(32|64)|float|double)$/],
      [Encoding.RLE, /^bool/],
    ];
    const codecs = ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4', 'LZ4_RAW'];
    const written = new Set<string>();
    // The layout of a page depends on the version. Each codec is written in each version, and encodings take turns.
    for (const [at, [codec, version]] of codecs.flatMap((one) => [[one, 0] as const, [one, 1] as const]).entries()) {
      const [encoding, suits] = encodings[at % encodings.length];
      let builder = new wasm.WriterPropertiesBuilder()
        .setCompression(Compression[codec])
        .setWriterVersion(version)
        .setDictionaryEnabled(encoding === Encoding.RLE_DICTIONARY)
        .setMaxRowGroupSize(600)
        .setDataPageSizeLimit(1000);
      for (const name of Object.keys(columns))
        if (suits.test(name)) builder = builder.setColumnEncoding(name, encoding);
      const bytes = wasm.writeParquet(wasm.Table.fromIPCStream(table), builder.build());
      for (const one of writtenIn(bytes)) written.add(one);
      for (const [name, column] of Object.entries(columns))
        expect(await lengthsOf(bytes, name), `${codec} ${version} ${encoding} ${name}`).toEqual(lengthsIn(column));
    }
    const other = ['PLAIN', 'RLE_DICTIONARY', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT', 'RLE'];
    expect(written).toEqual(new Set([...codecs, ...other]));
  });

  it('writes files and streams of Arrow, and we read the same values', async () => {
    const item = new arrow.Field('item', new arrow.Int32(), true);
    // These columns are skipped. They come first and have buffers of their own, so that wrong skipping is found.
    const skipped: Readonly<Record<string, Column>> = {
      words: { type: new arrow.Utf8(), value: String },
      indexed: { type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()), value: (one) => String(one % 3) },
      nothing: { type: new arrow.Null(), value: () => null },
      records: {
        type: new arrow.Struct([new arrow.Field('item', new arrow.List(item), true)]),
        value: (one) => ({ item: Array(one % 3).fill(1) }),
      },
    };
    const columns: Readonly<Record<string, Column>> = {
      ...columnsOf(arrow),
      fixed: { type: new arrow.FixedSizeList(3, item), value: () => [1, 2, 3], length: () => 3 },
    };
    const table = arrow.tableFromArrays(vectors({ ...skipped, ...columns }));
    for (const kind of ['file', 'stream'] as const) {
      const bytes = arrow.tableToIPC(table, kind);
      for (const [name, column] of Object.entries(columns))
        expect(await lengthsOf(bytes, name), `${kind} ${name}`).toEqual(lengthsIn(column));
      const inspected = unwrap(await inspectLengths(bytesSource(bytes), 'x'))!;
      expect(inspected.columns.map(({ name }) => name)).toEqual(Object.keys(columns));
    }
  });

  it('reads a table of one ragged column without a name, as Awkward Array saves it', async () => {
    const item = new arrow.List(new arrow.Field('item', new arrow.Int32(), true));
    const table = arrow.tableFromArrays({ '': arrow.vectorFromArray([[1, 2, 3], [], [4]], item) });
    const stream = arrow.tableToIPC(table, 'stream');
    const bytes = wasm.writeParquet(wasm.Table.fromIPCStream(stream), new wasm.WriterPropertiesBuilder().build());
    const read = unwrap(await readLengths(bytesSource(bytes), 'x'));
    expect([...read.lengths!]).toEqual([3, 0, 1]);
    expect(read.note).toBe('The lengths are the sizes of the lists in the column "".');
    const inspected = unwrap(await inspectLengths(bytesSource(bytes), 'x'))!;
    expect(inspected).toMatchObject({ columns: [{ name: '', kind: 'whole' }], rows: [['3'], ['0'], ['1']] });
  });
});

interface Polars {
  DataFrame(columns: Readonly<Record<string, unknown>>): {
    writeIPC(options: object): Uint8Array;
    writeIPCStream(options: object): Uint8Array;
    writeParquet(options: object): Uint8Array;
  };
}

describe.skipIf(lacks('polars'))('Polars itself', () => {
  it('writes compressed files and streams of Arrow, and Parquet, and we read the same values', async () => {
    const polars = load('polars', 'nodejs-polars') as Polars;
    const steps = Array.from({ length: 40_000 }, (_, at) => Math.round(20 + 10 * Math.sin(at)) + (at % 977));
    const events = steps.map((one) => Array<number>(one % 7).fill(one));
    const words = steps.map((one) => `unit number ${one}, with a long name`);
    const frame = polars.DataFrame({ words, steps, events });
    const files = ['uncompressed', 'lz4', 'zstd'].flatMap((compression) => [
      frame.writeIPC({ compression }),
      frame.writeIPCStream({ compression }),
      frame.writeParquet({ compression }),
    ]);
    for (const [at, file] of files.entries()) {
      const bytes = new Uint8Array(file);
      expect(await lengthsOf(bytes, 'steps'), `file ${at}`).toEqual(steps);
      expect(await lengthsOf(bytes, 'events'), `file ${at}`).toEqual(events.map((one) => one.length));
    }
    // The compressed files must be smaller, which shows that they are compressed.
    const [plain, lz4, zstd] = [0, 3, 6].map((at) => files[at].length);
    expect(lz4).toBeLessThan(plain / 2);
    expect(zstd).toBeLessThan(plain / 2);
  });
});
