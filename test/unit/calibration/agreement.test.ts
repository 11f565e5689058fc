import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { agreement, type Agreement, type MeasuredDesigns } from '../../../src-workers/models/calibration/agreement.ts';
import { bestOfFirst, expectedExcess, randomMeasurements } from '../../../src-workers/models/calibration/search.ts';
import { mersenneTwister } from '../../../src-workers/numeric/random.ts';

const of = (...values: number[]) => Float64Array.from(values);
const agree = (input: MeasuredDesigns): Agreement => unwrap(agreement(input, { uniform: mersenneTwister(1) }));
/** Allows for the rounding in sums of a few terms of the size of the values. */
const ROUNDING = 16 * Number.EPSILON;

function subsets(count: number, size: number): number[][] {
  if (size === 0) return [[]];
  if (count < size) return [];
  return [...subsets(count - 1, size), ...subsets(count - 1, size - 1).map((subset) => [...subset, count - 1])];
}

describe('random search, compared with every possible choice', () => {
  const values = of(2, 3, 3, 5, 9, 11, 20);
  const n = values.length;

  it('expects the best of k draws exactly', () => {
    for (let k = 1; k <= n; k++) {
      const all = subsets(n, k);
      const expected = all.reduce((sum, subset) => sum + Math.min(...subset.map((i) => values[i])), 0) / all.length;
      expect(Math.abs(2 + expectedExcess(values, k) - expected)).toBeLessThan(20 * ROUNDING);
      const capped = all.reduce((sum, subset) => sum + Math.min(4, ...subset.map((i) => values[i])), 0) / all.length;
      expect(Math.abs(2 + expectedExcess(values, k, 4) - capped)).toBeLessThan(20 * ROUNDING);
    }
    expect(expectedExcess(values, n)).toBe(0);
  });

  it('needs as many measurements as an enumeration shows, for any target', () => {
    for (const target of [2, 2.5, 3, 4, 6, 10, 20]) {
      const sizes = Array.from({ length: n }, (_, i) => i + 1);
      const leasts = sizes.map((k) => subsets(n, k).map((subset) => Math.min(...subset.map((i) => values[i]))));
      const byMean = leasts.findIndex((least) => least.reduce((sum, value) => sum + value, 0) / least.length <= target);
      expect(randomMeasurements(values, target)).toBe(byMean + 1);
    }
  });

  it('breaks ties of the prediction in every possible way', () => {
    const predicted = of(1, 2, 2, 2, 3, 1.5, 9);
    const measured = of(8, 7, 3, 9, 1, 12, 4);
    const orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]].map((tied) => [0, 5, ...tied, 4, 6]); // prettier-ignore
    for (let k = 1; k <= n; k++) {
      const expected =
        orders.reduce((sum, order) => sum + Math.min(...order.slice(0, k).map((i) => measured[i])), 0) / orders.length;
      expect(Math.abs(bestOfFirst(predicted, measured, k) - expected)).toBeLessThan(10 * ROUNDING);
    }
  });
});

