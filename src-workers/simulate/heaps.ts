/**
 * Makes binary heaps of the same capacity in common arrays. The first entry of a heap has the smallest key and, if
 * `byIndex`, the smallest index among equal keys.
 */
export function createHeaps(count: number, capacity: number, byIndex: boolean) {
  const keys = new Float64Array(count * capacity);
  const indices = new Int32Array(count * capacity);
  const sizes = new Int32Array(count);

  function push(heap: number, key: number, index: number): void {
    const base = heap * capacity;
    let i = sizes[heap]++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const at = base + parent;
      const other = keys[at];
      if (other < key || (other === key && !(byIndex && index < indices[at]))) break;
      keys[base + i] = other;
      indices[base + i] = indices[at];
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
      let first = keys[base + child];
      if (child + 1 < size) {
        const at = base + child + 1;
        const other = keys[at];
        if (other < first || (byIndex && other === first && indices[at] < indices[at - 1])) {
          first = other;
          child++;
        }
      }
      const at = base + child;
      if (first > key || (first === key && !(byIndex && indices[at] < index))) break;
      keys[base + i] = first;
      indices[base + i] = indices[at];
      i = child;
    }
    keys[base + i] = key;
    indices[base + i] = index;
  }

  function pop(heap: number): number {
    const first = indices[heap * capacity];
    const last = heap * capacity + --sizes[heap];
    replaceFirst(heap, keys[last], indices[last]);
    return first;
  }

  return {
    /** The entries of a heap start at its number times `capacity`. */
    keys,
    sizes,
    firstKey: (heap: number): number => keys[heap * capacity],
    firstIndex: (heap: number): number => indices[heap * capacity],
    push,
    replaceFirst,
    pop,
  };
}
