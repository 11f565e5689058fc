import type { Result } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import {
  binomialLaw,
  constantLaw,
  geometricLaw,
  lognormalLaw,
  negativeBinomialLaw,
  poissonLaw,
  uniformLaw,
  zipfLaw,
} from '../../../src-workers/models/workload/laws.ts';
import { counted, plain } from '../../format/numbers.ts';

export function supportText({ support, truncatedMass }: Pick<LengthLaw, 'support' | 'truncatedMass'>): string {
  const lengths = counted(support.length, 'distinct length');
  return truncatedMass > 0 ? `${lengths}; ${plain(truncatedMass, 1)} of the units are longer and left out` : lengths;
}

/** `min` and `max` limit the slider. The field beside it accepts any value of the law. */
export interface DistributionParameter {
  readonly symbol: string;
  readonly help: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly start: number;
  readonly log?: boolean;
  readonly integer?: boolean;
}

export interface Distribution {
  readonly id: string;
  readonly label: string;
  readonly help: string;
  readonly parameters: readonly DistributionParameter[];
  readonly law: (values: readonly number[]) => Result<LengthLaw>;
}

const probability = (help: string, start: number): DistributionParameter => ({
  symbol: 'p',
  help,
  min: 0.002,
  max: 0.999,
  step: 0.001,
  start,
  log: true,
});

export const DISTRIBUTIONS: readonly Distribution[] = [
  {
    id: 'geometric',
    label: 'Geometric',
    help: 'every iteration may be the last, with the same chance: Monte Carlo histories, retries',
    parameters: [probability('chance that an iteration is the last', 0.05)],
    law: ([p]) => geometricLaw(p),
  },
  {
    id: 'uniform',
    label: 'Uniform',
    help: 'every length between two ends is equally likely',
    parameters: [
      { symbol: 'a', help: 'shortest unit', min: 0, max: 200, step: 1, start: 20, integer: true },
      { symbol: 'b', help: 'longest unit', min: 1, max: 400, step: 1, start: 40, integer: true },
    ],
    law: ([a, b]) => uniformLaw(a, b),
  },
  {
    id: 'poisson',
    label: 'Poisson',
    help: 'independent rare events in a fixed span: neighbours in a cell, hits in a window',
    parameters: [{ symbol: 'mean', help: 'mean length', min: 0.5, max: 200, step: 0.5, start: 30, log: true }],
    law: ([mean]) => poissonLaw(mean),
  },
  {
    id: 'binomial',
    label: 'Binomial',
    help: 'successes in a fixed number of tries',
    parameters: [
      { symbol: 'trials', help: 'number of tries', min: 1, max: 400, step: 1, start: 40, integer: true },
      { symbol: 'p', help: 'chance of success of a try', min: 0.01, max: 0.99, step: 0.01, start: 0.5 },
    ],
    law: ([trials, p]) => binomialLaw(trials, p),
  },
  {
    id: 'negative-binomial',
    label: 'Negative binomial',
    help: 'failures before the r-th success: counts that vary more than Poisson',
    parameters: [
      { symbol: 'r', help: 'successes waited for', min: 0.5, max: 50, step: 0.5, start: 5 },
      probability('chance of success', 0.3),
    ],
    law: ([r, p]) => negativeBinomialLaw(r, p),
  },
  {
    id: 'zipf',
    label: 'Zipf',
    help: 'a power law: vertex degrees, row lengths of web matrices',
    parameters: [
      { symbol: 's', help: 'exponent: larger is steeper', min: 0, max: 4, step: 0.05, start: 1.5 },
      { symbol: 'max', help: 'longest unit', min: 2, max: 10_000, step: 1, start: 1000, log: true, integer: true },
    ],
    law: ([s, max]) => zipfLaw(s, max),
  },
  {
    id: 'lognormal',
    label: 'Log-normal',
    help: 'a product of many small factors: ray depths, file sizes',
    parameters: [
      { symbol: 'μ', help: 'mean of the logarithm', min: 0, max: 8, step: 0.05, start: 3 },
      { symbol: 'σ', help: 'standard deviation of the logarithm', min: 0.05, max: 1.5, step: 0.01, start: 0.5 },
    ],
    law: ([mu, sigma]) => lognormalLaw(mu, sigma),
  },
  {
    id: 'constant',
    label: 'Constant',
    help: 'all units are equally long: no imbalance',
    parameters: [
      { symbol: 'k', help: 'length of every unit', min: 1, max: 500, step: 1, start: 32, log: true, integer: true },
    ],
    law: ([k]) => constantLaw(k),
  },
];

export interface WrittenDistribution {
  readonly distribution: Distribution;
  readonly values: readonly number[];
}

export function readDistribution(text: string): WrittenDistribution | null {
  const match = /^\s*([a-z-]+)\s*\(([^()]*)\)\s*$/.exec(text);
  const distribution = DISTRIBUTIONS.find(({ id }) => id === match?.[1]);
  if (!match || !distribution) return null;
  const values = match[2].split(',').map((part) => Number(part.trim()));
  if (values.length !== distribution.parameters.length || values.some((value) => !Number.isFinite(value))) return null;
  return { distribution, values };
}

export function startOf(distribution: Distribution): string {
  return writeDistribution({ distribution, values: distribution.parameters.map(({ start }) => start) });
}

export function writeDistribution({ distribution, values }: WrittenDistribution): string {
  return `${distribution.id}(${values.join(',')})`;
}
