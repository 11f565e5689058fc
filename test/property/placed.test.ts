import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unwrap } from '../../src-workers/domain/result.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { arbitraryOrder } from '../../src-workers/numeric/random.ts';
import { listBlocks, placeBlocks } from '../../src-workers/predict/dealing/blocks.ts';
import { createArena } from '../../src-workers/predict/time/arena.ts';
import { makeSampledSteps, makeSteppedBlockLaw, prepareBlockLaw } from '../../src-workers/predict/time/block-law.ts';
import { computeInOrderCycles } from '../../src-workers/predict/time/in-order.ts';
import { computePlacedCycles } from '../../src-workers/predict/time/placed.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import { seededRandom } from '../../src-workers/simulate/random.ts';
import { kneeRate, unsortedDepth } from '../bench/composite-designs.ts';
import { forAllOf, real, whole } from '../for-all.ts';

const launches = fc.record({
  seed: whole(0, 2 ** 31),
  groupsPerBlock: whole(1, 16),
  residentBlocks: whole(1, 8),
  multiprocessors: whole(1, 20),
  gridBlocks: whole(1, 300),
  issue: real(0.5, 100),
});

/** Returns the depths of a launch, a block's shortest groups first. Blocks differ more than the groups of a block. */
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
      const launch = { multiprocessors, residentBlocks, groupsPerBlock, gridBlocks, cyclesPerIteration: rate };
      const device = prepareDevice(launch, () => (out) => {
        out.set(depths.subarray(order[b] * groupsPerBlock, (order[b] + 1) * groupsPerBlock));
        b++;
      });
      const simulated = device.run(seededRandom(1));
      const cycles = computePlacedCycles(placeBlocks(depths, groupsPerBlock, order), multiprocessors, rate);
      // The result is exact, but only for the multiprocessors that an estimate finds to be the slowest.
      expect(cycles).toBeLessThanOrEqual(simulated * (1 + 1e-9));
      expect(cycles).toBeGreaterThan(0.97 * simulated);
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
        expect(sampled[moment]).toBeNear(exact[moment], 0.03);
      }
      const weights = new Float64Array(blocks).fill(7);
      const same = makeSteppedBlockLaw(makeSampledSteps({ groupsPerBlock: W, depths, weights }), W, createArena(4096));
      expect(same.meanBlock).toBeCloseTo(sampled.meanBlock, 9);
    }
  });
});

function simulateDepths(depths: Float64Array, launched: Parameters<typeof prepareDevice>[0]): number {
  const run = prepareDevice(launched, () => {
    let block = 0;
    const { groupsPerBlock: W } = launched;
    return (out) => out.set(depths.subarray(block * W, ++block * W));
  });
  return run.run(seededRandom(0));
}

/** Generates lengths like those of an image: runs of long groups among short ones, and a few far longer groups. */
const launch = fc
  .record({
    groupsPerBlock: whole(1, 16),
    residentBlocks: whole(1, 8),
    multiprocessors: whole(1, 12),
    waves: real(0.2, 12),
    long: whole(1, 400),
    stretch: whole(1, 200),
    issue: real(1, 60),
    softness: real(1, 6),
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

  it('gives blocks in turn to multiprocessors that are free at the same instant, as in the simulation', () => {
    const [W, R, M] = [2, 8, 16];
    // All short blocks end together, and as many long ones follow as have room on one multiprocessor.
    const gridBlocks = R * M + R;
    const depths = new Float64Array(gridBlocks * W).fill(10, 0, R * M * W).fill(1000, R * M * W);
    const launched = { groupsPerBlock: W, residentBlocks: R, multiprocessors: M, gridBlocks };
    const cyclesPerIteration = kneeRate(600, 400, 4, 4, R * W);
    const simulated = simulateDepths(depths, { ...launched, cyclesPerIteration });
    const predicted = computeInOrderCycles(listBlocks(depths.slice(), W), gridBlocks, R, M, cyclesPerIteration);
    expect(predicted).toBeNear(simulated, 0.03);
  });

  it('takes the same time as in the event simulation', () => {
    const differences: number[] = [];
    fc.assert(
      fc.property(launch, ({ depths, ...launched }) => {
        const { groupsPerBlock: W, gridBlocks, residentBlocks, multiprocessors, cyclesPerIteration } = launched;
        const simulated = simulateDepths(depths, launched);
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
