import type { Ramp } from './colour.ts';

/** Times to draw, one per pixel, from the bottom row up; NaN if there is none. */
export interface Picture {
  readonly timeMs: ArrayLike<number>;
  readonly columns: number;
  readonly rows: number;
  /** For each pixel, 1 if one of its designs passes the filter; null if there is no filter. */
  readonly passing: Uint8Array | null;
}

export function paintPicture(
  canvas: HTMLCanvasElement,
  { timeMs, columns: nx, rows: ny, passing }: Picture,
  step: (timeMs: number) => number,
  { packed }: Ramp,
  outside: Ramp,
): void {
  canvas.width = nx;
  canvas.height = ny;
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(nx, ny);
  const pixels = new Uint32Array(image.data.buffer);
  for (let j = 0, at = 0; j < ny; j += 1)
    for (let pixel = (ny - 1 - j) * nx, end = pixel + nx; pixel < end; pixel += 1, at += 1) {
      const time = timeMs[at];
      if (!Number.isNaN(time)) pixels[pixel] = (passing && passing[at] === 0 ? outside.packed : packed)[step(time)];
    }
  context.putImageData(image, 0, 0);
}
