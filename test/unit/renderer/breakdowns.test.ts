import { describe, expect, it } from 'vitest';
import { drawnMs, isRecomputedApart } from '../../../src-renderer/format/breakdowns.ts';
import { achievedText, regimeText, type Achieved } from '../../../src-workers/domain/breakdown.ts';
import { REGIME_INFO, regimeInfo } from '../../../src-workers/domain/regime.ts';
import { REGIMES } from '../../../src-workers/predict/time/regimes.ts';
import type { RankRow } from '../../../src-main/contract/api.ts';

const achieved: Achieved = { issueFraction: 0.6, bandwidthGbS: null, bandwidthFraction: null, limit: 'issue' };

const row = (predictedMs: number, timeMs: number | null): Pick<RankRow, 'breakdown' | 'predictedMs'> => ({
  predictedMs,
  breakdown:
    timeMs === null
      ? null
      : { timeMs, achieved, regime: regimeInfo('one-wave'), parts: {} as NonNullable<RankRow['breakdown']>['parts'] },
});

it('parts that were computed by another model than the time they explain are marked if their sum differs from it by more than 0.5 %', () => {
  expect(isRecomputedApart(row(1, 1.006))).toBe(true);
  expect(isRecomputedApart(row(1, 0.994))).toBe(true);
  expect(isRecomputedApart(row(1, 1.004))).toBe(false);
  expect(isRecomputedApart(row(1, 0.996))).toBe(false);
  expect(isRecomputedApart(row(1, null))).toBe(false);
});

it('draws the existing parts of a time, and a negative part shortens the time, not the bar', () => {
  const parts = { idealWork: 2, imbalance: 1, lastWave: -0.5 } as NonNullable<RankRow['breakdown']>['parts'];
  expect(drawnMs({ timeMs: 2.5, parts, achieved, regime: regimeInfo('one-wave') })).toBe(3);
  expect(drawnMs(null)).toBe(0);
});

it('states which fractions of the peaks are reached, and which peak limits, as far as known', () => {
  const said = (change: Partial<Achieved>) => achievedText({ ...achieved, ...change }).replaceAll('\u00a0', ' ');
  expect(said({})).toBe('60 % of peak instruction issue, which limits it');
  expect(said({ bandwidthGbS: 1234.5, bandwidthFraction: 0.8, limit: 'bandwidth' })).toBe(
    '60 % of peak instruction issue; 1,230 GB/s, 80 % of peak bandwidth, which limits it',
  );
  expect(said({ issueFraction: 0.041, bandwidthGbS: 3, bandwidthFraction: 0.02, limit: null })).toBe(
    '4.1 % of peak instruction issue; 3 GB/s, 2.0 % of peak bandwidth; neither limits it',
  );
  expect(said({ issueFraction: null, bandwidthGbS: 90, bandwidthFraction: 0.9, limit: null })).toBe(
    '90 GB/s, 90 % of peak bandwidth',
  );
});

describe('the regime that gave a time', () => {
  const text = (accuracy: { median: number; p95: number; designs: number } | null) =>
    regimeText({ label: 'A few waves', accuracy }).replaceAll('\u00a0', ' ');
  it('is named with its accuracy', () => {
    expect(text({ median: 0.00512, p95: 0.0531, designs: 1775 })).toBe(
      'Predicted as: A few waves. Such predictions differ from simulation by 0.5 % in the median, 5.3 % at the 95th percentile (1,775 designs).',
    );
    expect(text({ median: 0.0004, p95: 0.0006, designs: 20 })).toBe(
      'Predicted as: A few waves. Such predictions differ from simulation by less than 0.1 % in the median, 0.1 % at the 95th percentile (20 designs).',
    );
  });
  it('has one figure where both are the same, and none where none are known', () => {
    const expected =
      'Predicted as: A few waves. Such predictions differ from simulation by less than 0.1 % (206 designs).';
    expect(text({ median: 0, p95: 0, designs: 206 })).toBe(expected);
    expect(text(null)).toBe('Predicted as: A few waves.');
  });
  it('is listed in the order in which regimes are tried', () =>
    expect(REGIME_INFO.map(({ id }) => id).slice(0, REGIMES.length)).toEqual(REGIMES.map(({ id }) => id)));
});
