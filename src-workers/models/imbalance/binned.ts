import type { LengthLaw } from '../../domain/workload.ts';
import { fourier, powerOfTwoAtLeast } from '../../numeric/fourier.ts';
import { latticeStep, spreadOnLattice, sumWindow, type Masses } from '../../numeric/lattice.ts';
import { lossDistribution, lossDistributionCost, requireGroupSize, type LossDistribution } from './distribution.ts';

/** Number of bins for the logarithm of the loss, which lies between 0 and ln n. */
const LOG_BINS = 2 ** 16;
/** Neglected probability of a sum outside the window of its `Panel`, or of a group without a counted length. */
const EXCLUDED = 1e-13;
/** The rounding noise of the transform. Smaller probabilities count as 0. */
const NOISE = 1e-17;
/** All lengths are handled together if lengths × transform points (30 ns for each pair) are at most this. */
const WHOLE_BUDGET = 5e6;
/** Like `WHOLE_BUDGET`, for an octave: the lengths above half of the longest. */
const OCTAVE_BUDGET = 1.2e6;
const WINDOW_POINTS = 1024;

const EXACT_OPERATIONS = 3e7;
const EXACT_OUTCOMES = 1e6;

/** Makes the exact distribution in half a second, or else the binned one. Throws unless n is an integer ≥ 1. */
export function affordableLossDistribution(law: LengthLaw, n: number): LossDistribution {
  const { operations, outcomes } = lossDistributionCost(law, n);
  if (operations <= EXACT_OPERATIONS && outcomes <= EXACT_OUTCOMES) {
    const exact = lossDistribution(law, n);
    if (exact.ok) return exact.value;
  }
  return binnedLossDistribution(law, n);
}

/**
 * Computes the distribution of the loss in 65,536 logarithmic bins. The loss of a bin is the mean of its outcomes.
 *
 * P(longest ≤ a, sum = x) comes from the n-th power of a discrete Fourier transform (Eq. 9, Swatman et al. 2022,
 * doi:10.1109/MASCOTS56607.2022.00026). The differences between successive a are the joint law of longest and sum
 * (Eq. 10), with absolute errors below 1e-15. If the lengths span too wide a range, they are handled octave by octave,
 * each on the finest lattice that the budget allows. `resolution` is then the largest lattice step relative to the
 * longest unit of its octave, or the bin width if that is larger.
 */
export function binnedLossDistribution(law: LengthLaw, n: number): LossDistribution {
  requireGroupSize(n);
  const { support, probability } = law;
  if (n === 1 || support.length === 1) {
    return { n, loss: Float64Array.of(1), probability: Float64Array.of(1), method: 'exact', resolution: 0 };
  }

  const bins = {
    mass: new Float64Array(LOG_BINS),
    moment: new Float64Array(LOG_BINS),
    perLog: (LOG_BINS - 1) / Math.log(n),
  };
  const ownStep = latticeStep(support);
  const cumulative = new Float64Array(support.length);
  for (let i = 0, sum = 0; i < support.length; i++) cumulative[i] = sum += probability[i];
  const maximumBelow = (end: number) => (end === 0 ? 0 : cumulative[end - 1] ** n);

  let resolution = 1 / bins.perLog;
  for (let end = support.length; end > 0 && maximumBelow(end) > EXCLUDED;) {
    const shorter = { support: support.subarray(0, end), probability: probability.subarray(0, end) };
    const longest = support[end - 1];
    const window = sumWindow(coarsened(shorter, ownStep), n, EXCLUDED);
    // One panel covers all lengths if they fit the budget, otherwise the upper octave, on a coarser lattice if needed.
    let start = 0;
    while (start < end && maximumBelow(start + 1) <= EXCLUDED) start++;
    let step = ownStep;
    if (panelCost(shorter.support, start, window, step) > (end === support.length ? WHOLE_BUDGET : OCTAVE_BUDGET)) {
      while (start < end && support[start] <= longest / 2) start++;
      while (panelCost(shorter.support, start, window, step) > OCTAVE_BUDGET) step *= 2;
    }
    const isSpread = step > ownStep;
    if (isSpread) resolution = Math.max(resolution, step / longest);
    const expected = maximumBelow(end) - maximumBelow(start);
    const onLattice = (from: number, to: number): Masses => {
      const part = { support: support.subarray(from, to), probability: probability.subarray(from, to) };
      return isSpread && from < to ? spreadOnLattice(part, support[0], step) : part;
    };
    addPanel(bins, {
      n,
      origin: support[0],
      step,
      below: onLattice(0, start),
      counted: onLattice(start, end),
      window: isSpread ? widened(window, n, step) : window,
      expected,
    });
    end = start;
  }

  const kept: number[] = [];
  let total = 0;
  for (let i = 0; i < LOG_BINS; i++) {
    if (bins.mass[i] === 0) continue;
    kept.push(i);
    total += bins.mass[i];
  }
  return {
    n,
    loss: Float64Array.from(kept, (i) => bins.moment[i] / bins.mass[i]),
    probability: Float64Array.from(kept, (i) => bins.mass[i] / total),
    method: 'binned',
    resolution,
  };
}

