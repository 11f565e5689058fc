import type { Breakdown } from '../../src-workers/domain/breakdown.ts';
import type { RankRow } from '../../src-main/contract/api.ts';

/** A newer model may explain an older run's time differently; below this fraction the difference is not visible. */
const APART = 0.005;

/** Whether the parts of a design add up to another time than its run kept, since the model has changed in between. */
export function isRecomputedApart({ breakdown, predictedMs }: Pick<RankRow, 'breakdown' | 'predictedMs'>): boolean {
  return breakdown !== null && Math.abs(breakdown.timeMs / predictedMs - 1) > APART;
}

/** What a bar of the parts is long, ms, 0 without any: a negative part shortens the time, not the bar. */
export function drawnMs(breakdown: Breakdown | null): number {
  return Object.values(breakdown?.parts ?? {}).reduce((sum, part) => sum + Math.max(0, part), 0);
}
