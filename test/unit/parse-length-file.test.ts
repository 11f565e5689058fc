import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { lengthsCsv } from '../../src-main/services/studies/workloads.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { uniformLaw } from '../../src-workers/models/workload/laws.ts';
import type { CsvColumns } from '../../src-workers/parse/csv.ts';
import { inspectLengths, readLengths } from '../../src-workers/parse/length-file.ts';
import { unpackLz4Block, unpackLz4Frame, unpackLz4Hadoop } from '../../src-workers/parse/lz4.ts';
import { bytesSource } from '../../src-workers/parse/source.ts';
import { chunks, dataFile, encode } from '../data.ts';

/** Reads a file of NumPy, SciPy, networkx or DuckDB. make-lengths.py beside these files made them. */
const made = (name: string): Uint8Array => readFileSync(dataFile(`lengths/${name}`));
const LENGTHS = [3, 0, 12, 3, 7];

/** Reads the lengths from a stream of small chunks, which split numbers and headers. */
async function lengthsOf(bytes: Uint8Array, columns?: CsvColumns): Promise<readonly number[] | null> {
  const [whole, stream] = await Promise.all(
    [bytesSource(bytes), chunks(bytes)].map(async (file) => unwrap(await readLengths(file, 'x', columns))),
  );
  expect(stream).toEqual(whole);
  return whole.lengths && [...whole.lengths];
}
function parquet(
  columns: Record<string, readonly unknown[]>,
  rowGroupSize = 2,
  codec: 'SNAPPY' | 'UNCOMPRESSED' = 'SNAPPY',
): Uint8Array {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data: [...data] }));
  return new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize, codec }));
}
function npy(header: string, values: Uint8Array): Uint8Array {
  const size = new Uint8Array(Uint16Array.of(header.length + 1).buffer);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\0', 'latin1'), size, encode(`${header}\n`), values]);
}
const int32Of = (shape: string, values: Int32Array<ArrayBuffer>) =>
  npy(`{'descr': '<i4', 'fortran_order': False, 'shape': (${shape}), }`, new Uint8Array(values.buffer));
const int32 = (shape: string, ...values: number[]) => int32Of(shape, Int32Array.from(values));

const read = async (bytes: Uint8Array, columns?: CsvColumns) =>
  unwrap(await readLengths(bytesSource(bytes), 'x', columns));
const inspected = async (bytes: Uint8Array) => unwrap(await inspectLengths(bytesSource(bytes), 'x'));

