import { expect, it } from 'vitest';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import { predictedOverSimulated } from '../unit/designs.ts';
import { oneDesign, predicted } from '../unit/sweep-plans.ts';
import { gpu } from '../catalogue.ts';

/*
 * On this device, a multiprocessor runs one block at a time. A block has up to 64 thread groups. If units are sorted,
 * its groups end together, and no other block can be active meanwhile. Lengths and iterations are those of the ranking
 * measured on SwiftShader.
 */
const DEVICE = 'software-swiftshader';
const STUDY = oneDesign({
  workload: { lengths: 'geometric(0.05)', units: 12_288 },
  kernel: { name: 'unit loop', registersPerThread: 32, instructionsPerIteration: 448, lengthsKnownBeforeLaunch: true },
  devices: [DEVICE],
  axes: {
    threadsPerUnit: [1, 4],
    loop: ['nested'],
    balancing: ['none', 'quantile-buckets(4)', 'window-sort(64)', 'window-sort(1024)', 'full-sort'],
    blockThreads: [8, 32, 128, 256],
    unitsPerThread: [1],
  },
});

it('takes the same time as in the event simulation, however alike the groups of the block are', async () => {
  const { predictor, columns } = await predicted(STUDY, [{ ...gpu(DEVICE), multiprocessors: 2 }]);
  let designs = 0;
  for (let index = 0; index < columns.count; index += 1) {
    const { design, invalid } = describeDesign(predictor, index);
    if (invalid) continue;
    const ratio = predictedOverSimulated(predictor, index, { halfWidth: 0.01, maxReplications: 40 });
    expect(Math.abs(ratio - 1), JSON.stringify(design)).toBeLessThanOrEqual(0.1);
    designs += 1;
  }
  expect(designs).toBeGreaterThanOrEqual(40);
});
