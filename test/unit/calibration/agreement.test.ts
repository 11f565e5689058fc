import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { agreement, type Agreement, type MeasuredDesigns } from '../../../src-workers/models/calibration/agreement.ts';
import { mannKendall, summariseRepeats } from '../../../src-workers/models/calibration/repeats.ts';
import { bestOfFirst, expectedExcess, randomMeasurements } from '../../../src-workers/models/calibration/search.ts';
import { mersenneTwister, standardNormal } from '../../../src-workers/numeric/random.ts';

const of = (...values: number[]) => Float64Array.from(values);
const agree = (input: MeasuredDesigns): Agreement => unwrap(agreement(input, { uniform: mersenneTwister(1) }));
const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
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
    for (let k = 1; k <= n; k++)
      for (const cap of [Infinity, 4]) {
        const leasts = subsets(n, k).map((subset) => Math.min(cap, ...subset.map((i) => values[i])));
        expect(Math.abs(2 + expectedExcess(values, k, cap) - mean(leasts))).toBeLessThan(20 * ROUNDING);
      }
    expect(expectedExcess(values, n)).toBe(0);
  });

  it('needs as many measurements as an enumeration shows, for any target', () => {
    for (const target of [2, 2.5, 3, 4, 6, 10, 20]) {
      const sizes = Array.from({ length: n }, (_, i) => i + 1);
      const leasts = sizes.map((k) => subsets(n, k).map((subset) => Math.min(...subset.map((i) => values[i]))));
      expect(randomMeasurements(values, target)).toBe(leasts.findIndex((least) => mean(least) <= target) + 1);
    }
  });

  it('breaks ties of the prediction in every possible way', () => {
    const predicted = of(1, 2, 2, 2, 3, 1.5, 9);
    const measured = of(8, 7, 3, 9, 1, 12, 4);
    const orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]].map((tied) => [0, 5, ...tied, 4, 6]); // prettier-ignore
    for (let k = 1; k <= n; k++) {
      const bests = orders.map((order) => Math.min(...order.slice(0, k).map((i) => measured[i])));
      expect(Math.abs(bestOfFirst(predicted, measured, k) - mean(bests))).toBeLessThan(10 * ROUNDING);
    }
  });
});

