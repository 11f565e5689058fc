/** Entries that are due at the same instant take turns: each turn adds this fraction of the instant to the key. */
export const TURN = 1e-9;

/** Small integers i, ordered by `key[i]`, then by i. Only the key of the first may grow, and `settle` must follow. */
export interface IndexedQueue {
  push(index: number): void;
  pop(): number;
  /** Moves the first entry to its place after its key has grown. */
  settle(): void;
  /** Without meaning if the queue is empty. */
  first(): number;
  size(): number;
  clear(): void;
}

export function indexedQueue(key: Float64Array): IndexedQueue {
  const heap = new Int32Array(key.length);
  let size = 0;
  const before = (a: number, b: number): boolean => key[a] < key[b] || (key[a] === key[b] && a < b);
  const sink = (moved: number): void => {
    const own = key[moved];
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      let index = heap[child];
      let smaller = key[index];
      if (child + 1 < size) {
        const other = heap[child + 1];
        const otherKey = key[other];
        if (otherKey < smaller || (otherKey === smaller && other < index)) {
          child++;
          index = other;
          smaller = otherKey;
        }
      }
      if (smaller > own || (smaller === own && index > moved)) break;
      heap[i] = index;
      i = child;
    }
    heap[i] = moved;
  };
  return {
    first: () => heap[0],
    size: () => size,
    clear: () => {
      size = 0;
    },
    push(index) {
      let i = size++;
      while (i > 0) {
        const parent = (i - 1) >> 1;
        if (!before(index, heap[parent])) break;
        heap[i] = heap[parent];
        i = parent;
      }
      heap[i] = index;
    },
    pop() {
      const top = heap[0];
      size--;
      sink(heap[size]);
      return top;
    },
    settle: () => sink(heap[0]),
  };
}
