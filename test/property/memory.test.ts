import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MemoryAccess } from '../../src-workers/domain/kernel.ts';
import { bytesOfIteration } from '../../src-workers/models/memory/accesses.ts';
import { bytesAlongRun, hitFraction, randomHitFraction } from '../../src-workers/models/memory/traffic.ts';
import { nonzerosWithin, paddedCells, rowQuantile } from '../../src-workers/models/spmv/summary.ts';
import { summary } from './summaries.ts';
import { devicesIn } from '../catalogue.ts';
import { forAll } from '../for-all.ts';

const device = fc.constantFrom(...['nvidia', 'amd'].flatMap((file) => devicesIn(file)));
const fraction = fc.double({ min: 0, max: 1, noNaN: true });
const size = fc.double({ min: 1, max: 1e11, noNaN: true });
const more = fc.double({ min: 1, max: 100, noNaN: true });
/** The tolerance covers the rounding of a few operations. */
const LESS = 1 - 1e-12;

const elementBytes = fc.constantFrom(1, 2, 4, 8, 16, 32, 48, 128);
const threads = fc.record({
  residentThreads: fc.integer({ min: 1, max: 4096 }),
  sharedMemoryBytes: fc.integer({ min: 0, max: 300_000 }),
  unitElements: fc.double({ min: 0.1, max: 1e6, noNaN: true }),
});

it('traffic of accesses is never less than the elements, unless lanes gather elements that others have read', () => {
  const access = fc.record({ pattern: fc.constantFrom('along-unit' as const, 'across-lanes' as const), elementBytes });
  const accesses = fc.array(access, { minLength: 1, maxLength: 6 });
  forAll(device, accesses, threads, fc.integer({ min: 0, max: 10 }), (gpu, arrays, taking, power) => {
    const own = { ...taking, threadsPerUnit: 2 ** power };
    const bytes = bytesOfIteration(gpu, { accesses: arrays, bytesPerIteration: 0 }, own);
    const elements = arrays.reduce((sum, array) => sum + array.elementBytes, 0);
    expect(bytes).toBeWithin(elements * LESS, arrays.reduce((sum, array) => sum + array.elementBytes + 63, 0) / LESS);
  });
});

it('traffic of accesses along units never grows with the threads that share one, nor with the cache', () => {
  const accesses = fc.array(elementBytes, { minLength: 1, maxLength: 6 });
  forAll(device, accesses, threads, fc.integer({ min: 0, max: 9 }), size, (gpu, sizes, taking, power, bytes) => {
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

it('traffic never hits more if the footprint grows, and never less if the cache grows', () =>
  forAll(size, more, size, (footprint, factor, cache) => {
    const hits = hitFraction(footprint, cache);
    expect(hits).toBeWithin(0, 1);
    expect(hitFraction(footprint * factor, cache)).toBeLessThanOrEqual(hits);
    expect(hitFraction(footprint, cache * factor)).toBeGreaterThanOrEqual(hits);
    expect(hitFraction(footprint, 0)).toBe(0);
    const random = randomHitFraction(footprint, cache);
    expect(random).toBeLessThanOrEqual(Math.min(1, cache / footprint) / LESS);
    expect(randomHitFraction(footprint * factor, cache)).toBeLessThanOrEqual(random);
    expect(randomHitFraction(footprint, cache * factor)).toBeGreaterThanOrEqual(random);
  }));

it('traffic moves at least an element and at most a sector per access along runs, and less with reuse', () =>
  forAll(fc.constantFrom(4, 8), size, fraction, fraction, fc.constantFrom(32, 64), (bytes, run, a, b, sector) => {
    const [little, much] = [Math.min(a, b), Math.max(a, b)];
    const moved = bytesAlongRun(bytes, run, little, sector);
    expect(moved).toBeWithin(bytes * LESS, sector);
    expect(bytesAlongRun(bytes, run, much, sector)).toBeLessThanOrEqual(moved / LESS);
    expect(bytesAlongRun(bytes, run, 1, sector)).toBe(bytes);
  }));

it('a matrix by its summary pads between its non-zeros and rows that are all as long as the longest, and exactly for the given slices', () =>
  forAll(summary, fc.integer({ min: 1, max: 512 }), fc.integer({ min: 1, max: 512 }), (matrix, a, b) => {
    const few = paddedCells(matrix, Math.min(a, b));
    const many = paddedCells(matrix, Math.max(a, b));
    expect(few).toBeGreaterThanOrEqual(matrix.nonzeros * LESS);
    expect(many).toBeWithin(few * LESS, (matrix.rows * matrix.max) / LESS);
    expect(paddedCells(matrix, 1)).toBeCloseTo(matrix.nonzeros, 6);
    if (matrix.rows >= 64)
      expect(paddedCells(matrix, 64)).toBeCloseTo(Math.min(matrix.slicedCells!, matrix.rows * matrix.max), 4);
  }));

it('a matrix by its summary has quantiles in order, and counts the non-zeros within a width', () =>
  forAll(summary, fraction, fraction, fc.integer({ min: 0, max: 500 }), (matrix, a, b, width) => {
    expect(rowQuantile(matrix, Math.max(a, b))).toBeGreaterThanOrEqual(rowQuantile(matrix, Math.min(a, b)) * LESS);
    expect(rowQuantile(matrix, 0)).toBe(matrix.min);
    expect(rowQuantile(matrix, 1)).toBe(matrix.max);
    expect(nonzerosWithin(matrix, width)).toBeLessThanOrEqual(Math.min(matrix.nonzeros, matrix.rows * width));
  }));