describe('files of lengths, recognised by their content', () => {
  it.each<[name: string, bytes: Uint8Array, columns?: CsvColumns]>([
    ['NPY of 64-bit integers', made('int64.npy')],
    ['NPY of big-endian integers', made('big-endian.npy')],
    ['NPY of whole floats in a column', made('float32-column.npy')],
    ['NPY of row pointers', int32('6,', 2, 5, 5, 17, 20, 27), { length: 'indptr' }],
    ['NPZ of one array', made('one.npz')],
    ['NPZ of compressed rows', made('rows.npz')],
    ['NPZ of several arrays, one named', made('several.npz'), { length: 'first' }],
    ['Parquet of one column', parquet({ anything: LENGTHS })],
    ['Parquet of several columns', parquet({ vertex: ['a', 'b', 'c', 'd', 'e'], degree: LENGTHS.map(BigInt) }, 3)],
    ['Parquet of a chosen column', parquet({ n: [1, 2, 3, 4, 5], x: LENGTHS }, 1000, 'UNCOMPRESSED'), { length: 'x' }],
    ['Arrow, the first column of lengths', made('polars-lz4.arrow')],
    ['Arrow of lists', made('polars-lz4.arrow'), { length: 'events' }],
    ['a stream of Arrow', made('arrow-stream.arrow')],
    ['Matrix Market', encode(`%%MatrixMarket matrix array integer general\n2 12\n${'1\n0\n'.repeat(12)}`)],
    ['CSV', encode('3\n0\n12\n3\n7\n')],
  ])('%s, also as gzip', async (name, bytes, columns) => {
    const expected = name === 'Matrix Market' ? [12, 0] : LENGTHS;
    expect(await lengthsOf(bytes, columns)).toEqual(expected);
    expect(await lengthsOf(gzipSync(bytes), columns)).toEqual(expected);
  });

  it('counts and probabilities of Parquet', async () => {
    const counts = await read(parquet({ length: [3, 12], count: [1, 3] }));
    expect([counts.form, counts.units, ...counts.law.probability]).toEqual(['counts', 4, 0.25, 0.75]);
    const shares = await read(parquet({ length: [3, 12], p: [0.25, 0.75] }));
    expect([shares.form, shares.units, ...shares.law.support]).toEqual(['probabilities', null, 3, 12]);
  });

  it('edge lists: the out-degree of each vertex that occurs, by its number', async () => {
    // Vertex 3 does not occur, and vertex 5 is only a target.
    const edges = '4 1\n0 1\n0 4\n1 0\n0 5\n';
    const expected = [3, 1, 1, 0];
    const head = '# Directed graph: x.txt\n# Nodes: 4 Edges: 5\n# FromNodeId\tToNodeId\n';
    const byCommas = `source,target\n${edges.replaceAll(' ', ',')}`;
    for (const text of [head + edges, head + edges.replaceAll(' ', '\t'), byCommas])
      expect(await lengthsOf(encode(text))).toEqual(expected);
    expect(await lengthsOf(encode(edges), { length: '1', target: '2', delimiter: 'space' })).toEqual(expected);
    expect(await lengthsOf(parquet({ src: [4, 0, 0, 1, 0], dst: [1, 1, 4, 0, 5] }))).toEqual(expected);
    // An undirected edge counts for both of its ends. A loop counts once.
    expect(await lengthsOf(encode(`# Undirected graph\n# Nodes: 4 Edges: 6\n${edges}5 5\n`))).toEqual([4, 3, 2, 2]);
    // If each edge is listed from both ends, a line counts once. If one reverse is missing, lines count for both ends.
    const snap = (lines: string) => read(encode(`# Undirected graph\n# Nodes: 3 Edges: 4\n${lines}`));
    const both = await snap('0 1\n1 0\n1 2\n2 1\n2 2\n');
    expect([[...both.lengths!], both.note]).toEqual([[1, 2, 2], expect.stringMatching(/ from both ends, .* only\.$/)]);
    const most = await snap('0 1\n1 0\n1 2\n2 1\n0 2\n');
    expect([[...most.lengths!], most.note]).toEqual([[3, 4, 3], expect.stringMatching(/ for both of its vertices\.$/)]);
    expect([...(await snap('0 1\n1 2\n2 0\n')).lengths!]).toEqual([2, 2, 2]);
  });

  it('edge lists of networkx, with attributes, weights or neither', async () => {
    const expected = [2, 3, 3, 5, 4, 1, 0, 3, 1];
    for (const kind of ['data', 'no-data', 'weighted', 'attributes'])
      expect(await lengthsOf(made(`networkx-${kind}.edgelist`)), kind).toEqual(expected);
    expect(await lengthsOf(encode('4,1,{}\n0,1,{"a": 1, "b": 2}\n'))).toEqual([1, 0, 1]);
    // The user may choose other columns if the file has two numbers and nothing else in a line.
    expect(await lengthsOf(made('networkx-no-data.edgelist'), { length: '1', delimiter: 'space' })).toHaveLength(22);
    expect((await inspected(made('networkx-no-data.edgelist')))?.delimiter).toBe('space');
    expect((await inspected(made('networkx-data.edgelist')))?.delimiter).toBeUndefined();
  });

  it('Parquet of DuckDB, whose last run is padded to 256 values, and whose pages may be LZ4', async () => {
    const expected = Array.from({ length: 1000 }, (_, at) => Math.round(20 + 10 * Math.sin(at)));
    for (const name of ['duckdb.parquet', 'duckdb-lz4.parquet']) expect(await lengthsOf(made(name))).toEqual(expected);
  });

  it('Parquet of ragged arrays: the sizes of the lists, and booleans as 0 and 1', async () => {
    const ragged = made('arrow-lists.parquet');
    expect(await lengthsOf(ragged, { length: 'events' })).toEqual([3, 0, 12, 3, 7]);
    expect(await lengthsOf(ragged, { length: 'active' })).toEqual([1, 0, 1, 1, 0]);
    const { note } = await read(ragged, { length: 'events' });
    expect(note).toBe('The lengths are the sizes of the lists in the column "events".');
    expect(await inspected(ragged)).toMatchObject({
      columns: [{ name: 'events', kind: 'whole', max: 12 }, { name: 'hits', kind: 'number' }, { name: 'active' }],
      rows: [['3', '2', '1'], ['0', '0', '0'], ['12', '', '1'], ['3', '1', '1'], ['7', '1', '0']],
    }); // prettier-ignore
  });

  it('reports what was read if a user could expect something else', async () => {
    const note = async (...file: Parameters<typeof read>) => (await read(...file)).note;
    expect(await note(made('rows.npz'))).toBe('The lengths are the differences of indptr: the entries of each row.');
    expect(await note(made('csc.npz'))).toMatch(/the entries of each column, .*\(CSC\)/);
    expect(await note(made('bsr.npz'))).toMatch(/the numbers of blocks, not of entries, .*\(BSR\)/);
    expect(await note(made('several.npz'), { length: 'second' })).toBe('The lengths are the array second.');
    expect(await note(encode('source,target\n0,1\n'))).toMatch(/out-degree: how many edges start at it/);
    expect(await note(made('one.npz'))).toBeUndefined();
  });

  it('shows the columns of a table, but not of other files', async () => {
    const table = await inspected(gzipSync(parquet({ vertex: ['a', 'b', 'c'], degree: [3, 0, 12] })));
    expect(table).toMatchObject({
      format: 'parquet',
      records: 3,
      rows: [['a', '3'], ['b', '0'], ['c', '12']],
      columns: [{ name: 'vertex', kind: 'text' }, { name: 'degree', kind: 'whole', distinct: 3, min: 0, max: 12 }],
    }); // prettier-ignore
    expect(await inspected(made('arrow-stream.arrow'))).toMatchObject({
      format: 'arrow',
      columns: [{ name: 'steps', kind: 'whole', max: 12 }, { name: 'hits' }, { name: 'active', kind: 'whole', max: 1 }],
    });
    expect(await inspected(gzipSync('1,2\n3,4\n'))).toMatchObject({ format: 'text', records: 2 });
    expect(await inspected(made('rows.npz'))).toBeNull();
    expect(await inspected(encode('# Nodes: 2 Edges: 1\n0 1\n'))).toBeNull();
  });

  it('closes a file that was not read to its end', async () => {
    // The file contains noise, most of it beyond the part that is examined.
    const noise = Int32Array.from({ length: 200_000 }, (_, at) => (at * 2_654_435_761) | 0);
    const packed = gzipSync(int32Of('200000,', noise));
    let open = 0;
    const file = async function* (): AsyncGenerator<Uint8Array> {
      open++;
      try {
        yield* chunks(packed, 4096);
      } finally {
        open--;
      }
    };
    expect(unwrap(await inspectLengths(file(), 'x'))).toBeNull();
    expect((await readLengths(file(), 'x')).ok).toBe(false);
    await expect.poll(() => open).toBe(0);
  });
});

