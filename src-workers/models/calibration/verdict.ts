import type { TimeRatio, Verdict } from '../../domain/benchmark.ts';
import { median, medianInterval } from '../../numeric/statistics.ts';

/** The confidence of each median's interval; both together have 95 %. */
const COVERAGE = Math.sqrt(0.95);

export const MIN_VERDICT_REPEATS = 7;

/**
 * Compares the medians of the repeats of two measurements. Each median has an interval by order statistics (Hoefler and
 * Belli, SC 2015, doi:10.1145/2807591.2807644), and the quotients of the limits bound the ratio.
 * @param threshold relative difference that does not count, ≥ 0; it should exceed the variation between sessions
 */
export function compareTimes(beforeMs: readonly number[], afterMs: readonly number[], threshold: number): TimeRatio {
  const before = Float64Array.from(beforeMs).sort();
  const after = Float64Array.from(afterMs).sort();
  const ratio = median(after) / median(before);
  const [first, second] = [before, after].map((times) => {
    const bounds = medianInterval(times.length, COVERAGE);
    return bounds && { low: times[bounds.low], high: times[bounds.high] };
  });
  if (!first || !second || !(first.low > 0) || !(second.low > 0))
    return { ratio, interval: null, verdict: 'cannot-tell' };
  const interval = { low: second.low / first.high, high: second.high / first.low };
  return { ratio, interval, verdict: judgeInterval(interval, threshold) };
}

function judgeInterval({ low, high }: { readonly low: number; readonly high: number }, threshold: number): Verdict {
  const [below, above] = [1 / (1 + threshold), 1 + threshold];
  if (low > above) return 'slower';
  if (high < below) return 'faster';
  return low >= below && high <= above ? 'same' : 'cannot-tell';
}
