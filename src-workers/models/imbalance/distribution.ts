import { ok, unsupported, type Result } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { latticeStep } from '../../numeric/lattice.ts';
import { weightedQuantile } from '../../numeric/statistics.ts';

export interface LossDistribution {
  readonly n: number;
  /** Possible losses, strictly increasing, ≥ 1. */
  readonly loss: Float64Array;
  /** P(X = loss[i]) > 0; sums to 1 within rounding. */
  readonly probability: Float64Array;
  /** `exact`: one outcome per irreducible fraction. `binned`: outcomes closer than `resolution` are merged. */
  readonly method: 'exact' | 'binned';
  /** Largest relative error of a single loss; 0 if the method is exact. */
  readonly resolution: number;
}

/** Maximum number of fused multiply-adds: a few seconds. */
const MAX_OPERATIONS = 2e9;
/** Maximum number of pairs (longest, sum); each takes several times 16 bytes. */
const MAX_OUTCOMES = 1.6e7;
/** The binomial coefficients of larger groups overflow a double. */
const MAX_EXACT_UNITS = 1024;

export function requireGroupSize(n: number): void {
  if (!Number.isInteger(n) || n < 1)
    throw new RangeError(`A group cannot have ${n} units. The number must be an integer of 1 or more.`);
}

export function lossDistributionCost(
  law: LengthLaw,
  n: number,
): { readonly operations: number; readonly outcomes: number } {
  const { support } = law;
  const step = latticeStep(support);
  let cells = 0;
  for (const v of support) cells += (v - support[0]) / step + 1;
  return { operations: (cells * n ** 3) / 6, outcomes: cells * n };
}

/**
 * Computes the full distribution of the loss (Eq. 7–11, Swatman et al. 2022, doi:10.1109/MASCOTS56607.2022.00026).
 *
 * The differences of convolution powers in Eq. 10 lose digits to cancellation. Instead, support points a are added one
 * at a time, in ascending order. With g(x; i, a) for P(i units up to length a sum to x): g(x; i, a) = Σ_k C(i,k) f(a)^k
 * g(x − ka; i − k, a−), where k units have length a, and the others at most the point a− before it. For i = n, the
 * terms k ≥ 1 are the groups whose longest unit is a. All terms are positive, so every probability is accurate to a few
 * n·EPS. Doubles distinguish all fractions of integers up to 2^26.
 */
export function lossDistribution(law: LengthLaw, n: number): Result<LossDistribution> {
  requireGroupSize(n);
  if (n === 1 || law.support.length === 1) {
    return ok({ n, loss: Float64Array.of(1), probability: Float64Array.of(1), method: 'exact', resolution: 0 });
  }
  const { support, probability } = law;
  const { operations, outcomes } = lossDistributionCost(law, n);
  const longest = support[support.length - 1];
  if (operations > MAX_OPERATIONS || outcomes > MAX_OUTCOMES || n * longest > 2 ** 26 || n > MAX_EXACT_UNITS) {
    return unsupported(
      `The exact loss distribution of ${law.label} for n = ${n} needs ${operations.toExponential(1)} operations and ` +
        `${outcomes.toExponential(1)} outcomes. The limits are ${MAX_OPERATIONS.toExponential(0)} operations, ` +
        `${MAX_OUTCOMES.toExponential(1)} outcomes and n = ${MAX_EXACT_UNITS}. Use the binned distribution.`,
    );
  }

  const step = latticeStep(support);
  const first = support[0];
  const binomials = pascalTriangle(n);
  // sums[i][c] = g(i·first + c·step; i, a), over the support points a so far.
  const topCell = (longest - first) / step;
  const sums = Array.from({ length: n }, (_, i) => new Float64Array(i * topCell + 1));
  sums[0][0] = 1;

  const losses: Float64Array[] = [];
  const masses: Float64Array[] = [];
  let reached = -1;
  for (let a = 0; a < support.length; a++) {
    const cell = (support[a] - first) / step;
    const powers = Float64Array.from({ length: n + 1 }, (_, k) => probability[a] ** k);
    const withLongest = new Float64Array(n * cell + 1);
    // As i falls, the sums of smaller groups do not yet include this length when they are read.
    for (let i = n; i >= 1; i--) {
      const target = i === n ? withLongest : sums[i];
      for (let k = 1; k <= i; k++) {
        // Before the first length, only the empty group has a sum.
        const end = i === k ? 0 : reached < 0 ? -1 : (i - k) * reached;
        addScaled(target, k * cell, sums[i - k], end, binomials[i][k] * powers[k]);
      }
    }
    reached = cell;

    const lossHere: number[] = [];
    const massHere: number[] = [];
    for (let c = withLongest.length - 1; c >= 0; c--) {
      if (withLongest[c] === 0) continue;
      const sum = n * first + c * step;
      lossHere.push(sum === 0 ? 1 : (n * support[a]) / sum);
      massHere.push(withLongest[c]);
    }
    losses.push(Float64Array.from(lossHere));
    masses.push(Float64Array.from(massHere));
  }
  return ok({ n, ...mergedOutcomes(losses, masses), method: 'exact', resolution: 0 });
}

