import type { GroupDepth } from '../../domain/depth.ts';

/** What a work group costs and loses on average. */
export type DepthMeans = Pick<GroupDepth, 'meanDepth' | 'meanWork' | 'aggregateLoss' | 'meanLoss' | 'fetches'>;

/**
 * Means over groups of which a share has one unit per slot more than the rest, as a grid that does not divide the units
 * leaves them.
 * @param fewer,more of the two sides
 * @param share of the groups with more units, 0…1
 */
export function mixedMeans(fewer: DepthMeans, more: DepthMeans, share: number): DepthMeans {
  const blend = (of: (depth: DepthMeans) => number): number => (1 - share) * of(fewer) + share * of(more);
  const meanWork = blend((depth) => depth.meanWork);
  return {
    meanDepth: blend((depth) => depth.meanDepth),
    meanWork,
    // Losses are weighted by work, as total lockstep time over total work is.
    aggregateLoss: blend((depth) => depth.aggregateLoss * depth.meanWork) / meanWork,
    meanLoss: blend((depth) => depth.meanLoss * depth.meanWork) / meanWork,
  };
}
