const BITS = 11;
const BUCKETS = 1 << BITS;
const MASK = BUCKETS - 1;

/** None of the values may be NaN. */
export type SortValues = Float64Array | Float32Array | Uint16Array;

/**
 * Sorts `items` by ascending `values[item]`; stable. Radix passes sort by the values rounded to float32, whose bits are
 * mapped so that unsigned order is numeric order. A final pass sorts neighbours that are equal as float32 by their
 * exact values. A pass in which all keys agree is skipped, because columns with few distinct values are common.
 */
export function sortByValue(items: Uint32Array, values: SortValues): Uint32Array {
  const size = items.length;
  const floats = new Float32Array(size);
  let exact = true;
  if (values instanceof Float64Array) {
    for (let i = 0; i < size; i += 1) {
      const value = values[items[i]];
      floats[i] = value;
      if (floats[i] !== value) exact = false;
    }
  } else for (let i = 0; i < size; i += 1) floats[i] = values[items[i]];
  let keys: Uint32Array = new Uint32Array(floats.buffer);
  const counts = [0, 1, 2].map(() => new Uint32Array(BUCKETS)) as [Uint32Array, Uint32Array, Uint32Array];
  const [low, middle, high] = counts;
  for (let i = 0; i < size; i += 1) {
    let word = keys[i];
    // Minus zero is mapped to zero. Other negative numbers sort by their inverted bits.
    word = word & 0x80000000 ? (word === 0x80000000 ? word : ~word) : word | 0x80000000;
    keys[i] = word;
    low[word & MASK] += 1;
    middle[(word >>> BITS) & MASK] += 1;
    high[(word >>> (2 * BITS)) & MASK] += 1;
  }
  let order: Uint32Array = items.slice();
  let keysNext: Uint32Array | null = null;
  let orderNext: Uint32Array | null = null;
  for (let pass = 0; pass < 3; pass += 1) {
    const starts = counts[pass];
    const shift = pass * BITS;
    if (size === 0 || starts[(keys[0] >>> shift) & MASK] === size) continue;
    keysNext ??= new Uint32Array(size);
    orderNext ??= new Uint32Array(size);
    let sum = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const count = starts[bucket];
      starts[bucket] = sum;
      sum += count;
    }
    for (let i = 0; i < size; i += 1) {
      const key = keys[i];
      const bucket = (key >>> shift) & MASK;
      const at = starts[bucket];
      starts[bucket] = at + 1;
      keysNext[at] = key;
      orderNext[at] = order[i];
    }
    [keys, keysNext] = [keysNext, keys];
    [order, orderNext] = [orderNext, order];
  }
  if (!exact) separateNeighbours(order, keys, values);
  return order;
}

function separateNeighbours(order: Uint32Array, keys: Uint32Array, values: SortValues): void {
  const size = order.length;
  for (let start = 0; start < size;) {
    let end = start + 1;
    let sorted = true;
    while (end < size && keys[end] === keys[start]) {
      if (values[order[end]] < values[order[end - 1]]) sorted = false;
      end += 1;
    }
    if (!sorted) {
      // A sort of an Array is stable. A run of equal keys is short unless its values are equal too.
      const run = Array.from(order.subarray(start, end)).sort((a, b) => values[a] - values[b]);
      order.set(run, start);
    }
    start = end;
  }
}

/** Sorts `items` by a small whole-number key of each item, 0 … keyCount − 1; stable. */
export function sortByKey(items: Uint32Array, keys: Uint16Array, keyCount: number): Uint32Array {
  const starts = new Uint32Array(keyCount + 1);
  const size = items.length;
  for (let i = 0; i < size; i += 1) starts[keys[items[i]] + 1] += 1;
  for (let key = 0; key < keyCount; key += 1) starts[key + 1] += starts[key];
  const out = new Uint32Array(size);
  for (let i = 0; i < size; i += 1) {
    const item = items[i];
    const key = keys[item];
    const at = starts[key];
    starts[key] = at + 1;
    out[at] = item;
  }
  return out;
}

/** Reverses items that are sorted by a value, but keeps the order of items with equal values. */
export function reverseKeepingTies(items: Uint32Array, valueOf: (item: number) => number | undefined): Uint32Array {
  const size = items.length;
  const out = new Uint32Array(size);
  for (let start = 0; start < size;) {
    const value = valueOf(items[start]);
    let end = start + 1;
    while (end < size && valueOf(items[end]) === value) end += 1;
    for (let i = start; i < end; i += 1) out[size - end + i - start] = items[i];
    start = end;
  }
  return out;
}
