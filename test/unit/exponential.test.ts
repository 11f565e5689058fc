import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeAny, decay, notAll } from '../../src-workers/numeric/exponential.ts';

describe('exponentials by table', () => {
  it('e^x for x ≤ 0 has a relative error below 1e-12', () => {
    fc.assert(
      fc.property(fc.double({ min: -39.99, max: 0, noNaN: true }), (x) => {
        expect(Math.abs(decay(x) / Math.exp(x) - 1)).toBeLessThan(1e-12);
      }),
    );
    expect([decay(0), decay(-41), decay(-Infinity)]).toEqual([1, 0, 0]);
  });

  it('1 − e^x has a relative error below 2e-5, however small it is', () => {
    fc.assert(
      fc.property(fc.double({ min: -14, max: 1.5, noNaN: true }), (exponent) => {
        const x = -(10 ** exponent);
        expect(Math.abs(computeAny(x) / -Math.expm1(x) - 1)).toBeLessThan(2e-5);
      }),
    );
    expect(Math.abs(computeAny(0))).toBe(0);
  });

  it('1 − e^(−e^z) has a relative error below 5e-5', () => {
    fc.assert(
      fc.property(fc.double({ min: -39.9, max: 6, noNaN: true }), (z) => {
        expect(Math.abs(notAll(z) / -Math.expm1(-Math.exp(z)) - 1)).toBeLessThan(5e-5);
      }),
    );
    expect([notAll(-60), notAll(-Infinity), notAll(50)]).toEqual([0, 0, 1]);
  });
});
