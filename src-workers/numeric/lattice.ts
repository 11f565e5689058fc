import type { LengthLaw } from '../domain/workload.ts';

/** Points and masses on integers; the masses need not sum to 1. */
export type Masses = Pick<LengthLaw, 'support' | 'probability'>;

/** @param a,b whole numbers ≥ 0; the divisor of 0 and b is b */
export function greatestCommonDivisor(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}

/** The largest step for which every support point is support[0] plus a multiple of it; 1 for a single point. */
export function latticeStep(support: Float64Array): number {
  let step = 0;
  for (let i = 1; i < support.length && step !== 1; i++) {
    step = greatestCommonDivisor(support[i] - support[i - 1], step);
  }
  return step || 1;
}

/**
 * Moves masses onto the lattice origin, origin + step, …: each mass is split between the two nearest lattice points.
 * The mean is kept exactly; the variance grows by at most step²/4.
 * @param origin at most masses.support[0]
 */
export function spreadOnLattice(masses: Masses, origin: number, step: number): Masses {
  const { support, probability } = masses;
  const cells = Math.ceil((support[support.length - 1] - origin) / step) + 1;
  const spread = new Float64Array(cells);
  for (let i = 0; i < support.length; i++) {
    const position = (support[i] - origin) / step;
    const cell = Math.floor(position);
    const share = position - cell;
    spread[cell] += probability[i] * (1 - share);
    if (share > 0) spread[cell + 1] += probability[i] * share;
  }
  return { support: Float64Array.from(spread, (_, j) => origin + j * step), probability: spread };
}

/** Returns an interval that the sum of `count` draws leaves at either end with probability ≤ `excluded` (Chernoff). */
export function sumWindow(
  law: Masses,
  count: number,
  excluded: number,
): { readonly low: number; readonly high: number } {
  const { support, probability } = law;
  const first = support[0];
  const last = support[support.length - 1];
  if (first === last) return { low: count * first, high: count * last };
  const information = -Math.log(excluded);

  // An upper bound of the sum or, with `sign` −1, of its negative: the law is then mirrored.
  const reach = (sign: 1 | -1): number => {
    const bound = (exponent: number): number => {
      let moment = 0;
      const end = sign > 0 ? last : first;
      for (let i = 0; i < support.length; i++) {
        moment += probability[i] * Math.exp(exponent * sign * (support[i] - end));
      }
      return count * sign * end + (count * Math.log(moment) + information) / exponent;
    };
    // The bound has a single minimum in the exponent, which golden section finds on a logarithmic scale.
    const golden = (Math.sqrt(5) - 1) / 2;
    let low = Math.log(1e-9 / (last - first));
    let high = Math.log(1e3 / Math.min(1, last - first));
    let a = high - golden * (high - low);
    let b = low + golden * (high - low);
    let atA = bound(Math.exp(a));
    let atB = bound(Math.exp(b));
    // Any exponent gives a valid bound, so a few per cent from the best is close enough.
    while (high - low > 0.05) {
      if (atA < atB) {
        high = b;
        b = a;
        atB = atA;
        a = high - golden * (high - low);
        atA = bound(Math.exp(a));
      } else {
        low = a;
        a = b;
        atA = atB;
        b = low + golden * (high - low);
        atB = bound(Math.exp(b));
      }
    }
    return Math.min(atA, atB);
  };
  return { low: Math.max(count * first, Math.floor(-reach(-1))), high: Math.min(count * last, Math.ceil(reach(1))) };
}

/** The i-th multiple of the golden ratio modulo 1: any number of consecutive multiples fill 0…1 evenly. */
export function goldenTurn(i: number): number {
  return (i * 0.6180339887498949) % 1;
}
