import type { RankRow } from '../../src-main/contract/api.ts';

/** A newer model may explain an older run's time differently. A difference below this fraction is not visible. */
const APART = 0.005;

/** Whether the parts of a design do not add up to the saved time of its run. */
export function isRecomputedApart({ breakdown, predictedMs }: Pick<RankRow, 'breakdown' | 'predictedMs'>): boolean {
  return breakdown !== null && Math.abs(breakdown.timeMs / predictedMs - 1) > APART;
}
