import { cumulantsOf, maximumOf, onGrid, smoothLaw, sumOf, type DiscreteLaw } from './discrete-law.ts';

/** Points of the lattice that the renewal equation runs on. */
const LATTICE_POINTS = 512;
/** Multiplications after which the renewal rate is taken for settled. */
const RENEWAL_BUDGET = 2e6;

/** How often a lane that fetches unit after unit starts one, and what its units are; lengths in steps of `step`. */
export interface Renewals {
  readonly step: number;
  /** P(unit is empty): it is fetched and done at once. */
  readonly emptyProbability: number;
  /** Mean and variance of the non-empty lengths, steps. */
  readonly mean: number;
  readonly variance: number;
  /** P(length > x steps) of a non-empty unit, x = 0, 1, …. */
  readonly survival: Float64Array;
  /** Expected starts of non-empty units at step t, until they settle at 1/mean. */
  readonly starts: Float64Array;
}

/** Prepares the renewal process of one lane; costly beside `dynamicGroupDepth`, so kept per law by the caller. */
export function prepareRenewals(law: DiscreteLaw): Renewals | null {
  const { values } = law;
  const largest = values[values.length - 1];
  if (largest === 0) return null;
  const ownStep = wholeStep(values);
  const step = ownStep > 0 && largest / ownStep <= LATTICE_POINTS ? ownStep : largest / LATTICE_POINTS;
  const points = Math.round(largest / step);
  const grid = Float64Array.from({ length: points + 1 }, (_, i) => i * step);
  grid[points] = largest;
  const lattice = onGrid(law, grid);
  const emptyProbability = 1 - lattice.survival[0];
  const survival = lattice.survival.map((s) => s / (1 - emptyProbability));
  const { mean, variance } = cumulantsOf({ values: grid.map((_, i) => i), survival });

  const lengths: number[] = [];
  const masses: number[] = [];
  for (let j = 1; j <= points; j++) {
    const mass = survival[j - 1] - survival[j];
    if (mass > 0) {
      lengths.push(j);
      masses.push(mass);
    }
  }
  const starts: number[] = [1];
  let settledSince = 0;
  for (let t = 1; t * lengths.length < RENEWAL_BUDGET && t - settledSince <= points; t++) {
    let rate = 0;
    for (let i = 0; i < lengths.length && lengths[i] <= t; i++) rate += masses[i] * starts[t - lengths[i]];
    starts.push(rate);
    if (Math.abs(rate * mean - 1) > 1e-6) settledSince = t;
  }
  return { step, emptyProbability, mean, variance, survival, starts: Float64Array.from(starts) };
}

/**
 * Law of the time, in iterations, that n lanes need for n·m units when each lane takes its next unit as soon as it is
 * done.
 *
 * Until the units run out, at T, the lanes are n independent renewal processes; T is when they are expected to have
 * started m units each. Every lane then finishes what it holds: its residual life follows from the renewal rate, and the
 * depth is T plus the longest of n. How much T itself varies, (m − 1)·Var(W)/n, is added as a normal law. Exact for m = 1
 * and for constant lengths; else an approximation (its error against a simulation: see the tests).
 */
export function dynamicGroupDepth(renewals: Renewals, n: number, unitsPerThread: number): DiscreteLaw {
  const { step, emptyProbability, mean, variance, survival, starts } = renewals;
  // Empty units cost a lane nothing, so they only make the others fewer.
  const units = unitsPerThread * (1 - emptyProbability);
  const lengths = Float64Array.from(survival, (_, i) => i * step);
  if (units <= 1) return maximumOf({ values: lengths, survival }, n * units);

  let time = 0;
  let started = 1;
  while (started < units && time + 1 < starts.length) started += starts[++time];
  let residual: Float64Array;
  let end: number;
  if (started >= units) {
    end = time * step;
    // Of the lanes that come free at T, so many still get a unit that the expected number is met.
    const lastShare = 1 - (started - units) / starts[time];
    residual = survival.map((s, x) => {
      let alive = lastShare * starts[time] * s;
      for (let age = 1; age <= time && age + x < survival.length; age++)
        alive += starts[time - age] * survival[age + x];
      return Math.min(1, alive);
    });
  } else {
    residual = new Float64Array(survival.length);
    let sum = 0;
    for (let x = survival.length - 1; x >= 0; x--) {
      sum += survival[x];
      residual[x] = Math.min(1, sum / mean);
    }
    // Wald: what the lanes are expected to have started is the time passed and the residual life.
    end = (units * mean - residual.reduce((total, s) => total + s, 0)) * step;
  }
  const last = maximumOf({ values: lengths, survival: residual }, n);
  const spread = Math.sqrt(((units - 1) * variance) / n) * step;
  const whole = { law: { values: last.values.map((v) => v + end), survival: last.survival }, count: 1 };
  if (spread < 1e-9 * end) return whole.law;
  const noise = smoothLaw(0, spread, 0);
  return sumOf([
    { ...whole, cumulants: cumulantsOf(whole.law) },
    { law: noise, cumulants: cumulantsOf(noise), count: 1 },
  ]);
}

/** Greatest common divisor of whole values; 0 when one is not whole. */
function wholeStep(values: Float64Array): number {
  let step = 0;
  for (const value of values) {
    if (!Number.isInteger(value)) return 0;
    for (let a = value; a > 0;) [a, step] = [step % a, a];
  }
  return step;
}
