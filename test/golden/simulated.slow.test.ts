import { expect, it } from 'vitest';
import { exampleStudy } from '../catalogue.ts';
import { predictedOverSimulated } from '../unit/designs.ts';
import { KERNEL, oneDesign, predicted } from '../unit/sweep-plans.ts';

it.each([
  ['geometric(0.05)', 0.05, 5],
  ['uniform(10,40)', 0.02, 5],
  // A few very long units decide when the launch ends. The end is the weakest part of the prediction.
  ['lognormal(2,1)', 0.12, 8],
] as const)(
  'designs that fetch %s from one counter take the same time as in the simulator, within a fraction of %d',
  async (lengths, tolerance, maxReplications) => {
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
      const ratio = predictedOverSimulated(predictor, design, { halfWidth: 0.01, maxReplications });
      expect(ratio).toBeNear(1, tolerance);
    });
    // With one lane per unit, chunks of 4 units leave most blocks without work.
    expect(invalid).toEqual([3]);
    // The reported number counts all launched blocks, including those that found no work.
    const thrice = (launches: readonly number[]) => [...launches, ...launches, ...launches];
    expect([...gridBlocks]).toEqual([...thrice([512, 128, 54]), ...thrice([4096, 1024, 54])]);
    expect([...unitsPerThread]).toEqual([...thrice([1, 4, 10]), ...thrice([1, 4, 76])]);
  },
);

/**
 * If the best of many predicted designs are wrong, their times are usually too short. Grids that do not divide the
 * particles of the Acts study were once 6 to 14 % too fast. Skewed rows in sorted windows can also show this: one block
 * in sixteen takes eight times as long as the mean, and a launch ends before slots have run many of these long blocks.
 */
it.each([
  ...exampleStudy('acts').devices.map((device) => ['acts', device, 1, 0.05] as const),
  ['spmv-skewed', 'nvidia-h100-sxm5-80gb', 6, 0.08],
] as const)(
  'the best designs of %s on %s take the same time as in the event simulation: %i of them, within %d',
  async (name, device, count, within) => {
    const study = exampleStudy(name);
    // Other block sizes would only make the space larger.
    const axes = { ...study.axes, blockThreads: [32, 64, 128, 256, 512, 1024] };
    const { predictor, columns } = await predicted({ ...study, devices: [device], axes });
    const { timeMs } = columns;
    const valid = [...timeMs.keys()].filter((design) => timeMs[design] > 0);
    for (const design of valid.sort((a, b) => timeMs[a] - timeMs[b]).slice(0, count)) {
      const ratio = predictedOverSimulated(predictor, design, { halfWidth: 0.01, maxReplications: 12 });
      expect(ratio, `design ${design}`).toBeNear(1, within);
    }
  },
);

// In these launches, the slot with the longest unit of one window also has that of every second or fourth window, and
// alone ends the launch. When a sample of the blocks missed its block, predictions were 75 and 50 % too short.
it.each([
  ['window-sort(8192)', 2048],
  ['window-sort(5000)', 500],
])('the prediction for %s contains the block at the end of its windows, among %i blocks', async (balancing, blocks) => {
  const study = oneDesign({
    workload: { lengths: 'zipf(2.2,5000)', units: 2 ** 17 + 84 },
    kernel: {
      ...KERNEL,
      registersPerThread: 96,
      instructionsPerIteration: 2,
      serialFraction: 0.3,
      bytesPerIteration: 64,
      lengthsKnownBeforeLaunch: true,
    },
    devices: ['nvidia-rtx-4090'],
    axes: { threadsPerUnit: [64], loop: ['nested'], balancing: [balancing], blockThreads: [128], gridBlocks: [blocks] },
  });
  const { predictor } = await predicted(study);
  expect(predictedOverSimulated(predictor, 0, { halfWidth: 0.02, maxReplications: 40 })).toBeBetween(0.85, 1.2);
});
