import type { Result } from '../domain/result.ts';
import { inspectTable, inspectParquet, type AskedSyntax } from './table.ts';
import { parseLengthsCsv, type CsvColumns, type Delimiter } from './csv.ts';
import type { ReadLengths } from './length-taker.ts';
import { parseMatrixMarket } from './matrix-market.ts';
import { isAdjacencyList, isGraphMl, isMetis, readAdjacencyList, readGraphMl, readMetis } from './graphs.ts';
import { isNpy, readNpy, isPointers } from './npy.ts';
import { isZip, readNpz } from './npz.ts';
import { isParquet, readParquet } from './parquet.ts';
import { bytesSource, caught, HEAD_BYTES, peeked, refuse, type ByteSource, type FileBytes } from './source.ts';
import type { TableSummary } from '../domain/table.ts';
import { gathered, gunzipped, isGzip, MAX_FILE_BYTES, MAX_IMPORT_BYTES } from './unpack.ts';

/** A file of lengths, unpacked where it is gzip. */
interface OpenFile {
  readonly head: Uint8Array;
  readonly source: ByteSource;
  /** Ends what was not read to its end. */
  close(): Promise<unknown>;
  /** The same, for formats that are not read from the first byte to the last. */
  bytes(): Promise<FileBytes>;
}

interface LengthFormat {
  readonly matches: (head: Uint8Array) => boolean;
  readonly read: (file: OpenFile, label: string, chosen?: CsvColumns) => Promise<Result<ReadLengths>>;
  /** What its columns are; a format without has nothing to choose. */
  readonly inspect?: (file: OpenFile, label: string, asked: AskedSyntax) => Promise<Result<TableSummary>>;
}

const text = (head: Uint8Array): string => new TextDecoder('latin1').decode(head);
const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** Edge lists of the Stanford Large Network Dataset Collection (snap.stanford.edu) say in comments what they are. */
const SNAP = /^#.*(?:\bNodes:\s*\d+\s+Edges:\s*\d+|\bFromNodeId\s+ToNodeId)/im;
const UNDIRECTED = /^#.*\bundirected\b/im;
/**
 * Edge lists of networkx: two vertices, then the attributes as a Python dict; or two numbers of vertices, then at most
 * a weight.
 */
const WITH_ATTRIBUTES = /^[^\s,]+[ \t,][^\s,]+[ \t,]\{.*\}$/;
const PLAIN_EDGE = /^\d+ \d+(?: [-+.\de]+)?$/i;

