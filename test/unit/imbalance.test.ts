import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { costFactor, granularityCurve } from '../../src-workers/models/granularity/granularity.ts';
import { affordableLossDistribution, binnedLossDistribution } from '../../src-workers/models/imbalance/binned.ts';
import { lossMoments, quickMeanLosses } from '../../src-workers/models/imbalance/closed-form.ts';
import * as distribution from '../../src-workers/models/imbalance/distribution.ts';
import { sampledLoss } from '../../src-workers/models/imbalance/monte-carlo.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';
import { mersenneTwister } from '../../src-workers/numeric/random.ts';
import { exampleStudy } from '../catalogue.ts';
import { planOf } from './sweep-plans.ts';

const { lossDistribution, lossHistogram, quantile } = distribution;
const geometric = unwrap(laws.geometricLaw(0.05));
const constant = (length: number) => unwrap(laws.constantLaw(length));
const law = (...points: (readonly [length: number, probability: number])[]) =>
  unwrap(laws.categoricalLaw(points.map(([length, probability]) => ({ length, probability }))));

function momentsOf({ loss, probability }: distribution.LossDistribution) {
  const mean = loss.reduce((sum, x, i) => sum + x * probability[i], 0);
  const variance = loss.reduce((sum, x, i) => sum + (x - mean) ** 2 * probability[i], 0);
  return { mean, standardDeviation: Math.sqrt(variance) };
}

/** Enumerates all groups of n units, and returns their losses and E[max]. This is possible only for tiny laws. */
function enumerated({ support, probability }: LengthLaw, n: number) {
  const losses = new Map<number, number>();
  let meanMaximum = 0;
  const visit = (unit: number, mass: number, sum: number, longest: number): void => {
    if (unit === n) {
      const loss = sum === 0 ? 1 : (n * longest) / sum;
      losses.set(loss, (losses.get(loss) ?? 0) + mass);
      meanMaximum += mass * longest;
      return;
    }
    support.forEach((v, i) => visit(unit + 1, mass * probability[i], sum + v, Math.max(longest, v)));
  };
  visit(0, 1, 0, 0);
  const entries = [...losses].sort(([a], [b]) => a - b);
  const mean = entries.reduce((sum, [x, p]) => sum + x * p, 0);
  const variance = entries.reduce((sum, [x, p]) => sum + (x - mean) ** 2 * p, 0);
  return { entries, mean, standardDeviation: Math.sqrt(variance), meanMaximum };
}

const TINY: readonly LengthLaw[] = [
  law([1, 0.9], [100, 0.1]),
  law([0, 0.5], [1, 0.5]),
  law([0, 0.999], [7, 0.0004], [50, 0.0006]),
  law([3, 0.2], [4, 0.3], [6, 0.5]),
  law([0, 0.1], [1, 0.2], [2, 0.3], [5, 0.4]),
  law([1, 1e-9], [2, 1 - 2e-9], [100_000, 1e-9]),
];

it.each([1, 2, 3, 4, 5, 6, 7])('the models equal the enumeration of every group of %i units', (n) => {
  for (const tiny of TINY) {
    const exact = enumerated(tiny, n);
    const [ours] = lossMoments(tiny, [n]);
    const meanLength = tiny.support.reduce((sum, v, i) => sum + v * tiny.probability[i], 0);
    expect(ours.meanLoss).toBeNear(exact.mean, 1e-12);
    expect(ours.aggregateLoss).toBeNear(exact.meanMaximum / meanLength, 1e-13);
    // A variance is the small difference of two second moments, which have errors of about 1e-11.
    const difference = ours.standardDeviationLoss ** 2 - exact.standardDeviation ** 2;
    expect(Math.abs(difference)).toBeLessThan(2e-11 * exact.mean ** 2);
    const whole = unwrap(lossDistribution(tiny, n));
    expect([...whole.loss]).toEqual(exact.entries.map(([x]) => x));
    whole.probability.forEach((p, i) => expect(p).toBeNear(exact.entries[i][1], 1e-12));
  }
});

