/** Scrolls through more rows than a browser can display at full height, and decides which pages to keep. */

/** Browsers clip elements taller than about 16 million px. Lists are at most this high, with a compressed scrollbar. */
export const MAX_SCROLL_PX = 12_000_000;

export interface Geometry {
  readonly rowPx: number;
  readonly count: number;
  readonly viewPx: number;
}

export function scrollHeightPx({ rowPx, count }: Geometry): number {
  return Math.min(rowPx * count, MAX_SCROLL_PX);
}

export function lastTopPx({ rowPx, count, viewPx }: Geometry): number {
  return Math.max(0, rowPx * count - viewPx);
}

export function clampTopPx(geometry: Geometry, topPx: number): number {
  return Math.min(lastTopPx(geometry), Math.max(0, topPx));
}

export function isScaled(geometry: Geometry): boolean {
  return geometry.rowPx * geometry.count > MAX_SCROLL_PX;
}

export function topOfScrollPx(geometry: Geometry, scrollTop: number): number {
  if (!isScaled(geometry)) return clampTopPx(geometry, scrollTop);
  const travel = MAX_SCROLL_PX - geometry.viewPx;
  return clampTopPx(geometry, (scrollTop / travel) * lastTopPx(geometry));
}

export function scrollOfTopPx(geometry: Geometry, topPx: number): number {
  if (!isScaled(geometry)) return topPx;
  return (topPx / lastTopPx(geometry)) * (MAX_SCROLL_PX - geometry.viewPx);
}

export function visibleRows({ rowPx, count, viewPx }: Geometry, topPx: number): { first: number; last: number } {
  return {
    first: Math.max(0, Math.min(count, Math.floor(topPx / rowPx))),
    last: Math.max(0, Math.min(count, Math.ceil((topPx + viewPx) / rowPx))),
  };
}

/** Returns the nearest scroll position at which a row is completely visible, px. */
export function revealPx(geometry: Geometry, topPx: number, row: number): number {
  const { rowPx, viewPx } = geometry;
  if (row * rowPx < topPx) return clampTopPx(geometry, row * rowPx);
  if ((row + 1) * rowPx > topPx + viewPx) return clampTopPx(geometry, (row + 1) * rowPx - viewPx);
  return topPx;
}

/**
 * Returns the pages for rows first … last − 1, most important first: the visible pages, then the page in the direction
 * of scrolling, then the page on the other side.
 */
export function wantedPages(first: number, last: number, count: number, pageRows: number, down: boolean): number[] {
  if (count === 0 || last <= first) return [];
  const lastPage = Math.floor((count - 1) / pageRows);
  const from = Math.floor(first / pageRows);
  const to = Math.min(lastPage, Math.floor((last - 1) / pageRows));
  const visible = Array.from({ length: to - from + 1 }, (_, i) => from + i);
  const sides = down ? [to + 1, from - 1] : [from - 1, to + 1];
  return [...visible, ...sides.filter((page) => page >= 0 && page <= lastPage)];
}