interface LogBins {
  readonly mass: Float64Array;
  readonly moment: Float64Array;
  readonly perLog: number;
}

interface Panel {
  readonly n: number;
  /** Lengths are on origin + step·(0, 1, …). */
  readonly origin: number;
  readonly step: number;
  /** Lengths below the counted ones; separate, because a coarse lattice may merge points of `below` and `counted`. */
  readonly below: Masses;
  /** The panel counts the groups that have at least one of these lengths. */
  readonly counted: Masses;
  readonly window: { readonly low: number; readonly high: number };
  /** Exact probability of the groups that the panel counts, to which the result from the lattice is scaled. */
  readonly expected: number;
}

/** The Chernoff windows of the coarsened law are valid for the original, because coarsening raises the moments. */
function coarsened(masses: Masses, step: number): Masses {
  const { support } = masses;
  const cells = (support[support.length - 1] - support[0]) / step;
  if (cells <= WINDOW_POINTS || support.length <= WINDOW_POINTS) return masses;
  return spreadOnLattice(masses, support[0], step * Math.ceil(cells / WINDOW_POINTS));
}

/** A lattice moves lengths by less than a step, and sums by over `reach` with probability ≤ `EXCLUDED` (Hoeffding). */
function widened(window: Panel['window'], n: number, step: number): Panel['window'] {
  const reach = step * Math.min(n, Math.sqrt((-n * Math.log(EXCLUDED)) / 2));
  return { low: window.low - reach, high: window.high + reach };
}

function panelCost(support: Float64Array, start: number, window: Panel['window'], step: number): number {
  const lengths = Math.min(support.length - start, (support[support.length - 1] - support[start]) / step + 1);
  return (lengths * powerOfTwoAtLeast((window.high - window.low) / step + 2)) / 2;
}

