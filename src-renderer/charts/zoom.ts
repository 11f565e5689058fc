export type Zoom = readonly [from: number, to: number];
export const WHOLE: Zoom = [0, 1];
export const CLOSEST = 1 / 64;

function within(from: number, width: number): Zoom {
  const start = Math.max(0, Math.min(1 - width, from));
  return [start, start + width];
}

/** Zooms by a factor (below 1: closer) around a position in the visible part, 0…1. At least `closest` stays visible. */
export function zoomed([from, to]: Zoom, by: number, at = 0.5, closest = CLOSEST): Zoom {
  const width = Math.min(1, Math.max(closest, (to - from) * by));
  return within(from + at * (to - from - width), width);
}

export function moved([from, to]: Zoom, by: number): Zoom {
  return within(from + by * (to - from), to - from);
}
