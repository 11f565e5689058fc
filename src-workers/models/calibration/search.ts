import { firstIndex } from '../../numeric/search.ts';

/**
 * Of k values drawn without replacement from N, the minimum is the i-th smallest with probability C(N − i, k − 1)/C(N,
 * k). Returns the mean of `value(i)`, with i from 0.
 */
function meanOfLeast(count: number, draws: number, value: (i: number) => number): number {
  let probability = draws / count;
  let sum = 0;
  for (let i = 0; i + draws <= count; i += 1) {
    sum += probability * value(i);
    probability *= (count - i - draws) / (count - i - 1);
  }
  return sum;
}

/**
 * Computes how much the best of `draws` random measurements is expected to exceed the best of all.
 * @param sorted ascending, at least `draws` values
 * @param known the best value so far; a worse draw does not replace it
 */
export function expectedExcess(sorted: Float64Array, draws: number, known = Infinity): number {
  // A mean of differences has no rounding error if the draws cannot miss the best value.
  return meanOfLeast(sorted.length, draws, (i) => Math.min(known, sorted[i]) - sorted[0]);
}

/** The minimum number of random measurements whose best is expected to be at most `target` (≥ the smallest value). */
export function randomMeasurements(sorted: Float64Array, target: number): number {
  const excess = target - sorted[0];
  return firstIndex(1, sorted.length, (draws) => expectedExcess(sorted, draws) <= excess);
}

/** The expected best measured time of the model's first k designs, k ≥ 1, with equal predictions in random order. */
export function bestOfFirst(predicted: Float64Array, measured: Float64Array, k: number): number {
  const order = Uint32Array.from(predicted, (_, i) => i).sort((a, b) => predicted[a] - predicted[b]);
  const last = predicted[order[k - 1]];
  let certain = Infinity;
  let at = 0;
  for (; predicted[order[at]] < last; at += 1) certain = Math.min(certain, measured[order[at]]);
  const tied: number[] = [];
  for (let i = at; i < order.length && predicted[order[i]] === last; i += 1) tied.push(measured[order[i]]);
  const sorted = Float64Array.from(tied).sort();
  return certain <= sorted[0] ? certain : sorted[0] + expectedExcess(sorted, k - at, certain);
}
