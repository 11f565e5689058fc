import { ok, type Result } from '../domain/result.ts';
import { inspectColumns, inspectTable, type AskedSyntax } from './table.ts';
import { parseLengthsCsv, type CsvColumns, type Delimiter } from './csv.ts';
import type { ReadLengths } from './length-taker.ts';
import { parseMatrixMarket } from './matrix-market.ts';
import { isAdjacencyList, isGraphMl, isMetis, readAdjacencyList, readGraphMl, readMetis } from './graphs.ts';
import { isNpy, readNpy, isPointers } from './npy.ts';
import { isZip, readNpz } from './npz.ts';
import { isParquet, openParquet } from './parquet.ts';
import { isArrow, openArrow } from './arrow.ts';
import { readColumns } from './columns.ts';
import {
  bytesSource,
  caught,
  HEAD_BYTES,
  headText,
  peeked,
  refuse,
  type ByteSource,
  type FileBytes,
} from './source.ts';
import type { TableSummary } from '../domain/table.ts';
import { gathered, gunzipped, isGzip, MAX_FILE_BYTES, MAX_IMPORT_BYTES } from './unpack.ts';

interface OpenFile {
  readonly head: Uint8Array;
  readonly source: ByteSource;
  close(): Promise<unknown>;
  bytes(): Promise<FileBytes>;
}

interface LengthFormat {
  readonly matches: (head: Uint8Array) => boolean;
  readonly read: (file: OpenFile, label: string, chosen?: CsvColumns) => Promise<Result<ReadLengths>>;
  readonly inspect?: (file: OpenFile, label: string, asked: AskedSyntax) => Promise<Result<TableSummary>>;
}

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

/** Matches comments in the edge lists of the Stanford Large Network Dataset Collection (snap.stanford.edu). */
const SNAP = /^#.*(?:\bNodes:\s*\d+\s+Edges:\s*\d+|\bFromNodeId\s+ToNodeId)/im;
const UNDIRECTED = /^#.*\bundirected\b/im;
/** Matches edge lists of networkx: two vertices, and then attributes as a Python dict or an optional weight. */
const WITH_ATTRIBUTES = /^[^\s,]+[ \t,][^\s,]+[ \t,]\{.*\}$/;
const PLAIN_EDGE = /^\d+ \d+(?: [-+.\de]+)?$/i;