/** Makes an archive that claims `size` bytes for array `a` (zip64: APPNOTE.TXT of PKWARE, 4.3.12, 4.5.3). */
function hugeArray(size: number): Uint8Array {
  const zip = Buffer.alloc(4 + 63 + 22);
  zip.write('PK\x03\x04PK\x01\x02', 'latin1');
  const entry = zip.subarray(4, 67);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(0xffff_ffff, 24);
  entry.writeUInt16LE(5, 28);
  entry.writeUInt16LE(12, 30);
  entry.write('a.npy\x01\0\x08\0', 46, 'latin1');
  entry.writeBigUInt64LE(BigInt(size), 55);
  const end = zip.subarray(67);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(63, 12);
  end.writeUInt32LE(4, 16);
  return zip;
}

/** Returns a file whose metadata names the obsolete codec LZO. */
function compressedByLzo(): Uint8Array {
  const bytes = Buffer.from(made('duckdb.parquet'));
  const [codec, snappy, lzo] = [bytes.length - 122, 2, 6];
  expect(bytes[codec]).toBe(snappy);
  bytes[codec] = lzo;
  return bytes;
}

const BIG = BigInt(2 ** 53) + 2n;
it.each<[what: string, bytes: Uint8Array, message: RegExp, columns?: CsvColumns]>([
  ['a negative length', int32('3,', 1, -4, 1), /^x, element 2: length "-4" is not an integer from 0/],
  ['values missing', int32('3,', 1, 4), /^x, element 3: the file ends after 2 values; the header says 3/],
  ['values too many', int32('1,', 1, 4), /^x, element 2: the array has more values than its header says, 1/],
  ['two dimensions', int32('2, 2', 1, 2, 3, 4), /shape \(2, 2\)\. Save lengths as an array of one dimension/],
  ['a type without numbers', npy(`{'descr': '<U3', 'shape': (1,), }`, encode('abc')), /the type .* is not one of b1, i1/],
  ['an integer beyond 2^53', npy(`{'descr': '<i8', 'shape': (1,), }`, new Uint8Array(BigInt64Array.of(BIG).buffer)), /element 1: length .* is not an integer/],
  ['row pointers that fall', int32('3,', 0, 5, 4), /element 3: the row pointer 4 is below the one before it, 5/, { length: 'indptr' }],
  ['several arrays', made('several.npz'), /several arrays: "first", "second"\. Save one, or name it in the study, as in file:PATH\.npz#first/],
  ['a matrix in coordinates', made('coo.npz'), /a matrix stored as COO has no lengths of rows\. Save it by rows: .*tocsr\(\)/],
  ['an array that does not exist', made('several.npz'), /no array is named "third"\. The file has "first", "second"/, { length: 'third' }],
  ['an array above the limit', hugeArray(2 ** 32 + 8), /^x: the array "a" has 4294967304 bytes; the limit is 4294967296\. Save fewer lengths/],
  ['an archive cut off', made('rows.npz').subarray(0, 300), /the NPZ file is damaged/],
  ['an archive without arrays', Buffer.concat([encode('PK\x05\x06'), new Uint8Array(18)]), /has no arrays/],
  ['Arrow cut off', made('polars-lz4.arrow').subarray(0, 300), /the Arrow file is damaged/],
  ['a list that is missing in Arrow', made('arrow-stream.arrow'), /^x, row 3, column "hits": the value is missing/, { length: 'hits' }],
  ['text in Parquet', parquet({ length: ['a', 'b'] }), /^x, row 1, column "length": "a" is not a number/],
  ['an empty value in Parquet', parquet({ length: [1, null, 2] }), /^x, row 2, column "length": the value is missing \(null\)\. Fill it in/],
  ['a list that is missing', made('arrow-lists.parquet'), /^x, row 3, column "hits": the value is missing \(null\)/, { length: 'hits' }],
  ['Parquet of other columns', parquet({ a: [1], b: [2] }), /the header "a, b" must name one column of lengths/],
  ['Parquet cut off', parquet({ length: [1, 2] }).subarray(0, 60), /the Parquet file is damaged/],
  ['Parquet with an unknown compression', compressedByLzo(), /^x: the column "steps" is compressed by "LZO"\. Write it by one of UNCOMPRESSED, SNAPPY,/],
  ['a vertex by its name', encode('a b {}\n'), /^x, line 1, column 1: "a" is not the number of a vertex\. Number the vertices from 0/],
  ['a vertex without a number', encode('source,target\n1,2\nx,1\n'), /^x, line 3, column 1: "x" is not the number of a vertex/],
  ['a vertex number above the limit', encode('source,target\n1,2147483648\n'), /^x, line 2, column 2: the vertex .* is not an integer from 0 to 134217727/],
  ['gzip cut off', gzipSync(encode('1\n2\n'.repeat(1000))).subarray(0, 30), /the gzip file is damaged after \d+ unpacked bytes/],
  ['a picture', Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), /is a picture\. Choose a file with the lengths instead/],
  ['HDF5', Uint8Array.from([0x89, 0x48, 0x44, 0x46, 13, 10, 26, 10, 0]), /is an HDF5 file/],
  ['bzip2', encode('BZh91AY&SY'), /compressed by bzip2/],
  ['zstd', new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 0]), /compressed by zstd/],
  ['bytes of no format', new Uint8Array([1, 0, 2]), /is not text, and its format is not known\. Choose CSV, a graph/],
])('unreadable files are refused with the place of the error: %s', async (_what, bytes, message, columns) => {
  expect(await readLengths(bytesSource(bytes), 'x', columns)).toFail(null, message);
}); // prettier-ignore

