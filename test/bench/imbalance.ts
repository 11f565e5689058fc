/**
 * Speed of the imbalance models on one thread: `node test/bench/imbalance.ts`. Prints the median of each beside its
 * target. SMITE, the Python package of the model's authors, needs about 11 s for binomial(40,0.5), n = 8 (mean and
 * distribution).
 */
import { Bench } from 'tinybench';
import { unwrap } from '../../src-workers/domain/result.ts';
import { binnedLossDistribution } from '../../src-workers/models/imbalance/binned.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { lossDistribution } from '../../src-workers/models/imbalance/distribution.ts';
import { binomialLaw, geometricLaw, zipfLaw } from '../../src-workers/models/workload/laws.ts';
import { sumLaw } from '../../src-workers/numeric/fold.ts';
import { lengthSampler, mersenneTwister } from '../../src-workers/numeric/random.ts';

const geometric = unwrap(geometricLaw(0.05));
const binomial = unwrap(binomialLaw(40, 0.5));
const wide = unwrap(zipfLaw(1.5, 100_000));
const uniform = mersenneTwister(1);
const draw = lengthSampler(geometric);

const cases: readonly (readonly [name: string, targetMs: number, run: () => void])[] = [
  ['mean loss, geometric(0.05), n = 2…32, all five', 0.25, () => void lossMoments(geometric, [2, 4, 8, 16, 32])],
  ['mean loss, binomial(40,0.5), n = 8', 1.1, () => void lossMoments(binomial, [8])],
  ['full distribution, binomial(40,0.5), n = 8', 110, () => void unwrap(lossDistribution(binomial, 8))],
  ['full distribution, geometric(0.05), n = 32', 1500, () => void unwrap(lossDistribution(geometric, 32))],
  ['binned distribution, geometric(0.05), n = 32', 150, () => void binnedLossDistribution(geometric, 32)],
  ['binned distribution, zipf(1.5,100000), n = 1024', 500, () => void binnedLossDistribution(wide, 1024)],
  ['sum of a million lengths, geometric(0.05)', 500, () => void sumLaw(geometric, 1_000_000)],
  [
    'a million random lengths, geometric(0.05)',
    33,
    () => {
      for (let i = 0; i < 1e6; i++) draw(uniform);
    },
  ],
];

const bench = new Bench({ time: 500, warmupTime: 100, warmupIterations: 2, iterations: 5 });
for (const [name, , run] of cases) bench.add(name, run);
await bench.run();
bench.tasks.forEach((task, i) => {
  const { result } = task;
  const median = 'latency' in result ? result.latency.p50 : NaN;
  process.stdout.write(`${median.toFixed(3).padStart(10)} ms  (target ${cases[i][1]} ms)  ${task.name}\n`);
});
