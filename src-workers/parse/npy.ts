import { takeLengths, type ReadLengths } from './length-taker.ts';
import { joined, readBytes, refuse as refuseIn, shown, type ByteSource, type Refuse } from './source.ts';
import type { Result } from '../domain/result.ts';
import { countedText } from '../domain/text.ts';

const MAX_HEADER_BYTES = 65_536;
const FIXED_BYTES = 12;

/** Row pointers of compressed sparse rows. Lengths are the differences of successive pointers. */
const POINTER_NAMES = ['indptr', 'rowptr', 'row_ptr', 'row_offsets', 'crow_indices'];
/** Names of the offsets of ragged arrays: `offsets`, or `node0-offsets` and so on as in Awkward Array's buffers. */
const LIST_OFFSETS = /^(?:part\d+-)?(?:node\d+-)?offsets$/;
export const isOffsets = (name: string): boolean => LIST_OFFSETS.test(name);
export const isPointers = (name: string): boolean => POINTER_NAMES.includes(name) || isOffsets(name);

export const isNpy = (head: Uint8Array): boolean => Buffer.from(head.subarray(0, 6)).equals(MAGIC);
const MAGIC = Buffer.from('\x93NUMPY', 'latin1');

type ReadValue = (view: DataView, at: number) => number;
interface NpyHeader {
  readonly bytes: number;
  readonly itemBytes: number;
  readonly items: number;
  readonly value: ReadValue;
}

/** How each type is read. A 64-bit integer beyond 2^53 becomes inexact, and is then rejected as a length. */
const TYPES: Readonly<Record<string, (littleEndian: boolean) => ReadValue>> = {
  b1: () => (view, at) => view.getUint8(at),
  i1: () => (view, at) => view.getInt8(at),
  u1: () => (view, at) => view.getUint8(at),
  i2: (little) => (view, at) => view.getInt16(at, little),
  u2: (little) => (view, at) => view.getUint16(at, little),
  i4: (little) => (view, at) => view.getInt32(at, little),
  u4: (little) => (view, at) => view.getUint32(at, little),
  i8: (little) => (view, at) =>
    view.getInt32(little ? at + 4 : at, little) * 2 ** 32 + view.getUint32(little ? at : at + 4, little),
  u8: (little) => (view, at) =>
    view.getUint32(little ? at + 4 : at, little) * 2 ** 32 + view.getUint32(little ? at : at + 4, little),
  f4: (little) => (view, at) => view.getFloat32(at, little),
  f8: (little) => (view, at) => view.getFloat64(at, little),
};

/**
 * Reads a NumPy array (NPY 1.0 to 3.0, https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
 * @param pointers whether the array holds the n + 1 row pointers of n rows, whose differences are the lengths
 */
export async function readNpy(source: ByteSource, label: string, pointers: boolean): Promise<Result<ReadLengths>> {
  const taken = takeLengths('lengths', label, (element) => ({ element }));
  let header: NpyHeader | null = null;
  let rest: Uint8Array = new Uint8Array(0);
  let items = 0;
  let before = 0;
  for await (const chunk of readBytes(source, label)) {
    let bytes = rest.length === 0 ? chunk : joined([rest, chunk], rest.length + chunk.length);
    if (!header) {
      header = readHeader(bytes, label, pointers);
      if (!header) {
        rest = bytes;
        continue;
      }
      bytes = bytes.subarray(header.bytes);
    }
    const { itemBytes, value } = header;
    const end = bytes.length - (bytes.length % itemBytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, end);
    if (items + end / itemBytes > header.items)
      refuseIn(label, { element: header.items + 1 }, `the array has more values than its header says, ${header.items}`);
    for (let at = 0; at < end; at += itemBytes) {
      items++;
      const read = value(view, at);
      if (!pointers) taken.take(read, 1, items);
      else if (items > 1) {
        if (!(read >= before))
          refuseIn(label, { element: items }, `the row pointer ${read} is below the one before it, ${before}`);
        taken.take(read - before, 1, items);
      }
      before = read;
    }
    rest = bytes.subarray(end);
  }
  if (!header)
    return refuseIn(
      label,
      {},
      `the file ends after ${countedText(rest.length, 'byte')}, within the header of the array`,
    );
  if (items < header.items || rest.length > 0)
    refuseIn(
      label,
      { element: items + 1 },
      `the file ends after ${countedText(items, 'value')}; the header says ${header.items}`,
    );
  return taken.finish({});
}

/** Returns `null` if more bytes are needed. */
function readHeader(bytes: Uint8Array, label: string, pointers: boolean): NpyHeader | null {
  const refuse: Refuse = (problem) => refuseIn(label, {}, problem);
  if (bytes.length < FIXED_BYTES) return null;
  if (!isNpy(bytes)) refuse('the array does not begin with the bytes of an NPY file');
  const version = bytes[6];
  if (version < 1 || version > 3) refuse(`version ${version}.${bytes[7]} of NPY is not known. Use 1.0, 2.0 or 3.0`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = version === 1 ? 10 : 12;
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MAX_HEADER_BYTES) refuse(`the header has ${length} bytes; the limit is ${MAX_HEADER_BYTES}`);
  if (bytes.length < start + length) return null;
  const text = new TextDecoder().decode(bytes.subarray(start, start + length));
  const descr = /'descr':\s*'([<>|=])([a-zA-Z]\d+)'/.exec(text);
  const shape = /'shape':\s*\(([\d, ]*)\)/.exec(text);
  if (!shape) return refuse(`the header ${shown(text)} has no shape of an array`);
  const type = descr && Object.hasOwn(TYPES, descr[2]) ? TYPES[descr[2]] : null;
  if (!descr || !type) {
    const found = /'descr':\s*(.*?),\s*'/.exec(text)?.[1] ?? text;
    return refuse(
      `the type ${shown(found)} is not one of ${Object.keys(TYPES).join(', ')}. Save the lengths as integers`,
    );
  }
  const sizes = shape[1]
    .split(',')
    .filter((size) => size.trim() !== '')
    .map(Number);
  const items = sizes.reduce((product, size) => product * size, 1);
  if (sizes.filter((size) => size !== 1).length > 1 || sizes.length === 0)
    refuse(`the array has the shape (${shape[1].trim()}). Save lengths as an array of one dimension`);
  if (!Number.isSafeInteger(items)) refuse(`${items} values exceed the limit of 2^53`);
  if (pointers && items < 2) refuse(`${items} row pointers describe no row: n rows have n + 1`);
  return { bytes: start + length, itemBytes: Number(descr[2].slice(1)), items, value: type(descr[1] !== '>') };
}