const degreesOf = (text: string) => lengthsOf(encode(text));
const graphMl = (edgedefault: string, body: string): string =>
  `<?xml version='1.0' encoding='utf-8'?>\n<!-- a > b -->\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n<key id="d0" for="edge"/>\n<graph edgedefault="${edgedefault}">\n${body}\n</graph>\n</graphml>\n`;
const NODES = `<node id="a"/><node id="b>c"><data key="d0">1 > 0</data></node>\n<node\n  id='d'/>`;
const EDGES = `<edge source="a" target="b>c"/>\n<!-- <edge source="a" target="d"/> --><edge target='d' source='a'></edge><edge source="d" target="d"/>`;

it('lengths without an order are saved as probabilities, and too many lengths are not saved', async () => {
  const law = unwrap(uniformLaw(3, 6));
  const { form, law: saved } = await read(encode((await lengthsCsv({ law, order: null }))!));
  expect([form, saved.support, saved.probability]).toEqual(['probabilities', law.support, law.probability]);
  const iterations = new Float64Array(2 ** 24 + 1);
  expect(await lengthsCsv({ law, order: { units: iterations.length, iterations, given: true } })).toBeNull();
});

describe('graphs', () => {
  it('from GraphML are the degrees of the vertices, or their out-degrees', async () => {
    expect(await degreesOf(graphMl('undirected', NODES + EDGES))).toEqual([2, 1, 2]);
    expect(await degreesOf(graphMl('directed', NODES + EDGES))).toEqual([2, 0, 1]);
    const directed = EDGES.replaceAll('<edge ', '<edge directed="true" ');
    expect(await degreesOf(graphMl('undirected', NODES + directed))).toEqual([2, 0, 1]);
  });

  it('from METIS are the degrees of the vertices, whatever weights the file has', async () => {
    // The graph is the triangle 1 2 3 with a tail 4, and an isolated vertex.
    expect(await degreesOf('% of a test\n5 4\n2 3\n1 3\n1 2 4\n3\n\n')).toEqual([2, 2, 3, 1, 0]);
    const weighted = '5 4 011 2\n9 9 2 5 3 5\n1 1 1 5 3 5\n1 1 1 5 2 5 4 5\n0 0 3 5\n7 7\n';
    expect(await degreesOf(weighted)).toEqual([2, 2, 3, 1, 0]);
    expect(await degreesOf('3 2 100\n4 2\n4 1 3\n4 2\n')).toEqual([1, 2, 1]);
    // The graph is a ring and a hub joined to all vertices, and longer than the part that determines the format.
    const size = 20_000;
    const vertices = Array.from({ length: size }, (_, at) => at + 1);
    const ring = vertices.map((at) => `${((at + size - 2) % size) + 1} ${(at % size) + 1} ${size + 1}`);
    const degrees = (await degreesOf([`${size + 1} ${2 * size}`, ...ring, vertices.join(' '), ''].join('\n')))!;
    expect([degrees.length, degrees[0], degrees.at(-1)]).toEqual([size + 1, 3, size]);
  });

  it('from adjacency lists count both ends of an edge that is listed once, or else the lines of the vertices', async () => {
    const once = '#script.py\n# GMT Tue Nov 24 10:00:00 2026\n# \na b c\nb c\nc\nalone\nd d\n';
    expect(await degreesOf(once)).toEqual([2, 2, 2, 0, 1]);
    expect(await degreesOf('0 1 2 3\n1 0\n2 0\n3 0\n4\n')).toEqual([3, 1, 1, 1, 0]);
    expect(await degreesOf('0 1 2 3\n1 2\n2\n3\n')).toEqual([3, 2, 2, 1]);
  });

  it('are not read from files that only resemble graphs', async () => {
    // This is an edge list, although its first edge could be the first line of a METIS file.
    expect(await degreesOf('3 3\n1 2\n2 3\n3 1\n')).toEqual([1, 1, 2]);
    expect((await read(encode('4\n7\n1\n'))).form).toBe('lengths');
  });

  it.each([
    ['an edge with an unknown vertex', graphMl('directed', `${NODES}\n<edge source="a" target="z"/>`), /line 9: no <node> before this edge has the id .?z/],
    ['a vertex twice', graphMl('directed', `<node id="a"/>\n<node id="a"/>`), /line 7: the vertex .?a.? is declared twice/],
    ['both kinds of edges', graphMl('directed', `${NODES}\n${EDGES}\n<edge directed="false" source="a" target="d"/>`), /line 11: some edges have a direction/],
    ['a hyperedge', graphMl('directed', '<hyperedge/>'), /line 6: a hyperedge/],
    ['a file that ends early', graphMl('directed', NODES).slice(0, -12), /ends before <\/graphml>/],
    ['a neighbour out of range', '5 4\n2 3\n1 3\n1 2 9\n3\n\n', /line 4: the neighbour .?9.? is not within 1…5/],
    ['a graph of too few edges', '5 5\n2 3\n1 3\n1 2 4\n3\n\n', /the lines name 8 neighbours\. The 5 edges/],
    ['a loop', '3 2\n1 2\n1 3\n2\n', /line 2: the vertex 1 is a neighbour of itself/],
    ['a vertex with two lines', '#a\n# GMT now\n# \n1 2 3\n2 3\n3\n2\n', /line 7: the vertex .?2.? already has a line/],
  ])('are refused with the line of %s', async (_, text, message) => expect(await readLengths(bytesSource(encode(text)), 'x')).toFail(null, message)); // prettier-ignore
});

