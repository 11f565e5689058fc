import type { GroupDepth } from '../../domain/depth.ts';

export type DepthMeans = Pick<GroupDepth, 'meanDepth' | 'meanWork' | 'aggregateLoss' | 'meanLoss' | 'fetches'>;

/** Computes the means over groups of which the fraction `share` has one unit more per slot than the others. */
export function mixMeans(fewer: DepthMeans, more: DepthMeans, share: number): DepthMeans {
  const blend = (of: (depth: DepthMeans) => number): number => (1 - share) * of(fewer) + share * of(more);
  const meanWork = blend((depth) => depth.meanWork);
  return {
    meanDepth: blend((depth) => depth.meanDepth),
    meanWork,
    // Losses are weighted by work, because a loss is total lockstep time divided by total work.
    aggregateLoss: blend((depth) => depth.aggregateLoss * depth.meanWork) / meanWork,
    // Computing a mean loss takes longer than the other means, and bounds of times do not need it.
    get meanLoss() {
      return blend((depth) => depth.meanLoss * depth.meanWork) / meanWork;
    },
  };
}
