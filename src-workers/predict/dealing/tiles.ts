import type { LengthLaw } from '../../domain/workload.ts';
import { makeNumbers, type CompactNumbers } from '../../numeric/compact.ts';
import { createOwnedCache } from '../../numeric/budget.ts';
import { ORDER_BYTES, ORDER_MS } from '../constants.ts';
import { threadBudget } from '../memory.ts';

export interface Tile {
  readonly width: number;
  readonly height: number;
}

export interface TiledUnits {
  /** Iterations at each place of an image; 0 for a place without a unit. */
  readonly lengths: CompactNumbers;
  /** Number of places of all images, including places without a unit. */
  readonly units: number;
  readonly law: LengthLaw;
}

/** The rows of one image. More units repeat the image; fewer units use its first rows. */
export function countRows(lengths: number, units: number, width: number): number {
  return Math.ceil(Math.min(lengths, units) / width);
}

const getTiledUnits = createOwnedCache<CompactNumbers, string, TiledUnits>(
  threadBudget,
  ORDER_MS,
  ({ lengths, law }) => ORDER_BYTES + lengths.byteLength + law.support.byteLength + law.probability.byteLength,
);
/** Maximum number of lengths in all cached orders of tiles (64 MB). Two orders are always cached. */
const MAX_NUMBERS = 2 ** 23;

export function countMostTiles(lengths: number): number {
  return Math.max(2, Math.min(64, Math.floor(MAX_NUMBERS / lengths)));
}

/**
 * Returns the units of `lengths` in the order of tiles. If the last image is not full, it has only its first tiles.
 * @param law law of `units` units
 * @param width units of a row, ≥ 1
 */
export function orderByTiles(
  lengths: CompactNumbers,
  units: number,
  law: LengthLaw,
  width: number,
  tile: Tile,
): TiledUnits {
  const key = `${units} ${width} ${tile.width} ${tile.height}`;
  return getTiledUnits(lengths, key, () => {
    const image = lengths.length > units ? lengths.subarray(0, units) : lengths;
    const tiled = arrangeByTiles(image, width, tile);
    const images = Math.floor(units / image.length);
    const part = findPlaces(units - images * image.length, image.length, width, tile);
    const places = images * tiled.length + part.places;
    const share = (images * image.length + part.units) / places;
    return { lengths: tiled, units: places, law: share === 1 ? law : removeUnits(law, share) };
  });
}

function arrangeByTiles(image: CompactNumbers, width: number, tile: Tile): CompactNumbers {
  const rows = Math.ceil(image.length / width);
  const across = Math.ceil(width / tile.width);
  const down = Math.ceil(rows / tile.height);
  const out = makeNumbers(image, across * down * tile.width * tile.height);
  let to = 0;
  for (let top = 0; top < down * tile.height; top += tile.height)
    for (let left = 0; left < across * tile.width; left += tile.width) {
      const inside = Math.min(tile.width, width - left);
      for (let y = top; y < top + tile.height; y++, to += tile.width) {
        const from = y * width + left;
        for (let x = 0; x < inside && from + x < image.length; x++) out[to + x] = image[from + x];
      }
    }
  return out;
}

function findPlaces(wanted: number, length: number, width: number, tile: Tile): { places: number; units: number } {
  let places = 0;
  let units = 0;
  for (let top = 0; units < wanted; top += tile.height)
    for (let left = 0; left < width && units < wanted; left += tile.width) {
      places += tile.width * tile.height;
      const right = Math.min(width, left + tile.width);
      for (let y = top; y < top + tile.height; y++)
        units += Math.max(0, Math.min(y * width + right, length) - (y * width + left));
    }
  return { places, units };
}

function removeUnits(law: LengthLaw, share: number): LengthLaw {
  const probability = law.probability.map((part) => part * share);
  if (law.support[0] === 0) {
    probability[0] += 1 - share;
    return { ...law, probability };
  }
  return {
    ...law,
    support: Float64Array.of(0, ...law.support),
    probability: Float64Array.of(1 - share, ...probability),
  };
}
