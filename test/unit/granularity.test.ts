import { expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { costFactor, granularityCurve } from '../../src-workers/models/granularity/granularity.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { exampleStudy } from '../catalogue.ts';
import { planOf } from './sweep-plans.ts';

it('granularity is exactly one iteration for a single lane, and follows Amdahl without a cost of cooperation', () => {
  expect(costFactor(1, 0.3, 0.1)).toBe(1);
  expect(costFactor(8, 0, 0)).toBe(1 / 8);
  expect(costFactor(8, 1, 0)).toBe(1);
  expect(costFactor(8, 0.5, 0.1)).toBeCloseTo(0.5 / 8 + 0.5 + 0.3, 15);
});

it('granularity finds 8 units × 4 threads best for the Acts propagation', async () => {
  const { law } = await planOf(exampleStudy('acts'));
  const rows = granularityCurve(law, 32, 1 / 21, 0);
  expect(rows.map((row) => row.unitsPerGroup)).toEqual([32, 16, 8, 4, 2, 1]);
  const expected = ['1.647', '1.516', '1.486', '1.591', '1.893'];
  expect(rows.slice(0, 5).map((row) => row.laneCostMean.toFixed(3))).toEqual(expected);
  const best = rows.reduce((a, b) => (b.laneCostMean < a.laneCostMean ? b : a));
  expect(best).toMatchObject({ unitsPerGroup: 8, threadsPerUnit: 4 });
  // A whole thread group on one unit has no imbalance, but pays the full cost of the serial part.
  expect(rows[5]).toMatchObject({ meanLoss: 1, aggregateLoss: 1 });
  expect(Math.abs(rows[5].laneCostMean - 32 * costFactor(32, 1 / 21, 0))).toBeLessThan(1e-14);
});

it('the granularity refuses a thread group that cannot be halved', () =>
  expect(() => granularityCurve(unwrap(geometricLaw(0.5)), 24, 0, 0)).toThrow(
    'The width of a thread group must be a power of two, not 24.',
  ));
