/**
 * Sorting of designs by a column: permutations over typed arrays, for millions of rows.
 */

const BITS = 11;
const BUCKETS = 1 << BITS;
const MASK = BUCKETS - 1;

/** Bit pattern of a float32 mapped so that unsigned comparison orders as the numbers do. */
function sortableBits(values: Float64Array, items: Uint32Array): Uint32Array {
  const floats = new Float32Array(items.length);
  for (let i = 0; i < items.length; i += 1) floats[i] = values[items[i]!]!;
  const bits = new Uint32Array(floats.buffer);
  for (let i = 0; i < bits.length; i += 1) {
    const word = bits[i]!;
    bits[i] = word & 0x80000000 ? ~word : word | 0x80000000;
  }
  return bits;
}

/**
 * `items` in ascending order of `values[item]`, equal values in the order they came (stable). No value may be NaN.
 * Three radix passes over the float32 image of the keys, then an exact pass over neighbours float32 cannot separate.
 */
export function sortByValue(items: Uint32Array, values: Float64Array): Uint32Array {
  const size = items.length;
  let keys = sortableBits(values, items);
  let order: Uint32Array = items.slice();
  let keysNext: Uint32Array = new Uint32Array(size);
  let orderNext: Uint32Array = new Uint32Array(size);
  const counts = new Uint32Array(BUCKETS);
  for (let shift = 0; shift < 33; shift += BITS) {
    counts.fill(0);
    for (let i = 0; i < size; i += 1) counts[(keys[i]! >>> shift) & MASK]! += 1;
    let sum = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      const count = counts[bucket]!;
      counts[bucket] = sum;
      sum += count;
    }
    for (let i = 0; i < size; i += 1) {
      const key = keys[i]!;
      const bucket = (key >>> shift) & MASK;
      const at = counts[bucket]!;
      counts[bucket] = at + 1;
      keysNext[at] = key;
      orderNext[at] = order[i]!;
    }
    [keys, keysNext] = [keysNext, keys];
    [order, orderNext] = [orderNext, order];
  }
  for (let start = 0; start < size; ) {
    let end = start + 1;
    let sorted = true;
    while (end < size && keys[end] === keys[start]) {
      if (values[order[end]!]! < values[order[end - 1]!]!) sorted = false;
      end += 1;
    }
    if (!sorted) {
      // Stable, as the radix passes were: Array sorts are stable, and a run is short unless its values are equal.
      const run = Array.from(order.subarray(start, end)).sort((a, b) => values[a]! - values[b]!);
      order.set(run, start);
    }
    start = end;
  }
  return order;
}

/** `items` in ascending order of a small whole-number key, stable. `keyCount`: keys are 0 … keyCount − 1. */
export function sortByKey(items: Uint32Array, key: (item: number) => number, keyCount: number): Uint32Array {
  const counts = new Uint32Array(keyCount + 1);
  const keys = new Uint32Array(items.length);
  for (let i = 0; i < items.length; i += 1) {
    keys[i] = key(items[i]!);
    counts[keys[i]! + 1]! += 1;
  }
  for (let k = 0; k < keyCount; k += 1) counts[k + 1]! += counts[k]!;
  const out = new Uint32Array(items.length);
  for (let i = 0; i < items.length; i += 1) {
    const at = counts[keys[i]!]!;
    counts[keys[i]!] = at + 1;
    out[at] = items[i]!;
  }
  return out;
}