describe('closed form', () => {
  it('has a loss of exactly 1 for a single unit or constant work', () => {
    const none = { meanLoss: 1, standardDeviationLoss: 0, aggregateLoss: 1 };
    expect(lossMoments(geometric, [1])).toEqual([{ n: 1, ...none }]);
    const sizes = [1, 2, 32, 1000];
    for (const length of [0, 1, 32])
      expect(lossMoments(constant(length), sizes)).toEqual(sizes.map((n) => ({ n, ...none })));
  });

  it('returns the same for all sizes at once and one by one, in the requested order', () => {
    const sizes = [32, 3, 2, 100, 1, 7, 1024, 8];
    const together = lossMoments(geometric, sizes);
    expect(together.map((row) => row.n)).toEqual(sizes);
    for (const row of together) {
      const [alone] = lossMoments(geometric, [row.n]);
      expect(alone.meanLoss).toBeNear(row.meanLoss, 1e-12);
      expect(alone.aggregateLoss).toBeNear(row.aggregateLoss, 1e-13);
    }
  });

  it('has at most its stated error in quick mode, for any law and any other sizes', () => {
    const sizes = [64, 2, 3, 32];
    for (const law of [...TINY, geometric, unwrap(laws.geometricLaw(0.001)), unwrap(laws.uniformLaw(300, 400))]) {
      const quick = quickMeanLosses(law, sizes);
      lossMoments(law, sizes).forEach(({ n, meanLoss }, i) =>
        expect(quick[i], `${law.label}, n = ${n}`).toBeNear(meanLoss, 2e-5),
      );
    }
  });

  it('refuses a group that is not a whole number of units', () => {
    expect(() => lossMoments(geometric, [2, 0])).toThrow('A group cannot have 0 units');
    expect(() => lossMoments(geometric, [2.5])).toThrow('A group cannot have 2.5 units');
  });
});

describe('full distribution', () => {
  it('keeps relative accuracy in the far tail', () => {
    // One lane has length 270 and the 31 others have length 1. This is the largest possible loss of a group.
    const { loss, probability } = unwrap(lossDistribution(geometric, 16));
    const top = geometric.support.length - 1;
    const exact = 16 * geometric.probability[top] * geometric.probability[0] ** 15;
    expect(loss[loss.length - 1]).toBe((16 * geometric.support[top]) / (geometric.support[top] + 15));
    expect(probability[probability.length - 1]).toBeNear(exact, 1e-12);
  });

  it('refuses a computation that would take too long, with the number of steps', () => {
    expect(lossDistribution(unwrap(laws.zipfLaw(1.5, 100_000)), 32)).toFail('unsupported');
    expect(() => lossDistribution(unwrap(laws.uniformLaw(1, 2)), 0)).toThrow('A group cannot have 0 units');
  });
});

describe('binned distribution', () => {
  it('keeps a few distant lengths apart, although octaves are on a coarse lattice', () => {
    const cases = [
      [law([44_604, 0.2], [92_074, 0.5499], [468_138, 0.0001], [602_866, 0.2], [899_102, 0.05]), 3],
      // Here an octave begins between two lengths that share a cell of the lattice.
      [law([1_000_000, 0.5], [1_000_003, 0.3], [2_000_003, 0.2]), 4],
      // Groups of only the longest length have the largest sum. The lattice shifts sums, but must not lose this one.
      [law([570_190_251, 0.15], [665_509_235, 0.14], [672_137_360, 0.71]), 2],
    ] as const;
    for (const [source, n] of cases) {
      const { entries } = enumerated(source, n);
      const [loss, probability] = [0, 1].map((at) => Float64Array.from(entries, (entry) => entry[at]));
      const binned = affordableLossDistribution(source, n);
      const { method, resolution } = binned;
      const exactly = (q: number) => quantile({ ...binned, loss, probability }, q);
      expect(method).toBe('binned');
      for (let q = 0.005; q < 1; q += 0.01)
        expect(quantile(binned, q)).toBeWithin(
          exactly(q - 1e-6) * (1 - resolution),
          exactly(q + 1e-6) * (1 + resolution),
        );
    }
  });

  it('stays close to the closed form on lengths from 1 to 100,000', () => {
    const wide = unwrap(laws.zipfLaw(1.5, 100_000));
    for (const n of [2, 1024]) {
      const binned = binnedLossDistribution(wide, n);
      const [exact] = lossMoments(wide, [n]);
      expect(momentsOf(binned).mean).toBeNear(exact.meanLoss, binned.resolution);
      expect(momentsOf(binned).standardDeviation).toBeNear(exact.standardDeviationLoss, binned.resolution);
    }
  });

  it('is used only if the exact distribution costs too much', () => {
    expect(affordableLossDistribution(geometric, 4)).toMatchObject({ method: 'exact', resolution: 0 });
    expect(affordableLossDistribution(geometric, 1024).method).toBe('binned');
    expect(affordableLossDistribution(constant(0), 32)).toMatchObject({ loss: Float64Array.of(1) });
  });

  it('fills the bins of a plot with all of the probability', () => {
    const plotted = (law: LengthLaw, bins: number) => lossHistogram(affordableLossDistribution(law, 8), bins);
    const { edges, probability } = plotted(geometric, 50);
    expect([edges.length, edges[0]]).toEqual([51, 1]);
    expect(probability.reduce((sum, p) => sum + p, 0)).toBeNear(1, 1e-12);
    expect([...plotted(constant(3), 4).probability]).toEqual([1, 0, 0, 0]);
  });
});

