import { expect, it } from 'vitest';
import { predictedOverSimulated } from '../unit/designs.ts';
import { KERNEL, oneDesign, predicted } from '../unit/sweep-plans.ts';

it.each([
  ['geometric(0.05)', 0.05],
  ['uniform(10,40)', 0.02],
  // A few very long units decide when the launch ends. The end is the weakest part of the prediction.
  ['lognormal(2,1)', 0.12],
] as const)(
  'designs that fetch %s from one counter take the same time as in the simulator, within a fraction of %d',
  async (lengths, tolerance) => {
    const { predictor, columns } = await predicted(
      oneDesign({
        workload: { lengths, units: 1 << 17 },
        kernel: { ...KERNEL, dependentLoadsPerIteration: 1 },
        axes: {
          threadsPerUnit: [1, 8],
          balancing: ['dynamic-fetch', 'dynamic-fetch(4)', 'dynamic-fetch(group)'],
          blockThreads: [256],
          // One grid has more blocks than can be resident at once. The other grid has fewer.
          unitsPerThread: [1, 4],
          gridBlocks: [54],
        },
      }),
    );
    const { timeMs, gridBlocks, unitsPerThread } = columns;
    const invalid: number[] = [];
    timeMs.forEach((predicted, design) => {
      if (Number.isNaN(predicted)) {
        invalid.push(design);
        return;
      }
      const ratio = predictedOverSimulated(predictor, design, { halfWidth: 0.01, maxReplications: 8 });
      expect(Math.abs(ratio - 1)).toBeLessThanOrEqual(tolerance);
    });
    // With one lane per unit, chunks of 4 units leave most blocks without work.
    expect(invalid).toEqual([3]);
    // The reported number counts all launched blocks, including those that found no work.
    const thrice = (launches: readonly number[]) => [...launches, ...launches, ...launches];
    expect([...gridBlocks]).toEqual([...thrice([512, 128, 54]), ...thrice([4096, 1024, 54])]);
    expect([...unitsPerThread]).toEqual([...thrice([1, 4, 10]), ...thrice([1, 4, 76])]);
  },
);
