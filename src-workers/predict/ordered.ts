import type { LengthLaw } from '../domain/workload.ts';
import { lengthSampler, mersenneTwister } from '../numeric/random.ts';
import { MAX_ENTRIES } from './constants.ts';

/**
 * Lengths in the order of the units: a partition over the cores of a CPU depends on it, and a law does not contain it.
 * Entries are units, or bundles of neighbouring units where there are more than `MAX_ENTRIES`.
 */
export interface OrderedLengths {
  /** Units that the entries stand for. */
  readonly units: number;
  /** Iterations of each entry. */
  readonly iterations: Float64Array;
}

/** Lengths of units in their order, bundled where they are many. */
export function orderedLengths(lengths: Float64Array): OrderedLengths {
  const bundle = Math.ceil(lengths.length / MAX_ENTRIES);
  if (bundle <= 1) return { units: lengths.length, iterations: lengths };
  const iterations = new Float64Array(Math.ceil(lengths.length / bundle));
  for (let unit = 0; unit < lengths.length; unit += 1) iterations[Math.floor(unit / bundle)] += lengths[unit];
  return { units: lengths.length, iterations };
}

/** Independent draws from a law for a workload whose order is unknown: one per unit, at most `MAX_ENTRIES`. */
export function drawnLengths(law: LengthLaw, units: number, seed: number): OrderedLengths {
  const draw = lengthSampler(law);
  const uniform = mersenneTwister(seed);
  const iterations = Float64Array.from({ length: Math.min(units, MAX_ENTRIES) }, () => draw(uniform));
  return { units: iterations.length, iterations };
}
