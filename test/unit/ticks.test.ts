import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  logTicks,
  multiples,
  niceBounds,
  niceStep,
  powersOfTwo,
  stepDecimals,
} from '../../src-workers/numeric/ticks.ts';
import { forAll } from '../for-all.ts';

it('ticks of a linear axis have round bounds around the values', () =>
  forAll(
    fc.double({ min: 0.01, max: 100, noNaN: true }),
    fc.double({ min: 1.01, max: 5, noNaN: true }),
    (low, ratio) => {
      const bounds = niceBounds(low, low * ratio);
      expect(bounds.low).toBeLessThanOrEqual(low * (1 + 1e-9));
      expect(bounds.high).toBeGreaterThanOrEqual(low * ratio * (1 - 1e-9));
      const ticks = multiples(bounds.low, bounds.high, bounds.step);
      expect(ticks.length).toBeWithin(2, 8);
      expect(ticks[0]).toBeCloseTo(bounds.low, 9);
    },
  ));

it('ticks of a linear axis are multiples of their step, both ends included', () => {
  expect(multiples(0, 1, 0.25)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(multiples(0.1, 0.35, 0.1)).toEqual([0.1, 0.2, 0.3]);
  expect(multiples(5, 4, 1)).toEqual([]);
});

it('ticks of a linear axis have the decimals that their step needs', () => {
  for (const span of [0.003, 0.9, 7, 42, 1e6]) {
    const step = niceStep(span);
    expect(span / step).toBeBetween(2, 6);
    expect(Number(step.toFixed(stepDecimals(step)))).toBe(step);
  }
});

describe('ticks of a logarithmic axis', () => {
  const anyRange = [
    fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
    fc.double({ min: 1.01, max: 1e4, noNaN: true }),
  ] as const;

  it('are inside and ascending, at most as many as requested, and far enough apart', () =>
    forAll(...anyRange, fc.integer({ min: 5, max: 9 }), (low, span, most) => {
      const ticks = logTicks(low, low * span, { max: most, apartFraction: 0.05 });
      expect(ticks.length).toBeLessThanOrEqual(most);
      ticks.forEach((tick, i) => {
        expect(tick >= low && tick <= low * span).toBe(true);
        if (i > 0) expect(Math.log(tick / ticks[i - 1]) / Math.log(span)).toBeGreaterThanOrEqual(0.05 - 1e-9);
      });
    }));

  it('are empty if there is no range', () => {
    expect(logTicks(NaN, 1, {})).toEqual([]);
    expect(logTicks(2, 1, {})).toEqual([]);
  });

  it('are powers of two, or every second one if there are many', () => {
    expect(powersOfTwo(1, 32)).toEqual([1, 2, 4, 8, 16, 32]);
    expect(powersOfTwo(1, 1024)).toEqual([1, 4, 16, 64, 256, 1024]);
    expect(powersOfTwo(3, 9)).toEqual([4, 8]);
  });
});
