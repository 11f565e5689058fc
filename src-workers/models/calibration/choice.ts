import { mean } from '../../numeric/statistics.ts';

/** A smaller difference of mean errors counts as noise, because repeated times hardly agree within 0.1 %. */
const MIN_GAIN = 1e-3;

/**
 * Returns the position of the simplest candidate whose mean error |ln(predicted/measured)| is within one standard error
 * of the smallest (the rule of Breiman et al., Classification and Regression Trees, 1984), or within 0.1 %. The standard
 * error is that of the difference of the two on the same designs.
 * @param candidates predicted times of designs left out of each fit, the simplest candidate first; `null` if unknown
 */
export function chooseSimplest(candidates: readonly (Float64Array | null)[], measuredMs: Float64Array): number {
  const errors = candidates.map((times) => times?.map((time, i) => Math.abs(Math.log(time / measuredMs[i]))) ?? null);
  const means = errors.map((each) => (each ? mean(each) : Infinity));
  const best = errors[means.indexOf(Math.min(...means))]!;
  return errors.findIndex((each) => {
    if (!each) return false;
    const worse = each.map((error, i) => error - best[i]);
    const excess = mean(worse);
    const variance = worse.reduce((sum, value) => sum + (value - excess) ** 2, 0) / (worse.length - 1);
    return excess <= Math.max(MIN_GAIN, Math.sqrt(variance / worse.length));
  });
}
