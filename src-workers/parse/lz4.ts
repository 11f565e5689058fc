/** LZ4 (lz4/doc/lz4_Block_format.md). Node's zlib does not have it, and packages read a damaged block as zeros. */

/** From this value on, the length of a literal or match continues in the next bytes, up to the first byte below 255. */
const LONG = 15;
const FULL = 255;
const MIN_MATCH = 4;

/** Unpacks a block of exactly `length` bytes. Throws if the block is damaged or has another length. */
export function unpackLz4Block(packed: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  return filled(bytes, unpackInto(bytes, 0, packed));
}

function filled(bytes: Uint8Array<ArrayBuffer>, end: number): Uint8Array<ArrayBuffer> {
  if (end === bytes.length) return bytes;
  throw new Error(`LZ4 that unpacks to ${end} bytes instead of ${bytes.length}`);
}

/** Unpacks a block to position `start`. Matches begin at `first` or later. Returns the end of the unpacked bytes. */
function unpackInto(bytes: Uint8Array, start: number, packed: Uint8Array, first = start): number {
  let [from, to] = [0, start];
  const lengthOf = (short: number): number => {
    let sum = short;
    for (let more = short === LONG ? FULL : 0; more === FULL; sum += more) {
      more = packed[from++];
      if (more === undefined) throw new Error('LZ4 that ends within a length');
    }
    return sum;
  };
  while (from < packed.length) {
    const token = packed[from++];
    const literals = lengthOf(token >> 4);
    if (from + literals > packed.length || to + literals > bytes.length)
      throw new Error(`LZ4 with ${literals} literals, which exceed its block`);
    bytes.set(packed.subarray(from, from + literals), to);
    from += literals;
    to += literals;
    // The last sequence has only literals.
    if (from === packed.length) break;
    const distance = packed[from] | (packed[from + 1] << 8);
    from += 2;
    const match = lengthOf(token & LONG) + MIN_MATCH;
    if (from > packed.length || distance === 0 || distance > to - first || to + match > bytes.length)
      throw new Error(`LZ4 with a match outside its data: ${match} bytes at a distance of ${distance}`);
    // A match may overlap its own output. For example, a distance of 1 repeats one byte.
    for (const until = to + match; to < until; to++) bytes[to] = bytes[to - distance];
  }
  return to;
}

/**
 * Unpacks what Parquet calls plain LZ4: either a single block, or the blocks of Hadoop, each after two big-endian
 * 32-bit numbers, its unpacked and its packed length. A single block begins with literals, so its first byte is at
 * least 16. The first byte of a length below 2^28 is smaller.
 */
export function unpackLz4Hadoop(packed: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  if (packed[0] >= 16) return unpackLz4Block(packed, length);
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const bytes = new Uint8Array(length);
  let [from, to] = [0, 0];
  while (from < packed.length) {
    const end = from + 8 + view.getUint32(from + 4);
    if (end > packed.length) throw new Error(`LZ4 with a truncated block of ${end - from - 8} bytes`);
    to = unpackInto(bytes, to, packed.subarray(from + 8, end));
    from = end;
  }
  return filled(bytes, to);
}

/** Unpacks a frame (lz4/doc/lz4_Frame_format.md). Its checksums are not verified. */
export function unpackLz4Frame(packed: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const flags = packed[4];
  if (view.getUint32(0, true) !== 0x184d_2204 || flags >> 6 !== 1) throw new Error('LZ4 without a frame of version 1');
  const has = (bit: number): number => (flags >> bit) & 1;
  const bytes = new Uint8Array(length);
  let to = 0;
  // The header has 7 bytes, 8 more for a content length (flag 3), and 4 more for a dictionary number (flag 0).
  for (let from = 7 + 8 * has(3) + 4 * has(0); ;) {
    const size = view.getUint32(from, true);
    if (size === 0) break;
    const [start, end] = [from + 4, from + 4 + (size & 0x7fff_ffff)];
    if (end > packed.length) throw new Error('LZ4 with a truncated block');
    const block = packed.subarray(start, end);
    // The highest bit marks an uncompressed block. Matches may refer to earlier blocks.
    if (size >>> 31 === 0) to = unpackInto(bytes, to, block, 0);
    else {
      bytes.set(block, to);
      to += block.length;
    }
    from = end + 4 * has(4);
  }
  return filled(bytes, to);
}
