import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { createArena } from '../../src-workers/predict/time/arena.ts';
import { prepareBlockLaw, makeSampledSteps, makeSteppedBlockLaw } from '../../src-workers/predict/time/block-law.ts';
import { placeBlocks } from '../../src-workers/predict/dealing/blocks.ts';
import { computePlacedCycles } from '../../src-workers/predict/time/placed.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { arbitraryOrder } from '../../src-workers/numeric/random.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { kneeRate, unsortedDepth } from '../bench/composite-designs.ts';
import { forAll, forAllOf } from '../for-all.ts';

const launches = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  groupsPerBlock: fc.integer({ min: 1, max: 16 }),
  residentBlocks: fc.integer({ min: 1, max: 8 }),
  multiprocessors: fc.integer({ min: 1, max: 20 }),
  gridBlocks: fc.integer({ min: 1, max: 300 }),
  issue: fc.double({ min: 0.5, max: 100, noNaN: true }),
});

/**
 * Returns the depths of a launch, with the shortest groups of a block first. Blocks differ more from each other than
 * the groups of a block.
 */
function depthsOf(seed: number, gridBlocks: number, groupsPerBlock: number): Float64Array {
  const random = seededRandom(seed);
  const depths = new Float64Array(gridBlocks * groupsPerBlock);
  for (let b = 0; b < gridBlocks; b++) {
    const block = 10 + 200 * random() ** 3;
    for (let g = 0; g < groupsPerBlock; g++) depths[b * groupsPerBlock + g] = block * (1 + random());
    depths.subarray(b * groupsPerBlock, (b + 1) * groupsPerBlock).sort();
  }
  return depths;
}

describe('launches of known blocks', () => {
  it('take the same time as in the simulator, in one wave', () => {
    forAllOf(200)(launches, ({ seed, groupsPerBlock, residentBlocks, multiprocessors, gridBlocks: blocks, issue }) => {
      const gridBlocks = Math.min(blocks, residentBlocks * multiprocessors);
      const depths = depthsOf(seed, gridBlocks, groupsPerBlock);
      const order = arbitraryOrder(gridBlocks, seed);
      const rate = kneeRate(300, issue, 3, 4, residentBlocks * groupsPerBlock);
      let b = 0;
      const device = prepareDevice(
        {
          multiprocessors,
          residentBlocks,
          groupsPerBlock,
          gridBlocks,
          cyclesPerIteration: rate,
        },
        () => (out) => {
          out.set(depths.subarray(order[b] * groupsPerBlock, (order[b] + 1) * groupsPerBlock));
          b++;
        },
      );
      const simulated = device.run(seededRandom(1));
      const cycles = computePlacedCycles(placeBlocks(depths, groupsPerBlock, order), multiprocessors, rate);
      // The result is exact, but only for the multiprocessors that an estimate finds to be the slowest.
      expect(cycles).toBeLessThanOrEqual(simulated * (1 + 1e-9));
      expect(cycles).toBeGreaterThan(0.97 * simulated);
    });
  });

  it('of one block per multiprocessor take as long as the slowest block, exactly', () => {
    forAll(launches, ({ seed, groupsPerBlock: W, gridBlocks, issue }) => {
      const depths = depthsOf(seed, gridBlocks, W);
      const rate = kneeRate(300, issue, 3, 4, W);
      let slowest = 0;
      for (let b = 0; b < gridBlocks; b++) {
        let time = 0;
        for (let g = 0; g < W; g++) {
          time += (depths[b * W + g] - (g === 0 ? 0 : depths[b * W + g - 1])) * rate[W - g];
        }
        slowest = Math.max(slowest, time);
      }
      const cycles = computePlacedCycles(placeBlocks(depths, W, null), gridBlocks, rate);
      // Only the blocks that are most likely to be the slowest are computed completely.
      expect(cycles).toBeLessThanOrEqual(slowest * (1 + 1e-12));
      expect(cycles).toBeGreaterThan(0.97 * slowest);
    });
  });

  it('have the law of their depths, which for independent groups is the tabulated one', () => {
    const depth = unsortedDepth(unwrap(geometricLaw(0.05)), 8);
    for (const W of [1, 4, 16]) {
      const exact = prepareBlockLaw(depth, W);
      const random = seededRandom(5);
      const survival = new Float64Array(depth.values.length);
      depth.survivalInto(survival, 1);
      const blocks = 20_000 / W;
      const depths = Float64Array.from({ length: blocks * W }, () => {
        const u = random();
        return depth.values[survival.findIndex((above) => above <= u)];
      });
      for (let b = 0; b < blocks; b++) depths.subarray(b * W, (b + 1) * W).sort();
      const sampled = makeSteppedBlockLaw(
        makeSampledSteps({ groupsPerBlock: W, depths, weights: null }),
        W,
        createArena(4096),
      );
      // The tolerance is the sampling error of 20,000 groups.
      for (const moment of ['meanGroup', 'meanBlock', 'meanPair', 'meanResidual'] as const) {
        if (W === 1 && moment === 'meanPair') continue;
        expect(Math.abs(sampled[moment] / exact[moment] - 1)).toBeLessThan(0.03);
      }
      const weights = new Float64Array(blocks).fill(7);
      const same = makeSteppedBlockLaw(makeSampledSteps({ groupsPerBlock: W, depths, weights }), W, createArena(4096));
      expect(same.meanBlock).toBeCloseTo(sampled.meanBlock, 9);
    }
  });
});