const firstLine = (head: Uint8Array): string =>
  headText(head).split(/\r?\n/).find((line) => /^[^#]/.test(line))?.trim() ?? ''; // prettier-ignore

/** The first format that fits the content is used. */
const FORMATS: readonly LengthFormat[] = [
  { matches: isNpy, read: ({ source }, label, chosen) => readNpy(source, label, isPointers(chosen?.length ?? '')) },
  { matches: isZip, read: async (file, label, chosen) => readNpz(await file.bytes(), label, chosen?.length ?? null) },
  {
    matches: isParquet,
    read: async (file, label, chosen) => readColumns(await openParquet(await file.bytes(), label), label, chosen),
    inspect: async (file, label) => inspectColumns(await openParquet(await file.bytes(), label), label, 'parquet'),
  },
  {
    matches: isArrow,
    read: async (file, label, chosen) => readColumns(await openArrow(await file.bytes(), label), label, chosen),
    inspect: async (file, label) => inspectColumns(await openArrow(await file.bytes(), label), label, 'arrow'),
  },
  {
    matches: (head) => /^%%MatrixMarket/i.test(headText(head)),
    read: async ({ source }, label) => {
      const matrix = await parseMatrixMarket(source, label);
      if (!matrix.ok) return matrix;
      const { law, rows, columns, rowLengths } = matrix.value;
      return ok({ law, form: 'lengths', units: rows, lengths: rowLengths, matrixColumns: columns });
    },
  },
  {
    matches: (head) => unreadable(head) !== null,
    read: ({ head }, label) => refuse(label, {}, unreadable(head) ?? ''),
  },
  { matches: isGraphMl, read: ({ source }, label) => readGraphMl(source, label) },
  { matches: isMetis, read: ({ source }, label) => readMetis(source, label) },
  {
    matches: (head) => SNAP.test(headText(head)),
    read: ({ source, head }, label, chosen) =>
      parseLengthsCsv(source, label, chosen ?? edgeColumns(head), { undirected: UNDIRECTED.test(headText(head)) }),
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
    // The same text may be a table with another meaning, so the user can choose columns.
    inspect: ({ source }, label, asked) => inspectTable(source, label, asked),
  },
  {
    matches: () => true,
    read: ({ source }, label, chosen) => parseLengthsCsv(source, label, chosen),
    inspect: ({ source }, label, asked) => inspectTable(source, label, asked),
  },
];

function edgeColumns(head: Uint8Array): CsvColumns {
  const separator = /[\t ,]/.exec(firstLine(head))?.[0];
  const delimiter: Delimiter = separator === '\t' ? 'tab' : separator === ',' ? 'comma' : 'space';
  return { length: '1', target: '2', header: false, delimiter };
}

const UNREADABLE: readonly (readonly [magic: string, advice: string])[] = [
  ['BZh', 'is compressed by bzip2. Unpack it, or compress it by gzip'],
  ['\xfd7zXZ', 'is compressed by xz. Unpack it, or compress it by gzip'],
  ['\x28\xb5\x2f\xfd', 'is compressed by zstd. Unpack it, or compress it by gzip'],
  ['7z\xbc\xaf', 'is a 7z archive. Unpack it, or compress the file by gzip'],
  ['\x89HDF', 'is an HDF5 file. Save its lengths as NPY, Parquet or CSV'],
  ['\x89PNG', 'is a picture. Choose a file with the lengths instead, as CSV or NPY'],
  ['\xff\xd8\xff', 'is a picture. Choose a file with the lengths instead, as CSV or NPY'],
  ['GIF8', 'is a picture. Choose a file with the lengths instead, as CSV or NPY'],
  ['%PDF', 'is a PDF. Save its table as CSV'],
  ['SQLite format 3', 'is a database. Export its column of lengths as CSV'],
];
const READABLE =
  'CSV, a graph (edge or adjacency list, GraphML, METIS), Matrix Market, NPY, NPZ, Parquet or Arrow, each also as .gz';

function unreadable(head: Uint8Array): string | null {
  // The bytes are not read by a TextDecoder, because its Latin 1 is Windows 1252, in which 0x89 is another character.
  const start = String.fromCharCode(...head.subarray(0, 16));
  const known = UNREADABLE.find(([magic]) => start.startsWith(magic));
  if (known) return `the file ${known[1]}`;
  return !isUtf16(head) && head.subarray(0, 4096).includes(0)
    ? `the file is not text, and its format is not known. Choose ${READABLE}`
    : null;
}

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

export async function unpackedSource(source: ByteSource, label: string): Promise<ByteSource> {
  return (await openFile(source, label)).source;
}

/**
 * The content decides the format, not the name. Parquet, Arrow and NPZ in gzip or from a stream are held in memory as a
 * whole.
 * @param chosen columns of a table; for an archive, the name of the array
 */
export function readLengths(
  source: ByteSource | FileBytes,
  label: string,
  chosen?: CsvColumns,
): Promise<Result<ReadLengths>> {
  return withFile(source, label, (format, file) => format.read(file, label, chosen));
}

/** Describes the columns of a file, from which a user can choose; `null` if there is no choice. */
export function inspectLengths(
  source: ByteSource | FileBytes,
  label: string,
  asked: AskedSyntax = {},
): Promise<Result<TableSummary | null>> {
  return withFile<TableSummary | null>(
    source,
    label,
    async ({ inspect }, file) => inspect?.(file, label, asked) ?? ok(null),
  );
}

function withFile<Value>(
  source: ByteSource | FileBytes,
  label: string,
  use: (format: LengthFormat, file: OpenFile) => Promise<Result<Value>>,
): Promise<Result<Value>> {
  return caught(async () => {
    const file = await openFile(source, label);
    try {
      const format = FORMATS.find(({ matches }) => matches(file.head))!;
      return await use(format, file);
    } finally {
      await file.close();
    }
  });
}
