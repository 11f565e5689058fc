export interface CellAxis {
  /** Distance in design numbers between two neighbouring positions. */
  readonly stride: number;
  readonly count: number;
  /** The contribution of each position to the number of the cell; null if cells do not distinguish this axis. */
  readonly cells: ArrayLike<number> | null;
}

export interface BestOfCells {
  /** Best time of each cell; NaN if the cell has no valid design. */
  readonly timeMs: Float64Array;
  /** The fastest design of each cell, the first of equally fast ones; NO_DESIGN if the cell has no valid design. */
  readonly designIndex: Uint32Array;
}

export const NO_DESIGN = 2 ** 32 - 1;

/**
 * Finds the best design of each cell. `first` is the design at position 0 of all axes.
 * @param timeMs the time of each design, or of each entry of `designs`; NaN if invalid
 * @param designs ascending; null if every design has an entry
 */
export function bestOfCells(
  timeMs: Float64Array,
  designs: Uint32Array | null,
  first: number,
  axes: readonly CellAxis[],
  cells: number,
): BestOfCells {
  const best = new Float64Array(cells).fill(Infinity);
  const designIndex = new Uint32Array(cells).fill(NO_DESIGN);
  // The innermost loop has the smallest stride. A larger stride would miss the cache at every design.
  const outer = axes.filter(({ count }) => count !== 1).sort((a, b) => b.stride - a.stride);
  if (designs)
    for (const [entry, design] of designs.entries()) {
      const cell = cellOfDesign(design - first, outer);
      if (cell < 0 || !(timeMs[entry] < best[cell])) continue;
      best[cell] = timeMs[entry];
      designIndex[cell] = design;
    }
  else walkDesigns(timeMs, first, outer, best, designIndex);
  for (let cell = 0; cell < cells; cell += 1) if (best[cell] === Infinity) best[cell] = NaN;
  return { timeMs: best, designIndex };
}

/** Returns the cell of the design `first` + `after`; −1 outside the axes. The axes descend by stride. */
function cellOfDesign(after: number, axes: readonly CellAxis[]): number {
  let rest = after;
  let cell = 0;
  for (const { stride, count, cells } of axes) {
    const position = Math.floor(rest / stride);
    if (position < 0 || position >= count) return -1;
    cell += cells?.[position] ?? 0;
    rest -= position * stride;
  }
  return rest === 0 ? cell : -1;
}

function walkDesigns(
  timeMs: Float64Array,
  first: number,
  outer: CellAxis[],
  best: Float64Array,
  designIndex: Uint32Array,
): void {
  const inner = outer.pop() ?? { stride: 1, count: 1, cells: null };
  const steps = Int32Array.from({ length: inner.count }, (_, position) => inner.cells?.[position] ?? 0);
  const walk = (level: number, design: number, cell: number): void => {
    const axis = outer[level];
    if (axis) {
      for (let position = 0; position < axis.count; position += 1)
        walk(level + 1, design + position * axis.stride, cell + (axis.cells?.[position] ?? 0));
      return;
    }
    for (let position = 0, at = design; position < steps.length; position += 1, at += inner.stride) {
      const time = timeMs[at];
      const to = cell + steps[position];
      if (time < best[to]) {
        best[to] = time;
        designIndex[to] = at;
      }
    }
  };
  walk(0, first, 0);
}

/** The best of the cells from `from` to `to` (excluded): its time, ms, and its design; NaN and −1 if none is valid. */
export function bestCell(
  { timeMs, designIndex }: BestOfCells,
  from = 0,
  to = timeMs.length,
): { readonly best: number; readonly bestDesign: number } {
  let best = NaN;
  let bestDesign = -1;
  for (let cell = from; cell < to; cell += 1) {
    const time = timeMs[cell];
    const design = designIndex[cell];
    if (design === NO_DESIGN) continue;
    if (bestDesign < 0 || time < best || (time === best && design < bestDesign)) {
      best = time;
      bestDesign = design;
    }
  }
  return { best, bestDesign };
}