describe('agreement, by hand', () => {
  it('is perfect after scaling if predictions differ only by a factor', () => {
    const predictedMs = of(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const result = agree({ predictedMs, measuredMs: predictedMs.map((time) => 3 * time) });
    for (const figure of ['spearman', 'kendall'] as const)
      expect(Math.abs(result[figure].value - 1)).toBeLessThan(ROUNDING);
    expect(result.scale.value).toBe(3);
    expect(result.medianError.value).toBe(0);
    expect(result.unscaled.medianError).toBeCloseTo(2 / 3, 15);
    expect(result.shortlists.map(({ k, regret }) => [k, regret])).toEqual([[1, 0], [2, 0], [5, 0]]); // prettier-ignore
    // All nine designs together certainly contain the best one.
    expect(result.shortlists[0]).toMatchObject({ randomMeasurements: 9 });
    expect(result.scale.interval).toEqual({ low: 3, high: 3 });
  });

  it('computes the regret over the measured best, and the measurements that random search would need', () => {
    const result = agree({ predictedMs: of(1, 2, 3, 4, 5, 6), measuredMs: of(20, 12, 30, 10, 40, 50) });
    // There are 20 choices of three designs. The least time is 10 in ten of them, 12 in six, 20 in three and 30 in one,
    // so the mean is 13.1. For choices of four, it is 11.2.
    expect(result.shortlists).toMatchObject([
      { k: 1, bestMs: 20, regret: 1, randomMeasurements: 2 },
      { k: 2, bestMs: 12, randomMeasurements: 4 },
      { k: 5, bestMs: 10, regret: 0, randomMeasurements: 6 },
    ]);
  });

  it('finds the axis that the model gets wrong', () => {
    const uniform = mersenneTwister(2);
    const block = Array.from({ length: 120 }, (_, i) => 32 << (i % 4));
    const loop = Array.from({ length: 120 }, (_, i) => (i % 3 === 0 ? 'flattened' : 'nested'));
    const predictedMs = Float64Array.from({ length: 120 }, () => 1 + uniform());
    const measuredMs = predictedMs.map(
      (time, i) => time * (loop[i] === 'flattened' ? 1.5 : 1) * (1 + 0.02 * (uniform() - 0.5)),
    );
    const { axes, residuals } = agree({
      predictedMs,
      measuredMs,
      axes: [
        { axis: 'blockThreads', values: block },
        { axis: 'loop', values: loop },
        { axis: 'design', values: block.map((_, i) => i) },
      ],
    });
    expect(axes.map(({ axis }) => axis)).toEqual(['loop', 'blockThreads', 'design']);
    expect(axes[0].explained).toBeGreaterThan(0.99);
    expect(axes[1].explained).toBeLessThan(0.05);
    expect(axes[2].explained).toBeNull();
    const [flattened, nested] = axes[0].values;
    expect([flattened.value, flattened.designs, nested.value, nested.designs]).toEqual(['flattened', 40, 'nested', 80]);
    // Both values have noise of ±1 %.
    expect(Math.abs(flattened.medianResidual - nested.medianResidual - Math.log(1.5))).toBeLessThan(0.01);
    expect(flattened.lowerQuartile).toBeLessThanOrEqual(flattened.medianResidual);
    expect(axes[1].values.map(({ value }) => value)).toEqual([32, 64, 128, 256]);
    expect(residuals).toHaveLength(120);
  });

  it('states which designs its figures cover', () => {
    const input = { predictedMs: of(1, 2, 3), measuredMs: of(3, 2, 5) };
    const part = agree({ ...input, designsOfRun: 5000 });
    expect(part).toMatchObject({ designs: 3, scale: { interval: null } });
    expect(part.notes[0]).toContain('for the 3 measured designs, of 5,000 valid ones');
    expect(agree(input).notes).toEqual(['3 designs are too few for intervals, which need at least 8.']);
  });

  it('refuses columns that do not belong together, too few designs, and invalid times', () => {
    const refused = (input: MeasuredDesigns) => agreement(input, { uniform: mersenneTwister(1) });
    expect(refused({ predictedMs: of(1, 2), measuredMs: of(1) })).toMatchObject({ ok: false });
    expect(refused({ predictedMs: of(1), measuredMs: of(1) })).toMatchObject({ ok: false });
    expect(refused({ predictedMs: of(1, NaN), measuredMs: of(1, 2) })).toFail(
      'bad-input',
      'Design 1: predicted NaN ms, measured 2 ms. Times must be positive.',
    );
  });
});

it('bootstrap intervals are the same for the same seed, and contain the true scale as often as they should', () => {
  const uniform = mersenneTwister(7);
  let inside = 0;
  const experiments = 60;
  for (let e = 0; e < experiments; e++) {
    const predictedMs = Float64Array.from({ length: 40 }, () => 1 + 9 * uniform());
    const measuredMs = predictedMs.map((time) => 2 * time * Math.exp(0.4 * (uniform() + uniform() - 1)));
    const { interval } = unwrap(agreement({ predictedMs, measuredMs }, { uniform })).scale;
    if (interval!.low <= 2 && 2 <= interval!.high) inside++;
  }
  // The interval of the median of 40 values covers about 95 %. Three standard errors of 60 experiments are 8 points.
  expect(inside / experiments).toBeGreaterThan(0.85);
  const predictedMs = of(1, 2, 3, 4, 5, 6, 7, 8);
  const measuredMs = of(2, 1, 4, 3, 6, 5, 8, 7);
  expect(agree({ predictedMs, measuredMs })).toEqual(agree({ predictedMs, measuredMs }));
});
