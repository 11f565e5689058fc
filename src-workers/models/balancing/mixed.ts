import type { GroupDepth } from '../../domain/depth.ts';
import { mergedValues } from './discrete-law.ts';

/**
 * Depth of groups of which a share has one unit per slot more than the rest, as a grid that does not divide the units
 * leaves them. All groups of a block belong to one side: a grid-stride loop gives the extra units to the first blocks.
 *
 * @param fewer,more depths of the two sides
 * @param share of the blocks with more units, 0…1
 */
export function mixedDepth(fewer: GroupDepth, more: GroupDepth, share: number): GroupDepth {
  const values = mergedValues(fewer.values, more.values);
  const sides = [
    {
      depth: fewer,
      share: 1 - share,
      rows: rowsOf(values, fewer.values),
      survival: new Float64Array(fewer.values.length),
    },
    { depth: more, share, rows: rowsOf(values, more.values), survival: new Float64Array(more.values.length) },
  ];
  const blend = (of: (depth: GroupDepth) => number): number => (1 - share) * of(fewer) + share * of(more);
  const meanWork = blend((depth) => depth.meanWork);
  return {
    values,
    meanDepth: blend((depth) => depth.meanDepth),
    meanWork,
    // Losses are weighted by work, as total lockstep time over total work is.
    aggregateLoss: blend((depth) => depth.aggregateLoss * depth.meanWork) / meanWork,
    meanLoss: blend((depth) => depth.meanLoss * depth.meanWork) / meanWork,
    survivalInto(out, groupsPerBlock) {
      out.fill(0);
      for (const side of sides) {
        side.depth.survivalInto(side.survival, groupsPerBlock);
        for (let i = 0; i < values.length; i += 1) {
          const row = side.rows[i]!;
          out[i]! += side.share * (row < 0 ? 1 : side.survival[row]!);
        }
      }
    },
  };
}

/** For each merged value, the last own value that is not above it; −1 below the first. */
function rowsOf(merged: Float64Array, own: Float64Array): Int32Array {
  const rows = new Int32Array(merged.length);
  let row = -1;
  for (let i = 0; i < merged.length; i += 1) {
    while (row + 1 < own.length && own[row + 1]! <= merged[i]!) row += 1;
    rows[i] = row;
  }
  return rows;
}
