import { niceStep } from '../charts/parts.ts';

export interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly step: number;
}

/** Round bounds around a range, about four steps apart. */
export function niceBounds(low: number, high: number): Bounds {
  const span = high > low ? high - low : Math.abs(high) * 0.1 || 1;
  const step = niceStep(span, 4);
  return {
    low: Math.floor(low / step + 1e-9) * step,
    high: Math.max(Math.ceil(high / step - 1e-9) * step, low + step),
    step,
  };
}

/** The gridlines of the bounds. */
export function linearTicks({ low, high, step }: Bounds): number[] {
  return Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
}

/** Every how many values of an axis a label is written so that they stay `apart` px from each other. */
export function labelStride(count: number, lengthPx: number, apartPx: number): number {
  const least = Math.max(1, Math.ceil((count * apartPx) / lengthPx));
  return [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((stride) => stride >= least) ?? least;
}

/** Whether value `i` of an axis gets a label: the first, the last, and every `stride`-th counted so that round values come out. */
export function isLabelled(i: number, count: number, stride: number): boolean {
  if (i === 0 || i === count - 1) return true;
  return (i + 1) % stride === 0 && i >= stride * 0.7 && count - 1 - i >= stride * 0.75;
}
