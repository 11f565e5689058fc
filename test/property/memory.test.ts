import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MemoryAccess } from '../../src-workers/domain/kernel.ts';
import { bytesOfIteration } from '../../src-workers/models/memory/accesses.ts';
import { nonzerosWithin, paddedCells, rowQuantile } from '../../src-workers/models/spmv/summary.ts';
import { summary } from './summaries.ts';
import { devicesIn } from '../catalogue.ts';
import { forAll, real, whole } from '../for-all.ts';

const device = fc.constantFrom(...['nvidia', 'amd'].flatMap((file) => devicesIn(file)));
const fraction = real(0, 1);
const size = real(1, 1e11);
/** The tolerance covers the rounding of a few operations. */
const LESS = 1 - 1e-12;

const elementBytes = fc.constantFrom(1, 2, 4, 8, 16, 32, 48, 128);
const threads = fc.record({
  residentThreads: whole(1, 4096),
  sharedMemoryBytes: whole(0, 300_000),
  unitElements: real(0.1, 1e6),
});

it('traffic of accesses is never less than the elements, unless lanes gather elements that others have read', () => {
  const access = fc.record({ pattern: fc.constantFrom('along-unit' as const, 'across-lanes' as const), elementBytes });
  const accesses = fc.array(access, { minLength: 1, maxLength: 6 });
  forAll(device, accesses, threads, whole(0, 10), (gpu, arrays, taking, power) => {
    const own = { ...taking, threadsPerUnit: 2 ** power };
    const bytes = bytesOfIteration(gpu, { accesses: arrays, bytesPerIteration: 0 }, own);
    const elements = arrays.reduce((sum, array) => sum + array.elementBytes, 0);
    expect(bytes).toBeWithin(elements * LESS, arrays.reduce((sum, array) => sum + array.elementBytes + 63, 0) / LESS);
  });
});

it('traffic of accesses along units never grows with the threads that share one, nor with the cache', () => {
  const accesses = fc.array(elementBytes, { minLength: 1, maxLength: 6 });
  forAll(device, accesses, threads, whole(0, 9), size, (gpu, sizes, taking, power, bytes) => {
    const arrays = sizes.map((each): MemoryAccess => ({ pattern: 'along-unit', elementBytes: each }));
    const at = (of: readonly MemoryAccess[], level: number): number =>
      bytesOfIteration(gpu, { accesses: of, bytesPerIteration: 0 }, { ...taking, threadsPerUnit: 2 ** level });
    expect(at(arrays, power + 1)).toBeLessThanOrEqual(at(arrays, power) / LESS);
    const again = arrays.map((array) => ({ ...array, footprintBytes: bytes }));
    expect(at(again, power)).toBeLessThanOrEqual(at(arrays, power) / LESS);
    const smaller = arrays.map((array) => ({ ...array, footprintBytes: bytes / 2 }));
    expect(at(smaller, power)).toBeLessThanOrEqual(at(again, power) / LESS);
  });
});

it('a matrix by its summary pads between its non-zeros and rows as long as the longest, and has quantiles in order', () =>
  forAll(summary, whole(1, 512), whole(1, 512), fraction, fraction, (matrix, a, b, p, q) => {
    const few = paddedCells(matrix, Math.min(a, b));
    expect(few).toBeGreaterThanOrEqual(matrix.nonzeros * LESS);
    expect(paddedCells(matrix, Math.max(a, b))).toBeWithin(few * LESS, (matrix.rows * matrix.max) / LESS);
    expect(paddedCells(matrix, 1)).toBeCloseTo(matrix.nonzeros, 6);
    // Slices of 64 rows are given exactly.
    if (matrix.rows >= 64)
      expect(paddedCells(matrix, 64)).toBeCloseTo(Math.min(matrix.slicedCells!, matrix.rows * matrix.max), 4);
    expect(rowQuantile(matrix, Math.max(p, q))).toBeGreaterThanOrEqual(rowQuantile(matrix, Math.min(p, q)) * LESS);
    expect([rowQuantile(matrix, 0), rowQuantile(matrix, 1)]).toEqual([matrix.min, matrix.max]);
    expect(nonzerosWithin(matrix, a)).toBeLessThanOrEqual(Math.min(matrix.nonzeros, matrix.rows * a));
  }));