/** The first line that is neither empty nor a comment. */
const firstLine = (head: Uint8Array): string =>
  text(head).split(/\r?\n/).find((line) => /^[^#]/.test(line))?.trim() ?? ''; // prettier-ignore

/** All formats that lengths are read from, by content; the first that matches. */
const FORMATS: readonly LengthFormat[] = [
  {
    matches: isNpy,
    read: ({ source }, label, chosen) => readNpy(source, label, isPointers(chosen?.length ?? '')),
  },
  { matches: isZip, read: async (file, label, chosen) => readNpz(await file.bytes(), label, chosen?.length ?? null) },
  {
    matches: isParquet,
    read: async (file, label, chosen) => readParquet(await file.bytes(), label, chosen),
    inspect: async (file, label) => inspectParquet(await file.bytes(), label),
  },
  {
    matches: (head) => /^%%MatrixMarket/i.test(text(head)),
    read: async ({ source }, label) => {
      const matrix = await parseMatrixMarket(source, label);
      if (!matrix.ok) return matrix;
      const { law, rows, columns, rowLengths } = matrix.value;
      return {
        ok: true,
        value: { law, form: 'lengths', units: rows, lengths: rowLengths, matrixColumns: columns },
      };
    },
  },
  {
    matches: (head) => unreadable(head) !== null,
    read: ({ head }, label) => refuse(label, {}, unreadable(head) ?? ''),
  },
  { matches: isGraphMl, read: ({ source }, label) => readGraphMl(source, label) },
  { matches: isMetis, read: ({ source }, label) => readMetis(source, label) },
  {
    matches: (head) => SNAP.test(text(head)),
    read: ({ source, head }, label, chosen) =>
      parseLengthsCsv(source, label, chosen ?? edgeColumns(head), { undirected: UNDIRECTED.test(text(head)) }),
  },
  {
    matches: (head) => WITH_ATTRIBUTES.test(firstLine(head)),
    read: ({ source, head }, label, chosen) =>
      parseLengthsCsv(source, label, chosen ?? edgeColumns(head), { attributed: true }),
  },
  {
    matches: isAdjacencyList,
    read: ({ source }, label, chosen) =>
      chosen ? parseLengthsCsv(source, label, chosen) : readAdjacencyList(source, label),
  },
  {
    matches: (head) => PLAIN_EDGE.test(firstLine(head)),
    read: ({ source, head }, label, chosen) => parseLengthsCsv(source, label, chosen ?? edgeColumns(head)),
    // The same text may be a table of other meaning, which a person then chooses.
    inspect: ({ source }, label, asked) => inspectTable(source, label, asked),
  },
  {
    matches: () => true,
    read: ({ source }, label, chosen) => parseLengthsCsv(source, label, chosen),
    inspect: ({ source }, label, asked) => inspectTable(source, label, asked),
  },
];

/** Two columns without a header, separated as the first edge is. */
function edgeColumns(head: Uint8Array): CsvColumns {
  const separator = /[\t ,]/.exec(firstLine(head))?.[0];
  const delimiter: Delimiter = separator === '\t' ? 'tab' : separator === ',' ? 'comma' : 'space';
  return { length: '1', target: '2', header: false, delimiter };
}

/** Formats that people try and that cannot be read: their first bytes, and what to do. */
const UNREADABLE: readonly (readonly [magic: string, advice: string])[] = [
  ['BZh', 'is compressed by bzip2. Unpack it, or compress it by gzip'],
  ['\xfd7zXZ', 'is compressed by xz. Unpack it, or compress it by gzip'],
  ['\x28\xb5\x2f\xfd', 'is compressed by zstd. Unpack it, or compress it by gzip'],
  ['7z\xbc\xaf', 'is a 7z archive. Unpack it, or compress the file by gzip'],
  ['\x89HDF', 'is an HDF5 file. Save its lengths as NPY, Parquet or CSV'],
  ['ARROW1', 'is an Arrow file. Save its lengths as NPY, Parquet or CSV'],
  ['\x89PNG', 'is a picture. Drop the lengths themselves, as CSV or NPY'],
  ['\xff\xd8\xff', 'is a picture. Drop the lengths themselves, as CSV or NPY'],
  ['GIF8', 'is a picture. Drop the lengths themselves, as CSV or NPY'],
  ['%PDF', 'is a PDF. Save its table as CSV'],
  ['SQLite format 3', 'is a database. Export its column of lengths as CSV'],
];
const READABLE =
  'CSV, a graph (edge or adjacency list, GraphML, METIS), Matrix Market, NPY, NPZ or Parquet, each also as .gz';

function unreadable(head: Uint8Array): string | null {
  // A decoder would not do: its Latin 1 is Windows 1252, in which 0x89 is another character.
  const start = String.fromCharCode(...head.subarray(0, 16));
  const known = UNREADABLE.find(([magic]) => start.startsWith(magic));
  if (known) return `the file ${known[1]}`;
  return !isUtf16(head) && head.subarray(0, 4096).includes(0)
    ? `the file is not a text, and its format is not known. Choose ${READABLE}`
    : null;
}

/** Opens what may be gzip, known by its first bytes. */
async function openFile(source: ByteSource | FileBytes, label: string): Promise<OpenFile> {
  if ('slice' in source) {
    const head = new Uint8Array(await source.slice(0, HEAD_BYTES));
    if (!isGzip(head)) return { head, source, close: async () => {}, bytes: async () => source };
  }
  const packed = await peeked(source);
  const { head, whole, close } = isGzip(packed.head)
    ? await peeked(gunzipped(packed.whole, label, MAX_FILE_BYTES))
    : packed;
  const bytes = async (): Promise<FileBytes> => bytesSource(await gathered(whole, label, MAX_IMPORT_BYTES));
  return { head, source: whole, close, bytes };
}

/** A file's text, unpacked where it is gzip. */
export async function unpackedSource(source: ByteSource, label: string): Promise<ByteSource> {
  return (await openFile(source, label)).source;
}

/**
 * Reads lengths from a file of any format in `FORMATS`, recognised by its content and not by its name; also as gzip.
 *
 * Memory: the distinct lengths, the order of at most `MAX_ORDERED_LENGTHS` of them, and a chunk of the file. Parquet
 * also needs the columns of a row group, and NPZ and Parquet within gzip the unpacked file (at most
 * `MAX_IMPORT_BYTES`).
 *
 * @param chosen columns of a table; for an archive the array, by its name
 */
export function readLengths(
  source: ByteSource | FileBytes,
  label: string,
  chosen?: CsvColumns,
): Promise<Result<ReadLengths>> {
  return caught(async () => {
    const file = await openFile(source, label);
    try {
      return await FORMATS.find(({ matches }) => matches(file.head))!.read(file, label, chosen);
    } finally {
      await file.close();
    }
  });
}

/**
 * Says what the columns of a file are, for a person who then chooses among them; `null` if there is nothing to
 * choose.
 */
export function inspectLengths(
  source: ByteSource | FileBytes,
  label: string,
  asked: AskedSyntax = {},
): Promise<Result<TableSummary | null>> {
  return caught<TableSummary | null>(async () => {
    const file = await openFile(source, label);
    const { inspect } = FORMATS.find(({ matches }) => matches(file.head))!;
    try {
      return inspect ? await inspect(file, label, asked) : { ok: true, value: null };
    } finally {
      await file.close();
    }
  });
}
