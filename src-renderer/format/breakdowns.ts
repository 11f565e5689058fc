import type { Breakdown } from '../../src-workers/domain/breakdown.ts';
import type { RankRow } from '../../src-main/contract/api.ts';

/** A newer model may explain an older run's time differently. A difference below this fraction is not visible. */
const APART = 0.005;

/** Whether the parts of a design do not add up to the saved time of its run. */
export function isRecomputedApart({ breakdown, predictedMs }: Pick<RankRow, 'breakdown' | 'predictedMs'>): boolean {
  return breakdown !== null && Math.abs(breakdown.timeMs / predictedMs - 1) > APART;
}

/** Returns the drawn length of a breakdown's bar, ms. A negative part shortens the time, but not the bar. */
export function drawnMs(breakdown: Breakdown | null): number {
  return Object.values(breakdown?.parts ?? {}).reduce((sum, part) => sum + Math.max(0, part), 0);
}
