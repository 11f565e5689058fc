/** Bisects ascending edges: cell i is from edges[i] to edges[i + 1]. Values outside are in the first or last cell. */
export function findCell(edges: Float64Array | Int32Array, value: number): number {
  let low = 0;
  let high = edges.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** The first integer in low … high from which on `holds` returns true, by bisection; `high` if there is none below. */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
