import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import type { DiscreteLaw } from './discrete-law.ts';

/**
 * Windows of M units, sorted, and cut into G = M/n groups of n: rank r of a window is at most x exactly when at least r
 * of its M units are, so P(X_(r) ≤ x) = P(Bin(M, F(x)) ≥ r).
 */
export interface SortedWindow {
  /** M, a multiple of n. */
  readonly units: number;
  readonly n: number;
}

/**
 * P(longest of `groups` consecutive groups > x) for every x of the law, averaged over where in its window the first of
 * them stands. Blocks start at multiples of `groups`, so at every multiple of gcd(groups, G) alike; a block that reaches
 * the end of its window continues in the next, which is independent. The groups being in order, the last of a window is the
 * longest.
 */
export function windowSurvival(law: DiscreteLaw, window: SortedWindow, groups: number): Float64Array {
  const { units, n } = window;
  const perWindow = units / n;
  const stride = greatestCommonDivisor(groups, perWindow);
  const starts = perWindow / stride;
  const overrun = (groups % perWindow) / stride;
  const wholeWindows = Math.floor(groups / perWindow);
  const binomial = binomialWindow(units);
  return law.survival.map((survival) => {
    if (survival === 0) return 0;
    const { first, masses } = binomial(1 - survival);
    // The block's last group has rank r·n of its last window, r = 0, stride, …; r = 0 is a block that ends with one.
    const step = n * stride;
    let ended = 0;
    let running = 0;
    for (let i = 0, reached = Math.floor(first / step) + 1; i < masses.length; reached++) {
      // All counts below reached·step reach as many ranks.
      const end = Math.min(masses.length, reached * step - first);
      let mass = 0;
      for (; i < end; i++) mass += masses[i];
      const ranks = Math.min(starts, reached);
      ended += mass * Math.min(ranks, overrun);
      running += mass * Math.max(0, ranks - overrun);
    }
    const allShort = units * Math.log1p(-survival);
    const below = ended * Math.exp(allShort * (wholeWindows + 1)) + running * Math.exp(allShort * wholeWindows);
    return Math.min(1, Math.max(0, 1 - below / starts));
  });
}

/**
 * Mean over the groups of a window of E[longest]/E[mean length]: the mean loss but for the spread of the lengths at one
 * place of the window, which vanishes as the window grows (largest seen at M = 4n: see the test).
 */
export function windowMeanLoss(law: DiscreteLaw, window: SortedWindow): number {
  const { units, n } = window;
  const perWindow = units / n;
  const longest = new Float64Array(perWindow).fill(law.values[0]);
  const mean = new Float64Array(perWindow).fill(law.values[0]);
  const empty = new Float64Array(perWindow).fill(law.values[0] === 0 ? 1 : 0);
  // Steps of x that all groups from some index on are above in full, as differences over the index.
  const full = new Float64Array(perWindow + 1);
  const binomial = binomialWindow(units);
  for (let x = 0; x < law.values.length - 1; x++) {
    const gap = law.values[x + 1] - law.values[x];
    const { first, masses } = binomial(1 - law.survival[x]);
    const last = first + masses.length - 1;
    const from = Math.floor(first / n);
    const to = Math.min(perWindow, Math.ceil((last + 1) / n));
    let at = 0;
    let probability = 0;
    let partial = 0;
    // E[(t − B)⁺] and P(B < t) at t = i·n.
    const advanceTo = (t: number) => {
      for (; at < masses.length && first + at < t; at++) {
        probability += masses[at];
        partial += masses[at] * (first + at);
      }
      return t * probability - partial;
    };
    let before = advanceTo(from * n);
    for (let i = from; i < to; i++) {
      const after = advanceTo((i + 1) * n);
      if (x === 0) empty[i] *= 1 - probability;
      longest[i] += gap * probability;
      mean[i] += (gap * (after - before)) / n;
      before = after;
    }
    full[to] += gap;
    if (x === 0) empty.fill(0, to);
  }
  let above = 0;
  let sum = 0;
  for (let i = 0; i < perWindow; i++) {
    above += full[i];
    // A group of empty units has loss 1; the quotient of the means is that of the others.
    sum += mean[i] + above > 0 ? empty[i] + ((1 - empty[i]) * (longest[i] + above)) / (mean[i] + above) : 1;
  }
  return sum / perWindow;
}

/** Binomial probabilities of M trials around their mode, those above 1e-18 of it, scaled to sum to 1. */
export function binomialWindow(trials: number) {
  const buffer = new Float64Array(trials + 1);
  return (p: number): { readonly first: number; readonly masses: Float64Array } => {
    if (p <= 0) return { first: 0, masses: Float64Array.of(1) };
    if (p >= 1) return { first: trials, masses: Float64Array.of(1) };
    const mode = Math.min(trials, Math.floor((trials + 1) * p));
    const odds = p / (1 - p);
    buffer[mode] = 1;
    let total = 1;
    let first = mode;
    for (let mass = 1; first > 0; first--) {
      mass *= first / ((trials - first + 1) * odds);
      if (mass < 1e-18) break;
      buffer[first - 1] = mass;
      total += mass;
    }
    let last = mode;
    for (let mass = 1; last < trials; last++) {
      mass *= ((trials - last) * odds) / (last + 1);
      if (mass < 1e-18) break;
      buffer[last + 1] = mass;
      total += mass;
    }
    const masses = buffer.subarray(first, last + 1);
    for (let i = 0; i < masses.length; i++) masses[i] /= total;
    return { first, masses };
  };
}