function addPanel(bins: LogBins, panel: Panel): void {
  const { n, origin, step, below, counted, window } = panel;
  const firstSum = Math.max(0, Math.floor((window.low - n * origin) / step));
  const lastSum = Math.ceil((window.high - n * origin) / step);
  const size = powerOfTwoAtLeast(lastSum - firstSum + 1);
  const half = size / 2;
  const transform = fourier(size);
  const cosines = new Float64Array(size);
  const sines = new Float64Array(size);
  for (let k = 0; k < size; k++) {
    cosines[k] = Math.cos((2 * Math.PI * k) / size);
    sines[k] = -Math.sin((2 * Math.PI * k) / size);
  }
  const logSums = Float64Array.from({ length: lastSum - firstSum + 1 }, (_, c) =>
    Math.log(n * origin + (firstSum + c) * step),
  );

  const re = new Float64Array(half + 1);
  const im = new Float64Array(half + 1);
  const powerRe = new Float64Array(half + 1);
  const powerIm = new Float64Array(half + 1);
  // Each transform handles two values of the longest length: one in the real part, the other in the imaginary part.
  const packed = new Float64Array(2 * size);
  const sums = new Float64Array(2 * size);
  const panelMass = new Float64Array(LOG_BINS);
  const panelMoment = new Float64Array(LOG_BINS);
  const waiting: number[] = [];

  const join = (length: number, mass: number): void => {
    const turn = Math.round((length - origin) / step) % size;
    for (let k = 0, angle = 0; k <= half; k++, angle = (angle + turn) & (size - 1)) {
      re[k] += mass * cosines[angle];
      im[k] += mass * sines[angle];
    }
  };
  const collect = (longest: number, part: 0 | 1): void => {
    const logLongest = Math.log(n * longest);
    const lowest = Math.max(firstSum, Math.floor((longest - origin) / step));
    const highest = Math.min(lastSum, Math.round((n * (longest - origin)) / step));
    for (let sum = lowest; sum <= highest; sum++) {
      const mass = sums[2 * (sum & (size - 1)) + part];
      if (mass < NOISE) continue;
      const logLoss = longest === 0 ? 0 : Math.max(0, logLongest - logSums[sum - firstSum]);
      const bin = Math.round(logLoss * bins.perLog);
      panelMass[bin] += mass;
      panelMoment[bin] += mass * (longest === 0 ? 1 : (n * longest) / (n * origin + sum * step));
    }
  };
  const flush = (): void => {
    if (waiting.length === 0) return;
    transform.inverseTransform(sums, packed);
    collect(waiting[0], 0);
    if (waiting.length > 1) collect(waiting[1], 1);
    packed.fill(0);
    waiting.length = 0;
  };

  below.support.forEach((length, i) => {
    if (below.probability[i] > 0) join(length, below.probability[i]);
  });
  raise(re, im, powerRe, powerIm, n, null, 0);
  counted.support.forEach((length, i) => {
    if (counted.probability[i] === 0) return;
    join(length, counted.probability[i]);
    raise(re, im, powerRe, powerIm, n, packed, waiting.length);
    waiting.push(length);
    if (waiting.length === 2) flush();
  });
  flush();

  let total = 0;
  for (const mass of panelMass) total += mass;
  if (total === 0) return;
  const scale = panel.expected / total;
  for (let bin = 0; bin < LOG_BINS; bin++) {
    bins.mass[bin] += scale * panelMass[bin];
    bins.moment[bin] += scale * panelMoment[bin];
  }
}

/**
 * Writes (re + i·im)ⁿ for every frequency into the power arrays. Adds the change to the spectrum `packed`, also at the
 * conjugate frequencies, multiplied by i if `part` is 1.
 */
function raise(
  re: Float64Array,
  im: Float64Array,
  powerRe: Float64Array,
  powerIm: Float64Array,
  n: number,
  packed: Float64Array | null,
  part: number,
): void {
  const half = re.length - 1;
  for (let k = 0; k <= half; k++) {
    let baseRe = re[k];
    let baseIm = im[k];
    let rest = n;
    // Squares the base up to the lowest set bit of n, where the product begins. A power of two needs no product.
    for (; (rest & 1) === 0; rest >>>= 1) {
      const t = baseRe * baseRe - baseIm * baseIm;
      baseIm = 2 * baseRe * baseIm;
      baseRe = t;
    }
    let outRe = baseRe;
    let outIm = baseIm;
    for (rest >>>= 1; rest > 0; rest >>>= 1) {
      const t = baseRe * baseRe - baseIm * baseIm;
      baseIm = 2 * baseRe * baseIm;
      baseRe = t;
      if (rest & 1) {
        const product = outRe * baseRe - outIm * baseIm;
        outIm = outRe * baseIm + outIm * baseRe;
        outRe = product;
      }
    }
    const dRe = outRe - powerRe[k];
    const dIm = outIm - powerIm[k];
    powerRe[k] = outRe;
    powerIm[k] = outIm;
    if (!packed) continue;
    const mirror = k === 0 || k === half ? -1 : 2 * half - k;
    if (part === 0) {
      packed[2 * k] += dRe;
      packed[2 * k + 1] += dIm;
      if (mirror > 0) {
        packed[2 * mirror] += dRe;
        packed[2 * mirror + 1] -= dIm;
      }
    } else {
      packed[2 * k] -= dIm;
      packed[2 * k + 1] += dRe;
      if (mirror > 0) {
        packed[2 * mirror] += dIm;
        packed[2 * mirror + 1] += dRe;
      }
    }
  }
}