/** The block has three letters, a match that overlaps itself and exceeds a token, and two more letters. */
const BLOCK = Uint8Array.from([0x3f, 97, 98, 99, 3, 0, 255, 2, 0x20, 120, 121]);
const TEXT = `${'abc'.repeat(93)}xy`;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const wordsOf = (...words: readonly number[]) => Buffer.from(Uint32Array.from(words).buffer);
const ofHadoop = (length: number, block: Uint8Array): Uint8Array =>
  Buffer.concat([wordsOf(length, block.length).swap32(), block]);

it('LZ4 unpacks blocks, alone and as Hadoop writes them', () => {
  const length = TEXT.length;
  expect(textOf(unpackLz4Block(BLOCK, length))).toBe(TEXT);
  expect(textOf(unpackLz4Hadoop(BLOCK, length))).toBe(TEXT);
  const twice = Buffer.concat([ofHadoop(length, BLOCK), ofHadoop(length, BLOCK)]);
  expect(textOf(unpackLz4Hadoop(twice, 2 * length))).toBe(TEXT + TEXT);
  expect(unpackLz4Block(Uint8Array.of(0), 0)).toHaveLength(0);
});

/** Makes a frame with the length and the checksum of its content. The reader does not compare the checksum. */
function frame(...blocks: readonly Uint8Array[]): Uint8Array {
  const parts = blocks.flatMap((block) => [wordsOf(block.length), block]);
  return Buffer.concat([Buffer.from('04224d184c40', 'hex'), Buffer.alloc(9), ...parts, Buffer.alloc(8)]);
}

