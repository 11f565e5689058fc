import { CUDA_GROUP_WIDTH } from '../domain/ability.ts';
import type { FittedLengths } from '../domain/inspection.ts';
import { ok, type Result, badInput, unsupported } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { geometricLaw, lognormalLaw, moments } from '../models/workload/laws.ts';

/** Allows means of a geometric law up to 1000. Beyond that, the loss grows by less than 0.002. */
const MIN_PROBABILITY = 1e-3;
/** Largest deviation of the logarithm of a log-normal law. With it, a law of mean 20 has a loss of 20. */
const MAX_SIGMA = 2.5;
const STEPS = 26;

/**
 * Fits a law whose groups of 32 have the measured loss: 32 divided by the mean number of active lanes. The law is
 * geometric, with one parameter, or log-normal if a mean length is given. Fails with `unsupported` if no law fits.
 */
export function fitLengths(meanActiveLanes: number, meanLength: number | null): Result<FittedLengths> {
  const wanted = CUDA_GROUP_WIDTH / meanActiveLanes;
  const lanes = `${Number(meanActiveLanes.toPrecision(4))} active lanes of ${CUDA_GROUP_WIDTH}`;
  const [family, low, high] =
    meanLength === null
      ? [(x: number) => geometric(Math.log(MIN_PROBABILITY) * x), 0, 1]
      : [(x: number) => logNormal(meanLength, x), 1e-3, MAX_SIGMA];
  if (meanLength !== null && !(meanLength > 1))
    return badInput(`A mean length of ${meanLength} is too short for lengths that differ. Specify a mean above 1.`);
  // The search begins with small losses, because laws with the largest losses have the longest supports.
  let [from, to] = [low, high / 16];
  for (;;) {
    const law = family(to);
    if (!law.ok) return law;
    const limit = lossOf(law.value);
    if (limit >= wanted) break;
    if (to >= high)
      return unsupported(
        meanLength === null
          ? `A mean of ${lanes} corresponds to a loss of ${wanted.toPrecision(4)}, but a geometric law reaches at most ${limit.toPrecision(4)}. Specify the mean length of the units, for a log-normal law.`
          : `A mean of ${lanes} corresponds to a loss of ${wanted.toPrecision(4)}, but a log-normal law of mean ${meanLength} reaches at most ${limit.toPrecision(4)}.`,
      );
    [from, to] = [to, 2 * to];
  }
  for (let step = 0; step < STEPS; step++) {
    const middle = (from + to) / 2;
    const law = family(middle);
    if (!law.ok) return law;
    if (lossOf(law.value) < wanted) from = middle;
    else to = middle;
  }
  const law = family(to);
  if (!law.ok) return law;
  return ok({
    lengths: law.value.label,
    aggregateLoss: Number(lossOf(law.value).toPrecision(4)),
    mean: Number(moments(law.value).mean.toPrecision(4)),
    note: `fitted to a mean of ${lanes}${meanLength === null ? '; assumed to be geometric (log-normal if a mean length is given)' : ' and to the given mean length; assumed to be log-normal'}`,
  });
}

const lossOf = (law: LengthLaw): number => lossMoments(law, [CUDA_GROUP_WIDTH])[0].aggregateLoss;
const rounded = (value: number): number => Number(value.toPrecision(5));
const geometric = (logProbability: number): Result<LengthLaw> => geometricLaw(rounded(Math.exp(logProbability)));
/** The law rounds lengths up, which adds 0.5 on average, so its mean is reduced by 0.5. */
const logNormal = (mean: number, sigma: number): Result<LengthLaw> =>
  lognormalLaw(rounded(Math.log(mean - 0.5) - sigma ** 2 / 2), rounded(sigma));
