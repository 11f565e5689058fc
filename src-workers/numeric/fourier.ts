import FFT from 'fft.js';
import { getOrMake } from './kept.ts';

const transforms = new Map<number, FFT>();

/** Returns a radix-4 transform of `size` complex numbers (a power of two, 2 or more), which is built once per size. */
export function fourier(size: number): FFT {
  return getOrMake(transforms, size, () => new FFT(size));
}

export function powerOfTwoAtLeast(value: number): number {
  let power = 2;
  while (power < value) power *= 2;
  return power;
}