it('LZ4 unpacks frames, whose blocks may refer to earlier ones', () => {
  expect(textOf(unpackLz4Frame(frame(BLOCK), TEXT.length))).toBe(TEXT);
  // The block has a match of four bytes at a distance of two, and then one literal.
  const again = Uint8Array.from([0x00, 2, 0, 0x10, 122]);
  expect(textOf(unpackLz4Frame(frame(BLOCK, again), TEXT.length + 5))).toBe(`${TEXT}xyxyz`);
  expect(() => unpackLz4Frame(frame(BLOCK), TEXT.length + 1)).toThrow(/LZ4 that unpacks to 281 bytes instead of 282/);
  expect(() => unpackLz4Frame(frame(BLOCK).subarray(0, 20), TEXT.length)).toThrow(/a truncated block/);
  expect(() => unpackLz4Frame(BLOCK, TEXT.length)).toThrow(/without a frame/);
});

it('LZ4 refuses a block that is cut off, or that writes or reads outside its bounds', () => {
  const length = TEXT.length;
  for (let end = 0; end < BLOCK.length; end++)
    expect(() => unpackLz4Block(BLOCK.subarray(0, end), length)).toThrow(/LZ4/);
  expect(() => unpackLz4Block(BLOCK, length - 1)).toThrow(/LZ4 with 2 literals, which exceed its block/);
  expect(() => unpackLz4Block(BLOCK, length + 1)).toThrow(/LZ4 that unpacks to 281 bytes instead of 282/);
  for (const distance of [0, 4]) {
    const block = BLOCK.slice();
    block[4] = distance;
    expect(() => unpackLz4Block(block, length)).toThrow(`at a distance of ${distance}`);
  }
  expect(() => unpackLz4Hadoop(ofHadoop(length, BLOCK).subarray(0, -1), length)).toThrow(/truncated block of 11 bytes/);
});
