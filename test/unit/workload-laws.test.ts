import { describe, expect, it } from 'vitest';
import { unwrap, type Result } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import * as laws from '../../src-workers/models/workload/laws.ts';

function probabilityOf(law: LengthLaw, length: number): number {
  const i = law.support.indexOf(length);
  return i < 0 ? 0 : law.probability[i];
}

function failureOf(result: Result<unknown>): string {
  if (result.ok) throw new Error('expected a failure');
  return result.error.message;
}

/** Equal but for the rounding of a normalisation: a few units in the last place. */
function expectNear(got: number, expected: number, roundings = 32): void {
  expect(Math.abs(got / expected - 1)).toBeLessThanOrEqual(roundings * Number.EPSILON);
}

describe('conventions', () => {
  it('geometric counts tries from 1', () => {
    const law = unwrap(laws.geometricLaw(0.25));
    expect(law.support[0]).toBe(1);
    expectNear(probabilityOf(law, 2) / probabilityOf(law, 1), 0.75);
  });

  it('uniform includes both ends', () => {
    const law = unwrap(laws.uniformLaw(20, 40));
    expect([law.support[0], law.support.at(-1), law.support.length]).toEqual([20, 40, 21]);
  });

  it('negative binomial counts failures from 0', () => {
    const law = unwrap(laws.negativeBinomialLaw(5, 0.3));
    expect(law.support[0]).toBe(0);
    expectNear(law.probability[0] * (1 - law.truncatedMass), 0.3 ** 5);
  });

  it('log-normal rounds up, so its shortest length is 1', () => {
    const law = unwrap(laws.lognormalLaw(0, 1));
    expect(law.support[0]).toBe(1);
    // P(e^N ≤ 1) is one half.
    expectNear(law.probability[0] * (1 - law.truncatedMass), 0.5);
  });

  it('a cut is the shortest that leaves at most the truncation, and is reported', () => {
    const law = unwrap(laws.geometricLaw(0.05));
    const last = law.support[law.support.length - 1];
    expect(0.95 ** last).toBeLessThanOrEqual(1e-6);
    expect(0.95 ** (last - 1)).toBeGreaterThan(1e-6);
    // 0.95 is rounded once, and then multiplied by itself.
    expectNear(law.truncatedMass, 0.95 ** last, last);
    expect(unwrap(laws.geometricLaw(0.05, 1e-9)).support.length).toBeGreaterThan(last);
  });

  it('drops points of probability 0', () => {
    const law = unwrap(
      laws.categoricalLaw([
        { length: 7, probability: 0 },
        { length: 3, probability: 0.5 },
        { length: 1, probability: 0.5 },
      ]),
    );
    expect([...law.support]).toEqual([1, 3]);
  });

  it('degenerate parameters give a single point', () => {
    for (const [law, length] of [
      [laws.binomialLaw(9, 0), 0],
      [laws.binomialLaw(9, 1), 9],
      [laws.geometricLaw(1), 1],
      [laws.poissonLaw(0), 0],
      [laws.negativeBinomialLaw(2.5, 1), 0],
      [laws.constantLaw(32), 32],
      [laws.uniformLaw(4, 4), 4],
      [laws.zipfLaw(2, 1), 1],
    ] as const) {
      expect([...unwrap(law).support]).toEqual([length]);
      expect([...unwrap(law).probability]).toEqual([1]);
    }
  });

  it('mixture weighs its parts, and their truncated mass', () => {
    const geometric = unwrap(laws.geometricLaw(0.5));
    const law = unwrap(
      laws.mixtureLaw([
        { weight: 0.25, law: unwrap(laws.constantLaw(100)) },
        { weight: 0.75, law: geometric },
      ]),
    );
    expect(law.label).toBe('mixture(0.25*constant(100),0.75*geometric(0.5))');
    expectNear(probabilityOf(law, 100), 0.25);
    expectNear(law.truncatedMass, 0.75 * geometric.truncatedMass);
  });

  it('empirical lengths become proportions', () => {
    const law = unwrap(
      laws.empiricalLaw(
        new Map([
          [9, 1],
          [2, 3],
        ]),
      ),
    );
    expect([...law.support]).toEqual([2, 9]);
    expect([...law.probability]).toEqual([0.75, 0.25]);
  });
});

describe('quantile and cdf', () => {
  const law = unwrap(
    laws.categoricalLaw([
      { length: 1, probability: 0.25 },
      { length: 4, probability: 0.5 },
      { length: 9, probability: 0.25 },
    ]),
  );
  it('are inverse to each other', () => {
    expect([0, 0.25, 0.26, 0.75, 0.76, 1].map((q) => laws.quantile(law, q))).toEqual([1, 1, 4, 4, 9, 9]);
    expect([0, 1, 3.5, 4, 8, 9, 100].map((x) => laws.cdf(law, x))).toEqual([0, 0.25, 0.25, 0.75, 0.75, 1, 1]);
    expect([...laws.cumulative(law)]).toEqual([0.25, 0.75, 1]);
  });

  it('rounding moves no quantile', () => {
    const uniform = unwrap(laws.uniformLaw(1, 10));
    for (let tenths = 1; tenths <= 10; tenths++) expect(laws.quantile(uniform, tenths / 10)).toBe(tenths);
  });
});

describe('failures say what was got and what was expected', () => {
  it.each([
    [laws.binomialLaw(3.5, 0.5), 'trials is 3.5; expected an integer ≥ 0'],
    [laws.binomialLaw(3, 1.5), 'p is 1.5; expected a probability'],
    [laws.binomialLaw(3, NaN), 'p is NaN'],
    [laws.geometricLaw(0), 'p is 0; expected a probability above 0'],
    [laws.geometricLaw(0.5, 0), 'truncation is 0; expected a mass between'],
    [laws.poissonLaw(-1), 'mean is -1'],
    [laws.poissonLaw(Infinity), 'mean is Infinity'],
    [laws.uniformLaw(5, 4), 'b is 4; expected an integer ≥ 5'],
    [laws.uniformLaw(-1, 4), 'a is -1'],
    [laws.negativeBinomialLaw(0, 0.5), 'r is 0'],
    [laws.zipfLaw(-1, 10), 's is -1'],
    [laws.zipfLaw(1, 0), 'max is 0'],
    [laws.lognormalLaw(1, 0), 'sigma is 0'],
    [laws.constantLaw(2 ** 53), 'expected an integer'],
    [laws.categoricalLaw([]), 'sum to 0; expected 1'],
    [laws.categoricalLaw([{ length: 1, probability: 0.9 }]), 'sum to 0.9; expected 1'],
    [
      laws.categoricalLaw([
        { length: 1, probability: 0.5 },
        { length: 1, probability: 0.5 },
      ]),
      'given twice',
    ],
    [laws.mixtureLaw([]), 'weights sum to 0; expected 1'],
    [laws.empiricalLaw(new Map()), 'expected at least one length'],
    [laws.empiricalLaw(new Map([[1, -1]])), 'count of length 1 is -1'],
  ])('%#', (result, message) => {
    expect(failureOf(result)).toContain(message);
  });

  it('refuses supports that would not fit, quickly', () => {
    for (const law of [
      laws.geometricLaw(1e-7),
      laws.poissonLaw(1e12),
      laws.uniformLaw(0, 2 ** 40),
      laws.zipfLaw(1, 2 ** 40),
      laws.negativeBinomialLaw(1e9, 1e-3),
      laws.lognormalLaw(30, 1),
      laws.binomialLaw(2 ** 50, 0.5),
    ]) {
      expect(failureOf(law)).toContain('expected at most 1000000');
    }
  });
});
