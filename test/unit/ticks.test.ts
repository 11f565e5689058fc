import { expect, it } from 'vitest';
import * as ticks from '../../src-workers/numeric/ticks.ts';
import { forAll, real, whole } from '../for-all.ts';

it('ticks of a linear axis have round bounds around the values', () =>
  forAll(real(0.01, 100), real(1.01, 5), (low, ratio) => {
    const bounds = ticks.niceBounds(low, low * ratio);
    expect(bounds.low).toBeLessThanOrEqual(low * (1 + 1e-9));
    expect(bounds.high).toBeGreaterThanOrEqual(low * ratio * (1 - 1e-9));
    const within = ticks.multiples(bounds.low, bounds.high, bounds.step);
    expect(within.length).toBeWithin(2, 8);
    expect(within[0]).toBeCloseTo(bounds.low, 9);
  }));

it('ticks of a linear axis are multiples of a round step, both ends included, with the decimals that it needs', () => {
  expect(ticks.multiples(0, 1, 0.25)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(ticks.multiples(0.1, 0.35, 0.1)).toEqual([0.1, 0.2, 0.3]);
  expect(ticks.multiples(5, 4, 1)).toEqual([]);
  expect([ticks.niceStep(0.082, 5), ticks.niceStep(1, 4), ticks.niceStep(300, 4)]).toEqual([0.02, 0.25, 100]);
  expect([0.02, 0.25, 1, 50, 0.004].map(ticks.stepDecimals)).toEqual([2, 2, 0, 0, 3]);
  for (const span of [0.003, 0.9, 7, 42, 1e6]) {
    const step = ticks.niceStep(span);
    expect(span / step).toBeBetween(2, 6);
    expect(Number(step.toFixed(ticks.stepDecimals(step)))).toBe(step);
  }
});

it('ticks of a logarithmic axis are inside and ascending, at most as many as requested, and far enough apart', () => {
  forAll(real(1e-3, 1e3), real(1.01, 1e4), whole(5, 9), (low, span, most) => {
    const found = ticks.logTicks(low, low * span, { max: most, apartFraction: 0.05 });
    expect(found.length).toBeLessThanOrEqual(most);
    found.forEach((tick, i) => {
      expect(tick).toBeWithin(low, low * span);
      if (i > 0) expect(Math.log(tick / found[i - 1]) / Math.log(span)).toBeGreaterThanOrEqual(0.05 - 1e-9);
    });
  });
  // Without a range, there are no ticks.
  expect([ticks.logTicks(NaN, 1, {}), ticks.logTicks(2, 1, {})]).toEqual([[], []]);
});

it('ticks of a logarithmic axis are powers of two, or every second one if there are many', () => {
  expect(ticks.powersOfTwo(1, 32)).toEqual([1, 2, 4, 8, 16, 32]);
  expect(ticks.powersOfTwo(1, 1024)).toEqual([1, 4, 16, 64, 256, 1024]);
  expect(ticks.powersOfTwo(3, 9)).toEqual([4, 8]);
});
