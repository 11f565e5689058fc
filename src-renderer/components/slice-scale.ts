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
