/**
 * Makes binary heaps of the same capacity in common arrays. The first entry of a heap has the smallest key and, if
 * `byIndex`, the smallest index among equal keys.
 */
export function createHeaps(count: number, capacity: number, byIndex: boolean) {
  const keys = new Float64Array(count * capacity);
  const indices = new Int32Array(count * capacity);
  const sizes = new Int32Array(count);
  const isBefore = (key: number, index: number, otherKey: number, otherIndex: number): boolean =>
    key < otherKey || (byIndex && key === otherKey && index < otherIndex);

  function push(heap: number, key: number, index: number): void {
    const base = heap * capacity;
    let i = sizes[heap]++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(key, index, keys[base + parent], indices[base + parent])) break;
      keys[base + i] = keys[base + parent];
      indices[base + i] = indices[base + parent];
      i = parent;
    }
    keys[base + i] = key;
    indices[base + i] = index;
  }

  function replaceFirst(heap: number, key: number, index: number): void {
    const base = heap * capacity;
    const size = sizes[heap];
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      const at = base + child;
      if (child + 1 < size && isBefore(keys[at + 1], indices[at + 1], keys[at], indices[at])) child++;
      if (!isBefore(keys[base + child], indices[base + child], key, index)) break;
      keys[base + i] = keys[base + child];
      indices[base + i] = indices[base + child];
      i = child;
    }
    keys[base + i] = key;
    indices[base + i] = index;
  }

  /** Removes the first entry, and returns its index. */
  function pop(heap: number): number {
    const first = indices[heap * capacity];
    const last = heap * capacity + --sizes[heap];
    replaceFirst(heap, keys[last], indices[last]);
    return first;
  }

  return {
    sizes,
    firstKey: (heap: number): number => keys[heap * capacity],
    firstIndex: (heap: number): number => indices[heap * capacity],
    push,
    replaceFirst,
    pop,
  };
}
