import type { LengthLaw } from '../../domain/workload.ts';
import { requireGroupSize } from './distribution.ts';

/** Performance loss of work groups of n units in lockstep; ≥ 1, where 1 is no loss. */
export interface LossMoments {
  readonly n: number;
  /** E[X_W(n)]: Swatman's mean over groups of lockstep cost divided by ideal cost. */
  readonly meanLoss: number;
  readonly standardDeviationLoss: number;
  /** E[W_(n:n)] / E[W]: total lockstep time divided by total work, the loss of a long-running workload. */
  readonly aggregateLoss: number;
}

interface LogRule {
  readonly step: number;
  /** The rest of an integral is dropped if it is below this fraction of the integral. */
  readonly droppedFraction: number;
  /**
   * The Gauss rule that replaces the nodes s = 1, e^−h, e^−2h, … (weights h·s, h = `step`), where the integrand is
   * nearly constant. Its source is Golub and Welsch, Math. Comp. 23 (1969), doi:10.1090/S0025-5718-69-99647-1.
   */
  readonly nodes: readonly number[];
  readonly weights: readonly number[];
}

/** The Gauss rule covers s up to this / (the largest sum of a group). With six nodes, its error is 1e-12. */
const TAIL_REACH = 2;

/** The error of a mean is below 1e-12. */
export const FULL_RULE: LogRule = {
  step: 0.3,
  droppedFraction: 1e-13,
  nodes: [
    0.028886937993320958, 0.14464444658188028, 0.32387689286308413, 0.5270664162833385, 0.7392284303106653,
    0.9999860214125821,
  ],
  weights: [
    0.07325476803354267, 0.15361648113701332, 0.19772587218969526, 0.2049769324302178, 0.22782750493739315,
    0.30008721532516097,
  ],
};
/** The error of a mean is below 2e-5, with a third of the nodes of the full rule. */
export const QUICK_RULE: LogRule = {
  step: 0.7,
  droppedFraction: 1e-6,
  nodes: [0.04598889462929537, 0.21819061803123785, 0.4945249846379061, 0.999987997915121],
  weights: [0.11483575983237704, 0.22030859989532647, 0.3552773205622124, 0.7000820242542087],
};

/**
 * Computes figures of the performance loss for several group sizes in one pass, without its distribution.
 *
 * With M the longest of n units and S their sum, X = n·M/S (Eq. 5, Swatman et al. 2022,
 * doi:10.1109/MASCOTS56607.2022.00026), and 1/S = ∫₀^∞ e^{−Ss} ds, so E[X] = n ∫₀^∞ E[M e^{−Ss}] ds and E[X²] = n² ∫₀^∞
 * s E[M² e^{−Ss}] ds.
 *
 * E[M e^{−Ss}] = Σ_v v·(G_v(s)ⁿ − G_{v−}(s)ⁿ), with G_v(s) = Σ_{j≤v} f(j)e^{−js} (Eq. 7, tilted by e^{−js}). A group
 * whose units are all empty has loss 1 by convention.
 *
 * The trapezoidal rule in log s has a relative error of 2|Γ(1 + 2πi/h)| (times 2π/h for the second moment) for every
 * exponential. So 2e-13 of the mean bounds the error for every law, even a skewed one.
 */
export function lossMoments(law: AtomLaw, groupSizes: readonly number[]): LossMoments[] {
  return momentsByRule(law, groupSizes, FULL_RULE);
}

export function quickMeanLosses(law: AtomLaw, groupSizes: readonly number[]): number[] {
  return momentsByRule(law, groupSizes, QUICK_RULE).map(({ meanLoss }) => meanLoss);
}

type AtomLaw = Pick<LengthLaw, 'support' | 'probability'>;

function momentsByRule(law: AtomLaw, groupSizes: readonly number[], rule: LogRule): LossMoments[] {
  for (const n of groupSizes) requireGroupSize(n);
  const { support, probability } = law;
  if (support.length === 1) {
    return groupSizes.map((n) => ({ n, meanLoss: 1, standardDeviationLoss: 0, aggregateLoss: 1 }));
  }

  const tilted = tiltedMaximum(law, groupSizes);
  const first = new Float64Array(groupSizes.length);
  const second = new Float64Array(groupSizes.length);
  const addNode = (s: number, weight: number): void => {
    tilted.evaluate(s);
    for (let i = 0; i < groupSizes.length; i++) {
      const n = groupSizes[i];
      first[i] += weight * n * tilted.maximum[i];
      second[i] += weight * s * n * n * tilted.maximumSquared[i];
    }
  };

  tilted.evaluate(0);
  const meanMaximum = tilted.maximum.slice();

  const largest = groupSizes.reduce((a, b) => Math.max(a, b), 1);
  const tailStart = TAIL_REACH / (largest * support[support.length - 1]);
  const { nodes, weights } = rule;
  for (let i = 0; i < nodes.length; i++) addNode(tailStart * nodes[i], tailStart * weights[i]);
  const smallestSum = groupSizes.map((n) => (support[0] > 0 ? n * support[0] : support[1]));
  for (let k = 1, converged = false; !converged; k++) {
    const s = tailStart * Math.exp(k * rule.step);
    addNode(s, s * rule.step);
    converged = groupSizes.every((n, i) => {
      const reach = 1 / smallestSum[i];
      return (
        n * tilted.maximum[i] * reach <= rule.droppedFraction * first[i] &&
        n * n * tilted.maximumSquared[i] * reach * (s + reach) <= rule.droppedFraction * second[i]
      );
    });
  }

  let meanLength = 0;
  for (let i = 0; i < support.length; i++) meanLength += support[i] * probability[i];
  return groupSizes.map((n, i) => {
    if (n === 1) return { n, meanLoss: 1, standardDeviationLoss: 0, aggregateLoss: 1 };
    const allEmpty = support[0] === 0 ? probability[0] ** n : 0;
    const meanLoss = Math.max(1, first[i] + allEmpty);
    return {
      n,
      meanLoss,
      standardDeviationLoss: Math.sqrt(Math.max(0, second[i] + allEmpty - meanLoss * meanLoss)),
      aggregateLoss: Math.max(1, meanMaximum[i] / meanLength),
    };
  });
}

