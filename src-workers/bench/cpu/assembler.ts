/** Assembles the few WebAssembly instructions of the kernels (WebAssembly Core Specification 2.0, chapter 5). */
export type Bytes = readonly number[];

export const I32 = 0x7f;
export const F64 = 0x7c;
export const V128 = 0x7b;
export type ValueType = typeof I32 | typeof F64 | typeof V128;

function unsigned(value: number): Bytes {
  const low = value & 0x7f;
  const rest = value >>> 7;
  return rest === 0 ? [low] : [low | 0x80, ...unsigned(rest)];
}

function signed(value: number): Bytes {
  const low = value & 0x7f;
  const rest = value >> 7;
  const ends = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return ends ? [low] : [low | 0x80, ...signed(rest)];
}

const sized = (bytes: Bytes): Bytes => [...unsigned(bytes.length), ...bytes];
const list = (items: readonly Bytes[]): Bytes => [...unsigned(items.length), ...items.flat()];
const name = (text: string): Bytes => sized([...new TextEncoder().encode(text)]);
const section = (id: number, items: readonly Bytes[]): Bytes => [id, ...sized(list(items))];
const vector = (code: number): Bytes => [0xfd, ...unsigned(code)];
/** The address is the operand plus the offset. The alignment, a power of two, is a hint. */
const memory = (alignment: number, offset: number): Bytes => [alignment, ...unsigned(offset)];

export const local = (index: number) => ({
  get: [0x20, ...unsigned(index)] as Bytes,
  set: [0x21, ...unsigned(index)] as Bytes,
});

export const block = (...body: readonly Bytes[]): Bytes => [0x02, 0x40, ...body.flat(), 0x0b];
export const loop = (...body: readonly Bytes[]): Bytes => [0x03, 0x40, ...body.flat(), 0x0b];
/** If the operand is not 0, branches to the end of a block, or to the start of a loop, `depth` levels further out. */
export const branchIf = (depth: number): Bytes => [0x0d, ...unsigned(depth)];
export const branch = (depth: number): Bytes => [0x0c, ...unsigned(depth)];

export const i32 = {
  constant: (value: number): Bytes => [0x41, ...signed(value)],
  lessUnsigned: [0x49] as Bytes,
  add: [0x6a] as Bytes,
  subtract: [0x6b] as Bytes,
  and: [0x71] as Bytes,
};

export const f64 = {
  load: (offset: number): Bytes => [0x2b, ...memory(3, offset)],
  store: (offset: number): Bytes => [0x39, ...memory(3, offset)],
  add: [0xa0] as Bytes,
  multiply: [0xa2] as Bytes,
};

export const v128 = {
  load: (offset: number): Bytes => [...vector(0x00), ...memory(3, offset)],
  store: (offset: number): Bytes => [...vector(0x0b), ...memory(3, offset)],
};

export const f64x2 = {
  splat: vector(0x14),
  extractLane: (lane: number): Bytes => [...vector(0x21), lane],
  add: vector(0xf0),
  multiply: vector(0xf2),
};

export interface AssembledFunction {
  readonly name: string;
  readonly parameters: readonly ValueType[];
  readonly result: ValueType | null;
  readonly locals: readonly ValueType[];
  readonly body: readonly Bytes[];
}

const MAX_PAGES = 65536;
export const PAGE_BYTES = 65536;

/** Assembles a module. It imports the shared memory `host.memory`, with a maximum of `MAX_PAGES`, 4 GiB. */
export function assemble(functions: readonly AssembledFunction[]): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters, result }) => [
    0x60,
    ...list(parameters.map((type) => [type])),
    ...list(result === null ? [] : [[result]]),
  ]);
  // The flags 3: the memory has a maximum and is shared.
  const imported = [...name('host'), ...name('memory'), 0x02, 0x03, ...unsigned(0), ...unsigned(MAX_PAGES)];
  const codes = functions.map(({ locals, body }) =>
    sized([...list(locals.map((type) => [1, type])), ...body.flat(), 0x0b]),
  );
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, types),
    ...section(2, [imported]),
    ...section(
      3,
      functions.map((_, i) => unsigned(i)),
    ),
    ...section(
      7,
      functions.map((f, i) => [...name(f.name), 0x00, ...unsigned(i)]),
    ),
    ...section(10, codes),
  ]);
}
