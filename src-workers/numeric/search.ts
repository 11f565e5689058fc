/**
 * Finds the cell that holds a value, by bisection. A value outside all cells belongs to the first or last one.
 * @param edges ascending; cell i is from edges[i] to edges[i + 1]
 */
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

/**
 * Finds the first integer in low … high for which `holds` returns true, by bisection; `high` if there is none below.
 * @param holds must return true for every integer above the first one for which it returns true
 */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
