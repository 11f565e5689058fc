import { describe, expect, it } from 'vitest';
import { drawnMs, isRecomputedApart } from '../../../src-renderer/format/breakdowns.ts';
import { regimeInfo } from '../../../src-workers/domain/regime.ts';
import type { RankRow } from '../../../src-main/contract/api.ts';

const row = (predictedMs: number, timeMs: number | null): Pick<RankRow, 'breakdown' | 'predictedMs'> => ({
  predictedMs,
  breakdown:
    timeMs === null
      ? null
      : { timeMs, regime: regimeInfo('one-wave'), parts: {} as NonNullable<RankRow['breakdown']>['parts'] },
});

describe('parts that were computed by another model than the time they explain', () => {
  it('are said to be where they add up to more than 0.5 % beside it, either way', () => {
    expect(isRecomputedApart(row(1, 1.006))).toBe(true);
    expect(isRecomputedApart(row(1, 0.994))).toBe(true);
    expect(isRecomputedApart(row(1, 1.004))).toBe(false);
    expect(isRecomputedApart(row(1, 0.996))).toBe(false);
  });

  it('are not asked of a design without parts', () => {
    expect(isRecomputedApart(row(1, null))).toBe(false);
  });
});

it('draws the parts of a time that are there: a negative one shortens the time, not the bar', () => {
  const parts = { idealWork: 2, imbalance: 1, lastWave: -0.5 } as NonNullable<RankRow['breakdown']>['parts'];
  expect(drawnMs({ timeMs: 2.5, parts, regime: regimeInfo('one-wave') })).toBe(3);
  expect(drawnMs(null)).toBe(0);
});
