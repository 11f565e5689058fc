import fc from 'fast-check';
import { expect, it } from 'vitest';
import { computeAny, notAll } from '../../src-workers/numeric/exponential.ts';
import { forAll } from '../for-all.ts';

it('exponentials by table: 1 − e^x has a relative error below 2e-5, however small it is', () => {
  forAll(fc.double({ min: -14, max: 1.5, noNaN: true }), (exponent) => {
    const x = -(10 ** exponent);
    expect(Math.abs(computeAny(x) / -Math.expm1(x) - 1)).toBeLessThan(2e-5);
  });
  expect(Math.abs(computeAny(0))).toBe(0);
});

it('exponentials by table: 1 − e^(−e^z) has a relative error below 5e-5', () => {
  forAll(fc.double({ min: -39.9, max: 6, noNaN: true }), (z) => {
    expect(Math.abs(notAll(z) / -Math.expm1(-Math.exp(z)) - 1)).toBeLessThan(5e-5);
  });
  expect([notAll(-60), notAll(-Infinity), notAll(50)]).toEqual([0, 0, 1]);
});
