import { moved, WHOLE, zoomed, type Zoom } from '../../charts/zoom.ts';

export interface MapZoom {
  readonly x: Zoom;
  readonly y: Zoom;
}
export const WHOLE_MAP: MapZoom = { x: WHOLE, y: WHOLE };

interface Cells {
  readonly nx: number;
  readonly ny: number;
}
const FEWEST = 4;

/** An axis counts as wholly visible if at most this fraction of it is hidden. */
const ROUNDING = 1e-9;
const isWhole = ([from, to]: Zoom): boolean => to - from >= 1 - ROUNDING;
const known = (zoom: MapZoom): MapZoom => (isWhole(zoom.x) && isWhole(zoom.y) ? WHOLE_MAP : zoom);

export function zoomedMap(
  zoom: MapZoom,
  by: number,
  { nx, ny }: Cells,
  at: { readonly x: number; readonly y: number } = { x: 0.5, y: 0.5 },
): MapZoom {
  return known({
    x: zoomed(zoom.x, by, at.x, Math.min(1, FEWEST / nx)),
    y: zoomed(zoom.y, by, at.y, Math.min(1, FEWEST / ny)),
  });
}

export function movedMap(zoom: MapZoom, right: number, up: number): MapZoom {
  return zoom === WHOLE_MAP ? zoom : { x: moved(zoom.x, right), y: moved(zoom.y, up) };
}

export function showingCell(zoom: MapZoom, cell: number, { nx, ny }: Cells): MapZoom {
  const shown = ([from, to]: Zoom, at: number, many: number): Zoom => {
    const [low, high] = [at / many, (at + 1) / many];
    const by = low < from ? low - from : high > to ? high - to : 0;
    return by === 0 ? [from, to] : [from + by, to + by];
  };
  if (zoom === WHOLE_MAP) return zoom;
  return { x: shown(zoom.x, cell % nx, nx), y: shown(zoom.y, Math.floor(cell / nx), ny) };
}

export function magnification({ x, y }: MapZoom): number {
  return Math.max(1 / (x[1] - x[0]), 1 / (y[1] - y[0]));
}
