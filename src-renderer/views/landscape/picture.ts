import type { Ramp } from './colour.ts';

/** Times as a picture of one pixel each, first row at the bottom; where there is none it is transparent. */
export function gridPicture(
  { timeMs, columns: nx, rows: ny }: { readonly timeMs: Float64Array; readonly columns: number; readonly rows: number },
  step: (timeMs: number) => number,
  { packed }: Ramp,
): string {
  const canvas = document.createElement('canvas');
  canvas.width = nx;
  canvas.height = ny;
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(nx, ny);
  const pixels = new Uint32Array(image.data.buffer);
  for (let j = 0; j < ny; j += 1)
    for (let i = 0; i < nx; i += 1) {
      const time = timeMs[j * nx + i]!;
      if (!Number.isNaN(time)) pixels[(ny - 1 - j) * nx + i] = packed[step(time)]!;
    }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
