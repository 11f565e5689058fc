import { readFileSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';

const coordinate = v.pipe(v.number(), v.integer(), v.minValue(-100_000), v.maxValue(100_000));
const extent = v.pipe(v.number(), v.integer(), v.minValue(100), v.maxValue(100_000));
const windowStateSchema = v.object({
  bounds: v.object({ x: coordinate, y: coordinate, width: extent, height: extent }),
  maximised: v.boolean(),
});
export type WindowState = v.InferOutput<typeof windowStateSchema>;
export type Rectangle = WindowState['bounds'];

export function readWindowState(file: string): WindowState | null {
  try {
    const parsed = v.safeParse(windowStateSchema, JSON.parse(readFileSync(file, 'utf8')));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

export function writeWindowState(file: string, state: WindowState): void {
  try {
    writeFileSync(file, JSON.stringify(state));
  } catch {
    // a full or read-only disk must not keep the window from closing
  }
}

/** Returns whether enough of the title bar is on a display to drag the window. Displays may have been removed. */
export function isReachable(bounds: Rectangle, workAreas: readonly Rectangle[]): boolean {
  const GRIP_PX = 80;
  return workAreas.some((area) => {
    const width = Math.min(bounds.x + bounds.width, area.x + area.width) - Math.max(bounds.x, area.x);
    return width >= GRIP_PX && bounds.y >= area.y && bounds.y + GRIP_PX / 2 <= area.y + area.height;
  });
}
