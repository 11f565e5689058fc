import { ok, type Result, badInput } from '../../domain/result.ts';
import type { CompactNumbers } from '../../numeric/compact.ts';

export type GeneratedExample =
  | { readonly kind: 'collatz'; readonly count: number }
  | { readonly kind: 'mandelbrot'; readonly width: number; readonly height: number; readonly maxIterations: number };

export const DEFAULT_COLLATZ: GeneratedExample & { kind: 'collatz' } = { kind: 'collatz', count: 2 ** 17 };
export const DEFAULT_MANDELBROT: GeneratedExample & { kind: 'mandelbrot' } = {
  kind: 'mandelbrot',
  width: 512,
  height: 512,
  maxIterations: 1000,
};

/** Every orbit from a start up to this stays below 2^53, so doubles are exact; the highest point is about 6.0e13. */
const MAX_COLLATZ_COUNT = 10_000_000;
const MAX_MANDELBROT_PIXELS = 2 ** 24;
/** Maximum of pixels times iterations: a few seconds of one core. */
const MAX_MANDELBROT_ITERATIONS = 2 ** 32;

/** Returns lengths in the order in which a program would launch the units. Neighbours are similar, unlike draws. */
export function exampleLengths(example: GeneratedExample): Result<Float64Array> {
  switch (example.kind) {
    case 'collatz': {
      const { count } = example;
      if (!isCount(count, MAX_COLLATZ_COUNT)) {
        return badInput(`example:collatz: count must be an integer from 1 to ${MAX_COLLATZ_COUNT}, not ${count}`);
      }
      return ok(collatzLengths(count));
    }
    case 'mandelbrot': {
      const { width, height, maxIterations } = example;
      if (!isCount(width, MAX_MANDELBROT_PIXELS) || !isCount(height, MAX_MANDELBROT_PIXELS / width)) {
        return badInput(
          `example:mandelbrot: width and height must be positive integers with a product up to ${MAX_MANDELBROT_PIXELS}, not ${width} × ${height}`,
        );
      }
      if (!isCount(maxIterations, MAX_MANDELBROT_ITERATIONS / (width * height))) {
        return badInput(
          `example:mandelbrot: maxIterations must be a positive integer, and at most ${MAX_MANDELBROT_ITERATIONS} over all pixels, not ${maxIterations}`,
        );
      }
      return ok(mandelbrotLengths(width, height, maxIterations));
    }
  }
}

const SHORT_LENGTHS = 65_536;

export function countLengths(lengths: CompactNumbers): Map<number, number> {
  const counts = new Map<number, number>();
  // Even among millions of lengths, most are short. An array counts these ten times as fast as a map.
  const short = new Uint32Array(Math.min(lengths.length, SHORT_LENGTHS));
  for (let unit = 0; unit < lengths.length; unit += 1) {
    const length = lengths[unit];
    if (length >= 0 && length < short.length && Math.floor(length) === length) short[length] += 1;
    else counts.set(length, (counts.get(length) ?? 0) + 1);
  }
  for (const [length, count] of short.entries()) if (count > 0) counts.set(length, count);
  return counts;
}

/** Steps of n → n/2 or 3n+1 until 1 (OEIS A006577), exact for `count` ≤ `MAX_COLLATZ_COUNT`. */
export function collatzLengths(count: number): Float64Array {
  const lengths = new Float64Array(count);
  for (let start = 2; start <= count; start++) {
    let value = start;
    let steps = 0;
    // An orbit that falls below its start continues as an orbit whose length is already known.
    while (value >= start) {
      value = value % 2 === 0 ? value / 2 : 3 * value + 1;
      steps++;
    }
    lengths[start - 1] = steps + lengths[value - 1];
  }
  return lengths;
}

/**
 * Computes the iterations of z → z² + c until |z| > 2, at most `maxIterations`, at the pixel centres of −2…0.5 ×
 * −1.25…1.25, row by row from the top. Additions and multiplications alone give the same counts on every machine.
 */
export function mandelbrotLengths(width: number, height: number, maxIterations: number): Float64Array {
  const lengths = new Float64Array(width * height);
  for (let row = 0; row < height; row++) {
    const imaginary = 1.25 - (2.5 * (row + 0.5)) / height;
    for (let column = 0; column < width; column++) {
      const real = -2 + (2.5 * (column + 0.5)) / width;
      lengths[row * width + column] = escapeCount(real, imaginary, maxIterations);
    }
  }
  return lengths;
}

function escapeCount(real: number, imaginary: number, maxIterations: number): number {
  // Inside the main cardioid and the period-2 disc, a fifth of the image, no orbit escapes.
  const fromCusp = real - 0.25;
  const q = fromCusp * fromCusp + imaginary * imaginary;
  if (q * (q + fromCusp) < 0.25 * imaginary * imaginary) return maxIterations;
  if ((real + 1) * (real + 1) + imaginary * imaginary < 0.0625) return maxIterations;
  let x = 0;
  let y = 0;
  let count = 0;
  while (count < maxIterations) {
    const nextX = x * x - y * y + real;
    y = 2 * x * y + imaginary;
    x = nextX;
    count++;
    if (x * x + y * y > 4) break;
  }
  return count;
}

function isCount(value: number, maximum: number): boolean {
  return Number.isSafeInteger(value) && value >= 1 && value <= maximum;
}
