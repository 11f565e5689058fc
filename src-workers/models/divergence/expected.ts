import type { LengthLaw } from '../../domain/workload.ts';
import type { Divergence } from './costs.ts';
import { PUBLISHED_STACK, type StackShape } from './emulator.ts';

/**
 * Computes the divergence of one loop whose n lanes draw their lengths from a law f. Lanes of equal length leave
 * together, so every distinct length except one costs a divergent branch:
 *
 * E[divergent branches] = Σ_x (1 − (1 − f(x))ⁿ) − 1
 *
 * Spills follow from the number D of distinct lengths above 0, because lanes of length 0 leave before the loop. The
 * first spill occurs when the fast part of the stack is full, and each further chunk of entries causes one more. The
 * law of D comes from Π_x (1 + y·(e^{f(x)·z} − 1)), without y for x = 0: n! times its coefficient at yᵈ·zⁿ is P(D = d).
 * Both formulas are our own and checked against the emulator.
 * @param lanes n, 1 … 64
 */
export function expectedDivergence(law: LengthLaw, lanes: number, shape: StackShape = PUBLISHED_STACK): Divergence {
  let distinct = 0;
  // Rounding may make the probability of a single length exceed 1.
  for (const f of law.probability) distinct += -Math.expm1(lanes * Math.log1p(-Math.min(1, f)));
  let spills = 0;
  distinctLengths(law, lanes).forEach((probability, d) => {
    spills += probability * Math.max(0, Math.ceil((d - shape.fastEntries) / shape.chunkEntries));
  });
  return { divergentBranches: Math.max(0, distinct - 1), spills };
}

const NEGLIGIBLE = 1e-18;

/** P(D = d) for d distinct lengths above 0 among n lanes; array of length n + 1. */
export function distinctLengths(law: LengthLaw, lanes: number): Float64Array {
  const size = lanes + 1;
  // state[d·size + k] is the coefficient at yᵈ·zᵏ of Π_x over the lengths so far.
  const state = new Float64Array(size * size);
  state[0] = 1;
  const terms = new Float64Array(size);
  law.support.forEach((length, position) => {
    const f = law.probability[position];
    let last = 0;
    let term = 1;
    let reach = 1;
    for (let j = 1; j <= lanes; j++) {
      term *= f / j;
      reach *= (f * lanes) / j;
      if (reach < NEGLIGIBLE) break;
      terms[j] = term;
      last = j;
    }
    const step = length === 0 ? 0 : 1;
    // Both loops run downwards, so that each entry is read before this length is added to it.
    for (let d = lanes - step; d >= 0; d--) {
      for (let k = lanes - 1; k >= 0; k--) {
        const from = state[d * size + k];
        if (from === 0) continue;
        const most = Math.min(last, lanes - k);
        for (let j = 1; j <= most; j++) state[(d + step) * size + k + j] += from * terms[j];
      }
    }
  });
  let factorial = 1;
  for (let j = 2; j <= lanes; j++) factorial *= j;
  return Float64Array.from({ length: size }, (_, d) => factorial * state[d * size + lanes]);
}
