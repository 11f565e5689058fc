export type CompactNumbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Returns the same values in the smallest kind of array that holds all of them exactly. */
export function compactNumbers(values: CompactNumbers): CompactNumbers {
  if (values instanceof Uint8Array) return values;
  const most = findLargestWhole(values);
  if (most < 2 ** 8) return new Uint8Array(values);
  if (most < 2 ** 16) return values instanceof Uint16Array ? values : new Uint16Array(values);
  return most < 2 ** 32 && !(values instanceof Uint32Array) ? new Uint32Array(values) : values;
}

/** Returns Infinity if a value is no whole number below 2³². A function of its own, so that V8 optimises the loop. */
function findLargestWhole(values: CompactNumbers): number {
  let most = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value >>> 0 !== value) return Infinity;
    if (value > most) most = value;
  }
  return most;
}

/** Like `compactNumbers`, but always a copy, for callers that overwrite `values` later. */
export function copyCompactly(values: CompactNumbers): CompactNumbers {
  const compact = compactNumbers(values);
  return compact === values ? values.slice() : compact;
}

export function isEqual(one: CompactNumbers, other: CompactNumbers): boolean {
  if (one.length !== other.length) return false;
  // A loop is faster than a callback here: an order has millions of lengths.
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

export function makeNumbers<Numbers extends CompactNumbers>(like: Numbers, length: number): Numbers {
  return new (like.constructor as new (length: number) => Numbers)(length);
}

/** Finds the largest of some numbers that are not negative; 0 if there are none. */
export function findLargest(values: CompactNumbers): number {
  let largest = 0;
  // An iterator over several kinds of arrays would make an object for each value.
  for (let at = 0; at < values.length; at++) if (values[at] > largest) largest = values[at];
  return largest;
}
