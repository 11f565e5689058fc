import { moved, WHOLE, zoomed, type Zoom } from '../../charts/zoom.ts';

/** The part of a map that is shown. */
export interface MapZoom {
  readonly x: Zoom;
  readonly y: Zoom;
}
/** All of it: the one value that says that nothing is out of sight. */
export const WHOLE_MAP: MapZoom = { x: WHOLE, y: WHOLE };

interface Cells {
  readonly nx: number;
  readonly ny: number;
}
/** Fewer cells than these do not fill a map. */
const FEWEST = 4;

/** Ends that differ from those of the whole by rounding only are those of the whole. */
const ROUNDING = 1e-9;
const isWhole = ([from, to]: Zoom): boolean => to - from >= 1 - ROUNDING;
const known = (zoom: MapZoom): MapZoom => (isWhole(zoom.x) && isWhole(zoom.y) ? WHOLE_MAP : zoom);

/** Zoomed by a factor (below 1: closer) about a place of what is shown, 0…1 from the left and from below. */
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

/** Moved to the right and upwards, by shares of what is shown. */
export function movedMap(zoom: MapZoom, right: number, up: number): MapZoom {
  return zoom === WHOLE_MAP ? zoom : { x: moved(zoom.x, right), y: moved(zoom.y, up) };
}

/** Moved as little as brings a cell in sight. */
export function showingCell(zoom: MapZoom, cell: number, { nx, ny }: Cells): MapZoom {
  const shown = ([from, to]: Zoom, at: number, many: number): Zoom => {
    const [low, high] = [at / many, (at + 1) / many];
    const by = low < from ? low - from : high > to ? high - to : 0;
    return by === 0 ? [from, to] : [from + by, to + by];
  };
  if (zoom === WHOLE_MAP) return zoom;
  return { x: shown(zoom.x, cell % nx, nx), y: shown(zoom.y, Math.floor(cell / nx), ny) };
}

/** How much closer than the whole it is, along the axis that is closer. */
export function magnification({ x, y }: MapZoom): number {
  return Math.max(1 / (x[1] - x[0]), 1 / (y[1] - y[0]));
}
