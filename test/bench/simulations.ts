/* eslint-disable no-console */
import { parseArgs } from 'node:util';
import { unwrap } from '../../src-workers/domain/result.ts';
import { spearman } from '../../src-workers/numeric/statistics.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { exampleStudy } from '../catalogue.ts';

// Compares prediction and simulation on the best designs of the example studies: node test/bench/simulations.ts [--top
// 20] [--studies acts,geometric] [--designs]
const { values: options } = parseArgs({
  options: {
    top: { type: 'string', default: '20' },
    studies: { type: 'string', default: 'acts,collatz,geometric,mandelbrot,spmv-skewed,spmv-uniform' },
    designs: { type: 'boolean', default: false },
  },
});
const percent = (fraction: number): string => `${(fraction * 100).toFixed(2)} %`;

for (const name of options.studies.split(',')) {
  const study = exampleStudy(name);
  const predictor = createPredictor(await planOf(study));
  const size = predictor.counts.reduce((product, count) => product * count, 1);
  const { timeMs } = predictChunk(predictor, 0, size);
  const best = Array.from({ length: size }, (_, design) => design)
    .filter((design) => !Number.isNaN(timeMs[design]))
    .sort((a, b) => timeMs[a] - timeMs[b] || a - b)
    .slice(0, Number(options.top));
  const start = performance.now();
  const simulated = best.map((design) =>
    unwrap(simulateDesign(predictor, design, { seed: 1, halfWidth: 0.005, maxReplications: 30 })),
  );
  const seconds = (performance.now() - start) / 1000;
  const differences = best.map((design, at) => timeMs[design] / simulated[at].meanMs - 1);
  if (options.designs)
    best.forEach((design, at) => {
      const { meanMs, highMs, timesMs } = simulated[at];
      const described = describeDesign(predictor, design);
      console.log(
        `${percent(differences[at]).padStart(9)} ± ${percent(highMs / meanMs - 1)} of ${timesMs.length}  ${described.device.id} ${JSON.stringify(described.design)}`,
      );
    });
  const magnitude = differences.map(Math.abs).sort((a, b) => a - b);
  const correlation = spearman(
    Float64Array.from(best, (design) => timeMs[design]),
    Float64Array.from(simulated, ({ meanMs }) => meanMs),
  );
  console.log(
    `${name.padEnd(13)} best ${best.length}: median |difference| ${percent(magnitude[magnitude.length >> 1])}, most ${percent(magnitude.at(-1)!)}, Spearman ${correlation.toFixed(3)}, ${((seconds * 1000) / best.length).toFixed(0)} ms a design`,
  );
}
