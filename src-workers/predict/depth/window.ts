import { greatestCommonDivisor } from '../../numeric/lattice.ts';
import { type StepLaws, isLattice } from './depth-table.ts';
import { GROUP_EDGES, NEGLIGIBLE_LIFE } from '../constants.ts';
import type { DiscreteLaw } from './discrete-law.ts';

/** Number of steps of a sorted window's law for each factor of e by which its tail falls. */
const TAIL_EDGES = 1.5;

/** The r-th of M sorted units has at most x iterations if at least r do: P(X_(r) ≤ x) = P(Bin(M, P(X ≤ x)) ≥ r). */
export interface SortedWindow {
  /** M, a multiple of n. */
  readonly units: number;
  readonly n: number;
}

/** Mean activity over all positions in a window, for blocks of `groups` consecutive groups with one unit per slot. */
export interface WindowActivity {
  /** P(a block is active). */
  block: number;
  group: number;
  /** P(two different groups of a block are both active). */
  pair: number;
}

/**
 * Computes the activity of blocks at x iterations from P(X > x) of a unit. Blocks start at multiples of `groups`. At a
 * window's end, a block continues in the next window, which is independent. In a window, no later group is shorter.
 * @param groups groups of a block, integer ≥ 1
 */
export function computeWindowActivity({ units, n }: SortedWindow, groups: number) {
  const perWindow = units / n;
  const stride = greatestCommonDivisor(groups, perWindow);
  const binomial = createBinomialWindow(units);
  // Σ P(active) and Σ r·P(active) up to the r-th group, over groups whose state is not certain.
  const sums = new Float64Array(perWindow + 1);
  const moments = new Float64Array(perWindow + 1);
  return (survival: number, out: WindowActivity): void => {
    const { first, masses } = binomial(1 - survival);
    // Group r has ended if at least r·n units have at most x iterations. Groups up to `ended` have certainly ended.
    // Groups beyond `open` have certainly not ended.
    const ended = Math.min(perWindow, Math.floor(first / n));
    const open = Math.min(perWindow, Math.floor((first + masses.length - 1) / n));
    let probability = 0;
    for (let r = ended + 1, i = 0, sum = 0, moment = 0; r <= open; r++) {
      for (const end = r * n - first; i < end; i++) probability += masses[i];
      sums[r] = sum += probability;
      moments[r] = moment += r * probability;
    }
    sums[ended] = 0;
    moments[ended] = 0;
    const sumTo = (r: number): number => (r <= ended ? 0 : r <= open ? sums[r] : sums[open] + r - open);
    const momentTo = (r: number): number =>
      r <= ended ? 0 : r <= open ? moments[r] : moments[open] + (r * (r + 1) - open * (open + 1)) / 2;
    const chance = (r: number): number => sumTo(r) - sumTo(r - 1);
    // The expected number of pairs of active groups among the groups `from` + 1 to `to`.
    const pairsIn = (from: number, to: number): number =>
      to * (sumTo(to) - sumTo(from)) - (momentTo(to) - momentTo(from));
    const all = sumTo(perWindow);
    let blocks = 0;
    let pairs = 0;
    // Blocks that start at `inside` or before lie inside one window.
    const inside = perWindow - groups;
    const from = Math.max(0, Math.ceil((ended + 1 - groups) / stride) * stride);
    let start = from;
    for (; start <= inside && start < open; start += stride) {
      blocks += chance(start + groups);
      pairs += pairsIn(start, start + groups);
    }
    if (start <= inside) {
      const active = Math.floor((inside - start) / stride) + 1;
      blocks += active;
      pairs += (active * groups * (groups - 1)) / 2;
      start += active * stride;
    }
    // Later blocks reach beyond the end of their window.
    for (start = Math.max(start, Math.ceil((inside + 1) / stride) * stride); start < perWindow; start += stride) {
      const further = groups - (perWindow - start);
      const whole = Math.floor(further / perWindow);
      const last = further - whole * perWindow;
      const top = chance(perWindow);
      blocks += 1 - Math.pow(1 - top, 1 + whole) * (last > 0 ? 1 - chance(last) : 1);
      const head = all - sumTo(start);
      const tail = sumTo(last);
      pairs += pairsIn(start, perWindow) + whole * pairsIn(0, perWindow) + pairsIn(0, last);
      pairs += head * (whole * all + tail) + whole * all * tail + ((whole * (whole - 1)) / 2) * all * all;
    }
    const starts = perWindow / stride;
    out.block = Math.min(1, blocks / starts);
    out.group = Math.min(1, all / perWindow);
    out.pair = groups > 1 ? Math.min(1, (2 * pairs) / (starts * groups * (groups - 1))) : 0;
  };
}

