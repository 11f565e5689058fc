import { describe, expect, it } from 'vitest';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { mannKendall, summariseRepeats } from '../../../src-workers/models/calibration/repeats.ts';
import { mersenneTwister, standardNormal } from '../../../src-workers/numeric/random.ts';

const kept = (times: readonly number[]) => times.map(() => false);
const summary = (times: readonly number[]) => unwrap(summariseRepeats(times, kept(times)));

describe('repeats, by hand', () => {
  it('counts warm-ups, and leaves them out of all other figures', () => {
    const result = unwrap(
      summariseRepeats([900, 500, 100, 102, 101, 99, 98, 100], [true, true, false, false, false, false, false, false]),
    );
    expect(result).toMatchObject({
      repeats: 6,
      warmUps: 2,
      medianNs: 100,
      minNs: 98,
      maxNs: 102,
      interval: { lowNs: 98, highNs: 102, coverageFraction: 0.96875 },
      outliers: [],
      slowStarts: 0,
      warnings: [],
    });
  });

  it('gives no interval for a few repeats', () => {
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

  it('flags a device that becomes slower', () => {
    const noise = mersenneTwister(3);
    const clocks = Array.from({ length: 40 }, (_, i) => 1980 - 3 * i);
    const times = clocks.map((clock) => (2e9 / clock) * (1 + 0.002 * (noise() - 0.5)));
    const result = summary(times);
    // The last time divided by the first is 1980 / (1980 − 117).
    expect(result.drift!.relativeChange).toBeBetween(0.055, 0.068);
    expect(result.warnings).toEqual(['drift']);
  });

  it('does not flag a certain drift that is too small to matter', () => {
    const times = Array.from({ length: 40 }, (_, i) => 10_000 + i);
    const result = summary(times);
    expect(result.drift).toMatchObject({ significant: false });
    expect(result.drift!.pValue).toBeLessThan(1e-12);
    expect(result.warnings).toEqual([]);
  });

  it('accepts series that are too long to compare all pairs', () => {
    const noise = mersenneTwister(5);
    const times = Array.from({ length: 50_000 }, (_, i) => 1000 * (1 + i / 500_000) + 20 * noise());
    const { drift } = summary(times);
    expect(Math.abs(drift!.relativeChange - 0.1 / 1.06)).toBeLessThan(0.005);
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

it('Mann–Kendall agrees with the tables of Kendall (1975)', () => {
  // Twelve inversions of ten values give S = 45 − 24 = 21; the table has P(S ≥ 21) = 0.036.
  expect(mannKendall(Float64Array.of(5, 4, 3, 2, 1, 7, 6, 9, 8, 10)) / 2).toBeCloseTo(0.036, 3);
});

it('Mann–Kendall follows the normal approximation for long series, with the correction for ties', () => {
  // 20 values in ten ties of two: variance (20·19·45 − 10·2·9)/18 = 940, S = 190 − 10 = 180.
  const series = Float64Array.from({ length: 20 }, (_, i) => i >> 1);
  const z = 179 / Math.sqrt(940);
  // The reference is 2·(1 − Φ(5.838)) by an asymptotic series of three terms, with a relative error of 15/z⁶.
  const tail = (Math.exp((-z * z) / 2) / (z * Math.sqrt(2 * Math.PI))) * (1 - 1 / z ** 2 + 3 / z ** 4);
  expect(Math.abs(mannKendall(series) / (2 * tail) - 1)).toBeLessThan(16 / z ** 6);
});

function permutations(values: readonly number[]): number[][] {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((first, i) =>
    permutations([...values.slice(0, i), ...values.slice(i + 1)]).map((rest) => [first, ...rest]),
  );
}

describe('repeats, over many seeded experiments', () => {
  const experiments = 4000;

  it('trends and slow starts are rarely found if there are none', () => {
    const uniform = mersenneTwister(12);
    let drifts = 0;
    let slow = 0;
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
