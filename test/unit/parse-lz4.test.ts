import { expect, it } from 'vitest';
import { unpackLz4Block, unpackLz4Frame, unpackLz4Hadoop } from '../../src-workers/parse/lz4.ts';

/** The block has three letters, a match that overlaps itself and exceeds a token, and two more letters. */
const BLOCK = Uint8Array.from([0x3f, 97, 98, 99, 3, 0, 255, 2, 0x20, 120, 121]);
const TEXT = `${'abc'.repeat(93)}xy`;
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
/** Puts a block after its big-endian lengths. */
const hadoop = (length: number, block: Uint8Array): Uint8Array => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length);
  head.writeUInt32BE(block.length, 4);
  return Buffer.concat([head, block]);
};

it('unpacks blocks, alone and as Hadoop writes them', () => {
  const length = TEXT.length;
  expect(textOf(unpackLz4Block(BLOCK, length))).toBe(TEXT);
  expect(textOf(unpackLz4Hadoop(BLOCK, length))).toBe(TEXT);
  const twice = Buffer.concat([hadoop(length, BLOCK), hadoop(length, BLOCK)]);
  expect(textOf(unpackLz4Hadoop(twice, 2 * length))).toBe(TEXT + TEXT);
  expect(unpackLz4Block(Uint8Array.of(0), 0)).toHaveLength(0);
});

/** Makes a frame with the length and the checksum of its content. The reader does not compare the checksum. */
function frame(...blocks: readonly Uint8Array[]): Uint8Array {
  const length = Buffer.alloc(4);
  const parts = blocks.flatMap((block) => {
    length.writeUInt32LE(block.length);
    return [Buffer.from(length), block];
  });
  return Buffer.concat([Buffer.from('04224d184c40', 'hex'), Buffer.alloc(9), ...parts, Buffer.alloc(8)]);
}

it('unpacks frames, whose blocks may refer to earlier ones', () => {
  expect(textOf(unpackLz4Frame(frame(BLOCK), TEXT.length))).toBe(TEXT);
  // The block has a match of four bytes at a distance of two, and then one literal.
  const again = Uint8Array.from([0x00, 2, 0, 0x10, 122]);
  expect(textOf(unpackLz4Frame(frame(BLOCK, again), TEXT.length + 5))).toBe(`${TEXT}xyxyz`);
  expect(() => unpackLz4Frame(frame(BLOCK), TEXT.length + 1)).toThrow(/LZ4 that unpacks to 281 bytes instead of 282/);
  expect(() => unpackLz4Frame(frame(BLOCK).subarray(0, 20), TEXT.length)).toThrow(/a truncated block/);
  expect(() => unpackLz4Frame(BLOCK, TEXT.length)).toThrow(/without a frame/);
});

it('refuses a block that is cut off, or that writes or reads outside its bounds', () => {
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
  expect(() => unpackLz4Hadoop(hadoop(length, BLOCK).subarray(0, -1), length)).toThrow(/truncated block of 11 bytes/);
});