export function computeWindowSurvival(law: DiscreteLaw, window: SortedWindow, groups: number): Float64Array {
  const activity = computeWindowActivity(window, groups);
  const out: WindowActivity = { block: 0, group: 0, pair: 0 };
  return law.survival.map((survival) => {
    if (survival === 0) return 0;
    activity(survival, out);
    return out.block;
  });
}

/**
 * Computes the survival functions of blocks of a sorted window with one unit per slot: exact at the ends of each step,
 * and logarithmic means within.
 */
export function computeWindowSteps(
  law: DiscreteLaw,
  window: SortedWindow,
  groups: number,
  setupIterations: number,
): StepLaws {
  const { values, survival } = law;
  const perBlock = groups * window.n;
  // A step ends when P(a group has ended), P(a block has ended) and log survival together have changed enough.
  const monitor = (i: number): number =>
    GROUP_EDGES * (2 - survival[i] - Math.min(1, survival[i] + perBlock / window.units)) -
    TAIL_EDGES * Math.log(Math.max(survival[i], NEGLIGIBLE_LIFE));
  const ends = [0];
  for (let i = 1; i < values.length; i++)
    if (i === values.length - 1 || monitor(i) - monitor(ends[ends.length - 1]) >= 1) ends.push(i);
  const rows = ends.length - 1;
  const steps = Float64Array.from(ends, (at) => values[at] + setupIterations);
  const block = new Float64Array(ends.length);
  const group = new Float64Array(ends.length);
  const either = new Float64Array(ends.length);
  const activity = computeWindowActivity(window, groups);
  const first: WindowActivity = { block: 0, group: 0, pair: 0 };
  const last: WindowActivity = { block: 0, group: 0, pair: 0 };
  for (let row = 0; row < rows; row++) {
    activity(survival[ends[row]], first);
    activity(survival[ends[row + 1] - 1], last);
    block[row] = computeLogarithmicMean(first.block, last.block);
    group[row] = computeLogarithmicMean(first.group, last.group);
    either[row] = 2 * group[row] - computeLogarithmicMean(first.pair, last.pair);
  }
  return { steps, block, group, either, lattice: isLattice(steps) };
}

/** The mean of a quantity that falls exponentially from a to b. */
function computeLogarithmicMean(a: number, b: number): number {
  if (!(b > 0) || a - b < 1e-6 * a) return (a + b) / 2;
  return (a - b) / Math.log(a / b);
}

/** Mean of E[longest]/E[mean length] over groups: nearly the mean loss, least exact for windows of 4n units. */
export function computeWindowMeanLoss(law: DiscreteLaw, window: SortedWindow): number {
  const { units, n } = window;
  const perWindow = units / n;
  const longest = new Float64Array(perWindow).fill(law.values[0]);
  const mean = new Float64Array(perWindow).fill(law.values[0]);
  const empty = new Float64Array(perWindow).fill(law.values[0] === 0 ? 1 : 0);
  // full[i]: the sum of `gap` over the values that groups from i on certainly exceed, and group i − 1 may not.
  const full = new Float64Array(perWindow + 1);
  const binomial = createBinomialWindow(units);
  for (let x = 0; x < law.values.length - 1; x++) {
    const gap = law.values[x + 1] - law.values[x];
    const { first, masses } = binomial(1 - law.survival[x]);
    const last = first + masses.length - 1;
    const from = Math.floor(first / n);
    const to = Math.min(perWindow, Math.ceil((last + 1) / n));
    let at = 0;
    let probability = 0;
    let partial = 0;
    // For the binomial number B: returns E[(t − B)⁺], and leaves P(B < t) in `probability`.
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
    // A group of empty units has loss 1. For any other group, the loss is the quotient of the means.
    sum += mean[i] + above > 0 ? empty[i] + ((1 - empty[i]) * (longest[i] + above)) / (mean[i] + above) : 1;
  }
  return sum / perWindow;
}

/** Binomial probabilities near the mode, with the sum 1, without those below 1e-18 of the mode's. */
function createBinomialWindow(trials: number) {
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
