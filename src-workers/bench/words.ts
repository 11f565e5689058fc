const LOWEST_FIRST = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Returns 32-bit words as little-endian bytes. Nearly every machine is little-endian; there, `words` is not copied. */
export function wordBytes(words: Uint32Array): Uint8Array<ArrayBuffer> {
  if (LOWEST_FIRST) return new Uint8Array(words.buffer as ArrayBuffer, words.byteOffset, words.byteLength);
  const bytes = new DataView(new ArrayBuffer(words.byteLength));
  words.forEach((word, at) => bytes.setUint32(4 * at, word, true));
  return new Uint8Array(bytes.buffer);
}
