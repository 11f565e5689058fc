import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry, type ZipFile } from 'yauzl';
import { ok, type Result } from '../domain/result.ts';
import type { ReadLengths } from './length-taker.ts';
import { isOffsets, isPointers, readNpy } from './npy.ts';
import {
  byteRange,
  ofLibrary,
  refuse as refuseIn,
  shown,
  type ByteSource,
  type FileBytes,
  type Refuse,
} from './source.ts';
import { gathered, MAX_FILE_BYTES } from './unpack.ts';

const MAX_ARRAYS = 1000;
const ARRAY = /\.npy$/;
const NAMES_OF_LENGTHS = ['lengths', 'length', 'degrees', 'steps', 'iterations'];

export const isZip = (head: Uint8Array): boolean =>
  ['PK\x03\x04', 'PK\x05\x06'].includes(String.fromCharCode(...head.subarray(0, 4)));

class FileReader extends RandomAccessReader {
  readonly file: FileBytes;
  constructor(file: FileBytes) {
    super();
    this.file = file;
  }
  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(byteRange(this.file, start, end));
  }
}

/** Reads the array `name`. If `null`: row pointers (`indptr`), the only array, or the only one named like lengths. */
export async function readNpz(file: FileBytes, label: string, name: string | null): Promise<Result<ReadLengths>> {
  const format = 'NPZ';
  const refuse: Refuse = (problem) => refuseIn(label, {}, problem);
  const zip = await ofLibrary(label, format, () =>
    fromRandomAccessReaderPromise(new FileReader(file), file.byteLength, { lazyEntries: true, autoClose: false }),
  );
  const entries = await ofLibrary(label, format, async () => {
    const found = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      if (ARRAY.test(entry.fileName)) found.set(entry.fileName.replace(ARRAY, ''), entry);
      if (found.size > MAX_ARRAYS) refuse(`the archive has more arrays than the limit of ${MAX_ARRAYS}`);
    }
    return found;
  });
  const names = [...entries.keys()];
  const listed = names.map(shown).join(', ');
  if (names.length === 0)
    return refuse('the zip archive has no arrays (.npy). Unpack it, then choose the file of lengths');
  if (name !== null && !entries.has(name)) refuse(`no array is named ${shown(name)}. The file has ${listed}`);
  const named = NAMES_OF_LENGTHS.filter((each) => entries.has(each));
  const sparse = await sparseFormat(zip, entries.get('format'), label);
  // In a matrix stored by diagonals, `offsets` are the positions of the diagonals.
  if (name === null && (sparse === 'coo' || sparse === 'dia'))
    return refuse(
      `a matrix stored as ${sparse.toUpperCase()} has no lengths of rows. Save it by rows: scipy.sparse.save_npz(FILE, matrix.tocsr())`,
    );
  const chosen =
    name ?? names.find(isPointers) ?? (names.length === 1 ? names[0] : named.length === 1 ? named[0] : null);
  if (chosen === null)
    return refuse(
      `the file has several arrays: ${listed}. Save one, or name it in the study, as in file:PATH.npz#${names[0]}`,
    );
  const pointers = isPointers(chosen);
  const entry = entries.get(chosen)!;
  // While reading, yauzl stops at the size that the entry states, so checking this size is enough.
  if (entry.uncompressedSize > MAX_FILE_BYTES)
    refuse(
      `the array ${shown(chosen)} has ${entry.uncompressedSize} bytes; the limit is ${MAX_FILE_BYTES}. Save fewer lengths`,
    );
  const read = await readNpy(openContent(zip, entry), `${label}, array ${chosen}`, pointers);
  if (!read.ok) return read;
  const value = { ...read.value, law: { ...read.value.law, label } };
  if (!pointers && names.length === 1) return ok(value);
  const note = pointers
    ? `The lengths are the differences of ${chosen}: ${COMPRESSED[isOffsets(chosen) ? 'lists' : (sparse ?? '')] ?? COMPRESSED.any}.`
    : `The lengths are the array ${chosen}.`;
  return ok({ ...value, note: [note, value.note].filter(Boolean).join(' ') });
}

const COMPRESSED: Readonly<Record<string, string>> = {
  csr: 'the entries of each row',
  csc: 'the entries of each column, since the matrix is stored by columns (CSC); matrix.tocsr() stores it by rows',
  bsr: 'the numbers of blocks, not of entries, since the matrix is stored by blocks (BSR); matrix.tocsr() stores it by rows',
  lists: 'the sizes of the lists',
  any: 'the entries of each compressed row (of each column, if the matrix is stored by columns)',
};
const MAX_FORMAT_BYTES = 1000;

/** Reads `csr` or the like from the array that holds the format of a SciPy matrix. */
async function sparseFormat(zip: ZipFile, entry: Entry | undefined, label: string): Promise<string | null> {
  if (!entry || entry.uncompressedSize > MAX_FORMAT_BYTES) return null;
  const bytes = await ofLibrary(label, 'NPZ', () => gathered(openContent(zip, entry), label, MAX_FORMAT_BYTES));
  return /\n([a-z]{3})$/.exec(Buffer.from(bytes).toString('latin1').replaceAll('\0', ''))?.[1] ?? null;
}

async function* openContent(zip: ZipFile, entry: Entry): ByteSource & AsyncGenerator<Uint8Array> {
  let check = 0;
  for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Uint8Array>) {
    check = crc32(chunk, check);
    yield chunk;
  }
  if (check !== entry.crc32) throw new Error('its checksum differs from the checksum in the archive');
}