describe('agreement, by hand', () => {
  it('is perfect after scaling if predictions differ only by a factor', () => {
    const predictedMs = of(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const result = agree({ predictedMs, measuredMs: predictedMs.map((time) => 3 * time) });
    for (const figure of ['spearman', 'kendall'] as const)
      expect(Math.abs(result[figure].value - 1)).toBeLessThan(ROUNDING);
    expect(result.unscaled.medianError).toBeCloseTo(2 / 3, 15);
    expect(result).toMatchObject({
      scale: { value: 3, interval: { low: 3, high: 3 } },
      medianError: { value: 0 },
      // All nine designs together certainly contain the best one.
      shortlists: [
        { k: 1, regret: 0, randomMeasurements: 9 },
        { k: 2, regret: 0 },
        { k: 5, regret: 0 },
      ],
    });
  });

  it('computes the regret over the measured best, and the measurements that random search would need', () => {
    const result = agree({ predictedMs: of(1, 2, 3, 4, 5, 6), measuredMs: of(20, 12, 30, 10, 40, 50) });
    // Of 20 choices of three designs, ten have a least time of 10, six 12, three 20, one 30; the mean is 13.1.
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
    const measuredMs = predictedMs.map((time) => time * (1 + 0.02 * (uniform() - 0.5)));
    loop.forEach((form, i) => (measuredMs[i] *= form === 'flattened' ? 1.5 : 1));
    const values = Object.entries({ blockThreads: block, loop, design: block.map((_, i) => i) });
    const given = values.map(([axis, values]) => ({ axis, values }));
    const { axes, residuals } = agree({ predictedMs, measuredMs, axes: given });
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

  it('states which designs its figures cover, and refuses columns that do not belong together', () => {
    const input = { predictedMs: of(1, 2, 3), measuredMs: of(3, 2, 5) };
    const part = agree({ ...input, designsOfRun: 5000 });
    expect(part).toMatchObject({ designs: 3, scale: { interval: null } });
    expect(part.notes[0]).toContain('for the 3 measured designs, of 5,000 valid ones');
    expect(agree(input).notes).toEqual(['3 designs are too few for intervals, which need at least 8.']);
    const refused = (predictedMs: Float64Array, measuredMs: Float64Array) =>
      agreement({ predictedMs, measuredMs }, { uniform: mersenneTwister(1) });
    expect(refused(of(1, 2), of(1))).toMatchObject({ ok: false });
    expect(refused(of(1), of(1))).toMatchObject({ ok: false });
    const message = 'Design 1: predicted NaN ms, measured 2 ms. Times must be positive.';
    expect(refused(of(1, NaN), of(1, 2))).toFail('bad-input', message);
  });
});

it('bootstrap intervals are the same for the same seed, and contain the true scale as often as they should', () => {
  const uniform = mersenneTwister(7);
  let inside = 0;
  const experiments = 30;
  for (let e = 0; e < experiments; e++) {
    const predictedMs = Float64Array.from({ length: 40 }, () => 1 + 9 * uniform());
    const measuredMs = predictedMs.map((time) => 2 * time * Math.exp(0.4 * (uniform() + uniform() - 1)));
    const { interval } = unwrap(agreement({ predictedMs, measuredMs }, { uniform, shortlists: [] })).scale;
    if (interval!.low <= 2 && 2 <= interval!.high) inside++;
  }
  // The interval of the median of 40 values covers about 95 %. Two standard errors of 30 experiments are 8 points.
  expect(inside / experiments).toBeGreaterThan(0.85);
  const predictedMs = of(1, 2, 3, 4, 5, 6, 7, 8);
  const measuredMs = of(2, 1, 4, 3, 6, 5, 8, 7);
  expect(agree({ predictedMs, measuredMs })).toEqual(agree({ predictedMs, measuredMs }));
});

const kept = (times: readonly number[]) => times.map(() => false);
const summary = (times: readonly number[]) => unwrap(summariseRepeats(times, kept(times)));

describe('repeats, by hand', () => {
  it('counts warm-ups, leaves them out of all other figures, and gives no interval for a few repeats', () => {
    const all = [900, 500, 100, 102, 101, 99, 98, 100];
    const warmUps = all.map((_, at) => at < 2);
    const result = unwrap(summariseRepeats(all, warmUps));
    const interval = { lowNs: 98, highNs: 102, coverageFraction: 0.96875 };
    const times = { medianNs: 100, minNs: 98, maxNs: 102, interval };
    expect(result).toMatchObject({ repeats: 6, warmUps: 2, ...times, outliers: [], slowStarts: 0, warnings: [] });
    const expected = { interval: null, drift: null, warnings: ['few-repeats'] };
    expect(summary([100, 101, 102, 103, 104])).toMatchObject(expected);
    expect(summary([7])).toMatchObject({ medianNs: 7, interval: null });
  });

  it('names outliers by their position, also beside times that a coarse clock makes equal, but none that differs by one tick', () => {
    const times = [300, 100, 101, 99, 100, 102, 250, 98, 100, 101, 99];
    const warmUps = times.map((_, i) => i === 0);
    const result = unwrap(summariseRepeats(times, warmUps));
    expect(result).toMatchObject({ outliers: [6], warnings: ['outliers'] });
    const equal = Array.from({ length: 31 }, () => 10_000);
    expect(summary([...equal, 20_000]).outliers).toEqual([31]);
    expect(summary([...equal, 10_050]).outliers).toEqual([]);
    expect(summary(equal)).toMatchObject({ outliers: [], slowStarts: 0, warnings: [] });
  });

  it('reports how many repeats were still warming up', () => {
    const steady = [100, 101, 99, 100, 102, 98, 100, 101, 99, 100, 101, 99];
    expect(summary([180, 140, 115, ...steady])).toMatchObject({ slowStarts: 3 });
    expect(summary([180, 140, 115, ...steady]).warnings).toContain('slow-start');
    // Fast repeats at the start are also outliers, but they are no sign of warming up.
    expect(summary([50, ...steady]).slowStarts).toBe(0);
  });

  it('flags a device that becomes slower, also in a long series, but no certain drift that is too small to matter', () => {
    const noise = mersenneTwister(3);
    const clocks = Array.from({ length: 40 }, (_, i) => 1980 - 3 * i);
    const times = clocks.map((clock) => (2e9 / clock) * (1 + 0.002 * (noise() - 0.5)));
    const result = summary(times);
    // The last time divided by the first is 1980 / (1980 − 117).
    expect(result.drift!.relativeChange).toBeBetween(0.055, 0.068);
    expect(result.warnings).toEqual(['drift']);
    const { drift, warnings } = summary(Array.from({ length: 40 }, (_, i) => 10_000 + i));
    expect([drift!.significant, warnings]).toEqual([false, []]);
    expect(drift!.pValue).toBeLessThan(1e-12);
    // This series is too long to compare all pairs.
    const long = summary(Array.from({ length: 50_000 }, (_, i) => 1000 * (1 + i / 500_000) + 20 * noise()));
    expect(Math.abs(long.drift!.relativeChange - 0.1 / 1.06)).toBeLessThan(0.005);
  });

  it('refuses repeats that it cannot summarise', () => {
    expect(summariseRepeats([], [])).toFail('bad-input');
    expect(summariseRepeats([1, 2], [true, true])).toMatchObject({ ok: false });
    expect(summariseRepeats([1, NaN], [false, false])).toFail(null, 'Repeat 1 took NaN ns. A time must be 0 or more.');
    expect(summariseRepeats([1, 2], [false])).toMatchObject({ ok: false });
  });
});

it('Mann–Kendall equals the share of all orders that are at least as monotone', () => {
  const values = [3, 1, 4, 2, 5, 6];
  const orders = permutations(values);
  const score = (order: readonly number[]) => {
    let s = 0;
    for (let i = 0; i < order.length; i++)
      for (let j = i + 1; j < order.length; j++) s += Math.sign(order[j] - order[i]);
    return Math.abs(s);
  };
  for (const order of orders.filter((_, i) => i % 37 === 0)) {
    const share = orders.filter((other) => score(other) >= score(order)).length / orders.length;
    // Both values are sums of some tens of probabilities.
    expect(Math.abs(mannKendall(Float64Array.from(order)) - share)).toBeLessThan(1e-14);
  }
});

it('Mann–Kendall agrees with tables, and follows the normal approximation for long series, corrected for ties', () => {
  // By Kendall (1975): twelve inversions of ten values give S = 45 − 24 = 21; the table has P(S ≥ 21) = 0.036.
  expect(mannKendall(Float64Array.of(5, 4, 3, 2, 1, 7, 6, 9, 8, 10)) / 2).toBeCloseTo(0.036, 3);
  // 20 values in ten ties of two: variance (20·19·45 − 10·2·9)/18 = 940, S = 190 − 10 = 180.
  const series = Float64Array.from({ length: 20 }, (_, i) => i >> 1);
  const z = 179 / Math.sqrt(940);
  // The reference is 2·(1 − Φ(5.838)) by an asymptotic series of three terms, with a relative error of 15/z⁶.
  const tail = (Math.exp((-z * z) / 2) / (z * Math.sqrt(2 * Math.PI))) * (1 - 1 / z ** 2 + 3 / z ** 4);
  expect(mannKendall(series)).toBeNear(2 * tail, 16 / z ** 6);
});

function permutations(values: readonly number[]): number[][] {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((first, i) => permutations(values.toSpliced(i, 1)).map((rest) => [first, ...rest]));
}

describe('repeats, over many seeded experiments', () => {
  const experiments = 4000;

  it('trends and slow starts are rarely found if there are none', () => {
    const uniform = mersenneTwister(12);
    let [drifts, slow] = [0, 0];
    for (let e = 0; e < experiments; e++) {
      const result = summary(Array.from({ length: 20 }, () => 1000 * (1 + 0.03 * standardNormal(uniform))));
      if (result.warnings.includes('drift')) drifts++;
      if (result.warnings.includes('slow-start')) slow++;
    }
    // The level of the test is 1 %. The limit is four standard errors above it.
    expect(drifts / experiments).toBeLessThan(0.01 + 4 * Math.sqrt(0.01 / experiments));
    // The limit is 3.5 deviations estimated from 10 repeats, exceeded in 1 % of cases (0.02 % with the exact one).
    expect(slow / experiments).toBeLessThan(0.02);
  });

  it('a drift of three deviations is nearly always found', () => {
    const uniform = mersenneTwister(13);
    let seen = 0;
    for (let e = 0; e < 500; e++) {
      const times = Array.from({ length: 30 }, (_, i) => 1000 * (1 + 0.06 * (i / 29) + 0.02 * standardNormal(uniform)));
      if (summary(times).drift!.significant) seen++;
    }
    expect(seen / 500).toBeGreaterThan(0.9);
  });
});
