import { countRows } from '../../../src-workers/predict/dealing/tiles.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import type { RankRow } from '../../contract/api.ts';

export interface ImageOfUnits {
  readonly width: number;
  readonly height: number;
  /** Units in an image: below width × height if the last row is not full. */
  readonly units: number;
}

export function imageOf({ width, units, ordered }: SweepPlan): ImageOfUnits | null {
  if (width === undefined) return null;
  const length = ordered?.iterations.length ?? units;
  return { width, height: countRows(length, units, width), units: Math.min(length, units) };
}

export function tileNumbers(
  { design: { blockThreads, blockWidth, threadsPerUnit } }: RankRow,
  image: ImageOfUnits | null,
): readonly (readonly [name: string, value: number, about: string])[] {
  if (blockWidth === undefined || image === null) return [];
  const across = Math.ceil((image.width * threadsPerUnit) / blockWidth);
  const down = Math.ceil((image.height * blockWidth) / blockThreads);
  return [
    ['block_width', blockWidth, 'Threads of a block side by side; a block takes a tile of the units.'],
    ['block_height', blockThreads / blockWidth, 'Threads of a block one above another.'],
    ['image_width', image.width, 'Units in a row of an image.'],
    ['image_height', image.height, 'Rows in an image.'],
    ['image_units', image.units, 'Units in an image. Further units are further images.'],
    ['tiles_across', across, 'Tiles side by side in an image.'],
    ['tiles_per_image', across * down, 'Tiles in an image. In each round, a block takes one tile.'],
  ];
}
