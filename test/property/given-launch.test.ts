import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeInOrderCycles } from '../../src-workers/predict/time/in-order.ts';
import { listBlocks } from '../../src-workers/predict/dealing/blocks.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { kneeRate } from '../bench/composite-designs.ts';
import { forAllOf } from '../for-all.ts';

/**
 * Generates lengths like those of an image: runs of long groups among short ones, and a few groups that are far longer.
 */
const launch = fc
  .record({
    groupsPerBlock: fc.integer({ min: 1, max: 16 }),
    residentBlocks: fc.integer({ min: 1, max: 8 }),
    multiprocessors: fc.integer({ min: 1, max: 12 }),
    waves: fc.double({ min: 0.2, max: 12, noNaN: true }),
    long: fc.integer({ min: 1, max: 400 }),
    stretch: fc.integer({ min: 1, max: 200 }),
    issue: fc.double({ min: 1, max: 60, noNaN: true }),
    softness: fc.double({ min: 1, max: 6, noNaN: true }),
    seed: fc.integer(),
  })
  .map(({ waves, long, stretch, seed, issue, softness, ...launched }) => {
    const { groupsPerBlock: W, residentBlocks: R, multiprocessors: M } = launched;
    const gridBlocks = Math.ceil(waves * R * M);
    const random = seededRandom(seed);
    const depths = Float64Array.from({ length: gridBlocks * W }, (_, group) => {
      const base = Math.floor(group / stretch) % 3 === 0 ? long : 4;
      return 1 + Math.floor(base * (0.5 + random())) + (random() < 0.002 ? 10 * long : 0);
    });
    return { ...launched, gridBlocks, depths, cyclesPerIteration: kneeRate(600, issue, softness, 4, R * W) };
  });

describe('a launch in a given order', () => {
  it('takes at least its lockstep work on all multiprocessors, and at least its longest group', () => {
    forAllOf(300)(
      launch,
      ({ depths, groupsPerBlock, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration }) => {
        const blocks = listBlocks(depths, groupsPerBlock);
        const cycles = computeInOrderCycles(blocks, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration);
        const perGroup = cyclesPerIteration.reduce((least, t, w) => (w > 0 ? Math.min(least, t / w) : least), Infinity);
        const work = depths.reduce((sum, depth) => sum + depth, 0) * perGroup;
        expect(cycles).toBeGreaterThanOrEqual((work / multiprocessors) * (1 - 1e-9));
        expect(cycles).toBeGreaterThanOrEqual(Math.max(...depths) * cyclesPerIteration[1] * (1 - 1e-9));
      },
    );
  });

  it('takes the same time as in the event simulation', () => {
    const differences: number[] = [];
    fc.assert(
      fc.property(launch, ({ depths, ...launched }) => {
        const { groupsPerBlock: W, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration } = launched;
        let block = 0;
        const run = prepareDevice(launched, () => {
          block = 0;
          return (out) => out.set(depths.subarray(block * W, ++block * W));
        });
        const simulated = run.run(seededRandom(0));
        const blocks = listBlocks(depths.slice(), W);
        const predicted = computeInOrderCycles(blocks, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration);
        differences.push(Math.abs(predicted / simulated - 1));
      }),
      { numRuns: 300, seed: 7 },
    );
    differences.sort((a, b) => a - b);
    expect(differences[150]).toBeLessThan(0.005);
    expect(differences[285]).toBeLessThan(0.05);
  });
});
