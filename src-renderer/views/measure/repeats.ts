import type { MeasuredTime } from '../../../src-main/contract/measuring.ts';
import { summariseRepeats } from '../../../src-workers/models/calibration/repeats.ts';

/** Returns all launches, warm-ups first, numbered from 0. Outliers are found as in the engine. */
export function launches({ timesMs, warmUpMs }: MeasuredTime) {
  const all = [...warmUpMs, ...timesMs];
  const summary = summariseRepeats(
    all.map((ms) => ms * 1e6),
    all.map((_, i) => i < warmUpMs.length),
  );
  const outliers = new Set(summary.ok ? summary.value.outliers : []);
  const kindOf = (order: number): 'warm-up' | 'outlier' | 'counted' =>
    order < warmUpMs.length ? 'warm-up' : outliers.has(order) ? 'outlier' : 'counted';
  return all.map((timeMs, order) => ({ order, timeMs, kind: kindOf(order) }));
}

/** The scale covers times up to this factor from the median. Other launches are drawn at its edges. */
const REACH = 2;

export function launchRange(time: MeasuredTime): { readonly lowMs: number; readonly highMs: number } {
  const shown = [...time.warmUpMs, ...time.timesMs].filter(
    (ms) => ms >= time.medianMs / REACH && ms <= time.medianMs * REACH,
  );
  const low = Math.min(time.medianMs, ...shown);
  const high = Math.max(time.medianMs, ...shown);
  const margin = Math.max((high - low) * 0.1, time.medianMs * 0.002);
  return { lowMs: low - margin, highMs: high + margin };
}