it('Monte Carlo contains the values of the models in its confidence interval, which is neither too wide nor too narrow', () => {
  const uniform = mersenneTwister(1);
  const [model] = lossMoments(geometric, [8]);
  const scores: number[] = [];
  for (let repeat = 0; repeat < 40; repeat++) {
    const sample = sampledLoss(geometric, 8, 2000, uniform);
    scores.push((sample.meanLoss.value - model.meanLoss) / sample.meanLoss.standardError);
    scores.push((sample.aggregateLoss.value - model.aggregateLoss) / sample.aggregateLoss.standardError);
  }
  // The differences are correlated normal scores. None of 80 may exceed 4, and their mean square is 1 ± 4 errors.
  expect(Math.max(...scores.map(Math.abs))).toBeLessThan(4);
  expect(scores.reduce((sum, z) => sum + z * z, 0) / scores.length).toBeBetween(0.4, 1.9);
});

it('Monte Carlo is the same for the same seed, and counts empty groups as no loss', () => {
  const zeros = law([0, 0.9], [5, 0.1]);
  const run = (seed: number) => sampledLoss(zeros, 2, 20_000, mersenneTwister(seed));
  expect(run(3)).toEqual(run(3));
  expect(run(3)).not.toEqual(run(4));
  const { meanLoss } = run(3);
  // With probability 0.82, both units are empty or both have length 5, and the loss is 1. Otherwise the loss is 2.
  expect(Math.abs(meanLoss.value - 1.18)).toBeLessThan(4 * meanLoss.standardError);
  const expected = { value: 1, standardError: 0 };
  expect(sampledLoss(constant(0), 4, 10, mersenneTwister(1)).aggregateLoss).toEqual(expected);
});

it('granularity is exactly one iteration for a single lane, and follows Amdahl without a cost of cooperation', () => {
  expect([costFactor(1, 0.3, 0.1), costFactor(8, 0, 0), costFactor(8, 1, 0)]).toEqual([1, 1 / 8, 1]);
  expect(costFactor(8, 0.5, 0.1)).toBeCloseTo(0.5 / 8 + 0.5 + 0.3, 15);
});

it('granularity finds 8 units × 4 threads best for the Acts propagation, and needs a width that can be halved', async () => {
  const { law } = await planOf(exampleStudy('acts'));
  const rows = granularityCurve(law, 32, 1 / 21, 0);
  expect(rows.map((row) => row.unitsPerGroup)).toEqual([32, 16, 8, 4, 2, 1]);
  const costs = rows.map((row) => row.laneCostMean);
  expect(costs.slice(0, 5).map((cost) => cost.toFixed(3))).toEqual(['1.647', '1.516', '1.486', '1.591', '1.893']);
  expect(rows[costs.indexOf(Math.min(...costs))]).toMatchObject({ unitsPerGroup: 8, threadsPerUnit: 4 });
  // A whole thread group on one unit has no imbalance, but pays the full cost of the serial part.
  expect(rows[5]).toMatchObject({ meanLoss: 1, aggregateLoss: 1 });
  expect(Math.abs(costs[5] - 32 * costFactor(32, 1 / 21, 0))).toBeLessThan(1e-14);
  expect(() => granularityCurve(law, 24, 0, 0)).toThrow('The width of a thread group must be a power of two, not 24.');
});
