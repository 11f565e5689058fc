import type { Balancing } from '../../../src-workers/domain/design.ts';
import { listBucketRanges } from '../../../src-workers/predict/depth/prepared-law.ts';
import type { RankRow } from '../../contract/api.ts';
import type { CodeSource } from './code.ts';

export const cutsUnits = ({ kind }: Balancing): boolean => kind === 'nonzero-split' || kind === 'merge-path';
export const padsUnits = ({ kind }: Balancing): boolean => kind === 'padded' || kind === 'padded-slice';

/**
 * Returns the largest length in each bucket, ascending; null if the balancing has no buckets.
 * @param width threads of a thread group of the device
 */
export function bucketEnds(
  { law }: CodeSource,
  { blockThreads, threadsPerUnit }: RankRow['design'],
  balancing: Balancing,
  width: number,
): readonly number[] | null {
  if (balancing.kind !== 'quantile-buckets' && balancing.kind !== 'best-buckets') return null;
  const unitsPerGroup = Math.min(width, blockThreads) / threadsPerUnit;
  return listBucketRanges(law, unitsPerGroup, balancing).map(({ to }) => Math.floor(to));
}
