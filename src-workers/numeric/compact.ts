export type CompactNumbers = Uint16Array | Uint32Array | Float64Array;

/** The same values in the smallest array that holds all of them exactly. */
export function compactNumbers(values: CompactNumbers): CompactNumbers {
  const words = new Uint16Array(values);
  if (isEqual(words, values)) return words;
  const longWords = new Uint32Array(values);
  return isEqual(longWords, values) ? longWords : values;
}

/** Whether two arrays have the same values, whatever their kinds. */
export function isEqual(one: CompactNumbers, other: CompactNumbers): boolean {
  if (one.length !== other.length) return false;
  // A loop is faster than a callback here: an order has millions of lengths.
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

/** An array of the kind of another one. */
export function makeNumbers(like: CompactNumbers, length: number): CompactNumbers {
  if (like instanceof Uint16Array) return new Uint16Array(length);
  return like instanceof Uint32Array ? new Uint32Array(length) : new Float64Array(length);
}