/**
 * Returns a function that computes E[M e^{−Ss}] and E[M² e^{−Ss}] of `lossMoments` for all group sizes at one s, in
 * kept buffers. The differences D_n = G_vⁿ − G_{v−}ⁿ are built without subtraction, by D_{a+b} = D_a·G_v^b +
 * G_{v−}^a·D_b, so every term keeps its relative accuracy, and all powers of two come from the same squarings.
 */
function tiltedMaximum(law: AtomLaw, groupSizes: readonly number[]) {
  const start = law.support[0] === 0 ? 1 : 0;
  const emptyProbability = start === 1 ? law.probability[0] : 0;
  const lengths = law.support.subarray(start);
  const masses = law.probability.subarray(start);
  const count = lengths.length;
  const squares = lengths.map((v) => v * v);
  const power = new Float64Array(count);
  const difference = new Float64Array(count);
  const largest = groupSizes.reduce((a, b) => Math.max(a, b), 1);
  const levels = Math.floor(Math.log2(largest)) + 1;
  const maximum = new Float64Array(groupSizes.length);
  const maximumSquared = new Float64Array(groupSizes.length);
  const products = groupSizes.map((n) => {
    if (Number.isInteger(Math.log2(n))) return null;
    return { power: new Float64Array(count), difference: new Float64Array(count), empty: 1 };
  });

  // A length has no effect, even times its square and n, if its e^{−js} is at most this, relative to the largest
  // e^{−js}.
  const negligible = 1e-18 * (masses[0] / largest) * (lengths[0] / lengths[count - 1]) ** 2;
  const horizon = -Math.log(negligible);

  function evaluate(s: number): void {
    const longest = lengths[0] + horizon / s;
    let used = 0;
    let sum = emptyProbability;
    let gap = 0;
    let gapFactor = 1;
    let decay = 1;
    for (; used < count && lengths[used] <= longest; used++) {
      // Equal gaps need no new exponential. An exact one every 64 steps bounds the rounding error of the product.
      if (used % 64 === 0) {
        decay = Math.exp(-s * lengths[used]);
      } else {
        const step = lengths[used] - lengths[used - 1];
        if (step !== gap) {
          gap = step;
          gapFactor = Math.exp(-s * step);
        }
        decay *= gapFactor;
      }
      const mass = masses[used] * decay;
      sum += mass;
      difference[used] = mass;
      power[used] = sum;
    }

    let empty = emptyProbability;
    for (let level = 0; level < levels; level++) {
      const size = 2 ** level;
      for (let g = 0; g < groupSizes.length; g++) {
        const product = products[g];
        if (product && Math.floor(groupSizes[g] / size) % 2 === 1) multiplyInto(product, used, empty);
      }
      const asked = groupSizes.indexOf(size);
      if (asked >= 0) {
        let first = 0;
        let second = 0;
        for (let i = 0; i < used; i++) {
          const d = difference[i];
          first += lengths[i] * d;
          second += squares[i] * d;
        }
        for (let g = asked; g < groupSizes.length; g++) {
          if (groupSizes[g] !== size) continue;
          maximum[g] = first;
          maximumSquared[g] = second;
        }
      }
      if (level === levels - 1) break;
      let previous = empty;
      for (let i = 0; i < used; i++) {
        const p = power[i];
        difference[i] *= p + previous;
        previous = p;
        power[i] = p * p;
      }
      empty *= empty;
    }
    for (let g = 0; g < groupSizes.length; g++) {
      const product = products[g];
      if (!product) continue;
      let first = 0;
      let second = 0;
      for (let i = 0; i < used; i++) {
        first += lengths[i] * product.difference[i];
        second += squares[i] * product.difference[i];
      }
      maximum[g] = first;
      maximumSquared[g] = second;
      product.empty = 1;
      product.power.fill(1);
      product.difference.fill(0);
    }
  }

  function multiplyInto(
    product: { power: Float64Array; difference: Float64Array; empty: number },
    used: number,
    empty: number,
  ) {
    let before = product.empty;
    for (let i = 0; i < used; i++) {
      const own = product.power[i];
      product.difference[i] = product.difference[i] * power[i] + before * difference[i];
      product.power[i] = own * power[i];
      before = own;
    }
    product.empty *= empty;
  }

  for (const product of products) product?.power.fill(1);
  return { maximum, maximumSquared, evaluate };
}
