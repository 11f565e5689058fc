/**
 * The cell that holds a value, by bisection: that of the last edge that is at most the value, or the first or last
 * cell.
 * @param edges ascending, one more than cells
 */
export function cellOf(edges: Float64Array | Int32Array, value: number): number {
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
 * The first integer in low … high for which `holds`, by bisection; `high` where it holds for none before.
 * @param holds once true, true for all larger integers
 */
export function firstIndex(low: number, high: number, holds: (index: number) => boolean): number {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