function addScaled(target: Float64Array, shift: number, source: Float64Array, end: number, factor: number): void {
  for (let c = 0; c <= end; c++) target[shift + c] += factor * source[c];
}

function pascalTriangle(n: number): readonly Float64Array[] {
  const rows = [Float64Array.of(1)];
  for (let i = 1; i <= n; i++) {
    const above = rows[i - 1];
    rows.push(Float64Array.from({ length: i + 1 }, (_, k) => (k > 0 ? above[k - 1] : 0) + (k < i ? above[k] : 0)));
  }
  return rows;
}

function mergedOutcomes(losses: readonly Float64Array[], masses: readonly Float64Array[]) {
  const total = losses.reduce((sum, list) => sum + list.length, 0);
  const sorted = new Float64Array(total);
  let at = 0;
  for (const list of losses) {
    sorted.set(list, at);
    at += list.length;
  }
  sorted.sort();
  let distinct = 0;
  for (let i = 0; i < total; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[distinct++] = sorted[i];
  const loss = sorted.slice(0, distinct);
  const probability = new Float64Array(distinct);

  // A grid over the losses says where the search for a loss starts.
  const low = loss[0];
  const scale = loss.length / (loss[distinct - 1] - low || 1);
  const grid = new Int32Array(distinct + 2);
  for (let i = distinct - 1; i >= 0; i--) grid[Math.floor((loss[i] - low) * scale)] = i;
  for (let cell = distinct, next = distinct - 1; cell >= 0; cell--) {
    if (grid[cell] === 0 && cell > 0) grid[cell] = next;
    else next = grid[cell];
  }
  for (let l = 0; l < losses.length; l++) {
    let i = 0;
    for (let j = 0; j < losses[l].length; j++) {
      const value = losses[l][j];
      i = Math.max(i, grid[Math.floor((value - low) * scale)]);
      while (loss[i] !== value) i++;
      probability[i] += masses[l][j];
    }
  }
  return { loss, probability };
}

export function quantile(distribution: LossDistribution, q: number): number {
  // The probabilities sum to 1 only within rounding.
  return weightedQuantile(distribution.loss, distribution.probability, q * (1 - 1e-12));
}

export interface LossHistogram {
  /** bins + 1 edges; edges[0] = 1. The last bin also holds the losses above its upper edge, at most 1e-5 of all. */
  readonly edges: Float64Array;
  readonly probability: Float64Array;
}

export function lossHistogram(distribution: LossDistribution, bins: number): LossHistogram {
  const top = quantile(distribution, 1 - 1e-5);
  const width = (top > 1 ? top - 1 : 1) / bins;
  const probability = new Float64Array(bins);
  for (let i = 0; i < distribution.loss.length; i++) {
    probability[Math.min(bins - 1, Math.floor((distribution.loss[i] - 1) / width))] += distribution.probability[i];
  }
  return { edges: Float64Array.from({ length: bins + 1 }, (_, i) => 1 + i * width), probability };
}
